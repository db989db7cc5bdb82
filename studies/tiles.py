"""Cells of one tile, synthesized alone: what lanes and subsets of a site's slots take.

    python -m studies.tiles [--preset census] [--machines 16:0,4:0,4:4,2:4] [--family ecp5]

A machine is LANES:SLOTS, with 0 slots for all of them. Printed as CSV: logic cells, flip-flops, block RAMs and multipliers, as
`studies.cells` counts what they occupy. Neither placed nor routed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from tqdm import tqdm

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.gateware.mesh.mesh import TILE
from mrfhw.gateware.tile.spe import Spe
from mrfhw.generation.modules import component_verilog
from mrfhw.machine.config import PRESETS, Config
from studies.cells import RESOURCES, occupied
from studies.lanes_and_slots import LanesAndSlots
from studies.synthesis import cell_types


def tile_cells(config: Config, family: str) -> dict[str, int]:
    """What a tile of `config` occupies of each of `RESOURCES`."""
    with tempfile.TemporaryDirectory() as directory:
        found = cell_types(component_verilog(Spe(config), TILE), TILE, family, Path(directory))
    return occupied(found[TILE], family)


@click.command(cls=OneLineCommand)
@click.option("--preset", type=click.Choice(list(PRESETS)), default="census", show_default=True)
@click.option("--machines", type=LanesAndSlots(), default="16:0,4:0,4:4,2:4", show_default=True, help="Slots: 0 for all.")
@click.option("--family", type=click.Choice(["ecp5", "cyclone5", "ultrascale"]), default="ecp5", show_default=True)
def main(preset: str, machines: list[tuple[int, int]], family: str) -> None:
    """Cells of a tile."""
    configs = [Config.preset(preset, lanes=lanes, subset_slots=slots) for lanes, slots in machines]
    click.echo(",".join(("lanes", "subset_slots", *RESOURCES)))
    for config in tqdm(configs, leave=False):
        cells = tile_cells(config, family)
        click.echo(f"{config.lanes},{config.subset_slots}," + ",".join(str(cells[resource]) for resource in RESOURCES))


if __name__ == "__main__":
    main()
