"""From a field, or the file that has it, and options to the job of sampling it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.applications.options import machine_is_given
from mrfhw.applications.options import most_sweeps as most_of
from mrfhw.applications.task import Task
from mrfhw.field.problem import ESTIMATES, Problem, ProblemError, Run, load_problem
from mrfhw.jobs.job import Job, energy_settings
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.machine.manifest import config_from_options, split_options
from mrfhw.pictures.images import is_path, name_of
from mrfhw.placement.fit import check_fits
from mrfhw.placement.needs import needed_parameters

__all__ = ["SWEEPS", "TASK", "job", "label_scale"]

SWEEPS = 500  # of a file without a run


def label_scale(labels: int, estimate: str = ESTIMATES[0]) -> LabelScale:
    """Labels as they are: numbers without order, each with a colour; where their mean is asked for, numbers."""
    return LabelScale(values=np.arange(labels, dtype=np.float64)[:, None], name="label",
                      kind="scalar" if estimate == "mean" else "classes")


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


def job(*, file: Any, sweeps: int | None = None, burn_in: int | None = None, most_sweeps: int | None = None,
        seed: int | None = None, initial: str | np.ndarray | None = None, estimate: str | None = None,
        given: frozenset[str] = frozenset(), **machine: Any) -> Job:
    """Read a saved problem and check it against the machine. Raises ProblemError or ConfigError.

    file: a path, or a Problem. given: as of `mrfhw.applications.options.Common.of`.
    """
    if not isinstance(file, Problem) and not is_path(file):
        raise ProblemError(f"the problem is of type {type(file).__name__}; it is a Problem, or the path of a saved one: make one "
                           "by mrfhw.Problem")
    problem, held = (file, None) if isinstance(file, Problem) else load_problem(file)
    options = split_options(machine)[0]
    config = config_from_options(**options)
    if not machine_is_given(given):
        needed = needed_parameters(problem, config)
        config = config.changed(**{name: value for name, value in needed.items() if options[name] is None})
    run = _run(held, sweeps, burn_in, seed, initial, estimate)
    check_fits(config, problem)
    most = most_of(run.sweeps, most_sweeps, default=held is None and sweeps is None and burn_in is None,
                   cooled=problem.schedule.kind != "constant", last=run.estimate == "last")
    return Job(
        application="problem", config=config, problem=problem, run=run, most_sweeps=most, inputs={},
        scale=label_scale(problem.labels, run.estimate),
        settings={"problem": "problem", "file": "array" if isinstance(file, Problem) else name_of(file, "array"),
                  "digest": problem.digest, "labels": problem.labels,
                  **energy_settings(problem), "sweeps": run.sweeps, "burn_in": run.burn_in,
                  "most_sweeps": most or None, "seed": run.seed,
                  "estimate": run.estimate, "initial": run.initial if isinstance(run.initial, str) else "labels of the file",
                  "preset": options["preset"], "rows": problem.shape[0], "columns": problem.shape[1]})


TASK = Task(verb="problem", summary="Sample the field in FILE: a label for each site, and how sure it is.", arguments=("file",),
            problem=None, job=job)
