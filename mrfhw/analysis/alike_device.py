"""What pixels of like greys share, worked out on a device: that of `mrfhw.analysis.alike`, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.samplers.gpu.device import Device, DeviceMemoryError
from mrfhw.samplers.gpu.source import whole_text

__all__ = ["Windows", "alike_text", "device_shared"]

GROUP = 64  # cells of a work-group
MOST_BYTES = 1 << 28  # of each of the two arrays of sums


@dataclass(frozen=True)
class Windows:
    """What the filter knows of the greys. guide, number, mean, variance: (H, W) float64, the greys, and of the window around each
    pixel how many there are, their mean and their variance. radius: of windows. flat: the variance above which there is an edge.
    """

    guide: np.ndarray
    number: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    radius: int
    flat: float


def alike_text(language: str, count_bytes: int, held: int, radius: int, whole: int) -> str:
    """The text for a device. count_bytes: 2 or 4, of a count. held: labels at a time. radius: of windows. whole: a share of one."""
    return whole_text(language, {
        "COUNT": {2: "unsigned short", 4: "unsigned int"}[count_bytes], "HELD": held, "RADIUS": radius, "SIDE": 2 * radius + 1,
        "WHOLE": whole, "GROUP": GROUP}, __package__, "alike.cl")


def device_shared(device: Device, counts: np.ndarray, last: np.ndarray, totals: np.ndarray, windows: Windows, powers: np.ndarray,
                  held: int | None = None) -> np.ndarray | None:
    """(H, W, L) uint16; None where the device has no float64 or does not hold it.

    counts: (H, W, L) uint16 or uint32. last: (H, W) uint8. totals: (H, W) int64. powers: float64, of each part of a whole.
    held: labels at a time; no bit depends on it.
    """
    (rows, cols, labels), kind = counts.shape, counts.dtype.itemsize
    if held is None:
        held = max(1, min(labels, MOST_BYTES // (16 * rows * cols)))
    if not device.doubles or kind not in (2, 4) or max(16 * rows * cols * held, kind * counts.size) > device.room:
        return None
    i32, text = np.int32, alike_text(device.language, kind, held, windows.radius, len(powers) - 1)
    columns, fit_lines, line_columns, averages, sharpen = (
        device.kernel(text, name) for name in ("columns", "fit_lines", "line_columns", "averages", "sharpen"))
    try:
        given, of_last, of_totals = device.array(counts), device.array(last), device.array(totals)
        guide, number, mean, variance = map(device.array, (windows.guide, windows.number, windows.mean, windows.variance))
        sums, lines = (device.zeros(16 * rows * cols * held) for _ in range(2))
        out = device.zeros(2 * counts.size)
    except DeviceMemoryError:
        return None
    group = GROUP, 1, 1
    for begin in range(0, labels, held):
        device.run(columns, (cols * held, 1, 1), group, given, of_last, of_totals, guide, sums, i32(rows), i32(cols), i32(labels),
                   i32(begin))
        device.run(fit_lines, (rows * held, 1, 1), group, sums, number, mean, variance, lines, i32(rows), i32(cols),
                   np.float64(windows.flat))
        device.run(line_columns, (2 * cols * held, 1, 1), group, lines, sums, i32(rows), i32(cols))
        device.run(averages, (rows * held, 1, 1), group, sums, number, guide, out, i32(rows), i32(cols), i32(labels), i32(begin))
    device.run(sharpen, (rows * cols, 1, 1), group, of_totals, device.array(powers), out, np.int64(rows * cols), i32(labels))
    found = np.empty(counts.shape, np.uint16)
    device.read(out, found)
    return found
