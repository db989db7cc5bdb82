"""`python -m studies.tenants`: what it costs in cells that a mesh holds several problems, in clusters or in contexts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from mrfhw.commands.machine_options import OneLineCommand, machine_options
from mrfhw.generation.verilog import TOP, verilog_text
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import config_from_options
from mrfhw.system.progress import working
from studies.cells import occupied
from studies.scaling.logic import ONCE
from studies.synthesis import SCRIPTS, cell_types

__all__ = ["halved", "measure"]


def halved(config: Config, clusters: int) -> Config:
    """The tiles of a machine as so many clusters, side by side in its longer direction. Raises ConfigError."""
    longer = "mesh_rows" if config.mesh_rows >= config.mesh_cols else "mesh_cols"
    tiles = getattr(config, longer)
    if tiles % clusters or tiles == clusters == 1:
        raise ConfigError(f"parts is {clusters} and {longer} is {tiles}; each cluster has as many: give a multiple of {clusters}")
    return config.changed(clusters=clusters, **{longer: tiles // clusters})


def measure(config: Config, family: str) -> dict[str, int]:
    """Cells of a machine by what they occupy, its tiles and the nodes of its trees synthesized once each. Raises BuildError."""
    with tempfile.TemporaryDirectory() as folder, working(f"synthesizing {Derived.of(config).size}"):
        found = cell_types(verilog_text(config), TOP, family, Path(folder), ONCE)[TOP]
    return occupied(found, family)


@click.command(cls=OneLineCommand)
@click.option("--family", type=click.Choice(sorted(SCRIPTS)), default="ecp5", show_default=True, help="Of FPGAs.")
@click.option("--parts", default=2, show_default=True, help="Clusters that the mesh becomes, or contexts that it has.")
@click.option("--as", "what", type=click.Choice(("clusters", "contexts")), default="clusters", show_default=True,
              help="Clusters share the tiles; contexts have all of them by turns, and memories of their own.")
@machine_options
def main(family: str, parts: int, what: str, **options: Any) -> None:
    """Print the cells of a machine and of one of as many tiles in clusters or contexts, without link and ports around them."""
    config = config_from_options(**options)
    other = halved(config, parts) if what == "clusters" else config.changed(contexts=parts)
    one, several = measure(config, family), measure(other, family)
    for kind in one:
        more = several[kind] / one[kind] - 1 if one[kind] else 0
        click.echo(f"{kind:8} {one[kind]:7} in one {what[:-1]}, {several[kind]:7} in {parts}: {more:+.1%}")


if __name__ == "__main__":
    main()
