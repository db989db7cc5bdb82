"""Pairs that cannot be matched: what is said of them, and what is likely, by blocks of census descriptors on reduced pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfhw.applications.known import Masks
from mrfhw.applications.motion.window import REACH, coarse_step, confirmed_motions, reduced, reduced_known
from mrfhw.field.problem import LABELS_MAX

__all__ = ["FEW_OF_FRAMES", "FEW_OF_PAIR", "Unlike"]

# Shares of the pixels that the other picture does not confirm, by the paths of both ways, above which a pair is said to have no
# match (docs/applications.md).
FEW_OF_PAIR, FEW_OF_FRAMES = 0.5, 0.35
CLEAR = 0.6  # share of the blocks that agree both ways, from which on it is clear how pictures match
ROWS_APART = 24  # rows looked for above and below


@dataclass(frozen=True, eq=False)
class Unlike:
    """A pair whose matching both ways confirms few pixels.

    share: of the pixels that are not confirmed. names: of the pictures. one, other: (H, W) greys, what is not known filled in.
    known: as of `Known.cut`.
    """

    share: float
    names: Sequence[str]
    one: np.ndarray
    other: np.ndarray
    known: Masks

    def _said(self, likely: str) -> tuple[str, ...]:
        return (f"{100 * self.share:.0f} % of the pixels of {self.names[0]} are not confirmed by {self.names[1]}, too many for an "
                f"answer to mean much: {likely}",)

    def _best(self, tried: dict[str, tuple[int, range, range]]) -> tuple[str, np.ndarray]:
        """Which of these confirms most blocks of the reduced pictures, "" where none is clear, and its motions (n, 2), in pixels.

        tried: by name, 1 or -1 for the other picture as it is or its negative, and the motions along rows and columns.
        """
        step = self.step
        one, other = (reduced(np.asarray(grey, np.int64), step) for grey in (self.one, self.other))
        known = reduced_known(self.known, step)
        found = {name: confirmed_motions(one, sign * other, rows, cols, known) for name, (sign, rows, cols) in tried.items()}
        best = max(found, key=lambda name: len(found[name]))
        most = one.size if known[0] is None else np.count_nonzero(known[0])
        return best if len(found[best]) >= CLEAR * most else "", found[best] * step

    @property
    def step(self) -> int:
        return coarse_step(self.one.shape)

    def of_pair(self, first: int, labels: int, given: bool) -> tuple[str, ...]:
        """What is said of a stereo pair that was matched with so many labels from a first disparity on; whether they were given."""
        far, apart = max(1, min(LABELS_MAX, self.one.shape[1] // 2) // self.step), -(-ROWS_APART // self.step)
        right, left = range(-far, 1), range(far + 1)  # of disparities from 0 on, and below
        kind, found = self._best({"whole": (1, range(1), right), "exchanged": (1, range(1), left),
                                  "apart": (1, range(-apart, apart + 1), right), "negative": (-1, range(1), right)})
        if not kind:
            return self._said("rectify the pair if its rows are apart, exchange LEFT and RIGHT if RIGHT is given first, or give "
                              "two pictures of one scene")
        if kind == "negative":
            return self._said("one seems to be the negative of the other: invert it")
        if rows := round(float(np.median(found[:, 0]))):
            return self._said(f"rows seem to be about {abs(rows)} apart: rectify the pair")
        last, (least, most) = first + labels - 1, (round(float(share)) for share in np.percentile(-found[:, 1], (1, 99)))
        if given and not first - self.step <= least <= most <= last + self.step:
            return self._said(f"disparities seem to be {least} to {most}, and {first} to {last} are told apart: "
                              + ("exchange LEFT and RIGHT" if kind == "exchanged" else "leave labels and min-disparity out"))
        return self._said(f"pictures reduced to 1/{self.step} agree, so that rows are a few pixels apart, in places at least, or "
                          "there is much noise: rectify the pair, or reduce it")

    def of_frames(self, vectors: np.ndarray, given: bool) -> tuple[str, ...]:
        """What is said of two frames that were matched with these motions (L, 2); whether they were given."""
        reach = max(1, -(-REACH // self.step))
        around = range(-reach, reach + 1)
        kind, found = self._best({"whole": (1, around, around), "negative": (-1, around, around)})
        if not kind:
            return self._said(f"give two frames of one scene, in which nothing moves by more than {REACH} pixels, or vectors and "
                              "their centre")
        if kind == "negative":
            return self._said("one seems to be the negative of the other: invert it")
        (top, left), (bottom, right) = np.rint(np.percentile(found, (1, 99), axis=0)).astype(int)
        if given and ((top, left) < vectors.min(0) - self.step).any() | ((bottom, right) > vectors.max(0) + self.step).any():
            return self._said(f"motions seem to be {top} to {bottom} rows and {left} to {right} columns: leave vectors and "
                              "centre out")
        return self._said(f"frames reduced to 1/{self.step} agree, so that there is much noise: reduce them")
