"""The driver's blocking calls in benches, whose accesses to the chip are coroutines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cocotb.task import bridge, resume

__all__ = ["BlockingChip", "blocking"]


class BlockingChip:
    """A `mrfhw.driver.driver.Chip` for functions that are called through `blocking`.

    A class of it says how words are written and read while the bench goes on; both raise ChipError for an access that is refused.
    """

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        resume(self._write)(addresses, data)

    def read(self, addresses: np.ndarray) -> np.ndarray:
        found: np.ndarray = resume(self._read)(addresses)
        return found

    async def _write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        raise NotImplementedError

    async def _read(self, addresses: np.ndarray) -> np.ndarray:
        raise NotImplementedError


async def blocking(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Await a blocking function that uses a `BlockingChip`."""
    return await bridge(function)(*arguments, **named)
