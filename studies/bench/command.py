"""`python -m studies.bench`: one table and one picture."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.cost.picture import PICTURE
from mrfhw.cost.seconds import RUN_SWEEPS
from mrfhw.fpga.report import kept_records, markdown
from mrfhw.samplers.gpu.chain import Choice
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import staged
from studies.bench.roofline import draw
from studies.bench.rows import Row, built, elsewhere, in_cells, measured, measurements
from studies.bench.software import problem
from studies.report import Report, write_report

__all__ = ["command"]

REPEATS = (1, 50)

COLUMNS = {
    "name": "sampler",
    "labels_per_s": "label evaluations a second; of hardware lanes x clock x utilization, of the published lanes x clock",
    "replaced": "those that a machine of all labels would need for as many visits to sites, where a machine evaluates subsets",
    "logged": "the same with the histogram's log over the machine's own link",
    "read_out": f"the same of a run of {RUN_SWEEPS} sweeps for the mean, which is read over that link",
    "picture_s": f"seconds of {PICTURE} at the machine's own clock, transfers over its link included; none where it does not fit",
    "per_logic": "labels/s for each logic cell",
    "logic": "which cells", "per_multiplier": "labels/s for each multiplier", "per_watt": "labels/s for a watt, where a model of "
    "power gives it", "binds": "what sets the rate", "status": "how it is known"}


def _scaled(value: float | None) -> str:
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value is not None and value >= unit:
            return f"{value / unit:.3g} {name}"
    return "-" if value is None else f"{value:.3g}"


def _line(row: Row) -> tuple[str, ...]:
    logic = f"{_scaled(row.per_logic)} ({row.logic[0]})" if row.logic else "-"
    rates = map(_scaled, (row.labels_per_s, row.replaced, row.logged, row.read_out))
    picture = "-" if row.picture_s is None else f"{row.picture_s:.3g}"
    return (row.name, *rates, picture, logic, _scaled(row.per_multiplier), _scaled(row.per_watt), row.binds, row.status)


_HEAD = ("sampler", "labels/s", "in place of", "with its log", "for the mean", "picture s", "a logic cell", "a multiplier",
         "a watt", "what binds", "how it is known")


def _values(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS} | {"logic": row.logic[0] if row.logic else None}


@click.command("bench", cls=OneLineCommand)
@click.argument("records", nargs=-1, type=click.Path(path_type=Path), metavar="[BUILD.JSON]...")
@click.option("--labels", type=int, default=56, show_default=True, help="Of the stereo scene that software is measured with.")
@click.option("--repeats", type=int, default=5, show_default=True, help="Runs of each; their median is taken.")
@click.option("--gpu", metavar="OPTIONS", help="Backend gpu, too: what stands behind its question mark, such as device=0.")
@click.option("--no-measure", is_flag=True, help="Leave software out.")
@click.option("-o", "--output", type=Folder(), default=Path("out/bench"), show_default=True, metavar="DIR",
              help="Directory for bench.csv, bench.png and bench.txt.")
def command(records: tuple[Path, ...], labels: int, repeats: int, gpu: str | None, no_measure: bool, output: Path) -> None:
    """Label evaluations a second of builds, of published machines and of software on this computer: a table and a roofline.

    Builds are those given, or those kept with the program. Hardware is placed and routed, and has not run on a board, unless the
    table says so. Software is measured with the built-in stereo scene of 256x192 sites, one after the other.
    """
    choice = None if gpu is None else Choice.of(gpu)
    problem(labels)  # refuses a number of labels that the scene cannot have
    if not REPEATS[0] <= repeats <= REPEATS[1]:
        raise ProblemError(f"repeats is {repeats}; the limits are {REPEATS[0]} to {REPEATS[1]}: give a number between them")
    rows = [*map(built, kept_records(records)), *in_cells(), *elsewhere()]
    with staged(output) as scratch:
        if not no_measure:
            number = len(measurements(labels, repeats, choice))
            with tqdm(total=number, desc="software", unit="sampler", delay=1, leave=False) as bar:
                for row in measured(labels, repeats, choice):
                    rows.append(row)
                    bar.update(1)
        rows.sort(key=lambda row: -row.labels_per_s)
        lines = [f"software on {platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python "
                 f"{platform.python_version()}; {labels} labels, median of {repeats}"] if not no_measure else []
        report = Report("bench", "label evaluations a second", COLUMNS, list(map(_values, rows)),
                        lambda figure: draw(figure, rows), lines, size=(9.0, 6.5))
        written = write_report(scratch, report)
    click.echo(markdown([_HEAD, *map(_line, rows)]))
    for line in lines:
        click.echo(line)
    click.echo(f"wrote {', '.join(written)} to {output}")
