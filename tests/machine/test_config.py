"""Config: limits, presets, the space of parameters, derived numbers."""

from __future__ import annotations

import dataclasses
import json
import random

import numpy as np
import pytest

from mrfhw.machine.config import PRESETS, Config, ConfigError, mesh_shape
from mrfhw.machine.constraints import CONSTRAINTS
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import Latency
from mrfhw.machine.samplers import Cdf, Race

PRESETS_DERIVED = pytest.mark.claim(
    "Config", "presets, derived numbers, digest of every parameter, tables by their definitions")
PARAMETER_STATES = pytest.mark.claim("Config",
    "each parameter states its limits, points of the space are machines or refused in one line, the document's table is the code's")
PARAMETER_ANOTHER = pytest.mark.claim(
    "Config", "a parameter of another sampler cannot be given; a machine's numbers are equal to it")


@pytest.mark.parametrize(("spes", "shape"), [(1, (1, 1)), (2, (1, 2)), (8, (2, 4)), (16, (4, 4)), (7, (1, 7)), (1024, (32, 32))])
def test_mesh_shape(spes, shape):
    assert mesh_shape(spes) == shape


@pytest.mark.claim("generator", "a wrong parameter gives one line that names it, exit code 2 and no file")
@pytest.mark.parametrize(("change", "words"), [
    (dict(mesh_rows=0), ("mesh_rows is 0", "1 to 64")), (dict(spus=3), ("spus is 3", "1, 2, 4")),
    (dict(tile_cols=30, spus=4), ("tile_cols is 30", "multiple of 8", "give 32")),
    (dict(tile_rows=6, lmem_banks=4), ("tile_rows is 6", "multiple of 4", "give 8")),
    (dict(label_bits=9), ("label_bits is 9", "1 to 8")), (dict(sampler="x"), ("sampler is 'x'", "cdf, race")),
    (dict(address_bits=10), ("address_bits is 10", "need 16")), (dict(tile_rows=1024, tile_cols=128), ("65536", "more SPEs")),
    (dict(line_bits=32, counter_bits=16), ("line_bits is 32", "38 bits", "wider line")),
    (dict(line_bits=95), ("line_bits is 95", "whole bytes", "give 96")),
    (dict(mesh_rows=64, mesh_cols=64, tile_rows=256, tile_cols=256), ("35 bits", "limit is 30", "fewer SPEs")),
    (dict(spus=True), ("spus is True", "1, 2, 4")), (dict(tile_rows=2.5), ("tile_rows is 2.5", "whole number")),
    (dict(hub_fan_in=3), ("hub_fan_in is 3", "2, 4, 8, 16")), (dict(sampler=3), ("sampler is 3", "cdf, race")),
    (dict(sampler={"name": "race", "floor": "integer"}), ("floor is not a parameter of the race", "uniform_bits, fraction_bits")),
    (dict(sampler={"name": "cdf", "floor": "up"}), ("floor of the cdf sampler is 'up'", "power_of_two, integer")),
])
def test_wrong_parameter_is_named(change, words):
    with pytest.raises(ConfigError) as caught:
        Config(**change)
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text


@pytest.mark.parametrize("spes", [0, 67, 4097, 10**18 + 3])
def test_no_such_mesh(spes):
    with pytest.raises(ConfigError, match=f"spes is {spes}; .*: give a number"):
        mesh_shape(spes)


def test_numpy_integers_are_integers():
    config = Config(tile_rows=np.int64(8), spus=np.int64(2))
    assert Derived.of(config).digest == Derived(tile_rows=8).digest
    assert type(config.spus) is int
    assert type(Race(uniform_bits=np.int64(9)).uniform_bits) is int


def test_unknown_preset_and_parameter():
    with pytest.raises(ConfigError, match="the presets are default, matching, colour, paper-16x1"):
        Config.preset("none")
    with pytest.raises(ConfigError, match="spe is not a parameter"):
        Config.from_dict({"spe": 1})


