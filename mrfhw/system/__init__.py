"""Files, memory, processes and the terminal, and what a wrong input is. Nothing here knows of a field or a machine."""
