"""Disparities from two rectified pictures."""
