"""Checks of a board's answers, for length and meaning, before the host uses them (docs/link.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mrfhw.host.links import LinkError
from mrfhw.machine.link_protocol import (
    FIRST_WINDOWED,
    FRAME_WORDS,
    LEAST_VERSION,
    LINK_VERSION,
    LOG_MEMORY,
    MEMORY_WORDS,
    MOST_OUTSTANDING,
    POSITIONS,
    RESPONSE,
    Frame,
    Operation,
    Segment,
    Status,
    element_words,
    is_outstanding,
    is_size,
)

__all__ = ["Greeting", "check_answer", "check_log_frame", "read_greeting"]


class Greeting(NamedTuple):
    """The answer to a hello: a board's properties and the positions of its log.

    outstanding: requests that it may have at once. request_memory, response_memory: words that they and their responses may have
    together. A board of an earlier version than FIRST_WINDOWED does not say them, and has one.
    """

    version: int
    request_words: int
    response_words: int
    log_bytes: int
    line_bytes: int
    freed: int
    reached: int
    behind: int
    outstanding: int = 1
    request_memory: int = 0
    response_memory: int = 0


def _wrong(name: str, what: str) -> LinkError:
    return LinkError(f"the board at {name} {what}", "see that this is the board's port, and build it again with this program")


def read_greeting(name: str, frame: Frame) -> Greeting:
    """The answer to a hello. name: of the link. Raises LinkError for values that no board of this program has."""
    words = [int(word) for word in frame.words]
    if words and not LEAST_VERSION <= words[0] <= LINK_VERSION:
        raise LinkError(f"the board at {name} speaks version {words[0]} of the link, this program versions {LEAST_VERSION} to "
                        f"{LINK_VERSION}", "build the board again with this program")
    windowed = bool(words) and words[0] >= FIRST_WINDOWED
    size = 4 * (len(Greeting._fields) - (0 if windowed else len(Greeting._field_defaults)))
    if frame.status != Status.DONE or len(frame.body) != size:
        raise _wrong(name, f"answered a hello with {len(frame.body)} bytes and status {frame.status}, not "
                           f"{size} and {int(Status.DONE)}")
    greeting = Greeting(*words)
    if windowed:
        _check_window(name, greeting)
    for what, value, limits in (("words of request memory", greeting.request_words, FRAME_WORDS),
                                ("words of response memory", greeting.response_words, FRAME_WORDS),
                                ("bytes of log memory", greeting.log_bytes, LOG_MEMORY)):
        if not is_size(value, limits):
            raise _wrong(name, f"says that it has {value} {what}; a board has {limits[0]} to {limits[1]}, a power of two")
    if (greeting.reached - greeting.freed) % POSITIONS > greeting.log_bytes:
        raise _wrong(name, f"says that its log is freed up to {greeting.freed} and has reached {greeting.reached}; its memory has "
                           f"{greeting.log_bytes} bytes")
    return greeting


def _check_window(name: str, greeting: Greeting) -> None:
    if not is_outstanding(greeting.outstanding):
        raise _wrong(name, f"says that it has {greeting.outstanding} requests outstanding; a board has 1 to {MOST_OUTSTANDING}, a "
                           "power of two")
    for what, value in (("requests", greeting.request_memory), ("responses", greeting.response_memory)):
        if not is_size(value, MEMORY_WORDS):
            raise _wrong(name, f"says that its {what} have {value} words of memory together; a board has {MEMORY_WORDS[0]} to "
                               f"{MEMORY_WORDS[1]}, a power of two")


def check_answer(name: str, operation: Operation, value: int, accesses: int, reads: Sequence[Segment], log_bytes: int,
                 frame: Frame) -> None:
    """Raise LinkError unless `frame` is a valid answer to a write, read or credit, after which the host can continue.

    value: the request's. accesses: of a write or read. reads: segments of a read. log_bytes: of the board's log memory. An
    access that the bus refused is such an answer; its value is the number of that access.
    """
    # Another program may have left the board at the next number by chance, but hardly at the run's log position as well.
    lost = frame.status == Status.MALFORMED and operation == Operation.CREDIT
    if frame.status == Status.NUMBER or lost:
        raise LinkError(f"the board at {name} was started again, or another program has spoken to it", "solve the problem again")
    if frame.status == Status.MALFORMED:
        raise LinkError(f"the board at {name} does not take a request of kind {frame.operation ^ RESPONSE}",
                        "build it again with this program")
    refused = frame.status == Status.BUS_ERROR
    if operation == Operation.CREDIT:
        if frame.status != Status.DONE or frame.body or (frame.value - value) % POSITIONS > log_bytes:
            raise _wrong(name, f"answered a credit at {value} with position {frame.value}, {len(frame.body)} bytes and status "
                               f"{frame.status}; its log memory has {log_bytes} bytes")
        return
    possible = frame.value < accesses if refused else frame.status == Status.DONE and frame.value == accesses
    size, left = 0, frame.value
    for segment in reads:
        size, left = size + 4 * element_words(min(left, segment.count), segment.kind), max(0, left - segment.count)
    if not possible or len(frame.body) != size:
        raise _wrong(name, f"answered a {operation.name.lower()} of {accesses} words with {frame.value} done, {len(frame.body)} "
                           f"bytes and status {frame.status}")


def check_log_frame(name: str, frame: Frame, most: int) -> None:
    """Raise LinkError for a log frame that no board of this program sends. most: bytes of one on this link."""
    if len(frame.body) > most:
        raise _wrong(name, f"sent a log frame of {len(frame.body)} bytes; one has {most} at most")