@PRESETS_DERIVED
@pytest.mark.parametrize("name", PRESETS)
def test_presets_round_trip(name):
    config = Config.preset(name)
    again = Config.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert Derived.of(again).digest == Derived.of(config).digest


@PRESETS_DERIVED
def test_paper_presets_have_the_published_words():
    config = Derived.preset("paper-16x2")
    assert (config.spes, config.spus, config.sites) == (16, 2, 256 * 1024)
    assert (config.message_bits, config.line_messages, config.energy_bits) == (32, 16, 8)  # Figure 3.9b, Section 3.3.4


def other_value(parameter, config):
    """A value of a parameter that a machine like `config` may have, and that `config` does not have."""
    value = getattr(config.sampler if parameter.sampler else config, parameter.field)
    if parameter.name == "sampler":
        return "race" if value.name == "cdf" else "cdf"
    if parameter.choices:
        return next(choice for choice in parameter.choices if choice != value)
    return {"tile_rows": 68, "tile_cols": 68, "address_bits": 20, "s2_words": 8192,
            "line_bits": 256}.get(parameter.name, value - 1 if value else 1)


@PRESETS_DERIVED
def test_a_machine_of_one_cluster_is_described_as_before_there_were_several():
    """Its digest, its manifest and the key of its circuit stay those that were kept."""
    one, two = Derived(), Derived(clusters=2)
    assert "clusters" not in one.to_dict()
    assert two.to_dict() == one.to_dict() | {"clusters": 2}
    assert (Config.from_dict(two.to_dict()), two.cluster) == (two, one)
    assert Derived.preset("smallest").digest == "e422b0cc8b6d6606db042820d2c9f78ae8853e7ea4fe4ab1c1ea7234c292cb5f"
    stages = dataclasses.replace(one.latency, tables=one.latency.tables + 1)
    assert two.with_latency(stages).cluster.latency == stages
    assert (two.size, two.size_in_words) == ("2of16x2", "2 clusters of 16 SPEs x 2 SPUs")
    contexts = Derived(contexts=2)
    assert contexts.to_dict() == one.to_dict() | {"contexts": 2}
    assert (contexts.size, contexts.size_in_words) == ("16x2c2", "16 SPEs x 2 SPUs, 2 contexts")
    assert contexts.cluster == one == Derived.from_dict(one.to_dict())
    assert two.seats == contexts.seats == 2


@PRESETS_DERIVED
def test_digest_follows_every_parameter():
    for base in (Config(), Config(sampler="cdf")):
        digests = {Derived.of(base).digest}
        space = [p for p in Config.space() if p.sampler in ("", base.sampler.name)]
        space = [p for p in space if (p.name, base.sampler.name) not in (("lanes", "cdf"), ("subset_slots", "cdf"))]
        for parameter in space:
            more = {"data_bits_3": {"data_bits_2": 1}, "lanes": {"spus": 1},
                    "subset_slots": {"spus": 1, "lmem_banks": 4},
                    "doubletons": {"pairwise_bits": 1, "vector_bits": 0}}.get(parameter.name, {})
            digests.add(Derived.of(base.changed(**{parameter.name: other_value(parameter, base)}, **more)).digest)
        assert len(digests) == len(space) + 1


@PARAMETER_ANOTHER
def test_a_parameter_that_has_no_effect_is_none():
    """No two machines of one circuit differ: what a sampler does not have cannot be given."""
    assert Config(sampler="cdf") == Config(sampler=Cdf()) != Config(sampler=Race())
    with pytest.raises(ConfigError, match="probability_bits is given, a parameter of the cdf sampler, and the machine's sampler is "
                                          "race: give sampler cdf, or leave probability_bits out"):
        Config().changed(probability_bits=8)
    assert Config().changed(sampler="cdf", probability_bits=8) == Config(sampler=Cdf(probability_bits=8))
    with pytest.raises(TypeError, match="probability_bits"):
        Config(probability_bits=8)


