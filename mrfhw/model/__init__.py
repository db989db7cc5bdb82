"""Models: `exact` in float64, `machine` bit for bit what the hardware computes. Nothing of Amaranth, sessions or reports."""
