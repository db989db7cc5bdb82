"""What is written of a machine: Verilog, manifest, testbench. The circuits themselves are in gateware."""
