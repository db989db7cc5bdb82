"""LogHub: everything arrives once, in each child's order, and the end marker after all of it."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.mesh.tree import LogHub
from mrfhw.machine.bits import bits_for
from sim.support.fields import Bench
from sim.support.runner import bench_config, bench_parameters
from sim.support.streams import Rhythm

LATENCY = 1
Message = tuple[int, int, int, int]  # tile, offset, label, count


class Hub:
    """A hub with a queue a child; takes note of what leaves, and of whose word it takes."""

    def __init__(self, dut: Any, rng: np.random.Generator):
        self.config, self.parameters, self.rng = bench_config(), bench_parameters(), rng
        self.present: list[int] = self.parameters["present"]
        self.bench = Bench(dut, LogHub(self.config, self.parameters["tile_bits"]))
        self.out: list[Message] = []
        self.taken: list[int] = []
        self.queues: list[list[Message]] = []

    def fill(self, counts: list[int], end: bool = True) -> None:
        """Queues of random messages for the children that are present, an end marker behind each."""
        c, rng = self.config, self.rng
        self.queues = [[] for _ in range(c.hub_fan_in)]
        for k, count in zip(self.present, counts, strict=True):
            for _ in range(count):
                tile, offset = int(rng.integers(1 << self.parameters["tile_bits"])), int(rng.integers(1 << c.offset_bits))
                self.queues[k].append((tile, offset, int(rng.integers(c.max_labels)), int(rng.integers(1, c.count_max + 1))))
            if end:
                self.queues[k].append((0, 0, 0, 0))
        self.sent = [list(q) for q in self.queues]
        self.out, self.taken = [], []
        self.offered = [False] * c.hub_fan_in

    async def cycle(self, offer: Rhythm, ready: bool) -> bool:
        """One cycle; a child that offers goes on until it is taken. Returns whether a message left."""
        drive: dict[str, Any] = {"present": sum(1 << k for k in self.present), "log_ready": int(ready)}
        for k, queue in enumerate(self.queues):
            self.offered[k] = bool(queue) and (self.offered[k] or offer())
            drive[f"child_{k}_valid"] = int(self.offered[k])
            if self.offered[k]:
                message = dict(zip(("tile", "offset", "label", "count"), queue[0], strict=True))
                if not self.parameters["tile_bits"]:
                    del message["tile"]  # of no bits
                drive[f"child_{k}_payload"] = message
                drive[f"child_{k}_ends"] = int(message["count"] == 0)
        held = self.bench.bits("log_payload") if self.bench.now >= 0 and self._waiting else None
        await self.bench.cycle(**drive)
        valid = bool(self.bench.read("log_valid"))
        if held is not None:
            assert valid, "valid fell before ready"
            assert self.bench.bits("log_payload") == held, "the message changed before ready"
        taken = [k for k in range(len(self.queues)) if self.bench.read(f"child_{k}_ready")]
        assert len(taken) <= 1
        for k in taken:
            assert self.offered[k], "ready to a child without a message"
            self.queues[k].pop(0)
            self.taken.append(k)
            self.offered[k] = False
        if valid and ready:
            m = self.bench.read("log_payload")
            assert bool(self.bench.read("log_ends")) == (m["count"] == 0)
            self.out.append((m["tile"], m["offset"], m["label"], m["count"]))
        self._waiting = valid and not ready
        return valid and ready

    _waiting = False

    def check(self) -> None:
        """What left is what was sent: each child's number in front, its order kept, one marker at the end."""
        bits, digit = self.parameters["tile_bits"], bits_for(self.config.hub_fan_in)
        assert [m[3] == 0 for m in self.out] == [False] * (len(self.out) - 1) + [True]
        seen: list[list[Message]] = [[] for _ in range(self.config.hub_fan_in)]
        for tile, *rest in self.out[:-1]:
            assert tile >> bits < 1 << digit
            seen[tile >> bits].append((tile & ((1 << bits) - 1), *rest))  # type: ignore[arg-type]
        assert seen == [[m for m in queue if m[3]] for queue in self.sent]


