"""Detects that something makes no progress."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Watch"]


class Watch:
    """Watches the progress of something that may take any time.

    patience: seconds by `clock` without progress. count, most: an event that may also happen at most `most` times without progress.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic, count: Callable[[], int] = lambda: 0,
                 most: int = 0):
        self.patience, self.most = patience, most
        self._clock, self._count = clock, count
        self._state: tuple[int, ...] = ()
        self._since, self._counted = clock(), count()

    def stuck(self, *state: int) -> bool:
        """Whether `state` has not changed for too long. It must consist of numbers that cannot change forever."""
        if state != self._state:
            self._state, self._since, self._counted = state, self._clock(), self._count()
        return self._clock() - self._since > self.patience or self._count() - self._counted > self.most
