"""BusFork: every access reaches its cluster once and is answered in turn, whatever the clusters take to answer."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.mesh.bus_fork import BusFork
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.cluster_registers import LOG_TURN, TURN_BITS, TURN_LINES
from mrfhw.machine.registers import REGISTERS
from sim.support.fields import Bench
from sim.support.runner import bench_config


class Slave:
    """A cluster's bus: words by address, answers in order after so many cycles, err where the word is odd by its address."""

    def __init__(self, bench: Bench, number: int, latency: int, stall: float):
        self.bench, self.name, self.latency, self.stall = bench, f"cluster_{number}", latency, stall
        self.words: dict[int, int] = {}
        self.seen: list[tuple[bool, int, int]] = []
        self._due: deque[tuple[int, bool, int]] = deque()  # cycle, ack, word
        self.stalls = False

    @property
    def owes(self) -> bool:
        return bool(self._due)

    def drive(self, rng: np.random.Generator) -> dict[str, int]:
        """The slave's outputs of the cycle that begins."""
        ack = err = word = 0
        if self._due and self._due[0][0] <= self.bench.now + 1:
            _, good, word = self._due.popleft()
            ack, err = int(good), int(not good)
        self.stalls = bool(rng.random() < self.stall)
        return {f"{self.name}_ack": ack, f"{self.name}_err": err, f"{self.name}_dat_r": word,
                f"{self.name}_stall": int(self.stalls)}

    def look(self, rng: np.random.Generator) -> None:
        """Take the request of the cycle under way."""
        read = self.bench.read
        if not (read(f"{self.name}_cyc") and read(f"{self.name}_stb")) or self.stalls:
            return
        write, address, data = bool(read(f"{self.name}_we")), read(f"{self.name}_adr"), read(f"{self.name}_dat_w")
        self.seen.append((write, address, data))
        if write:
            self.words[address] = data
        last = self._due[-1][0] if self._due else 0
        # No answer earlier than two cycles after its request, as the register file's.
        at = max(last + 1, self.bench.now + int(rng.integers(2, self.latency + 1)))
        self._due.append((at, address % 7 != 3, self.words.get(address, address)))


@cocotb.test()
async def accesses(dut: Any) -> None:
    """A stream of accesses to all clusters, some stalled, some slow, some refused, and to the registers that the fork answers."""
    config, rng = bench_config(), np.random.default_rng(1)
    amap, bench = AddressMap(config), Bench(dut, BusFork(config))
    most = config.latency.bus_read(config.tree_levels)
    for latency, stall, jump in ((most, 0.0, 0.05), (2, 0.0, 0.5), (most, 0.5, 0.3), (3, 0.2, 1.0)):
        slaves = [Slave(bench, k, latency, stall) for k in range(config.seats)]
        await bench.start()
        turns = [TURN_LINES] * config.seats
        wanted: list[tuple[bool, int | None]] = []
        of: list[list[tuple[bool, int, int]]] = [[] for _ in slaves]
        asked, cluster, held = 0, 0, {s: dict[int, int]() for s in range(config.seats)}
        found: list[tuple[bool, int]] = []
        request: tuple[bool, int, int, int] | None = None
        while len(found) < 800:
            if request is None and asked < 800 and rng.random() < 0.9:
                if rng.random() < jump:
                    cluster = int(rng.integers(config.seats))
                own = rng.random() < 0.1
                address = LOG_TURN if own else int(rng.choice([int(rng.integers(len(REGISTERS))), (1 << amap.tiles_bit) + asked]))
                data = int(rng.integers(1 << 32)) & (~((1 << TURN_BITS) - 1) if own and rng.random() < 0.3 else -1)
                request = bool(rng.random() < 0.5), cluster, address, data
            drive: dict[str, Any] = {"bus_cyc": 1, "bus_stb": int(request is not None)}
            if request is not None:
                write, to, address, data = request
                drive |= {"bus_we": int(write), "bus_adr": amap.cluster(to) + address, "bus_dat_w": data}
            for slave in slaves:
                drive |= slave.drive(rng)
            await bench.cycle(**drive)
            assert sum(slave.owes for slave in slaves) <= 1, "two clusters owe answers"
            for slave in slaves:
                slave.look(rng)
            if request is not None and not bench.read("bus_stall"):
                write, to, address, data = request
                if address == LOG_TURN:
                    good = not write or data % (1 << TURN_BITS) > 0
                    wanted.append((good, None if write else turns[to]))
                    turns[to] = data % (1 << TURN_BITS) if write and good else turns[to]
                else:
                    of[to].append((write, address, data))
                    held[to].update({address: data} if write else {})
                    wanted.append((address % 7 != 3, None if write else held[to].get(address, address)))
                asked, request = asked + 1, None
            ack, err = bench.read("bus_ack"), bench.read("bus_err")
            assert not (ack and err)
            if ack or err:
                found.append((bool(ack), bench.read("bus_dat_r")))
                good, word = wanted[len(found) - 1]
                assert bool(ack) == good, f"access {len(found) - 1}"
                assert not ack or word is None or found[-1][1] == word, f"access {len(found) - 1}"
        for slave, accesses in zip(slaves, of, strict=True):
            assert [(w, a, d if w else 0) for w, a, d in slave.seen] == [(w, a, d if w else 0) for w, a, d in accesses]
        assert [bench.read(f"turn_{k}") for k in range(config.seats)] == turns


@cocotb.test()
async def a_word_a_cycle(dut: Any) -> None:
    """To one cluster requests pass in each cycle, as many as its tiles have under way."""
    config, rng = bench_config(), np.random.default_rng(2)
    amap, bench = AddressMap(config), Bench(dut, BusFork(config))
    most = config.latency.bus_read(config.tree_levels)
    slave, base = Slave(bench, config.seats - 1, most, 0), amap.cluster(config.seats - 1)
    await bench.start()
    for number in range(200):
        await bench.cycle(bus_cyc=1, bus_stb=1, bus_we=0, bus_adr=base + 7 * number, **slave.drive(rng))
        assert not bench.read("bus_stall"), f"request {number}"
        slave.look(rng)
    assert len(slave.seen) == 200
