"""Which disparities a pair has: the range of labels for them, where none is given.

Blocks of census descriptors are matched along the rows, on pictures of half the size, from left to right and back. A disparity is
in the range where both ways agree on it for a share of the pixels.
"""

from __future__ import annotations

import numpy as np

from mrfhw.applications.known import ALL, Masks
from mrfhw.applications.motion.window import LEAST_SIDE, confirmed_motions, reduced, reduced_known
from mrfhw.applications.stereo.field import LABELS
from mrfhw.field.problem import LABELS_MAX
from mrfhw.samplers.gpu.device import Device

__all__ = ["find_range"]

SHARE = 0.001  # of all pixels, whose disparity counts; fewer are chance
REDUCED = 2  # pixels of a row or column that are taken together, while a side has `LEAST_SIDE` afterwards


def find_range(left: np.ndarray, right: np.ndarray, least: int | None = None, known: Masks = ALL,
               device: Device | None = None) -> tuple[int, int]:
    """The least disparity and the number of labels from there on, 2 to `LABELS_MAX`, for a pair of greys (H, W).

    A disparity of d: the pixel x of the left picture lies at x - d in the right one. Looked for are d from 0 to half of the
    picture's width, at most of `LABELS_MAX`; where more pixels have negative ones, those, as of pictures that are exchanged. least:
    where the range begins in any case, and the search where it is below 0. known: pixels that count. Of pictures that tell nothing,
    `LABELS`. device: as of `mrfhw.applications.motion.window.block_motions`.
    """
    step = REDUCED if min(left.shape) // REDUCED >= LEAST_SIDE else 1
    one, other = (reduced(np.asarray(image, np.int64), step) for image in (left, right))
    end = max(1, min(LABELS_MAX // step, one.shape[1] // 2))
    begin = -end if least is None else min(0, least) // step
    end = max(end, begin + 1)
    found = -confirmed_motions(one, other, range(1), range(-end, 1 - begin), reduced_known(known, step), device)[:, 1]
    if least is None:
        found = found[found < 0 if (found < 0).sum() > (found >= 0).sum() else found >= 0]
    seen = np.flatnonzero(np.bincount(found - begin) >= max(2, SHARE * one.size)) + begin
    if not len(seen) or (least is not None and (seen[-1] + 1) * step < least):
        return least or 0, LABELS
    first, last = ((int(seen[n]) + side) * step for n, side in ((0, -1), (-1, 1)))  # to within a pixel of the reduced pictures
    first = least if least is not None else first if seen[0] < 0 else max(0, first)
    return first, min(LABELS_MAX, max(2, last - first + 1))
