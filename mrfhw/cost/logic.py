"""Logic of a machine without synthesis: a linear model of its cells, fitted to machines that were synthesized.

What synthesis makes is not yet what a device has: nextpnr packs look-up tables, carries and flip-flops into its cells, and an
adaptive logic module holds two small functions or a large one. Of families that are packed or counted so, what is taken is a linear
function of the three, fitted to machines that were (`python -m studies.logic_fit`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race

__all__ = ["GROUPS", "MODEL", "Logic", "features", "group_of", "lane_features", "logic_of"]

MODEL = Path(__file__).with_name("logic.json")
ALIKE = {"arria10": "cyclone5"}  # families with the logic of another, which Yosys does not synthesize


def features(config: Config) -> dict[str, float]:
    """What the number of cells is linear in, by name."""
    c = Derived.of(config)
    bits, race = ((c.sampler.gumbel_bits + c.sampler.uniform_bits, True) if isinstance(c.sampler, Race)
                  else (c.sampler.total_bits(c.label_bits), False))
    return {
        "one": 1, "tiles": c.spes, "lanes": c.all_lanes, "lanes x energy bits": c.all_lanes * c.energy_bits,
        "lanes x label bits": c.all_lanes * c.label_bits, "lanes x data bits": c.all_lanes * sum(c.channel_bits),
        "lanes x vector bits": c.all_lanes * c.vector_bits, "race lanes x bits": c.all_lanes * bits * race,
        "cdf lanes": c.all_lanes * (not race), "cdf lanes x bits": c.all_lanes * bits * (not race),
        "lanes x temperature bits": c.all_lanes * c.temperature_bits, "tiles of four banks": c.spes * (c.lmem_banks == 4),
        "lanes x edge bits": c.all_lanes * c.edge_bits, "lanes with a table": c.all_lanes * (c.pairwise_bits > 0),
        "tiles x message bits": c.spes * c.message_bits, "hubs x message bits": c.control_nodes * c.message_bits,
        "line bits": c.line_bits,
    }


def lane_features(config: Config) -> dict[str, float]:
    """The same of machines whose tiles hold their reach: with lanes that share a site, or with subsets of slots."""
    c = Derived.of(config)
    assert isinstance(c.sampler, Race)
    lanes, subsets, bits = c.all_lanes, c.spes * (c.subset_slots > 0), sum(c.channel_bits)
    return {
        "one": 1, "tiles": c.spes, "lanes": lanes, "lanes x energy bits": lanes * c.energy_bits,
        "lanes x label bits": lanes * c.label_bits, "lanes x data bits": lanes * bits, "lanes x vector bits": lanes * c.vector_bits,
        "lanes x noise bits": lanes * (c.sampler.gumbel_bits + c.sampler.uniform_bits),
        "lanes x temperature bits": lanes * c.temperature_bits, "lanes x edge bits": lanes * c.edge_bits,
        "tiles x data bits": c.spes * bits, "tiles x lanes x lanes x data bits": lanes * c.lanes * bits,
        "tiles of subsets": subsets, "slots of subsets x label bits": subsets * c.subset_slots * c.label_bits,
        "tiles x message bits": c.spes * c.message_bits, "line bits": c.line_bits,
    }


GROUPS = {"plain": features, "lanes": lane_features}


def group_of(config: Config) -> str:
    """Of the machines whose logic is alike: those of one of `GROUPS`."""
    return "lanes" if Derived.of(config).holds_reach else "plain"


@dataclass(frozen=True)
class Logic:
    """Logic that a machine is estimated to take.

    cells: by kind: look-up tables (lut), flip-flops (ff), carries (carry); and units of the family's logic (logic), where it is
        known how the three are packed into them.
    median_error: of machines that the model had not seen, as a share.
    largest_error: likewise.
    """

    cells: dict[str, int]
    median_error: float
    largest_error: float


@cache
def _model() -> dict[str, Any]:
    return dict(json.loads(MODEL.read_text()))


@cache
def _coefficients(group: str, family: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Kinds of cells, and of each the coefficients of the features."""
    kinds = _model()["groups"][group]["families"][family]["kinds"]
    return tuple(kinds), np.array([kinds[kind]["coefficients"] for kind in kinds])


def logic_of(config: Config, family: str) -> Logic:
    """The machine's logic on a family of boards, without link and ports around it.

    Of several clusters: as many times one's. What joins them is less than the model's error. Of several contexts: one's, as no
    machine with them is among those that the model was fitted to.
    """
    group, family = group_of(config), ALIKE.get(family, family)
    found = _model()["groups"][group]["families"][family]
    kinds, coefficients = _coefficients(group, family)
    cells = dict(zip(kinds, map(float, coefficients @ np.array(list(GROUPS[group](config).values()), float)), strict=True))
    errors = found["kinds"]["lut"]
    if "logic" in found:
        cells["logic"] = sum(of * cells[kind] for kind, of in _model()["packing"][family].items())
        errors = found["logic"]
    of_all = {kind: round(config.clusters * number) for kind, number in cells.items()}
    return Logic(of_all, errors["median_error"], errors["largest_error"])
