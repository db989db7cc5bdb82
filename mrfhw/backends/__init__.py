"""Who samples a field: software, the twin, a compiled chip, a board. One protocol, a run at a time."""
