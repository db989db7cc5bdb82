"""How wide intervals of motions are to be: how `OF_MOTION` of `mrfhw.applications.motion.finer` is found.

    python -m studies.motion_intervals [--data DIR --scenes A,B,C [--held-back D,E,F]]

A whole number is the built-in scene of that seed; a stereo pair of DIR is a scene, too. Each is solved as `mrfhw run motion` does.
Of the numbers that are tried, that one is taken whose 90 % intervals hold, in rows and in columns of each scene, the shares of the
truth that are nearest to 90 % in the sense of least squares. Printed are, for each scene, the shares with this number, with the one
that the same choice finds on the other scenes alone, and with the constant; scenes that are held back have no part in any choice.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.analysis.calibration import coverage
from mrfhw.analysis.uncertainty import quantify
from mrfhw.applications.motion.finer import OF_MOTION, FinerMotion, around
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Between
from mrfhw.jobs.label_scale import LEVEL
from studies.scene_jobs import choice_options, chosen_on_and_held_back, job_of, solved

TRIED = np.arange(41) / 400  # OF_MOTION


@dataclass(frozen=True)
class Fitted:
    """A scene's motions between pixels. truth, flow, deviation: (H, W, 2), in pixels. sampled: (H, W, 2, 2), the samples'
    intervals. vectors: (L, 2), of the labels."""

    truth: np.ndarray
    flow: np.ndarray
    deviation: np.ndarray
    sampled: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, words: list[str], backend: str) -> Fitted:
        """What `mrfhw run motion` makes of these words."""
        job, solution = solved(job_of("motion", words), backend=backend, to_agree=True)
        assert job.truth is not None
        assert isinstance(job.finer, FinerMotion)
        found = quantify(solution.counts, solution.last, job.scale, doubt=job.doubt)
        assert found.mean is not None
        assert found.interval is not None
        vectors = job.scale.at(found.mode)
        near: Between = job.finer(vectors, found.mean, None)
        return cls(job.truth.picture, near.values, job.finer.deviation(vectors, near.values), found.interval,
                   job.scale.values)

    def covered(self, of_motion: float) -> np.ndarray:
        """(2,) percent of the pixels of known truth whose interval holds it, in rows and columns, as reports say it."""
        known = np.isfinite(self.truth).all(-1)
        interval, truth = around(self.flow, self.deviation, self.sampled, of_motion)[known], self.truth[known]
        return 100 * np.array([coverage(interval[:, axis], truth[:, axis], self.vectors[:, axis], between=True) for axis in (0, 1)])

    @cached_property
    def off(self) -> np.ndarray:
        """Of each number that is tried, the squares of its shares' distances from the level, added."""
        return np.array([((self.covered(number) - 100 * LEVEL) ** 2).sum() for number in TRIED])


def nearest(scenes: list[Fitted]) -> float:
    """The number whose shares are nearest to the level."""
    return float(TRIED[np.sum([scene.off for scene in scenes], 0).argmin()])


@click.command(cls=OneLineCommand)
@choice_options
def main(data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Find the widths whose intervals hold what they say."""
    with tempfile.TemporaryDirectory() as directory:
        parts = chosen_on_and_held_back("motion", data, scenes, held_back, Path(directory))
        words = {name: given for several in parts.values() for name, given in several.items()}
        fitted = {name: Fitted.of(given, backend) for name, given in tqdm(words.items(), unit="scene", leave=False, disable=None)}
    found = nearest([fitted[name] for name in parts["chosen on"]])
    click.echo("scene,part,rows_by_these,columns_by_these,of_motion_of_the_others,rows_by_the_others,columns_by_the_others,"
               "rows_by_the_constant,columns_by_the_constant")
    for part, several in parts.items():
        for name in several:
            others = [fitted[other] for other in parts["chosen on"] if other != name]
            numbers = [f"{share:.1f}" for share in fitted[name].covered(found)]
            if others:
                without = nearest(others)
                numbers += [f"{without:.4f}", *(f"{share:.1f}" for share in fitted[name].covered(without))]
            else:
                numbers += [""] * 3
            numbers += [f"{share:.1f}" for share in fitted[name].covered(OF_MOTION)]
            click.echo(",".join([name, part, *numbers]))
    click.echo(f"together,,OF_MOTION {found:.4f},,,,,{OF_MOTION:.4f},")


if __name__ == "__main__":
    main()
