"""What a hostile board may do, and what the program says of it."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import LOG_CHUNK, RESPONSE, Operation, Status, encode
from mrfhw.machine.registers import Region, register
from support.boards import TINY
from support.hostile import Answer, Closed, with_registers

__all__ = ["FAULTS", "ONE_SITE", "WAIT", "Fault", "each", "lmem", "log", "reads", "true"]

WAIT = 3  # seconds of patience
MACHINE = Derived.of(TINY)
LINE_BYTES = MACHINE.line_bits // 8
Tamper = Callable[[Answer], bytes]


@dataclass(frozen=True)
class Fault:
    """says: how the line after "Error: " begins, a pattern; None where the answer is right all the same.

    make: the board's behaviour, anew for each command. at: "greeting" where `diagnose` says the same as `run`, "identity" where it
    is a part that fails, else "run". most: requests that the host may have sent by then.
    """

    says: str | None
    make: Callable[[], Tamper]
    at: str = "run"
    greet: bytes = b""
    deliver: Callable[[socket.socket, bytes], object] | None = None
    most: int = 3000


def answers(kind: Operation, started: bool = False, /, **fields: object) -> Callable[[], Tamper]:
    """Other fields in every answer to a kind of request. Functions are called with the answer."""
    def tamper(answer: Answer) -> bytes:
        if not answer.is_of(kind) or answer.started < started:
            return answer.as_it_is()
        return answer.changed(**{name: value(answer) if callable(value) else value for name, value in fields.items()})

    return lambda: tamper


def greets(**words: int) -> Callable[[], Tamper]:
    """Other words in the answer to a hello, by their place."""
    def changed(answer: Answer) -> list[int]:
        found = [int(word) for word in answer.frame.words]
        for name, value in words.items():
            found[int(name[1:])] = value
        return found

    return answers(Operation.HELLO, words=changed)


def reads(started: bool = True, **values: int) -> Callable[[], Tamper]:
    """Registers that read other values, from the start of a run on or always."""
    tamper = with_registers(**values)
    return lambda: lambda answer: tamper(answer) if answer.started >= started else answer.as_it_is()


def falling_sweeps() -> Tamper:
    left = itertools.chain([9], itertools.repeat(5))

    def tamper(answer: Answer) -> bytes:
        looks = answer.started and register("sweep") in answer.addresses
        return with_registers(status=3, sweep=next(left))(answer) if looks else answer.as_it_is()

    return tamper


def log(change: Callable[[int, bytes], bytes | None]) -> Callable[[], Tamper]:
    """Another body in each log frame, from its place in the run's log and the true one; None: the frame is not sent."""
    def make() -> Tamper:
        first: list[int] = []

        def tamper(answer: Answer) -> bytes:
            if answer.request is not None or not answer.started:
                return answer.as_it_is()
            first.append(answer.frame.value)
            body = change(answer.frame.value - first[0], answer.frame.body)
            return b"" if body is None else answer.changed(body=body)

        return tamper

    return make


def fields(count: int, label: int, address: int) -> Callable[[int], int]:
    """The byte at a place of a log whose every message has these bits."""
    message = count | label << MACHINE.counter_bits | address << MACHINE.counter_bits + MACHINE.label_bits
    line = sum(message << slot * MACHINE.message_bits for slot in range(MACHINE.line_messages)).to_bytes(LINE_BYTES, "little")
    return lambda place: line[place % LINE_BYTES]


LABELS, SITES, ONE_SITE, COUNTS = fields(0, 7, 0), fields(0, 0, 127), fields(0, 0, 1), fields(3, 0, 0)


def each(change: Callable[[int, int], int]) -> Callable[[int, bytes], bytes]:
    return lambda place, body: bytes(change(place + at, byte) for at, byte in enumerate(body))


def lmem(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Tamper]:
    """Other words of the label memories, after a run: label and count of two words of entries in each."""
    places = AddressMap(TINY)

    def tamper(answer: Answer) -> bytes:
        first = answer.addresses[0] if answer.started and answer.is_of(Operation.READ) else 0
        if first >> places.tiles_bit and first >> places.offset_bits & (1 << places.region_bits) - 1 == Region.LMEM:
            return answer.changed(words=change(answer.frame.words))
        return answer.as_it_is()

    return lambda: tamper


def closes(when: Callable[[Answer], bool]) -> Callable[[], Tamper]:
    def tamper(answer: Answer) -> bytes:
        if when(answer):
            raise Closed
        return answer.as_it_is()

    return lambda: tamper


def floods(answer: Answer) -> bytes:
    """Nobody asked for any of it."""
    return 2000 * encode(Operation.READ | RESPONSE, (answer.frame.number + 128) % 256, 0, bytes(40))


