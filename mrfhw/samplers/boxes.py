"""Labels that fit the data around a site best (compiled)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.samplers.energy_kernel import least_of_rows
from mrfhw.system.progress import compiling
from mrfhw.system.threads import ENTRIES_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["least_in_boxes"]


def least_in_boxes(data: tuple[Any, ...], labels: int, size: int, kind: type[np.signedinteger[Any]],
                   threads: int | None = None) -> np.ndarray:
    """Labels, uint16 (H, W), of the least sum of the singletons of a label over size x size sites around, the lowest on ties.

    data: as of `mrfhw.samplers.data.sources`. labels: up to 2^16. size: odd. kind: holds the sums. Beyond the edges the nearest
    site stands. threads: as of `mrfhw.system.threads.threads_of`.
    """
    assert labels <= 1 << 16
    rows, cols = data[0]
    out, least = np.zeros((rows, cols), np.uint16), np.full((rows, cols), np.iinfo(kind).max, kind)

    def share(first: int, last: int) -> None:
        least_of_rows(out, least, first, last, labels, np.empty((size, cols), kind), *data)

    with compiling("least in boxes", kind):
        in_shares(share, rows, rows * cols * labels // ENTRIES_WORTH_A_THREAD, threads_of(threads))
    return out
