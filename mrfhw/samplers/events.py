"""Event-driven Gibbs sampling as published (Chapter 4): an approximation, for optimization alone.

Labels whose probability is the largest one's divided by `cutoff`, or less, are not drawn (Equation 4.1). A site is drawn only if a
neighbour has changed since, or if it had more than one label left when it was drawn last. Regions of several sites are drawn as a
whole if one of their sites is to be. What is drawn has another distribution than the field: no uncertainty comes of it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.state import RunState
from mrfhw.field.state_check import Holds, Stands
from mrfhw.samplers.events_kernel import sweep_active
from mrfhw.samplers.exact import FloatTables
from mrfhw.samplers.field_chain import FieldChain
from mrfhw.system.progress import compiling

__all__ = ["EventChain", "Skipping", "check_estimate"]

_WEIGHTS = 1 << 16  # energies above the least that have a weight
_ENDS = 40  # temperatures above the least energy, beyond which a weight is less than a draw can tell from 0


@dataclass(frozen=True)
class Skipping:
    """What is left out. Raises ProblemError.

    cutoff: C of Equation 4.1, above 1; infinity draws every label, and skips nothing but where one label has all the probability
    that float64 knows.
    region: rows and columns of the regions.
    """

    cutoff: float = 4.0
    region: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        if not self.cutoff > 1:
            raise ProblemError(f"cutoff is {self.cutoff:g}; labels less likely than 1 / cutoff of the likeliest are left out: give "
                               "more than 1")
        if min(self.region) < 1:
            raise ProblemError(f"region is {self.region[0]}x{self.region[1]}; it has rows and columns: give at least 1 of each")

    @classmethod
    def of(cls, text: str) -> Skipping:
        """What "cutoff=8&region=8x8" says, or a part of it. Raises ProblemError."""
        def wrong(what: str) -> ProblemError:
            return ProblemError(f"backend is {f'events?{text}'!r}; {what}: give such as events?cutoff=8&region=8x8")

        found: dict[str, Any] = {}
        for name, value in parse_qsl(text, keep_blank_values=True):
            if name not in ("cutoff", "region") or name in found:
                raise wrong(f"it has one cutoff and one region, and no other {name!r}")
            try:
                if name == "cutoff":
                    found[name] = float(value)
                else:
                    rows, columns = value.split("x")
                    found[name] = int(rows), int(columns)
            except ValueError:
                raise wrong(f"{name} is {value!r}, no {'number' if name == 'cutoff' else 'rows and columns'}") from None
        return cls(**found)

    @property
    def text(self) -> str:
        """As behind the question mark of a backend's name."""
        return f"cutoff={self.cutoff!r}&region={self.region[0]}x{self.region[1]}"


def check_estimate(run: Run, otherwise: str) -> None:
    """Raises ProblemError for an estimate of uncertainty. otherwise: another way out."""
    if run.estimate != "last":
        raise ProblemError(f"estimate is {run.estimate}; event-driven sampling never draws unlikely labels, so its samples say "
                           f"nothing of uncertainty: give estimate last, or {otherwise}")


class EventChain(FieldChain):
    """A chain in float64. It estimates no more than its last labels.

    drawn: sites drawn so far.
    changes: those whose label changed.
    """

    name = "events"
    tables_type = FloatTables
    tables: FloatTables

    def __init__(self, problem: Problem, run: Run, *, skipping: Skipping, tables: FloatTables | None = None,
                 threads: int | None = None):
        """As of `FieldChain`. Raises ProblemError for another estimate, too.

        skipping: what is left out.
        """
        check_estimate(run, "another backend than events")
        super().__init__(problem, run, tables=tables, threads=threads)
        hottest = problem.schedule.hottest
        if self.tables.bound > _WEIGHTS < _ENDS * hottest:
            raise ProblemError(f"temperature is {hottest:g} and energies go up to {float(self.tables.bound):.3g}; backend events "
                               f"takes temperatures up to {_WEIGHTS / _ENDS:g} for energies above {_WEIGHTS}: give smaller ones, "
                               "or backend float")
        self.drawn, self.changes = 0, 0
        self.cutoff, region = skipping.cutoff, skipping.region
        self._rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
        rows, cols = (np.arange(size) // min(step, size) for size, step in zip(problem.shape, region, strict=True))
        self._regions = (rows[:, None] * (cols[-1] + 1) + cols).reshape(-1)
        self._active = np.ones((len(COLOURS), self._regions[-1] + 1), np.uint8)
        self._last, self._weights = math.inf, np.empty(0)

    @classmethod
    def options(cls, text: str) -> dict[str, Any]:
        return {"skipping": Skipping.of(text)}

    @classmethod
    def identity(cls, **options: Any) -> str:
        return f"{cls.name}?{options['skipping'].text}"

    def sweep(self) -> None:
        """Black sites in active regions, then white ones."""
        t, temperature = self.tables, next(self._temperatures)
        if temperature > self._last:
            self._active.fill(1)
        if temperature != self._last or not self._weights.size:
            self._weights = np.exp(np.arange(min(_WEIGHTS, t.bound + 1) + 1) / -temperature)
            self._weights[-1] = 0.0
            self._last = temperature
        with compiling("events", t.kind):
            for colour in COLOURS:
                now = self._active[colour].copy()
                self._active[colour].fill(0)
                drawn, changes = sweep_active(
                    t.sites[colour], self.problem.shape[1], self._weights, 1 / self.cutoff, t.singles[colour], t.doubles, t.edges,
                    t.flags.reshape(-1), self.labels.reshape(-1), self._rng.random(len(t.sites[colour])), self._regions, now,
                    self._active[colour], self._active[1 - colour])
                self.drawn += drawn
                self.changes += changes
        self.sweeps += 1

    @property
    def label_evaluations(self) -> int:
        """Those that were not skipped."""
        return self.drawn * self.problem.labels

    def _own_state(self) -> dict[str, Any]:
        return {"random": self._rng.bit_generator.state,
                "more": {"active": self._active.copy(), "changes": np.array(self.changes)}}

    def _stands(self) -> Stands:
        return Stands(random=True, more={"changes": Holds(()), "active": Holds(self._active.shape, 0, 1)})

    def restore(self, state: RunState) -> None:
        super().restore(state)
        assert state.random is not None
        self.drawn, self.changes = state.so_far.label_evaluations // self.problem.labels, int(state.more["changes"])
        self._active[...] = state.more["active"]
        self._rng.bit_generator.state = state.random
        self._last, self._weights = math.inf, np.empty(0)
        for temperature in itertools.islice(self.temperatures(), self.sweeps):
            self._last = temperature

    @property
    def skipped(self) -> float:
        """Share of the updates of all sweeps so far that were skipped."""
        return 1 - self.drawn / max(1, self.problem.unclamped_sites * self.sweeps)
