"""The bridge under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.link.bridge import Bridge, LogBuffer
from mrfhw.gateware.link.frames import FrameReceiver, FrameTransmitter
from mrfhw.gateware.link.window_bridge import WindowBridge
from sim.support.runner import run_bench
from support.refusals import assert_refused

pytestmark = pytest.mark.tools

ANY_BRIDGE = ("accesses", "accesses_under_faults", "log", "log_under_faults")  # tests of bench_bridge that hold of both

FRAMES_RIGHT_CRC = pytest.mark.claim(
    "FrameReceiver", "frames with the right CRC and no others, whatever comes between; too long ones are dropped")


@FRAMES_RIGHT_CRC
@pytest.mark.claim("FrameTransmitter", "responses and log frames with escapes and CRC, a byte held until it is taken")
@pytest.mark.claim("LogBuffer", "every byte of every line once and in order, under credit and back-pressure")
@pytest.mark.claim("Accesses", "segments go onto the bus a word a cycle, and what a refused access leaves is told")
@pytest.mark.claim("Bridge",
    "the bus sees each access once and in order, the host all of the log, under lost, repeated, cut and changed bytes")
@pytest.mark.claim("Crc", "frames carry the CRC-32 of docs/link.md, and one that differs is ignored")
@pytest.mark.parametrize(("line_bits", "words", "log_bytes"), [
    (40, 16, 32), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((72, 16, 1024), (32, 64, 64)))])
def test_bridge(line_bits: int, words: int, log_bytes: int) -> None:
    parameters = {"address_bits": 12, "line_bits": line_bits, "words": words, "log_bytes": log_bytes}
    run_bench(Bridge(**parameters), "link_bridge", "sim.benches.bench_bridge", parameters)


@pytest.mark.claim("RequestQueue", "frames wait in order and whole; one that finds no room is dropped, and none else")
@pytest.mark.claim("KeptResponses", "each response is kept until it is acknowledged, and none is overwritten before")
@pytest.mark.claim("WindowBridge",
    "many requests at once are each carried out once and in order, numbers wrapping, frames lost, repeated and damaged; a host "
    "of an earlier version is served one at a time")
@pytest.mark.parametrize(("line_bits", "words", "log_bytes", "outstanding"), [
    (40, 64, 64, 8), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((72, 256, 1024, 4), (32, 128, 64, 64)))])
def test_window_bridge(line_bits: int, words: int, log_bytes: int, outstanding: int) -> None:
    parameters = {"address_bits": 12, "line_bits": line_bits, "words": words, "log_bytes": log_bytes, "outstanding": outstanding}
    run_bench(WindowBridge(**parameters), "link_window", "sim.benches.bench_window_bridge", parameters)
    assert run_bench(WindowBridge(**parameters), "link_window", "sim.benches.bench_bridge", parameters,
                     ANY_BRIDGE) == len(ANY_BRIDGE)


@pytest.mark.claim("WordCrc", "a frame with any byte changed, or cut anywhere, is not taken")
@pytest.mark.claim("DatagramReceiver", "whole and undamaged datagrams of one frame and no others, however long")
@pytest.mark.claim("DatagramTransmitter",
    "datagrams never pause once begun, say their length, and a full log takes its words and three cycles")
@pytest.mark.claim("Bridge",
    "late copies of requests and hellos do nothing; each access is carried out once under lost, doubled, late and damaged "
    "datagrams")
@pytest.mark.claim("WindowBridge",
    "many requests at once are each carried out once and in order, numbers wrapping, frames lost, repeated and damaged; a host "
    "of an earlier version is served one at a time")
@pytest.mark.parametrize(("line_bits", "words", "response_words", "log_bytes", "outstanding"), [
    (128, 32, 16, 4096, 1), (128, 128, 64, 4096, 8), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in (
        (64, 16, 32, 64, 1), (64, 64, 512, 64, 64)))])
def test_bridge_behind_datagrams(line_bits: int, words: int, response_words: int, log_bytes: int, outstanding: int) -> None:
    parameters = {"address_bits": 12, "line_bits": line_bits, "words": words, "response_words": response_words,
                  "log_bytes": log_bytes, "datagrams": True}
    if outstanding > 1:
        parameters["outstanding"] = outstanding
    bridge = (WindowBridge if outstanding > 1 else Bridge)(**parameters)
    run_bench(bridge, "link_datagrams", "sim.benches.bench_datagrams", parameters)


@FRAMES_RIGHT_CRC
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Bridge(0, 32), "address_bits is 0; the link carries addresses of 1 to 32 bits"),
    (lambda: Bridge(33, 32), "address_bits is 33; the link carries addresses of 1 to 32 bits"),
    (lambda: Bridge(8, 32, words=100), "words is 100; a frame memory has 16 to 4096 words, a power of two"),
    (lambda: FrameReceiver(8), "words is 8; a frame memory has 16 to 4096 words, a power of two"),
    (lambda: FrameTransmitter(8192), "words is 8192; a frame memory has 16 to 4096 words, a power of two"),
    (lambda: LogBuffer(12, 64), "line_bits is 12; a line is two bytes or more, whole ones"),
    (lambda: LogBuffer(40, 64, 4), "line_bits is 40; a line is two bytes or more, whole ones, and whole words on a link of "
                                   "datagrams: give a multiple of 32 from 32 on"),
    (lambda: Bridge(8, 32, words=512, datagrams=True), "words is 512; a datagram holds a frame of 256 words"),
    (lambda: Bridge(8, 32, response_words=100), "response_words is 100; a frame memory has 16 to 4096 words, a power of two"),
    (lambda: LogBuffer(32, 48), "log_bytes is 48; a log buffer has 16 to 65536 bytes, a power of two"),
])
def test_wrong_arguments(make, message) -> None:
    assert_refused(make, message)


@pytest.mark.claim("Bridge",
    "any bytes, right and wrong frames of any length, number and place, are answered or ignored as docs/link.md says")
@pytest.mark.parametrize(("line_bits", "words", "log_bytes", "short_elements"), [
    (32, 16, 16, True), pytest.param(40, 64, 128, True, marks=pytest.mark.long), (72, 16, 64, True), (40, 16, 32, False)])
def test_bridge_as_the_reference(line_bits: int, words: int, log_bytes: int, short_elements: bool,
                                 request: pytest.FixtureRequest) -> None:
    """Frames of any length, number and place, and broken ones. The long run: make long."""
    for seed in range(request.config.getoption("--bridges")):
        parameters = {"address_bits": 12, "line_bits": line_bits, "words": words, "log_bytes": log_bytes,
                      "short_elements": short_elements}
        run_bench(Bridge(**parameters), "link_bridge", "sim.benches.bench_bridge_fuzz",
                  {**parameters, "seed": seed, "rounds": 60})


@pytest.mark.claim("WindowBridge",
    "any bytes, right and wrong frames, many at once, of any number, are answered or ignored as docs/link.md says")
@pytest.mark.parametrize(("line_bits", "words", "log_bytes", "outstanding"), [
    (32, 64, 16, 8), pytest.param(40, 256, 128, 4, marks=pytest.mark.long), pytest.param(72, 64, 64, 32, marks=pytest.mark.long)])
def test_window_bridge_as_the_reference(line_bits: int, words: int, log_bytes: int, outstanding: int,
                                        request: pytest.FixtureRequest) -> None:
    """Frames of any length, number and place, and broken ones. The long run: make long."""
    for seed in range(request.config.getoption("--bridges")):
        parameters = {"address_bits": 12, "line_bits": line_bits, "words": words, "log_bytes": log_bytes,
                      "outstanding": outstanding}
        run_bench(WindowBridge(**parameters), "link_window", "sim.benches.bench_window_fuzz",
                  {**parameters, "seed": seed, "rounds": 60})
