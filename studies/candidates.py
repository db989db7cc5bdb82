"""Which number of a pixel's histogram is the answer of stereo: how `Uncertainty.halves`, the answer of --alone, was chosen.

python -m studies.candidates [--data DIR --scenes art,poster,1 [--held-back teddy,art-348x278,2]]

A whole number is the built-in scene of that seed. Each is solved as `mrfhw run stereo` does. Of every candidate are printed the
percentages of the pixels of known truth that are off by more than 0.5, 1 and 2 pixels, and the mean error, once with the truth as
it is and once rounded to whole pixels, as old benchmarks have it. Last are geometric means of the ratios to the mode's numbers,
and of those four; the candidate of the least one on the scenes that are chosen on is the choice.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np

from mrfhw.analysis.uncertainty import Uncertainty, quantify
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Job
from studies.scene_jobs import choice_options, chosen_on_and_held_back, job_of, solved

LIMITS = (0.5, 1, 2)  # pixels
REFERENCE = "mode"


def candidates(found: Uncertainty, counts: np.ndarray, job: Job) -> dict[str, np.ndarray]:
    """Disparities (H, W) by what they are. counts: (H, W, L)."""
    assert found.median is not None
    assert found.mean is not None
    values = job.scale.values[:, 0]
    mode = values[found.mode]
    share = counts * (np.abs(values - mode[..., None]) <= 1)
    near = np.where(share.any(-1), (share * values).sum(-1) / np.maximum(share.sum(-1), 1), mode)
    assert found.halves is not None
    return {REFERENCE: mode, "median": found.median, "median, rounded": np.rint(found.median),
            "median, to halves": np.rint(2 * found.median) / 2, "mean": found.mean[..., 0], "mean near the mode": near,
            "the same, to quarters": np.rint(4 * near) / 4, "the same, to halves": found.halves}


def measured(disparity: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(4,): percent off by more than each of LIMITS, and the mean error in pixels. truth: (H, W), NaN where unknown."""
    error = np.abs(disparity - truth)[np.isfinite(truth)]
    return np.array([*(100 * np.mean(error > limit) for limit in LIMITS), error.mean()])


@click.command(cls=OneLineCommand)
@choice_options
def main(data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Compare numbers of histograms with the truth."""
    ratios: dict[str, dict[str, list[np.ndarray]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        parts = chosen_on_and_held_back("stereo", data, scenes, held_back, Path(directory))
        click.echo("scene,part,truth,answer," + ",".join(f"bad_{limit}" for limit in LIMITS) + ",epe")
        for part, words in parts.items():
            for name, given in words.items():
                job, solution = solved(job_of("stereo", given), backend=backend, to_agree=True)
                assert job.truth is not None
                assert solution.counts is not None
                found = candidates(quantify(solution.counts, solution.last, job.scale, doubt=job.doubt), solution.counts, job)
                for kind, truth in (("as it is", job.truth.picture[..., 0]), ("whole", np.rint(job.truth.picture[..., 0]))):
                    judged = {what: measured(disparity, truth) for what, disparity in found.items()}
                    for what, four in judged.items():
                        click.echo(f"{name},{part},{kind},\"{what}\"," + ",".join(f"{number:.3f}" for number in four))
                        with np.errstate(divide="ignore", invalid="ignore"):
                            ratio = four / judged[REFERENCE]
                        ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, 1)
                        ratios.setdefault(part, {}).setdefault(what, []).append(ratio)
    for part, of_part in ratios.items():
        for what, several in of_part.items():
            each = np.exp(np.log(several).mean(0))
            numbers = [*each, np.exp(np.log(each).mean())]
            click.echo(f"together,{part},,\"{what}\"," + ",".join(f"{number:.3f}" for number in numbers))


if __name__ == "__main__":
    main()