def test_a_change_keeps_the_sampler_of_a_preset():
    paper, race = Config.preset("paper-16x2"), Config.preset("paper-16x2", sampler="race")
    assert Config.preset("paper-16x2", sampler="cdf") == paper.changed(sampler="cdf") == paper
    assert race.sampler == paper.changed(sampler="race").sampler == Race()
    assert paper.changed(probability_bits=12).sampler == Cdf(probability_bits=12, floor="power_of_two")


@PARAMETER_ANOTHER
def test_numbers_of_a_machine_are_it():
    config = Config(sampler="cdf", label_bits=4)
    numbers = Derived.of(config)
    assert Derived.of(numbers) is numbers
    assert Derived.of(Config(sampler=Cdf(), label_bits=4)) is numbers
    assert (numbers, hash(numbers)) == (config, hash(config))
    assert config == numbers != Config()
    assert isinstance(numbers, Config)
    assert numbers.to_dict() == config.to_dict()
    assert (numbers.max_labels, numbers.units) == (16, 32)


@PARAMETER_STATES
def test_every_parameter_states_its_limits():
    """At its limits a parameter is refused by those between parameters at most; one beyond them by its own line."""
    assert [p.name for p in Config.space() if p.sampler == ""] == [field.name for field in dataclasses.fields(Config)]
    for parameter in Config.space():
        base = Config(sampler=parameter.sampler or "race", tile_rows=4, tile_cols=4)
        inside = parameter.choices or (parameter.low, parameter.high)
        for value in inside:
            broken(base, {parameter.name: value})
        for value in ("none", 3) if parameter.choices else (parameter.low - 1, parameter.high + 1, 2.5, True, None):
            with pytest.raises(ConfigError, match=f"{parameter.field}.* is {value!r}"):
                base.changed(**{parameter.name: value})
        assert parameter.text.endswith(".")
        owner = type(base.sampler) if parameter.sampler else Config
        assert f"{parameter.field}: " in owner.__doc__


def broken(base, options):
    """The lines that the limits between parameters give; asserts that a machine is refused where there is one."""
    inner = {p.field: options[p.name] for p in Config.space() if p.sampler and p.name in options}
    sampler = dataclasses.replace(Config(sampler=options.get("sampler", base.sampler)).sampler, **inner)
    own = {p.name for p in Config.space() if p.sampler}
    values = {**vars(base), **{k: v for k, v in options.items() if k not in own}, "sampler": sampler}
    values["latency"] = Latency.of_lanes(values["lanes"], values["subset_slots"])
    numbers = Derived.unchecked(values)
    lines = [line for line in (constraint(numbers) for constraint in CONSTRAINTS) if line is not None]
    if lines:
        with pytest.raises(ConfigError) as caught:
            base.changed(**options)
        assert str(caught.value) == lines[0]
        assert "\n" not in lines[0]
    else:
        assert base.changed(**options) == numbers
    return lines


