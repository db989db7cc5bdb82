"""The boards and ports that docs/errors.md speaks of: real pseudo-terminals, sockets and simulated boards."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from mrfhw.host import connect
from mrfhw.machine.link_protocol import LEAST_VERSION, RESPONSE, Decoder, Operation, encode
from mrfhw.simulation.board import DIVISOR, CompiledBoard
from support.boards import TINY, TINY_OPTIONS, Board, board, tiny_problem
from support.hostile import HostileBoard, with_registers
from support.plugs import Plug

__all__ = ["SITUATIONS"]

IN_THE_MIDDLE = 5000  # bytes from the board: after the loading, before the end of the run


@contextlib.contextmanager
def _terminal(step: Callable[[int], object]) -> Iterator[str]:
    """A raw pseudo-terminal at whose other end `step` is done again and again."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            step(master)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        ended.set()
        thread.join()
        os.close(slave)
        os.close(master)


def _silence(master: int) -> None:
    """It does not even read."""
    time.sleep(0.01)


def _answers(answer: Callable[[bytes], bytes]) -> Callable[[int], None]:
    """Something that answers whatever it gets."""
    def step(master: int) -> None:
        time.sleep(0.01)
        with contextlib.suppress(BlockingIOError):
            os.write(master, answer(os.read(master, 1 << 16)))

    return step


@contextlib.contextmanager
def forbidden(directory: Path, shared: Board) -> Iterator[str]:
    """Nobody may open it but root, who is somebody else for a while."""
    with _terminal(_silence) as port:
        os.chmod(port, 0)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield f"serial://{port}"
        finally:
            if root:
                os.seteuid(0)


@contextlib.contextmanager
def taken(directory: Path, shared: Board) -> Iterator[str]:
    with _terminal(_silence) as port:
        holder = os.open(port, os.O_RDWR | os.O_NOCTTY)
        fcntl.flock(holder, fcntl.LOCK_EX)
        try:
            yield f"serial://{port}"
        finally:
            os.close(holder)


@contextlib.contextmanager
def silent(directory: Path, shared: Board) -> Iterator[str]:
    with _terminal(_silence) as port:
        yield f"serial://{port}"


@contextlib.contextmanager
def echo(directory: Path, shared: Board) -> Iterator[str]:
    with _terminal(_answers(lambda data: data)) as port:
        yield f"serial://{port}"


@contextlib.contextmanager
def garbage(directory: Path, shared: Board) -> Iterator[str]:
    rng = np.random.default_rng(1)
    with _terminal(_answers(lambda data: rng.integers(0, 256, 40, np.uint8).tobytes())) as port:
        yield f"serial://{port}"


@contextlib.contextmanager
def another_rate(directory: Path, shared: Board) -> Iterator[str]:
    """The board of the others, at whose wires the host's UART is slower by half."""
    with CompiledBoard(TINY, host_divisor=DIVISOR * 3 // 2) as wrong, _terminal(lambda master: wrong.serve(master, 0.02)) as port:
        yield f"serial://{port}"


@contextlib.contextmanager
def older(directory: Path, shared: Board) -> Iterator[str]:
    """It answers a greeting in a version that no board has any more."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve() -> None:
            connection, _ = server.accept()
            decoder = Decoder()
            with connection:
                while data := connection.recv(1 << 16):
                    for frame in decoder.feed(data):
                        words = np.array([LEAST_VERSION - 1, 512, 512, 2048, 8, 0, 0], "<u4")
                        connection.sendall(encode(Operation.HELLO | RESPONSE, frame.number, frame.value, words.tobytes()))
            ended.set()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert ended.wait(10)
        thread.join()


@contextlib.contextmanager
def good(directory: Path, shared: Board) -> Iterator[str]:
    yield shared.address


@contextlib.contextmanager
def unplugged(directory: Path, shared: Board) -> Iterator[str]:
    with Plug(shared.address, directory.parent / "port", [(IN_THE_MIDDLE, 10)]) as plug:
        yield f"{plug.address}?reconnect=1"


@contextlib.contextmanager
def _after(plug: Plug, happening: Callable[[], object]) -> Iterator[None]:
    """Something that happens in the middle of the run."""
    ended = threading.Event()

    def wait() -> None:
        while plug.passed < IN_THE_MIDDLE and not ended.wait(0.01):
            pass
        if not ended.is_set():
            happening()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def closed(directory: Path, shared: Board) -> Iterator[str]:
    """The connection ends in the middle, and nobody listens there any more."""
    with Plug(shared.address) as plug, _after(plug, plug.pull):
        yield f"{plug.address}?reconnect=1"


@contextlib.contextmanager
def restarted(directory: Path, shared: Board) -> Iterator[str]:
    """The board is switched off and on again, its port is not."""
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS) as fresh, Plug(shared.address) as plug, \
            _after(plug, lambda: plug.change(fresh.address)):
        yield plug.address


@contextlib.contextmanager
def used_by_another(directory: Path, shared: Board) -> Iterator[str]:
    """While the plug is pulled another program solves a problem on the board."""
    def use(address: str) -> None:
        with connect(address, TINY) as session:
            session.solve(*tiny_problem(1))

    with Plug(shared.address) as plug, _after(plug, lambda: plug.lend(use)):
        yield plug.address


@contextlib.contextmanager
def frozen(directory: Path, shared: Board) -> Iterator[str]:
    """The board's program is stopped, its port stays."""
    with Plug(shared.address) as plug, _after(plug, lambda: shared.process.send_signal(signal.SIGSTOP)):
        try:
            yield plug.address
        finally:
            shared.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def busy(directory: Path, shared: Board) -> Iterator[str]:
    """Its status register never changes."""
    with HostileBoard(shared.address, with_registers(status=3)) as hostile:
        yield f"{hostile.address}?patience=8"


@contextlib.contextmanager
def wordless(directory: Path, shared: Board) -> Iterator[str]:
    """It answers reads without the words that were read."""
    with HostileBoard(shared.address, lambda a: a.changed(body=b"") if a.is_of(Operation.READ) else a.as_it_is()) as hostile:
        yield hostile.address


SITUATIONS: dict[str, Callable[[Path, Board], AbstractContextManager[str]]] = {
    "a port that this user may not open": forbidden,
    "a port that another program holds": taken,
    "a port at which nothing answers": silent,
    "a port that sends back what it gets, as a login does": echo,
    "a port at which something else talks": garbage,
    "a board with another baud rate": another_rate,
    "a board with an older link": older,
    "a board that is another machine": good,
    "unplugged in the middle": unplugged,
    "its connection closed in the middle": closed,
    "started again in the middle": restarted,
    "another program on it while it was unplugged": used_by_another,
    "frozen in the middle": frozen,
    "busy for ever": busy,
    "answering without words": wordless,
}
