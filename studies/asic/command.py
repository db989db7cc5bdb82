"""`python -m studies.asic`: a machine in standard cells, its clock, area and energy, beside the published ones."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand, given_options, machine_options
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.report import markdown
from mrfhw.machine.manifest import config_from_options
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import staged
from studies.asic.libraries import LIBRARIES, library_named
from studies.asic.report import HEAD, PUBLISHED, RECORD, kept, line_of, report_of
from studies.asic.study import LABELS, STATUS, study
from studies.asic.synthesis import NETLIST
from studies.report import write_report

__all__ = ["command"]

GOAL = (1.0, 10_000.0)  # MHz
_LINES = [
    f"Our tiles are {STATUS}, and have not been made. A real flow adds wires, a clock",
    "tree and hold buffers, which lower the clock and raise the power; it takes memories of the node's compiler, gates clocks and",
    "retimes the multipliers, which set our clock. The published tiles are synthesized by other tools for 15 nm. Both take CACTI's",
    "memories of 22 nm beside their logic (sky130hd those of 90 nm, scaled). Toggles were counted once a cycle in the netlist,",
    "without glitches; our memories are enabled in every cycle, and each such read counts.",
]


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    """Of the tools' files; it stays where an error names one of them."""
    directory, named = Path(tempfile.mkdtemp(prefix="mrfhw-asic-")), False
    try:
        yield directory
    except BuildError as error:
        named = str(directory) in str(error)
        raise
    finally:
        if not named:
            shutil.rmtree(directory)


@click.command("asic", cls=OneLineCommand)
@click.argument("records", nargs=-1, type=click.Path(path_type=Path), metavar=f"[{RECORD.upper()}]...")
@click.option("--liberty", type=click.Path(path_type=Path), metavar="DIR",
              help="Directory of a library's Liberty files, plain, .xz or .gz: synthesize a tile of the machine with it.")
@click.option("--library", default=next(iter(LIBRARIES)), show_default=True, metavar="NAME",
              help=f"The library there: {', '.join(LIBRARIES)}.")
@click.option("--goal", type=float, metavar="MHZ", help="Clock that synthesis aims at, 1 to 10000 MHz.  [default: the library's]")
@click.option("--labels", type=int, default=32, show_default=True, metavar="L",
              help=f"Of the stereo scene whose toggles are counted, {LABELS[0]} to {LABELS[1]}.")
@click.option("-o", "--output", type=Folder(), default=Path("out/asic"), show_default=True, metavar="DIR",
              help=f"Directory for asic.csv, asic.png and asic.txt, and for {RECORD} and {NETLIST} of a new one.")
@machine_options
def command(records: tuple[Path, ...], liberty: Path | None, library: str, goal: float | None, labels: int, output: Path,
            **options: Any) -> None:
    """Area, clock and energy of a machine's tile in standard cells, beside the published ones: a table and a picture.

    With --liberty one tile of the machine is synthesized with its control (Yosys), timed (OpenSTA), run on a small stereo scene,
    where it must equal the model in every bit, and its power computed of the toggles there. Else the records that are given are
    shown, or those that are kept with the program. Nothing is placed or routed.
    """
    if goal is not None and not GOAL[0] <= goal <= GOAL[1]:
        raise ProblemError(f"goal is {goal:g} MHz; the limits are {GOAL[0]:g} to {GOAL[1]:g}: give a number between them")
    cells = library_named(library)
    unused = sorted(given_options() - {"records", "output"}) if liberty is None else []
    if unused:
        raise ProblemError(f"--{unused[0].replace('_', '-')} is given, but no --liberty, and records are shown as they are: give "
                           "--liberty DIR, or leave it out")
    shown = kept(records) if records or liberty is None else []
    with staged(output) as scratch:
        if liberty is not None:
            with _directory() as directory:
                record = study(config_from_options(**options), cells, liberty, directory, labels, goal)
                shutil.copy(directory / NETLIST, scratch / NETLIST)
            (scratch / RECORD).write_text(json.dumps(record, indent=1) + "\n")
            shown.append(record)
        written = write_report(scratch, report_of(shown, _LINES))
    click.echo(markdown([HEAD, *map(line_of, [*shown, *PUBLISHED])]))
    for line in _LINES:
        click.echo(line)
    click.echo(f"wrote {', '.join([*written, *([RECORD, NETLIST] if liberty is not None else [])])} to {output}")
