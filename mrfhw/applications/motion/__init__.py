"""Motions from one picture to the next."""
