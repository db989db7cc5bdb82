"""The queues of the log's hubs, which are emptied in each cycle: levels, fan-in and depth together, by replay of a run, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mrfhw.cost.estimate import memories
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.twin.machine import Machine

__all__ = ["LOST", "Hubs", "chosen_hubs", "replayed"]

LOST = 1e-4  # of the cycles that may wait for the log
RUN = Run(sweeps=10, burn_in=5)
FAN_INS, DEPTHS = (4, 2, 8, 16), (1, 4, 16, 64)


@dataclass(frozen=True)
class Hubs:
    """A network of the log, and what a run loses by it. cycles: of the run. stalls: of them, in which the machine waits for a log
    that is always taken. bits: of all memories of hubs."""

    config: Derived
    cycles: int
    stalls: int
    bits: int

    @property
    def lost(self) -> float:
        return self.stalls / self.cycles

    @property
    def said(self) -> str:
        c = self.config
        return (f"line_levels={c.line_levels} hub_fan_in={c.hub_fan_in} hub_depth={c.hub_depth}: {self.lost:.4%} lost, {self.bits} "
                "bits of hubs")


def replayed(config: Config, problem: Problem, run: Run = RUN) -> Hubs:
    """The run on the machine's twin, cycle by cycle where its network is not empty."""
    config = Derived.of(config)
    machine = Machine(config, problem, run)
    for _ in range(run.sweeps):
        machine.sweep()
    machine.timing.finish()
    return Hubs(config, machine.timing.cycles, machine.timing.stall_cycles, _bits(config))


def _bits(config: Derived) -> int:
    """Of all memories of hubs."""
    return sum(memory.bits for memory in memories(config) if memory.use == "hubs")


def _networks(config: Derived) -> Iterator[Derived]:
    """All networks of the machine's tiles, those with the least memory first."""
    found = []
    for levels in range(0, 7):
        for fan_in in FAN_INS:
            for depth in DEPTHS:
                try:
                    other = Derived.of(config.changed(line_levels=levels, hub_fan_in=fan_in, hub_depth=depth))
                except ConfigError:
                    continue
                if other.line_levels <= other.tree_levels:
                    found.append((_bits(other), levels, fan_in, depth, other))
    for *_, other in sorted(found, key=lambda one: one[:4]):
        yield other


def chosen_hubs(config: Config, problem: Problem) -> tuple[Hubs, Hubs | None]:
    """The machine's own network, and the one with the least memory that loses less than `LOST`; None where its own does.

    Raises ProblemError for a field that the machine does not hold whole.
    """
    own = replayed(config, problem)
    if own.lost <= LOST:
        return own, None
    best = own
    for other in _networks(own.config):
        found = replayed(other, problem)
        if found.lost <= LOST:
            return own, found
        if found.lost < best.lost:
            best = found
    return own, best