@pytest.mark.slow
@PARAMETER_STATES
def test_points_of_the_space_are_machines_or_refused_in_one_line():
    rng = random.Random(5)
    made, refused = 0, set()
    for _ in range(6000):
        sampler = rng.choice(("cdf", "race"))
        options = {"sampler": sampler}
        for p in Config.space():
            if p.name != "sampler" and p.sampler in ("", sampler):
                # Small values are as likely as large ones.
                high = min(p.high, p.low + (1 << rng.randint(0, 16))) if not p.choices else 0
                options[p.name] = rng.choice(p.choices) if p.choices else rng.randint(p.low, high)
        if rng.random() < 0.8:
            options.update(tile_rows=8 * rng.randint(1, 40), tile_cols=8 * rng.randint(1, 40), line_bits=8 * rng.randint(4, 64))
        if rng.random() < 0.5:
            options["address_bits"] = 0
        if rng.random() < 0.7:
            options["lanes"] = 1
        if rng.random() < 0.6:
            options["doubletons"] = "functions"
        if rng.random() < 0.6:
            options["line_levels"] = 0
        if rng.random() < 0.85:
            options["subset_slots"] = 0
        if rng.random() < 0.6:
            options["clusters"] = 1
        if rng.random() < 0.6:
            options["contexts"] = 1
        lines = broken(Config(), options)
        made += not lines
        refused |= {line.split(" is ")[0].split(" needs ")[0] for line in lines}
    assert made > 300
    assert refused == {"tile_rows", "tile_cols", "tile_rows x tile_cols", "address_bits", "line_bits", "the machine", "data_bits",
                       "data_bits_3", "data_bits + data_bits_2 + data_bits_3", "lanes", "subset_slots", "vector_bits", "doubletons",
                       "line_levels", "contexts"}


def test_a_gumbel_table_in_segments():
    """Each number has the entry of its leading ones and low bits: G in the middle of the numbers that the entry stands for."""
    race = Race(uniform_bits=14, segments=8)
    assert (len(race.gumbel_entries), race.gumbel_table.shape, race.place_bits) == (1024, (1 << 14,), 7)
    for u in (*range(0, 1 << 14, 37), (1 << 14) - 1, (1 << 14) - 2, 0x3F80, 0x3F7F, 0x1FFF, 0x2000):
        leading = f"{u >> 7:07b}".split("0")[0]
        low, high = 1 - 0.5 ** len(leading), 1 if len(leading) == 7 else 1 - 0.5 ** (len(leading) + 1)
        middle = low + (high - low) * ((u & 127) + 0.5) / 128
        assert abs(race.gumbel_table[u] / 64 + np.log(-np.log(middle))) <= 0.5 / 64 + 1e-12
    # As often as its segment is long.
    counts = np.unique([len(f"{u >> 7:07b}".split("0")[0]) for u in range(1 << 14)], return_counts=True)[1]
    assert counts.tolist() == [1 << 13 - n for n in range(7)] + [1 << 7]


@PRESETS_DERIVED
def test_tables_against_their_definitions():
    u = (np.arange(4096) + 0.5) / 4096
    assert np.abs(Race().gumbel_table / 64 + np.log(-np.log(u))).max() <= 0.5 / 64 + 1e-12
    cdf = Cdf()
    assert cdf.exponent_table[0] == cdf.probability_max
    assert cdf.exponent_table[-1] >= (cdf.probability_max + 1) // 2


@pytest.mark.parametrize("bits", range(2, 17))
def test_power_of_two_floor_before_the_shift_is_that_after_it(bits):
    whole, floored = (Cdf(probability_bits=bits, exponent_fraction_bits=8, floor=floor).exponent_table
                      for floor in ("integer", "power_of_two"))
    for octaves in range(bits + 1):
        highest = [1 << (int(p) >> octaves).bit_length() - 1 if int(p) >> octaves else 0 for p in whole]
        assert (floored >> octaves).tolist() == highest


@pytest.mark.claim("log", "a tile's FIFO has a place for every message that can still come when it asks for a stall")
@pytest.mark.parametrize("sampler", ["cdf", "race"])
def test_reserve_covers_what_is_in_flight(sampler):
    """Every group that can be between its issue and the FIFO at the moment of a wish to stall has a place."""
    for banks in (1, 4):
        for spus in (1, 2, 4):
            config = Derived(sampler=sampler, spus=spus, lmem_banks=banks)
            for labels in range(2, 65):
                stages, levels = config.latency, config.tree_levels
                span = config.commit_delay(labels) + stages.logged(levels) + stages.log_fifo + stages.stall_seen(levels) + spus
                groups = -(-span // config.interval(labels)) + 1
                assert config.log_reserve >= groups * spus
            assert config.log_depth > config.log_reserve
