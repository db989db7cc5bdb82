"""SingletonAddress and ReachAddress: the word that every slot names is that of the right pixel of the second image."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.control.reach_address import ReachAddress
from mrfhw.gateware.control.singleton_address import SingletonAddress
from mrfhw.machine.registers import Region
from mrfhw.placement.placement import Placement
from mrfhw.placement.visit_order import Group
from sim.support.fields import Bench
from sim.support.recorder import Load, placements_from_text
from sim.support.runner import bench_config, bench_parameters
from sim.support.timetable import lane_words, slot_labels


class Memories:
    """S2Mem of all tiles after the driver's load, and what lies beyond the mesh."""

    def __init__(self, placement: Placement, load: Load):
        self.p, self.config = placement, placement.config
        self.words = [load.memory(tile, Region.S2) for tile in range(self.config.spes)]

    def word(self, tile: int, down: int, right: int, bank: int, address: int) -> int:
        """The word that `tile` gets; 0 from beyond the mesh's edge."""
        c = self.config
        row, col = tile // c.mesh_cols + down, tile % c.mesh_cols + right
        if not (0 <= row < c.mesh_rows and 0 <= col < c.mesh_cols):
            return 0
        return self.words[row * c.mesh_cols + col].get((bank << c.s2_address_bits) + address, 0)

    def wanted(self, row: int, col: int, label: int) -> int:
        """Datum and valid bit of the pixel of an image site and a label; 0 outside the second image."""
        assert self.p.problem.singleton2 is not None
        assert self.p.problem.offsets is not None
        r, c = row + int(self.p.problem.offsets[label][0]), col + int(self.p.problem.offsets[label][1])
        rows, cols = self.p.problem.singleton2.shape
        if not (0 <= r < rows and 0 <= c < cols):
            return 0
        return int(self.p.problem.singleton2[r, c]) | 1 << self.config.datum_bits


def check_slot(memories: Memories, slot: tuple[int, Group], found: dict[str, int]) -> None:
    """All tiles' sites of a slot (its number, group) get their pixels' words. found: directions where there are any."""
    p, c = memories.p, memories.config
    number, group = slot
    labels = slot_labels(p, number)
    found = {"up": 0, "down": 0, "left": 0, "right": 0, **found}
    down = found["down"] - found["up"]
    assert not (found["up"] and found["down"])
    words = lane_words(c.s2_banks, found["rotate"], found["first"], found["second"])
    for lane, (bank, address, second) in enumerate(words):
        unit, own = divmod(lane, c.lanes)
        if own >= len(labels):
            continue
        side = found["right" if second else "left"]
        assert side != 3
        right = (side & 1) - (side >> 1)
        for tile in range(c.spes):
            r, col = divmod(int(p.order.flat(np.array(tile), np.array(group.row), np.array(group.columns[unit]))), p.order.columns)
            if r < p.problem.shape[0] and col < p.problem.shape[1]:
                word, wanted = memories.word(tile, down, right, bank, address), memories.wanted(r, col, labels[own])
                valid = 1 << c.datum_bits
                assert (word if word & valid else 0) == wanted, f"tile {tile}, slot {slot}, lane {lane}"


def _component() -> SingletonAddress | ReachAddress:
    """The one that the machine has."""
    config = bench_config()
    return ReachAddress(config) if config.holds_reach else SingletonAddress(config)


async def _compare(dut: Any, placement: Placement, slots: list[tuple[int, Group]]) -> None:
    """Slots without a pause, one a cycle."""
    component = _component()
    bench, load = Bench(dut, component), Load(placement)
    bench.now = -1
    latency = component.latency
    memories = Memories(placement, load)
    for index, word in load.label_table:
        await bench.cycle(table_write=1, table_address=index, table_data=word)
    shared = isinstance(component, ReachAddress)
    modes = {"mirrored": int(placement.label_groups.mirrored), "unary": 0} if shared else {}
    await bench.cycle(table_write=0, groups=placement.order.groups_per_row, **modes)
    names = ("first", "second", "rotate", *(() if shared else ("left", "right", "up", "down")))
    for cycle in range(len(slots) + latency):
        if cycle < len(slots):
            number, group = slots[cycle]
            row = ({"base": group.row * placement.s2_stride} if shared
                   else {"row": group.row, "site": group.row * (placement.tile_cols // 2)})
            await bench.cycle(slot=number, group=group.index, odd=group.columns[0] & 1, **row)
        else:
            await bench.cycle()
        if cycle >= latency and placement.problem.offsets is not None:
            check_slot(memories, slots[cycle - latency], {name: bench.read(name) for name in names})


def _slots(p: Placement) -> list[tuple[int, Group]]:
    return [(number, group) for group in p.order.groups_of(0) for number in range(p.label_groups.slots)]


@cocotb.test()
async def every_site_and_slot(dut: Any) -> None:
    """In the order of a sweep."""
    await Bench(dut, _component()).start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        await _compare(dut, placement, _slots(placement))


@cocotb.test()
async def random_order(dut: Any) -> None:
    """No slot depends on the one before it."""
    rng = np.random.default_rng(3)
    await Bench(dut, _component()).start()
    for placement in placements_from_text(bench_parameters()["placements"])[:3]:
        slots = _slots(placement)
        await _compare(dut, placement, [slots[i] for i in rng.integers(0, len(slots), 300)])
