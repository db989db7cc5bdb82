"""A register stage more in any part gives a machine that equals the model, cycles included, or is refused when it is made."""

from __future__ import annotations

import dataclasses
import gc
import re
import warnings

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import first_difference
from mrfhw.generation.verilog import verilog_text
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import Latency, LatencyError
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin.machine import solve

REGISTER_STAGE_MORE = pytest.mark.claim("latency",
    "a register stage more in any part, or in many at once, gives a machine that equals the model, stalls included, or is refused "
    "in one line when it is made")

RACE, CDF = Race(uniform_bits=8), Cdf(probability_bits=8, uniform_bits=12)
SHAPES = {
    "race": {"sampler": RACE, "spus": 1, "lmem_banks": 1, "tile_rows": 8, "tile_cols": 4, "hub_fan_in": 2},
    "cdf": {"sampler": CDF, "spus": 1, "lmem_banks": 4, "tile_rows": 8, "tile_cols": 4, "hub_fan_in": 4},
    "race-4-lanes": {"sampler": RACE, "spus": 4, "lmem_banks": 4, "tile_rows": 4, "tile_cols": 8, "hub_fan_in": 4},
    "race-shared": {"sampler": RACE, "spus": 1, "lanes": 2, "lmem_banks": 4, "tile_rows": 4, "tile_cols": 8, "hub_fan_in": 2},
    "race-subset": {"sampler": RACE, "spus": 1, "lanes": 2, "subset_slots": 2, "label_bits": 3, "lmem_banks": 4, "tile_rows": 4,
                    "tile_cols": 8, "hub_fan_in": 2},
    "race-subset-of-labels": {"sampler": RACE, "spus": 1, "subset_slots": 3, "label_bits": 3, "lmem_banks": 4, "tile_rows": 4,
                              "tile_cols": 8, "hub_fan_in": 2},
    "cdf-1-bank": {"sampler": CDF, "spus": 2, "lmem_banks": 1, "tile_rows": 4, "tile_cols": 8, "hub_fan_in": 2},
}
FIELDS = [field.name for field in dataclasses.fields(Latency)]
# Parts that cannot have another number of stages.
REFUSED = ("next_row", "log_fifo", "random_word", "race_compare", "cdf_start", "cdf_sum", "cdf_count", "bus_request")
SUBSET = ("choice", "slot_address", "race_weight")  # parts that machines with subsets have
SHARED = ("race_level", "label_group")  # parts that machines have whose lanes share a site
LONGER = [name for name in FIELDS if name not in REFUSED]
ALONE = ("s2_read", "race_level")  # lengthened one by one in every test run; the others together


def machine(shape: str, **stages: int) -> Config:
    """A mesh of four tiles whose log fills; `stages` registers more than declared by default."""
    plain = Latency.of_lanes(SHAPES[shape].get("lanes", 1), SHAPES[shape].get("subset_slots", 0))
    longer = dataclasses.replace(plain, **{name: getattr(plain, name) + more for name, more in stages.items()})
    small = {"label_bits": 2, "data_bits": 4, "energy_bits": 8, "weight_bits": 4, "vector_bits": 3, "counter_bits": 1,
             "temperature_table": 2, "hub_depth": 1, "line_bits": 64, "s2_words": 256}
    return Config(mesh_rows=2, mesh_cols=2, **small | SHAPES[shape]).with_latency(longer)


def problems(config: Config) -> list[Placement]:
    """One that needs words of all neighbours and whose coefficient changes, hot enough for stalls; one with constants."""
    rng = np.random.default_rng(3)
    shape = (2 * config.tile_rows, 2 * config.tile_cols)
    first = Problem(labels=4, singleton1=rng.integers(0, 16, shape), singleton2=rng.integers(0, 16, shape),
                    offsets=np.array([(0, 0), (-3, -3), (3, 2), (2, -3)]), alpha=1, beta=2, tau=3, out_of_range=9,
                    observed=rng.random(shape) < 0.9, schedule=Schedule.geometric(40.0, 0.6, 5.0))
    half = (config.tile_rows, shape[1])
    second = Problem(labels=3, singleton1=rng.integers(0, 16, half), constants=np.array([1, 7, 12]), doubleton="squared",
                     vectors=rng.integers(-4, 4, (3, 2)), beta=1, clamped=rng.random(half) < 0.2,
                     schedule=Schedule.of_table((30.0, 4.0), 1))
    return [Placement(config, first, Run(sweeps=3, burn_in=0, seed=6)), Placement(config, second, Run(sweeps=3, burn_in=1, seed=7))]


