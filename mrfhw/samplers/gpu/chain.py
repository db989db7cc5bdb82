"""Gibbs sampling by an OpenCL device (backend "gpu"): whole numbers, and the same labels on every device.

E of Equation 3.1 without shift, floor or cap. The weight of a label is 2^b exp(-(E - Emin) / T), rounded (`weight_table`), with
b so that the weights of all L labels add up to 2^31 at most: each probability is within L 2^-(b + 1) of the law's. A label is drawn
by the point (u sum) >> 32, with u the first word of Philox4x32-10 of (site, sweep) and a key from the seed. All black sites
((row + column) even) are drawn at once, then all white ones, so that neither a work-group's shape nor a device changes a chain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from mrfhw.field.given import short
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.state import RunState
from mrfhw.samplers.field_chain import FieldChain
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.fields import Sweep, check_variant
from mrfhw.samplers.gpu.group import TOGETHER, Group
from mrfhw.samplers.gpu.source import PLAIN, Variant
from mrfhw.samplers.gpu.tables import GpuTables
from mrfhw.samplers.gpu.tuning import tuned

__all__ = ["Choice", "GpuChain"]

_LOCAL = ("none", "doubles", "labels", "doubles+labels")
_FORMS = {"device": "a number or a part of a name", "group": "such as 64x1", "keep": "0 or 1", "local": ", ".join(_LOCAL),
          "memory": "MiB, 1 or more", "together": "chains, 1 or more",
          "tune": "seconds, up to 600"}  # of what stands behind gpu's question mark
_LONGEST_TUNING = 600.0


@dataclass(frozen=True)
class Choice:
    """What stands behind gpu's question mark; none of it changes a bit.

    device: a number, or a part of a name; "" for the first GPU.
    variant: how it draws.
    memory: bytes for singletons; None for all that the device allows.
    together: chains of a run that are drawn in the same launches at most.
    tune: seconds in which variants are tried first, and the soonest one is taken in place of `variant`; 0 for none.
    """

    device: str = ""
    variant: Variant = PLAIN
    memory: int | None = None
    tune: float = 0.0
    together: int = 8

    @classmethod
    def of(cls, text: str) -> Choice:
        """What "device=0&group=64x1&keep=1&local=doubles&memory=512" says, or a part of it. Raises ProblemError."""
        def wrong(what: str) -> ProblemError:
            return ProblemError(f"backend is {short(repr(f'gpu?{text}'))}; {what}: give such as gpu?device=0&group=64x1")

        found = cls()
        seen: set[str] = set()
        for name, value in parse_qsl(text, keep_blank_values=True):
            if name in seen or name not in _FORMS:
                raise wrong(f"it has one of each of {', '.join(_FORMS)}, and no other {short(repr(name))}")
            seen.add(name)
            try:
                if name == "device":
                    found = replace(found, device=value)
                elif name == "tune":
                    found = replace(found, tune=_seconds(value))
                elif name == "together":
                    found = replace(found, together=_at_least_one(value))
                elif name == "memory":
                    found = replace(found, memory=_at_least_one(value) << 20)
                elif name == "group":
                    cells, rows = value.split("x")
                    found = replace(found, variant=replace(found.variant, group=(_at_least_one(cells), _at_least_one(rows))))
                elif name == "keep":
                    found = replace(found, variant=replace(found.variant, keep={"0": False, "1": True}[value]))
                else:
                    local = _LOCAL[_LOCAL.index(value)].split("+")
                    found = replace(found, variant=replace(found.variant, local_doubles="doubles" in local,
                                                           local_labels="labels" in local))
            except (ValueError, KeyError):
                raise wrong(f"{name} is {short(repr(value))}, not {_FORMS[name]}") from None
        return found


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(text)
    return int(text)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= _LONGEST_TUNING:
        raise ValueError(text)
    return value


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
        self.device = of_name(self.choice.device)  # what is wrong with it is said before anything is made
        super().__init__(problem, run, tables=tables, threads=threads)
        tune, memory = self.choice.tune, self.choice.memory
        self.variant = tuned(self.device, self.tables, tune, memory) if tune else self.choice.variant
        check_variant(self.device, self.variant, [self.tables])
        self.pending: list[Sweep] = []
        self._group = group or Group()
        self._group.join(self)

    @classmethod
    def options(cls, text: str) -> dict[str, Any]:
        return {"choice": Choice.of(text)}

    @staticmethod
    def _count_type(run: Run) -> type[np.unsignedinteger[Any]]:
        return np.uint16 if run.after_burn_in < 1 << 16 else np.uint32

    def sweep(self) -> None:
        if len(self.pending) >= TOGETHER:
            self._group.carry_out()
        self.pending.append(Sweep(self.sweeps, next(self._temperatures), self.sweeps >= self.run.counts_from))
        self.sweeps += 1

    @property
    def held(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, histogram and sums as this program has them."""
        return self.labels, self._counts, self._sums

    def take(self, labels: np.ndarray, counts: np.ndarray | None, sums: np.ndarray | None) -> None:
        """What the device has; None for what the run does not estimate."""
        self.labels[...] = labels
        for here, there in ((self._counts, counts), (self._sums, sums)):
            if there is not None:
                here[...] = there

    @property
    def sample(self) -> np.ndarray:
        self.labels[...] = self._group.labels(self)
        return self.labels.copy()

    @property
    def energy(self) -> int | None:
        return self._group.energy(self)

    def _settle(self) -> None:
        self.take(self._group.labels(self), *self._group.counted(self))

    def _own_state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: RunState) -> None:
        super().restore(state)
        self.pending = []
        self._group.restored(self)
