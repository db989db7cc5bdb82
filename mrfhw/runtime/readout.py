"""A run's result from what its chip holds and from its log, the same for every way to a chip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrfhw.model.machine import histogram
from mrfhw.placement import Placement
from mrfhw.result import Result
from mrfhw.runtime.driver import ChipError, transfer_cycles, unpack_lines

__all__ = ["read_result"]


def read_result(counters: Mapping[str, int], placement: Placement, log: bytes | bytearray, lmem: np.ndarray, *, wall: float,
                fresh: bool, backend: str = "board") -> Result:
    """The result of a run that has ended.

    counters: as `Driver.counters` gives them, once labels are no longer drawn. log: its lines. lmem: as `Driver.lmem` gives it.
    wall: seconds of the run. fresh: whether the generators were loaded.
    Raises ChipError in one line where the log is not as long as the chip says, or names what the problem does not have.
    """
    config, problem, run = placement.config, placement.problem, placement.run
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
    loading, reading = transfer_cycles(placement, fresh)
    return Result(
        backend=backend, counts=histogram(problem.labels, messages, lmem), last=lmem[..., 0].astype(np.uint8), lmem=lmem,
        initial=placement.initial, label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps, wall_seconds=wall,
        messages=messages, cycles=counters["cycles"], stall_cycles=counters["stall_cycles"], gap_cycles=counters["gap_cycles"],
        lanes=config.lanes,
        extra={"replication": placement.replication, "loading_cycles": loading, "reading_cycles": reading,
               "label_cycles": counters["label_cycles"], "messages_counted": sent})
