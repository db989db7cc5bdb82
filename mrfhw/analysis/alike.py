"""Histograms of labels averaged among the pixels around that look alike, by a guided filter.

A label's share of the samples is a picture. In each window of pixels it is drawn as a straight line of the greys there, and a pixel
has the mean of the lines of all windows that it lies in (K. He, J. Sun, X. Tang, Guided image filtering, ECCV 2010): across an edge
of the picture nothing is shared. The shares are then sharpened by a power, since averages of sure pixels that lie apart are less
sure than each of them. Radius, variance and power are those that disparities' errors are least with (docs/applications.md).
"""

from __future__ import annotations

import numpy as np

from mrfhw.analysis.alike_device import Windows, device_shared
from mrfhw.samplers.gpu.device import Device
from mrfhw.system.numba_alone import njit
from mrfhw.system.progress import compiling
from mrfhw.system.threads import in_shares, threads_of

__all__ = ["POWER", "RADIUS", "VARIANCE", "shared"]

RADIUS = 5  # rows and columns on each side of a pixel
VARIANCE = 40.0  # of greys of 0..255, above which a window has an edge
POWER = 1.5
WHOLE = 0xFFFF  # a share of one
TOGETHER = 8  # labels at a time: what a thread holds does not grow with their number


@njit(nogil=True)
def _along(columns: np.ndarray, col: int, sums: np.ndarray) -> None:
    """sums (n, L): those of columns (n, W, L) around col - 1, moved on to col."""
    for kind in range(columns.shape[0]):
        if col + RADIUS < columns.shape[1]:
            for label in range(columns.shape[2]):
                sums[kind, label] += columns[kind, col + RADIUS, label]
        if col > RADIUS:
            for label in range(columns.shape[2]):
                sums[kind, label] -= columns[kind, col - RADIUS - 1, label]


@njit(nogil=True)
def _started(columns: np.ndarray, sums: np.ndarray) -> None:
    """Those around column -1."""
    sums[:] = 0
    for col in range(min(RADIUS, columns.shape[1])):
        for kind in range(columns.shape[0]):
            for label in range(columns.shape[2]):
                sums[kind, label] += columns[kind, col, label]


@njit(nogil=True)
def _enter(counts: np.ndarray, last: np.ndarray, totals: np.ndarray, guide: np.ndarray, row: int, begin: int, sign: float,
           columns: np.ndarray) -> None:
    """A row's shares, and their products with the greys, added to the sums of columns, or taken away."""
    for col in range(guide.shape[1]):
        total, grey = totals[row, col], guide[row, col]
        for label in range(columns.shape[2]):
            share = counts[row, col, begin + label] / total if total else 1.0 * (last[row, col] == begin + label)
            columns[0, col, label] += sign * share
            columns[1, col, label] += sign * share * grey


@njit(nogil=True)
def _averaged(counts: np.ndarray, last: np.ndarray, totals: np.ndarray, guide: np.ndarray, number: np.ndarray, mean: np.ndarray,
              variance: np.ndarray, begin: int, end: int, out: np.ndarray) -> None:
    """out (H, W, L) uint16, labels `begin` to `end`: the shares of counts (H, W, L) after the filter, in parts of WHOLE.

    number, mean, variance: (H, W), of the pixels of the windows and of the greys in them. Rows come in one after the other: sums of
    columns of shares make the lines of a window, whose sums of columns make the pixels.
    """
    rows, cols = guide.shape
    side, labels = 2 * RADIUS + 1, end - begin
    shares, lines = np.zeros((2, cols, labels)), np.zeros((2, cols, labels))
    kept, sums = np.zeros((side, 2, cols, labels)), np.zeros((2, labels))
    for entering in range(rows + 2 * RADIUS):
        if entering < rows:
            _enter(counts, last, totals, guide, entering, begin, 1.0, shares)
        if entering >= side:
            _enter(counts, last, totals, guide, entering - side, begin, -1.0, shares)
        row = entering - RADIUS
        if row >= 0:
            slot = kept[row % side]
            if row >= side:
                lines -= slot
            if row < rows:
                _started(shares, sums)
                for col in range(cols):
                    _along(shares, col, sums)
                    of_all, grey = number[row, col], mean[row, col]
                    for label in range(labels):
                        share = sums[0, label] / of_all
                        slope = (sums[1, label] / of_all - share * grey) / (variance[row, col] + VARIANCE)
                        slot[0, col, label] = slope
                        slot[1, col, label] = share - slope * grey
                lines += slot
        row -= RADIUS
        if row >= 0:
            _started(lines, sums)
            for col in range(cols):
                _along(lines, col, sums)
                for label in range(labels):
                    share = (sums[0, label] * guide[row, col] + sums[1, label]) / number[row, col]
                    out[row, col, begin + label] = np.uint16(WHOLE * min(1.0, max(0.0, share)) + 0.5)


@njit(nogil=True)
def _sharpened(totals: np.ndarray, powers: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    """Shares (H, W, L) of rows `first` to `last` after the power, in their place; 0 where nothing was counted.

    powers: (WHOLE + 1,) float64, of each share.
    """
    for row in range(first, last):
        for col in range(out.shape[1]):
            whole = 0.0
            for label in range(out.shape[2]):
                whole += powers[out[row, col, label]]
            for label in range(out.shape[2]):
                share = powers[out[row, col, label]] / whole if totals[row, col] else 0.0
                out[row, col, label] = np.uint16(WHOLE * share + 0.5)


def _box(values: np.ndarray) -> np.ndarray:
    """(H, W): sums of the windows around pixels, as far as they are in the picture."""
    for axis in (0, 1):
        size, whole = values.shape[axis], np.insert(np.cumsum(values, axis), 0, 0, axis)
        at = np.arange(size)
        values = whole.take(np.minimum(at + RADIUS + 1, size), axis) - whole.take(np.maximum(at - RADIUS, 0), axis)
    return values


def shared(counts: np.ndarray, last: np.ndarray, guide: np.ndarray, device: Device | None = None) -> np.ndarray:
    """(H, W, L) uint16: histograms in whose place numbers of a pixel may be made, what pixels of like greys around it say included.

    counts: (H, W, L) unsigned. last: (H, W) uint8, the label of sites that were not counted: it has all of their shares, and their
    own histograms stay empty. guide: (H, W) float64, greys of 0..255. device: who works it out, where it holds it; None for the
    processor.
    """
    number = _box(np.ones(guide.shape))
    mean = _box(guide) / number
    variance = np.maximum(0.0, _box(guide * guide) / number - mean * mean)
    totals, out = counts.sum(-1, dtype=np.int64), np.empty(counts.shape, np.uint16)
    labels = counts.shape[2]
    parts, powers = -(-labels // TOGETHER), np.arange(WHOLE + 1.0) ** POWER
    if device is not None:
        windows = Windows(guide, number, mean, variance, RADIUS, VARIANCE)
        found = device_shared(device, counts, last, totals, windows, powers)
        if found is not None:
            return found

    def share(first: int, after: int) -> None:
        for part in range(first, after):
            _averaged(counts, last, totals, guide, number, mean, variance, part * TOGETHER, min(labels, (part + 1) * TOGETHER), out)

    with compiling("what like colours share", counts.dtype):
        in_shares(share, parts, parts, threads_of(None))
        in_shares(lambda first, after: _sharpened(totals, powers, first, after, out), len(out), len(out), threads_of(None))
    return out
