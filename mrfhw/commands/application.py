"""`run X` and `verify X` of any application, made from its options and its job."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.analysis.convergence import mixed, more_helps
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.backends import plan as backends
from mrfhw.backends.registry import AUTO, WAVE_CYCLES
from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import (
    OneLineCommand,
    Rare,
    as_given,
    clock_hz,
    given_options,
    machine_options,
)
from mrfhw.commands.options import Decorator, click_option
from mrfhw.field.problem import ProblemError, Run
from mrfhw.field.result import Result, first_difference
from mrfhw.jobs.application import Application
from mrfhw.jobs.job import Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.report import outputs
from mrfhw.report.figures import MIXING
from mrfhw.report.targets import check_apart, check_folder, check_records
from mrfhw.runs.chains import Watch
from mrfhw.runs.checkpoint import EVERY, Keeping, pauses_of
from mrfhw.runs.choice import check_useful, chosen_backend
from mrfhw.runs.first import Turn, prepared
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner, Solved
from mrfhw.system.second_process import Begin, SecondProcess, here

__all__ = ["Elsewhere", "options_on", "request_of", "run_command", "solved", "verify_command"]


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """In a context's `obj`, of a run that is done in another folder than it was asked for. words: as they were given, by what
    stands for them there."""

    words: Mapping[str, str]

    def said(self, text: str) -> str:
        """What is said there as it is to be read."""
        for there, word in sorted(self.words.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(there, word)
        return text


def request_of(app: Application, backend: str, chains: int | None = None, visit: int | None = None) -> Request:
    """What the command under way asks for. Raises ProblemError."""
    context, known = click.get_current_context(), {*app.arguments, *app.defaults}
    options = {name: context.params[name] for name in sorted(given_options() & known)}
    return Request(app.verb, backend=backend, machine=options.pop("machine", None), chains=chains, visit=visit, **options)


def options_on(app: Application, function: Callable[..., Any], run: Sequence[Decorator] = (),
               arguments: Sequence[str] | None = None) -> Callable[..., Any]:
    """`function` with the arguments and options of the application, those of its run, and those of the machine. arguments: other
    ones than the application's."""
    function = machine_options(function)
    arguments = app.arguments if arguments is None else arguments
    decorators: list[Decorator] = [*map(click.argument, arguments), *map(click_option, app.options), *run,
                                   *map(click_option, app.common)]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


VISIT = click.option("--visit", cls=Rare, type=int, metavar="K",
                     help="Sweeps of a window at a time, where the picture is larger than the machine.  "
                     f"[default: {backends.VISIT}, or fewer where the diagnostics need more looks or a run may go on]")


def _bar(backend: str, sweeps: int) -> tqdm:
    """A progress bar on a terminal's stderr, from the second second on."""
    return tqdm(total=sweeps, desc=backend, unit="sweep", delay=2, mininterval=0.5, leave=False, disable=None)


class Bars(Watch):
    """A progress bar for what comes first, and one for the chains, which says where they go on; a context manager."""

    def __init__(self, backend: str):
        self._backend, self._shown, self._note = backend, contextlib.ExitStack(), ""
        self._bar: tqdm | None = None
        self._of = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._shown.close()

    def _at(self, of: str, done: int, total: int) -> None:
        if self._bar is None or of != self._of:
            self._shown.close()
            self._bar, self._of = self._shown.enter_context(_bar(of, total)), of
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def first(self, done: int, total: int) -> None:
        self._at(f"{self._backend}, first", done, total)

    def sweeps(self, done: int, total: int) -> None:
        self._at(f"{self._backend}{self._note}", done, total)

    def going_on(self, run: Run) -> None:
        self._note = ", not converged yet"


def _judge(trace: Trace, times: float, scale: LabelScale) -> bool:
    """`more_helps`, by the process that has imported what that takes."""
    return bool(_begin()(more_helps, trace, times, scale)())


def solved(runner: Runner) -> Solved:
    """What its only request has come to."""
    return runner.result()[0]


def one_with_bar(backend: str, job: Job, visit: int | None) -> Result:
    """One chain's result on one machine, with a progress bar."""
    with _bar(backend, job.run.sweeps) as bar:
        return backends.solve(backend, job.machine, job.problem, job.run, lambda done: bar.update(done - bar.n), visit=visit)


def _summary(report: dict[str, Any], directory: Path, job: Job) -> str:
    lines = [job.labels_found] if job.labels_found else []
    lines += [f"{report['label_evaluations']} label evaluations in {report['wall_seconds']:.2f} s by {report['backend']}"]
    if report["first"] is not None:
        lines.append(f"{report['first']['label_evaluations']} before that, in {report['first']['wall_seconds']:.2f} s")
    if report["cycles"] is not None:
        lines.append(f"{report['cycles']} cycles, utilization {report['utilization']:.4f}, "
                     f"{report['stall_cycles']} stall cycles, {report['log_messages']} log messages")
    lines += [job.application.describe(name, value) for name, value in report["metrics"].items() if value is not None]
    if (said := mixed(report["convergence"])) is not None:
        shown = report["convergence"]["sites"]["not_mixed"] and MIXING in report["files"]
        lines.append(f"convergence: {said}" + (f", as {MIXING} shows" if shown else ""))
    lines.append(f"wrote {', '.join(report['files'])} to {directory}")
    if "report.html" in report["files"]:
        lines.append(f"all of it on one page: {directory / 'report.html'}")
    return "\n".join([*lines, *report["warnings"]])


