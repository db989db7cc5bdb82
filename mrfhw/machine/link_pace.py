"""How a host paces itself on a link: how large its requests are at first, and how often it looks at a run."""

from __future__ import annotations

__all__ = ["CHUNK", "FIRST_SHARE", "LEAST_SHARE", "LEAST_WORDS", "LONG", "MUCH_LONGER", "PAUSE", "QUIET", "SHARE_STEP", "SHORT",
           "longest_body"]

LEAST_WORDS = 16  # of a request or response, however many errors there are
FIRST_SHARE = 0.125  # of the largest frames, before anything is known of the link
LEAST_SHARE = 1 / 32  # after repetitions
SHARE_STEP = 1 / 64  # that a clean answer adds
CHUNK = 1 << 16  # accesses that are planned at once
MUCH_LONGER = 1.5  # requests that may be so much longer are planned again
SHORT, LONG = 0.001, 0.2  # seconds between looks at a run, at first and at most
QUIET, PAUSE = 0.005, 0.02  # where no log comes, at first and at most


def longest_body(whole: int, share: float) -> int:
    """Words that the next request's or response's body should have at most, of the `whole` that the board holds."""
    return max(min(whole, LEAST_WORDS), int(whole * share))
