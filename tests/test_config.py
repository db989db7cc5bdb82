"""Config: limits, presets, derived numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.config import PRESETS, Config, ConfigError, mesh_shape


@pytest.mark.parametrize(("spes", "shape"), [(1, (1, 1)), (2, (1, 2)), (8, (2, 4)), (16, (4, 4)), (7, (1, 7)), (1024, (32, 32))])
def test_mesh_shape(spes, shape):
    assert mesh_shape(spes) == shape


@pytest.mark.parametrize(("change", "words"), [
    (dict(mesh_rows=0), ("mesh_rows is 0", "1 to 64")), (dict(spus=3), ("spus is 3", "1, 2, 4")),
    (dict(tile_cols=30, spus=4), ("tile_cols is 30", "multiple of 8", "give 32")),
    (dict(tile_rows=6, lmem_banks=4), ("tile_rows is 6", "multiple of 4", "give 8")),
    (dict(label_bits=7), ("label_bits is 7", "1 to 6")), (dict(sampler="x"), ("sampler is 'x'", "cdf, race")),
    (dict(address_bits=10), ("address_bits is 10", "need 16")), (dict(tile_rows=1024, tile_cols=128), ("65536", "more SPEs")),
    (dict(line_bits=32, counter_bits=16), ("line_bits is 32", "38 bits", "wider line")),
    (dict(line_bits=95), ("line_bits is 95", "whole bytes", "give 96")),
    (dict(mesh_rows=64, mesh_cols=64, tile_rows=256, tile_cols=256), ("34 bits", "limit is 30", "fewer SPEs")),
    (dict(spus=True), ("spus is True", "1, 2, 4")), (dict(tile_rows=2.5), ("tile_rows is 2.5", "whole number")),
    (dict(hub_fan_in=3), ("hub_fan_in is 3", "2, 4, 8, 16")),
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
    assert config.digest == Config(tile_rows=8).digest
    assert type(config.spus) is int


def test_unknown_preset_and_parameter():
    with pytest.raises(ConfigError, match="the presets are default, paper-16x1"):
        Config.preset("none")
    with pytest.raises(ConfigError, match="spe is not a parameter"):
        Config.from_dict({"spe": 1})


@pytest.mark.parametrize("name", PRESETS)
def test_presets_round_trip(name):
    config = Config.preset(name)
    again = Config.from_dict(config.to_dict())
    assert again == config
    assert again.digest == config.digest


def test_paper_presets_have_the_published_words():
    config = Config.preset("paper-16x2")
    assert (config.spes, config.spus, config.sites) == (16, 2, 256 * 1024)
    assert (config.message_bits, config.line_messages, config.energy_bits) == (32, 16, 8)  # Figure 3.9b, Section 3.3.4


def test_digest_follows_every_parameter():
    base = Config()
    other = {"sampler": "cdf", "probability_floor": "power_of_two", "lmem_banks": 4, "spus": 1, "hub_fan_in": 2, "address_bits": 20,
             "s2_words": 8192, "line_bits": 256}
    digests = {base.digest}
    for field in dataclasses.fields(Config):
        value = other.get(field.name, getattr(base, field.name))
        if field.name not in other:
            value = value + 4 if field.name in ("tile_rows", "tile_cols") else value - 1
        digests.add(dataclasses.replace(base, **{field.name: value}).digest)
    assert len(digests) == len(dataclasses.fields(Config)) + 1


def test_tables_against_their_definitions():
    config = Config(sampler="cdf")
    u = (np.arange(4096) + 0.5) / 4096
    assert np.abs(config.gumbel_table / 64 + np.log(-np.log(u))).max() <= 0.5 / 64 + 1e-12
    assert config.exponent_table[0] == config.probability_max
    assert config.exponent_table[-1] >= (config.probability_max + 1) // 2


@pytest.mark.parametrize("bits", range(2, 17))
def test_power_of_two_floor_before_the_shift_is_that_after_it(bits):
    whole, floored = (Config(sampler="cdf", probability_bits=bits, exponent_fraction_bits=8, probability_floor=floor).exponent_table
                      for floor in ("integer", "power_of_two"))
    for octaves in range(bits + 1):
        highest = [1 << (int(p) >> octaves).bit_length() - 1 if int(p) >> octaves else 0 for p in whole]
        assert (floored >> octaves).tolist() == highest


@pytest.mark.parametrize("sampler", ["cdf", "race"])
def test_reserve_covers_what_is_in_flight(sampler):
    """Every group that can be between its issue and the FIFO at the moment of a wish to stall has a place."""
    for banks in (1, 4):
        for spus in (1, 2, 4):
            config = Config(sampler=sampler, spus=spus, lmem_banks=banks)
            for labels in range(2, 65):
                span = (config.commit_delay(labels) + config.slot_to_tile + 3 + spus + 1 + config.tree_levels)
                groups = -(-span // config.interval(labels)) + 1
                assert config.log_reserve >= groups * spus
            assert config.log_depth > config.log_reserve