def _command_line() -> str:
    """The command as it was given, for a shell: arguments and options, without what was left to the defaults."""
    context = click.get_current_context()
    words, given = context.command_path.split(), as_given()
    for parameter in context.command.params:
        if parameter.name not in given:
            continue
        value = given[parameter.name]
        option = [] if isinstance(parameter, click.Argument) else [parameter.opts[-1]]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            words += option
        elif isinstance(value, tuple) and parameter.multiple:
            words += [word for one in value for word in (*option, str(one))]
        else:
            words += [*option, "x".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return shlex.join(words if not isinstance(context.obj, Elsewhere) else [context.obj.words.get(word, word) for word in words])


def _sources(job: Job, *others: Path | None) -> list[Path]:
    """The files that this command reads: the job's, a manifest, and others."""
    manifest = click.get_current_context().params["machine"]
    return [*job.sources, *(Path(name) for name in (manifest, *others) if name is not None)]


def _begin() -> Begin:
    """How this command's diagnostics and figures are made."""
    beside = click.get_current_context().obj
    return beside.begin if isinstance(beside, SecondProcess) else here


def _turn() -> Turn:
    """Within which this command samples."""
    found: Turn = getattr(click.get_current_context().obj, "turn", contextlib.nullcontext)
    return found


def _keeping(checkpoint: Path | None, every: str | None, resume: Path | None) -> Keeping:
    """Raises ProblemError for a time without a file, and for what is no time."""
    if every is not None and checkpoint is None:
        raise ProblemError(f"checkpoint-every is {every}, but there is no file to write to: give --checkpoint FILE as well")
    return Keeping(checkpoint, None if checkpoint is None else pauses_of(EVERY if every is None else every), resume)


def run_command(app: Application) -> click.Command:
    """`mrfhw run VERB`: solve a problem and write the answer."""

    def command(backend: str, chains: int | None, visit: int | None, clock: float | None, output: Path, no_report: bool,
                save_problem: Path | None, checkpoint: Path | None, checkpoint_every: str | None, resume: Path | None,
                **options: Any) -> None:
        hz = None if clock is None else clock_hz(clock)
        request = request_of(app, chosen_backend(backend, given_options()), chains, visit)
        check_useful(request.backend, given_options(), visit, clock)
        with Bars(request.backend) as bars, Runner(request, keeping=_keeping(checkpoint, checkpoint_every, resume), add_up=True,
                                                   watch=bars, judge=_judge, turn=_turn()) as runner:
            job = runner.prepare()
            sources, names = _sources(job, resume), outputs.may_write(job)
            check_folder(output, names, sources)
            records = {"save-problem": (save_problem, "problem"), "checkpoint": (checkpoint, "checkpoint")}
            if save_problem is not None and job.fields is not None:
                raise ProblemError(f"save-problem is {save_problem}; a picture in colour is {len(job.problems)} fields, and a file "
                                   "holds one: give a grey picture, or leave save-problem out")
            check_records({option: (path, kind) for option, (path, kind) in records.items() if path is not None}, output, names,
                          [path for path in sources if path not in (checkpoint, resume)])
            for said in (*job.doubts, *job.warnings):
                click.echo(said, err=True)
            found = solved(runner)
        job = found.job
        report = outputs.write_outputs(output, job, found.solution, command=_command_line(), clock_hz=hz, page=not no_report,
                                       begin=_begin())
        if save_problem is not None:
            job.problem.save(save_problem, job.run)
        click.echo(_summary(report, output, job))
        _say_notes(job)

    return click.command(app.verb, cls=OneLineCommand, help=app.summary)(options_on(app, command, (
        click.option("--backend", default=AUTO, show_default=True,
                     help=f"Who solves it: {', '.join(backends.BACKENDS)}, or a board's address such as serial:///dev/ttyUSB0. "
                     f"{AUTO}: model where anything of a machine is given, else cpu."),
        click.option("--chains", type=int, metavar="N",
                     help="Independent chains.  [default: 2; 1 where the last labels are the answer]"),
        VISIT,
        click.option("--clock", cls=Rare, type=float, metavar="MHZ",
                     help="Clock at which report.html has the machine's cycles as time."),
        click.option("-o", "--output", type=Folder(), default=Path("out") / app.verb, show_default=True,
                     metavar="DIR", help="Directory for the files; made where it is missing."),
        click.option("--no-report", cls=Rare, is_flag=True,
                     help="Write numbers and arrays alone, without figures and report.html."),
        click.option("--save-problem", cls=Rare, type=click.Path(path_type=Path), metavar="FILE",
                     help="Write the field as well, with its sweeps and seed, for run problem."),
        click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE",
                     help="Keep the run in FILE while it lasts, so that --resume can go on with it."),
        click.option("--checkpoint-every", cls=Rare, metavar="TIME",
                     help=f"How often: seconds such as 60s, or sweeps such as 100.  [default: {EVERY}]"),
        click.option("--resume", type=click.Path(path_type=Path), metavar="FILE",
                     help="Go on from a checkpoint, with the options that it was written with."),
    )))


