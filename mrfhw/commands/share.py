"""`mrfhw share`: a board, or a compiled chip, that several programs use at once, by a policy."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mrfhw.backends.registry import backend_type
from mrfhw.commands.machine_options import OneLineCommand, machine_options
from mrfhw.machine.config import Config
from mrfhw.machine.manifest import config_from_options
from mrfhw.placement.windows import VISIT
from mrfhw.sharing.board import SharedBoard
from mrfhw.sharing.messages import SCHEME, Address
from mrfhw.sharing.policies import Clusters, WeightedFair
from mrfhw.sharing.policy import Policy
from mrfhw.sharing.serving import listening
from mrfhw.system.errors import ProblemError

__all__ = ["command"]

POLICIES: dict[str, Callable[[Config], Policy]] = {
    "in-order": lambda config: Clusters(config.seats), "fair": lambda config: WeightedFair(config.seats, contexts=1)}
CYCLES = 1 << 40  # of a compiled chip, for as long as it is asked


def _ended(number: int, frame: object) -> None:
    raise KeyboardInterrupt


@click.command("share", cls=OneLineCommand)
@click.argument("board")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--policy", type=click.Choice(tuple(POLICIES)), default="fair", show_default=True,
              help="Who is next: the owner that has had the least for its weight, or programs in the order in which they came.")
@click.option("--turn", type=int, default=VISIT, show_default=True, metavar="N", help="Sweeps of a field that the machine holds "
              "whole, until another program may be next; a larger field has a window's visit at a time.")
@machine_options
def command(board: str, path: Path, policy: str, turn: int, **options: Any) -> None:
    """Let programs share BOARD, visit by visit, through a socket at PATH, which you alone can reach.

    BOARD is an address such as serial:///dev/ttyUSB0, or rtl for a compiled chip. Programs give the address that is printed, such
    as mrfhw run ... --backend shared:///PATH, with ?owner=NAME&weight=W behind it where owners are to have unlike shares; mrfhw
    batch and mrfhw serve as well, in the words of their jobs. Answers have the bits that they have of a board alone. A machine of
    several clusters runs as many visits side by side.
    """
    if turn < 1:
        raise ProblemError(f"turn is {turn}; a program has at least one sweep at a time: give 1 or more")
    address = Address(f"{SCHEME}://{path.absolute()}")
    if board.startswith(f"{SCHEME}:"):
        raise ProblemError(f"board is {board}, which is shared already: give its own address")
    kind = backend_type(board)
    if kind.software or board == "model":
        raise ProblemError(f"board is {board}; programs that want it have one each: give the address of a board, or rtl")
    config = config_from_options(**options)
    with contextlib.suppress(ValueError):  # only the main thread of a program may
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ended)
    with kind.open(board, config, CYCLES) as backend:
        shared = SharedBoard(backend, POLICIES[policy](config), turn)
        with listening(shared, address.path), contextlib.suppress(KeyboardInterrupt):
            click.echo(f"{board} is shared at {SCHEME}://{address.path} ({policy}; Ctrl-C ends it)")
            shared.serve()
    if shared.lost is not None:
        raise shared.lost
    click.echo("no longer shared")
