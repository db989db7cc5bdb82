"""What is said of the convergence of runs on scenes, and what is true by a run that is ten times as long.

    python -m studies.verdict [--data DIR] [--scenes teddy,art,Dimetrodon,Venus] [--held-back poster,...] [--shrink 2]

Each scene's field is made with the application's defaults, of pictures made smaller by a whole factor, and sampled by `cpu` with a
tenth of its sweeps, its sweeps, and, from another seed, ten times as many; none goes on. Half of the sweeps are burn-in.

energy: R-hat. not mixed: percent of the watched sites, with the R-hat from which on a site counts as that. said: of the run. off:
mean total variation of the sites' histograms, of all chains together, to those of the longest run, and the percent of all sites
where it is above 0.1; of the longest run between its two chains. The limit on the share (`mrfhw.analysis.mixing.NOT_MIXED`) is
twice the greatest one that ten times the sweeps leave on the scenes that it was chosen on, rounded up to a tenth; the others show
what it is worth.
Without --data built-in scenes stand in.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import click
import numpy as np
from PIL import Image

from mrfhw.analysis.convergence import converged, diagnose
from mrfhw.analysis.mixing import NOT_MIXED
from mrfhw.analysis.solution import Solution, histograms_apart
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Job
from mrfhw.runs.chains import sample
from mrfhw.runs.first import prepared
from mrfhw.system.errors import ProblemError
from studies.scene_jobs import CHAINS, built_in, job_of, published

OFF = 0.1  # total variation of a site whose probabilities are not those of the longest run
TIMES = 10
SAID = {True: "converged", False: "not converged", None: "cannot tell"}
BUILT_IN = {"stereo scene": "stereo", "motion scene": "motion"}


def words_of(data: Path, name: str, shrink: int, directory: Path) -> tuple[str, list[str]]:
    """The verb of a published scene, and the words after it: two pictures, made smaller, and the range of their disparities. Raises
    ProblemError for a scene that is not there."""
    verb = "motion" if (data / "flow" / name).is_dir() else "stereo"
    words, made = published(verb, data, name), []
    for number, path in enumerate(words[:2]):
        made.append(str(directory / f"{number}.png"))
        with Image.open(path) as image:
            image.reduce(shrink).save(made[-1])
    if verb == "stereo":
        labels, least = (int(words[words.index(option) + 1]) for option in ("--labels", "--min-disparity"))
        first, last = least // shrink, -(-(least + labels - 1) // shrink)
        made += ["--labels", str(last - first + 1), "--min-disparity", str(first)]
    return verb, made


def run(job: Job, times: float, seed: int) -> Solution:
    """The chains of a prepared job's field, with so many times its sweeps."""
    sweeps = max(2, round(times * job.run.sweeps))
    changed = dataclasses.replace(job.run, sweeps=sweeps, burn_in=sweeps // 2, seed=job.run.seed + seed)
    return sample("cpu", job.config, job.problem, changed, chains=CHAINS)


def row(job: Job, solution: Solution, longest: Solution) -> str:
    """One run's columns."""
    assert solution.trace is not None
    assert solution.counts is not None
    assert longest.counts is not None
    found = diagnose(solution.trace, job.scale)
    apart = solution.apart if solution is longest else histograms_apart(solution.counts, longest.counts)
    assert apart is not None
    energy, sites = found["energy"], found["sites"]
    numbers = "-,-,-" if energy is None else f"{energy['rhat']:.3f},{100 * sites['not_mixed']:.1f},{sites['not_mixed_rhat']:.3g}"
    return (f"{int(solution.trace.sweeps[-1])},{numbers},{SAID[converged(found)]},{float(apart.mean()):.3f},"
            f"{100 * float(np.mean(apart > OFF)):.1f}")


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
@click.option("--scenes", default="teddy,art,Dimetrodon,Venus", show_default=True, help="Those that the limit was chosen on.")
@click.option("--held-back", default="poster,art-348x278,RubberWhale,Venus-210x190", show_default=True, help="Others.")
@click.option("--shrink", type=click.IntRange(1, 16), default=2, show_default=True, help="Of pictures, by how much.")
@click.option("--size", type=(int, int), default=(96, 128), show_default=True, help="Rows and columns of the built-in scenes.")
def main(data: Path | None, scenes: str, held_back: str, shrink: int, size: tuple[int, int]) -> None:
    """Print a table."""
    parts = {"chosen on": scenes.split(","), "held back": held_back.split(",")} if data is not None else {"built-in": [*BUILT_IN]}
    if not any("".join(names) for names in parts.values()):
        raise ProblemError("scenes and held-back are empty: give some, such as teddy")
    click.echo("scene,part,sweeps,energy,not mixed %,from R-hat,said,off,off %")
    left = []
    for part, names in parts.items():
        for name in filter(None, names):
            with tempfile.TemporaryDirectory() as folder:
                verb, words = ((BUILT_IN[name], built_in(BUILT_IN[name], Path(folder), 1, *size)) if data is None else
                               words_of(data, name, shrink, Path(folder)))
                job = prepared("cpu", job_of(verb, words), None)
            longest = run(job, TIMES, 100)
            for solution in (run(job, 1 / TIMES, 0), run(job, 1, 0), longest):
                click.echo(f"{name},{part},{row(job, solution, longest)}")
            assert longest.trace is not None
            left.append((part, diagnose(longest.trace, job.scale)["sites"]["not_mixed"]))
    for part in parts:
        if shares := [share for of, share in left if of == part]:
            click.echo(f"{part}: {TIMES} times the sweeps leave {100 * max(shares):.1f} % at most; the limit is "
                       f"{100 * NOT_MIXED:g} %")


if __name__ == "__main__":
    main()
