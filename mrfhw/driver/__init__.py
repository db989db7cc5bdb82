"""What a program does with a machine's bus and log, in Python and in C, and the map of its registers. Nothing of links."""
