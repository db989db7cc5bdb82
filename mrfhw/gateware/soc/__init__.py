"""A machine in a system on chip: AXI ports and their registers. Nothing of serial links."""
