"""Motions of blocks on a device: those of `mrfhw.samplers.boxes.least_in_boxes`, of Hamming distances, bit for bit."""

from __future__ import annotations

import numpy as np

from mrfhw.samplers.gpu.device import Device, DeviceMemoryError
from mrfhw.samplers.gpu.source import whole_text

__all__ = ["blocks_text", "device_blocks"]

GROUP = 64  # cells of a work-group
HELD = 32  # motions at a time


def blocks_text(language: str, size: int, held: int = HELD) -> str:
    """The text for a device. size: rows and columns of a block, odd. held: motions at a time."""
    return whole_text(language, {"GROUP": GROUP, "SIZE": size, "HELD": held}, __package__, "blocks.cl")


def device_blocks(device: Device, first: np.ndarray, second: np.ndarray, offsets: np.ndarray, size: int,
                  observed: np.ndarray | None, shown: np.ndarray | None, out_of_range: int, held: int = HELD) -> np.ndarray | None:
    """Numbers of offsets, uint16 (H, W), of the least sum of Hamming distances over size x size pixels around, the lowest on ties;
    None where the device does not hold it.

    first: (H, W), second: (H2, W2) descriptors of up to 32 bits. offsets: (n, 2), of which none leads out of the second. observed,
    shown: bool, the pixels of each that say something, None for all. out_of_range: the distance to one of the second that says
    nothing. held: motions at a time; no bit depends on it.
    """
    (rows, cols), (labels, _) = first.shape, offsets.shape
    if 4 * rows * cols * held > device.room:
        return None
    text = blocks_text(device.language, size, held)
    columns, choose = device.kernel(text, "columns"), device.kernel(text, "choose")
    i32 = np.int32
    values: list[np.ndarray] = [first.astype(np.uint32), second.astype(np.uint32), offsets.astype(i32)]
    values += [np.ones(image.shape, np.uint8) if mask is None else mask.astype(np.uint8)
               for image, mask in ((first, observed), (second, shown))]
    try:
        given = [device.array(one) for one in values]
        sums, out = device.zeros(4 * rows * cols * held), device.zeros(2 * rows * cols)
        least = device.array(np.full((rows, cols), np.iinfo(i32).max, i32))
    except DeviceMemoryError:
        return None
    for begin in range(0, labels, held):
        device.run(columns, (held * cols, 1, 1), (GROUP, 1, 1), *given, sums, i32(rows), i32(cols), i32(second.shape[1]),
                   i32(labels), i32(begin), i32(out_of_range))
        device.run(choose, (rows * cols, 1, 1), (GROUP, 1, 1), sums, least, out, i32(rows), i32(cols), i32(labels), i32(begin))
    found = np.empty((rows, cols), np.uint16)
    device.read(out, found)
    return found
