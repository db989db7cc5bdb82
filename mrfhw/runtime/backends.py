"""One call for every backend; each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mrfhw.config import Config
from mrfhw.problem import Problem, ProblemError, Run
from mrfhw.result import Result
from mrfhw.runtime.windows import WindowPlan, check_visit, sweep_windows

__all__ = ["BACKENDS", "VISIT", "solve"]

BACKENDS = ("float", "model", "rtl")
VISIT = 20  # sweeps of a window at a time, at most, where none are given


def solve(backend: str, config: Config, problem: Problem, run: Run, progress: Callable[[int], object] | None = None,
          observe: Callable[[int, np.ndarray], object] | None = None, visit: int | None = None) -> Result:
    """Solve `problem` by a backend: "float" (double precision), "model" (bit-exact), "rtl" (compiled Verilog) or a board.

    A board is named by its address, see `mrfhw.host.connect`.

    progress: called with the number of finished sweeps. observe: called with it and the labels (H, W) whenever the
    backend shows them: after each sweep, after each round of windows, or not at all (one run of `rtl`).
    visit: sweeps of a window at a time where the grid is larger than the machine; None for VISIT, or what a changing
    temperature's table holds. "float" takes grids of any size.
    Result.extra has the loading and reading cycles of the chip's bus; of a board also "reconnections", how often its link was made
    again.
    Raises ProblemError for an unknown backend and a problem that does not fit.
    """
    if backend not in BACKENDS and "://" not in backend:
        raise ProblemError(f"backend is {backend!r}; it must be one of {', '.join(BACKENDS)}: choose one")
    if backend == "float":
        from mrfhw.model import exact

        return exact.solve(problem, run, config=config, progress=progress, observe=observe)
    problem.check_fits(config)
    plan = WindowPlan(config, problem)
    whole = len(plan.windows) == 1
    if visit is None:
        visit = min(VISIT, config.temperature_table)
    if not whole:
        check_visit(config, problem, visit)
    if backend == "model":
        from mrfhw.runtime.model_session import ModelSession

        session = ModelSession(config)
        if whole:
            return session.solve(problem, run, progress=progress, observe=observe)
        return sweep_windows(session, plan, run, visit, progress, observe)
    if "://" in backend:
        from mrfhw.host import connect

        with connect(backend, config) as board:
            return (board.solve(problem, run, progress=progress) if whole
                    else sweep_windows(board, plan, run, visit, progress, observe))
    from mrfhw.sim import chip

    if whole:
        return chip.solve(config, problem, run, progress)
    with chip.ChipSession(config, chip.is_short(config, problem, run)) as held:
        return sweep_windows(held, plan, run, visit, progress, observe)
