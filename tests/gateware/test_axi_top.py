"""The machine with AXI ports under Icarus."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.gateware.soc.axi_top import AxiTop, LogSplit, axi_signature
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench
from support.refusals import assert_refused

THROUGH_AXI_MASTERS = pytest.mark.claim("AxiTop",
    "through AXI masters and slaves the host's session gives the model's labels, histogram, LMem and messages: either log target, "
    "rings that wrap, back-pressure, memory errors, runs left behind")

# (tiles, data_bits, memory_address_bits): lines of one beat and of two, addresses of one register and of two.
PORTS = {"one-beat": (2, 64, 32), "two-beats": (1, 32, 40)}
# With more than one tile, what tiles and their log have a part in; pauses of the ports are those of any machine.
PORT = ("registers", "latency", "a_word_a_cycle", "page_and_machine_in_order")
MESH = (*PORT, "log_in_memory", "log_on_the_stream")
ALONE = (*PORT, "log_in_memory", "ring_that_wraps", "wrong_rings", "memory_that_refuses", "state_that_is_taken_up")
LONG = ("log_on_the_stream", "random_idle_and_back_pressure", "runs_left_behind", "stop_and_resume", "stress")


def machine(tiles: int = 1) -> Config:
    return Config(mesh_rows=1, mesh_cols=tiles, spus=1, lmem_banks=1, tile_rows=4, tile_cols=4, label_bits=3, data_bits=4,
                  counter_bits=1, temperature_table=4, hub_depth=1, hub_fan_in=4, s2_words=64, line_bits=64, address_bits=20,
                  sampler=Race(uniform_bits=8))


def hot(config: Config, sweeps: int) -> Placement:
    """Every draw evicts: many labels, no energy to speak of."""
    shape = (config.mesh_rows * config.tile_rows, config.mesh_cols * config.tile_cols - 1)
    problem = Problem(labels=8, singleton1=np.zeros(shape, np.int64), constants=np.arange(8),
                      schedule=Schedule.geometric(100.0, 0.9, 50.0))
    return Placement(config, problem, Run(sweeps=sweeps, seed=4))


def stereo(config: Config, seed: int) -> Placement:
    """Offsets to all sides, so that tiles need their neighbours' pixels and labels."""
    rng = np.random.default_rng(seed)
    shape = (config.mesh_rows * config.tile_rows - 1, config.mesh_cols * config.tile_cols)
    problem = Problem(labels=7, singleton1=rng.integers(0, 16, shape), singleton2=rng.integers(0, 16, shape),
                      offsets=np.array([(0, 0), (-3, -3), (3, 3), (2, -3), (-2, 3), (-3, 0), (0, 3)]), alpha=3, beta=4, tau=3,
                      out_of_range=9, schedule=Schedule.constant(12.0))
    return Placement(config, problem, Run(sweeps=2, burn_in=1, seed=seed))


@pytest.mark.tools
@pytest.mark.claim(
    "LogPage", "every log register at its address; base, size and freed position are refused where they would lose log")
@THROUGH_AXI_MASTERS
@pytest.mark.claim("checkpoints",
    "a run that is killed and resumed ends with the bits of one that was not: every backend, chains, windows, all schedules "
    "(boards, cpu, float, events, gpu, lanes that share a site, twenty kills: make long)")
@pytest.mark.parametrize(("name", "tests"), [
    ("two-beats", ALONE), *(pytest.param(*case, marks=pytest.mark.long) for case in (("one-beat", MESH), ("two-beats", LONG)))])
def test_axi_top(name: str, tests: tuple[str, ...]) -> None:
    tiles, data_bits, memory_address_bits = PORTS[name]
    config = machine(tiles)
    run_bench(AxiTop(config, data_bits, memory_address_bits), "mrfhw_axi_top", "sim.benches.bench_axi_top", {
        "data_bits": data_bits, "memory_address_bits": memory_address_bits, "hot": placements_to_text([hot(config, 12)]),
        "placements": placements_to_text([stereo(config, 11), stereo(config, 12)])},
        testcase=tests)


@pytest.mark.tools
@pytest.mark.claim(
    "LogSplit", "a run's lines go where its first one does, each once and in order, whenever the target changes")
@pytest.mark.parametrize("line_bits", [8, 64])
def test_log_split(line_bits: int) -> None:
    run_bench(LogSplit(line_bits), "log_split", "sim.benches.bench_log_split", {"line_bits": line_bits})


@THROUGH_AXI_MASTERS
@pytest.mark.parametrize(("arguments", "message"), [
    ((64, 11), "memory_address_bits is 11; addresses of an AXI memory have 12 to 64 bits: give one of them"),
    ((64, 65), "memory_address_bits is 65; addresses of an AXI memory have 12 to 64 bits: give one of them"),
    ((48, 32), "data_bits is 48; an AXI bus has 8 to 1024 bits, a power of two: give one of them"),
    ((128, 32), "line_bits is 64; a line is whole beats of 128 bits: give a multiple of 128"),
])
def test_wrong_arguments(arguments: tuple[int, int], message: str) -> None:
    config = machine()
    assert_refused(lambda: AxiTop(config, *arguments), message)
    assert_refused(lambda: axi_signature(config, *arguments), message)