def verify_command(app: Application) -> click.Command:
    """`mrfhw verify VERB`: the same problem by the generated hardware and by its model."""

    def command(backend: str, visit: int | None, output: Path | None, waves: Path | None, **options: Any) -> None:
        if backend != "rtl" and "://" not in backend:
            raise ProblemError(f"backend is {backend!r}; hardware that is compared with the model is rtl, or a board at an "
                               "address: give one of them")
        if "most_sweeps" in given_options():
            raise ProblemError(f"most-sweeps is {options['most_sweeps']}; verify compares runs of the sweeps they have: give "
                               "sweeps")
        request = request_of(app, "model" if backend == "rtl" else backend, visit=visit)
        job = request.job()
        if output is not None:
            check_folder(output, outputs.may_write(job), _sources(job))
        if waves is not None:
            if backend != "rtl":
                raise ProblemError(f"waves is {waves}; only a compiled chip's signals are followed: leave --backend or --waves out")
            if waves.suffix.lower() != ".vcd":
                raise ProblemError(f"waves is {waves}; the signals are written as VCD: give a name that ends in .vcd")
            check_apart("waves", waves, _sources(job))
        with Bars("model") as bars:
            job = prepared("model", job, visit, bars.first)
        by_rtl, differences = [], []
        for number, problem in enumerate(job.problems):
            field = dataclasses.replace(job, problem=problem)
            by = backend if waves is None or number else f"rtl?waves={waves}"
            rtl, model = (one_with_bar(one, field, visit) for one in (by, "model"))
            by_rtl.append(rtl)
            # A link that is slower than the log stalls a board, and windows of one may be visited otherwise.
            differences.append(first_difference(rtl if backend == "rtl" else dataclasses.replace(
                rtl, **{name: getattr(model, name) for name in ("cycles", "stall_cycles", "gap_cycles")}), model))
            if job.fields is not None:
                click.echo(f"{job.fields.names[number]}:")
            if differences[-1] is None:
                _say_equal(field, rtl, "rtl" if backend == "rtl" else f"the board at {backend}")
            else:
                click.echo(f"different: {differences[-1]}")
        if output is not None:
            first, *others = [Solution(results=[rtl]) for rtl in by_rtl]
            report = outputs.write_outputs(output, job, dataclasses.replace(first, beside=tuple(others)), command=_command_line())
            click.echo(_summary(report, output, job))
        _say_notes(job)
        click.get_current_context().exit(0 if not any(differences) else 1)

    kept = click.option("-o", "--output", type=Folder(), metavar="DIR",
                        help="Where to write the hardware's answer, should it be kept.")
    hardware = click.option("--backend", default="rtl", show_default=True, metavar="rtl|ADDRESS",
                            help="The hardware: rtl, the compiled chip, or a board's address, of which cycles are not compared.")
    waves = click.option("--waves", cls=Rare, type=click.Path(path_type=Path), metavar="FILE.vcd",
                         help=f"Write each signal of the compiled chip in its first {WAVE_CYCLES:,} cycles, for GTKWave or Surfer.")
    summary = f"{app.summary} By rtl and by model; exit code 1 where they differ."
    made = click.command(app.verb, cls=OneLineCommand, help=summary)(options_on(app, command, (hardware, VISIT, kept, waves)))
    for option in made.params:
        if isinstance(option, click.Option) and option.name == "most_sweeps":
            option.hidden = True  # understood, and refused
    return made


def _say_notes(job: Job) -> None:
    """What is to be said of the inputs, on stderr; after the answer, because a mistake is one line alone."""
    for note in job.notes:
        if note not in job.warnings:  # which were said before
            click.echo(note, err=True)


def _say_equal(job: Job, rtl: Result, by: str) -> None:
    lmem = "the same LMem, " if rtl.lmem is not None else ""  # of windows, only the histogram is kept
    kept, whole = "", ""
    if rtl.counts is not None:
        kept = f"the same histogram of {int(rtl.counts.sum())} samples, "
        full = int((rtl.counts.sum(-1) == job.run.counted).sum())
        whole = (f"; the histogram of {full} of {job.problem.unclamped_sites} unclamped sites sums to the {job.run.counted} "
                 "counted sweeps")
    if rtl.sums is not None:
        kept = f"the same sums of {int(rtl.sums[..., 1].sum())} samples, "
    click.echo(f"equal: {by} and model have the same labels at {job.problem.sites} sites, {kept}{lmem}"
               + (f"{rtl.log_messages} log messages and {rtl.cycles} cycles" if by == "rtl" else
                  f"and {rtl.log_messages} log messages; the board took {rtl.cycles} cycles"))
    click.echo(f"utilization {rtl.utilization or 0:.4f}, {rtl.stall_cycles} stall cycles{whole}")
