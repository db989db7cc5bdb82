"""Pictures, arrays and pages of a result. What they show is computed in analysis."""
