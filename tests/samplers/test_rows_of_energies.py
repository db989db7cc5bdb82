"""Singletons of a row of sites at once, as the search for a range of labels has them, against those of each site."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.samplers.energy_kernel import HAMMING, _energies_of_row, fill_singles


@pytest.mark.parametrize("seed", range(6))
def test_a_row_at_once_has_the_singletons_of_its_sites(seed: int) -> None:
    """Of words that are compared bit by bit, whose second picture is smaller or larger and ends within the row or beyond."""
    rng = np.random.default_rng(seed)
    (rows, cols), labels = rng.integers(3, 20, 2), 9
    words = rng.integers(0, 1 << 60, (2, 24, 24), np.int64)
    s1, s2 = (np.ascontiguousarray(part[..., None]) for part in (
        words[0, :rows, :cols], words[1, :rng.integers(2, 24), :rng.integers(2, 24)]))
    offsets = rng.integers(-8, 9, (labels, 2))
    channels = np.array([[3, HAMMING, rng.choice([-1, 20])]], np.int64)
    empty, none, no_mask = np.zeros((0, 0), np.int32), np.zeros((0, 0, 0), np.int32), np.zeros((0, 0), bool)
    rest = ((rows, cols), s1, s2, offsets, empty, none, no_mask, no_mask, channels, 40)
    inside = 0
    for label in range(labels):
        chosen = np.full(cols, label, np.uint16)
        for row in range(rows):
            found, wanted = np.zeros(cols, np.int64), np.zeros((cols, 1), np.int64)
            _energies_of_row(found, row, chosen, *rest)
            fill_singles(wanted, np.arange(row * cols, (row + 1) * cols), cols, chosen, *rest)
            assert np.array_equal(found, wanted[:, 0]), (label, row)
            inside += int((found != 3 * 40).sum())
    assert inside > 0
