"""Boards, bitstreams, and reports of what was placed and routed. What runs on a board is reached from host."""
