"""A run's result from its chip's memories and its log, and checks of both; the same for all chips, however they are connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.driver.driver import ChipError, unpack_lines
from mrfhw.field.result import Result, added, histogram, numbers
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.entry_sums import sums_of_entries
from mrfhw.placement.placement import Placement
from mrfhw.placement.visit_order import COLOURS

__all__ = ["Done", "carried", "check_counters", "check_sweep", "most_lines", "read_result"]


def _lines(config: Config, messages: int) -> range:
    """How many log lines a run of so many messages can have.

    Each packer sends its last line at the run's end, even if it is empty; all its others are full.
    """
    c = Derived.of(config)
    each, packers = c.line_messages, c.packers
    fewest = max(0, -(-(messages - packers * (each - 1)) // each)) + packers
    return range(fewest, messages // each + packers + 1)


def most_lines(placement: Placement) -> int:
    """Log lines that a run can have: a message for each label that is drawn and counted, or the last lines of each piece."""
    run, packers = placement.run, Derived.of(placement.config).packers
    if run.estimate != "mean":
        return _lines(placement.config, placement.problem.unclamped_sites * run.counted)[-1]
    return packers * (run.counted // Derived.of(placement.config).sum_sweeps(placement.problem.labels) + 1)


def check_sweep(placement: Placement, before: int, sweep: int, end: int | None) -> None:
    """Raise ChipError where the run is not between `before` and its last sweep, or has ended elsewhere than at `end`, if given."""
    sweeps = placement.run.sweeps
    if not before <= sweep <= sweeps:
        raise ChipError(f"the chip is at sweep {sweep} of {sweeps}, after sweep {before}: reset it, then solve again")
    if end is not None and sweep != end:
        raise ChipError(f"the chip has stopped at sweep {sweep} of {end}: see that no other program uses it, then solve again")


@dataclass(frozen=True)
class Done:
    """What a chip did of a run: the sweeps from `first` up to `last`, with `pieces` - 1 pauses between them."""

    first: int
    last: int
    pieces: int = 1

    @classmethod
    def all(cls, placement: Placement) -> Done:
        return cls(0, placement.run.sweeps)


def check_counters(counters: Mapping[str, int], placement: Placement, done: Done | None = None) -> None:
    """Raise ChipError for counts that no run of the placement has. counters: as `Driver.counters` gives them after it."""
    config, run = placement.config, placement.run
    done = Done.all(placement) if done is None else done
    groups = len(COLOURS) * placement.order.turns * (done.last - done.first)
    waiting = counters["gap_cycles"] + counters["stall_cycles"]
    logged = 0 if run.estimate == "mean" else run.counted_of(done.last) - run.counted_of(done.first)
    most = placement.problem.unclamped_sites * logged
    cycles = groups * placement.interval + waiting
    wanted = {"label_cycles": range(groups * placement.slots, groups * placement.slots + 1), "cycles": range(cycles, cycles + 1)}
    if done.pieces == 1:  # otherwise each pause may end a line before it is full
        wanted["lines"] = _lines(config, counters["messages"])
    for name, values in wanted.items():
        if counters[name] not in values:
            right = f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"
            raise ChipError(f"the chip counts {counters[name]} {name.replace('_', ' ')}, not {right}: reset it, then solve again")
    if counters["messages"] > most:
        raise ChipError(f"the chip counts {counters['messages']} messages; the run has {most} at most: reset it, then solve again")


def _clamped(placement: Placement) -> np.ndarray:
    mask = placement.problem.clamped
    return np.zeros(placement.problem.shape, bool) if mask is None else mask.astype(bool)


def _check_labels(placement: Placement, lmem: np.ndarray) -> None:
    """Raise ChipError for labels that no run of the placement ends with."""
    problem = placement.problem
    held = lmem[..., 0].ravel()
    if placement.run.estimate != "mean":
        held = np.concatenate([held, lmem[..., 2][lmem[..., 3] > 0]])
    if (held >= problem.labels).any():
        raise ChipError(f"LMem has label {held.max()}; the problem has {problem.labels} labels: build the chip again")
    wrong = (lmem[..., 0] != placement.initial) & _clamped(placement)
    if wrong.any():
        raise ChipError(f"the labels of {wrong.sum()} clamped sites have changed: solve the problem again")


def _numbers(placement: Placement, before: RunState | None, done: Done) -> np.ndarray:
    """(H, W) int64: labels of each site that are counted when `done` is done."""
    run, already = placement.run, np.zeros(placement.problem.shape, np.int64)
    if before is not None:
        found = before.so_far
        already = already if found.counts is None else found.counts.sum(-1, dtype=np.int64)
        already = already if found.sums is None else found.sums[..., 1]
    return already + np.where(_clamped(placement), 0, run.counted_of(done.last) - run.counted_of(done.first))


def _check_sums(placement: Placement, sums: np.ndarray) -> None:
    """Raise ChipError where a site's labels have a sum that no labels have; sums: (H, W, 2) as of `Result`."""
    wrong = (sums[..., 0] < 0) | (sums[..., 0] > (placement.problem.labels - 1) * sums[..., 1])
    if wrong.any():
        row, col = np.argwhere(wrong)[0]
        total, number = sums[row, col]
        raise ChipError(f"LMem has the sum {total} of {number} labels of the site in row {row} and column {col}, and there are "
                        f"{placement.problem.labels} labels ({wrong.sum()} such sites): solve the problem again")


