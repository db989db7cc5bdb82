"""Gibbs sampling by an OpenCL device (backend "gpu"): whole numbers, and the same labels on every device.

E of Equation 3.1 without shift, floor or cap. The weight of a label is 2^b exp(-(E - Emin) / T), rounded (`weight_table`), with
b so that the weights of all L labels add up to 2^31 at most: each probability is within L 2^-(b + 1) of the law's. A label is drawn
by the point (u sum) >> 32, with u the first word of Philox4x32-10 of (site, sweep) and a key from the seed. All black sites
((row + column) even) are drawn at once, then all white ones, so that neither a work-group's shape nor a device changes a chain.

A subset has the site's label and proposals that do not depend on it: half of them any label, half a neighbour's, to every second of
which 1 is added or taken away. One of them is drawn by its weight over the probability q with which it is proposed, which keeps the
law (H. Tjelmeland, Using all Metropolis-Hastings proposals to estimate mean values, 2004): 1 / q is 2^28 over 4 M + L c, rounded
down, of M neighbours, c of whose 4 M equally likely proposals are that label, so that no weight is off by more than 2^-15 of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from mrfhw.field.given import short
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.state import RunState
from mrfhw.field.state_check import Holds, Stands
from mrfhw.samplers.events import Skipping, check_estimate
from mrfhw.samplers.field_chain import FieldChain
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.fields import Kept, Sweep, check_variant
from mrfhw.samplers.gpu.group import TOGETHER, Group
from mrfhw.samplers.gpu.source import PLAIN, Variant
from mrfhw.samplers.gpu.tables import GpuTables
from mrfhw.samplers.gpu.tuning import tuned

__all__ = ["LONGEST_TUNING", "Choice", "GpuChain"]

LONGEST_TUNING = 600.0  # seconds
SUBSETS = 2, 16  # labels


@dataclass(frozen=True)
class Choice:
    """What stands behind gpu's question mark; none of it changes a bit, but `skipping` and `subset`.

    device: a number, or a part of a name; "" for the first GPU.
    variant: how it draws.
    memory: bytes for singletons; None for all that the device allows.
    together: chains of a run that are drawn in the same launches at most.
    tune: seconds in which variants are tried first, and the soonest one is taken in place of `variant`; 0 for none.
    skipping: event-driven sampling (`mrfhw.samplers.events`), of estimate "last" alone; None for the law of the field.
    subset: labels among which a site is drawn: its own, any others, and those beside its neighbours'; 0 for all. The law is kept.
    """

    device: str = ""
    variant: Variant = PLAIN
    memory: int | None = None
    tune: float = 0.0
    together: int = 8
    skipping: Skipping | None = None
    subset: int = 0

    @classmethod
    def of(cls, text: str) -> Choice:
        """What "device=0&group=64x1&keep=1&local=doubles&memory=512" says, or a part of it. Raises ProblemError."""
        def wrong(what: str) -> ProblemError:
            return ProblemError(f"backend is {short(repr(f'gpu?{text}'))}; {what}: give such as gpu?device=0&group=64x1")

        found = cls()
        seen: set[str] = set()
        for name, value in parse_qsl(text, keep_blank_values=True):
            if name in seen or name not in _OPTIONS:
                raise wrong(f"it has one of each of {', '.join(_OPTIONS)}, and no other {short(repr(name))}")
            seen.add(name)
            form, read = _OPTIONS[name]
            try:
                found = read(found, value)
            except (ValueError, KeyError):
                raise wrong(f"{name} is {short(repr(value))}, not {form}") from None
        if found.subset and found.skipping is not None:
            raise wrong("a subset keeps the law, and a cutoff does not: leave one out")
        return found

    def drawn_by(self, **changes: Any) -> Choice:
        """With another variant."""
        return replace(self, variant=replace(self.variant, **changes))

    def leaving_out(self, **changes: Any) -> Choice:
        """With event-driven sampling, of another cutoff or region."""
        return replace(self, skipping=replace(self.skipping or Skipping(), **changes))


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(text)
    return int(text)


def _among(limits: tuple[int, int], text: str) -> int:
    value = _at_least_one(text)
    if not limits[0] <= value <= limits[1]:
        raise ValueError(text)
    return value


def _sizes(text: str) -> tuple[int, int]:
    first, second = text.split("x")
    return _at_least_one(first), _at_least_one(second)


def _above(least: float, text: str, most: float = math.inf) -> float:
    value = float(text)
    if not least < value <= most:
        raise ValueError(text)
    return value


_LOCAL = ("none", "doubles", "labels", "doubles+labels")
_FLAGS = {"0": False, "1": True}
# By name: what it looks like, and the choice with it.
_OPTIONS: dict[str, tuple[str, Callable[[Choice, str], Choice]]] = {
    "device": ("a number or a part of a name", lambda of, text: replace(of, device=text)),
    "group": ("such as 64x1", lambda of, text: of.drawn_by(group=_sizes(text))),
    "keep": ("0 or 1", lambda of, text: of.drawn_by(keep=_FLAGS[text])),
    "local": (", ".join(_LOCAL), lambda of, text: of.drawn_by(local_doubles="doubles" in _LOCAL[_LOCAL.index(text)],
                                                              local_labels="labels" in text)),
    "fixed": ("0 or 1", lambda of, text: of.drawn_by(fixed=_FLAGS[text])),
    "memory": ("MiB, 1 or more", lambda of, text: replace(of, memory=_at_least_one(text) << 20)),
    "together": ("chains, 1 or more", lambda of, text: replace(of, together=_at_least_one(text))),
    "tune": ("seconds, up to 600", lambda of, text: replace(of, tune=_above(0, text, LONGEST_TUNING))),
    "cutoff": ("a number above 1", lambda of, text: of.leaving_out(cutoff=_above(1, text))),
    "region": ("such as 8x8", lambda of, text: of.leaving_out(region=_sizes(text))),
    "subset": (f"{SUBSETS[0]} to {SUBSETS[1]} labels", lambda of, text: replace(of, subset=_among(SUBSETS, text)))}


class GpuChain(FieldChain):
    """A chain on a device. Sweeps are asked for some at a time, when a sample, an energy or counts are wanted at the latest.

    choice: of the device, and how it draws.
    device, variant: that this comes to.
    pending: sweeps that the device has not been asked for.
    """

    name = "gpu"
    tables_type = GpuTables
    tables: GpuTables

    def __init__(self, problem: Problem, run: Run, *, choice: Choice | None = None, tables: GpuTables | None = None,
                 threads: int | None = None, group: Group | None = None):
        """As of `FieldChain`. Raises ProblemError where there is no such device, or where it fails.

        group: of chains that are drawn in the same launches, alike in their choice; None for this one alone.
        """
        self.choice = choice or Choice()
        if self.choice.skipping is not None:
            check_estimate(run, "leave cutoff and region out")
        self.device = of_name(self.choice.device)  # what is wrong with it is said before anything is made
        super().__init__(problem, run, tables=tables, threads=threads)
        tune, memory = self.choice.tune, self.choice.memory
        self.variant = tuned(self.device, self.tables, tune, memory) if tune else self.choice.variant
        check_variant(self.device, self.variant, [self.tables])
        self.pending: list[Sweep] = []
        self._turns: np.ndarray | None = None
        self._drawn, self._last_temperature = 0, math.inf
        self._group = group or Group()
        self._group.join(self)

    @classmethod
    def options(cls, text: str) -> dict[str, Any]:
        return {"choice": Choice.of(text)}

    @classmethod
    def identity(cls, **options: Any) -> str:
        choice = options["choice"]
        if choice.skipping is not None:
            return f"{cls.name}?{choice.skipping.text}"
        return f"{cls.name}?subset={choice.subset}" if choice.subset else cls.name

    @staticmethod
    def _count_type(run: Run) -> type[np.unsignedinteger[Any]]:
        return np.uint16 if run.after_burn_in < 1 << 16 else np.uint32

    def sweep(self) -> None:
        if len(self.pending) >= TOGETHER:
            self._group.carry_out()
        temperature = next(self._temperatures)
        rises = self.choice.skipping is not None and temperature > self._last_temperature
        self.pending.append(Sweep(self.sweeps, temperature, self.sweeps >= self.run.counts_from, rises))
        self._last_temperature = temperature
        self.sweeps += 1

    @property
    def held(self) -> Kept:
        """What this program has."""
        return Kept(self.labels, self._counts, self._sums, self._turns, self._drawn)

    def take(self, kept: Kept) -> None:
        """What the device has."""
        self.labels[...] = kept.labels
        for here, there in ((self._counts, kept.counts), (self._sums, kept.sums)):
            if there is not None:
                here[...] = there
        self._turns, self._drawn = kept.turns, kept.drawn

    @property
    def sample(self) -> np.ndarray:
        self.labels[...] = self._group.labels(self)
        return self.labels.copy()

    @property
    def energy(self) -> int | None:
        return self._group.energy(self)

    def _settle(self) -> None:
        self.take(self._group.kept(self))

    @property
    def label_evaluations(self) -> int:
        if self.choice.subset:
            return self.choice.subset * self.tables.drawn * self.sweeps
        if self.choice.skipping is None:
            return super().label_evaluations
        self._settle()
        return self._drawn * self.problem.labels

    def _own_state(self) -> dict[str, Any]:
        if self.choice.skipping is None:
            return {}
        self._settle()
        assert self._turns is not None
        return {"more": {"active": (self._turns >= self.sweeps).astype(np.uint8)}}

    def _stands(self) -> Stands:
        own = self._own_state()
        return Stands(more={name: Holds(array.shape, 0, 1) for name, array in own.get("more", {}).items()})

    def restore(self, state: RunState) -> None:
        super().restore(state)
        self.pending = []
        if self.choice.skipping is not None:
            self._turns = np.asarray(state.sweeps + state.more["active"].astype(np.int32) - 1, np.int32)
            self._drawn = state.so_far.label_evaluations // self.problem.labels
            self._last_temperature = math.inf
            for temperature in itertools.islice(self.temperatures(), self.sweeps):
                self._last_temperature = temperature
        self._group.restored(self)
