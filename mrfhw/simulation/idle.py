"""How long a simulated board waits for what nobody sends."""

from __future__ import annotations

import time

__all__ = ["Idle"]

# Seconds without a byte, and those to wait from then on before its clock goes on for a while: a run in silence still ends.
_STEPS = ((0.3, 0.010), (0.1, 0.004), (0.02, 0.001))


class Idle:
    """Of one board, which nobody has spoken to yet."""

    def __init__(self) -> None:
        self._moved = float("-inf")

    def moved(self) -> None:
        """Bytes came or went."""
        self._moved = time.monotonic()

    def pause(self) -> float:
        """Seconds to wait at most for the next byte: more, the longer none has come, so that an idle board takes little of a
        computer."""
        silent = time.monotonic() - self._moved
        return next((pause for least, pause in _STEPS if silent > least), 0.0)
