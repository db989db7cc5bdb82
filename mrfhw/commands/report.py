"""`mrfhw report`: builds side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.fpga.report import PUBLISHED, clocks, kept_records, pictures, table, with_picture

__all__ = ["command"]


@click.command("report", cls=OneLineCommand)
@click.argument("records", nargs=-1, type=click.Path(path_type=Path), metavar="[BUILD.JSON]...")
@click.option("--json", "as_json", is_flag=True, help="Print a list of the records instead of a table.")
def command(records: tuple[Path, ...], as_json: bool) -> None:
    """Builds side by side and beside the published prototype (its Table 3.3): those given, or those kept with the program.

    Labels/s are lanes x fmax x utilization, the last measured with the model on a stereo scene as large as the machine; the
    published ones are lanes x clock. A picture takes longer than that: its seconds are those of a stereo pair at the clock that the
    machine's PLL makes, with all that goes over the link. Below the table: the path that sets the clock of each machine, where its
    record has it.
    """
    found = [*map(with_picture, kept_records(records))]
    if as_json:
        click.echo(json.dumps([*found, *map(with_picture, PUBLISHED)], indent=1))
        return
    click.echo(table(found))
    click.echo("\n" + "\n".join(pictures(found)))
    if lines := clocks(found):
        click.echo("\n" + "\n".join(lines))
