"""Logic of a machine without synthesis: a linear model of its cells, fitted to machines that were synthesized.

    python -m mrfhw.fpga.logic --measure 20     # synthesize so many more random machines for each family (minutes each)
    python -m mrfhw.fpga.logic                  # fit, print the errors, and write logic.json
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.fpga.synthesis import SCRIPTS, synthesized
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.system.progress import working

__all__ = ["KINDS", "Logic", "features", "fit", "logic_of"]

HERE = Path(__file__).parent
MODEL, SAMPLES = HERE / "logic.json", HERE / "logic_samples.json"
KINDS = ("lut", "ff", "carry")


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


def _measure(number: int, seed: int, families: tuple[str, ...]) -> None:
    from mrfhw.generation.verilog import TOP, verilog_text

    rng = np.random.default_rng(seed)
    held = json.loads(SAMPLES.read_text()) if SAMPLES.exists() else []
    for n in range(number):
        config = _random(rng)
        for family in families:
            with tempfile.TemporaryDirectory() as folder:
                cells = synthesized(verilog_text(config), TOP, family, Path(folder))
            held.append({"family": family, "parameters": config.to_dict(), "cells": cells})
            click.echo(f"{n + 1}/{number} {family} {config.mesh_rows * config.mesh_cols}x{config.spus}: {cells}")
            SAMPLES.write_text("[\n" + ",\n".join(json.dumps(one) for one in held) + "\n]\n")


def _fitted(rows: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Coefficients of at least 0 with the least sum of squared relative errors."""
    from scipy.optimize import nnls

    scale = rows.max(0).clip(1e-9)
    found, _ = nnls(rows / scale / cells[:, None], np.ones(len(cells)))
    return np.asarray(found / scale)


def fit(held: list[dict[str, Any]]) -> dict[str, Any]:
    """The model of machines that were synthesized, by family and kind: coefficients of the features, and errors."""
    model: dict[str, Any] = {"features": list(features(Config())), "families": {}}
    for family in SCRIPTS:
        own = [one for one in held if one["family"] == family]
        if not own:
            continue
        rows = np.array([list(features(Config.from_dict(one["parameters"])).values()) for one in own])
        model["families"][family] = {"machines": len(own), "kinds": {}}
        for kind in KINDS:
            cells = np.array([one["cells"][kind] for one in own], float)
            if not cells.all():
                continue
            # Of each machine by a model that was fitted to the others.
            without = (_fitted(np.delete(rows, n, 0), np.delete(cells, n)) for n in range(len(own)))
            errors = [abs(float(fitted @ row / cell) - 1) for fitted, row, cell in zip(without, rows, cells, strict=True)]
            model["families"][family]["kinds"][kind] = {
                "coefficients": [round(float(c), 3) for c in _fitted(rows, cells)],
                "median_error": round(float(np.median(errors)), 4), "largest_error": round(max(errors), 4)}
    return model


@dataclass(frozen=True)
class Logic:
    """Estimated cells by kind of KINDS, and the errors of machines that the model had not seen, as shares: median and largest."""

    cells: dict[str, int]
    median_error: float
    largest_error: float


@cache
def _model() -> dict[str, Any]:
    return dict(json.loads(MODEL.read_text()))


def logic_of(config: Config, family: str) -> Logic | None:
    """The machine's logic on a family, without link and ports around it; None where no machine like it was measured: of another
    family, with lanes that share a site, or with subsets."""
    found = _model()["families"].get(family)
    if found is None or Derived.of(config).holds_reach:
        return None
    values = np.array(list(features(config).values()))
    kinds = found["kinds"]
    return Logic({kind: round(float(np.array(of["coefficients"]) @ values)) for kind, of in kinds.items()},
                 kinds["lut"]["median_error"], kinds["lut"]["largest_error"])


@click.command()
@click.option("--measure", "number", type=int, default=0, metavar="N", help="Synthesize N random machines more for each family.")
@click.option("--seed", type=int, default=1, help="Of the random machines.")
@click.option("--family", "families", multiple=True, type=click.Choice(list(SCRIPTS)), default=tuple(SCRIPTS))
def main(number: int, seed: int, families: tuple[str, ...]) -> None:
    """Fit the model of logic to the machines that were synthesized, and print its errors."""
    if number:
        _measure(number, seed, families)
    with working("fitting"):
        model = fit(json.loads(SAMPLES.read_text()))
    MODEL.write_text(json.dumps(model, indent=1) + "\n")
    for family, found in model["families"].items():
        for kind, of in found["kinds"].items():
            click.echo(f"{family} {kind}: {found['machines']} machines, left out one by one: median error "
                       f"{of['median_error']:.1%}, largest {of['largest_error']:.1%}")


if __name__ == "__main__":
    main()
