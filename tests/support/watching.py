"""A watch of functions."""

from __future__ import annotations

from collections.abc import Callable

from mrfhw.field.problem import Run
from mrfhw.runs.chains import Watch

__all__ = ["Told"]


class Told(Watch):
    """Calls `progress` with finished sweeps, and `going_on` with longer runs."""

    def __init__(self, progress: Callable[[int], object] | None = None, going_on: Callable[[Run], object] | None = None):
        self._progress, self._going_on = progress, going_on

    def sweeps(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done)

    def going_on(self, run: Run) -> None:
        if self._going_on is not None:
            self._going_on(run)
