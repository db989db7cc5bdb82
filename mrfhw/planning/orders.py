"""What a plan has a batch do: how many pictures at once, where they are sampled, and which boards are left alone."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mrfhw.host.identity import digest_at, machine_at
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.planning.lanes import Lanes
from mrfhw.planning.pipeline import PROCESSOR
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain
from mrfhw.system.processors import processors

__all__ = ["Measured", "Orders", "machines_at", "read_orders"]

_MOST_BYTES = 1 << 20
_WAY_OUT = "give a file that mrfhw plan --json wrote"
_ON_BOARDS = ("first", "sample")

MachineAt = Callable[[str], Config]  # of the board at an address; raises ProblemError where it does not answer


def machines_at(machine: Config | None) -> MachineAt:
    """Of boards whose machine is this one; None: that was generated on this computer."""

    def found(address: str) -> Config:
        if machine is not None:
            digest_at(address)  # it answers
            return machine
        known = machine_at(address)
        if known is None:
            raise ProblemError(f"board is {address}, whose machine was not generated on this computer: give --machine MANIFEST")
        return known

    return found


@dataclass(frozen=True)
class Orders:
    """What a plan has a batch do.

    application: whose pictures it is for. interval: seconds from one picture to the next, as it says. under_way: pictures at once.
    processors: that work at a time. boards: addresses of those that sample, none where processors do. machine: theirs.
    idle: why other boards have nothing to do, by name.
    """

    application: str
    interval: float
    under_way: int
    processors: int
    boards: tuple[str, ...] = ()
    machine: Config | None = None
    idle: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any], where: str, given: Sequence[str], machine_at: MachineAt) -> Orders:
        """Those of a plan's record, carried out by this computer's processors and the boards at these addresses, those of the plan
        where none are given.

        where: what the record is called. Raises ProblemError for a record of no plan, and for one of other resources.
        """
        found = _Record(record, where)
        if found.resources[PROCESSOR] != processors():
            raise ProblemError(f"{where} is for {found.resources[PROCESSOR]} processors, and {processors()} are here: plan here "
                               "with mrfhw plan --json")
        own = {name: [unit for unit in units if "://" in unit] for name, units in found.units.items()}
        addresses = list(given) or own.get(found.on, [])
        machines = {address: machine_at(address) for address in dict.fromkeys(addresses)}
        by_kind: dict[str, list[str]] = {}
        for address in addresses:
            kind = _kind_of(address, machines[address], found, own)
            if kind is None:
                raise ProblemError(f"board is {address}, of which {where} knows nothing: plan with --board {address}, or leave it "
                                   "out")
            by_kind.setdefault(kind, []).append(address)
        boards = by_kind.get(found.on, []) if found.on != PROCESSOR else []
        wanted = 0 if found.on == PROCESSOR else found.resources[found.on]
        if len(boards) != wanted:
            raise ProblemError(f"{where} samples on {wanted} board{'s' * (wanted > 1)} {found.on}, and {len(boards) or 'none'} "
                               f"{'is' if len(boards) < 2 else 'are'} there: give --board ADDRESS for each, or plan anew")
        idle = {" and ".join(by_kind.get(name, [])) or name: why for name, why in found.idle.items()}
        return cls(found.application, found.interval, found.under_way, found.resources[PROCESSOR], tuple(boards),
                   machines[boards[0]] if boards else None, idle)

    def check(self, application: str, what: str = "") -> None:
        """Raise ProblemError where the plan is for another application. what: is of this one, in words."""
        if application != self.application:
            raise ProblemError(f"{what or f'this is {application}'}, and the plan is for {self.application}: plan these by "
                               "themselves")

    def request(self, request: Request) -> Request:
        """The same by who samples."""
        return request.with_options(backend=self.boards[0], machine=self.machine) if self.boards else request

    def digest(self, of: str) -> str:
        """A digest of what is asked with all else that decides the bits."""
        return of if self.machine is None else hashlib.sha256(f"{of}{Derived.of(self.machine).digest}".encode()).hexdigest()

    def lanes(self, say: Callable[[str], object] = lambda line: None) -> Lanes | None:
        """Where pictures are sampled on boards. say: as of `Lanes`."""
        return None if self.machine is None else Lanes(self.boards, self.machine, self.processors, say)

    @property
    def said(self) -> list[str]:
        """What is done, in lines."""
        on = f"sampled on {' and '.join(self.boards)}" if self.boards else "whole on a processor each"
        return [f"plan: a picture every {self.interval:.4g} s, {self.under_way} under way at once, {on}",
                *(f"{name} stays idle: {why}" for name, why in self.idle.items())]


def _kind_of(address: str, machine: Config, found: _Record, own: Mapping[str, Collection[str]]) -> str | None:
    """The kind of boards that one is of: by its address, or by its machine."""
    named = next((name for name, units in own.items() if address in units), None)
    digest = Derived.of(machine).digest
    alike = [name for name, known in found.machines.items() if known == digest]
    if named in alike:
        return named
    return next((name for name in alike if name == found.on), alike[0] if alike else None)


class _Record:
    """The parts of a plan's record that are carried out. Raises ProblemError where they are none."""

    def __init__(self, record: Mapping[str, Any], where: str):
        try:
            on = {stage["name"]: stage["on"] for stage in record["stages"]}
            self.on, self.resources = str(on["sample"]), {str(name): int(count) for name, count in record["resources"].items()}
            self.interval, self.under_way = float(record["interval_seconds"]), int(record["under_way"])
            self.application = str(record["application"])
            self.units = {str(name): [str(unit) for unit in one["units"]] for name, one in record["boards"].items()}
            self.machines = {str(name): str(one["machine"]) for name, one in record["boards"].items()}
            self.idle = {str(name): str(why) for name, why in record["idle"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ProblemError(f"{where} is no whole plan ({type(error).__name__}: {str(error)[:60]}): {_WAY_OUT}") from None
        wrong = next((f"{name} is on {kind}" for name, kind in on.items()
                      if kind != PROCESSOR and (name not in _ON_BOARDS or kind != self.on or kind not in self.machines)), None)
        if wrong is None and not {PROCESSOR, self.on} <= set(self.resources):
            wrong = "a stage's resource is not there"
        if wrong is None and (min(self.resources.values()) < 1 or not 1 <= self.under_way <= 10 * sum(self.resources.values())):
            wrong = f"{self.under_way} pictures are under way"
        if wrong is None and not (math.isfinite(self.interval) and self.interval >= 0):
            wrong = f"interval_seconds is {self.interval}"
        if wrong is not None:
            raise ProblemError(f"{where} is no plan that can be followed ({wrong}): {_WAY_OUT}")


def read_orders(path: Path, given: Sequence[str], machine_at: MachineAt) -> Orders:
    """Those of the file of a plan. Raises ProblemError."""
    try:
        record = json.loads(read_plain(path, _WAY_OUT, _MOST_BYTES))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{path} is no plan ({type(error).__name__}): {_WAY_OUT}") from None
    if not isinstance(record, dict):
        raise ProblemError(f"{path} is no plan ({type(record).__name__}): {_WAY_OUT}")
    return Orders.of(record, str(path), given, machine_at)


class Measured:
    """How often a picture has ended, beside what a plan said. ended: call as each ends."""

    def __init__(self, clock: Callable[[], float]):
        self._clock, self._ends = clock, list[float]()

    def ended(self) -> None:
        self._ends.append(self._clock())

    def interval(self, under_way: int) -> float | None:
        """Seconds from one picture to the next, when each process had ended one; None where no more have ended."""
        ends = self._ends[under_way - 1:]
        return (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else None

    def said(self, orders: Orders) -> str:
        found = self.interval(orders.under_way)
        measured = (f"measured {found:.4g} s" if found is not None else
                    f"{len(self._ends)} pictures are too few to measure it, more than {orders.under_way} are wanted")
        return f"plan said {orders.interval:.4g} s a picture, {measured}"
