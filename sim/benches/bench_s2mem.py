"""S2Mem: S words as long after their addresses as `Latency` states, one group a cycle; one word of the bus."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.singleton import S2Mem
from sim.support.fields import Bench
from sim.support.runner import bench_config


class Banks:
    """The component and what its banks hold."""

    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        self.bench = Bench(dut, S2Mem(self.config))
        self.depth, self.lanes = self.config.s2_bank_depth, self.config.s2_banks
        self.held = [[self.word() for _ in range(self.depth)] for _ in range(self.lanes)]

    def word(self) -> dict[str, int]:
        return {"value": int(self.rng.integers(self.config.data_max + 1)), "flag": int(self.rng.integers(2))}

    async def fill(self) -> None:
        """Write every word, in random order."""
        await self.bench.start()
        for i in self.rng.permutation(self.lanes * self.depth):
            bank, address = divmod(int(i), self.depth)
            await self.bench.cycle(bus_select=1, bus_bank=bank, bus_address=address, write=1, bus_row=0,
                                   bus_data=self.row(self.held[bank][address]))

    def row(self, first: dict[str, int]) -> list[dict[str, int]]:
        """A word for the bank that is addressed, and for those that follow it."""
        return [first, *(self.word() for _ in range(self.config.s2_row_words - 1))]

    async def group(self, first: int, second: int, rotate: int) -> None:
        """Read a group. Lane s has bank (rotate + s) mod S; banks from `rotate` on read `first`."""
        await self.bench.cycle(first=first, second=second, rotate=rotate, bus_select=0, write=0,
                               bus_bank=int(self.rng.integers(self.lanes)), bus_address=int(self.rng.integers(self.depth)),
                               bus_data=self.row(self.word()))
        banks = [(rotate + lane) % self.lanes for lane in range(self.lanes)]
        self.bench.expect("words", [self.held[b][first if b >= rotate else second] for b in banks],
                          after=self.config.latency.s2_read + self.config.latency.s2_lanes)

    async def access(self, bank: int, address: int, write: bool) -> None:
        """One access over the bus, the group's addresses being anything."""
        row = self.row(self.word())
        several = bool(write and bank % len(row) == 0 and self.rng.random() < 0.5)
        await self.bench.cycle(bus_select=1, bus_bank=bank, bus_address=address, write=int(write), bus_row=int(several),
                               bus_data=row, first=int(self.rng.integers(self.depth)), second=int(self.rng.integers(self.depth)),
                               rotate=int(self.rng.integers(self.lanes)))
        if write:
            for place, word in enumerate(row[:self.lanes - bank] if several else row[:1]):
                self.held[bank + place][address] = word
        else:
            self.bench.expect("bus_word", self.held[bank][address], after=self.config.latency.s2_read)


@cocotb.test()
async def edges(dut: Any) -> None:
    """First and last address under every rotation, one group a cycle."""
    banks = Banks(dut, 1)
    await banks.fill()
    top = banks.depth - 1
    for rotate in range(banks.lanes):
        for first, second in ((0, top), (top, 0), (0, 0), (top, top), (1 % banks.depth, top)):
            await banks.group(first, second, rotate)
    await banks.bench.finish(5 * banks.lanes)


@cocotb.test()
async def groups(dut: Any) -> None:
    """Random groups without a pause."""
    banks = Banks(dut, 2)
    await banks.fill()
    for _ in range(400):
        first, second = (int(a) for a in banks.rng.integers(0, banks.depth, 2))
        await banks.group(first, second, int(banks.rng.integers(banks.lanes)))
    await banks.bench.finish(400)


@cocotb.test()
async def bus(dut: Any) -> None:
    """Bus reads and writes between groups; a word written is read from the next cycle on."""
    banks = Banks(dut, 3)
    await banks.fill()
    for bank in range(banks.lanes):
        for address in (0, banks.depth - 1):
            await banks.access(bank, address, write=True)
            await banks.access(bank, address, write=False)
    for _ in range(300):
        first, second = (int(a) for a in banks.rng.integers(0, banks.depth, 2))
        if banks.rng.random() < 0.4:
            await banks.group(first, second, int(banks.rng.integers(banks.lanes)))
        else:
            await banks.access(int(banks.rng.integers(banks.lanes)), first, bool(banks.rng.integers(2)))
    await banks.bench.finish(150)
