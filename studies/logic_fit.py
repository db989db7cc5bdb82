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

from mrfhw.cost.logic import GROUPS, MODEL, group_of
from mrfhw.fpga.tools import find_tool
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.system.progress import working
from mrfhw.tuning.points import Point, add_point, points_of
from studies.synthesis import COUNTED, PACKERS, SCRIPTS, packed, synthesized

__all__ = ["EXAMPLES", "fit", "machines"]

KINDS = ("lut", "ff", "carry")
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


def _fitted(rows: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Coefficients of at least 0 with the least sum of squared relative errors."""
    from scipy.optimize import nnls

    scale = rows.max(0).clip(1e-9)
    found, _ = nnls(rows / scale / cells[:, None], np.ones(len(cells)))
    return np.asarray(found / scale)


@dataclass(frozen=True)
class _Sample:
    """A machine that was synthesized for a family."""

    family: str
    group: str
    row: np.ndarray  # of the features of its group
    cells: dict[str, int]

    @classmethod
    def of(cls, one: Point) -> _Sample:
        config = one.config
        group = group_of(config)
        return cls(one.family, group, np.array(list(GROUPS[group](config).values()), float), one.cells)

    def kinds(self, names: tuple[str, ...] = KINDS) -> np.ndarray:
        return np.array([self.cells[kind] for kind in names], float)


def _errors(found: np.ndarray, true: np.ndarray) -> dict[str, float]:
    errors = np.abs(found / true - 1)
    return {"median_error": round(float(np.median(errors)), 4), "largest_error": round(float(errors.max()), 4)}


def _packing(samples: list[_Sample]) -> np.ndarray:
    """Coefficients of the KINDS whose sum is what a device has."""
    return _fitted(np.array([one.kinds() for one in samples]), np.array([one.cells["logic"] for one in samples], float))


def _without(samples: list[_Sample], n: int, kind: str) -> float:
    """The number of cells of a kind of sample n by a model that was fitted to the others."""
    others = samples[:n] + samples[n + 1:]
    coefficients = _fitted(np.array([one.row for one in others]), np.array([one.cells[kind] for one in others], float))
    return float(coefficients @ samples[n].row)


def _fit_group(samples: list[_Sample], packed_ones: list[_Sample]) -> dict[str, Any]:
    """The model of one family's machines of one group. packed_ones: of the family, whose logic is known as the device has it."""
    rows = np.array([one.row for one in samples])
    kinds = [kind for kind in KINDS if all(one.cells[kind] for one in samples)]
    model: dict[str, Any] = {"machines": len(samples), "kinds": {}}
    alone = {kind: np.array([_without(samples, n, kind) for n in range(len(samples))]) for kind in kinds}
    for kind in kinds:
        cells = np.array([one.cells[kind] for one in samples], float)
        model["kinds"][kind] = {"coefficients": [round(float(c), 3) for c in _fitted(rows, cells)], **_errors(alone[kind], cells)}
    # Of machines that neither of the two models was fitted to.
    tried = [n for n, one in enumerate(samples) if "logic" in one.cells]
    if tried:
        found = [_packing([other for other in packed_ones if other is not samples[n]]) @ [alone[kind][n] for kind in KINDS]
                 for n in tried]
        model["logic"] = {"machines": len(tried),
                          **_errors(np.array(found), np.array([samples[n].cells["logic"] for n in tried], float))}
    return model


def machines() -> list[Point]:
    """The machines that were synthesized alone, of the families that are fitted."""
    return [one for family in SCRIPTS for one in points_of(families=[family])
            if one.truth == "synthesized" and one.board is None and not one.failure]


def fit(held: list[Point]) -> dict[str, Any]:
    """The model of machines that were synthesized: by group and family, of each kind the coefficients of the features and the
    errors; and by family how the kinds are packed."""
    samples = [_Sample.of(one) for one in held]
    model: dict[str, Any] = {"packing": {}, "groups": {}}
    for family in SCRIPTS:
        packed_ones = [one for one in samples if one.family == family and "logic" in one.cells]
        if packed_ones:
            model["packing"][family] = dict(zip(KINDS, (round(float(c), 3) for c in _packing(packed_ones)), strict=True))
    for group, of in GROUPS.items():
        found = {family: [one for one in samples if (one.family, one.group) == (family, group)] for family in SCRIPTS}
        model["groups"][group] = {"features": list(of(EXAMPLES[group])), "families": {
            family: _fit_group(own, [one for one in samples if one.family == family and "logic" in one.cells])
            for family, own in found.items() if len(own) >= LEAST_MACHINES}}
    return model


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
        model = fit(machines())
    MODEL.write_text(json.dumps(model, indent=1) + "\n")
    for group, of_group in model["groups"].items():
        for family, found in of_group["families"].items():
            for kind, of in {**found["kinds"], **({"logic": found["logic"]} if "logic" in found else {})}.items():
                number = of.get("machines", found["machines"])
                click.echo(f"{group} {family} {kind}: {number} machines, left out one by one: median error "
                           f"{of['median_error']:.1%}, largest {of['largest_error']:.1%}")


if __name__ == "__main__":
    main()
