"""`python -m studies.scaling`: tables and a picture of how machines grow with tiles and lanes."""

from __future__ import annotations

from pathlib import Path

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.system.files import check_writable, staged
from studies.report import Report, write_report, write_table
from studies.scaling.cycles import LABELS, Log, measure_log, read_log, sweeps
from studies.scaling.families import FAMILIES
from studies.scaling.logic import Synthesis, measure_logic, read_logic
from studies.scaling.machines import PRESET
from studies.scaling.picture import draw
from studies.scaling.tables import (
    CYCLES_COLUMNS,
    LOGIC_COLUMNS,
    cycles_rows,
    cycles_table,
    fits,
    fits_table,
    flat_lines,
    log_table,
    logic_rows,
    logic_table,
)

__all__ = ["LOG", "LOGIC", "RESULTS", "command"]

RESULTS = Path(__file__).parent / "results"
LOGIC, LOG = "logic.json", "log.json"  # in it, or where --measure says
STATUS = "synthesized with Yosys, not placed or routed"


def measure(directory: Path) -> None:
    """Fill the directory with records, from where they end on."""
    measure_logic(directory / LOGIC)
    measure_log(directory / LOG)


def _lines(found: list[Synthesis], yosys: str, log: Log) -> list[str]:
    units = [f"{family.title}: {family.device} has {family.has['logic']:,} logic cells ({family.logic}), {family.has['ff']:,} "
             f"flip-flops, {family.has['ram']:,} {family.ram} and {family.has['dsp']:,} {family.dsp} ({family.source})"
             for family in FAMILIES.values()]
    return [f"logic: preset {PRESET} with other meshes and lanes, {STATUS} ({yosys}); one tile is synthesized and counted as often "
            "as there are tiles", *flat_lines(found), *units,
            f"cycles: stereo of {LABELS} labels, by the model of cycles, log empty; messages of a sweep: "
            f"{log.messages_a_site:.3f} a site ({log.scene}, bit-exact model)"]


@click.command("scaling", cls=OneLineCommand)
@click.option("--measure", "measured", type=click.Path(path_type=Path), metavar="DIR",
              help=f"Synthesize again, and run the model with its log again (an hour or two), into {LOGIC} and {LOG} there; what "
              "they have already is not done again. Without it, the records that are kept with the program are shown.")
@click.option("-o", "--output", type=Folder(), default=Path("out/scaling"), show_default=True, metavar="DIR",
              help="Directory for scaling.csv, scaling-cycles.csv, scaling.png and scaling.txt.")
def command(measured: Path | None, output: Path) -> None:
    """Logic and cycles of machines from 1 tile to 1,024 and from 1 lane a tile to 16.

    Logic is that of machines of up to 64 tiles, synthesized with Yosys for three families of FPGAs and not placed or routed; how
    many lanes a device holds follows by count. Cycles are the model's, which equal the hardware's: of tiles of 64x64 sites, and of
    pictures of one size whose sites are spread over the tiles.
    """
    check_writable(output)
    if measured is not None:
        check_writable(measured)
        measure(measured)
    found, yosys = read_logic((measured or RESULTS) / LOGIC)
    log = read_log((measured or RESULTS) / LOG)
    logic, cycles = logic_rows(found), cycles_rows(sweeps(), log)
    tables = {
        f"Logic, {STATUS}: of the machine, and a lane's": logic_table(found),
        f"Lanes that a device holds by count, and what is then used up ({STATUS})": fits_table(fits(found)),
        "Cycles of a sweep, log empty (model)": cycles_table(cycles, "cycles", ",.0f"),
        "Utilization of the lanes, log empty (model)": cycles_table(cycles, "utilization", ".1%"),
        "Messages a cycle with every sweep logged; one passes the log's root (model)":
            cycles_table(cycles, "messages_a_cycle", ".3f"),
        "Every sweep logged, stalls included (bit-exact model)": log_table(log)}
    report = Report("scaling", "logic and cycles over tiles and lanes", LOGIC_COLUMNS, logic,
                    lambda figure: draw(figure, logic, cycles), _lines(found, yosys, log), size=(11.0, 4.6))
    with staged(output) as scratch:
        written = write_report(scratch, report)
        write_table(scratch / "scaling-cycles.csv", CYCLES_COLUMNS, cycles)
    for title, table in tables.items():
        click.echo(f"{title}\n{table}\n")
    for line in report.lines:
        click.echo(line)
    click.echo(f"wrote {', '.join([*written, 'scaling-cycles.csv'])} to {output}")
