"""Machines of every feature and width beside their model, on and on: `cd tests && python -m support.differential`.

    python -m support.differential --machines 40 --problems 20 --seed 1 -o ../out/differential
    python -m support.differential --again ../out/differential/17.pickle     # one that differed, as it was reduced

Each machine is compiled, and labels, LMem, histogram or sums, messages, cycles and stalls of its runs compared with the model's;
some runs stop in the middle and go on in another program's chip, of which labels and counts are compared. Every third machine is
several, clusters or contexts, that are loaded, run and read beside each other, of which stalls are not compared. What differs is
reduced to fewer runs, sites, sweeps and labels as long as it differs, and kept with its machine. A file of lines says what was
compared, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.backends.backend import Pauses, advance_together
from mrfhw.backends.plan import Plan
from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config, ConfigError
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import ChipBackend, CompiledChip
from mrfhw.system.files import output_path
from mrfhw.twin import machine
from support.begun import begun
from support.random_fields import random_field, random_field_machine
from support.random_lanes import lane_placement, random_lane_machine, random_subset_machine
from support.random_problems import random_config, random_placement, with_estimates

KINDS = ("plain", "field", "lanes", "subsets")
# Parameters that do not make a machine larger, one at a time at the least or most that it may have.
WIDTHS = ("energy_bits", "weight_bits", "data_bits", "data_bits_2", "data_bits_3", "singleton_cap", "temperature_bits",
          "temperature_table", "counter_bits", "hub_depth", "hub_fan_in", "line_bits", "line_levels", "vector_bits", "shift_bits",
          "edge_bits", "pairwise_bits", "uniform_bits", "gumbel_uniform_bits", "gumbel_fraction_bits", "gumbel_segments",
          "probability_bits", "exponent_fraction_bits", "address_bits")
OF_LABELS = ("offsets", "vectors", "pairwise", "constants")  # arrays that have no sites
PATIENCE = 50_000_000  # cycles
SEVERAL: tuple[dict[str, int], ...] = ({}, {}, {}, {}, {"clusters": 2}, {"contexts": 2})  # of one machine
IN_A_ROW = 3  # runs of each of several, so that one is loaded while another runs

Runs = tuple[tuple[Placement, ...], ...]  # at each cluster or context one after the other


def drawn_machine(rng: np.random.Generator) -> tuple[str, Config]:
    """A kind and a machine of it, a few of whose widths are at an end of what they may be."""
    kind = str(rng.choice(KINDS))
    lanes = int(rng.choice([2, 4, 8, 16]))
    config = {"plain": lambda: random_config(rng), "field": lambda: random_field_machine(rng),
              "lanes": lambda: random_lane_machine(rng, lanes),
              "subsets": lambda: random_subset_machine(rng, int(rng.choice([1, lanes])))}[kind]()
    space = {p.name: p for p in Config.space()}
    for name in rng.choice(WIDTHS, int(rng.integers(0, 5)), replace=False):
        if name not in space:
            continue
        p = space[name]
        ends = (p.choices[0], p.choices[-1]) if p.choices else (p.low, p.high)
        try:
            config = config.changed(**{name: ends[int(rng.integers(2))]})
        except ConfigError:  # not with its other widths
            continue
    return kind, config


def drawn_problem(rng: np.random.Generator, kind: str, config: Config) -> Placement | None:
    """A problem that fits; None where none was found soon, as a machine of narrow widths takes few."""
    make = {"plain": random_placement, "field": random_field}.get(kind, lane_placement)
    for _ in range(20):
        try:
            return with_estimates(make(rng, config))
        except (ProblemError, ValueError):
            continue
    return None


def drawn_runs(rng: np.random.Generator, kind: str, config: Config) -> Runs:
    """Problems that fit: one, or up to IN_A_ROW for each cluster or context."""
    drawn = [[drawn_problem(rng, kind, config.cluster) for _ in range(IN_A_ROW if config.seats > 1 else 1)]
             for _ in range(config.seats)]
    return tuple(tuple(one for one in row if one is not None) for row in drawn)


class Row:
    """Runs of a cluster or context, one after the other, each compared with the model's when it has ended.

    stalls: whether they are compared. What another cluster or context stalls is no difference. what: the first difference.
    """

    what: str | None = None

    def __init__(self, place: ChipBackend, row: tuple[Placement, ...], stalls: bool):
        self.runs, self.stalls = [(place.prepare(one.problem, one.run), one) for one in row], stalls

    def steps(self) -> Iterator[None]:
        for active, one in self.runs:
            yield from active.steps()
            found, wanted = active.result(), machine.solve(one.config, one.problem, one.run)
            if not self.stalls and found.cycles - found.stall_cycles == wanted.cycles - wanted.stall_cycles:
                found = dataclasses.replace(found, cycles=wanted.cycles, stall_cycles=wanted.stall_cycles)
            self.what = self.what or first_difference(found, wanted)


def difference(chip: CompiledChip, runs: Runs) -> str | None:
    """What the chip has otherwise than the model, of whole runs."""
    backend = ChipBackend(chip, PATIENCE)
    try:
        rows = [Row(place, row, len(runs) == 1) for place, row in zip(backend.places, runs, strict=True)]
        advance_together(rows)  # type: ignore[arg-type]
    except ProblemError:  # of a reduced one that fits no more
        return None
    except Exception as error:  # a chip that does not end, a log that cannot be
        return f"{type(error).__name__}: {error}"
    return next((row.what for row in rows if row.what is not None), None)


def difference_after_a_stop(placement: Placement, stop: int) -> str | None:
    """The same of a run that stops after `stop` sweeps and goes on in another chip: of labels and counts, as stops take cycles."""
    plan = Plan.of("rtl", placement.config, placement.problem)
    with plan.open(placement.run.sweeps) as session:
        state = begun(plan, session, placement.run, pauses=Pauses(sweeps=stop)).state()
    with plan.open(placement.run.sweeps) as session:
        found = begun(plan, session, placement.run, state=state).result()
    wanted = machine.solve(placement.config, placement.problem, placement.run)
    return first_difference(dataclasses.replace(found, cycles=wanted.cycles, stall_cycles=wanted.stall_cycles,
                                                gap_cycles=wanted.gap_cycles), wanted)


def _smaller(placement: Placement) -> Iterator[Placement]:
    """Problems like it, each with less of one thing."""
    problem, run = placement.problem, placement.run
    rows, cols = problem.shape
    for n in (run.sweeps // 2, run.sweeps - 1):
        if 1 <= n < run.sweeps:
            yield from _placed(placement, problem, dataclasses.replace(run, sweeps=n, burn_in=min(run.burn_in, n - 1)))
    cuts = [(slice(0, rows // 2), slice(None)), (slice(rows // 2, rows), slice(None)), (slice(None), slice(0, cols // 2)),
            (slice(None), slice(cols // 2, cols)), (slice(0, rows - 1), slice(None)), (slice(None), slice(0, cols - 1))]
    for cut in cuts:
        fields: dict[str, Any] = {}
        for field in dataclasses.fields(Problem):
            value = getattr(problem, field.name)
            if isinstance(value, np.ndarray) and value.shape[:2] == problem.shape and field.name not in OF_LABELS:
                fields[field.name] = value[cut]
        initial = run.initial if isinstance(run.initial, str) else run.initial[cut]
        if fields and min(next(iter(fields.values())).shape[:2]) > 0:
            yield from _placed(placement, dataclasses.replace(problem, **fields), dataclasses.replace(run, initial=initial))
    for name in ("observed", "clamped", "edges", "singleton_max"):
        if getattr(problem, name) is not None:
            yield from _placed(placement, dataclasses.replace(problem, **{name: None}), run)


def _placed(placement: Placement, problem: Problem, run: Run) -> Iterator[Placement]:
    try:
        yield Placement(placement.config, problem, run)
    except (ProblemError, ValueError):
        return


def _fewer(runs: Runs) -> Iterator[Runs]:
    """Runs like them, one less or one of a smaller problem."""
    for place, row in enumerate(runs):
        for index, one in enumerate(row):
            others: list[tuple[Placement, ...]] = [(smaller,) for smaller in _smaller(one)]
            if sum(map(len, runs)) > 1:
                others.insert(0, ())
            for instead in others:
                yield (*runs[:place], (*row[:index], *instead, *row[index + 1:]), *runs[place + 1:])


def reduced(chip: CompiledChip, runs: Runs) -> Runs:
    """Fewer runs of smaller problems that still differ."""
    while True:
        smaller = next((one for one in _fewer(runs) if difference(chip, one) is not None), None)
        if smaller is None:
            return runs
        runs = smaller


def compared(seed: int, number: int, problems: int, folder: Path) -> dict[str, Any]:
    """One machine's outcome: how many problems were compared, and what was unequal."""
    rng, began = np.random.default_rng((seed, number)), time.monotonic()
    kind, config = drawn_machine(rng)
    changes = SEVERAL[int(rng.integers(len(SEVERAL)))]
    several = "".join(f", {n} {name}" for name, n in changes.items())
    config = config.changed(**changes)
    found: dict[str, Any] = {"number": number, "seed": seed, "kind": kind, "several": several, "machine": config.to_dict(),
                             "problems": 0, "stops": 0, "unequal": []}
    log_ready = (256, 0) if rng.random() < 0.6 else (int(rng.integers(8, 200)), number)
    with CompiledChip(config, log_ready, quick=True) as chip:
        while found["problems"] < problems:
            runs = drawn_runs(rng, kind, config)
            found["problems"] += max(1, sum(map(len, runs)))
            what = difference(chip, runs)
            single = runs[0][0] if len(runs) == 1 and runs[0] else None
            if what is None and single is not None and log_ready[0] == 256 and single.run.sweeps > 1 and rng.random() < 0.1:
                found["stops"] += 1
                what = difference_after_a_stop(single, int(rng.integers(1, single.run.sweeps)))
            if what is not None:
                small = reduced(chip, runs)
                path = folder / f"{number}.pickle"
                path.write_bytes(pickle.dumps((config, [[(one.problem, one.run) for one in row] for row in small], log_ready)))
                found["unequal"].append({"what": what, "file": path.name,
                                         "shapes": [one.problem.shape for row in small for one in row]})
    return {**found, "seconds": round(time.monotonic() - began, 1)}