def with_others(answer: Answer) -> bytes:
    """The answer among frames of no known kind, answers that nobody asked for, and itself a second time."""
    frame = answer.frame
    others = (encode(0x77, frame.number, 5, bytes(12)) + encode(0, 0, 0)
              + encode(Operation.HELLO | RESPONSE, frame.number, frame.value ^ 1, bytes(32)))
    if answer.request is not None:  # a frame of the log has no request's number, and the one half around may be asked for
        others += encode(Operation.READ | RESPONSE, frame.number ^ 0x80, 1)
    return others + answer.as_it_is() + answer.as_it_is() + others


def forgetful() -> Tamper:
    """Every fifth answer or log frame is not sent."""
    number = itertools.count(1)
    return lambda answer: b"" if next(number) % 5 == 0 else answer.as_it_is()


def repeating() -> Tamper:
    """All log frames so far come again and again."""
    sent: list[bytes] = []

    def tamper(answer: Answer) -> bytes:
        if answer.request is None:
            sent.append(answer.as_it_is())
            return b"".join(reversed(sent[-20:]))
        return answer.as_it_is()

    return tamper


def drips(seconds: float) -> Callable[[socket.socket, bytes], object]:
    """A byte after the other, each after a while."""
    def deliver(connection: socket.socket, data: bytes) -> None:
        for byte in data:
            time.sleep(seconds)
            connection.sendall(bytes((byte,)))

    return deliver


def true(answer: Answer) -> bytes:
    return answer.as_it_is()


def far(answer: Answer) -> bytes:
    """Log from where the board's memory cannot be, beside the true answers."""
    if answer.request is None:
        return answer.changed(value=(answer.frame.value + 50_000) % (1 << 32))
    return answer.as_it_is()


BUSY = rf"the board at \S+ is busy at sweep \d+ of 30, and neither sweeps nor log have gone on within {WAIT} s: reset the board"
EARLIER = rf"the board at \S+ is busy with {{}}, which has not gone on within {WAIT} s: reset the board"
NO_LOG = rf"the board at \S+ (has|counts) \d+ bytes of log(, of which|; 0 are here, and) none has come within {WAIT} s: "
LINES = r"the chip sent \d+ messages in \d+ lines; \d+ in \d+ bytes are here: solve"
COUNTED = r"log and LMem have \d+ labels of the site in row \d and column \d+, and 20 were counted \(\d+"
HELLO = r"the board at \S+ answered a hello with {} bytes and status {}, not {} and 0: see that this is the board's port"
HAS = r"the board at \S+ says that it has {}; a board has "
READ = r"the board at \S+ answered a read of \d+ words with \d+ done, \d+ bytes and status \d+: see that"
WRITE = r"the board at \S+ answered a write of \d+ words with \d+ done, \d+ bytes and status \d+: see that"
CREDIT = r"the board at \S+ answered a credit at \d+ with position \d+, \d+ bytes and status \d+; its log memory has 2048 bytes"
NOTHING = rf"\d+ bytes came from \S+ within {WAIT / 4:g} s, none of them an answer of a board's: see that this is the board's port"
SILENT = rf"the board at \S+ has not answered within {WAIT / 2:g} s: see that it is on and plugged in"
UNANSWERED = rf"the board at \S+ has not answered within {1.5 * WAIT:g} s: see that it is on and plugged in"
BROKE = r"the link to \S+ broke \(the other end closed it\): see that the board is on and plugged in"