def carried(placement: Placement, state: RunState | None) -> tuple[np.ndarray, np.ndarray | None]:
    """What a chip goes on from: (H, W) int64, the sums of a run of sums that LMem does not hold, and LMem; None for a new run's."""
    past = np.zeros(placement.problem.shape, np.int64)
    if state is None:
        return past, None
    lmem = state.so_far.lmem
    assert lmem is not None
    if state.so_far.sums is not None:
        past = state.so_far.sums[..., 0] - sums_of_entries(placement.config, lmem)
    return past, lmem


def _check_counts(wanted: np.ndarray, counts: np.ndarray) -> None:
    """Raise ChipError where a site has more or fewer labels than the `wanted` (H, W)."""
    found = counts.sum(-1)
    if (found != wanted).any():
        row, col = np.argwhere(found != wanted)[0]
        raise ChipError(f"log and LMem have {found[row, col]} labels of the site in row {row} and column {col}, and "
                        f"{wanted[row, col]} were counted ({(found != wanted).sum()} such sites): solve the problem again")


def read_result(counters: Mapping[str, int], placement: Placement, log: bytes | bytearray, lmem: np.ndarray, *, wall: float,
                backend: str = "board", before: RunState | None = None, done: Done | None = None,
                measured: Mapping[str, Any] | None = None, past: np.ndarray | None = None) -> Result:
    """The result of a run that has ended, or pauses.

    counters: as `Driver.counters` gives them, once labels are no longer drawn. log: its lines. lmem: as `Driver.lmem` gives it.
    wall: seconds of the run. before: where the run stood when this chip took it up; its messages and numbers are added to the
    chip's. done: what the chip did of the run, all by default. measured: numbers by name that are known in another way. past:
    (H, W) int64, of a run of sums those that were cleared from LMem.
    Raises ChipError in one line where the log is not as long as the chip says, counters, log or LMem have what the problem does
    not, or a site has more or fewer labels than were counted.
    """
    done = Done.all(placement) if done is None else done
    check_counters(counters, placement, done)
    config, problem = placement.config, placement.problem
    line_bytes = config.line_bits // 8
    whole = len(log) - len(log) % line_bytes
    messages = unpack_lines(config, np.frombuffer(bytes(log[:whole]), np.uint8))
    sent, lines = counters["messages"], counters["lines"]
    if whole != len(log) or sent != len(messages) or lines * line_bytes != whole:
        raise ChipError(f"the chip sent {sent} messages in {lines} lines; {len(messages)} in {len(log)} bytes are here: solve the "
                        "problem again")
    if len(messages) and (messages[:, :2].max(0) >= (problem.sites, problem.labels)).any():
        raise ChipError(f"the log names site {messages[:, 0].max()} and label {messages[:, 1].max()}; the problem has "
                        f"{problem.sites} sites and {problem.labels} labels: build the chip again")
    _check_labels(placement, lmem)
    found = Result(
        backend=backend, last=lmem[..., 0].astype(np.uint8), lmem=lmem,
        initial=placement.initial, wall_seconds=wall,
        label_evaluations=placement.order.label_evaluations(problem.unclamped_sites, done.last - done.first),
        messages=messages, cycles=counters["cycles"], stall_cycles=counters["stall_cycles"], gap_cycles=counters["gap_cycles"],
        lanes=config.all_lanes, replication=placement.replication, label_cycles=counters["label_cycles"], messages_counted=sent)
    for name, value in (measured or {}).items():
        if value is not None:
            setattr(found, name, value)
    return _joined(placement, found, before, done, past)


def _joined(placement: Placement, found: Result, before: RunState | None, done: Done, past: np.ndarray | None) -> Result:
    """What a chip found of a run, with what was there `before` it took the run up, and with histogram or sums of all of it."""
    assert found.lmem is not None
    messages = found.messages
    assert messages is not None
    if before is not None:
        for name, value in added([numbers(before.so_far), numbers(found)]).items():
            setattr(found, name, value)
        assert before.so_far.messages is not None
        messages = np.concatenate([np.asarray(before.so_far.messages, np.int64), messages])
        found.messages, found.initial = messages, before.so_far.initial
    counted = _numbers(placement, before, done)
    if placement.run.estimate == "mean":
        sums = sums_of_entries(placement.config, found.lmem) + (0 if past is None else past)
        found.sums = np.stack([sums, counted], -1)
        _check_sums(placement, found.sums)
        return found
    counts = histogram(placement.problem.labels, messages, found.lmem)
    _check_counts(counted, counts)
    found.counts = counts if placement.run.estimate == "mode" else None
    return found
