"""The requests that a host makes of a board to load a problem, to look at its run and to read the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mrfhw.cost.exchange import Asked
from mrfhw.driver.driver import COUNTERS, Driver, NoChip
from mrfhw.machine.link_pace import CHUNK, FIRST_SHARE, MUCH_LONGER, SHARE_STEP, longest_body
from mrfhw.machine.link_protocol import (
    HEAD_WORDS,
    REQUEST_CYCLES,
    SEGMENT_CYCLES,
    WHOLE,
    Segment,
    in_order,
    kinds_of,
    narrowest,
    segments,
)
from mrfhw.placement.placement import Placement

__all__ = ["Asking", "Steps"]

GREETING_WORDS = 8


@dataclass(frozen=True)
class _Access:
    """A call of a bus. kinds: of each word by itself."""

    addresses: np.ndarray
    kinds: np.ndarray
    writes: bool
    sort: bool


class _Recorder(NoChip):
    """A `MemoryChip` that keeps the calls that a board's would get."""

    def __init__(self, rows: bool) -> None:
        self.rows = rows
        self.calls: list[_Access] = []

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.calls.append(_Access(addresses, kinds_of(data), True, False))

    def write_memory(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.calls.append(_Access(addresses, kinds_of(data), True, True))

    def read(self, addresses: np.ndarray) -> np.ndarray:
        self.calls.append(_Access(addresses, np.full(len(addresses), WHOLE, np.uint8), False, False))
        return super().read(addresses)

    def read_memory(self, addresses: np.ndarray, mask: int) -> np.ndarray:
        self.calls.append(_Access(addresses, np.full(len(addresses), narrowest(mask), np.uint8), False, True))
        return super().read(addresses)


HELLO = Asked(0, GREETING_WORDS, REQUEST_CYCLES)
CREDIT = Asked(2, 0, REQUEST_CYCLES)


@dataclass
class Asking:
    """How long a host's requests are by now.

    words, response_words: of the board's largest request, and of the body of its largest response. answered: how many have been
    answered; with each they grow.
    """

    words: int
    response_words: int
    answered: Callable[[], int]

    def _sizes(self) -> tuple[int, int]:
        share = min(1.0, FIRST_SHARE + SHARE_STEP * self.answered())
        return longest_body(self.response_words, share), longest_body(self.words - HEAD_WORDS - 1, share)

    def of(self, call: _Access | Asked) -> Iterator[Asked]:
        """The requests of a call, as `mrfhw.host.remote_chip.RemoteChip` makes them."""
        if isinstance(call, Asked):
            yield call
            return
        left = np.arange(len(call.addresses))
        while len(left):
            now, left = left[:CHUNK], left[CHUNK:]
            response, body = self._sizes()
            order, kinds = in_order(call.addresses[now], call.kinds[now], call.writes, call.sort)
            placed = now if order is None else now[order]
            done = 0
            for request in segments(call.addresses[placed], response, body, kinds, call.writes):
                yield _request(request, call.writes)
                done += sum(segment.count for segment in request)
                if not body <= self._sizes()[1] < MUCH_LONGER * body:
                    break
            left = np.concatenate([placed[done:], left])


def _request(parts: list[Segment], writes: bool) -> Asked:
    listed = [2 if writes and len(one.words) > 3 else 1 for one in parts]
    cycles = REQUEST_CYCLES + sum(SEGMENT_CYCLES + each * one.count for each, one in zip(listed, parts, strict=True))
    data = sum(one.data_words for one in parts)
    return Asked(sum(len(one.words) for one in parts) + (data if writes else 0), 0 if writes else data, cycles)


@dataclass(frozen=True)
class Steps:
    """The calls of a bus of each step of a run.

    settle: to see that the board is at rest. load: a whole problem. clear: labels alone, where sums are cleared. limit: where
    the run stops next. start: it. look: whether it is at work. count: what
    it has counted. read: its answer.
    """

    settle: list[_Access | Asked]
    load: list[_Access]
    clear: list[_Access]
    limit: list[_Access]
    start: list[_Access]
    look: list[_Access]
    count: list[_Access]
    read: list[_Access]

    @classmethod
    def of(cls, placement: Placement, datagrams: bool) -> Steps:
        """Of a placed problem, over a link of datagrams or of a stream."""
        chip = _Recorder(datagrams)
        driver = Driver(placement.config, chip)

        def taken(step: Callable[[], object]) -> list[_Access]:
            chip.calls = []
            step()
            return chip.calls

        status = taken(lambda: driver.get("status"))
        return cls(
            [HELLO, *status, *status, HELLO, CREDIT], taken(lambda: driver.load(placement)),
            taken(lambda: driver.clear(placement, placement.initial)), taken(lambda: driver.set(sweeps=1)), taken(driver.start),
            taken(lambda: driver.get("status", "sweep")), taken(lambda: driver.get(*COUNTERS)),
            taken(lambda: driver.lmem(placement)))
