"""Builds, published machines and samplers in software side by side: a table and a roofline."""
