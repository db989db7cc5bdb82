"""`python -m studies.functions`: what each function of the energy costs, in cells of a lane's pipeline and bits of memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mrfhw.cost.cost import Cost
from mrfhw.gateware.unit.energy import EnergyPipeline
from mrfhw.generation.modules import component_verilog
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from studies.cells import KINDS
from studies.synthesis import synthesized

__all__ = ["FAMILIES", "FUNCTIONS", "measure"]

# What a machine has otherwise than the default one, by what its energy can then do.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "default: differences of 6 bits": {},
    "unlike bits in their place, 8": dict(distance="hamming", data_bits=8),
    "unlike bits, 24": dict(distance="hamming", data_bits=24),
    "either, 8 bits": dict(distance="both", data_bits=8),
    "a limit of the singleton": dict(singleton_cap=1),
    "a second channel of 6 bits": dict(data_bits_2=6),
    "a doubleton table of 4 bits": dict(label_bits=4, pairwise_bits=4),
    "the same labels without": dict(label_bits=4),
    "weights of edges, 2 bits": dict(edge_bits=2),
    "weights of edges, 4 bits": dict(edge_bits=4),
    "256 labels": dict(label_bits=8),
    "preset matching": PRESETS["matching"],
    "preset colour": PRESETS["colour"],
}
# Gowin is not among them: of a part alone its synthesis ends in an assertion of Yosys.
FAMILIES = ("ecp5", "ice40")
TOP = "energy_pipeline"


def measure(config: Config, family: str, directory: Path) -> dict[str, int]:
    """Cells by kind of one lane's energy pipeline."""
    return synthesized(component_verilog(EnergyPipeline(config), TOP), TOP, family, directory)


def _rows(families: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    for name, changes in FUNCTIONS.items():
        config = Derived.of(Config(**changes))
        bits = Cost.of(config).memory_bits
        cells = []
        for family in families:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(config, family, Path(folder))
            cells.append(", ".join(f"{kind} {found[kind]}" for kind in KINDS if found[kind]))
        site = (bits["s1"] + bits["s2"] + bits.get("edges", 0)) / config.sites
        cells.append(f"{site:.0f} a site, {bits.get('doubleton tables', 0) // config.all_lanes} a lane")
        yield name, cells


@click.command()
@click.option("--family", "families", multiple=True, type=click.Choice(FAMILIES), default=FAMILIES)
def main(families: tuple[str, ...]) -> None:
    """A table: cells of a lane's energy pipeline after synthesis, and bits of data memory, for each function."""
    click.echo(f"| function | {' | '.join(families)} | memory bits |\n|{' --- |' * (len(families) + 2)}")
    for name, cells in _rows(families):
        click.echo(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
