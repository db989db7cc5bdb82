"""`mrfhw board`: a simulated board behind a pseudo-terminal, a TCP or a UDP port."""

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

from mrfhw.commands.machine_options import OneLineCommand, Rare, is_given, machine_options
from mrfhw.field.problem import ProblemError
from mrfhw.gateware.link.uart import check_divisor
from mrfhw.generation.identity import circuit_digest
from mrfhw.host.links import host_and_port, written_host
from mrfhw.machine.known import remember
from mrfhw.machine.link_protocol import MOST_OUTSTANDING, OUTSTANDING, is_outstanding
from mrfhw.machine.manifest import config_from_options
from mrfhw.simulation.board import DIVISOR, CompiledBoard
from mrfhw.simulation.ethernet_board import CompiledEthernetBoard

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


def _serve_datagrams(board: CompiledEthernetBoard, host: str, port: int) -> None:
    address = f"udp://{written_host(host)}:{port}"
    with contextlib.closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)) as server:
        try:
            server.bind((host, port))
        except OSError as error:
            raise _not_listening(address, error) from None
        _say(f"udp://{written_host(host)}:{server.getsockname()[1]}")
        while True:
            board.serve(server, TURN)


def _not_listening(address: str, error: OSError) -> ProblemError:
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return ProblemError(f"listen is {address}; no program can listen there ({reason}): give another address or port, 0 for a free "
                        "one")


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        server = socket.create_server((host, port))
    except OSError as error:
        raise _not_listening(f"tcp://{host}:{port}", error) from None
    with server:
        yield server


def _parse(listen: str) -> tuple[str, str, int]:
    """(scheme, host, port); only the scheme for a pseudo-terminal."""
    if listen == "pty":
        return "pty", "", 0
    scheme = "udp" if listen.startswith("udp:") else "tcp"
    host, port = host_and_port(listen, scheme)
    if host is None or port is None or "?" in listen or "#" in listen:
        raise ProblemError(f"listen is {listen!r}; it must be pty, tcp://HOST:PORT or udp://HOST:PORT: give one of them")
    return scheme, host, port


def _ended(number: int, frame: object) -> None:
    raise KeyboardInterrupt


@click.command("board", cls=OneLineCommand)
@click.option("--listen", default="pty", show_default=True, metavar="ADDRESS",
              help="Where programs reach the board: pty, tcp://HOST:PORT or, for one with Ethernet, udp://HOST:PORT (port 0: any "
                   "free one).")
@click.option("--divisor", type=int, default=DIVISOR, show_default=True, help="Clock cycles of a bit on its wires.")
@click.option("--log-memory", "memory_bytes", type=int, default=0, metavar="BYTES",
              help="Size of a memory that the log passes through, as a board's SDRAM.  [default: none]")
@click.option("--outstanding", type=int, default=OUTSTANDING, show_default=True, metavar="N", cls=Rare,
              help="Requests that a host may have outstanding, a power of two.")
@click.option("--quick", is_flag=True, help="Compile in a fifth of the time; simulates at a third of the speed.")
@machine_options
def command(listen: str, divisor: int, memory_bytes: int, outstanding: int, quick: bool, **options: Any) -> None:
    """Run a simulated board: the generated machine with its link and UART or Ethernet, compiled, behind a pseudo-terminal or port.

    Prints the address that `mrfhw run ... --backend ADDRESS` and `mrfhw diagnose ADDRESS` take. A field larger than the machine
    takes minutes where `--backend model` takes seconds: the simulated link carries every window at each visit.
    """
    scheme, host, port = _parse(listen)
    if scheme == "udp" and memory_bytes:
        raise ProblemError(f"log_memory is {memory_bytes}; a simulated board with Ethernet has none: leave it out")
    if scheme == "udp" and is_given("divisor"):
        raise ProblemError(f"divisor is {divisor}; a simulated board with Ethernet has no UART: leave it out")
    try:
        check_divisor(divisor)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    if not is_outstanding(outstanding):
        raise ProblemError(f"outstanding is {outstanding}; a board has 1 to {MOST_OUTSTANDING} requests outstanding, a power of "
                           "two: give one of them")
    config = config_from_options(**options)
    with contextlib.suppress(ValueError):  # only the main thread of a program may
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ended)
    if scheme == "udp":
        with CompiledEthernetBoard(config, quick=quick, outstanding=outstanding) as wired, contextlib.suppress(KeyboardInterrupt):
            remember(config, circuit_digest(config))
            _serve_datagrams(wired, host, port)
    else:
        made = CompiledBoard(config, divisor, quick=quick, memory_bytes=memory_bytes, outstanding=outstanding)
        with made as serial, contextlib.suppress(KeyboardInterrupt):
            remember(config, circuit_digest(config))
            if scheme == "pty":
                _serve_terminal(serial)
            else:
                _serve_port(serial, host, port)
    click.echo("board ended")
