"""Runs of several chains: prepared, stepped, looked at, kept, gone on with. What they mean is in analysis."""
