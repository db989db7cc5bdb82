"""Simulation of the generated hardware: cocotb benches and the compiled chip."""
