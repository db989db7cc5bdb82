"""What `batch` and `video` follow: a plan from a file, or one that is made for the first picture."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.application import request_of
from mrfhw.commands.applications import run
from mrfhw.commands.machine_options import clock_hz, given_options
from mrfhw.cost.links import BoardLink
from mrfhw.fpga.boards import board_named
from mrfhw.fpga.report import kept_clock
from mrfhw.host.links import Address
from mrfhw.jobs.registry import application
from mrfhw.machine.config import Config
from mrfhw.machine.known import stated
from mrfhw.machine.manifest import config_from_options, machine_in, stated_digest
from mrfhw.planning.made import kinds_of, made
from mrfhw.planning.orders import Measured, Orders, machines_at, read_orders
from mrfhw.planning.predicted import Board
from mrfhw.planning.profile import Profile, profiled
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import replaced
from mrfhw.system.processors import processors

__all__ = ["AUTO", "MACHINE", "PLAN", "PlanOptions", "board_to_plan", "followed", "measured",
           "planned_requests", "request_in"]

AUTO = "auto"
MACHINE = "machine.json"  # in a batch's folder, of the boards that sampled
RUNS = 2  # of a profile in each process, that count

PLAN = (  # of which a command makes `PlanOptions`
    click.option("--plan", is_flag=False, flag_value=AUTO, metavar="[FILE]", help="Follow a plan: that of FILE, by mrfhw plan "
                 "--json, or one that is made for the first picture."),
    click.option("--board", "boards", multiple=True, metavar="ADDRESS", help="A board that the plan may use; once for each.  "
                 "[default: those of FILE]"),
    click.option("--clock", type=float, metavar="MHZ", help="Clock of the boards, for a plan that is made."))


def board_to_plan(given: str, machine: Config | None, hz: int | None) -> Board:
    """A board by its name or its address, with this machine or its own. Raises ProblemError or ConfigError."""
    if "://" not in given:
        board = board_named(given)
        config = config_from_options(preset=board.preset) if machine is None else machine
        return Board(given, config, hz or kept_clock(given, config) or board.clock_hz, board.link())
    address = Address.of(given)
    kinds = {"serial": BoardLink("serial", address.baud), "udp": BoardLink("ethernet")}
    if address.scheme not in kinds:
        raise ProblemError(f"board is {given}; what such a link carries in a second is not known: give serial:///dev/PORT, "
                           "udp://HOST, or a board's name such as icebreaker")
    if hz is None:
        raise ProblemError(f"clock is not given; the board at {given} does not tell it: give --clock MHZ")
    return Board(given, machines_at(None)(given) if machine is None else machine, hz, kinds[address.scheme])


def measured(request: Request, page: bool, traced: bool = True) -> Profile:
    """The profile of runs side by side, one for each processor, with a progress bar."""
    at_once = processors()
    with tqdm(total=at_once * (RUNS + 1), desc="profile", unit="run", delay=2, leave=False, disable=None) as bar:
        return profiled(request, at_once, RUNS, page, traced, lambda done, total: bar.update(done - bar.n))


@dataclass(frozen=True)
class PlanOptions:
    """What was given. plan: a file, AUTO, or None. manifest: of the boards' machine, None where they are known."""

    plan: str | None
    boards: tuple[str, ...]
    clock: float | None
    manifest: Path | None = None

    def check(self, **others: Any) -> None:
        """Raise ProblemError for what says nothing without a plan, or not with one. others: options that a plan is in the place
        of, None where they are not given."""
        if self.plan is None:
            given = {"board": self.boards[0] if self.boards else None, "clock": self.clock, "machine": self.manifest}
            for name, value in given.items():
                if value is not None:
                    raise ProblemError(f"{name} is {value}, and there is no plan that uses it: give --plan as well")
            return
        for name, value in others.items():
            if value is not None:
                raise ProblemError(f"{name} is {value}, and a plan says who does what: drop one of the two")
        if self.clock is not None and (self.plan != AUTO or not self.boards):
            raise ProblemError(f"clock is {self.clock:g} MHz; it is of boards of a plan that is made here: leave it out")
        for board in self.boards:
            if "://" not in board:
                raise ProblemError(f"board is {board!r}; a batch samples on boards at addresses: give such as serial:///dev/ttyUSB0")

    def orders(self, first: Callable[[], Request], page: bool = True, video: bool = False) -> Orders | None:
        """What is to be done; None without a plan.

        first: the request of the first picture. page: whether there are pages. video: whether frames follow each other, whose
        samples are not traced. Raises ProblemError.
        """
        if self.plan is None:
            return None
        machine_of = machines_at(None if self.manifest is None else machine_in(self.manifest))
        if self.plan != AUTO:
            return read_orders(Path(self.plan), self.boards, machine_of)
        hz = None if self.clock is None else clock_hz(self.clock)
        known = {address: machine_of(address) for address in dict.fromkeys(self.boards)}
        kinds = kinds_of([board_to_plan(address, known[address], hz) for address in self.boards])
        request = first()
        found = made(request, kinds, lambda: measured(request, page, traced=not video), in_order=video)
        return Orders.of(found.record, "the plan", self.boards, known.__getitem__)

    def machine_file(self, orders: Orders | None, folder: Path) -> Path | None:
        """The manifest of the machine that samples, written into the folder where none was given; None where processors do."""
        if orders is None or orders.machine is None:
            return None
        if self.manifest is not None:
            return self.manifest.absolute()
        with replaced(folder / MACHINE) as file:
            file.write(stated(orders.machine, stated_digest(orders.machine)))
        return folder / MACHINE


@contextlib.contextmanager
def followed(orders: Orders | None) -> Iterator[Measured]:
    """Says what a plan has one do, and afterwards how near it came. Within, `Measured.ended` counts pictures."""
    found = Measured(time.monotonic)
    for line in [] if orders is None else orders.said:
        click.echo(line)
    yield found
    if orders is not None:
        click.echo(found.said(orders))


def request_in(words: Sequence[str], base: Path, where: str) -> Request:
    """What words behind `mrfhw run` ask of `cpu`, with files relative to a folder.

    where: what the words are called. Raises ProblemError where they have what a plan decides, and click.UsageError for words
    that are none.
    """
    app = application(words[0])
    command = run.get_command(click.Context(run), words[0])
    with command.make_context(words[0], list(words[1:])) as context:
        wrong = next((name for name in ("backend", "machine", "preset") if name in given_options()), None)
        if wrong is not None:
            raise ProblemError(f"{where} has --{wrong}; a plan says who samples: leave it out")
        request = request_of(app, "cpu", context.params["chains"])
    return request.with_options(**{name: _in(base, value) for name, value in request.options.items() if name in app.of_files})


def _in(base: Path, value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_in(base, one) for one in value)
    return str(base / value) if isinstance(value, str | Path) and (base / value).exists() else value


def planned_requests(jobs: Iterable[tuple[str, Sequence[str], Path]], orders: Orders | None) -> Iterator[Request]:
    """What jobs ask, each of (what it is called, its words, the folder of its files), but for those whose words are none.

    Raises ProblemError for one that a plan is not for. orders: None where none is made yet.
    """
    for where, words, base in jobs:
        if orders is not None:
            orders.check(words[0], f"{where} is {words[0]}")
        with contextlib.suppress(click.ClickException):
            yield request_in(words, base, where)
