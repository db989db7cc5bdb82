"""A machine on a board: its top with the link, and an SDRAM. Pins, clocks and builds are in fpga."""
