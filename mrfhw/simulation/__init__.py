"""The generated hardware, compiled and run here: the chip and the simulated board. Benches are in sim/, outside the package."""
