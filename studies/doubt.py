"""Probabilities of most likelihood that hidden pixels have any label: how `DOUBT`, and stereo's `DOUBT_OUTSIDE`, are found.

    python -m studies.doubt [stereo|motion] [--data DIR --scenes A,B,C [--held-back D,E,F]]

A whole number is the built-in scene of that seed. Each is solved as `mrfhw run` does. Of the pixels that the two ways of matching
do not agree on, `DOUBT_OUTSIDE` is of those that are taken for ones beyond the right picture's end, `DOUBT` of all others. A pixel
has its true disparity or motion, rounded to a label, with the probability (1 - d) share of the samples + d / labels: d is the one
that makes the product over all pixels the greatest. Printed are each scene's own, those of all scenes together, and how much of the
truth 90 % intervals hold with these and with the constants; scenes that are held back have no part in the choice.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.analysis.solution import Solution
from mrfhw.applications.motion import field as motion
from mrfhw.applications.stereo import field as stereo
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Job
from studies.scene_jobs import choice_options, chosen_on_and_held_back, job_of, judged, solved

TRIED = np.arange(100) / 100
LEAST = 1e-9  # of a probability whose logarithm is taken
APPS = {"stereo": stereo, "motion": motion}

Logarithms = dict[str, np.ndarray]  # of the likelihood of each of TRIED, by constant


def constants(verb: str) -> dict[str, float]:
    """The probabilities of an application, by their names."""
    return {name: float(getattr(APPS[verb], name)) for name in ("DOUBT", "DOUBT_OUTSIDE") if hasattr(APPS[verb], name)}


def pixels_of(job: Job) -> dict[str, np.ndarray]:
    """Which pixels (H, W) each constant is of."""
    hidden, seen = job.maps["occluded"], job.problem.observed
    both = len(constants(job.application.verb)) == 2
    return {"DOUBT": hidden & seen, "DOUBT_OUTSIDE": hidden & ~seen} if both else {"DOUBT": hidden}


def true_labels(job: Job) -> np.ndarray:
    """(H, W) the labels nearest to the truth, of disparities or of motions in a rectangle; anything where it is unknown."""
    assert job.truth is not None
    steps = [np.unique(values) for values in job.scale.values.T]
    at = [(np.rint(np.nan_to_num(job.truth.picture[..., axis])) - step[0]).astype(int).clip(0, len(step) - 1)
          for axis, step in enumerate(steps)]
    return np.asarray(np.ravel_multi_index(at, [len(step) for step in steps]))


def logarithms(job: Job, solution: Solution) -> Logarithms:
    """Of a scene's pixels of known truth."""
    assert job.truth is not None
    counts, known = solution.counts, np.isfinite(job.truth.picture).all(-1)
    share = np.take_along_axis(counts, true_labels(job)[..., None], 2)[..., 0] / counts.sum(2)
    found = {}
    for name, where in pixels_of(job).items():
        values, times = np.unique(share[where & known], return_counts=True)
        found[name] = np.log((1 - TRIED[:, None]) * values + TRIED[:, None] / job.problem.labels + LEAST) @ times
    return found


def likeliest(found: Sequence[Logarithms]) -> dict[str, float]:
    """The probability of most likelihood of scenes together, by constant."""
    return {name: float(TRIED[sum(one[name] for one in found).argmax()]) for name in found[0]}


def covered(job: Job, solution: Solution, doubts: dict[str, float]) -> float:
    """Percent of the pixels of known truth whose 90 % interval holds it, with these probabilities."""
    doubt = sum(doubts[name] * where for name, where in pixels_of(job).items())
    coverage = judged(dataclasses.replace(job, doubt=np.asarray(doubt)), solution.counts, solution.last).coverage
    assert coverage is not None
    return coverage


@click.command(cls=OneLineCommand)
@click.argument("verb", type=click.Choice(list(APPS)), default="stereo")
@choice_options
def main(verb: str, data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Find the probabilities of most likelihood."""
    now = constants(verb)
    with tempfile.TemporaryDirectory() as directory:
        names = chosen_on_and_held_back(verb, data, scenes, held_back, Path(directory))
        words = {name: given for several in names.values() for name, given in several.items()}
        runs = {name: solved(job_of(verb, given), backend=backend, to_agree=True)
                for name, given in tqdm(words.items(), unit="scene", leave=False, disable=None)}
    found = {name: logarithms(*run) for name, run in runs.items()}
    together = likeliest([found[name] for name in names["chosen on"]])
    click.echo("scene,part," + ",".join([*now, "covered_by_these", "covered_by_the_constants"]))
    for part, several in names.items():
        for name in several:
            own = likeliest([found[name]])
            shares = [covered(*runs[name], doubts) for doubts in (together, now)]
            click.echo(f"{name},{part}," + ",".join([*(f"{own[key]:.2f}" for key in now), *(f"{share:.1f}" for share in shares)]))
    click.echo("together,," + ",".join(f"{together[name]:.2f}" for name in now) + ",,")


if __name__ == "__main__":
    main()
