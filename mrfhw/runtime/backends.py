"""One call for every backend; each is imported only when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from mrfhw.config import Config
from mrfhw.problem import Problem, ProblemError, Run
from mrfhw.result import Result

__all__ = ["BACKENDS", "solve"]

BACKENDS = {"float": "mrfhw.model.exact", "model": "mrfhw.model.machine", "rtl": "mrfhw.sim.chip"}


def solve(backend: str, config: Config, problem: Problem, run: Run,
          progress: Callable[[int], None] | None = None) -> Result:
    """Solve `problem` by a backend: "float" (double precision), "model" (bit-exact) or "rtl" (compiled Verilog).

    progress: called with the number of finished sweeps. "float" takes grids of any size; the others those that
    the machine's tiles hold. Raises ProblemError for an unknown backend and a problem that does not fit.
    """
    if backend not in BACKENDS:
        raise ProblemError(f"backend is {backend!r}; it must be one of {', '.join(BACKENDS)}: choose one")
    module: Any = importlib.import_module(BACKENDS[backend])
    if backend == "float":
        return module.solve(problem, run, config=config, progress=progress)
    return module.solve(config, problem, run, progress=progress)
