"""Links that lose, repeat, cut and change bytes on their way, or whole datagrams, which they bring into another order as well."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mrfhw.host.links import Wire

__all__ = ["DATAGRAM_KINDS", "KINDS", "FaultyDatagrams", "FaultyLink"]

KINDS = ("lost", "repeated", "flipped", "cut", "garbage", "sent twice")
DATAGRAM_KINDS = ("lost", "doubled", "late", "damaged", "doubled and late")


class FaultyLink:
    """`link` with faults at random in both directions.

    rate: faults a byte. Each is one of: a byte lost, repeated, a bit flipped, up to 64 bytes cut out, up to 16 of garbage, and
    what was just sent repeated as a whole. faults: how many there were of each kind.
    """

    check = "the faults"
    reconnections = 0
    datagrams = False

    def __init__(self, link: Wire, seed: int, rate: float):
        self.link, self.name, self.rate = link, link.name, rate
        self.rng = np.random.default_rng(seed)
        self.faults: Counter[str] = Counter()

    def _spoil(self, data: bytes) -> bytes:
        at = np.flatnonzero(self.rng.random(len(data)) < self.rate)
        if not len(at):
            return data
        out, done = bytearray(), 0
        for place in map(int, at):
            if place < done:
                continue
            out += data[done:place]
            done = place + 1
            kind = int(self.rng.integers(len(KINDS)))
            self.faults[KINDS[kind]] += 1
            if kind == 1:
                out += data[place:done] * 2
            elif kind == 2:
                out.append(data[place] ^ 1 << int(self.rng.integers(8)))
            elif kind == 3:
                done = place + int(self.rng.integers(1, 65))
            elif kind == 4:
                out += self.rng.integers(0, 256, self.rng.integers(1, 17), np.uint8).tobytes()
            elif kind == 5:
                out += data[:done]
        return bytes(out + data[done:])

    def send(self, data: bytes) -> None:
        self.link.send(self._spoil(data))

    def receive(self, seconds: float) -> bytes:
        return self._spoil(self.link.receive(seconds))

    def clock(self) -> float:
        return self.link.clock()

    def close(self) -> None:
        self.link.close()


class FaultyDatagrams:
    """`link`, which carries datagrams, with faults at random in both directions.

    rate: faults a datagram, of DATAGRAM_KINDS. A late one comes after up to `behind` later ones of its direction, or after a few
    calls in which there were none. faults: how many there were of each kind.
    """

    check = "the faults"
    reconnections = 0
    datagrams = True

    def __init__(self, link: Wire, seed: int, rate: float, behind: int = 4):
        self.link, self.name, self.rate, self.behind = link, link.name, rate, behind
        self.rng = np.random.default_rng(seed)
        self.faults: Counter[str] = Counter()
        # Datagrams on their way, each with the number of others that may pass it.
        self._out, self._in = list[list[Any]](), list[list[Any]]()

    def _spoil(self, data: bytes) -> list[list[Any]]:
        """[passes, datagram] for each that comes of one."""
        if self.rng.random() >= self.rate:
            return [[0, data]]
        kind = DATAGRAM_KINDS[int(self.rng.integers(len(DATAGRAM_KINDS)))]
        self.faults[kind] += 1
        passes = int(self.rng.integers(1, self.behind + 1))
        at = int(self.rng.integers(len(data)))
        damaged = data[:at] + bytes((data[at] ^ 1 << int(self.rng.integers(8)),)) + data[at + 1:]
        return {"lost": [], "doubled": [[0, data], [0, data]], "late": [[passes, data]], "damaged": [[0, damaged]],
                "doubled and late": [[0, data], [passes, data]]}[kind]

    @staticmethod
    def _next(way: list[list[Any]]) -> bytes:
        """The first that none may pass any more; each call lets one pass."""
        for number, (passes, data) in enumerate(way):
            if passes <= 0:
                del way[number]
                return bytes(data)
            way[number][0] -= 1
        return b""

    def send(self, data: bytes) -> None:
        self._out += self._spoil(data)
        while found := self._next(self._out):
            self.link.send(found)

    def receive(self, seconds: float) -> bytes:
        if not self._in or all(passes > 0 for passes, _ in self._in):
            came = self.link.receive(seconds)
            if came:
                self._in += self._spoil(came)
        return self._next(self._in)

    def clock(self) -> float:
        return self.link.clock()

    def close(self) -> None:
        self.link.close()
