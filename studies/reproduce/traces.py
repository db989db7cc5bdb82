"""One pass over a chain, from which Figures 3.2, 3.8, 3.13 and 4.1 are taken. No trace is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from studies.reproduce.kernel import observe, write_sweep

__all__ = ["POLICIES", "WAYS", "LabelMemories", "Trace", "follow"]

WAYS = tuple(range(1, 9))  # label and counter pairs of a site (Figure 3.8)
POLICIES = ("LRP", "LFP")


class LabelMemories:
    """Label memories of several sizes and policies, fed the same labels.

    A memory of n pairs a site replaces the least recently (LRP) or the least frequently picked pair (LFP; the least
    recently picked on ties). Its counters count to `count_max`.
    """

    def __init__(self, sites: int, kinds: Iterable[tuple[str, int]], count_max: int):
        self.count_max = count_max
        self._held = {(policy, ways): (np.zeros((sites, ways), np.uint8), np.zeros((sites, ways), np.uint16))
                      for policy, ways in kinds}
        self.messages: dict[tuple[str, int], list[int]] = {kind: [] for kind in self._held}

    def write(self, labels: np.ndarray) -> None:
        """One sweep's labels (H, W) uint8; appends each memory's messages to `messages`."""
        drawn = np.ascontiguousarray(labels).reshape(-1)
        for (policy, ways), (held, counts) in self._held.items():
            self.messages[policy, ways].append(write_sweep(drawn, policy == "LFP", self.count_max, held, counts))

    def pairs(self, policy: str, ways: int) -> tuple[np.ndarray, np.ndarray]:
        """(labels (sites, ways), counts (sites, ways)), the most recently picked first."""
        return self._held[policy, ways]


@dataclass
class Trace:
    """What was seen of a chain.

    sites, sweeps: of the chain. changes: (sweeps,) sites whose label a sweep changed. unique: (sites,) the number of
    different labels of a site in the second half of the sweeps. messages[policy, ways]: (sweeps,) messages sent, the
    log of all sweeps. last: (H, W) the last labels. seconds: the time it took.
    """

    sites: int
    sweeps: int
    changes: np.ndarray
    unique: np.ndarray
    last: np.ndarray
    seconds: float
    messages: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)

    def rate(self, policy: str, ways: int) -> float:
        """Messages an update, over all sweeps."""
        return float(self.messages[policy, ways].sum() / (self.sites * self.sweeps))


def follow(chain: Iterable[np.ndarray], initial: np.ndarray, sweeps: int, kinds: Iterable[tuple[str, int]], count_max: int,
           progress: Callable[[int], object] | None = None) -> Trace:
    """The trace of a chain that yields its labels (H, W) uint8 after each of `sweeps` sweeps, from `initial`.

    kinds: (policy, ways) of the label memories. progress: called with 1 after each sweep.
    """
    began = time.perf_counter()
    before = np.array(initial, np.uint8).reshape(-1)
    seen, changes = np.zeros(before.size, np.uint64), np.zeros(sweeps, np.int64)
    memories = LabelMemories(before.size, kinds, count_max)
    for sweep, labels in enumerate(chain):
        drawn = np.ascontiguousarray(labels).reshape(-1)
        changes[sweep] = observe(drawn, before, seen, sweep >= sweeps // 2)
        memories.write(drawn)
        if progress is not None:
            progress(1)
    return Trace(sites=before.size, sweeps=sweeps, changes=changes, unique=np.bitwise_count(seen).astype(np.int64),
                 last=before.reshape(np.shape(initial)).copy(), seconds=time.perf_counter() - began,
                 messages={kind: np.array(sent, np.int64) for kind, sent in memories.messages.items()})
