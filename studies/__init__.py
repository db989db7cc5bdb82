"""What measures this project: python -m studies.NAME, from a checkout. Not installed."""
