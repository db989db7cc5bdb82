"""Models: `exact` in float64 and `machine`, bit for bit what the hardware computes."""
