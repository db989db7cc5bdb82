"""The model of a machine's logic (`mrfhw.cost.logic`), fitted to machines that were synthesized.

    python -m studies.logic_fit --measure 20             # synthesize so many more random machines for each family (minutes each)
    python -m studies.logic_fit --measure 20 --lanes     # of lanes that share a site
    python -m studies.logic_fit                          # fit, print the errors, and write logic.json
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.cost.logic import GROUPS, MEMORIES, MODEL, group_of, link_terms, made_of_logic
from mrfhw.fpga.tools import find_tool
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.system.progress import working
from mrfhw.tuning.points import Point, add_point, points_of
from studies.synthesis import COUNTED, PACKERS, SCRIPTS, packed, synthesized

__all__ = ["EXAMPLES", "fit", "machines", "whole_boards"]

KINDS = ("lut", "ff", "carry")
PACKED = (*KINDS, "memories")  # of which a device's units of logic are made
WHOLE_WEIGHT = 4.0  # of a whole board, by the errors of those left out; machines alone were synthesized of earlier circuits
LEAST_MACHINES = 12  # of a family and group, from which a model is made
EXAMPLES = {"plain": Config(), "lanes": Config.preset("census")}


def _random_of_lanes(rng: np.random.Generator) -> Config:
    """A machine whose lanes share a site, or which draws from subsets, of a tile or two."""
    while True:
        lanes = int(rng.choice([1, 2, 2, 4, 4, 8, 16]))
        label_bits = int(rng.integers(max(4, (lanes - 1).bit_length()), 8))
        changes: dict[str, Any] = dict(
            mesh_rows=1, mesh_cols=int(rng.choice([1, 1, 1, 2])), spus=1, lanes=lanes, lmem_banks=4,
            tile_rows=int(rng.choice([16, 32, 64])), tile_cols=int(rng.choice([32, 64])), label_bits=label_bits,
            data_bits=int(rng.integers(4, 13)), energy_bits=int(rng.integers(8, 15)), weight_bits=int(rng.integers(3, 9)),
            vector_bits=int(rng.choice([0, 0, 3, 4])), temperature_bits=int(rng.integers(12, 21)),
            counter_bits=int(rng.integers(4, 11)), line_bits=int(rng.choice([64, 128, 256])),
            distance=str(rng.choice(["difference", "both", "hamming", "hamming"])), singleton_cap=int(rng.integers(0, 2)),
            edge_bits=int(rng.choice([0, 0, 2, 3])), shift_bits=int(rng.choice([0, 4])),
            sampler=Race(uniform_bits=14, segments=8) if rng.random() < 0.7 else Race(uniform_bits=int(rng.integers(8, 13))))
        if lanes == 1 or rng.random() < 0.3:
            changes["subset_slots"] = int(rng.integers(2, 7))
        try:
            return Config(**changes)
        except ConfigError:
            continue


def _random(rng: np.random.Generator) -> Config:
    """A machine whose synthesis takes minutes at most."""
    while True:
        changes: dict[str, Any] = dict(
            mesh_rows=1, mesh_cols=int(rng.choice([1, 1, 1, 1, 2])), spus=int(rng.choice([1, 1, 2])),
            tile_rows=int(rng.choice([16, 32])), tile_cols=int(rng.choice([16, 32])), label_bits=int(rng.integers(3, 9)),
            data_bits=int(rng.integers(4, 9)), energy_bits=int(rng.integers(8, 15)), weight_bits=int(rng.integers(3, 9)),
            vector_bits=int(rng.integers(2, 6)), temperature_bits=int(rng.integers(12, 21)),
            counter_bits=int(rng.integers(4, 11)), lmem_banks=int(rng.choice([1, 1, 4])),
            line_bits=int(rng.choice([64, 128, 256, 512])), hub_depth=int(rng.choice([1, 4])),
            distance=str(rng.choice(["difference", "difference", "both", "hamming"])),
            singleton_cap=int(rng.integers(0, 2)), edge_bits=int(rng.choice([0, 0, 2, 3])), data_bits_2=int(rng.choice([0, 0, 6])),
            temperature_table=int(rng.choice([2, 256])),
            sampler=(Race(uniform_bits=int(rng.integers(8, 13))) if rng.random() < 0.65
                     else Cdf(uniform_bits=int(rng.integers(10, 17)))))
        if changes["label_bits"] <= 4 and rng.random() < 0.5:
            changes["pairwise_bits"] = 4
        try:
            return Config(**changes)
        except ConfigError:
            continue


def _measure(number: int, seed: int, families: tuple[str, ...], lanes: bool) -> None:
    from mrfhw.generation.verilog import TOP, verilog_text

    rng = np.random.default_rng(seed)
    for n in range(number):
        config = _random_of_lanes(rng) if lanes else _random(rng)
        for family in families:
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                cells = (packed if family in (*PACKERS, *COUNTED) else synthesized)(verilog_text(config), TOP, family, Path(folder))
            used = ("yosys", *(PACKERS[family][:1] if family in PACKERS else ()))
            tools = {tool.name: tool.version for tool in map(find_tool, used)}
            add_point(Point("synthesized", family, config.to_dict(), circuit=circuit_digest(config), interface=INTERFACE_VERSION,
                            tools=tools, cells=cells, seconds=round(time.monotonic() - began, 1)))
            click.echo(f"{n + 1}/{number} {family} {config.mesh_rows * config.mesh_cols}x{config.spus}x{config.lanes}: {cells}")


def _fitted(samples: list[_Sample], rows: np.ndarray, kind: str) -> np.ndarray:
    """Coefficients of at least 0 with the least sum of squared relative errors of a kind of cells. rows: what it is linear in."""
    from scipy.optimize import nnls

    scale, cells = rows.max(0).clip(1e-9), np.array([one.cells[kind] for one in samples], float)
    weights = np.array([one.weight for one in samples])
    found, _ = nnls(rows / scale / cells[:, None] * weights[:, None], weights)
    return np.asarray(found / scale)


@dataclass(frozen=True)
class _Sample:
    """A machine that was synthesized for a family, alone or with a board's link around it."""

    family: str
    group: str
    row: np.ndarray  # the features of each group, zero but for those of its own; what is made of logic; the link around it
    cells: dict[str, int]
    weight: float

    @classmethod
    def of(cls, one: Point) -> _Sample:
        config = one.config
        group = group_of(config)
        row = [value for name, of in GROUPS.items() for value in (of(config).values() if name == group else [0] * _places(name))]
        small = made_of_logic(config, one.family)
        cells = one.cells | {"memories": round(small[MEMORIES])} | ({} if one.logic is None else {"logic": one.logic})
        row += [*small.values(), *link_terms(one.options if one.board else None).values()]
        return cls(one.family, group, np.array(row, float), cells, WHOLE_WEIGHT if one.board else 1.0)


