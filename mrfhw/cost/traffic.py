"""Messages of a run's log, from labels that were drawn."""

from __future__ import annotations

import numpy as np

from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.twin.machine import Machine

__all__ = ["drawn_labels", "messages"]

SWEEPS = 60  # that are drawn, half of them looked at


def drawn_labels(config: Config, problem: Problem, sweeps: int = SWEEPS) -> np.ndarray:
    """(n, sites) uint8, the labels before the last half of so many sweeps of a machine's twin, and after each of them.

    Machines of other widths draw from nearly the same distribution. Raises ProblemError where the field does not fit.
    """
    machine = Machine(Derived.of(config), problem, Run(sweeps=sweeps, burn_in=sweeps // 2))
    found = []
    for sweep in range(sweeps):
        machine.sweep()
        if sweep >= sweeps // 2 - 1:
            found.append(machine.sample.astype(np.uint8).ravel())
    return np.array(found)


def messages(labels: np.ndarray, counter_bits: int, counted: int) -> float:
    """Messages of the log of a run that counts so many sweeps, on a machine with such counters.

    labels: (n, sites), before a counted sweep and after each that follows. More sweeps than those send as many messages each as the
    last half of them. Algorithm 1, as `mrfhw.twin.kernel.write_label` has it.
    """
    most = (1 << counter_bits) - 1
    label = labels[0].astype(np.int64)
    first, other, second = (np.zeros(labels.shape[1], np.int64) for _ in range(3))
    sent = [0]
    for new in labels[1:].astype(np.int64):
        same = new == label
        hit = same | (new == other)
        held = np.where(same, first, second)
        full = held == most
        sent.append(sent[-1] + int(np.count_nonzero(np.where(full | ~hit, held, 0))))
        other, second = np.where(same, other, label), np.where(same, second, first)
        first = np.where(hit & ~full, held + 1, 1)
        label = new
    last = len(sent) - 1
    if counted <= last:
        return float(sent[counted])
    half = last // 2
    return sent[last] + (counted - last) * (sent[last] - sent[half]) / (last - half)
