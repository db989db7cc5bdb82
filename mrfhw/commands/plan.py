"""`mrfhw plan X`: which stage of `mrfhw run X` runs where, and how often a picture ends then."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.application import VISIT, options_on
from mrfhw.commands.applications import Applications
from mrfhw.commands.machine_options import OneLineCommand, clock_hz, given_options
from mrfhw.cost.links import BoardLink
from mrfhw.field.problem import ProblemError
from mrfhw.fpga.boards import board_named
from mrfhw.fpga.report import kept_clock
from mrfhw.jobs.application import Application
from mrfhw.jobs.job import Job
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.manifest import NAMES, config_from_options
from mrfhw.planning.graph import Resources
from mrfhw.planning.pipeline import PROCESSOR, Planned, graph_of, link_of, planned
from mrfhw.planning.predicted import Board, OnBoard, on_board
from mrfhw.planning.profile import STAGES, Profile, profiled
from mrfhw.runs.request import Request
from mrfhw.system.files import check_replaceable, replaced
from mrfhw.system.processors import processors

__all__ = ["command"]

RUNS = 2  # in each process, that count
MOST_PICTURES = 10**9


def _board(given: str, options: dict[str, Any], hz: int | None) -> Board:
    """A board by its name or its address, with the machine of the options or its own. Raises ProblemError or ConfigError."""
    own = bool(given_options() & set(NAMES))
    if "://" not in given:
        board = board_named(given)
        config = config_from_options(**options) if own else config_from_options(preset=board.preset)
        return Board(given, config, hz or kept_clock(given, config) or board.clock_hz, board.link())
    from mrfhw.host.identity import machine_at
    from mrfhw.host.links import Address

    address = Address.of(given)
    kinds = {"serial": BoardLink("serial", address.baud), "udp": BoardLink("ethernet")}
    if address.scheme not in kinds:
        raise ProblemError(f"board is {given}; what such a link carries in a second is not known: give serial:///dev/PORT, "
                           "udp://HOST, or a board's name such as icebreaker")
    if hz is None:
        raise ProblemError(f"clock is not given; the board at {given} does not tell it: give --clock MHZ")
    machine = config_from_options(**options) if own else machine_at(given)
    if machine is None:
        raise ProblemError(f"board is {given}, whose machine was not generated on this computer: give --machine MANIFEST")
    return Board(given, machine, hz, kinds[address.scheme])


def _boards(given: tuple[str, ...], options: dict[str, Any], clock: float | None) -> dict[str, tuple[Board, int]]:
    """By name what was given and how often; a machine without a board is one on a serial link."""
    hz = None if clock is None else clock_hz(clock)
    if not given and given_options() & set(NAMES):
        config: Config = config_from_options(**options)
        if hz is None:
            raise ProblemError("clock is not given; a machine's cycles are no seconds without it: give --clock MHZ, or "
                               "--board NAME")
        return {"machine": (Board("machine", config, hz, BoardLink()), 1)}
    if not given and hz is not None:
        raise ProblemError(f"clock is {clock:g} MHz; it is a machine's: give --board NAME or --machine as well, or leave it out")
    return {name: (_board(name, options, hz), count) for name, count in Counter(given).items()}


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
        jobs, unfit = {}, {}
        for name, (board, _) in found.items():
            try:
                jobs[name] = Request(app.verb, backend="model", machine=board.config, chains=chains, visit=visit, **own).job()
            except (ProblemError, ConfigError) as error:
                unfit[name] = str(error)
        for doubt in job.doubts:
            click.echo(doubt, err=True)
        profile = measured(request, page=not no_report)
        on_boards: dict[str, dict[str, OnBoard]] = {}
        for name, its_job in jobs.items():
            try:
                _check_same(job, its_job)
                on_boards[name] = on_board(found[name][0], its_job, its_job.settings["chains"], profile.sweeps, visit)
            except (ProblemError, ConfigError) as error:
                unfit[name] = str(error)
        resources = Resources({PROCESSOR: processors(), **{name: found[name][1] for name in on_boards}},
                              {link_of(name): found[name][1] for name in on_boards})
        plan = planned(graph_of(profile, on_boards), resources, unfit=unfit)
        click.echo(_text(plan, profile, {name: found[name][0] for name in on_boards}, pictures))
        if as_json is not None:
            rests = {PROCESSOR: f"medians of {profile.runs} runs, {profile.at_once} at once, profiled on this computer"}
            rests |= {name: f"predicted: cycles at {found[name][0].clock_hz / 1e6:g} MHz, its link"
                      for name in on_boards}
            record = {**plan.record, "application": app.verb, "sweeps": profile.sweeps, "rests_on": rests}
            with replaced(as_json) as file:
                file.write((json.dumps(record, indent=2, allow_nan=False) + "\n").encode())

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


def measured(request: Request, page: bool) -> Profile:
    """The profile, with a progress bar."""
    at_once = processors()
    with tqdm(total=at_once * (RUNS + 1), desc="profile", unit="run", delay=2, leave=False, disable=None) as bar:
        return profiled(request, at_once, RUNS, page, lambda done, total: bar.update(done - bar.n))


def _check_same(job: Job, of_board: Job) -> None:
    """Raise ProblemError where a board's machine would sample another field than the processors do."""
    one, other = job.problem.singleton, of_board.problem.singleton
    if one != other or (job.first is None) != (of_board.first is None):
        raise ProblemError(f"its machine's field has {other} costs, and that of the processors {one} ones: give --data, or a "
                           "machine for these")


