"""`mrfhw plan X`: which stage of `mrfhw run X` runs where, and how often a picture ends then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mrfhw.commands.application import VISIT, options_on
from mrfhw.commands.applications import Applications
from mrfhw.commands.machine_options import OneLineCommand, clock_hz, given_options
from mrfhw.commands.planned import board_to_plan, measured
from mrfhw.cost.links import BoardLink
from mrfhw.field.problem import ProblemError
from mrfhw.jobs.application import Application
from mrfhw.machine.manifest import NAMES, config_from_options
from mrfhw.planning.made import Kind, Made, kinds_of, made
from mrfhw.planning.pipeline import PROCESSOR
from mrfhw.planning.predicted import Board
from mrfhw.planning.profile import STAGES
from mrfhw.runs.request import Request
from mrfhw.system.files import check_replaceable, replaced

__all__ = ["command"]

MOST_PICTURES = 10**9


def _boards(given: tuple[str, ...], options: dict[str, Any], clock: float | None) -> dict[str, Kind]:
    """By name what was given; a machine without a board is one on a serial link."""
    hz = None if clock is None else clock_hz(clock)
    own = config_from_options(**options) if given_options() & set(NAMES) else None
    if not given and own is not None:
        if hz is None:
            raise ProblemError("clock is not given; a machine's cycles are no seconds without it: give --clock MHZ, or "
                               "--board NAME")
        return kinds_of([Board("machine", own, hz, BoardLink())])
    if not given and hz is not None:
        raise ProblemError(f"clock is {clock:g} MHz; it is a machine's: give --board NAME or --machine as well, or leave it out")
    return kinds_of([board_to_plan(name, own, hz) for name in given])


def plan_command(app: Application) -> click.Command:
    """`mrfhw plan VERB`."""

    def command(boards: tuple[str, ...], chains: int | None, visit: int | None, clock: float | None, pictures: int,
                no_report: bool, as_json: Path | None, **options: Any) -> None:
        if not 1 <= pictures <= MOST_PICTURES:
            raise ProblemError(f"pictures is {pictures}; the limits are 1 to {MOST_PICTURES}: give a number between them")
        machine = {name: value for name, value in options.items() if name in NAMES}
        own = {name: options[name] for name in sorted(given_options()) if name in options and name not in machine}
        request = Request(app.verb, backend="cpu", chains=chains, **own)
        job = request.job()
        if as_json is not None:
            _check_target(as_json, job.sources)
        if visit is not None and not (boards or given_options() & set(machine)):
            raise ProblemError(f"visit is {visit}; it is of windows on a machine: give --board NAME as well, or leave it out")
        found = _boards(boards, machine, clock)
        for doubt in job.doubts:
            click.echo(doubt, err=True)
        plan = made(request, found, lambda: measured(request, page=not no_report), visit=visit)
        click.echo(_text(plan, pictures))
        if as_json is not None:
            with replaced(as_json) as file:
                file.write((json.dumps(plan.record, indent=2, allow_nan=False) + "\n").encode())

    summary = f"{app.summary} Where its stages run best, and how often a picture ends; nothing of the answer is kept."
    return click.command(app.verb, cls=OneLineCommand, help=summary)(options_on(app, command, (
        click.option("--board", "boards", multiple=True, metavar="NAME|ADDRESS",
                     help="A board that may take stages, by its name (mrfhw help boards) or its address; once for each."),
        click.option("--clock", type=float, metavar="MHZ", help="Clock of the machine.  [default: that of the board's kept build]"),
        click.option("--chains", type=int, metavar="N", help="Independent chains, as of run."),
        VISIT,
        click.option("--pictures", type=int, default=100, show_default=True, metavar="N",
                     help="Pictures, of which the time is told."),
        click.option("--no-report", is_flag=True, help="Without figures and pages, as of run."),
        click.option("--json", "as_json", type=click.Path(path_type=Path), metavar="FILE", help="Write the plan as JSON, too."))))


def _check_target(path: Path, sources: tuple[Path, ...]) -> None:
    check_replaceable(path)
    if any(path.exists() and source.exists() and path.samefile(source) for source in sources):
        raise ProblemError(f"json is {path}, a file that this plan reads: give another file")


def _text(found: Made, pictures: int) -> str:
    plan, profile = found.plan, found.profile
    best, shared = plan.best, plan.shared
    kinds = list(plan.resources.kinds)
    width = max(14, *(len(kind) + 4 for kind in kinds))
    lines = [f"{'stage':9}" + "".join(f"{kind + ' s':>{width}}" for kind in kinds) + "  runs on, instances on each unit"]
    for stage in plan.graph.stages:
        times = "".join(f"{stage.times[kind]:>{width}.4f}" if kind in stage.times else f"{'-':>{width}}" for kind in kinds)
        where = best.where[stage.name]
        units = " ".join(str(unit.get(stage.name, 0)) for unit in shared.placed[where])
        lines.append(f"{stage.name:9}{times}  {where}, {units}: {STAGES[stage.name]}")
    lines.append(f"{PROCESSOR}: medians of {profile.runs} runs of {profile.sweeps} sweeps, {profile.at_once} at once, profiled on "
                 "this computer")
    boards = {name: kind.board for name, kind in found.kinds.items() if name in plan.resources.kinds}
    lines += [f"{name}: predicted, cycles at {board.clock_hz / 1e6:g} MHz and {board.link.bytes_per_s / 1e3:.0f} kB/s of its "
              f"{board.link.kind} link" for name, board in boards.items()]
    lines.append(f"plan: a picture every {shared.interval:.4f} s, {_rate(shared.interval)}; {best.decides} decides"
                 + ("" if best.proven else "; not proven the least, as the solver's time was short"))
    lines.append(f"{pictures} picture{'s' * (pictures > 1)}: {shared.interval * (pictures - 1) + found.alone:.1f} s, the first "
                 f"after {found.alone:.1f} s; {found.under_way} under way at once")
    lines += [f"  {name + ':':20} every {interval:.4f} s, {_rate(interval)}" for name, interval in plan.baselines.items()]
    lines += [f"{name} stays idle: {why}" for name, why in plan.idle.items()]
    return "\n".join(lines)


def _rate(interval: float) -> str:
    return f"{1 / interval:.3g} a second" if interval else "as many as you like"


@click.group("plan", cls=Applications, made=plan_command)
def command() -> None:
    """Say which stage of a run goes on processors and which on boards, from times that are profiled and predicted."""
