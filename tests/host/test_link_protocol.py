"""Frames and segments of the link, by themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrfhw.cost.links import BoardLink
from mrfhw.gateware.link.bridge import LOG_WAIT
from mrfhw.generation.ethernet_core import Ethernet
from mrfhw.host.plans import Plans
from mrfhw.machine.link_protocol import (
    BYTES,
    DATAGRAM_LOG_CHUNK,
    DATAGRAM_WORDS,
    ELEMENT_MASKS,
    ESCAPE,
    FIELDS,
    FLAG,
    HALVES,
    HEAD_WORDS,
    UDP_PORT,
    WHOLE,
    Decoder,
    element_bits,
    element_words,
    encode,
    joined,
    kinds_of,
    narrowest,
    segments,
)

FRAMES_SURVIVE_ANY = pytest.mark.claim(
    "link", "frames survive any cutting into pieces, damage is noticed, segments are the addresses")

FRAMES = st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**32 - 1), st.binary(max_size=300), st.integers(0, 3))
ADDRESSES = st.lists(st.tuples(st.integers(0, 2**30), st.integers(-70, 70), st.integers(1, 40)), max_size=8).map(
    lambda runs: np.array([(a + s * i) % 2**30 for a, s, n in runs for i in range(n)], np.uint32))


@FRAMES_SURVIVE_ANY
@given(st.lists(FRAMES, max_size=5), st.integers(1, 50))
def test_frames_come_through_in_any_pieces(frames, piece):
    data = b"".join(encode(*frame) for frame in frames)
    decoder = Decoder()
    found = [f for at in range(0, len(data), piece) for f in decoder.feed(data[at:at + piece])]
    assert [(f.operation, f.number, f.value, f.body, f.status) for f in found] == frames
    assert decoder.damaged == 0


@FRAMES_SURVIVE_ANY
@given(FRAMES, st.binary(max_size=200), st.binary(max_size=5))
def test_the_frame_after_garbage_comes_through(frame, garbage, more):
    decoder = Decoder(limit=100)
    decoder.feed(garbage + bytes((ESCAPE,)) + more)
    found = Decoder.feed(decoder, encode(*frame) if len(frame[3]) < 30 else encode(*frame[:3]))
    assert (found[-1].operation, found[-1].number, found[-1].value) == frame[:3]


@FRAMES_SURVIVE_ANY
@settings(suppress_health_check=[HealthCheck.too_slow])  # of a machine that is busy
@given(FRAMES, st.data())
def test_a_changed_byte_is_noticed(frame, data):
    good = bytearray(encode(*frame))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    for found in Decoder().feed(bytes(good) + bytes((FLAG,))):
        assert (found.operation, found.number, found.value, found.body, found.status) == frame


def expand(words: np.ndarray, write: bool) -> tuple[list[int], list[int], list[int]]:
    """Addresses, kinds and data of a request's body, as docs/link.md says."""
    addresses, kinds, written, at = [], [], [], 0
    while at < len(words):
        count, period, kind, address = (int(words[at]) & 0xFFFF, int(words[at]) >> 16 & 0xFF, int(words[at]) >> 24,
                                        int(words[at + 1]))
        steps = [int(s) for s in words[at + 2:at + 2 + period]] or [1]
        at += 2 + period
        for i in range(count):
            addresses.append(address)
            address = (address + steps[i % len(steps)]) % 2**32
        kinds += [kind] * count
        if write:
            size = element_words(count, kind)
            data = words[at:at + size].astype("<u4").tobytes()
            bytes_of = element_bits(kind) // 8
            elements = [int.from_bytes(data[i * bytes_of:(i + 1) * bytes_of], "little") for i in range(count)]
            shape, above = kind & 3, kind >> 2 << 8
            written += [e & 0xFF | e >> 8 << 16 if shape == 3 else e | above if shape == 2 else e for e in elements]
            at += size
    return addresses, kinds, written


@FRAMES_SURVIVE_ANY
@settings(max_examples=300)
@given(ADDRESSES, st.integers(1, 40), st.integers(3, 60), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1),
       st.sampled_from((0, 1, 2, 3, None)), st.integers(0, 63))