def _places(group: str) -> int:
    return len(GROUPS[group](EXAMPLES[group]))


def _errors(found: np.ndarray, true: np.ndarray) -> dict[str, float]:
    errors = np.abs(found / true - 1)
    return {"median_error": round(float(np.median(errors)), 4), "largest_error": round(float(errors.max()), 4)}


def _packing(samples: list[_Sample]) -> np.ndarray:
    """Coefficients of PACKED whose sum is what a device has."""
    return _fitted(samples, np.array([[one.cells[kind] for kind in PACKED] for one in samples], float), "logic")


def _without(samples: list[_Sample], n: int, kind: str) -> float:
    """The number of cells of a kind of sample n by a model that was fitted to the others."""
    others = samples[:n] + samples[n + 1:]
    return float(_fitted(others, np.array([one.row for one in others]), kind) @ samples[n].row)


def _fit_family(samples: list[_Sample]) -> dict[str, Any]:
    """The model of one family's machines: how kinds are packed, the cells of a link, and by group those of a machine."""
    rows = np.array([one.row for one in samples])
    kinds = [kind for kind in KINDS if all(one.cells[kind] for one in samples)]
    packed_ones = [one for one in samples if "logic" in one.cells]
    alone = {kind: np.array([_without(samples, n, kind) for n in range(len(samples))]) for kind in kinds}
    found = {kind: _fitted(samples, rows, kind) for kind in kinds}
    end = sum(map(_places, GROUPS))
    made = end + len(made_of_logic(EXAMPLES["plain"], "ecp5"))
    model: dict[str, Any] = {"packing": None, "made of logic": {kind: _rounded(found[kind][end:made]) for kind in kinds},
                             "link": {kind: _rounded(found[kind][made:]) for kind in kinds}, "groups": {}}
    if packed_ones:
        model["packing"] = dict(zip(PACKED, _rounded(_packing(packed_ones)), strict=True))
    place = 0
    for group in GROUPS:
        own = [n for n, one in enumerate(samples) if one.group == group]
        cells = {kind: np.array([samples[n].cells[kind] for n in own], float) for kind in kinds}
        if len(own) >= LEAST_MACHINES:
            of_group = model["groups"][group] = {"machines": len(own), "kinds": {kind: {
                "coefficients": _rounded(found[kind][place:place + _places(group)]), **_errors(alone[kind][own], cells[kind])}
                for kind in kinds}}
            # Of machines that neither of the two models was fitted to.
            tried = [n for n in own if "logic" in samples[n].cells]
            if tried:
                others = [[other for other in packed_ones if other is not samples[n]] for n in tried]
                guessed = np.array([_packing(of) @ [*(alone[kind][n] for kind in KINDS), samples[n].cells["memories"]]
                                    for of, n in zip(others, tried, strict=True)])
                true = np.array([samples[n].cells["logic"] for n in tried], float)
                of_group["logic"] = {"machines": len(tried), **_errors(guessed, true)}
        place += _places(group)
    return model


