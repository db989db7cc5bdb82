"""Runs that go on where their sweeps were too few for the chains to agree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mrfhw.analysis.convergence import more_helps
from mrfhw.analysis.trace import Trace
from mrfhw.backends.plan import Plan
from mrfhw.field.problem import Run

__all__ = ["Judge", "longer", "may_go_on"]

Judge = Callable[[Trace, float], bool]  # whether chains do not agree, and up to so many times as many sweeps help


def may_go_on(plan: Plan, run: Run, most: int) -> bool:
    """Whether chains of `run` that do not agree can be told, and go on up to `most` sweeps.

    Not on a board that holds the whole grid, as it shows no sweeps; and not in windows whose last round was cut short.
    """
    if plan.windows is None:
        return run.sweeps < most and plan.kind.shows_sweeps
    return run.sweeps < most and run.sweeps % plan.visit == 0


def longer(run: Run, trace: Trace | None, most: int, judge: Judge = more_helps) -> Run | None:
    """What chains that have done `run` go on with where they do not agree and more sweeps help: a run of twice as many sweeps,
    `most` at most, of which all that were done are the burn-in. None where the chains agree, and where that cannot be told.
    judge: who says so."""
    if trace is None or run.sweeps >= most or not judge(trace, most / run.sweeps):
        return None
    return dataclasses.replace(run, sweeps=min(2 * run.sweeps, most), burn_in=run.sweeps)