def check(config: Config) -> None:
    """Labels, histogram, LMem, messages, cycles, stalls and gaps."""
    with CompiledChip(config, quick=True) as chip:
        for p in problems(config):
            difference = first_difference(solve(config, p.problem, p.run), run_placed(chip, p, patience=100_000))
            assert difference is None, difference


@REGISTER_STAGE_MORE
@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_machines_do(shape: str) -> None:
    """The log stalls each of them, and colours overlap where the tile is high."""
    config = machine(shape)
    placements = problems(config)
    first = solve(config, placements[0].problem, placements[0].run)
    assert first.stall_cycles
    assert first.messages is not None
    assert len(first.messages) > 50
    assert any(p.overlap for p in placements) == (config.tile_rows == 8)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "lengthened" in metafunc.fixturenames:
        metafunc.parametrize("lengthened", LONGER if metafunc.config.getoption("--every-stage") else ALONE)


@pytest.mark.tools
@REGISTER_STAGE_MORE
def test_one_stage_more(lengthened: str) -> None:
    """A part's alone, on machines of either sampler in turn. Every part's: --every-stage."""
    name = lengthened
    shape = "race-subset" if name in SUBSET else "race-shared" if name in SHARED else name.split("_")[0].replace("gumbel", "race")
    check(machine(shape if shape in SHAPES else list(SHAPES)[FIELDS.index(name) % 2], **{name: 1}))


@pytest.mark.tools
@REGISTER_STAGE_MORE
@pytest.mark.parametrize(("shape", "more"), [
    pytest.param("race-4-lanes", (1,), marks=pytest.mark.long),
    pytest.param("race-subset-of-labels", (1,), marks=pytest.mark.long), pytest.param("race-shared", (1,), marks=pytest.mark.long),
    ("race-subset", (1,)),
    ("cdf-1-bank", (2, 0, 1))])
def test_stages_more_in_many_parts(shape: str, more: tuple[int, ...]) -> None:
    """In all parts at once, and in every other one."""
    stages = {name: more[i % len(more)] for i, name in enumerate(LONGER)}
    if shape in ("race-shared", "race-subset", "race-subset-of-labels"):
        stages["energy"] += 1  # the noise that it waits for passes four parts that are longer
    check(machine(shape, **stages))


def refusal(config: Config) -> str:
    """The message with which a machine is refused as it is made."""
    with pytest.raises(LatencyError) as caught:
        verilog_text(config)
    text = str(caught.value)
    # What was made of the machine goes here and now, with Amaranth's warnings that it was not used.
    del caught
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
    return text


@REGISTER_STAGE_MORE
@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_made(name: str) -> None:
    has = getattr(Latency(), name)
    text = refusal(machine("cdf" if name.startswith("cdf") else "race", **{name: 1}))
    assert re.fullmatch(rf"{name} is {has + 1}; .* has {has} register stages? and no other number: declare {has}", text)


@REGISTER_STAGE_MORE
@pytest.mark.parametrize("name", [name for name in LONGER if getattr(Latency(), name) > 1 and name not in (
    "tile_answer", "slot_address")])
def test_fewer_than_a_part_has(name: str) -> None:
    text = refusal(machine("cdf" if name.startswith("cdf") else "race", **{name: -1}))
    assert re.fullmatch(rf"{name} is \d; .* has \d register stages and cannot have fewer: declare \d or more", text)


