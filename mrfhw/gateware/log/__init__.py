"""The log behind the tiles: lines of messages, and a memory that they pass through. Nothing there comes back to a tile."""
