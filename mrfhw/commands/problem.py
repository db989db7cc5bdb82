"""`mrfhw run problem` and `verify problem`: a field from a file."""

from __future__ import annotations

import dataclasses
from typing import Any

import click
import numpy as np

from mrfhw.apps.job import Job, LabelScale
from mrfhw.commands.application import Application
from mrfhw.commands.machine_options import config_from_options, machine_is_given, split_options
from mrfhw.field.files import load_problem
from mrfhw.field.problem import Run
from mrfhw.placement.fit import check_fits
from mrfhw.placement.needs import needed_parameters

__all__ = ["APPLICATION", "job", "label_scale"]

SWEEPS = 500  # of a file without a run


def label_scale(labels: int) -> LabelScale:
    """Labels as they are: numbers without order, each with a colour."""
    return LabelScale(values=np.arange(labels, dtype=np.float64)[:, None], name="label", kind="classes")


def _run(held: Run | None, sweeps: int | None, burn_in: int | None, seed: int | None, initial: str | None) -> Run:
    """The file's run where an option is not given; a number of sweeps that is given comes with half of it as burn-in."""
    if sweeps is None and held is not None:
        sweeps, burn_in = held.sweeps, held.burn_in if burn_in is None else burn_in
    sweeps = SWEEPS if sweeps is None else sweeps
    start: str | np.ndarray = "random" if held is None else held.initial
    return Run(sweeps=sweeps, burn_in=sweeps // 2 if burn_in is None else burn_in,
               seed=(0 if held is None else held.seed) if seed is None else seed, initial=start if initial is None else initial)


def job(*, file: str, sweeps: int | None, burn_in: int | None, seed: int | None, initial: str | None, **machine: Any) -> Job:
    """Read a saved problem and check it against the machine. Raises ProblemError or ConfigError."""
    problem, held = load_problem(file)
    given = split_options(machine)[0]
    config = config_from_options(**given)
    if not machine_is_given():
        needed = needed_parameters(problem, config)
        config = config.changed(**{name: value for name, value in needed.items() if given[name] is None})
    run = _run(held, sweeps, burn_in, seed, initial)
    check_fits(config, problem)
    return Job(
        application="problem", config=config, problem=problem, run=run, inputs={}, scale=label_scale(problem.labels),
        settings={"problem": "problem", "file": file, "digest": problem.digest, "labels": problem.labels,
                  "schedule": dataclasses.asdict(problem.schedule), "sweeps": run.sweeps, "burn_in": run.burn_in, "seed": run.seed,
                  "initial": run.initial if isinstance(run.initial, str) else "labels of the file", "preset": machine["preset"],
                  "rows": problem.shape[0], "columns": problem.shape[1]})


APPLICATION = Application(
    verb="problem", summary="Sample the field in FILE: a label for each site, and how sure it is.", arguments=("file",),
    problem=None, sweeps=SWEEPS, job=job,
    options=(
        click.option("--sweeps", type=int, help=f"Sweeps of a chain, burn-in included.  [default: the file's, or {SWEEPS}]"),
        click.option("--burn-in", type=int, help="First sweeps, which are not counted.  [default: the file's, or half]"),
        click.option("--seed", type=int, help="Seed of all random numbers.  [default: the file's, or 0]"),
        click.option("--initial", help="Labels to start from: random or minimum.  [default: the file's, or random]"),
    ))
