"""From a field, or the file that has it, and options to the job of sampling it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.applications.options import MORE, MOST_HELP, SEED_HELP
from mrfhw.applications.options import most_sweeps as most_of
from mrfhw.field.problem import ESTIMATES, Problem, ProblemError, Run, load_problem
from mrfhw.jobs.application import Application
from mrfhw.jobs.job import Job, energy_settings
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.jobs.options import Given, Option
from mrfhw.machine.manifest import config_from_options, split_options
from mrfhw.pictures.images import is_path, name_of
from mrfhw.placement.fit import check_fits
from mrfhw.placement.needs import needed_parameters
from mrfhw.report.exchange import writes_classes

__all__ = ["APPLICATION", "SWEEPS", "label_scale"]

SWEEPS = 500  # of a file without a run


def label_scale(labels: int, estimate: str = ESTIMATES[0], values: np.ndarray | None = None) -> LabelScale:
    """Labels as they are: numbers without order, each with a colour; where their mean is asked for, numbers. values: (L,) float64,
    what they stand for, or None. Raises ProblemError for a mean of labels that is no mean of values."""
    if values is None:
        return LabelScale(values=np.arange(labels, dtype=np.float64)[:, None], name="label",
                          kind="scalar" if estimate == "mean" else "classes")
    if estimate == "mean" and not np.allclose(np.diff(values), values[1] - values[0]):
        raise ProblemError("estimate is mean, which adds labels up, and values are in uneven steps, so that their mean is another "
                           "one: give estimate mode, whose answer has the mean of values as well")
    return LabelScale(values=values[:, None], name="value")


def _run(held: Run | None, sweeps: int | None, burn_in: int | None, seed: int | None,
         initial: str | np.ndarray | None, estimate: str | None) -> Run:
    """The file's run where an option is not given; a number of sweeps that is given comes with half of it as burn-in."""
    if sweeps is None and held is not None:
        sweeps, burn_in = held.sweeps, held.burn_in if burn_in is None else burn_in
    sweeps = SWEEPS if sweeps is None else sweeps
    start: str | np.ndarray = "random" if held is None else held.initial
    return Run(sweeps=sweeps, burn_in=sweeps // 2 if burn_in is None else burn_in,
               seed=(0 if held is None else held.seed) if seed is None else seed, initial=start if initial is None else initial,
               estimate=(ESTIMATES[0] if held is None else held.estimate) if estimate is None else estimate)


def job(app: Application, *, file: Any, sweeps: int | None, burn_in: int | None, most_sweeps: int | None, seed: int | None,
        initial: str | np.ndarray | None, estimate: str | None, given: Given, **machine: Any) -> Job:
    """Read a saved problem and check it against the machine, if there is one. Raises ProblemError or ConfigError.

    file: a path, or a Problem.
    """
    if not isinstance(file, Problem) and not is_path(file):
        raise ProblemError(f"the problem is of type {type(file).__name__}; it is a Problem, or the path of a saved one: make one "
                           "by mrfhw.Problem")
    problem, held = (file, None) if isinstance(file, Problem) else load_problem(file)
    options = split_options(machine)[0]
    config = None if given.no_machine else config_from_options(**options)
    if config is not None and not given.machine_is_fixed:
        needed = needed_parameters(problem, config)
        config = config.changed(**{name: value for name, value in needed.items() if options[name] is None})
    run = _run(held, sweeps, burn_in, seed, initial, estimate)
    if config is not None:
        check_fits(config, problem)
    most = most_of(run.sweeps, most_sweeps, default=held is None and sweeps is None and burn_in is None,
                   cooled=problem.schedule.kind != "constant", last=run.estimate == "last")
    return Job(
        application=app, config=config, problem=problem, run=run, most_sweeps=most, inputs={},
        scale=label_scale(problem.labels, run.estimate, problem.values),
        settings={"problem": "problem", "file": "array" if isinstance(file, Problem) else name_of(file, "array"),
                  "digest": problem.digest, "labels": problem.labels,
                  **energy_settings(problem), "sweeps": run.sweeps, "burn_in": run.burn_in,
                  "most_sweeps": most or None, "seed": run.seed,
                  "estimate": run.estimate, "initial": run.initial if isinstance(run.initial, str) else "labels of the file",
                  "preset": options["preset"], "rows": problem.shape[0], "columns": problem.shape[1]})


APPLICATION = Application(
    verb="problem", summary="Sample the field in FILE: a label for each site, and how sure it is.", title="A field from a file",
    arguments=("file",), job=job,
    options=(
        Option(name="sweeps", type=int, help="Sweeps of a chain, burn-in included.", said=f"the file's, or {SWEEPS}"),
        Option(name="burn_in", type=int, help="First sweeps, which are not counted.",
               said="half of --sweeps; without that, the file's"),
        Option(name="most_sweeps", type=int, metavar="N", help=MOST_HELP,
               said=f"{MORE * SWEEPS} where neither the file nor an option says how many sweeps there are; else no more"),
        Option(name="seed", type=int, help=SEED_HELP, said="the file's, or 0"),
        Option(name="initial", help="Labels to start from: random or minimum.", said="the file's, or random"),
        Option(name="estimate", choices=ESTIMATES, help="What is made of the samples: mode, mean or last.",
               said="the file's, or mode")),
    files={"classes.png": writes_classes})
