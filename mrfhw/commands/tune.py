"""`mrfhw tune`: which machine, clock, rate and memories serve a job on a board."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mrfhw.commands.folder import Folder
from mrfhw.commands.job_options import delays_of, duration, job_of, job_options
from mrfhw.commands.machine_options import OneLineCommand, Rare
from mrfhw.commands.tune_device import check_device_backend, tuned_device
from mrfhw.fpga.boards import board_named
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import check_writable
from mrfhw.tuning import truth
from mrfhw.tuning.estimates import Limits
from mrfhw.tuning.points import STORE
from mrfhw.tuning.tuner import RECORD, Asked, Tuned, Tuner, read_asked

__all__ = ["command"]

# Options that say nothing of a device, and their parameters.
OF_BOARDS = {"delay": "delay", "quality": "quality", "fix": "fix", "placed": "placed", "output": "output", "resume": "resume",
             "points": "store", "measure": "measure"}
UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def fixed_values(given: tuple[str, ...]) -> dict[str, str]:
    """By name, as --fix has them. Raises ProblemError."""
    values: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise ProblemError(f"fix is {text!r}; it is NAME=VALUE: give such as counter_bits=6")
        if values.setdefault(name.replace("-", "_"), value) != value:
            raise ProblemError(f"fix has {text} and another value of {name}; each has one: drop one of the two")
    return values


@click.command("tune", cls=OneLineCommand)
@partial(job_options, board=False)
@click.option("--backend", metavar="gpu[?OPTIONS]",
              help="In place of a board: which way of drawing is soonest on a device, tried for the budget of some seconds.")
@click.option("--quality", type=float, metavar="TV",
              help="Largest total variation between a draw and the exact one.  [default: any]")
@click.option("--budget", default="0h", show_default=True, metavar="TIME",
              help="Time of the tools, such as 2h; 0h answers from estimates and kept points alone.")
@click.option("--fix", multiple=True, metavar="NAME=VALUE",
              help="A value that every choice has: a parameter of the machine, mesh, clock (MHz), baud, words or log_bytes.")
@click.option("--placed", type=int, default=1, show_default=True, metavar="N",
              help="Choices that are placed and routed, if the budget allows.")
@click.option("-o", "--output", type=Folder(), default=None, metavar="DIR", help=f"Directory for {RECORD} and the tools' points.")
@click.option("--resume", is_flag=True, help="Go on with the tuning in that directory.")
@click.option("--points", "store", type=click.Path(path_type=Path), default=STORE, metavar="DIR", cls=Rare,
              help="Folder of kept points.  [default: those that come with this program]")
@click.option("--measure", type=int, default=0, metavar="N", cls=Rare,
              help="Synthesize N of the choices, and add them to the kept points.")
@click.option("--json", "as_json", is_flag=True, help=f"Print what {RECORD} has.")
def command(name: str | None, delay: str, backend: str | None, quality: float | None, budget: str, fix: tuple[str, ...],
            placed: int, output: Path | None, resume: bool, store: Path, measure: int, as_json: bool, **job: Any) -> None:
    """Say which machine, clock, serial rate and link memories do a job on a board in the fewest seconds, or which way of drawing is
    soonest on a device.

    The answer is a front of seconds, cells and deviation of a draw. Each of its points is estimated, synthesized, placed or
    simulated (on the compiled board), and has the `mrfhw build` line that builds it and what binds it. The seconds are those of the
    whole run over the board's link.
    """
    if (name is None) == (backend is None):
        raise ProblemError(f"board and backend are {'both' if name else 'not'} given; a job is tuned for one of them: give --board "
                           "NAME, or --backend gpu")
    if backend is not None:
        choice, seconds = check_device_backend(backend), duration("budget", budget, UNITS)
        context = click.get_current_context()
        refused = next((option for option, parameter in OF_BOARDS.items()
                        if context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE), None)
        if refused is not None:
            raise ProblemError(f"{refused} is given with a backend; it is of boards: leave --{refused} out")
        click.echo(tuned_device(choice, job_of(None, **job), seconds, as_json))
        return
    assert name is not None
    board = board_named(name)
    if quality is not None and not 0 < quality <= 1:
        raise ProblemError(f"quality is {quality:g}; a total variation is more than 0 and at most 1: give such as 0.02")
    if not 0 <= placed <= 100:
        raise ProblemError(f"placed is {placed}; 0 to 100 choices are placed: give a number between them")
    if not 0 <= measure <= 1000:
        raise ProblemError(f"measure is {measure}; 0 to 1000 choices are synthesized: give a number between them")
    asked = Asked(board, name, job_of(board, **job), delays_of(delay), Limits(quality), duration("budget", budget, UNITS), placed,
                  fixed_values(fix))
    if measure:
        truth.check_tools(board)
        check_writable(store)
    elif not store.is_dir():
        raise ProblemError(f"points is {store}; it is a folder of kept points: give one, or leave it out")
    if output is not None:
        check_writable(output)
        if resume:
            before = read_asked(output)
            unlike = next((key for key, value in asked.record.items() if before.get(key) != value), None)
            if unlike is not None:
                raise ProblemError(f"{unlike} is {asked.record[unlike]}, and the tuning in {output} has {before.get(unlike)}: give "
                                   "the same, or leave --resume out and give another -o")
        elif (output / RECORD).exists():
            raise ProblemError(f"{output} has a {RECORD}: give --resume to go on with it, or another -o")
    elif resume:
        raise ProblemError("resume is given without -o; a tuning goes on in its directory: give -o DIR")
    tuner = Tuner(asked, output, store, lambda said: click.echo(said, err=True))
    found = tuner.run()
    if measure:
        tuner.measure(measure, store)
        found = tuner.front
    if not found:
        first = next((one.refused for one in tuner.found if one.refused), "by estimate it takes more cells than there are")
        raise ProblemError(f"no machine of {board.name} is left, as tools refuse each of {len(tuner.found)}, the first one: "
                           f"{first}: give a smaller job, a wider bound, or fewer --fix")
    click.echo(json.dumps(tuner.record, indent=1) if as_json else _answer(tuner, found))


def _answer(tuner: Tuner, found: list[Tuned]) -> str:
    board, name, preset = tuner.asked.board, tuner.asked.board_name, tuner.preset
    lines = [f"{tuner.asked.job.said}, on {board.name}; {tuner.asked.delays.seconds * 1e3:g} ms each way"]
    misses = [said for _, said in preset.estimate.broken.values()]
    lines.append(f"the preset {board.preset}: " + ("" if math.isinf(preset.seconds) else f"{preset.seconds:.4g} s, {preset.marked}")
                 + (f"; it misses: {'; '.join(misses)}" if misses else ""))
    if not misses and preset.seconds <= found[0].seconds * 1.01:
        lines.append("the preset is best")
    for one in found:
        mark = one.marked
        lines += [f"{one.seconds:.4g} s  {one.logic:,} cells  deviation {one.estimate.deviation:.4f}  {mark}",
                  f"  {one.choice.build_line(board, name)}", f"  binds: {one.estimate.binds}"]
    return "\n".join(lines)
