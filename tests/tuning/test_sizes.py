"""Sizes of the link's memories and of the log's hubs: granules, shares, where to stop, and the replay against compiled machines."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.cost.devices import device_named
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.links import BoardLink
from mrfhw.cost.seconds import Delays
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.fpga.boards import BOARDS
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.tuning.hub_queues import LOST, chosen_hubs, replayed
from mrfhw.tuning.job import Job
from mrfhw.tuning.link_queues import LinkQueues

SIZED = pytest.mark.claim("tuning", "queues of a link have what blocks leave, and more blocks as long as each brings 1 %")
REPLAYED = pytest.mark.claim("tuning", "networks of hubs are replayed to the cycle, and the smallest that does not wait is named")


SMALL = {"icebreaker": {"words": 32, "log_bytes": 256}, "tang-nano-9k": {"words": 64, "log_bytes": 512}}


def queues(board_name: str, shape: tuple[int, int], labels: int, messages: float, delay: float = 0.001) -> LinkQueues:
    """Of a board with small memories."""
    board = replace(BOARDS[board_name], **SMALL[board_name])
    config = Config.preset(board.preset)
    job = Job.of("stereo", shape, labels, 60, "mode", config)
    cycles = Cycles.of(config, job.problem, job.run)
    return LinkQueues(board.link(), device_named(board.device), cycles, job.run, messages, board.clock_hz, board.clock_hz,
                      Delays(delay))


@SIZED
def test_blocks_leave_room() -> None:
    """256 words and 512 bytes take no more blocks than 32 and 256 of an iCE40, 512 and 2,048 than 64 and 512 of a Gowin."""
    ice, tang = queues("icebreaker", (16, 32), 8, 1000), queues("tang-nano-9k", (32, 32), 16, 1000)
    assert ice.blocks(256, 256, 512) == ice.blocks(32, 32, 256) < ice.blocks(256, 256, 1024)
    assert tang.blocks(512, 512, 2048) == tang.blocks(64, 64, 512) < tang.blocks(512, 512, 4096)
    assert ice.grown((32, 32, 256), ice.now.blocks) == (256, 256, 512)
    assert tang.grown((64, 64, 512), tang.now.blocks) == (512, 512, 2048)


@SIZED
@pytest.mark.slow
@pytest.mark.parametrize(("board", "shape", "labels", "messages"), [
    ("icebreaker", (16, 32), 8, 4000), ("icebreaker", (16, 32), 8, 100), ("tang-nano-9k", (32, 32), 16, 9000)])
def test_what_is_chosen_is_near_the_best_of_all(board: str, shape: tuple[int, int], labels: int, messages: float) -> None:
    found = queues(board, shape, labels, messages)
    best = found.chosen(12)
    assert best.seconds < 0.9 * found.now.seconds
    every = found.enumerated(best.blocks)
    assert every.seconds <= best.seconds < 1.05 * every.seconds
    # A block more brings less than 1 %.
    more = found.shared(best.blocks + 1)
    assert more is not None
    assert found.of(*more).seconds > 0.985 * best.seconds


@SIZED
def test_less_than_the_least_is_nothing() -> None:
    found = queues("icebreaker", (16, 32), 8, 100)
    assert found.shared(0) is None
    assert found.shared(found.blocks(*found.least)) is not None
    assert BoardLink(words=16, log_bytes=64).words == found.least[0]


@SIZED
@pytest.mark.slow
def test_the_command_says_both(tmp_path) -> None:
    words = ["size-queues", "--board", "icebreaker", "--sites", "16x32", "--labels", "8", "--sweeps", "60", "--delay", "1ms"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].endswith("on icebreaker; 10 memory blocks for the link")
    assert lines[1].startswith("now: 64 words of requests, 64 of responses, 512 bytes of log, 5 blocks: 0.")
    assert any(line.startswith("link: 256 words of requests, 512 of responses") for line in lines)
    assert lines[-1].startswith("hubs: nothing to size (line_levels=0")
    found = json.loads(CliRunner().invoke(main, [*words, "--estimate", "mean", "--json"]).stdout)
    assert found["hubs"] is None
    assert found["chosen"]["seconds"] <= found["now"]["seconds"]
    refused = CliRunner().invoke(main, ["size-queues", "--board", "icebreaker", "--sites", "64x64", "--labels", "8"])
    assert refused.exit_code == 2
    assert len(refused.stderr.splitlines()) == 1


# -- hubs


NETWORKS = {
    "one hub": dict(mesh_rows=2, mesh_cols=2, hub_fan_in=4, hub_depth=1, line_bits=32),
    "two levels of four": dict(mesh_rows=3, mesh_cols=3, hub_fan_in=4, hub_depth=4, line_bits=64),
    "three levels of two": dict(mesh_rows=2, mesh_cols=4, hub_fan_in=2, hub_depth=2, line_bits=32),
    "a wide hub": dict(mesh_rows=3, mesh_cols=3, hub_fan_in=16, hub_depth=8, line_bits=128),
    "packers at the tiles": dict(mesh_rows=2, mesh_cols=3, hub_fan_in=4, line_levels=2, hub_depth=1, line_bits=32),
    "one level of lines of two": dict(mesh_rows=3, mesh_cols=3, hub_fan_in=4, line_levels=1, hub_depth=2, line_bits=64),
    "lines of one message": dict(mesh_rows=2, mesh_cols=2, hub_fan_in=2, line_levels=1, hub_depth=16, line_bits=32),
    "three levels of lines": dict(mesh_rows=3, mesh_cols=4, hub_fan_in=2, line_levels=3, hub_depth=1, line_bits=48),
}
SHORT = ("one hub", "one level of lines of two")


def hot(config: Config, labels: int) -> Problem:
    """A field that sends nearly a message for each label drawn."""
    c = Derived.of(config)
    shape = (c.mesh_rows * c.tile_rows, c.mesh_cols * c.tile_cols)
    return Problem(labels=labels, singleton1=np.zeros(shape, int), constants=np.arange(labels), schedule=Schedule.constant(90.0))


@REPLAYED
@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in SHORT else [pytest.mark.long]) for name in NETWORKS])
def test_replay_equals_compiled_machines(name: str) -> None:
    config = Config(spus=2, tile_rows=4, tile_cols=8, lmem_banks=4, label_bits=3, data_bits=4, counter_bits=1, address_bits=20,
                    **NETWORKS[name])
    run, stalls = Run(sweeps=30, burn_in=2, seed=3), 0
    with CompiledChip(config, quick=True) as chip:
        for labels in (2, 4):
            problem = hot(config, labels)
            found = replayed(config, problem, run)
            rtl = run_placed(chip, Placement(config, problem, run), patience=5_000_000)
            assert (found.cycles, found.stalls) == (rtl.cycles, rtl.stall_cycles)
            stalls += found.stalls
    assert stalls > 0


@REPLAYED
def test_the_smallest_network_that_does_not_wait() -> None:
    config = Config(mesh_rows=4, mesh_cols=4, tile_rows=4, tile_cols=8, label_bits=3, counter_bits=1, hub_depth=2, line_bits=256)
    problem = hot(config, 8)
    own, found = chosen_hubs(config, problem)
    assert own.lost > 10 * LOST
    assert found is not None
    assert found.lost < own.lost
    assert found.config.line_levels >= 1  # the root passes lines
    quiet = Problem(labels=2, singleton1=np.zeros((16, 32), int), constants=np.array([0, 60]), schedule=Schedule.constant(2.0))
    assert chosen_hubs(Config(mesh_rows=4, mesh_cols=4, tile_rows=4, tile_cols=8), quiet)[1] is None