FAULTS = {
    "a hello without a word": Fault(HELLO.format(0, 0, 32), answers(Operation.HELLO, body=b""), "greeting"),
    "a hello of four words": Fault(HELLO.format(16, 0, 32), answers(Operation.HELLO, words=[2, 512, 512, 2048]), "greeting"),
    "a hello of twelve words": Fault(HELLO.format(48, 0, 44), answers(Operation.HELLO, words=lambda a: [*a.frame.words, 0]),
                                     "greeting"),
    "a hello that is refused": Fault(HELLO.format(44, 2, 44), answers(Operation.HELLO, status=2), "greeting"),
    "a hello of another version": Fault(r"the board at \S+ speaks version 5 of the link, this program versions 2 to 4",
                                        answers(Operation.HELLO, words=[5]), "greeting"),
    "a hello of 60,000 bytes": Fault(HELLO.format(60_000, 0, 32), answers(Operation.HELLO, words=[2, *[0] * 14_999]), "greeting"),
    "no request memory": Fault(HAS.format("0 words of request memory"), greets(w1=0), "greeting"),
    "a huge response memory": Fault(HAS.format("1048576 words of response memory"), greets(w2=1 << 20), "greeting"),
    "an odd log memory": Fault(HAS.format("100 bytes of log memory"), greets(w3=100), "greeting"),
    "lines of no bytes": Fault(r"the board's log has lines of 0 bits, not 64: give the parameters", greets(w4=0), "identity"),
    "a log beyond its memory": Fault(r"the board at \S+ says that its log is freed up to 7 and has reached 9000; its memory",
                                     greets(w5=7, w6=9000), "greeting"),
    "no request outstanding": Fault(HAS.format("0 requests outstanding"), greets(w8=0), "greeting"),
    "thousands of requests outstanding": Fault(HAS.format("4096 requests outstanding"), greets(w8=4096), "greeting"),
    "no memory for requests": Fault(r"the board at \S+ says that its requests have 0 words of memory together; a board has ",
                                    greets(w9=0), "greeting"),
    "another greeting's number": Fault(NOTHING, answers(Operation.HELLO, value=lambda a: a.frame.value ^ 1), "greeting"),
    "another identity": Fault(r"the identity register reads 0x00000000, not 0x4d524648: no such chip on this link",
                              reads(False, identity=0), "identity"),
    "another interface": Fault(r"the chip has interface version 99; this driver has \d+: build the chip again",
                               reads(False, version=99), "identity"),
    "another digest": Fault(r"the chip's circuit is 00000000\w{24}, not \w{32}: give the parameters that the chip was built",
                            reads(False, digest_0=0), "identity"),
    "reads without words": Fault(READ, answers(Operation.READ, body=b""), "greeting"),
    "reads of too few words": Fault(READ, answers(Operation.READ, words=lambda a: a.frame.words[:-1]), "greeting"),
    "reads of too many words": Fault(READ, answers(Operation.READ, words=lambda a: [*a.frame.words, 1]), "greeting"),
    "reads of half a word": Fault(READ, answers(Operation.READ, body=lambda a: a.frame.body + b"\0\0"), "greeting"),
    "reads that do not count": Fault(READ, answers(Operation.READ, value=0), "greeting"),
    "a status that there is not": Fault(READ, answers(Operation.READ, status=9), "greeting"),
    "a bus error beyond a read": Fault(READ, answers(Operation.READ, status=Status.BUS_ERROR, value=5000, body=b""), "greeting"),
    "a bus error with all words": Fault(READ, answers(Operation.READ, status=Status.BUS_ERROR, value=0), "greeting"),
    "a bus error in the first word": Fault(r"the chip refused a read from 0x0: the address is not one of this chip's",
                                           answers(Operation.READ, status=Status.BUS_ERROR, value=0, body=b""), "identity"),
    "requests that it does not know": Fault(r"the board at \S+ does not take a request of kind 3: build it again",
                                            answers(Operation.READ, status=Status.MALFORMED, value=0, body=b""), "greeting"),
    "a number that is not in turn": Fault(r"the board at \S+ was started again, or another program has spoken to it: solve the",
                                          answers(Operation.WRITE, status=Status.NUMBER, value=0)),
    "writes that do nothing": Fault(WRITE, answers(Operation.WRITE, value=0)),
    "writes that say something": Fault(WRITE, answers(Operation.WRITE, body=bytes(8))),
    "a bus error beyond a write": Fault(WRITE, answers(Operation.WRITE, status=Status.BUS_ERROR, value=1 << 31)),
    "short answers to all label memories": Fault(READ, lmem(lambda words: words[1:])),
    "no answers to label memories": Fault(READ, lmem(lambda words: words[:0])),
    "credits at a far position": Fault(CREDIT, answers(Operation.CREDIT, value=lambda a: (a.frame.value + 5000) % (1 << 32))),
    "credits with words": Fault(CREDIT, answers(Operation.CREDIT, body=bytes(400))),
    "credits that the bus refuses": Fault(CREDIT, answers(Operation.CREDIT, status=Status.BUS_ERROR)),
    "an impossible status register": Fault(r"the status register reads 0xffffffff; it can be 0, 2 or 3: build the chip again",
                                           reads(False, status=(1 << 32) - 1)),
    "busy for ever": Fault(EARLIER.format("an earlier run"), reads(False, status=3), most=600),
    "log behind for ever": Fault(EARLIER.format("77 bytes of an earlier run's log"), greets(w7=77), most=600),
    "busy for ever in the run": Fault(BUSY, reads(status=3, sweep=9), most=700),
    "log left for ever in the run": Fault(BUSY, reads(status=2), most=700),
    "sweeps beyond the last": Fault(r"the chip is at sweep 4000000000 of 30, after sweep \d+: reset", reads(sweep=4_000_000_000)),
    "sweeps that fall": Fault(r"the chip is at sweep 5 of 30, after sweep 9: reset it", falling_sweeps),
    "an end before the last sweep": Fault(r"the chip has stopped at sweep 3 of 30: see that no other program uses it",
                                          reads(status=0, sweep=3)),
    "no cycles": Fault(r"the chip counts 0 cycles, not \d+: reset it", reads(cycles_low=0)),
    "no label cycles": Fault(r"the chip counts 0 label cycles, not \d+: reset it", reads(label_cycles_low=0)),
    "more cycles than there can be": Fault(r"the chip counts \d{15,} cycles, not \d+: reset it", reads(cycles_high=1 << 31)),
    "lines without end": Fault(r"the chip counts 4294967295 lines, not \d+: reset it", reads(lines=(1 << 32) - 1)),
    "messages without end": Fault(r"the chip counts 1000000 messages; the run has 1960 at most: reset it",
                                  reads(messages_low=1_000_000, lines=200_001)),
    "fewer lines than messages": Fault(r"the chip counts 0 lines, not \d+: reset it", reads(lines=0)),
    "a log of other bytes": Fault(f"({LINES}|the log names site \\d+)", log(lambda place, body: os.urandom(len(body)))),
    "labels that there are not": Fault(r"the log names site \d+ and label 7; the problem has 98 sites and 6 labels: build the chip",
                                       log(each(lambda place, byte: byte | LABELS(place)))),
    "sites that there are not": Fault(r"the log names site 127 and label \d; the problem has 98 sites and 6 labels: build the chip",
                                      log(each(lambda place, byte: byte | SITES(place)))),
    "counts of zero": Fault(r"the chip sent \d+ messages in \d+ lines; 0 in \d+ bytes are here: solve the problem again",
                            log(each(lambda place, byte: byte & ~COUNTS(place)))),
    "the counts of other sites": Fault(COUNTED, log(each(lambda place, byte: byte ^ ONE_SITE(place)))),
    "a log that never comes": Fault(NO_LOG, log(lambda place, body: None), most=700),
    "a log from elsewhere": Fault(NO_LOG, lambda: far, most=700),
    "long log frames": Fault(r"the board at \S+ sent a log frame of 1000 bytes; one has 256 at most: see",
                             log(lambda place, body: bytes(1000))),
    "labels in LMem that there are not": Fault(r"LMem has label 7; the problem has 6 labels: build", lmem(lambda w: w | 0x70007)),
    "other counts in LMem": Fault(COUNTED, lmem(lambda words: words ^ np.uint32(0x1000100))),
    "wrong numbers for ever": Fault(NOTHING, lambda: lambda a: a.changed(number=(a.frame.number + 1) % 256), "greeting"),
    "wrong numbers after the greeting": Fault(SILENT, answers(Operation.READ, number=lambda a: a.frame.number ^ 1),
                                              "greeting"),
    "answers of other kinds": Fault(SILENT, answers(Operation.READ, operation=Operation.WRITE | RESPONSE), "greeting"),
    "answers that nobody asked for": Fault(NOTHING, lambda: floods, "greeting"),
    "log in place of answers": Fault(UNANSWERED, lambda: lambda a: 40 * encode(Operation.LOG, 0, 0, b"") if a.started
                                     else a.as_it_is()),
    "a frame that never ends": Fault(NOTHING, lambda: lambda answer: b"\x01" * (1 << 20), "greeting"),
    "a byte now and then": Fault(NOTHING, lambda: true, "greeting", deliver=drips(0.03)),
    "closed at once": Fault(BROKE, closes(lambda answer: True), "greeting"),
    "closed in the first read": Fault(BROKE, closes(lambda answer: answer.is_of(Operation.READ)), "greeting"),
    "closed while it is loaded": Fault(BROKE, closes(lambda answer: answer.is_of(Operation.WRITE))),
    "closed in the run": Fault(BROKE, closes(lambda answer: answer.started and answer.is_of(Operation.CREDIT))),
    "closed while it is read": Fault(BROKE, closes(lambda a: a.started and max(a.addresses, default=0) > 0x2000)),
    "frames of other kinds among the answers": Fault(None, lambda: with_others, greet=encode(0x55, 1, 2, bytes(7)) + b"login: "),
    "every fifth frame lost": Fault(None, forgetful),
    "log frames cut in pieces": Fault(None, lambda: lambda a: a.as_it_is() if a.request else b"".join(
        encode(Operation.LOG, 0, a.frame.value + at, a.frame.body[at:at + 7]) for at in range(0, LOG_CHUNK, 7))),
    "log frames from before": Fault(None, repeating),
}
