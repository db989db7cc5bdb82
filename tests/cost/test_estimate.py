"""What a machine takes without synthesis: equal to the circuit's own memories and products, and to the model's cycles."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from amaranth import Shape
from amaranth.back import rtlil
from amaranth.hdl import Fragment
from amaranth.hdl._mem import MemoryInstance
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import DEVICES
from mrfhw.cost.links import BoardLink
from mrfhw.cost.picture import PictureTime
from mrfhw.cost.rates import Workload
from mrfhw.field.problem import Problem, Run
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.gateware.tile.subset_choice import SubsetChoice
from mrfhw.gateware.unit.spu import Spu
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.samplers import Race
from mrfhw.twin import machine
from mrfhw.twin.log_timing import LogTiming
from studies.baseline import BASELINES
from support.random_problems import random_config, random_placement

MEMORIES_PRODUCTS = pytest.mark.claim(
    "Estimate", "memories and products are those of the circuit, cycles those of the model where the log does not stall")


def memories_of(fragment):
    """(depth, width) of every memory in an elaborated design."""
    if isinstance(fragment, MemoryInstance):
        yield fragment._data.depth, Shape.cast(fragment._data.shape).width
    for part, *_ in fragment.subfragments:
        yield from memories_of(part)


MACHINES = {
    "smallest": Config.preset("smallest"),
    "race": Config(mesh_rows=2, mesh_cols=3, tile_rows=8, tile_cols=12, hub_fan_in=2, label_bits=4),
    "any field": Config.preset("smallest", distance="both", data_bits=8, data_bits_2=5, edge_bits=3, pairwise_bits=3, label_bits=4),
    "lanes": Config(mesh_rows=1, mesh_cols=3, spus=1, lanes=4, tile_rows=8, tile_cols=8, lmem_banks=4, edge_bits=2, weight_bits=4,
                    pairwise_bits=3, label_bits=4, sampler=Race(uniform_bits=14, segments=8)),
    "lanes without vectors": Config(mesh_rows=1, mesh_cols=1, spus=1, lanes=8, tile_rows=8, tile_cols=16,
                                    vector_bits=0, shift_bits=0,
                                    distance="hamming", data_bits=12),
    "one lane, subsets": Config(mesh_rows=1, mesh_cols=2, spus=1, subset_slots=5, tile_rows=8, tile_cols=8, lmem_banks=4),
    "subsets": Config(mesh_rows=1, mesh_cols=3, spus=1, lanes=4, subset_slots=3, tile_rows=8, tile_cols=8, lmem_banks=4),
    "cdf": Config(mesh_rows=1, mesh_cols=5, spus=4, tile_rows=8, tile_cols=16, lmem_banks=4, sampler="cdf", s2_words=97),
    "contexts": Config(mesh_rows=1, mesh_cols=3, spus=1, lanes=4, tile_rows=8, tile_cols=16, label_bits=4, lmem_banks=4, contexts=2,
                       edge_bits=2, pairwise_bits=3, subset_slots=3),
    "clusters": Config(mesh_rows=1, mesh_cols=2, tile_rows=8, tile_cols=8, label_bits=4, clusters=4),
}


@pytest.mark.slow
@MEMORIES_PRODUCTS
@pytest.mark.parametrize("name", MACHINES)
def test_memories_are_those_of_the_circuit(name):
    found = Counter()
    for memory in Cost.of(MACHINES[name]).memories:
        found[memory.depth, memory.width] += memory.count
    assert found == Counter(memories_of(Fragment.get(Accelerator(MACHINES[name]), None)))
    bits = sum(depth * width * count for (depth, width), count in found.items())
    assert sum(Cost.of(MACHINES[name]).memory_bits.values()) == bits


@MEMORIES_PRODUCTS
@pytest.mark.parametrize("name", MACHINES)
def test_multipliers_are_those_of_the_circuit(name):
    config = dataclasses.replace(MACHINES[name], mesh_rows=1, mesh_cols=1, spus=1, clusters=1)
    units = [Spu(config), *([SubsetChoice(config)] if config.subset_slots else [])]
    found = sum(rtlil.convert(unit).count("cell $mul ") for unit in units)
    assert found == sum(of[0] for of in Cost.of(config).multipliers.values())


def test_logic_is_that_of_one_context_and_said_to_be():
    given = ["estimate", "--machine", "smallest", "--device", "LFE5U-85F"]
    said = [CliRunner().invoke(main, [*given, *more]).output for more in ([], ["--set", "contexts=2"])]
    assert ["the logic of one context" in text for text in said] == [False, True]


def test_clusters_take_as_many_times_what_one_takes():
    """Lanes x clock, logic and multipliers; a picture's two chains are sampled side by side."""
    several = MACHINES["clusters"]
    found, one = (Cost.of(config, device=DEVICES["LFE5U-85F"]) for config in (several, several.cluster))
    assert found.multipliers == {use: (4 * count, a, b) for use, (count, a, b) in one.multipliers.items()}
    assert found.needs.logic.cells["lut"] == pytest.approx(4 * one.needs.logic.cells["lut"], abs=4)
    work, link = Workload(8, 16, 16, 0.9, 0.1, 16), BoardLink()
    rates = [Cost.of(config, link=link, clock_hz=1e8, work=work).rate.labels_per_s for config in (several, several.cluster)]
    assert rates[0] == 4 * rates[1]
    large = Config.preset("census")
    times = [PictureTime.of(config, 1e8, BoardLink(), None) for config in (large, large.changed(clusters=2))]
    assert times[0].machine_s == times[1].machine_s
    assert times[0].loading_s == times[1].loading_s
    assert times[1].seconds == max(times[0].seconds / 2, times[0].loading_s + times[0].reading_s) < times[0].seconds


