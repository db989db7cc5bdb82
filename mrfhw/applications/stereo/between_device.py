"""Disparities between whole pixels, worked out on a device: those of `mrfhw.applications.stereo.between`, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.applications.slopes import NOISE, REACH, STEP, STIFF
from mrfhw.samplers.gpu.device import Device, DeviceMemoryError, Work
from mrfhw.samplers.gpu.source import whole_text

__all__ = ["Weighing", "between_text", "device_fitted"]

GROUP = 64  # cells of a work-group


@dataclass(frozen=True)
class Weighing:
    """How greys and shares of labels are weighed.

    shares: 1 / the variance of a disparity that shares tell. farthest: pixels from the most frequent disparity. median: rows and
    columns of the medians. rounds: of weighing.
    """

    shares: float
    farthest: float
    median: int
    rounds: int


def between_text(language: str, median: int) -> str:
    """The text for a device. median: rows and columns of the medians."""
    return whole_text(language, {"GROUP": GROUP, "REACH": REACH, "SIDE": median}, __package__, "between.cl")


def device_fitted(device: Device, left: np.ndarray, right: np.ndarray, hidden: np.ndarray | None, mode: np.ndarray,
                  near: np.ndarray, weighing: Weighing) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Disparities, and by what a further fit would move them, with its precision, (H, W) float64 each; None where the device has no
    float64 or does not hold them.

    left, right: (H, W) float64 greys. hidden: bool (H, W), or None. mode, near: (H, W) float64.
    """
    rows, cols = left.shape
    if not device.doubles or 8 * left.size > device.room:
        return None
    text = between_text(device.language, weighing.median)
    moved_by, slopes, fit, weigh, median = (device.kernel(text, name) for name in ("moved_by", "slopes", "fit", "weigh", "median"))
    try:
        one, other, modes, nears = map(device.array, (left, right, mode, near))
        found = device.array(near)
        unseen = device.array(np.zeros(left.shape, np.uint8) if hidden is None else hidden.astype(np.uint8))
        apart, middle, slope, step, precision = (device.zeros(8 * left.size) for _ in range(5))
        weighed = device.zeros(4 * left.size)
    except DeviceMemoryError:
        return None
    size, f64 = (np.int32(rows), np.int32(cols)), np.float64
    cells, group = (left.size, 1, 1), (GROUP, 1, 1)
    fitting = [(moved_by, cells, group, (one, other, found, apart, middle, *size)),
               (slopes, cells, group, (middle, slope, *size)),
               (fit, cells, group, (slope, apart, modes, unseen, step, precision, *size, f64(STIFF), f64(STEP), f64(NOISE)))]
    moving = [(weigh, cells, group, (step, precision, found, nears, modes, weighed, *size, f64(weighing.shares),
                                     f64(weighing.farthest))),
              (median, cells, group, (weighed, modes, found, *size, f64(weighing.farthest)))]
    device.work(Work((fitting + moving) * weighing.rounds + fitting))
    answer = np.empty((3, *left.shape))
    for array, into in zip((found, step, precision), answer, strict=True):
        device.read(array, into)
    return answer[0], answer[1], answer[2]
