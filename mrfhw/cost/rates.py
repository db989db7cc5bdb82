"""Label evaluations a second of a machine at a clock, and how many of them its log lets through."""

from __future__ import annotations

from dataclasses import dataclass

from mrfhw.cost.links import BoardLink, LogMemory
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["MemoryRate", "Rate", "Workload"]


@dataclass(frozen=True)
class Workload:
    """What a run of a problem takes on a machine, log included (`mrfhw.cost.workload`).

    rows: of the problem.
    cols: of the problem.
    labels: of the problem.
    utilization: label evaluations / (lanes x cycles) of a log that is always taken.
    log_bytes_per_evaluation: bytes of log lines for each label evaluation of a counted sweep.
    evaluated: labels that a visit evaluates: all, or those of a subset.
    """

    rows: int
    cols: int
    labels: int
    utilization: float
    log_bytes_per_evaluation: float
    evaluated: int


@dataclass(frozen=True)
class MemoryRate:
    """What a memory outside the FPGA lets through until it is full.

    bytes: it holds.
    bytes_per_s: it takes, less what is read back at the link's rate.
    labels_per_s: until it is full.
    binds: "memory" or "machine".
    seconds: until then, from empty; None where the link alone keeps up.
    """

    bytes: int
    bytes_per_s: float
    labels_per_s: float
    binds: str
    seconds: float | None


@dataclass(frozen=True)
class Rate:
    """Label evaluations a second of a machine at a clock.

    labels_per_s: of a log that is always taken.
    all_slots: those of a machine without subsets for as many visits a second; None of a machine that evaluates every label.
    log_bytes_per_s: that the log then sends.
    logged: that the log lets through the link.
    binds: "link" or "machine".
    memory: of a log that is held outside the FPGA; None without such a memory.
    """

    labels_per_s: float
    all_slots: float | None
    log_bytes_per_s: float
    logged: float
    binds: str
    memory: MemoryRate | None

    @classmethod
    def of(cls, config: Config, clock_hz: float, work: Workload, link: BoardLink) -> Rate:
        """Of a machine's clock, a workload and the link of its log."""
        config = Derived.of(config)
        peak = config.clusters * config.all_lanes * clock_hz * work.utilization
        needed = peak * work.log_bytes_per_evaluation
        through = link.bytes_per_s / work.log_bytes_per_evaluation if work.log_bytes_per_evaluation else float("inf")
        every = peak * work.labels / work.evaluated if config.subset_slots else None
        memory = _into(link.memory, link.bytes_per_s, peak, needed) if link.memory else None
        return cls(peak, every, needed, min(peak, through), "link" if through < peak else "machine", memory)


def _into(memory: LogMemory, link: float, peak: float, needed: float) -> MemoryRate:
    takes = memory.bytes_per_s - link
    rate = min(needed, takes)
    return MemoryRate(memory.bytes, takes, peak * rate / needed if needed else peak, "memory" if takes < needed else "machine",
                      memory.bytes / (rate - link) if rate > link else None)