def test_the_smallest_machine_takes_the_blocks_of_its_baseline():
    """Where no product is wider than a block, one block each."""
    cells = json.loads(BASELINES.read_text())["machines"]["ulx3s-85f"]
    assert cells["dsp"] == sum(of[0] for of in Cost.of(Config.preset("smallest")).multipliers.values())


@MEMORIES_PRODUCTS
def test_cycles_are_the_model_s_where_the_log_does_not_stall():
    compared = 0
    for number in range(20):
        rng = np.random.default_rng([number, 1])
        config = random_config(rng)
        for _ in range(5):
            p = random_placement(rng, config)
            found = machine.solve(config, p.problem, p.run)
            wanted = Cost.of(config, p.problem, run=p.run).cycles
            if found.stall_cycles == 0:
                assert wanted.running == found.cycles
                compared += 1
            else:
                assert wanted.running < found.cycles
    assert compared > 20


@pytest.mark.parametrize("flushed", [False, True])
def test_cycles_of_sweeps_are_those_of_the_timetable(flushed):
    """Of any number of sweeps, also where the pipeline is emptied after each colour, as no machine does."""
    overlapping = 0
    for number in range(30):
        rng = np.random.default_rng([number, 2])
        p = random_placement(rng, random_config(rng))
        timing, cycles = LogTiming(p.config, p), Cost.of(p.config, p.problem, run=p.run).cycles
        overlapping += timing.overlap
        timing.overlap = timing.overlap and not flushed
        for _ in range(2 * (number + 1)):
            timing.colour(np.zeros((p.order.turns, p.config.units), np.uint8), False)
        timing.finish()
        assert cycles.of_sweeps(number + 1, flushed) == timing.cycles
    assert 0 < overlapping < 30


def test_what_is_not_known_is_asked_for():
    cost = Cost.of(Config.preset("smallest"))
    for name, words in (("cycles", "give one"), ("needs", "give one"), ("rate", "give clock_hz, work and link")):
        with pytest.raises(ValueError, match=words):
            getattr(cost, name)


def test_the_command(tmp_path):
    arguments = ["estimate", "--preset", "smallest", "--rows", "10", "--cols", "12", "--labels", "5", "--sweeps", "7"]
    result = CliRunner().invoke(main, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    problem = Problem(labels=5, singleton1=np.zeros((10, 12), int), constants=np.zeros(5, int))
    cost = Cost.of(Config.preset("smallest"), problem, run=Run(sweeps=7))
    assert found["cycles"] == {name: getattr(cost.cycles, name) for name in ("running", "loading", "reading")}
    assert found["memory_bits"] == cost.memory_bits
    printed = CliRunner().invoke(main, arguments)
    assert f"{found['cycles']['running']} cycles without stalls" in printed.stdout
    for wrong, words in ((["--rows", "0"], "the grid is 0x12"), (["--labels", "65"], "labels is 65"),
                         (["--sweeps", "0"], "sweeps is 0")):
        refused = CliRunner().invoke(main, [*arguments, *wrong])
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert words in refused.stderr


@pytest.mark.parametrize(("device", "mesh"), [("iCE40UP5K", "1x1, 1 lane"), ("LFE5U-85F", "2x17, 34 lanes")])
def test_the_largest_mesh(device, mesh):
    result = CliRunner().invoke(main, ["estimate", "--preset", "smallest", "--device", device])
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"largest mesh of these tiles: {mesh}\n")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_estimated(preset):
    """The field that is taken where none is given fits whatever machine."""
    result = CliRunner().invoke(main, ["estimate", "--preset", preset, "--rows", "8", "--cols", "8"])
    assert result.exit_code == 0, result.output
