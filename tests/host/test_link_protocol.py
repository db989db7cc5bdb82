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
from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    DATAGRAM_WORDS,
    ESCAPE,
    FLAG,
    HEAD_WORDS,
    UDP_PORT,
    Decoder,
    encode,
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


def expand(words: np.ndarray, write: bool) -> tuple[list[int], list[int]]:
    """Addresses and data of a request's body, as docs/link.md says."""
    addresses, written, at = [], [], 0
    while at < len(words):
        count, period, address = int(words[at]) & 0xFFFF, int(words[at]) >> 16, int(words[at + 1])
        steps = [int(s) for s in words[at + 2:at + 2 + period]] or [1]
        at += 2 + period
        for i in range(count):
            addresses.append(address)
            address = (address + steps[i % len(steps)]) % 2**32
        if write:
            written += [int(w) for w in words[at:at + count]]
            at += count
    return addresses, written


@FRAMES_SURVIVE_ANY
@settings(max_examples=200)
@given(ADDRESSES, st.integers(1, 40), st.integers(3, 60), st.booleans())
def test_segments_are_the_addresses(addresses, most, body, write):
    data = np.arange(len(addresses), dtype=np.uint32) + 7
    found, written = [], []
    for request in segments(addresses, most, body, int(write)):
        first = request[0].first
        assert first == len(found)
        parts = [p for s in request for p in ((s.words, data[s.first:s.end]) if write else (s.words,))]
        words = np.concatenate(parts)
        assert len(words) <= body
        a, d = expand(words, write)
        assert 1 <= len(a) <= most
        found += a
        written += d
    assert found == addresses.tolist()
    assert written == (data.tolist() if write else [])


def test_regular_addresses_cost_next_to_nothing():
    def words(addresses, most=1 << 15):
        return sum(len(s.words) for r in segments(np.asarray(addresses, np.uint32), most, 1 << 15, 0) for s in r)

    assert words(np.arange(5000)) == 2
    assert words(np.arange(0, 5000, 7)) == 3
    assert words(np.stack([np.arange(500), 2048 + np.arange(500)], 1).ravel()) == 4
    scattered = np.random.default_rng(1).integers(0, 1 << 30, 1000)
    assert words(scattered) < 1.1 * len(scattered)


def test_a_body_too_small_is_refused():
    with pytest.raises(ValueError, match="body is 2; a segment of one access has 3 words"):
        list(segments(np.arange(3), 5, 2, 1))


def test_the_document_has_the_numbers_of_datagrams() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "link.md").read_text().split())
    assert f"have at most {DATAGRAM_WORDS} words there, and a log frame {4 * (HEAD_WORDS + 1)} + {DATAGRAM_LOG_CHUNK} bytes" in text
    assert f"at UDP port {UDP_PORT};" in text
    assert f"{Ethernet().ip} by default" in text
    assert f"waited for {LOG_WAIT} cycles" in text
    assert f"at most {BoardLink('ethernet').bytes_per_s / 1e6:.1f} MB" in text
