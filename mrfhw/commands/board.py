"""`mrfhw board`: a simulated board behind a pseudo-terminal or a TCP port."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import tty
from collections.abc import Iterator
from typing import Any

import click

from mrfhw.commands.machine_options import OneLineCommand, machine_options
from mrfhw.field.problem import ProblemError
from mrfhw.gateware.link.uart import check_divisor
from mrfhw.generation.known import remember
from mrfhw.host.links import host_and_port
from mrfhw.jobs.machine import config_from_options
from mrfhw.sim.board import DIVISOR, CompiledBoard

__all__ = ["command"]

TURN = 0.1  # seconds in the simulation between looks at signals and at new connections


def _say(address: str) -> None:
    click.echo(f"board at {address} (Ctrl-C ends it)")


def _serve_terminal(board: CompiledBoard) -> None:
    master, slave = os.openpty()
    # The slave stays open here, so that programs may come and go.
    try:
        tty.setraw(slave)
        os.set_blocking(master, False)
        _say(f"serial://{os.ttyname(slave)}")
        while board.serve(master, TURN):
            pass
    finally:
        os.close(slave)
        os.close(master)


def _serve_port(board: CompiledBoard, host: str, port: int) -> None:
    with _listening(host, port) as server:
        _say(f"tcp://{host}:{server.getsockname()[1]}")
        while True:
            # Without a connection the clock goes on, slowly.
            while not select.select([server], [], [], TURN)[0]:
                board.serve(-1, TURN / 10)
            connection, _ = server.accept()
            with connection:
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while board.serve(connection.fileno(), TURN):
                    pass


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        server = socket.create_server((host, port))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise ProblemError(f"listen is tcp://{host}:{port}; no program can listen there ({reason}): "
                           "give another address or port, 0 for a free one") from None
    with server:
        yield server


def _parse(listen: str) -> tuple[str, int] | None:
    """(host, port), or None for a pseudo-terminal."""
    if listen == "pty":
        return None
    host, port = host_and_port(listen)
    if host is None or port is None or "?" in listen or "#" in listen:
        raise ProblemError(f"listen is {listen!r}; it must be pty or tcp://HOST:PORT: give one of them")
    return host, port


def _ended(number: int, frame: object) -> None:
    raise KeyboardInterrupt


@click.command("board", cls=OneLineCommand)
@click.option("--listen", default="pty", show_default=True, metavar="ADDRESS",
              help="Where programs reach the board: pty, or tcp://HOST:PORT (port 0: any free one).")
@click.option("--divisor", type=int, default=DIVISOR, show_default=True, help="Clock cycles of a bit on its wires.")
@click.option("--log-memory", "memory_bytes", type=int, default=0, metavar="BYTES",
              help="Size of a memory that the log passes through, as a board's SDRAM.  [default: none]")
@click.option("--quick", is_flag=True, help="Compile in a fifth of the time; simulates at a third of the speed.")
@machine_options
def command(listen: str, divisor: int, memory_bytes: int, quick: bool, **options: Any) -> None:
    """Run a simulated board: the generated machine with its link and UART, compiled, behind a pseudo-terminal or port.

    Prints the address that `mrfhw run ... --backend ADDRESS` and `mrfhw diagnose ADDRESS` take.
    """
    place = _parse(listen)
    try:
        check_divisor(divisor)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    config = config_from_options(**options)
    with contextlib.suppress(ValueError):  # only the main thread of a program may
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ended)
    with CompiledBoard(config, divisor, quick=quick, memory_bytes=memory_bytes) as board, contextlib.suppress(KeyboardInterrupt):
        remember(config)
        if place is None:
            _serve_terminal(board)
        else:
            _serve_port(board, *place)
    click.echo("board ended")
