"""Chains of a field in software, and where they start. Nothing of a machine."""
