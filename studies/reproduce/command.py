"""The command `python -m studies.reproduce`: the published tables and figures, computed here and set beside the printed numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import ProblemError
from mrfhw.samplers.gpu.chain import Choice
from mrfhw.system.files import staged
from studies.report import Report, write_report
from studies.reproduce.context import Context
from studies.reproduce.label_memory import figure_3_8, figure_3_13
from studies.reproduce.labels_seen import figure_3_2, figure_4_1
from studies.reproduce.on_device import device_of
from studies.reproduce.performance import figure_3_17, table_3_3
from studies.reproduce.quality import figure_3_12
from studies.reproduce.scenes import SETTINGS, chosen_settings
from studies.reproduce.skipped import figure_4_9, figure_4_15
from studies.reproduce.skipped_segments import FOLDER, check_pictures, figure_4_17
from studies.reproduce.structure import figure_3_10, table_3_2

__all__ = ["FIGURES", "command"]

FIGURES: dict[str, Callable[[Context], Report]] = {
    "table-3.2": table_3_2,
    "figure-3.2": figure_3_2,
    "figure-3.8": figure_3_8,
    "figure-3.10": figure_3_10,
    "figure-3.12": figure_3_12,
    "figure-3.13": figure_3_13,
    "figure-3.17": figure_3_17,
    "table-3.3": table_3_3,
    "figure-4.1": figure_4_1,
    "figure-4.9": figure_4_9,
    "figure-4.15": figure_4_15,
    "figure-4.17": figure_4_17,
}
MOTION = ("figure-3.2", "figure-4.15")  # of motion alone
# What would refuse, before the first of the figures is computed.
CHECKS: dict[str, Callable[[Context], None]] = {"figure-4.17": check_pictures}
ALL = "all"


def asked_for(what: str, context: Context) -> list[str]:
    """The figures that `what` names. Raises ProblemError for an unknown one and for scenes that it does not take."""
    if what not in (*FIGURES, ALL):
        raise ProblemError(f"what is {what!r}; it must be one of {', '.join((*FIGURES, ALL))}: choose one")
    chosen = chosen_settings(context.names)
    if what != ALL:
        return [what]
    motion = any(setting.application == "motion" for setting in chosen)
    return [name for name in FIGURES if motion or name not in MOTION]


@click.command("reproduce", cls=OneLineCommand)
@click.argument("what", metavar="WHAT")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR",
              help="Published pictures: stereo/teddy/left.png, flow/Dimetrodon/frame10.png and so on, "
              f"{FOLDER}/images/NAME.jpg with segmentations by hand {FOLDER}/labels/NAME_K.png. Built-in scenes stand in for those "
              "that are missing.")
@click.option("-o", "--output", type=Folder(), default=Path("out/reproduce"), show_default=True,
              metavar="DIR", help="Directory for WHAT.csv, WHAT.png and WHAT.txt; made where it is missing.")
@click.option("--iterations", type=int, metavar="N",
              help="Sweeps of every chain, 4 to 65535; by default Table 3.2's, of figures 4.9, 4.15 and 4.17 those of mrfhw run.")
@click.option("--scene", "scenes", multiple=True, metavar="NAME",
              help=f"Only this scene; may be given again. One of {', '.join(setting.name for setting in SETTINGS)}.")
@click.option("--chains", type=int, default=3, show_default=True, help="Independent chains of figure-3.12, 1 to 100.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the first chain.")
@click.option("--gpu", metavar="OPTIONS", help="Time figures 3.17, 4.9 and 4.15 on a device, too: what stands behind backend gpu's "
              "question mark, such as device=0.")
def command(what: str, data: Path | None, output: Path, iterations: int | None, scenes: tuple[str, ...], chains: int,
            seed: int, gpu: str | None) -> None:
    """Compute the published table or figure WHAT and print ours beside the published numbers.

    WHAT is table-3.2 (settings), figure-3.2 (labels a pixel takes), figure-3.8 (size of the label memory), figure-3.10
    (links and crossbars), figure-3.12 (quality), figure-3.13 (memory of the log), figure-3.17 (speedup over a GPU),
    table-3.3 (throughput), figure-4.1 (label changes), figure-4.9 (updates that event-driven sampling skips),
    figure-4.15 (the same of motion among 15x15 vectors), figure-4.17 (the same of segmentations, whatever --scene says) or all.

    Of all scenes table-3.2, figure-3.10 and table-3.3 take seconds and the others minutes, such as four for figure-3.8 and six for
    figure-3.13 on two cores; --scene and --iterations make it less.
    """
    context = Context(names=scenes, data=data, iterations=iterations, chains=chains, seed=seed,
                      all_memories=what in (ALL, "figure-3.8"), gpu=None if gpu is None else Choice.of(gpu))
    if context.gpu is not None:
        click.echo(f"on {device_of(context.gpu)}")
    names = asked_for(what, context)
    if data is not None and not data.is_dir():
        raise ProblemError(f"data is {data}; it is no directory: give one with {SETTINGS[0].folder} and others, or leave it out")
    for name in names:
        if name in CHECKS:
            CHECKS[name](context)
    with staged(output) as scratch:
        for name in names:
            report = FIGURES[name](context)
            written = write_report(scratch, report)
            click.echo(report.text)
    click.echo(f"wrote {', '.join(written) if len(names) == 1 else f'{len(names)} figures'} to {output}")
