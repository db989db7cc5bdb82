"""`mrfhw video`: the frames of a video, one after the other, each in a folder of its own, and a film of the answers."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.applications.answer import Answer
from mrfhw.applications.shots import OUT, on_shots
from mrfhw.applications.video import SWEEPS, Done, Link, in_order, labels_for_all, some_of
from mrfhw.commands.application import VISIT, options_on, request_of
from mrfhw.commands.applications import Applications
from mrfhw.commands.cluster import CLUSTER, check_cluster, say_above_bar
from mrfhw.commands.folder import Folder
from mrfhw.commands.journal import Ended, Journal
from mrfhw.commands.machine_options import OneLineCommand, given_options
from mrfhw.commands.planned import PLAN, PlanOptions, followed
from mrfhw.field.archive import read_npy
from mrfhw.jobs.application import Application
from mrfhw.jobs.job import Job
from mrfhw.jobs.registry import application
from mrfhw.machine.manifest import NAMES
from mrfhw.pictures.frames import Frame, Frames
from mrfhw.planning.orders import Orders
from mrfhw.report.batch_page import page
from mrfhw.report.film import frame_picture, write_film
from mrfhw.report.outputs import write_received
from mrfhw.runs.choice import chosen_backend
from mrfhw.runs.request import Request
from mrfhw.system.cluster import Cluster
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import check_writable, replaced
from mrfhw.system.processors import processors

__all__ = ["video"]

JOURNAL, INDEX, FILM, SHOWN = "video.jsonl", "index.html", "film.webp", "shown"


@dataclass(frozen=True, eq=False)
class _One:
    """A frame's request, and what it is called. number: from 1."""

    number: int
    request: Request
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.number:04}"

    def digest(self, before: str) -> str:
        """Of the request and of the frame before, of which the bits depend."""
        return hashlib.sha256(f"{self.request.digest}{before}".encode()).hexdigest()


class _Sources:
    """The frames of a video as requests.

    asked: with all options but the frames. words: the folders, patterns or files of the frames, one for each picture of a frame, or
    one of a frame and the next; options: files of which each frame has one of its own.
    """

    def __init__(self, asked: Request, app: Application, words: Sequence[str]):
        self.asked, self._app = asked, app
        self._pictures = [Frames(word) for word in words]
        self._own = {name: Frames(value) for name, value in asked.options.items()
                     if name in app.of_files and isinstance(value, str) and (Path(value).is_dir() or set(value) & set("*?"))}
        if app.in_time and len(self._pictures[0]) < 2:
            raise ProblemError(f"{words[0]} has 1 frame; a motion is that of a frame to the next: give 2 or more")
        self.count = len(self._pictures[0]) - app.in_time
        for word, frames in zip([*words[1:], *(str(asked.options[name]) for name in self._own)],
                                [*self._pictures[1:], *self._own.values()], strict=True):
            if not self.count <= len(frames) <= self.count + app.in_time:
                raise ProblemError(f"{word} has {len(frames)} frames, and {words[0]} has {len(self._pictures[0])}: give as many of "
                                   "both")

    def __iter__(self) -> Iterator[_One]:
        pictures = self._pictures[0].pairs() if self._app.in_time else zip(*self._pictures, strict=True)
        beside = zip(*self._own.values(), strict=False) if self._own else iter(lambda: (), None)
        for number, (shown, own) in enumerate(zip(pictures, beside, strict=False), 1):
            yield self._of(number, shown, own)

    def _of(self, number: int, shown: Sequence[Frame], own: Sequence[Frame]) -> _One:
        more = dict(zip([*self._app.arguments, *self._own], [frame.given for frame in (*shown, *own)], strict=True))
        return _One(number, self.asked.with_options(**more), tuple(frame.name for frame in shown))

    @property
    def folders(self) -> set[Path]:
        """Where frames that are files lie."""
        return {path.resolve().parent for frames in (*self._pictures, *self._own.values()) for path in frames.files}

    def jobs(self) -> list[Job]:
        """Of some frames, the first among them; of others those that can be read."""
        wanted = {1 + number for number in some_of(self.count)}
        found = []
        for one in self:
            if one.number in wanted:
                try:
                    found.append(one.request.job())
                except ProblemError:
                    if one.number == 1:
                        raise
        return found


@dataclass(frozen=True)
class _Save:
    """Writes a frame's files: what is done with its answer."""

    output: Path

    def __call__(self, answer: Answer, number: int) -> None:
        name = f"{number:04}"
        with replaced(self.output / SHOWN / f"{name}.png") as file:
            frame_picture(*answer.parts).save(file, format="PNG", compress_level=3)
        answer.save(self.output / name, report=False)


