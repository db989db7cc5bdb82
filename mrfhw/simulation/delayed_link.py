"""A link whose bytes are under way for a while, as through a USB adapter."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrfhw.host.links import Link

__all__ = ["DelayedLink"]

Queue = deque[tuple[float, bytes]]


class DelayedLink:
    """`link` with `seconds` of latency each way, on its clock, beside the time that the bytes themselves take.

    sent, received: bytes so far, for rates.
    """

    reconnections = 0

    def __init__(self, link: Link, seconds: float):
        self.link, self.name, self.datagrams, self.seconds = link, link.name, link.datagrams, seconds
        self.sent = self.received = 0
        self._out: Queue = deque()
        self._in: Queue = deque()

    @property
    def check(self) -> str:
        return self.link.check

    def send(self, data: bytes) -> None:
        self.sent += len(data)
        self._out.append((self.clock() + self.seconds, data))

    def receive(self, seconds: float) -> bytes:
        until = self.clock() + max(0.0, seconds)
        while True:
            now = self.clock()
            while self._out and self._out[0][0] <= now:
                self.link.send(self._out.popleft()[1])
            if self._in and self._in[0][0] <= now:
                data = self._in.popleft()[1]
                self.received += len(data)
                return data
            if now >= until:
                return b""
            due = min([until, *(queue[0][0] for queue in (self._out, self._in) if queue)])
            came = self.link.receive(due - now)
            if came:
                self._in.append((self.clock() + self.seconds, came))

    def clock(self) -> float:
        return self.link.clock()

    def close(self) -> None:
        self.link.close()
