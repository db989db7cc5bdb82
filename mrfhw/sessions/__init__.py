"""Running a field on a backend, visit by visit and chain by chain. What the results mean is in analysis."""
