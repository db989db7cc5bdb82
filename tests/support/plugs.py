"""A plug between a program and a board, which can be pulled and put back."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import tty
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["Plug"]


class Plug:
    """Passes bytes between the TCP address of a board and a port of its own, which stays the same.

    port: a path for a pseudo-terminal, or None for a TCP port. address: what a program is given. passed: bytes that have come
    from the board. pulled, put: how often it was pulled, and put in, the first time included. cuts: (bytes from the board,
    seconds) after which the plug is pulled, and for how long; what comes meanwhile is lost, as on a wire. Use as a context
    manager.
    """

    def __init__(self, board: str, port: Path | None = None, cuts: Iterable[tuple[int, float]] = ()):
        self.board, self._address = self._connected(board), board
        self.port, self.cuts, self.passed = port, iter(cuts), 0
        self.pulled, self.put = 0, 0
        self._lock = threading.RLock()
        self._server: socket.socket | None = None
        self._client: socket.socket | None = None
        self._master: int | None = None
        self._number = 0
        self.put_back()
        self.address = f"serial://{port}" if port else f"tcp://127.0.0.1:{self._number}"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def __enter__(self) -> Plug:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.pull()
        self.board.close()

    @staticmethod
    def _connected(board: str) -> socket.socket:
        parts = urlsplit(board)
        return socket.create_connection((str(parts.hostname), parts.port or 0))

    def change(self, board: str) -> None:
        """Another board from now on, behind the same port."""
        with self._lock:
            self.board.close()
            self.board, self._address = self._connected(board), board

    def lend(self, use: Callable[[str], object]) -> None:
        """Let something else use the board while the plug is pulled."""
        with self._lock:
            self.pull()
            self.board.close()
            try:
                use(self._address)
            finally:
                self.board = self._connected(self._address)
                self.put_back()

    def pull(self) -> None:
        with self._lock:
            self.pulled += 1
            for held in (self._client, self._server):
                if held is not None:
                    held.close()
            self._client = self._server = None
            if self._master is not None:
                assert self.port is not None
                self.port.unlink()
                os.close(self._master)
                self._master = None

    def put_back(self) -> None:
        with self._lock:
            if self.port is None:
                self._server = socket.create_server(("127.0.0.1", self._number))
                self._number = self._server.getsockname()[1]
            else:
                self._master, slave = os.openpty()
                tty.setraw(slave)
                self.port.symlink_to(os.ttyname(slave))
                os.close(slave)
                os.set_blocking(self._master, False)
            self.put += 1  # last: who waits for it connects at once

    def _front(self) -> int | None:
        """The descriptor of the port's inner end, where a program may be at the other."""
        if self._master is not None:
            return self._master
        if self._client is None and self._server is not None and select.select([self._server], [], [], 0)[0]:
            self._client = self._server.accept()[0]
            self._client.setblocking(False)
        return None if self._client is None else self._client.fileno()

    def _serve(self) -> None:
        after, seconds = next(self.cuts, (0, 0.0))
        while not self._ended.is_set():
            with self._lock:
                front = self._front()
                ready, _, _ = select.select([self.board, *([] if front is None else [front])], [], [], 0.005)
                if front in ready:
                    self._from_program(front)
                if self.board in ready:
                    self._from_board(front)
            if after and self.passed >= after:
                self.pull()
                self._ended.wait(seconds)
                self.put_back()
                more, seconds = next(self.cuts, (0, 0.0))
                after = self.passed + more if more else 0

    def _from_program(self, front: int) -> None:
        try:
            data = os.read(front, 1 << 16)
        except OSError:  # nobody has the terminal open
            time.sleep(0.005)
            return
        if data:
            self.board.sendall(data)
        elif self._client is not None:
            self._client.close()
            self._client = None

    def _from_board(self, front: int | None) -> None:
        data = self.board.recv(1 << 16)
        self.passed += len(data)
        if not data:
            self._ended.set()
        while data and front is not None:
            try:
                data = data[os.write(front, data):]
            except BlockingIOError:
                if not select.select([], [front], [], 1)[1]:
                    return
            except OSError:
                return
