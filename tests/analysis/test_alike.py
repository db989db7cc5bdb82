"""What pixels of like greys share of their histograms: against the filter written out, and what it must not do."""

import numpy as np
import pytest

from mrfhw.analysis import alike
from mrfhw.analysis.alike import POWER, RADIUS, VARIANCE, WHOLE, shared

SHARED = pytest.mark.claim("uncertainty",
    "histograms are shared among pixels of like greys by a guided filter, and across an edge of the picture they are not")


def windows(values: np.ndarray) -> np.ndarray:
    """Means over the windows around pixels, as far as they are in the picture."""
    rows, cols = values.shape[:2]
    return np.array([[values[max(0, y - RADIUS):y + RADIUS + 1, max(0, x - RADIUS):x + RADIUS + 1].mean((0, 1))
                      for x in range(cols)] for y in range(rows)])


def by_hand(counts: np.ndarray, guide: np.ndarray) -> np.ndarray:
    share, grey = counts / counts.sum(-1, keepdims=True), guide[..., None]
    mean, variance = windows(grey), windows(grey**2) - windows(grey)**2
    slope = (windows(share * grey) - windows(share) * mean) / (variance + VARIANCE)
    line = windows(share) - slope * mean
    found = np.clip(windows(slope) * grey + windows(line), 0, 1) ** POWER
    return found / found.sum(-1, keepdims=True)


def drawn(rows: int, cols: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(500, rng.dirichlet(np.full(labels, 0.3), (rows, cols))).astype(np.uint32)
    return counts, rng.integers(0, 256, (rows, cols)).astype(float)


@SHARED
@pytest.mark.parametrize("shape", [(23, 31, 3), (5, 40, 17), (1, 1, 2), (40, 2, 8)])
def test_shares_are_those_of_the_filter(shape):
    counts, guide = drawn(*shape)
    found = shared(counts, np.zeros(shape[:2], np.uint8), guide)
    assert found.dtype == np.uint16
    # Parts of WHOLE are rounded once before the power, which is steepest at 1, and once behind.
    assert np.allclose(found / WHOLE, by_hand(counts, guide), atol=4e-4)


@SHARED
def test_nothing_is_shared_across_an_edge_and_much_on_each_side_of_it():
    guide = np.repeat([[40.0, 200.0]], 20, 0).repeat(20, 1)
    side = (guide > 100).astype(int)
    rng = np.random.default_rng(1)
    # One label on each side, and at single pixels the other side's.
    labels = np.where(rng.random(guide.shape) < 0.15, 1 - side, side)
    counts = (100 * np.eye(2)[labels]).astype(np.uint32)
    found = shared(counts, np.zeros(guide.shape, np.uint8), guide)
    assert np.array_equal(found.argmax(-1), side)
    assert (labels != side).any()


def test_sites_that_were_not_counted_stay_so_and_say_their_label_to_others():
    counts = np.zeros((9, 9, 3), np.uint32)
    counts[4, 4] = (5, 5, 0)
    found = shared(counts, np.full((9, 9), 2, np.uint8), np.full((9, 9), 90.0))
    assert found[4, 4].argmax() == 2
    assert found.any(-1).sum() == 1


def test_neither_threads_nor_labels_at_a_time_decide_bits(monkeypatch):
    counts, guide = drawn(24, 20, 19)
    last = np.zeros(guide.shape, np.uint8)
    found = []
    for threads, together in ((1, 8), (3, 8), (2, 5)):
        monkeypatch.setenv("MRFHW_THREADS", str(threads))
        monkeypatch.setattr(alike, "TOGETHER", together)
        found.append(shared(counts, last, guide))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
