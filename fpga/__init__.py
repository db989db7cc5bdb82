"""Boards, bitstreams and their reports."""