async def _run(dut: Any, offer: float, ready: float, burst: int, runs: int = 4, most: int = 30) -> None:
    rng = np.random.default_rng(5)
    hub = Hub(dut, rng)
    await hub.bench.start()
    for run in range(runs):
        counts = [int(n) for n in rng.integers(0, most, len(hub.present))]
        # A child without messages, and all of them.
        counts = [0] * len(counts) if run == 1 else counts
        hub.fill(counts)
        offers, readies = Rhythm(rng, offer, burst), Rhythm(rng, ready, burst)
        for _ in range(20_000):
            await hub.cycle(offers, readies())
            if hub.out and hub.out[-1][3] == 0:
                break
        hub.check()
        for _ in range(5):
            await hub.cycle(offers, True)
        assert hub.out[-1][3] == 0, "something came after the end"
        assert sum(m[3] == 0 for m in hub.out) == 1


@cocotb.test()
async def latency(dut: Any) -> None:
    """A message leaves an empty hub one cycle after it has been offered, and is taken in that cycle."""
    hub = Hub(dut, np.random.default_rng(6))
    await hub.bench.start()
    hub.fill([1] * len(hub.present), end=False)
    await hub.bench.cycle()
    always = Rhythm(hub.rng, 1)
    for sent, k in enumerate(hub.present):
        queue, hub.queues = hub.queues, [[] for _ in hub.queues]
        hub.queues[k] = queue[k]
        assert not await hub.cycle(always, True), "nothing has been offered"
        assert not hub.queues[k], "taken at once"
        queue[k] = []
        hub.queues = queue
        left = []
        for _ in range(LATENCY + 2):
            empty, hub.queues = hub.queues, [[] for _ in hub.queues]
            left.append(await hub.cycle(always, True))
            hub.queues = empty
        assert left == [cycle == LATENCY for cycle in range(1, LATENCY + 3)]
        assert len(hub.out) == sent + 1


@cocotb.test()
async def all_at_once_in_turn(dut: Any) -> None:
    """Saturated, a deep hub passes a message a cycle, a shallow one every other, and serves the children in turn."""
    hub = Hub(dut, np.random.default_rng(7))
    await hub.bench.start()
    hub.fill([12] * len(hub.present), end=False)
    always = Rhythm(hub.rng, 1)
    left = [await hub.cycle(always, True) for _ in range(2 * 12 * len(hub.present) + 4)]
    total = 12 * len(hub.present)
    assert len(hub.out) == total
    span = len(left) - left[::-1].index(True) - left.index(True)
    assert span == (total if hub.config.hub_depth > 1 else 2 * total - 1)
    children = [m[0] >> hub.parameters["tile_bits"] for m in hub.out]
    n = len(hub.present)
    for at in range(0, total, n):
        assert sorted(children[at:at + n]) == sorted(hub.present), "in turn"
    assert children == children[:n] * 12


@cocotb.test()
async def every_run_begins_with_the_same_child(dut: Any) -> None:
    """Whoever ended the run before: a run's cycles are its own."""
    hub = Hub(dut, np.random.default_rng(8))
    n, always = hub.config.hub_fan_in, Rhythm(hub.rng, 1)
    in_turn = sorted(hub.present, key=lambda k: (k - 1) % n)  # the first one after child 0
    await hub.bench.start()
    for longest in (*hub.present, hub.present[0]):
        hub.fill([9 if k == longest else 1 for k in hub.present])
        for _ in range(2 * (9 + 3 * len(hub.present))):
            await hub.cycle(always, True)
        assert hub.taken[:len(in_turn)] == in_turn
        assert hub.taken[-1] == longest
        hub.check()


@cocotb.test()
async def no_idle(dut: Any) -> None:
    await _run(dut, 1, 1, 1)


@cocotb.test()
async def random_idle(dut: Any) -> None:
    await _run(dut, 0.3, 1, 3)


@cocotb.test()
async def random_back_pressure(dut: Any) -> None:
    await _run(dut, 1, 0.3, 3)


@cocotb.test()
async def stress(dut: Any) -> None:
    await _run(dut, 0.5, 0.5, 9, runs=6, most=60)
