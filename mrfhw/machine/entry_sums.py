"""The sum of a site's labels in its LMem entry, where a run's estimate is the mean (`mrfhw.machine.words.SUM`)."""

from __future__ import annotations

import numpy as np

from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import LMEM_WORDS, SUM, Field, entry_words, side_by_side

__all__ = ["entries_of_sums", "most_of_entries", "sums_of_entries"]


def sums_of_entries(config: Config, lmem: np.ndarray) -> np.ndarray:
    """(H, W) int64: the sums in LMem (H, W, 4), as `mrfhw.field.result.Result.lmem`."""
    parts = [lmem[..., column].astype(np.int64) << field.low for column, field in _parts(config).items()]
    return np.asarray(sum(parts))


def entries_of_sums(config: Config, labels: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """(H, W, 4) int32: LMem of sites with these labels (H, W) and sums (H, W), modulo 2^`Derived.sum_bits`."""
    parts = {column: field.of(sums) for column, field in _parts(config).items()}
    return np.stack([parts.get(column, labels) for column in range(2 * LMEM_WORDS)], -1).astype(np.int32)


def most_of_entries(config: Config, estimate: str) -> tuple[int, ...]:
    """The largest number in each column of LMem (H, W, 4) of a run of that estimate."""
    words = entry_words(Derived.of(config))
    widths = [words[word][name].bits for word in range(LMEM_WORDS) for name in ("label", "count")]
    if estimate == "mean":
        widths = [_parts(config)[column].bits if column in _parts(config) else bits for column, bits in enumerate(widths)]
    return tuple((1 << bits) - 1 for bits in widths)


def _parts(config: Config) -> dict[int, Field]:
    """The bits of a sum that are in each column of LMem as a result has it, label and count of one word after the other."""
    words = entry_words(Derived.of(config))
    return side_by_side({2 * word + ("label", "count").index(name): words[word][name].bits for word, name in SUM})
