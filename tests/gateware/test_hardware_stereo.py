"""The 16x2 machine on stereo pictures: the compiled RTL against the model, and what the result must obey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.pictures.images import crop, load_grey, parse_window
from mrfhw.placement.placement import Placement
from mrfhw.scenes import stereo_scene
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin import machine
from support.data import data_directory

pytestmark = pytest.mark.tools

RUN = Run(sweeps=24, burn_in=12, seed=1)


def window_problem(scene: str, labels: int, rows: int = 64) -> Problem:
    """96 x 64 sites of teddy, or of the built-in scene, or fewer rows of that."""
    if scene == "teddy":
        directory: Path = data_directory() / "stereo" / "teddy"
        area = parse_window("150,100,96,64")
        left, right = (crop(load_grey(str(directory / f"{side}.png"), 6), area, side) for side in ("left", "right"))
        return stereo_problem(left, right, labels=labels, min_disparity=12)
    made = stereo_scene(144, 192, 24, 0)
    left, right = ((np.asarray(image) >> 2)[40:40 + rows, 48:144] for image in (made.left, made.right))
    return stereo_problem(left, right, labels=labels)


@pytest.fixture(scope="module", params=["race", pytest.param("cdf", marks=pytest.mark.long)])
def chip(request: pytest.FixtureRequest):
    with CompiledChip(Config(sampler=request.param), quick=True) as compiled:
        yield compiled


@pytest.mark.claim("machine",
    "16x2 on 96x64 sites, 24 and 40 labels, both samplers (40 and cdf by make long): RTL equals model, every site's histogram sums"
    " to the counted sweeps, utilization at least 0.97")
@pytest.mark.parametrize(("scene", "labels"), [
    ("built-in", 24), *(pytest.param(*case, marks=pytest.mark.long) for case in (("built-in", 40), ("teddy", 24), ("teddy", 40)))])
def test_rtl_equals_model(chip: CompiledChip, scene: str, labels: int):
    placement = Placement(chip.config, window_problem(scene, labels), RUN)
    assert placement.replication == (1 if labels == 24 else 2)
    rtl = run_placed(chip, placement, patience=10_000_000)
    model = machine.solve(chip.config, placement.problem, RUN)
    assert first_difference(rtl, model) is None
    assert (rtl.counts.sum(-1) == RUN.counted).all()
    assert rtl.utilization is not None
    assert rtl.utilization >= 0.97


def test_seeds_differ_and_repeat(chip: CompiledChip):
    problem = window_problem("built-in", 24, rows=16)
    runs = [run_placed(chip, Placement(chip.config, problem, Run(sweeps=4, seed=seed))) for seed in (1, 2, 1)]
    assert first_difference(runs[0], runs[2]) is None
    assert not np.array_equal(runs[0].last, runs[1].last)


@pytest.mark.claim("log", "a count of 0 is padding and nothing else")
def test_longest_log_line_holds_no_padding_inside(chip: CompiledChip):
    """Count 0 is padding and nothing else: it comes only behind the last message of a run."""
    placement = Placement(chip.config, window_problem("built-in", 24, rows=16), Run(sweeps=30, seed=3))
    run_placed(chip, placement)
    from mrfhw.driver.driver import Driver

    driver = Driver(chip.config, chip)
    driver.load(placement)
    driver.start()
    while not chip.advance(100_000):
        pass
    lines = chip.take_log()
    bits = np.unpackbits(lines, axis=1, bitorder="little")
    numbers = Derived.of(chip.config)
    width, many = numbers.message_bits, numbers.line_messages
    counts = bits[:, :width * many].reshape(len(lines) * many, width)[:, :chip.config.counter_bits].any(1)
    sent = driver.get("messages")[0]
    assert sent > 0
    assert counts[:sent].all()
    assert not counts[sent:].any()
    assert driver.get("lines")[0] == len(lines)
