"""A board that does not do as docs/link.md says: a real one behind a socket, whose answers are changed on their way."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np

from mrfhw.machine.link_protocol import KIND_BITS, RESPONSE, Decoder, Frame, Operation, element_bits, element_words, encode
from mrfhw.machine.registers import CONTROL_BITS, register

__all__ = ["Answer", "Closed", "HostileBoard", "frame_bytes", "with_registers"]


class Closed(Exception):
    """The board lets the connection go."""


def frame_bytes(frame: Frame) -> bytes:
    return encode(frame.operation, frame.number, frame.value, frame.body, frame.status, frame.session)


def accesses(request: Frame) -> tuple[list[int], list[int]]:
    """Addresses and data of a read or write."""
    words, addresses, data, at = [int(word) for word in request.words], list[int](), list[int](), 0
    while at < len(words):
        count, period, kind = words[at] & 0xFFFF, words[at] >> 16 & 0xFF, words[at] >> 24
        address, steps = words[at + 1], words[at + 2:at + 2 + period]
        at += 2 + period
        for number in range(count):
            addresses.append(address)
            address = (address + (steps[number % period] if period else 1)) % (1 << 32)
        if request.operation == Operation.WRITE:
            bits, above = element_bits(kind), kind >> KIND_BITS << 8
            elements = b"".join(word.to_bytes(4, "little") for word in words[at:at + element_words(count, kind)])
            data += [int.from_bytes(elements[place:place + bits // 8], "little") | above
                     for place in range(0, count * bits // 8, bits // 8)]
            at += element_words(count, kind)
    return addresses, data


@dataclass
class Answer:
    """What a true board sends. request: that it answers, and None where `frame` is of the log.

    addresses: of the request's accesses. started: whether a run has been started. asked: requests so far, this one included.
    """

    frame: Frame
    request: Frame | None
    addresses: list[int]
    started: bool
    asked: int

    def is_of(self, *operations: Operation) -> bool:
        return self.request is not None and self.request.operation in operations

    def changed(self, **fields: object) -> bytes:
        """The frame with other fields; `words` as body."""
        if "words" in fields:
            fields["body"] = np.array(fields.pop("words"), "<u4").tobytes()
        return frame_bytes(self.frame._replace(**fields))

    def as_it_is(self) -> bytes:
        return frame_bytes(self.frame)


def with_registers(**values: int) -> Callable[[Answer], bytes]:
    """Registers read these values, all others the true ones."""
    indices = {register(name): value for name, value in values.items()}

    def tamper(answer: Answer) -> bytes:
        if not answer.is_of(Operation.READ) or answer.frame.status or not indices.keys() & set(answer.addresses):
            return answer.as_it_is()
        return answer.changed(words=[indices.get(address, int(word))
                                     for address, word in zip(answer.addresses, answer.frame.words, strict=True)])

    return tamper


class HostileBoard:
    """Passes requests on to the board at `address` and sends what `tamper` makes of its answers and log frames.

    tamper: raises Closed where the connection ends. greet: sent as soon as somebody connects. deliver: how bytes are sent.
    requests: that came. Use as a context manager; `address` is then its own.
    """

    def __init__(self, address: str, tamper: Callable[[Answer], bytes], greet: bytes = b"",
                 deliver: Callable[[socket.socket, bytes], object] | None = None):
        self.tamper, self.greet, self.deliver = tamper, greet, deliver or socket.socket.sendall
        parts = urlsplit(address)
        self._board = str(parts.hostname), parts.port or 0
        self.requests, self._started = 0, False
        self._ended = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def __enter__(self) -> HostileBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            if not select.select([self._server], [], [], 0.02)[0]:
                continue
            host, _ = self._server.accept()
            # A host that has gone is no fault of the board's.
            with host, socket.create_connection(self._board) as board, contextlib.suppress(Closed, OSError):
                host.settimeout(5)
                self.deliver(host, self.greet)
                self._talk(host, board)

    def _talk(self, host: socket.socket, board: socket.socket) -> None:
        asked, answered = Decoder(), Decoder()
        waiting: dict[tuple[int, int], tuple[Frame, list[int]]] = {}  # requests and their addresses, the last of each number
        while not self._ended.is_set():
            ready, _, _ = select.select([host, board], [], [], 0.02)
            if host in ready:
                data = host.recv(1 << 16)
                if not data:
                    return
                for request in asked.feed(data):
                    self.requests += 1
                    waiting[request.operation | RESPONSE, request.number] = request, self._look(request)
                    board.sendall(frame_bytes(request))
            if board in ready:
                for frame in answered.feed(board.recv(1 << 16)):
                    asked_for, addresses = waiting.get((frame.operation, frame.number), (None, []))
                    # A board with one request outstanding says no session.
                    if frame.operation != Operation.LOG and (asked_for is None or frame.session not in (0, asked_for.session)):
                        continue  # what an earlier connection left on its way
                    self.deliver(host, self.tamper(Answer(frame, asked_for, addresses, self._started, self.requests)))

    def _look(self, request: Frame) -> list[int]:
        if request.operation not in (Operation.READ, Operation.WRITE):
            return []
        addresses, data = accesses(request)
        start = (register("control"), 1 << CONTROL_BITS["start"])
        self._started |= start in zip(addresses, data, strict=False)
        return addresses
