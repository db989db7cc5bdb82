"""A Wishbone master for benches, and a chip for the driver on top of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mrfhw.driver.driver import ChipError
from sim.support.blocking import BlockingChip
from sim.support.fields import Bench

__all__ = ["BridgedChip", "Wishbone"]


class Wishbone:
    """Pipelined cycles on the ports `bus_*` of a bench, one access after the other or many at once.

    idle: cycles to wait before each access.
    """

    def __init__(self, bench: Bench, idle: Callable[[], int] = lambda: 0):
        self.bench, self.idle = bench, idle

    async def access(self, write: bool, address: int, data: int = 0, limit: int = 200) -> tuple[bool, int, int]:
        """(acknowledged, data, cycles from stb to the answer); False where the slave answers with err."""
        bench = self.bench
        for _ in range(self.idle()):
            await bench.cycle()
        for cycles, (ok, word) in await self._answers([(write, address, data)], limit):
            return ok, word, cycles
        raise AssertionError(f"no answer at {address:#x} in {limit} cycles")

    async def stream(self, accesses: Sequence[tuple[bool, int, int]], limit: int = 200) -> list[tuple[bool, int]]:
        """(acknowledged, data) of each (write, address, data), asked as soon as the slave takes them."""
        answers = [answer for _, answer in await self._answers(accesses, limit + len(accesses))]
        assert len(answers) == len(accesses), f"{len(answers)} answers of {len(accesses)} in {limit + len(accesses)} cycles"
        return answers

    async def _answers(self, accesses: Sequence[tuple[bool, int, int]], limit: int) -> list[tuple[int, tuple[bool, int]]]:
        """The cycles until each answer, from the first request on, and what it was."""
        bench, asked, found = self.bench, 0, list[tuple[int, tuple[bool, int]]]()
        for cycles in range(limit):
            drive: dict[str, Any] = {"bus_cyc": 1, "bus_stb": int(asked < len(accesses))}
            if asked < len(accesses):
                write, address, data = accesses[asked]
                drive |= {"bus_we": int(write), "bus_adr": address, "bus_dat_w": data}
            await bench.cycle(**drive)
            asked += drive["bus_stb"] and not bench.read("bus_stall")
            ack, err = bench.read("bus_ack"), bench.read("bus_err")
            assert not (ack and err), "ack and err at once"
            if ack or err:
                found.append((cycles, (bool(ack), bench.read("bus_dat_r"))))
                assert len(found) <= asked, "an answer without a request"
            if len(found) == len(accesses):
                break
        await bench.cycle(bus_cyc=0, bus_stb=0)
        assert not bench.read("bus_ack"), "an ack more"
        assert not bench.read("bus_err"), "an err more"
        return found

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
        await self._all([(True, int(address), int(word)) for address, word in zip(addresses, data, strict=True)])

    async def _read(self, addresses: np.ndarray) -> np.ndarray:
        return np.array(await self._all([(False, int(address), 0) for address in addresses]), np.uint32)

    async def _all(self, accesses: list[tuple[bool, int, int]]) -> list[int]:
        answers = await self.bus.stream(accesses)
        for (write, address, _), (ok, _) in zip(accesses, answers, strict=True):
            if not ok:
                raise ChipError(f"{'write to' if write else 'read from'} {address:#x} refused")
        return [word for _, word in answers]
