"""Accesses of a bus as requests (docs/link.md): the segments they take, kept for the next time, and their data as bytes."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from mrfhw.host.transfers import Part
from mrfhw.machine.link_protocol import ELEMENT_MASKS, SHAPE_MASK, element_bits, in_order, segments

__all__ = ["Plan", "Plans", "Written"]

KEPT_BYTES = 1 << 26  # of plans
# The bytes of an element are these of a bus word, by the shape.
SHIFTS = [[low for low in range(0, 32, 8) if mask >> low & 0xFF] for mask in ELEMENT_MASKS]


class Plan:
    """Requests for accesses, whatever their data are.

    addresses, kinds: (n,) uint32 and uint8, in the order of the accesses. order: (n,) where each of them stands with the caller;
    None: there. response, body, writes: see `segments`. of: the caller's addresses.
    """

    of: np.ndarray

    def __init__(self, addresses: np.ndarray, kinds: np.ndarray, order: np.ndarray | None, response: int, body: int, writes: bool):
        self.order, self.parts = order, list[Part]()
        words, places, at, read = list[np.ndarray](), np.empty(len(addresses), np.int32), 0, 0
        for request in segments(addresses, response, body, kinds, writes):
            first = at
            for s in request:
                words.append(s.words)
                at += len(s.words)
                data = at if writes else read
                places[s.first:s.end] = 4 * data + element_bits(s.kind) // 8 * np.arange(s.count)
                if writes:
                    words.append(np.zeros(s.data_words, np.uint32))
                    at += s.data_words
                read += s.data_words
            response = 0 if writes else 4 * sum(s.data_words for s in request)
            self.parts.append(Part(first, at, sum(s.count for s in request), () if writes else request, response))
        self._words = np.concatenate(words).astype("<u4")
        shapes = kinds & SHAPE_MASK
        # By shape: which accesses, and the places of their first bytes among all words of requests, or of responses.
        self._elements = {int(shape): (which, places[which]) for shape in np.unique(shapes)
                          for which in (np.flatnonzero(shapes == shape).astype(np.int32),)}

        # Bytes of each access' element where all follow one another and are the low ones of a bus word; else 0.
        self._dense = 0
        if not writes and len(self._elements) == 1:
            (shape, (_, starts)), = self._elements.items()
            many = len(SHIFTS[shape])
            if many in (1, 2, 4) and SHIFTS[shape] == [*range(0, 8 * many, 8)] and (starts == many * np.arange(len(starts))).all():
                self._dense = many

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        arrays = [self._words, *(array for pair in self._elements.values() for array in pair)]
        return sum(array.nbytes for array in arrays) + (0 if self.order is None else self.order.nbytes) + 500 * len(self.parts)

    def filled(self, data: np.ndarray) -> np.ndarray:
        """(m,) uint32, all requests' words with these data."""
        words = self._words.copy()
        found, data = words.view(np.uint8), data if self.order is None else data[self.order]
        for shape, (which, places) in self._elements.items():
            elements = data if len(which) == len(data) else data[which]
            for number, shift in enumerate(SHIFTS[shape]):
                found[places + number] = elements >> shift
        return words

    def asked(self) -> np.ndarray:
        """(m,) uint32, all requests' words, of reads."""
        return self._words

    def answered(self, responses: bytes, count: int) -> np.ndarray:
        """(count,) uint32, what the responses hold for the first `count` accesses; bits that an element does not hold are 0."""
        if self._dense:
            return np.frombuffer(responses, f"<u{self._dense}", count).astype(np.uint32)
        found, words = np.frombuffer(responses, np.uint8), np.zeros(count, np.uint32)
        for shape, (which, places) in self._elements.items():
            here = slice(None, int(np.searchsorted(which, count)))
            for number, shift in enumerate(SHIFTS[shape]):
                words[which[here]] |= found[places[here] + number].astype(np.uint32) << np.uint32(shift)
        return words


class Written(NamedTuple):
    """The requests of words that are written again and again. sizes: of response and body, that the plan is for. sent: bodies."""

    addresses: np.ndarray
    data: np.ndarray
    sizes: tuple[int, int]
    plan: Plan
    sent: bytes


class Plans:
    """Plans by what they are of, as many of the last ones as KEPT_BYTES hold. written: requests by the arrays of their words, which
    nobody can write to."""

    def __init__(self) -> None:
        self._kept = OrderedDict[bytes, Plan]()
        self._bytes = 0
        self.written = OrderedDict[tuple[int, int], Written]()
        self._written_bytes = 0

    def keep(self, written: Written) -> None:
        """From now on, and while there is room."""
        self.written[id(written.addresses), id(written.data)] = written
        self._written_bytes += len(written.sent)
        while self._written_bytes > KEPT_BYTES:
            self._written_bytes -= len(self.written.popitem(last=False)[1].sent)

    def of(self, addresses: np.ndarray, kinds: np.ndarray, response: int, body: int, writes: bool, sort: bool) -> Plan:
        """The plan of these accesses. kinds: of each word by itself. sort: they may come in any order."""
        # An array that nobody can write to and that a plan holds is the same as then.
        lasting = not addresses.flags.writeable
        of = (id(addresses).to_bytes(8, "little") if lasting else addresses.tobytes()) + kinds.tobytes()
        key = blake2b(of + bytes(f"{response} {body} {writes} {sort} {lasting}", "ascii"), digest_size=16).digest()
        plan = self._kept.pop(key, None)
        if plan is None:
            order, placed = in_order(addresses, kinds, writes, sort)
            plan = Plan(addresses if order is None else addresses[order], placed, order, response, body, writes)
            plan.of = addresses
            self._bytes += plan.size
            while self._bytes > KEPT_BYTES and self._kept:
                self._bytes -= self._kept.popitem(last=False)[1].size
        self._kept[key] = plan
        return plan