@REGISTER_STAGE_MORE
def test_noise_may_take_as_long_as_an_energy() -> None:
    plain = machine("race").latency
    more, longer = plain.energy - plain.race_lead, plain.energy + 1
    assert verilog_text(machine("race", race_product=more))
    assert refusal(machine("race", race_product=more + 1)) == (
        f"energy is {plain.energy}; the race sampler draws its noise in {longer} cycles, in which a label's energy cannot be "
        f"known: declare {longer} or more")


@pytest.mark.parametrize(("name", "fewer", "line"), [
    ("choice", 1, "choice is 8; the choice of a subset has 9 register stages and cannot have fewer: declare 9 or more"),
    ("slot_address", 2, "slot_address is 2; a tile's way to singleton-2 addresses has 3 register stages and cannot have fewer: "
                        "declare 3 or more"),
    ("race_weight", 1, "race_weight is 0; the weight of a slot of a subset has 1 register stage and cannot have fewer: declare 1 "
                       "or more")])
def test_fewer_than_the_parts_of_subsets_have(name: str, fewer: int, line: str) -> None:
    assert refusal(machine("race-subset", **{name: -fewer})) == line


@pytest.mark.long
@pytest.mark.tools
def test_more_than_the_parts_of_subsets_have_time_for() -> None:
    line = "label_group + label_data is 9; the labels of a slot are wanted 8 cycles after it is chosen: declare 8 or less together"
    assert refusal(machine("race-subset", label_data=7)) == line
    check(machine("race-subset", label_data=6))


@pytest.mark.tools
def test_a_later_number_delays_the_choice_of_a_subset() -> None:
    line = "choice is 9; the choice of a subset has 11 register stages and cannot have fewer: declare 11 or more"
    assert refusal(machine("race-subset", random=2, energy=2)) == line
    check(machine("race-subset", random=2, energy=2, choice=2))


@pytest.mark.claim("ReachAddress",
    "tiles whose lanes share a site hold all that their labels reach, each lane's word is that of its pixel, and they have no "
    "switch")
@pytest.mark.parametrize("name", ["s2_columns", "s2_rows"])
def test_tiles_that_take_each_other_s_words_have_a_switch(name: str) -> None:
    text = refusal(machine("race", **{name: -1}))
    assert text == f"{name} is 0; the switch of singleton-2 words has 1 register stage and cannot have fewer: declare 1 or more"
    assert getattr(machine("race-shared").latency, name) == 0


@REGISTER_STAGE_MORE
@pytest.mark.parametrize(("stages", "words"), [
    ({"energy": 0}, "energy is 0; a part has a whole number of register stages, 1 or more: give 9"),
    ({"s2_read": 1.5}, r"s2_read is 1.5; a part has a whole number of register stages, 1 or more: give 1"),
    ({"swap": True}, "swap is True; a part has a whole number of register stages, 1 or more: give 1"),
])
def test_no_such_stages(stages: dict[str, int], words: str) -> None:
    with pytest.raises(LatencyError, match=f"^{words}$"):
        Latency(**stages)


@REGISTER_STAGE_MORE
@pytest.mark.parametrize(("shape", "stages", "words"), [
    ("race", {"race_product": 4, "random": 1}, "energy is 9; the race sampler draws its noise in 10 cycles, .* 10 or more"),
    ("cdf", {"cdf_sum_read": 3}, "cdf_sum_read is 4; .* in 3 cycles: declare no more"),
    ("cdf", {"random": 6}, "random is 8; the cdf sampler has 7 cycles for its uniform number: declare no more"),
    ("race", {"node_down": 30}, "scheduler is 3 and node_down is 31; .*: declare fewer"),
])
def test_stages_that_do_not_go_together(shape: str, stages: dict[str, int], words: str) -> None:
    assert re.fullmatch(words, refusal(machine(shape, **stages)))


@REGISTER_STAGE_MORE
def test_stages_are_part_of_the_identity() -> None:
    config, plain = machine("race", energy=1), machine("race")
    assert Config.from_dict(config.to_dict()) == config != plain
    assert "latency" not in plain.to_dict()
    assert Derived.of(config).spu_latency(4) == Derived.of(plain).spu_latency(4) + 1
