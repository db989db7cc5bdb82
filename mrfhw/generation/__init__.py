"""What is written of a machine: Verilog, register map, manifest. The circuits themselves are in gateware."""