def _check_target(path: Path, sources: tuple[Path, ...]) -> None:
    check_replaceable(path)
    if any(path.exists() and source.exists() and path.samefile(source) for source in sources):
        raise ProblemError(f"json is {path}, a file that this plan reads: give another file")


def _text(plan: Planned, profile: Profile, boards: dict[str, Board], pictures: int) -> str:
    best, shared = plan.best, plan.shared
    kinds = list(plan.resources.kinds)
    width = max(14, *(len(kind) + 2 for kind in kinds))
    lines = [f"{'stage':9}" + "".join(f"{kind + ' s':>{width}}" for kind in kinds) + "  runs on, instances on each unit"]
    for stage in plan.graph.stages:
        times = "".join(f"{stage.times[kind]:>{width}.4f}" if kind in stage.times else f"{'-':>{width}}" for kind in kinds)
        where = best.where[stage.name]
        units = " ".join(str(unit.get(stage.name, 0)) for unit in shared.placed[where])
        lines.append(f"{stage.name:9}{times}  {where}, {units}: {STAGES[stage.name]}")
    lines.append(f"{PROCESSOR}: medians of {profile.runs} runs of {profile.sweeps} sweeps, {profile.at_once} at once, profiled on "
                 "this computer")
    lines += [f"{name}: predicted, cycles at {board.clock_hz / 1e6:g} MHz and {board.link.bytes_per_s / 1e3:.0f} kB/s of its "
              f"{board.link.kind} link" for name, board in boards.items()]
    lines.append(f"plan: a picture every {shared.interval:.4f} s, {_rate(shared.interval)}; {best.decides} decides"
                 + ("" if best.proven else "; not proven the least, as the solver's time was short"))
    alone = _alone(plan)
    lines.append(f"{pictures} picture{'s' * (pictures > 1)}: {shared.interval * (pictures - 1) + alone:.1f} s, the first after "
                 f"{alone:.1f} s")
    lines += [f"  {name + ':':20} every {interval:.4f} s, {_rate(interval)}" for name, interval in plan.baselines.items()]
    lines += [f"{name} stays idle: {why}" for name, why in plan.idle.items()]
    return "\n".join(lines)


def _rate(interval: float) -> str:
    return f"{1 / interval:.3g} a second" if interval else "as many as you like"


def _alone(plan: Planned) -> float:
    """Seconds of one picture by itself: its stages, and what is carried and converted between them."""
    where = plan.best.where
    total = sum(stage.times[where[stage.name]] for stage in plan.graph.stages)
    for edge in plan.graph.edges:
        crossing = edge.crossings.get((where[edge.source], where[edge.target]))
        if crossing is not None:
            total += sum(crossing.carried.values()) + crossing.converting
    return total


@click.group("plan", cls=Applications, made=plan_command)
def command() -> None:
    """Say which stage of a run goes on processors and which on boards, from times that are profiled and predicted."""