def video_command(app: Application) -> click.Command:
    """`mrfhw video VERB`."""

    def command(backend: str, chains: int | None, visit: int | None, output: Path, workers: int | None, cluster: str | None,
                plan: str | None, boards: tuple[str, ...], clock: float | None, shot: int | None,
                resume: bool, rate: float, **options: Any) -> None:
        if workers is not None and workers < 1:
            raise ProblemError(f"workers is {workers}; at least one frame is done at a time: give 1 or more")
        if shot is not None and shot < 1:
            raise ProblemError(f"shot is {shot}; a shot has at least one frame: give 1 or more")
        check_cluster(cluster, workers)
        follows = _plan_options(plan, boards, clock, workers=workers, cluster=cluster, visit=visit)
        if not 0.1 <= rate <= 100:
            raise ProblemError(f"rate is {rate:g}; the limits are 0.1 to 100 frames a second: give a rate between them")
        if "most_sweeps" in given_options():
            raise ProblemError(f"most-sweeps is {options['most_sweeps']}; a frame has as many sweeps as the others: give sweeps")
        asked = request_of(app, chosen_backend(backend, given_options()) if plan is None else "cpu", chains, visit)
        if plan is not None:
            asked = asked.with_options(machine=None)
        asked = asked.with_options(**{"sweeps": SWEEPS, **asked.options})
        context = click.get_current_context()
        words = [context.params[name] for name in app.arguments[: 1 if app.in_time else None]]
        sources = _Sources(asked, app, words)
        jobs = sources.jobs()
        before = {} if jobs[0].first is None else app.of_video
        sources.asked = asked.with_options(**{**before, **asked.options, **labels_for_all(jobs)})
        check_writable(output)
        output = output.absolute()
        if (output / SHOWN).resolve() in sources.folders:
            raise ProblemError(f"output is {output}, whose folder {SHOWN} has frames of the video, and would have others: give "
                               "another folder")
        orders = follows.orders(lambda: next(iter(sources)).request, page=False, video=True)
        if orders is not None:
            orders.check(app.verb)
            sources.asked = orders.request(sources.asked)
        with contextlib.ExitStack() as held:
            there = None if cluster is None else held.enter_context(Cluster(cluster, say_above_bar))
            journal = held.enter_context(Journal(output / JOURNAL, resume))
            where = there or orders or workers or processors()
            failed = _run_all(sources, jobs[0].problem.shape, output, journal, where, rate, shot)
        click.echo(f"{sources.count - failed} of {sources.count} frames are done" + (f", {failed} failed" if failed else "")
                   + f": {output / INDEX}\nof {asked.options['sweeps']} sweeps a frame no convergence is computed: mrfhw run "
                   f"{app.verb} on a frame says how many it needs")
        context.exit(1 if failed else 0)

    made: Any = command
    arguments = app.arguments[:1] if app.in_time else app.arguments
    return click.command(app.verb, cls=OneLineCommand, help=_help(app))(options_on(app, made, (
        click.option("--backend", default="auto", show_default=True, help="Who solves it, as of mrfhw run."),
        click.option("--chains", type=int, metavar="N", help="Independent chains of each frame.  [default: 2]"),
        VISIT,
        click.option("-o", "--output", type=Folder(), default=Path("out") / "video", show_default=True, metavar="DIR",
                     help="Directory for the frames' folders, index.html and film.webp; made where it is missing."),
        click.option("--workers", type=int, metavar="N", help="Frames at a time, of one thread each.  [default: one for each "
                     "processor]"),
        CLUSTER,
        *PLAN,
        click.option("--shot", type=int, metavar="N", help="Every N frames are a shot, whose first one starts from its own "
                     "pictures alone; shots are done side by side.  [default: all frames are one]"),
        click.option("--rate", type=float, default=10.0, show_default=True, metavar="FPS", help="Frames a second of the film."),
        click.option("--resume", is_flag=True, help="Go on behind what has ended well with the same options and files."),
    ), arguments))


def _help(app: Application) -> str:
    what = app.summary
    return (f"{what} Of a video, frame by frame.\n\nEach of the names is a folder of pictures, a pattern such as 'left/*.png' or a "
            "video file, and so may be --truth's. A frame starts from what its own pictures say, and where the other one hides it "
            "from the labels of the frame before. The labels are the same in all frames.")


def _plan_options(plan: str | None, boards: tuple[str, ...], clock: float | None, **others: Any) -> PlanOptions:
    """The options of a plan, checked with others that it is in the place of. Raises ProblemError."""
    if plan is None:
        found = PlanOptions(plan, boards, clock)
    else:
        manifest = click.get_current_context().params["machine"]
        found = PlanOptions(plan, boards, clock, None if manifest is None else Path(manifest))
        others |= {name: click.get_current_context().params[name] for name in ("backend", *NAMES)
                   if name in given_options() and name != "machine"}
    found.check(**others)
    return found