def _rounded(coefficients: np.ndarray) -> list[float]:
    return [round(float(c), 3) for c in coefficients]


def machines() -> list[Point]:
    """The machines that were synthesized alone, of the families that are fitted."""
    return [one for one in _points() if one.board is None]


def whole_boards() -> list[Point]:
    """Those with a link around them, but for what is held back to judge estimates and searches by."""
    return [one for one in _points() if one.board is not None and one.fitted]


def _points() -> list[Point]:
    return [one for family in SCRIPTS for one in points_of(families=[family]) if one.truth == "synthesized" and not one.failure]


def fit(held: list[Point]) -> dict[str, Any]:
    """The model of machines that were synthesized: by group the features, and by family of each kind the coefficients and their
    errors, those of what is made of logic, the cells of a link, and how the kinds are packed."""
    samples = [_Sample.of(one) for one in held]
    return {"features": {group: list(of(EXAMPLES[group])) for group, of in GROUPS.items()},
            "families": {family: _fit_family(own) for family in SCRIPTS
                         if (own := [one for one in samples if one.family == family])}}


@click.command()
@click.option("--measure", "number", type=int, default=0, metavar="N", help="Synthesize N random machines more for each family.")
@click.option("--lanes", is_flag=True, help="Machines whose lanes share a site, or with subsets of slots.")
@click.option("--seed", type=int, default=1, help="Of the random machines.")
@click.option("--family", "families", multiple=True, type=click.Choice(list(SCRIPTS)), default=tuple(SCRIPTS))
def main(number: int, lanes: bool, seed: int, families: tuple[str, ...]) -> None:
    """Fit the model of logic to the machines that were synthesized, and print its errors."""
    if number:
        _measure(number, seed, families, lanes)
    with working("fitting"):
        model = fit([*machines(), *whole_boards()])
    MODEL.write_text(json.dumps(model, indent=1) + "\n")
    for family, of_family in model["families"].items():
        for group, found in of_family["groups"].items():
            for kind, of in {**found["kinds"], **({"logic": found["logic"]} if "logic" in found else {})}.items():
                number = of.get("machines", found["machines"])
                click.echo(f"{group} {family} {kind}: {number} machines, left out one by one: median error "
                           f"{of['median_error']:.1%}, largest {of['largest_error']:.1%}")


if __name__ == "__main__":
    main()
