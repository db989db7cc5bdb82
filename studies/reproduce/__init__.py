"""The published design's tables and figures, computed by this project."""