class _Video:
    """What is done of a video, and what is left. shot: frames of a shot, None where all are one."""

    def __init__(self, sources: _Sources, output: Path, journal: Journal, shot: int | None):
        self._sources, self._output, self._journal, self._shot = sources, output, journal, shot
        self._digests = self._kept()
        self.kept = len(self._digests)
        self._ones: dict[int, _One] = {}

    def _begins(self, number: int) -> bool:
        return number == 1 or (self._shot is not None and (number - 1) % self._shot == 0)

    def _kept(self) -> dict[int, str]:
        """The digests of the frames, from the first of each shot on, that have ended well with the same request."""
        digests: dict[int, str] = {}
        for one in self._sources:
            before = "" if self._begins(one.number) else digests.get(one.number - 1)
            former = self._journal.ended.get(one.name)
            written = self._output / one.name / "labels.npy", self._output / SHOWN / f"{one.name}.png"
            there = all(path.is_file() for path in written)
            if before is not None and former is not None and not former.code and there and former.digest == one.digest(before):
                digests[one.number] = former.digest
        for name in [name for name in self._journal.ended if int(name) not in digests]:
            del self._journal.ended[name]
        return digests

    def left(self) -> Iterator[Link]:
        kept = set(self._digests)
        for one in self._sources:
            if one.number not in kept:
                self._ones[one.number] = one
                follows = one.number - 1 in kept and not self._begins(one.number)
                before = (read_npy(self._output / f"{one.number - 1:04}" / "labels.npy", "labels", "leave resume out")
                          if follows else None)
                yield Link(one.number, one.request, follows or self._begins(one.number), before)

    def ended(self, number: int, outcome: Done | Exception) -> Ended:
        """A frame that has ended, as it is kept. Those of a shot come in order."""
        # What cannot be read any more has no request.
        one = self._ones.pop(number, None)
        before = "" if self._begins(number) else self._digests.get(number - 1, "")
        digest = "" if one is None else one.digest(before)
        said, seconds, busy = (("", outcome.seconds, outcome.processor_seconds) if isinstance(outcome, Done)
                               else (str(outcome), 0.0, 0.0))
        if isinstance(outcome, Done):
            self._digests[number] = digest
        ended = Ended(f"{number:04}", [self._sources.asked.application, *(() if one is None else one.names)], digest,
                      int(not isinstance(outcome, Done)), said, seconds, busy)
        self._journal.add(ended)
        return ended

    def received(self, link: Link, files: dict[str, bytes]) -> None:
        """Write what a worker elsewhere has made of a frame, which calls its files by their paths here."""
        folder, request = f"{link.number:04}", link.request
        own = {Path(name).name: data for name, data in files.items() if Path(name).parts[0] == folder}
        report = json.loads(own["report.json"])
        report["settings"] |= {name: str(value) for name, value in request.options.items()
                               if name in report["settings"] and isinstance(value, str | Path)}
        own["report.json"] = (json.dumps(report, indent=2) + "\n").encode()
        shown = f"{SHOWN}/{folder}.png"
        with replaced(self._output / shown) as file:
            file.write(files[shown])
        write_received(self._output / folder, own, application(request.application), ())


def _run_all(sources: _Sources, shape: tuple[int, ...], output: Path, journal: Journal, where: int | Cluster | Orders,
             rate: float, shot: int | None) -> int:
    """Run what has not ended, by so many processes, on a cluster or as a plan says; how many frames have failed."""
    done, failed, rows, cols = _Video(sources, output, journal, shot), 0, *shape
    orders = where if isinstance(where, Orders) else None
    if isinstance(where, Cluster):
        outcomes = on_shots(done.left(), (rows, cols), _Save(OUT), where, done.received)
    else:
        workers, lanes = (where, None) if isinstance(where, int) else (where.under_way, where.lanes(say_above_bar))
        outcomes = in_order(done.left(), (rows, cols), _Save(output), workers, lanes)
    with (followed(orders) as measured,
          tqdm(total=sources.count, initial=done.kept, desc="video", unit="frame", leave=False, disable=None) as bar,
          contextlib.closing(outcomes)):
        for number, outcome in outcomes:
            ended = done.ended(number, outcome)
            failed += ended.code
            measured.ended()
            bar.update()
            if ended.code:
                tqdm.write(ended.line)
    failed += sources.count - len(journal.ended)
    _write_page(sources, output, journal, rate)
    return failed


def _write_page(sources: _Sources, output: Path, journal: Journal, rate: float) -> None:
    shown = [path for name, ended in sorted(journal.ended.items())
             if not ended.code and (path := output / SHOWN / f"{name}.png").is_file()]
    if shown:
        write_film(shown, rate, output / FILM)
    with replaced(output / INDEX) as file:
        file.write(page(journal.reports(), sources.count, "Video", FILM if shown else "",
                        lambda name: f"{SHOWN}/{name}.png").encode())


@click.group(cls=Applications, made=video_command, only=lambda app: app.of_pictures)
def video() -> None:
    """Solve the frames of a video one after the other, and write a film of the answers."""