def again(path: Path) -> bool:
    """Compare a kept problem once more; True where it still differs. Raises ProblemError for what is no kept problem."""
    try:
        config, kept, log_ready = pickle.loads(path.read_bytes())
    except (OSError, ValueError, pickle.UnpicklingError, EOFError) as error:
        raise ProblemError(f"{path} is no kept problem ({type(error).__name__}): give a file that this command wrote") from None
    with CompiledChip(config, log_ready, quick=True) as chip:
        what = difference(chip, tuple(tuple(Placement(config.cluster, *one) for one in row) for row in kept))
    for problem, run in (one for row in kept for one in row):
        click.echo(f"{problem.shape[0]}x{problem.shape[1]} sites, {problem.labels} labels, {run.sweeps} sweeps")
    click.echo(what or "equal")
    return what is not None


@click.command(cls=OneLineCommand, help="Compare random machines with their model; what differs is reduced and kept.")
@click.option("--machines", type=click.IntRange(1), default=40, show_default=True)
@click.option("--problems", type=click.IntRange(1), default=20, show_default=True, help="Of each machine.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="processors", help="Machines at a time.")
@click.option("--again", "kept", type=click.Path(path_type=Path), metavar="FILE", help="A kept problem that differed.")
@click.option("-o", "--output", type=Folder(), default=Path("../out/differential"), show_default=True)
def main(machines: int, problems: int, seed: int, jobs: int, kept: Path | None, output: Path) -> None:
    if kept is not None:
        sys.exit(1 if again(kept) else 0)
    with output_path("output", output, "a folder"):
        output.mkdir(parents=True, exist_ok=True)
    lines = output / f"seed-{seed}.jsonl"
    done = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    left = sorted(set(range(machines)) - {one["number"] for one in done})
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        work = [pool.submit(compared, seed, number, problems, output) for number in left]
        for ended in concurrent.futures.as_completed(work):
            one = ended.result()
            done.append(one)
            with lines.open("a") as file:
                print(json.dumps(one), file=file)
            click.echo(f"{len(done)}/{machines} machine {one['number']}, {one['kind']}{one['several']}: "
                       f"{one['problems']} problems, {len(one['unequal'])} unequal ({one['seconds']} s)")
    unequal = [(one["number"], bad) for one in done for bad in one["unequal"]]
    compared_problems, stops = (sum(one[name] for one in done) for name in ("problems", "stops"))
    click.echo(f"{len(done)} machines, {compared_problems} problems, {stops} of them with a stop, {len(unequal)} unequal")
    for number, bad in unequal:
        click.echo(f"machine {number}: {bad['what']}: python -m support.differential --again {output / bad['file']}")
    sys.exit(1 if unequal else 0)


if __name__ == "__main__":
    main()
