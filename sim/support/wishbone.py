"""A Wishbone master for benches, and a chip for the driver on top of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mrfhw.driver.driver import ChipError
from sim.support.blocking import BlockingChip
from sim.support.fields import Bench

__all__ = ["BridgedChip", "Wishbone"]


class Wishbone:
    """Classic cycles on the ports `bus_*` of a bench, one access after the other.

    idle: cycles to wait before each access.
    """

    def __init__(self, bench: Bench, idle: Callable[[], int] = lambda: 0):
        self.bench, self.idle = bench, idle

    async def access(self, write: bool, address: int, data: int = 0, limit: int = 200) -> tuple[bool, int, int]:
        """(acknowledged, data, cycles from stb to the answer); False where the slave answers with err."""
        bench = self.bench
        for _ in range(self.idle()):
            await bench.cycle()
        drive: dict[str, Any] = {"bus_cyc": 1, "bus_stb": 1, "bus_we": int(write), "bus_adr": address, "bus_dat_w": data}
        for cycles in range(limit):
            await bench.cycle(**drive)
            drive = {}
            ack, err = bench.read("bus_ack"), bench.read("bus_err")
            assert not (ack and err), "ack and err at once"
            if ack or err:
                word = bench.read("bus_dat_r")
                # The slave is done with the request at the end of this cycle.
                await bench.cycle(bus_cyc=0, bus_stb=0)
                assert not bench.read("bus_ack"), "a second ack"
                assert not bench.read("bus_err"), "a second err"
                return bool(ack), word, cycles
        raise AssertionError(f"no answer at {address:#x} in {limit} cycles")

    async def write(self, address: int, data: int) -> None:
        assert (await self.access(True, address, data))[0], f"write to {address:#x} refused"

    async def read(self, address: int) -> int:
        ok, word, _ = await self.access(False, address)
        assert ok, f"read from {address:#x} refused"
        return word


class BridgedChip(BlockingChip):
    """Behind a Wishbone master."""

    def __init__(self, bus: Wishbone):
        self.bus = bus

    async def _write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        for address, word in zip(map(int, addresses), map(int, data), strict=True):
            if not (await self.bus.access(True, address, word))[0]:
                raise ChipError(f"write to {address:#x} refused")

    async def _read(self, addresses: np.ndarray) -> np.ndarray:
        words = []
        for address in map(int, addresses):
            ok, word, _ = await self.bus.access(False, address)
            if not ok:
                raise ChipError(f"read from {address:#x} refused")
            words.append(word)
        return np.array(words, np.uint32)
