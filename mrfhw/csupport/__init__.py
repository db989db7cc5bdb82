"""What a program in C needs to run a generated machine: driver, header, load images. Placement and models stay in Python."""
