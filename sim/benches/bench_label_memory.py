"""LabelMemory: every bank's entry `Latency.lmem_read` cycles after its address; what is written is readable a cycle later."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.labels import LabelMemory
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from sim.support.fields import Bench
from sim.support.runner import bench_config


def _addresses(config: Config) -> list[int]:
    """Every address that a site has in a bank: black ones from 0, white ones from the top bit."""
    config = Derived.of(config)
    return [*range(config.lmem_bank_depth // 2), *range(1 << (config.lmem_address_bits - 1), config.lmem_rows)]


class Memory:
    """The component and what it holds."""

    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        self.bench = Bench(dut, LabelMemory(self.config))
        self.banks, self.sites = self.config.lmem_banks, _addresses(self.config)
        self.held: list[dict[int, dict[str, int]]] = [{} for _ in range(self.banks)]

    def entry(self) -> dict[str, int]:
        c, pick = self.config, self.rng.integers
        return {"mrp_label": int(pick(c.max_labels)), "exists": int(pick(2)), "clamped": int(pick(2)),
                "mrp_count": int(pick(c.count_max + 1)), "lrp_label": int(pick(c.max_labels)),
                "lrp_count": int(pick(c.count_max + 1))}

    def row(self, addresses: list[int], bank: int, at: int) -> list[dict[str, int]]:
        """Labels for several banks, now and then where none of these is read."""
        many = self.config.lmem_row_entries
        if many == 1 or bank % many or at in addresses[bank:bank + many] or self.rng.random() < 0.5:
            return []
        return [{**self.entry(), "mrp_count": 0, "lrp_label": 0, "lrp_count": 0} for _ in range(many)]

    async def step(self, addresses: list[int], write: tuple[int, int] | None) -> None:
        """A read of every bank and perhaps a write, (bank, address), of another entry."""
        bank, at = write or (int(self.rng.integers(self.banks)), int(self.rng.choice(self.sites)))
        entry = self.entry()
        row = self.row(addresses, bank, at) if write else []
        many = self.config.lmem_row_entries
        beside = [{"label": held["mrp_label"], "exists": held["exists"], "clamped": held["clamped"]}
                  for held in row or [self.entry() for _ in range(many)]]
        ports: dict[str, Any] = {"write_row": int(bool(row)), "row": beside} if many > 1 else {}
        await self.bench.cycle(addresses=addresses, write=int(write is not None and not row), write_bank=bank, write_address=at,
                               write_data=entry, **ports)
        if all(address in self.held[i] for i, address in enumerate(addresses)):
            self.bench.expect("entries", [self.held[i][address] for i, address in enumerate(addresses)],
                              after=self.config.latency.lmem_read)
        for place, held in enumerate(row or [entry] * (write is not None)):
            self.held[bank + place][at] = held


@cocotb.test()
async def every_site(dut: Any) -> None:
    """Every entry written, bank by bank, then read in random order, one of each bank a cycle."""
    memory = Memory(dut, 1)
    await memory.bench.start()
    assert memory.banks * len(memory.sites) == memory.config.tile_sites
    for bank in range(memory.banks):
        for at in memory.sites:
            await memory.step([memory.sites[0] if at else memory.sites[-1]] * memory.banks, (bank, at))
    orders = [memory.rng.permutation(memory.sites) for _ in range(memory.banks)]
    for addresses in zip(*orders, strict=True):
        await memory.step([int(a) for a in addresses], None)
    await memory.bench.finish(len(memory.sites))


@cocotb.test()
async def read_after_write(dut: Any) -> None:
    """Reads right behind writes, at a few addresses that come again and again; other banks keep theirs."""
    memory = Memory(dut, 2)
    await memory.bench.start()
    rng, few = memory.rng, [memory.sites[0], memory.sites[-1], memory.sites[len(memory.sites) // 2]]
    last: tuple[int, int] | None = None
    for bank in range(memory.banks):
        for at in few:
            await memory.step([few[1] if at == few[0] else few[0]] * memory.banks, (bank, at))
    for _ in range(500):
        write = (int(rng.integers(memory.banks)), int(rng.choice(few))) if rng.random() < 0.7 else None
        addresses = [int(a) for a in rng.choice(few, memory.banks)]
        if last is not None:
            addresses[last[0]] = last[1]
        if write and addresses[write[0]] == write[1]:
            write = None  # what a read of the entry being written gives is not stated
        await memory.step(addresses, write)
        last = write
    await memory.bench.finish(400)
