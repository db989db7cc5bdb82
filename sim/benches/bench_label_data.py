"""LabelData: the labels of slots in any order, one a cycle, with their vectors and constants."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.control.label_data import LabelData
from sim.support.fields import Bench
from sim.support.recorder import Load, placements_from_text
from sim.support.runner import bench_config, bench_parameters
from sim.support.timetable import label_slot


@cocotb.test()
async def slots_in_any_order(dut: Any) -> None:
    """No slot depends on the one before it; lanes without a label may have anything."""
    rng, component = np.random.default_rng(4), LabelData(bench_config())
    bench = Bench(dut, component)
    await bench.start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        for index, word in Load(placement).label_table:
            await bench.cycle(table_write=1, table_address=index, table_data=word)
        await bench.cycle(table_write=0)
        slots = [int(n) for n in rng.integers(0, placement.slots, 200)]
        for cycle in range(len(slots) + component.latency):
            await bench.cycle(slot=slots[cycle] if cycle < len(slots) else 0)
            if cycle >= component.latency:
                wanted = label_slot(placement, slots[cycle - component.latency])
                wanted.pop("slot", None)
                for name, value in wanted.items():
                    found = bench.read(name)
                    assert (found[:len(value)] if isinstance(value, list) else found) == value, f"{name} in cycle {cycle}"
