"""LineMerger: each cluster's lines in order behind a line that names it, shares by turns, and nobody waits for who has nothing."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.log.line_merger import FEW, LineMerger
from mrfhw.machine.cluster_registers import TURN_LINES, switch_line
from mrfhw.machine.words import log_message
from sim.support.fields import Bench
from sim.support.runner import bench_config
from sim.support.streams import Rhythm

Line = tuple[int, bool]  # its bits, and whether it is its run's last


class Merger:
    """A merger with a queue of lines a cluster; takes note of what leaves, in which cycle, and of when a line was taken."""

    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        self.bench = Bench(dut, LineMerger(self.config))
        self.clusters = range(self.config.seats)
        self.names = {switch_line(self.config, k): k for k in self.clusters}
        self.queues: list[list[Line]] = [[] for _ in self.clusters]
        self.sent: list[list[Line]] = [[] for _ in self.clusters]
        self.out: list[Line] = []
        self.taken: list[tuple[int, int]] = []  # cluster and cycle
        self.offered = [False for _ in self.clusters]
        self._waiting: Line | None = None

    async def start(self, *turns: int) -> None:
        await self.bench.start()
        await self.bench.cycle(**{f"turn_{k}": turn for k, turn in enumerate(turns or (TURN_LINES for _ in self.clusters))})

    def queue(self, cluster: int, lines: int, ends: bool = True) -> None:
        """A run of so many random lines, of which the last one may be empty, as a packer's is."""
        count, bits = log_message(self.config)["count"], self.config.line_bits
        for number in range(lines):
            last = ends and number == lines - 1
            line = int.from_bytes(self.rng.bytes(bits // 8), "little") | 1 << count.low
            self.queues[cluster].append((0 if last and self.rng.random() < 0.5 else line, last))
        self.sent[cluster] += self.queues[cluster][-lines:] if lines else []

    async def cycle(self, ready: bool, offer: Rhythm | None = None) -> None:
        """One cycle. offer: when a cluster offers its next line; one that is offered stays."""
        drive: dict[str, Any] = {"lines_tready": int(ready)}
        for k, queue in enumerate(self.queues):
            self.offered[k] = bool(queue) and (self.offered[k] or offer is None or offer())
            bits, last = queue[0] if self.offered[k] else (0, False)
            drive |= {f"child_{k}_tvalid": int(self.offered[k]), f"child_{k}_tdata": bits, f"child_{k}_tlast": int(last)}
        await self.bench.cycle(**drive)
        valid = bool(self.bench.read("lines_tvalid"))
        line = (self.bench.read("lines_tdata"), bool(self.bench.read("lines_tlast"))) if valid else None
        if self._waiting is not None:
            assert line == self._waiting, "a line changed before ready"
        self._waiting = None if ready else line
        taken = [k for k in self.clusters if self.bench.read(f"child_{k}_tready") and self.offered[k]]
        assert len(taken) <= 1
        for k in taken:
            assert ready
            assert line == self.queues[k].pop(0)
            self.offered[k] = False
            self.taken.append((k, self.bench.now))
        if line is not None and ready:
            self.out.append(line)
            assert bool(taken) == (line[0] not in self.names), "a line that is nobody's"

    def check(self) -> None:
        """What left, taken apart as a host does, is what was sent; a name before each run and wherever another one goes on."""
        assert not any(self.queues)
        found: list[list[Line]] = [[] for _ in self.clusters]
        current, ended = None, True
        for number, (line, last) in enumerate(self.out):
            if line in self.names:
                assert not last
                assert ended or self.names[line] != current, "a name that says nothing"
                assert self.out[number + 1][0] not in self.names, "a name without a line"
                current, ended = self.names[line], False
            else:
                assert current is not None
                assert not ended, "a run without a name before it"
                found[current].append((line, last))
                ended = last
        assert found == self.sent


async def _run(dut: Any, offer: float, ready: float, burst: int, seed: int) -> None:
    merger = Merger(dut, seed)
    rng = merger.rng
    await merger.start(*(int(turn) for turn in rng.integers(1, 6, len(merger.clusters))))
    for _ in range(12):
        for k in merger.clusters:
            for _ in range(int(rng.integers(0, 3))):
                merger.queue(k, int(rng.integers(1, 20)))
        offers, readies = Rhythm(rng, offer, burst), Rhythm(rng, ready, burst)
        for _ in range(int(rng.integers(10, 200))):
            await merger.cycle(readies(), offers)
    while any(merger.queues):
        await merger.cycle(True)
    merger.check()


@cocotb.test()
async def no_idle(dut: Any) -> None:
    await _run(dut, 1, 1, 1, 1)


@cocotb.test()
async def random_idle(dut: Any) -> None:
    await _run(dut, 0.3, 1, 3, 2)


@cocotb.test()
async def random_back_pressure(dut: Any) -> None:
    await _run(dut, 1, 0.3, 3, 3)


@cocotb.test()
async def stress(dut: Any) -> None:
    for seed in range(4, 8):
        await _run(dut, 0.5, 0.5, 9, seed)


@cocotb.test()
async def a_line_to_itself(dut: Any) -> None:
    """A cluster alone: a name, then a line in each cycle; behind its end nothing, and a name before its next run."""
    merger = Merger(dut, 9)
    await merger.start()
    for cluster in merger.clusters:
        merger.queue(cluster, 10)
        begun = merger.bench.now
        for _ in range(2 + 10):
            await merger.cycle(True)
        assert [at - begun for _, at in merger.taken[-10:]] == [*range(3, 13)]
        for _ in range(5):
            await merger.cycle(True)
        assert len(merger.out) == 11 * (cluster + 1)
    merger.check()


@cocotb.test()
async def shares_are_the_turns(dut: Any) -> None:
    """Of logs that are all full, in a log that is seldom ready."""
    for seed, turns in enumerate(([16] * 4, [3, 9, 1, 1], [255, 1, 30, 2])):
        merger = Merger(dut, 10 + seed)
        turns = turns[:len(merger.clusters)]
        await merger.start(*turns)
        rounds = 6 if sum(turns) < 200 else 2
        for k in merger.clusters:
            merger.queue(k, (rounds + 1) * turns[k], ends=False)
        ready = Rhythm(merger.rng, 0.7, 2)
        while len(merger.taken) < rounds * sum(turns):
            await merger.cycle(ready())
        assert [sum(k == cluster for k, _ in merger.taken) for cluster in merger.clusters] == [rounds * turn for turn in turns]
        assert sum(line in merger.names for line, _ in merger.out) == rounds * len(turns)


@cocotb.test()
async def shares_beside_one_that_has_nothing(dut: Any) -> None:
    """Whose turn it is sends nothing more: the others share by their turns all the same."""
    merger, turns = Merger(dut, 30), [200, 4, 12, 8]
    others = merger.clusters[1:]
    await merger.start(*turns[:len(merger.clusters)])
    merger.queue(0, 1)
    for k in others:
        merger.queue(k, 20 * turns[k], ends=False)
    for _ in range(20):
        await merger.cycle(True)
    merger.queue(0, 1)
    while merger.queues[0]:
        await merger.cycle(True)
    begun, rounds = len(merger.taken), 10
    while len(merger.taken) < begun + rounds * sum(turns[k] for k in others):
        await merger.cycle(True)
    for k in others:
        served = sum(cluster == k for cluster, _ in merger.taken[begun:])
        assert abs(served - rounds * turns[k]) <= turns[k], (k, served)


@cocotb.test()
async def nobody_waits_for_who_has_nothing(dut: Any) -> None:
    """Lines one by one beside a full log: once a turn of its own a cluster waits for the other's, and else for FEW lines; a cluster
    that has nothing to send holds nobody."""
    merger = Merger(dut, 20)
    turn, full, lines = 8, len(merger.clusters) - 1, 64
    await merger.start(*[turn] * len(merger.clusters))
    merger.queue(full, 4000, ends=False)
    waits = []
    for _ in range(lines):
        for _ in range(int(merger.rng.integers(0, 30))):
            await merger.cycle(True)
        merger.queue(0, 1)
        since = merger.bench.now
        while merger.queues[0]:
            await merger.cycle(True)
        waits.append(merger.taken[-1][1] - since)
        # The full one goes on at once: its name, then its lines.
        count = len(merger.taken)
        for _ in range(3):
            await merger.cycle(True)
        assert len(merger.taken) == count + 1
        assert merger.taken[-1][0] == full
    assert max(waits) <= turn + 3
    assert sum(waited > FEW + 3 for waited in waits) <= lines / turn
    assert sorted(waits)[lines // 2] == 3
