"""Boards, bitstreams and their reports; none yet."""
