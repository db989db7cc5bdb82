"""Stop and continue: a run in parts equals the same run at once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.driver.driver import ChipError, Driver, unpack_lines
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import histogram
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed

pytestmark = pytest.mark.tools

RUN_PARTS_EQUALS = pytest.mark.claim("machine", "a run in parts equals the same run at once; stop ends after a sweep")
TILE_MEMORIES_REFUSED = pytest.mark.claim(
    "machine", "tile memories are refused while labels are drawn; a chip of another configuration is refused")

CONFIG = Config(mesh_rows=1, mesh_cols=2, spus=2, tile_rows=8, tile_cols=12, counter_bits=2, line_bits=128)


@pytest.fixture(scope="module")
def chip():
    with CompiledChip(CONFIG, quick=True) as compiled:
        yield compiled


def placement(sweeps: int) -> Placement:
    rng = np.random.default_rng(2)
    problem = Problem(labels=5, singleton1=rng.integers(0, 64, (7, 21)), constants=np.arange(5) * 12, beta=3, tau=3,
                      schedule=Schedule.geometric(30.0, 0.9, 5.0))
    return Placement(CONFIG, problem, Run(sweeps=sweeps, burn_in=2, seed=9))


def wait(chip: CompiledChip) -> None:
    for _ in range(1000):
        if chip.advance(1000):
            return
    raise AssertionError("the run has not ended")


@RUN_PARTS_EQUALS
def test_resume_equals_one_run(chip: CompiledChip):
    whole = run_placed(chip, placement(12))
    driver, part = Driver(CONFIG, chip), placement(5)
    driver.load(part)
    driver.start()
    wait(chip)
    lines = [chip.take_log()]
    assert driver.get("sweep") == [5]
    driver.set(sweeps=12)
    driver.start(resume=True)
    wait(chip)
    lines.append(chip.take_log())
    lmem = driver.lmem(part)
    assert np.array_equal(lmem, whole.lmem)
    messages = np.concatenate([unpack_lines(CONFIG, part_lines) for part_lines in lines])
    assert np.array_equal(histogram(5, messages, lmem), whole.counts)


@RUN_PARTS_EQUALS
def test_stop_ends_the_sweep_under_way(chip: CompiledChip):
    driver, long = Driver(CONFIG, chip), placement(100_000)
    driver.load(long)
    driver.start()
    chip.advance(5000)
    assert driver.busy
    driver.set(control=4)
    wait(chip)
    assert not driver.busy
    reached = driver.get("sweep")[0]
    assert 0 < reached < 100_000
    messages = unpack_lines(CONFIG, chip.take_log())
    short = run_placed(chip, placement(reached))
    assert np.array_equal(histogram(5, messages, short.lmem), short.counts)


@pytest.mark.claim("machine", "start and resume do nothing while busy")
def test_start_and_resume_do_nothing_while_busy(chip: CompiledChip):
    whole = run_placed(chip, placement(12))
    driver, again = Driver(CONFIG, chip), placement(12)
    driver.load(again)
    driver.start()
    for _ in range(5):
        chip.advance(300)
        driver.start()
        driver.start(resume=True)
    wait(chip)
    chip.take_log()
    assert np.array_equal(driver.lmem(again), whole.lmem)
    assert driver.get("cycles") == [whole.cycles]


@TILE_MEMORIES_REFUSED
def test_tile_memory_is_refused_while_running(chip: CompiledChip):
    driver, long = Driver(CONFIG, chip), placement(1000)
    driver.load(long)
    driver.start()
    with pytest.raises(ChipError, match="refused a read"):
        driver.lmem(long)
    driver.set(control=4)
    wait(chip)
    chip.take_log()
    driver.lmem(long)


@TILE_MEMORIES_REFUSED
def test_another_configuration_is_refused(chip: CompiledChip):
    wrong = dataclasses.replace(CONFIG, counter_bits=3)
    other = Driver(wrong, chip, circuit_digest(wrong))
    with pytest.raises(ChipError, match="the chip's circuit is"):
        other.check()
