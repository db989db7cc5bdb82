"""SubsetChoice: sites with any neighbours, close upon one another or not, against subsets made of sets and lists."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.subset_choice import SubsetChoice
from mrfhw.machine.latency import NEIGHBOURS, WAY_BITS
from mrfhw.placement.placement import Placement
from mrfhw.samplers.random import lane_states
from sim.support.fields import Bench
from sim.support.recorder import Load, placements_from_text
from sim.support.references import Twin
from sim.support.runner import bench_config, bench_parameters


def subset(placement: Placement, neighbours: list[dict[str, int]], own: int, twin: Twin) -> list[tuple[int, int]]:
    """(slot, weight) of each of a visit's slots. twin: of the generator."""
    c, groups, found = placement.config, placement.label_groups, placement.subsets
    assert found is not None
    if groups.slots <= c.subset_slots:
        return [(slot, 0) for slot in range(c.subset_slots)]
    words = [twin.next(c.other_bits + WAY_BITS + c.place_bits) for _ in range(c.subset_slots)]
    numbers = [word >> WAY_BITS + c.place_bits for word in words]
    first, place = words[0] >> c.place_bits & NEIGHBOURS - 1, words[0] & (1 << c.place_bits) - 1
    counting = [neighbours[(first + n) % NEIGHBOURS] for n in range(c.near_slots)]
    near = sorted({int(groups.slot[n["label"]]) for n in counting if n["exists"]})
    others = [slot for slot in range(groups.slots) if slot not in near]
    size, slot = c.subset_slots - len(near), int(groups.slot[own])
    drawn = [others[number * len(others) >> c.other_bits] for number in numbers[:size]]
    if slot not in near:
        drawn[place * size >> c.place_bits] = slot
    weight = round(float(np.log(len(others) / size)) * (1 << c.sampler.to_dict()["fraction_bits"]))
    return [(slot, weight) for slot in drawn] + [(slot, 0) for slot in near]


@cocotb.test()
async def sites(dut: Any) -> None:
    """Slots and weights come in the cycles stated; every number of neighbours' slots, the site's own among them or not."""
    rng, component = np.random.default_rng(8), SubsetChoice(bench_config())
    c, bench, seen = component.config, Bench(dut, component), set()
    await bench.start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        for index, word in Load(placement).label_table:
            await bench.cycle(table_write=1, table_address=index, table_data=word)
        await bench.cycle(table_write=0)
        twin = Twin(lane_states(5, 1)[0].tolist())
        for word in twin.words:
            await bench.cycle(random_load=1, random_data=word)
        await bench.cycle(random_load=0)
        for _ in range(150):
            own, span = int(rng.integers(placement.problem.labels)), int(rng.integers(1, placement.problem.labels + 1))
            there = rng.choice([0.2, 0.9])
            around = [{"label": (own + int(rng.integers(span))) % placement.problem.labels, "exists": int(rng.random() < there)}
                      for _ in range(NEIGHBOURS)]
            wanted = subset(placement, around, own, twin)
            await bench.cycle(start=1, neighbours=around, own=own)
            for place, (slot, weight) in enumerate(wanted):
                bench.expect("slot", slot, c.latency.choice + place)
                bench.expect("weight", weight, c.latency.choice + place)
            seen.add(len({slot for slot, weight in wanted if not weight}))
            for _ in range(c.subset_slots - 1 + int(rng.integers(2)) * int(rng.integers(5))):
                # What chooses is there in one cycle alone.
                noise = [{"label": int(rng.integers(c.max_labels)), "exists": 1}] * NEIGHBOURS
                await bench.cycle(start=0, neighbours=noise, own=int(rng.integers(c.max_labels)))
        for _ in range(c.subset_slots + c.latency.choice):
            await bench.cycle(start=0)
        for word in list(twin.words):  # as many numbers were drawn as were wanted
            await bench.cycle(random_rotate=1)
            bench.expect("random_word", word, c.latency.random_word)
        await bench.cycle(random_rotate=0)
        await bench.finish(least=300 * c.subset_slots)
    assert seen >= set(range(c.near_slots + 1))
