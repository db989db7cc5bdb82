"""A link that loses, repeats, cuts and changes bytes on their way."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mrfhw.host.links import Wire

__all__ = ["KINDS", "FaultyLink"]

KINDS = ("lost", "repeated", "flipped", "cut", "garbage", "sent twice")


class FaultyLink:
    """`link` with faults at random in both directions.

    rate: faults a byte. Each is one of: a byte lost, repeated, a bit flipped, up to 64 bytes cut out, up to 16 of garbage, and
    what was just sent repeated as a whole. faults: how many there were of each kind.
    """

    check = "the faults"
    reconnections = 0

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
