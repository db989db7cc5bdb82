"""How several jobs share a chip of 1024x2, simulated: throughput and turnaround of each policy against one job after the other.

python -m studies.sharing [--chains 2 --load-bytes 6 --seeds 10 --jobs 80 -o DIR]

Jobs are the fields of six published pairs of pictures and a segmentation, with the sweeps of the applications and two chains each,
and small fields. Their cycles are those that the program states of the machine (`mrfhw.cost`), on the whole chip, a half, a quarter
and eighths of it; no log stalls. The bus carries a word of 32 bits a cycle, and loads at most so many bytes a site in packed
words; below are the same numbers for the words of the driver of today. What is read is an entry of two words for each site of the
tiles, padding included. Every visit is loaded whole. Nothing has run on a chip.

Throughput is the sequential policy's time for all jobs by the policy's. Normalized turnaround is a job's time from arrival to end
by that of its visits alone on the whole chip; its mean is divided by that of the sequential policy. `adaptive` resizes parts of the
chip, which none of our machines can do with the same bits: it is there for comparison alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.applications.motion.field import TUNED as MOTION
from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.segmentation.field import TUNED as SEGMENTATION
from mrfhw.applications.segmentation.field import segmentation_problem
from mrfhw.applications.stereo.field import TUNED as STEREO
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.sharing.greedy import Adaptive
from mrfhw.sharing.jobs import WHOLE, Chains, Job, Part
from mrfhw.sharing.policies import Clusters, Contexts, Sequential, WeightedFair
from mrfhw.sharing.policy import Policy
from mrfhw.sharing.profile import Bus, profile_of
from mrfhw.sharing.simulation import Trace, simulate
from studies.report import Report, bars, write_report
from studies.reproduce.scenes import SETTINGS

__all__ = ["MACHINE", "PARTS", "Field", "Row", "fields", "measured", "motion", "policies", "segments", "stereo", "table"]

MACHINE = Config.preset("matching", mesh_rows=32, mesh_cols=32)  # 1,024 tiles with two units each
EIGHTHS = 8  # of the chip, which the adaptive policy gives away
PARTS = (WHOLE, Part(1, 1, 2), Part(1, 2), *(Part(units, EIGHTHS) for units in range(1, EIGHTHS) if units != 4))
LOADS = (0.95, 3.0)
SMALL = "small"
SMALL_FIELDS = 40
OWNERS = 4

PUBLISHED = """Published of the adaptive policy on a GPU, pairs against sequential execution: throughput +9.8 % and mean normalized
turnaround +49.2 % where at least one kernel leaves the GPU idle half of the time; +0.3 % and +78.7 % where none does."""


def stereo(rows: int, cols: int, labels: int) -> Problem:
    """Of black pictures, as cycles do not depend on the data."""
    empty = np.zeros((rows, cols), np.uint8)
    return stereo_problem(empty, empty, labels=labels)


def motion(rows: int, cols: int) -> Problem:
    """As `stereo`, of 7x7 motions."""
    empty = np.zeros((rows, cols), np.uint8)
    return motion_problem(empty, empty)


def segments(rows: int, cols: int, classes: int, image: np.ndarray | None = None) -> Problem:
    """Of a black picture, or of another one."""
    return segmentation_problem(np.zeros((rows, cols), np.uint8) if image is None else image, range(classes))


@dataclass(frozen=True)
class Field:
    """What a job samples, and with how many sweeps a chain."""

    name: str
    problem: Problem
    sweeps: int


def fields() -> list[Field]:
    """Seven pictures, and last the small field."""
    found = []
    for one in SETTINGS:
        if one.application == "motion":
            found.append(Field(one.name, motion(one.rows, one.cols), MOTION.sweeps))
        else:
            found.append(Field(one.name, stereo(one.rows, one.cols, one.used_labels), STEREO.sweeps))
    found.append(Field("segmentation", segments(321, 481, 4), SEGMENTATION.sweeps))
    return [*found, Field(SMALL, segments(64, 64, 4), SEGMENTATION.sweeps)]


Profiles = dict[str, dict[Part, Chains]]


def profiles(bus: Bus, chains: int) -> Profiles:
    """Of each field by its name."""
    return {one.name: profile_of(MACHINE, one.problem, Run(sweeps=one.sweeps), bus, PARTS, chains)
            for one in tqdm(fields(), desc="cycles", unit="field", leave=False, disable=None)}


def policies() -> list[Policy]:
    """All beside the sequential one."""
    return [Contexts(), WeightedFair(), Clusters(2), Clusters(4), Adaptive(EIGHTHS)]


@dataclass(frozen=True)
class Row:
    """A policy by the sequential one: throughputs, larger is better, and mean normalized turnarounds, smaller is better.

    pairs: of all pairs in both orders, on average; least: of them; pairs_turnaround. loads: (throughput, turnaround) of jobs that
    come by a Poisson process at each of LOADS, on average of the seeds. small: of small fields.
    """

    policy: str
    pairs: float
    least: float
    pairs_turnaround: float
    loads: tuple[tuple[float, float], ...]
    small: float


def _by(found: Trace, sequential: Trace) -> tuple[float, float]:
    return sequential.makespan / found.makespan, found.mean_turnaround / sequential.mean_turnaround


def measured(of: Profiles, seeds: int, jobs: int, compared: Sequence[Policy]) -> Iterator[Row]:
    """A row for each policy that is compared. of: the profiles of all fields."""
    names = [name for name in of if name != SMALL]

    def job(name: str, arrival: int, owner: int) -> Job:
        return Job(name, of[name], arrival, str(owner % OWNERS))

    pairs = [[job(name, 0, owner) for owner, name in enumerate(both)] for both in permutations(names, 2)]
    at_load = {load: [_poisson(names, of, load, jobs, seed, job) for seed in range(seeds)] for load in LOADS}
    small = [job(SMALL, 0, number) for number in range(SMALL_FIELDS)]
    by_itself: dict[str | float, list[list[Job]]] = {"pair": pairs, "small": [small], **at_load}
    alone = cache(lambda which, number: simulate(by_itself[which][number], Sequential()))
    for policy in compared:
        throughputs, turnarounds = zip(*(_by(simulate(pair, policy), alone("pair", number)) for number, pair in enumerate(pairs)),
                                       strict=True)
        loads = [[_by(simulate(some, policy), alone(load, number)) for number, some in enumerate(at_load[load])] for load in LOADS]
        yield Row(policy.name, fmean(throughputs), min(throughputs), fmean(turnarounds),
                  tuple((fmean(one for one, _ in found), fmean(one for _, one in found)) for found in loads),
                  _by(simulate(small, policy), alone("small", 0))[0])


def _poisson(names: list[str], of: Profiles, load: float, jobs: int, seed: int, job: Callable[[str, int, int], Job]) -> list[Job]:
    """Jobs of any of the names that come so that the chip alone would be busy `load` of the time."""
    rng = np.random.default_rng(seed)
    mean = fmean(job(name, 0, 0).alone() for name in names)
    arrivals = np.cumsum(rng.exponential(mean / load, jobs)).astype(int)
    return [job(names[rng.integers(len(names))], int(arrival), number) for number, arrival in enumerate(arrivals)]


HEAD = ("policy", "pairs", "least", "turnaround", *(f"{what}load {load:g}" for load in LOADS for what in ("", "turnaround, ")),
        f"{SMALL_FIELDS} small fields")


def table(rows: list[Row]) -> str:
    """In Markdown: throughputs and turnarounds by those of the sequential policy."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for row in rows:
        loads = [f"{number:.2f}" for pair in row.loads for number in pair]
        pairs = [f"{number:.2f}" for number in (row.pairs, row.least, row.pairs_turnaround)]
        lines.append((row.policy, *pairs, *loads, f"{row.small:.2f}"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cycles_table(of: Profiles) -> str:
    """In Markdown: a chain of each field, in thousands of cycles."""
    head = ("field", "sites", "labels", "sweeps", "load", "run", "read", "run on a half", "run on a quarter")
    lines: list[tuple[str, ...]] = [head, ("---",) * len(head)]
    for one in fields():
        whole, half, quarter = (of[one.name][part][0][0] for part in (WHOLE, Part(1, 2), Part(1, 4)))
        thousands = (f"{cycles / 1000:,.0f}" for cycles in (whole.load, whole.run, whole.read, half.run, quarter.run))
        rows, cols = one.problem.shape
        lines.append((one.name, f"{cols}x{rows}", str(one.problem.labels), str(one.sweeps), *thousands))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _draw(rows: list[Row]) -> Callable[[Any], None]:
    def draw(figure: Any) -> None:
        above, below = figure.subplots(2, 1)
        groups = ["pairs", *(f"load {load:g}" for load in LOADS), "small fields"]
        bars(above, groups, {row.policy: [row.pairs, *(one for one, _ in row.loads), row.small] for row in rows},
             label="throughput by sequential", form="%.2f")
        bars(below, groups[:-1], {row.policy: [row.pairs_turnaround, *(one for _, one in row.loads)] for row in rows},
             label="turnaround by sequential", form="%.2f")
        for axes in (above, below):
            axes.axhline(1, color="black", linewidth=0.8)
    return draw


@click.command(cls=OneLineCommand)
@click.option("--chains", type=click.IntRange(1, 16), default=2, show_default=True, help="Of each field.")
@click.option("--load-bytes", type=click.IntRange(1, 64), default=6, show_default=True, help="Of a site, packed into words.")
@click.option("--seeds", type=click.IntRange(1, 1000), default=10, show_default=True, help="Of jobs that come at random.")
@click.option("--jobs", type=click.IntRange(1, 10000), default=80, show_default=True, help="That come at random.")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder for a table and a picture.")
def main(chains: int, load_bytes: int, seeds: int, jobs: int, output: Path | None) -> None:
    """Compare policies by which jobs share a chip."""
    buses = {f"A bus of one word a cycle, {load_bytes} bytes loaded a site": Bus(load_bytes=load_bytes),
             "Today's words": Bus.of()}
    for number, (title, bus) in enumerate(buses.items()):
        of = profiles(bus, chains)
        rows = list(measured(of, seeds, jobs, policies()))
        click.echo(f"{title}: {bus.write} cycles a word to write, {bus.read} to read. A chain, in thousands of cycles:\n")
        click.echo(f"{cycles_table(of)}\n\nBy one job after the other, with {chains} chains each:\n\n{table(rows)}\n")
        if output is not None and not number:
            output.mkdir(parents=True, exist_ok=True)
            columns = {"policy": "see mrfhw.sharing", "pairs": "throughput of all pairs by that of sequential, on average",
                       "least": "of the pairs", "turnaround": "mean normalized turnaround of the pairs by that of sequential"}
            columns |= dict.fromkeys(HEAD[4:-1], "the same of jobs that come at random") | {HEAD[-1]: "throughput of them"}
            held = [dict(zip(columns, (row.policy, row.pairs, row.least, row.pairs_turnaround,
                                       *(one for pair in row.loads for one in pair), row.small), strict=True)) for row in rows]
            write_report(output, Report("sharing", title, columns, held, _draw(rows), [PUBLISHED], (9.0, 7.0)))
    click.echo(PUBLISHED)


if __name__ == "__main__":
    main()
