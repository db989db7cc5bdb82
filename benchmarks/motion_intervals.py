"""How wide intervals of motions are to be: how `OF_MOTION` and `OF_FIT` of `mrfhw.apps.finer_motion` are found.

    python benchmarks/motion_intervals.py [--data DIR --scenes A,B,C [--held-back D,E,F]]

A whole number is the built-in scene of that seed; a stereo pair of DIR is a scene, too. Each is solved as `mrfhw run motion` does.
Of all pairs of the two numbers that are tried, that one is taken whose 90 % intervals hold, in rows and in columns of each scene,
the shares of the truth that are nearest to 90 % in the sense of least squares. Printed are, for each scene, the shares with this
pair, with the one that the same choice finds on the other scenes alone, and with the constants; scenes that are held back have no
part in any choice.
"""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import numpy as np
from scene_jobs import choice_options, chosen_on_and_held_back, job_of, solved
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.analysis.uncertainty import quantify
from mrfhw.apps.finer_motion import OF_FIT, OF_MOTION, Finer, FinerMotion, around
from mrfhw.commands.machine_options import OneLineCommand

LEVEL = 90  # percent
TRIED = list(itertools.product(np.arange(11) / 100, np.arange(2, 9) / 4))  # OF_MOTION, OF_FIT


@dataclass(frozen=True)
class Fitted:
    """A scene's motions between pixels. truth, flow, deviation: (H, W, 2), in pixels. sampled: (H, W, 2, 2), of the samples."""

    truth: np.ndarray
    flow: np.ndarray
    deviation: np.ndarray
    sampled: np.ndarray

    @classmethod
    def of(cls, words: list[str], backend: str) -> Fitted:
        """What `mrfhw run motion` makes of these words."""
        job, solution = solved(job_of("motion", words), traced=False, backend=backend)
        assert job.truth is not None
        assert isinstance(job.finer, FinerMotion)
        found = quantify(solution.counts, solution.last, job.scale)
        assert found.mean is not None
        assert found.interval is not None
        vectors = job.scale.at(found.mode)
        near: Finer = job.finer(vectors, found.mean, None)
        return cls(job.truth.picture, near.values, job.finer.deviation(vectors, near.values), found.interval)

    def covered(self, of_motion: float, of_fit: float) -> np.ndarray:
        """(2,) percent of the pixels of known truth whose interval holds it, in rows and columns."""
        interval = around(self.flow, self.deviation, self.sampled, of_motion, of_fit)
        inside = (interval[..., 0] <= self.truth) & (self.truth <= interval[..., 1])
        return np.asarray(100 * inside[np.isfinite(self.truth).all(-1)].mean(0))

    @cached_property
    def off(self) -> np.ndarray:
        """Of each pair that is tried, the squares of its shares' distances from the level, added."""
        return np.array([((self.covered(*pair) - LEVEL) ** 2).sum() for pair in TRIED])


def nearest(scenes: list[Fitted]) -> tuple[float, float]:
    """The pair whose shares are nearest to the level."""
    return TRIED[int(np.sum([scene.off for scene in scenes], 0).argmin())]


@click.command(cls=OneLineCommand)
@choice_options
def main(data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Find the widths whose intervals hold what they say."""
    with tempfile.TemporaryDirectory() as directory:
        parts = chosen_on_and_held_back("motion", data, scenes, held_back, Path(directory))
        words = {name: given for several in parts.values() for name, given in several.items()}
        fitted = {name: Fitted.of(given, backend) for name, given in tqdm(words.items(), unit="scene", leave=False, disable=None)}
    found = nearest([fitted[name] for name in parts["chosen on"]])
    click.echo("scene,part,rows_by_these,columns_by_these,of_motion_of_the_others,of_fit_of_the_others,rows_by_the_others,"
               "columns_by_the_others,rows_by_the_constants,columns_by_the_constants")
    for part, several in parts.items():
        for name in several:
            others = [fitted[other] for other in parts["chosen on"] if other != name]
            pair = nearest(others) if others else None
            numbers = [f"{share:.1f}" for share in fitted[name].covered(*found)]
            numbers += [""] * 4 if pair is None else [*(f"{width:.2f}" for width in pair),
                                                      *(f"{share:.1f}" for share in fitted[name].covered(*pair))]
            numbers += [f"{share:.1f}" for share in fitted[name].covered(OF_MOTION, OF_FIT)]
            click.echo(",".join([name, part, *numbers]))
    click.echo(f"together,,OF_MOTION {found[0]:.2f},OF_FIT {found[1]:.2f},,,,,{OF_MOTION:.2f},{OF_FIT:.2f}")


if __name__ == "__main__":
    main()
