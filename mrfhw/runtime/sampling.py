"""Several independent chains of a problem by one backend."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from mrfhw.config import Config
from mrfhw.model.field_energy import FieldEnergy
from mrfhw.problem import Problem, ProblemError, Run
from mrfhw.runtime import backends
from mrfhw.runtime.convergence import least_looks
from mrfhw.runtime.solution import Solution
from mrfhw.runtime.trace import Trace

__all__ = ["TRACED_SITES", "sample"]

TRACED_SITES = 256  # sites whose labels are kept at every look


class _Recorder:
    """Looks at every chain and keeps the energy and some sites' labels."""

    def __init__(self, problem: Problem, seed: int):
        drawn = np.arange(problem.sites) if problem.clamped is None else np.flatnonzero(~problem.clamped)
        rng = np.random.Generator(np.random.PCG64([seed, 3]))
        chosen = rng.choice(drawn, min(TRACED_SITES, len(drawn)), replace=False)
        self.sites = np.stack(np.divmod(np.sort(chosen), problem.shape[1]), 1)
        self._energy = FieldEnergy(problem)
        self._looks: list[list[tuple[int, float, np.ndarray]]] = []

    def begin(self) -> None:
        """Another chain."""
        self._looks.append([])

    def look(self, sweeps: int, labels: np.ndarray) -> None:
        self._looks[-1].append((sweeps, float(self._energy(labels)), labels[self.sites[:, 0], self.sites[:, 1]]))

    def trace(self, burn_in: int) -> Trace | None:
        if not self._looks[0]:
            return None
        return Trace(
            sweeps=np.array([sweeps for sweeps, _, _ in self._looks[0]], np.int64), burn_in=burn_in,
            energy=np.array([[energy for _, energy, _ in chain] for chain in self._looks]), sites=self.sites,
            labels=np.array([[labels for _, _, labels in chain] for chain in self._looks], np.uint8))


def sample(backend: str, config: Config, problem: Problem, run: Run, *, chains: int = 1, visit: int | None = None,
           traced: bool = True, progress: Callable[[int], object] | None = None) -> Solution:
    """Run `chains` chains of `problem`, with the seeds run.seed, run.seed + 1, ...

    visit: sweeps of a window at a time where the image is larger than the machine; None for what `backends.solve` takes,
    or fewer where the convergence of the chains needs more looks at them. traced: keep a Trace, where the
    backend shows its labels. progress: called with the number of finished sweeps, those of all chains added.
    Raises ProblemError for what the backend cannot run.
    """
    if chains < 1:
        raise ProblemError(f"chains is {chains}; a run has at least 1: give more")
    if visit is None:
        # One look more, as the burn-in may end within a round.
        visit = max(1, min(backends.VISIT, config.temperature_table, run.counted // (least_looks(chains) + 1)))
    recorder = _Recorder(problem, run.seed) if traced else None
    results = []
    for chain in range(chains):
        def advance(done: int, before: int = chain * run.sweeps) -> None:
            if progress is not None:
                progress(before + done)

        if recorder is not None:
            recorder.begin()
        one = dataclasses.replace(run, seed=(run.seed + chain) % (1 << 64))
        results.append(backends.solve(backend, config, problem, one, advance,
                                      None if recorder is None else recorder.look, visit))
    return Solution(results=results, trace=None if recorder is None else recorder.trace(run.burn_in))
