"""The sum of a site's labels in its LMem entry, where a run's estimate is the mean.

It takes the place of the entry's counts and second label, from the lowest bit on: the first count, the second label, the second
count, `Derived.sum_bits` in all.
"""

from __future__ import annotations

import numpy as np

from mrfhw.machine.config import Config

__all__ = ["entries_of_sums", "sums_of_entries"]


def sums_of_entries(config: Config, lmem: np.ndarray) -> np.ndarray:
    """(H, W) int64: the sums in LMem (H, W, 4), as `mrfhw.field.result.Result.lmem`."""
    first, label, second = (lmem[..., n].astype(np.int64) for n in (1, 2, 3))
    return np.asarray(first | label << config.counter_bits | second << config.counter_bits + config.label_bits)


def entries_of_sums(config: Config, labels: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """(H, W, 4) int32: LMem of sites with these labels (H, W) and sums (H, W), modulo 2^`Derived.sum_bits`."""
    count = (1 << config.counter_bits) - 1
    fields = (labels, sums & count, sums >> config.counter_bits & (1 << config.label_bits) - 1,
              sums >> config.counter_bits + config.label_bits & count)
    return np.stack(fields, -1).astype(np.int32)
