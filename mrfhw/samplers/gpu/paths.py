"""First labels by paths on a device: those of `mrfhw.samplers.path_start`, bit for bit."""

from __future__ import annotations

import numpy as np

from mrfhw.field.problem import Problem
from mrfhw.samplers.gpu.device import Device
from mrfhw.samplers.gpu.source import paths_source
from mrfhw.samplers.path_start import DOWN, LEFT, RIGHT, UP, Paths
from mrfhw.system.threads import threads_of

__all__ = ["device_paths"]

GROUP = 64  # cells that follow a path, at most
ROW = 256  # cells of work that is of no picture, a row of a launch


def device_paths(device: Device, problem: Problem, stiffness: int, group: int = GROUP) -> np.ndarray | None:
    """Labels, uint8 (H, W), of the least sum of the energies of a site's four paths, as of `path_start`; None for a field that the
    device does not hold, or whose sums exceed 31 bits.

    group: cells that follow a path, a power of two; no bit depends on it.
    """
    (rows, cols), labels = problem.shape, problem.labels
    paths = Paths(problem, stiffness, threads_of(None), np.int32)
    entries = rows * cols * labels
    if paths.bound >= 1 << 31 or 4 * max(entries, 4 * rows * cols) > device.room or group > device.most_group:
        return None
    text = paths_source(device.language, group, labels, ROW)
    begin, follow, choose = (device.kernel(text, name) for name in ("begin", "follow", "choose"))
    own, sums, out = device.array(paths.singles(0, rows)), device.zeros(4 * entries), device.zeros(rows * cols)
    weights = device.array(np.moveaxis(paths.weights, -1, 0))
    near = [tuple(map(device.array, (offsets.astype(np.int32), costs))) for offsets, costs in paths.near]
    i32, i64 = np.int32, np.int64
    device.run(begin, (entries, 1, 1), (ROW, 1, 1), own, sums, i64(entries))
    for side in (UP, DOWN, LEFT, RIGHT):
        lines, line_stride, steps, stride = (cols, 1, rows, cols) if side in (UP, DOWN) else (rows, cols, cols, 1)
        device.run(follow, (lines * group, 1, 1), (group, 1, 1), own, sums, weights, *near[side in (DOWN, RIGHT)],
                   i32(len(paths.near[side in (DOWN, RIGHT)][0])), i32(paths.far), i32(labels), i32(line_stride), i32(steps),
                   i32(stride if side in (UP, LEFT) else -stride), i64(side * rows * cols))
    device.run(choose, (rows * cols, 1, 1), (ROW, 1, 1), sums, out, i32(labels), i64(rows * cols))
    found = np.empty((rows, cols), np.uint8)
    device.read(out, found)
    return found
