"""What a program does with a machine's bus and log, in Python and in C. Nothing of links."""
