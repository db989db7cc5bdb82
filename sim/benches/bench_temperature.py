"""TemperatureSchedule against `mrfhw.placement.temperature.coefficients`."""

from __future__ import annotations

from itertools import islice
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.control.temperature import TemperatureSchedule
from mrfhw.machine.registers import Temperature
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficients
from sim.support.fields import Bench
from sim.support.recorder import Load, placements_from_text
from sim.support.runner import bench_config, bench_parameters


class Watch:
    """A schedule with the registers of a placed problem."""

    def __init__(self, dut: Any):
        self.component = TemperatureSchedule(bench_config())
        self.bench = Bench(dut, self.component)

    async def load(self, placement: Placement) -> None:
        load, bench = Load(placement), self.bench
        r = load.registers
        # A new value stands so many cycles after its cause.
        table = r["temperature_mode"] == Temperature.TABLE
        self.after_load = 2 if table else 1
        self.after_step = 2 if table else self.component.step_cycles
        await bench.cycle(mode=r["temperature_mode"], start=r["temperature"], ratio=r["temperature_ratio"],
                          limit=r["temperature_limit"], stride=r["temperature_stride"], last=r["temperature_last"])
        for index, word in load.temperature_table:
            await bench.cycle(table_write=1, table_address=index, table_data=word)
        await bench.cycle(table_write=0)

    async def change(self, event: str, latency: int, old: int | None, new: int) -> None:
        """`old` up to the cycle before the latency has passed, `new` from then on."""
        await self.bench.cycle(**{event: 1})
        for cycle in range(1, latency + 1):
            if old is not None:
                assert self.bench.read("value") == old, f"{cycle - 1} cycles after {event}"
            await self.bench.cycle(load=0, step=0)
        assert self.bench.read("value") == new, f"{latency} cycles after {event}"

    async def run(self, placement: Placement, sweeps: int, gaps: list[int]) -> None:
        """`sweeps` steps from a load on, with idle cycles between them."""
        expected = list(islice(coefficients(placement.config, placement.problem), sweeps))
        await self.change("load", self.after_load, None, expected[0])
        for sweep in range(1, sweeps):
            for _ in range(gaps[sweep % len(gaps)]):
                await self.bench.cycle()
                assert self.bench.read("value") == expected[sweep - 1]
            await self.change("step", self.after_step, expected[sweep - 1], expected[sweep])
            # The step is over in any case before the next one may come.
            for _ in range(self.component.step_cycles - self.after_step):
                await self.bench.cycle()


@cocotb.test()
async def steps_as_close_as_they_may_come(dut: Any) -> None:
    watch = Watch(dut)
    await watch.bench.start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        await watch.load(placement)
        await watch.run(placement, bench_parameters()["sweeps"], [0])


@cocotb.test()
async def random_idle_and_reload(dut: Any) -> None:
    """A load in the middle begins again at sweep 0, one in the middle of a step as well."""
    rng = np.random.default_rng(2)
    watch = Watch(dut)
    await watch.bench.start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        await watch.load(placement)
        for sweeps in (3, 6):
            await watch.run(placement, sweeps, [int(g) for g in rng.integers(0, 60, 7)])
            await watch.bench.cycle(step=1)
            await watch.bench.cycle(step=0)
            for _ in range(int(rng.integers(0, 20))):
                await watch.bench.cycle()
        await watch.run(placement, 4, [1])
