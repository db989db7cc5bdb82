"""Logic of a machine without synthesis: a linear model of its cells, fitted to machines that were synthesized.

What synthesis makes is not yet what a device has: nextpnr packs look-up tables, carries and flip-flops into its cells, and an
adaptive logic module holds two small functions or a large one. Of families that are packed or counted so, what is taken is a linear
function of the three, fitted to machines that were (`python -m studies.logic_fit`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.cost.estimate import memories, multipliers
from mrfhw.cost.families import FAMILIES
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race

__all__ = ["GROUPS", "MEMORIES", "MODEL", "Logic", "features", "group_of", "lane_features", "link_cells",
           "link_terms", "logic_of", "made_of_logic"]

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


MEMORIES = "bits of small memories"


def made_of_logic(config: Config, family: str) -> dict[str, float]:
    """Bits of memories and of products that are too small for the family's blocks, by name, of one cluster; of memories as
    `Blocks.logic_cost` has them."""
    blocks = FAMILIES[family]
    small = [one for one in memories(config) if not blocks.count(one)]
    memory = sum(one.count * blocks.logic_cost(one) for one in small)
    read = sum(one.count * one.reads * blocks.logic_cost(one) for one in small)
    products = sum(count * a * b for count, a, b in multipliers(config).values() if min(a, b) > 1 and not blocks.multiplies(a, b))
    return {MEMORIES: memory / config.clusters, "bits of small memories, each time they are read":
            read / config.clusters, "bits of small products": products / config.clusters}


def link_terms(options: Mapping[str, Any] | None) -> dict[str, float]:
    """What the cells of a board's serial link are linear in, by name: one, doublings of its memories' words, and whether it has
    several requests outstanding. options: words and outstanding, as points have them; None: there is no link."""
    found = (1, math.log2(options["words"]), options["outstanding"] > 1) if options else (0, 0, 0)
    return dict(zip(("link", "doublings of its words", "several outstanding"), found, strict=True))


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
    return dict(json.loads(MODEL.read_text())["families"])


@cache
def _coefficients(group: str, family: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Kinds of cells, and of each the coefficients of the group's features and of what is made of logic."""
    of_family = _model()[family]
    kinds = of_family["groups"][group]["kinds"]
    return tuple(kinds), np.array([[*kinds[kind]["coefficients"], *of_family["made of logic"][kind]] for kind in kinds])


def logic_of(config: Config, family: str) -> Logic:
    """The machine's logic on a family of boards, without link and ports around it.

    Of several clusters: as many times one's. What joins them is less than the model's error. Of several contexts: one's, as no
    machine with them is among those that the model was fitted to.
    """
    group, family = group_of(config), ALIKE.get(family, family)
    found = _model()[family]["groups"][group]
    kinds, coefficients = _coefficients(group, family)
    small = made_of_logic(config, family)
    row = np.array([*GROUPS[group](config).values(), *small.values()], float)
    cells = dict(zip(kinds, map(float, coefficients @ row), strict=True))
    errors = found["kinds"]["lut"]
    if _model()[family]["packing"]:
        cells["logic"] = _packed(cells | {"memories": small[MEMORIES]}, family)
        errors = found.get("logic", errors)
    of_all = {kind: round(config.clusters * number) for kind, number in cells.items()}
    return Logic(of_all, errors["median_error"], errors["largest_error"])


def _packed(cells: Mapping[str, float], family: str) -> float:
    """Units of the family's logic, which look-up tables that are memories take as well. cells: those known by kind."""
    return sum(float(of) * cells[kind] for kind, of in _model()[family]["packing"].items() if kind in cells)


def link_cells(family: str, words: int, outstanding: int) -> float | None:
    """Units of logic of a serial link, None of a family of which no board with one was synthesized."""
    family = ALIKE.get(family, family)
    of = list(link_terms({"words": words, "outstanding": outstanding}).values())
    kinds = {kind: float(np.dot(coefficients, of)) for kind, coefficients in _model()[family]["link"].items()}
    return _packed(kinds, family) if _model()[family]["packing"] and any(kinds.values()) else None
