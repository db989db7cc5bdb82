"""Probabilities of most likelihood that stereo's hidden pixels have any disparity: how `DOUBT` and `DOUBT_OUTSIDE` are found.

    python benchmarks/doubt.py [--data DIR --scenes A,B,C [--held-back D,E,F]]

A whole number is the built-in scene of that seed. Each is solved as `mrfhw run stereo` does. Of the pixels that the
two ways of matching do not agree on, `DOUBT_OUTSIDE` is of those that are taken for ones beyond the right picture's end, `DOUBT` of
all others. A pixel has its true disparity, rounded to a label, with the probability (1 - d) share of the samples + d / labels: d is
the one that makes the product over all pixels the greatest. Printed are each scene's own, those of all scenes together, and how
much of the truth 90 % intervals hold with these and with the constants; scenes that are held back have no part in the choice.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
from scene_jobs import choice_options, chosen_on_and_held_back, job_of, judged, solved
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.analysis.solution import Solution
from mrfhw.apps import stereo
from mrfhw.apps.job import Job
from mrfhw.commands.machine_options import OneLineCommand

TRIED = np.arange(100) / 100
LEAST = 1e-9  # of a probability whose logarithm is taken
NAMES = ("DOUBT", "DOUBT_OUTSIDE")

Logarithms = dict[str, np.ndarray]  # of the likelihood of each of TRIED, by constant


def logarithms(job: Job, solution: Solution) -> Logarithms:
    """Of a scene's pixels of known truth."""
    truth = job.truth
    assert isinstance(truth, stereo.StereoTruth)
    labels, counts = job.problem.labels, solution.counts
    label = np.clip(np.rint(truth.disparity).astype(int) - truth.min_disparity, 0, labels - 1)
    share = np.take_along_axis(counts, label[..., None], 2)[..., 0] / counts.sum(2)
    hidden, seen = job.maps["occluded"] & (truth.disparity > 0), job.problem.observed
    found = {}
    for name, where in zip(NAMES, (hidden & seen, hidden & ~seen), strict=True):
        values, times = np.unique(share[where], return_counts=True)
        found[name] = np.log((1 - TRIED[:, None]) * values + TRIED[:, None] / labels + LEAST) @ times
    return found


def likeliest(found: Sequence[Logarithms]) -> dict[str, float]:
    """The probability of most likelihood of scenes together, by constant."""
    return {name: float(TRIED[sum(one[name] for one in found).argmax()]) for name in NAMES}


def covered(job: Job, solution: Solution, doubts: dict[str, float]) -> float:
    """Percent of the pixels of known truth whose 90 % interval holds it, with these probabilities."""
    hidden = np.where(job.problem.observed, *(doubts[name] for name in NAMES)) * job.maps["occluded"]
    coverage = judged(dataclasses.replace(job, doubt=hidden), solution.counts, solution.last).coverage
    assert coverage is not None
    return coverage


@click.command(cls=OneLineCommand)
@choice_options
def main(data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Find the probabilities of most likelihood."""
    constants = {name: float(getattr(stereo, name)) for name in NAMES}
    with tempfile.TemporaryDirectory() as directory:
        names = chosen_on_and_held_back("stereo", data, scenes, held_back, Path(directory))
        words = {name: given for several in names.values() for name, given in several.items()}
        runs = {name: solved(job_of("stereo", given), backend=backend, to_agree=True)
                for name, given in tqdm(words.items(), unit="scene", leave=False, disable=None)}
    found = {name: logarithms(*run) for name, run in runs.items()}
    together = likeliest([found[name] for name in names["chosen on"]])
    click.echo("scene,part," + ",".join([*NAMES, "covered_by_these", "covered_by_the_constants"]))
    for part, several in names.items():
        for name in several:
            own = likeliest([found[name]])
            shares = [covered(*runs[name], doubts) for doubts in (together, constants)]
            click.echo(f"{name},{part}," + ",".join([*(f"{own[key]:.2f}" for key in NAMES), *(f"{share:.1f}" for share in shares)]))
    click.echo("together,," + ",".join(f"{together[name]:.2f}" for name in NAMES) + ",,")


if __name__ == "__main__":
    main()