def test_plans_are_the_accesses(addresses, response, body, write, sort, seed, kind, above):
    """Addresses, data of requests and data of responses, for kinds in any order or one for all."""
    rng, count = np.random.default_rng(seed), len(addresses)
    kinds = (np.repeat(rng.integers(0, 4, count), rng.integers(1, 30, count))[:count] if kind is None
             else np.full(count, kind)).astype(np.uint8)
    data = rng.integers(0, 1 << 32, count, np.uint32) & np.array(ELEMENT_MASKS, np.uint32)[kinds]
    if write:
        data[kinds == BYTES] |= above << 8
        kinds[kinds == BYTES] |= above << 2
        kinds[kinds == FIELDS] = WHOLE
    if not count:
        return
    plan = Plans().of(addresses, kinds, response, body, write, sort)
    words = plan.filled(data) if write else plan.asked()
    found, written, answers = [], [], b""
    for part in plan.parts:
        asked = words[part.first:part.end]
        assert len(asked) <= body
        a, _, d = expand(asked, write)
        assert len(a) == part.accesses >= 1
        if not write:
            of_order = data if plan.order is None else data[plan.order]
            read = b"".join(packed(of_order[len(found) + begun:][:s.count], s.kind) for s in part.segments
                            for begun in (s.first - part.segments[0].first,))
            assert len(read) == 4 * sum(s.data_words for s in part.segments) <= 4 * response
            answers += read
        found, written = found + a, written + d
    order = np.arange(count) if plan.order is None else plan.order
    assert sorted(order.tolist()) == list(range(count))
    assert found == addresses[order].tolist()
    assert written == (data[order].tolist() if write else [])
    if not write:
        done = int(rng.integers(count + 1))
        assert np.array_equal(plan.answered(answers, done), data[order][:done])


def packed(words: np.ndarray, kind: int) -> bytes:
    """What a response holds of words that were read, as docs/link.md says."""
    size = element_bits(kind) // 8
    elements = [(w & 0xFF | w >> 8 & 0xFF00 if kind == FIELDS else w).to_bytes(4, "little")[:size] for w in map(int, words)]
    return b"".join(elements).ljust(4 * element_words(len(words), kind), b"\0")


def test_plans_are_kept_as_far_as_there_is_room(monkeypatch):
    plans, kinds = Plans(), np.zeros(100, np.uint8)
    def made(first):
        return plans.of(np.arange(first, first + 100, dtype=np.uint32), kinds, 50, 50, True, True)

    first = made(0)
    assert made(0) is first
    monkeypatch.setattr("mrfhw.host.plans.KEPT_BYTES", 3 * first.size)
    for other in range(1, 4):
        made(other)
    assert plans._bytes <= 3 * first.size
    assert made(3) is made(3)
    assert made(0) is not first


def test_the_kinds_of_data_are_short():
    assert kinds_of(np.arange(256, dtype=np.uint32)).tolist() == [BYTES] * 256
    mixed = np.array([1] * 100 + [1 << 9, 1, 1, 1, 1 << 9] + [0x107] * 100 + [1 << 30, 3, 1 << 30], np.uint32)
    assert joined(kinds_of(mixed)).tolist() == [BYTES] * 100 + [HALVES] * 5 + [BYTES | 1 << 2] * 100 + [WHOLE] * 3
    assert [narrowest(mask) for mask in (0, 0xFF, 0x100, 0xFFFF, 0xFF0000, 0x3F007F, 0x1000000)] == [
        BYTES, BYTES, HALVES, HALVES, FIELDS, FIELDS, WHOLE]


@FRAMES_SURVIVE_ANY
@given(st.lists(st.tuples(st.sampled_from((0, 7, 255, 256, 0x3FFF, 0x4000, 65535, 65536, 2**32 - 1)), st.integers(1, 40)),
                min_size=1, max_size=12), st.booleans())
def test_the_kinds_of_data_hold_them(runs, sort):
    data = np.array([word for word, count in runs for _ in range(count)], np.uint32)
    plan = Plans().of(np.arange(len(data), dtype=np.uint32), kinds_of(data), 1, 1 << 12, True, sort)
    addresses, _, written = expand(plan.filled(data), True)
    assert written == data[addresses].tolist()


def test_regular_addresses_cost_next_to_nothing():
    def words(addresses, most=1 << 15):
        return sum(len(s.words) for r in segments(np.asarray(addresses, np.uint32), most, 1 << 15, 0, False) for s in r)

    assert words(np.arange(5000)) == 2
    assert words(np.arange(0, 5000, 7)) == 3
    assert words(np.stack([np.arange(500), 2048 + np.arange(500)], 1).ravel()) == 4
    scattered = np.random.default_rng(1).integers(0, 1 << 30, 1000)
    assert words(scattered) < 1.1 * len(scattered)


def test_a_body_too_small_is_refused():
    with pytest.raises(ValueError, match="body is 2; a segment of one access has 3 words"):
        list(segments(np.arange(3), 5, 2, 0, True))


def test_the_document_has_the_numbers_of_datagrams() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "link.md").read_text().split())
    assert f"have at most {DATAGRAM_WORDS} words there, and a log frame {4 * (HEAD_WORDS + 1)} + {DATAGRAM_LOG_CHUNK} bytes" in text
    assert f"at UDP port {UDP_PORT};" in text
    assert f"{Ethernet().ip} by default" in text
    assert f"waited for {LOG_WAIT} cycles" in text
    assert f"at most {BoardLink('ethernet').bytes_per_s / 1e6:.1f} MB" in text
