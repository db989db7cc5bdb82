"""Scheduler: every operation of every cycle against `sim.support.timetable`, with stalls, stop and resume."""

from __future__ import annotations

from itertools import islice
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.control.run import problem_registers
from mrfhw.gateware.control.scheduler import Scheduler
from mrfhw.machine.registers import mode_fields
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficients
from sim.support.fields import Bench
from sim.support.recorder import Load, placements_from_text
from sim.support.runner import bench_config, bench_parameters
from sim.support.timetable import STROBES, Timetable, lane_words


class Watch:
    """A scheduler with a placed problem; drives it and keeps what it did in every cycle of a run."""

    def __init__(self, dut: Any):
        self.bench = Bench(dut, Scheduler(bench_config()))
        self.temperature = self.sweep = 0  # in force before the run

    async def load(self, placement: Placement) -> None:
        """The registers and tables that the driver writes."""
        load = Load(placement)
        self.placement = placement
        modes = {name: field.of(load.registers["mode"]) for name, field in mode_fields(placement.config).items()}
        self.registers = {name: {**load.registers, **modes}[name] for name in problem_registers(placement.config).members}
        for index, word in load.label_table:
            await self.bench.cycle(registers=self.registers,
                                   tables={"label": 1, "temperature": 0, "address": index, "data": word})
        for index, word in load.temperature_table:
            await self.bench.cycle(tables={"label": 0, "temperature": 1, "address": index, "data": word})
        await self.bench.cycle(tables={"label": 0, "temperature": 0, "address": 0, "data": 0})

    async def run(self, command: str, stall: list[int], stop_at: int = -1) -> list[dict[str, Any]]:
        """A run, as `down` and the counting pulses of each cycle from the first after `command`."""
        bench = self.bench
        await bench.cycle(**{command: 1, "stall": 1})
        assert not bench.read("status")["running"]
        self.sweep = 0 if command == "start" else self.sweep
        seen: list[dict[str, Any]] = []
        while True:
            cycle = len(seen)
            await bench.cycle(start=0, resume=0, stop=int(cycle == stop_at), stall=stall[cycle % len(stall)])
            seen.append({**bench.read("down"), **bench.read("status")})
            assert cycle < 100_000, "the run does not end"
            if seen[-1]["write_back"]["end"]:
                return seen

    async def end(self, rng: np.random.Generator) -> None:
        """Busy until the log is done, and not a cycle longer."""
        for _ in range(int(rng.integers(1, 6))):
            await self.bench.cycle()
            assert self.bench.read("status")["busy"]
            assert not self.bench.read("status")["running"]
        await self.bench.cycle(log_done=1)
        assert self.bench.read("status")["busy"]
        await self.bench.cycle(log_done=0)
        assert not self.bench.read("status")["busy"]

    def check(self, seen: list[dict[str, Any]], table: Timetable) -> None:
        """All strobes in all cycles, all fields that mean something, the status and the temperature."""
        banks = table.config.s2_banks
        assert len(seen) == max(table.operations) + 1, "length of the run"
        values = list(islice(coefficients(table.config, self.placement.problem), table.last))
        changes, sweeps = {cycle: values[sweep] for cycle, sweep in table.temperature}, dict(table.sweeps)
        directions = table.cycle_of.get("columns", 0) - table.cycle_of["singleton"]  # cycles from addresses to directions
        for cycle, found in enumerate(seen):
            wanted = table.operations.get(cycle, {})
            for name, strobes in STROBES.items():
                for strobe in strobes:
                    assert found[name][strobe] == wanted.get(name, {}).get(strobe, 0), f"{name}, {strobe} in cycle {cycle}"
            state = table.state[cycle] if cycle < table.cycles else ""
            assert found["running"] == bool(state), f"running in cycle {cycle}"
            assert found["busy"], f"busy in cycle {cycle}"
            for pulse in ("label", "gap", "stall"):
                assert found[f"{pulse}_cycle"] == (state == pulse), f"{pulse}_cycle in cycle {cycle}: {state}"
            self.sweep = sweeps.get(cycle, self.sweep)
            assert found["sweep"] == self.sweep, f"sweep in cycle {cycle}"
            self.temperature = changes.get(cycle, self.temperature)
            assert found["parameters"]["temperature"] == self.temperature, f"temperature in cycle {cycle}"
            for name, value in wanted.items():
                operation = found[name]
                if name == "label_read":
                    assert {b: operation["address"][b] for b in value} == value, f"LMem in cycle {cycle}"
                elif name == "singleton":
                    words = lane_words(banks, operation["rotate"], operation["first"], operation["second"])
                    assert [w[:2] for w in words][:len(value)] == value, f"singleton-2 words in cycle {cycle}"
                elif name == "columns":
                    right = [w[2] for w in lane_words(banks, seen[cycle - directions]["singleton"]["rotate"], 0, 0)]
                    assert [operation["right" if r else "left"] for r in right[:len(value)]] == [v & 3 and (2 if v < 0 else 1)
                                                                                    for v in value], cycle
                elif name == "rows":
                    assert [(operation["up"], operation["down"])] * len(value) == [(int(v < 0), int(v > 0)) for v in value], cycle
                else:
                    # Of lanes without a label nothing is said.
                    assert {field: operation[field][:len(wanted)] if isinstance(wanted, list) else operation[field]
                            for field, wanted in value.items()} == value, f"{name} in cycle {cycle}"


def _timetable(p: Placement, first: int, last: int, stall: list[int]) -> Timetable:
    return Timetable(p, first, last, lambda cycle: stall[cycle % len(stall)])


def _stall(rng: np.random.Generator, share: float) -> list[int]:
    """Stalls in bursts of random length."""
    trace: list[int] = []
    while len(trace) < 4000:
        trace += [int(rng.random() < share)] * int(rng.integers(1, 12))
    return trace


async def _compare(dut: Any, share: float, count: int | None = None) -> None:
    rng = np.random.default_rng(bench_parameters()["seed"])
    watch = Watch(dut)
    await watch.bench.start()
    for placement in placements_from_text(bench_parameters()["placements"])[:count]:
        await watch.load(placement)
        stall = _stall(rng, share)
        seen = await watch.run("start", stall)
        watch.check(seen, _timetable(placement, 0, placement.run.sweeps, stall))
        await watch.end(rng)


@cocotb.test()
async def never_stalled(dut: Any) -> None:
    """One run after the other on one machine."""
    await _compare(dut, 0)


@cocotb.test()
async def stop_and_resume(dut: Any) -> None:
    """Stop in the middle of each sweep; the sweep is finished, and resume goes on where it ended."""
    rng = np.random.default_rng(bench_parameters()["seed"])
    watch = Watch(dut)
    await watch.bench.start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        await watch.load(placement)
        for sweep in range(placement.run.sweeps):
            stall = _stall(rng, 0.2)
            table = _timetable(placement, sweep, sweep + 1, stall)
            last = sweep + 1 == placement.run.sweeps
            at = -1 if last else int(rng.integers(0, table.cycles // 2))
            seen = await watch.run("resume" if sweep else "start", stall, at)
            watch.check(seen, table)
            assert watch.bench.read("status")["sweep"] == sweep + 1
            await watch.end(rng)


@cocotb.test()
async def stalled_often(dut: Any) -> None:
    """Stalls take effect between groups and at no other time."""
    await _compare(dut, 0.5)


@cocotb.test()
async def stalled_nearly_always(dut: Any) -> None:
    await _compare(dut, 0.9, 1)
