"""Upper hubs of the log's tree that pass whole lines: the compiled RTL equals the model, cycles and stalls among all else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.driver.readout import most_lines
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin import machine
from support.random_problems import random_placement

pytestmark = pytest.mark.claim("LineHub",
    "hubs that pass lines: every message once, one tlast, cycles and stalls as the model has them; the root waits less than with "
    "messages (more cases: make long)")

# Two to five levels, packers at the tiles, at the root's children and between; hubs that are not full; lines of one message on.
MACHINES = {
    "packers at the tiles": dict(mesh_rows=2, mesh_cols=3, hub_fan_in=4, line_levels=2, hub_depth=1, line_bits=32),
    "one level of two": dict(mesh_rows=3, mesh_cols=3, hub_fan_in=4, line_levels=1, hub_depth=2, line_bits=64),
    "lines of one message": dict(mesh_rows=2, mesh_cols=2, hub_fan_in=2, line_levels=1, hub_depth=2, line_bits=32),
    "three levels of four": dict(mesh_rows=3, mesh_cols=4, hub_fan_in=2, line_levels=3, hub_depth=4, line_bits=48),
}

LONG = ("packers at the tiles", "one level of two", "three levels of four")


def hot(config: Config, seed: int, labels: int, share: float) -> Placement:
    """A field that sends nearly a message for each label drawn; a share of its sites is clamped."""
    c = Derived.of(config)
    rng = np.random.default_rng(seed)
    shape = (c.mesh_rows * c.tile_rows, c.mesh_cols * c.tile_cols)
    problem = Problem(labels=labels, singleton1=np.zeros(shape, int), constants=np.arange(labels),
                      clamped=rng.random(shape) < share, schedule=Schedule.constant(90.0))
    return Placement(config, problem, Run(sweeps=40, burn_in=1, seed=seed))


@pytest.mark.tools
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in MACHINES])
def test_rtl_equals_model(name: str) -> None:
    """Random problems, and hot ones of few labels, whose messages stall the machine."""
    config = Config(spus=2, tile_rows=4, tile_cols=8, lmem_banks=4, label_bits=3, data_bits=4, counter_bits=1, address_bits=20,
                    **MACHINES[name])
    rng = np.random.default_rng(3)
    placements = [random_placement(rng, config) for _ in range(8)]
    kinds = ((2, 0.0), (8, 0.0), (3, 0.5), (2, 0.9))
    placements += [hot(config, seed, labels, share) for seed, (labels, share) in enumerate(kinds)]
    stalls = 0
    with CompiledChip(config, quick=True) as chip:
        for placement in placements:
            model = machine.solve(config, placement.problem, placement.run)
            rtl = run_placed(chip, placement, patience=5_000_000)
            difference = first_difference(rtl, model)
            assert difference is None, f"{difference}\n{placement.problem}\n{placement.run}"
            stalls += model.stall_cycles
            assert rtl.messages_counted == len(model.messages)
    assert stalls > 100


def test_lines_stall_less_than_messages() -> None:
    """The root passes a line of 15 messages where it passed one message: the hot field of few labels waits less."""
    messages, lines = (Config(mesh_rows=8, mesh_cols=8, tile_rows=4, tile_cols=8, label_bits=3, counter_bits=1, line_levels=levels,
                              line_bits=512) for levels in (0, 1))
    stalls = []
    for config in (messages, lines):
        p = hot(config, 1, 8, 0.0)
        stalls.append(machine.solve(config, p.problem, p.run).stall_cycles)
    assert stalls[1] < 0.2 * stalls[0], stalls


def test_lines_of_a_run() -> None:
    """Each packer's last line may be empty: the most lines that a run can have, and the tree that a machine must have."""
    for name, options in MACHINES.items():
        config = Derived.of(Config(spus=2, tile_rows=4, tile_cols=8, label_bits=3, **options))
        assert config.packers == {"packers at the tiles": 6, "one level of two": 3, "lines of one message": 2,
                                  "three levels of four": 6}[name]
        p = hot(config, 0, 2, 0.0)
        assert most_lines(p) == p.problem.sites * p.run.counted // config.line_messages + config.packers
    with pytest.raises(ConfigError, match="line_levels is 3; the tree of 16 SPEs with hub_fan_in = 4 has 2 levels: give 2 or less"):
        dataclasses.replace(Config(), line_levels=3)
    with pytest.raises(ConfigError, match=r"line_levels is 2; the tree of 1 SPEs with hub_fan_in = 4 has 0 levels: give 0$"):
        Config.preset("smallest", line_levels=2)
