"""The board's end of the link (docs/link.md): a byte stream or datagrams to the machine's bus and from its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.gateware.link.accesses import Accesses
from mrfhw.gateware.link.datagrams import DatagramReceiver, DatagramTransmitter, DatagramWord, SentWord
from mrfhw.gateware.link.frames import FrameReceiver, FrameTransmitter, check_words
from mrfhw.gateware.link.request_queue import check_memory_words
from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    DATAGRAM_WORDS,
    FIRST_PACKED,
    FIRST_TOLD,
    FIRST_WINDOWED,
    HEAD_WORDS,
    LOG_BYTES,
    LOG_MEMORY,
    LOG_WAIT,
    MOST_OUTSTANDING,
    REQUEST_CYCLES,
    RESPONSE,
    REWIND,
    WORDS,
    Operation,
    Status,
    is_outstanding,
    is_size,
    log_unit,
)

__all__ = ["LOG_WAIT", "REQUEST_CYCLES", "Bridge", "LogBuffer", "Request", "check_link"]


def check_link(line_bits: int, words: int, log_bytes: int, response_words: int | None = None, datagrams: bool = False,
               outstanding: int = 1) -> None:
    """Raises ValueError, in one line, for what no `Bridge` or `WindowBridge` has. Its arguments are the same."""
    if not is_outstanding(outstanding):
        raise ValueError(f"outstanding is {outstanding!r}; a board has 1 to {MOST_OUTSTANDING} requests outstanding, a power of "
                         "two: give one of them")
    for name, size in (("words", words), ("response_words", words if response_words is None else response_words)):
        if outstanding > 1:
            check_memory_words(name, size)
        elif check_words(name, size) > DATAGRAM_WORDS and datagrams:
            raise ValueError(f"{name} is {size}; a datagram holds a frame of {DATAGRAM_WORDS} words: give {DATAGRAM_WORDS} or less")
    _check_log(line_bits, log_bytes, log_unit(datagrams))


def _check_log(line_bits: int, size: int, unit: int) -> None:
    if line_bits < 16 or line_bits % (8 * unit):
        raise ValueError(f"line_bits is {line_bits}; a line is two bytes or more, whole ones, and whole words on a link of "
                         f"datagrams: give a multiple of {8 * unit} from {max(16, 8 * unit)} on")
    if not is_size(size, LOG_MEMORY):
        least, most = LOG_MEMORY
        raise ValueError(f"log_bytes is {size!r}; a log buffer has {least} to {most} bytes, a power of two: give one of them")


class LogBuffer(wiring.Component):
    """Log lines as bytes or words in a ring, until they are freed.

    lines: one unit of a line is stored per cycle while there is room; the line is taken with its last unit. freed: position up to
    which the ring may be overwritten. reached: bytes stored since reset. data: the ring's unit at `position`, one cycle later.
    line_bits: a whole number of units. size: bytes, 16 to 65536, a power of two. unit: bytes that are stored at once, 1 or 4;
    positions are multiples of it.
    """

    def __init__(self, line_bits: int, size: int, unit: int = 1):
        _check_log(line_bits, size, unit)
        self.line_bits, self.size, self.unit = line_bits, size, unit
        super().__init__({"lines": In(AxiStream(line_bits)), "freed": In(32), "reached": Out(32), "position": In(32),
                          "data": Out(8 * unit)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, low, width = self.size.bit_length() - 1, self.unit.bit_length() - 1, 8 * self.unit
        units = self.line_bits // width
        m.submodules.ring = self.ring = ring = UnguardedMemory(
            shape=width, depth=self.size >> low,
            unused="what is read in the cycle in which it is written is not sent yet, and is read once more in the next")
        write = ring.write_port()
        read = ring.read_port()
        self.number = number = Signal(range(units))
        full = Signal()
        take = Signal()
        parts = Array([self.lines.tdata[width * i:width * (i + 1)] for i in range(units)])
        m.d.comb += [
            full.eq((self.reached[:bits] == self.freed[:bits]) & (self.reached[bits] != self.freed[bits])),
            take.eq(self.lines.tvalid & ~full), self.lines.tready.eq(take & (number == units - 1)),
            write.addr.eq(self.reached >> low), write.data.eq(parts[number]), write.en.eq(take),
            read.addr.eq(self.position >> low), read.en.eq(1), self.data.eq(read.data),
        ]
        with m.If(take):
            m.d.sync += [self.reached.eq(self.reached + self.unit), number.eq(Mux(self.lines.tready, 0, number + 1))]
        return m


@dataclass(frozen=True)
class Request:
    """The registers of a request that is carried out.

    operation, number: the request's; known: there was a hello. status, value, size (words): of its response; answered: that waits
    to be sent. at: the place in the frame of the word that is read next.
    """

    operation: Signal
    number: Signal
    status: Signal
    value: Signal
    size: Signal
    known: Signal
    answered: Signal
    at: Signal

    @classmethod
    def of(cls, words: int, response_words: int, number_bits: int = 8) -> Request:
        shapes = {"operation": 8, "number": number_bits, "status": 2, "value": 32, "size": range(response_words + 1), "known": 1,
                  "answered": 1, "at": range(words)}
        return cls(**{name: Signal(shape, name=name) for name, shape in shapes.items()})


class Bridge(wiring.Component):
    """Master of the machine's bus and sink of its log, behind a byte stream or datagrams.

    received: bytes from the host, or words of its datagrams (`DatagramWord`), at most one per cycle, without backpressure. sent:
    bytes or words (`SentWord`) to the host. holding: a frame waits to be carried out; accepted: it has been, and those that are
    sent from now on are for whoever sent it. bus, lines: the machine's.
    behind: bytes of log that have left the machine and are still in a log memory in front of the bridge; 0 without a log memory.
    A write or read takes the cycles that `Accesses` says and
    REQUEST_CYCLES. Everything that a host can send is answered or ignored as docs/link.md
    specifies; the bridge itself has no error state.
    address_bits: of the bus. line_bits: of a log line. words: of the request memory, and of the response memory where
    response_words gives no other. log_bytes: of the ring. datagrams: the link carries datagrams, which may be lost, doubled and
    reordered. short_elements: see `Accesses`; a bridge without them speaks the version of the link that had none.
    """

    _holds = True  # a request stays in the receiver's memory until it is answered

    def __init__(self, address_bits: int, line_bits: int, words: int = WORDS, log_bytes: int = LOG_BYTES,
                 response_words: int | None = None, datagrams: bool = False, short_elements: bool = True):
        if not 1 <= address_bits <= 32:
            raise ValueError(f"address_bits is {address_bits}; the link carries addresses of 1 to 32 bits: give a "
                             "number between them")
        check_link(line_bits, words, log_bytes, response_words, datagrams)
        self.words, self.response_words = words, words if response_words is None else response_words
        self.line_bits, self.datagrams, self.short_elements = line_bits, datagrams, short_elements
        self.log = LogBuffer(line_bits, log_bytes, log_unit(datagrams))
        super().__init__({"received": In(stream.Signature(DatagramWord() if datagrams else 8)),
                          "sent": Out(stream.Signature(SentWord() if datagrams else 8)), "accepted": Out(1), "holding": Out(1),
                          "bus": Out(Wishbone(address_bits)), "lines": In(AxiStream(line_bits)), "behind": In(32),
                          **self._more_ports()})

    def _more_ports(self) -> dict[str, Member]:
        return {}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        receiver, transmitter = self._ends(m)
        self._memories(m, receiver, transmitter)
        self._log(m, transmitter)
        self._requests(m, receiver, transmitter)
        return m

    def _ends(self, m: Module) -> tuple[Any, Any]:
        """Receiver and transmitter, and what is behind the other ports."""
        receiver: Any = (DatagramReceiver if self.datagrams else FrameReceiver)(self.words, self._holds)
        transmitter: Any = (DatagramTransmitter if self.datagrams else FrameTransmitter)(self.response_words, not self._holds)
        m.submodules.receiver, m.submodules.transmitter = receiver, transmitter
        m.submodules.log = self.log
        m.submodules.accesses = self.accesses = Accesses(
            len(self.bus.adr), self.words, self.response_words, self.short_elements)
        wiring.connect(m, self.accesses.bus, wiring.flipped(self.bus))
        wiring.connect(m, wiring.flipped(self.received), receiver.received if self.datagrams else receiver.bytes)
        wiring.connect(m, transmitter.sent if self.datagrams else transmitter.bytes, wiring.flipped(self.sent))
        wiring.connect(m, wiring.flipped(self.lines), self.log.lines)
        return receiver, transmitter

    def _memories(self, m: Module, receiver: Any, transmitter: Any) -> None:
        """For a request, whose words `self.request` reads, and for its response, into which `self.response` writes."""
        m.submodules.requests = requests = UnguardedMemory(
            shape=32, depth=self.words, unused="a frame is read when it is held, and then nothing is written")
        m.submodules.responses = responses = UnguardedMemory(
            shape=32, depth=self.response_words, unused="a response is sent when it is complete, and none is made meanwhile")
        into = requests.write_port()
        self.request: Any = requests.read_port()
        m.d.comb += [into.addr.eq(receiver.address), into.data.eq(receiver.word), into.en.eq(receiver.write),
                     self.request.en.eq(1)]
        self.response: Any = responses.write_port()
        out = responses.read_port()
        m.d.comb += [out.addr.eq(transmitter.address), out.en.eq(1), transmitter.word.eq(out.data)]
        m.d.comb += self.holding.eq(receiver.held)

    def _log(self, m: Module, transmitter: Any) -> None:
        """The positions of the log, and the log frames."""
        # freed <= next <= reached <= freed + size: what lies between them fits the low bits.
        low = self.log.size.bit_length()
        self.freed = Signal(32)
        self.limit = Signal(32)
        self.next = Signal(32)
        self.hold = Signal()
        self.held = Signal(low)
        more = Signal()
        m.d.comb += [
            self.held.eq(self.log.reached[:low] - self.freed[:low]), transmitter.log_position.eq(self.next),
            self.log.freed.eq(self.freed), self.log.position.eq(self.next),
        ]
        if self.datagrams:
            # Whole words of what has come, of what is granted, and of what a datagram holds.
            granted, come, least = Signal(32), Signal(low), Signal(32)
            size = Signal.like(transmitter.log_size)
            m.d.comb += [granted.eq(self.limit - self.next), come.eq(self.log.reached[:low] - self.next[:low]),
                         least.eq(Mux(come < granted, come, granted)), transmitter.log_data.eq(self.log.data)]
            m.d.sync += size.eq(Mux(self.hold, 0, Mux(least > DATAGRAM_LOG_CHUNK, DATAGRAM_LOG_CHUNK, least) >> 2))
            # Less than a datagram holds goes alone where nothing more can come, or has come for long.
            self.waited = waited = Signal(range(LOG_WAIT + 1))
            whole = size == DATAGRAM_LOG_CHUNK // 4
            m.d.comb += transmitter.log_size.eq(
                Mux(~self.hold & (whole | (waited == LOG_WAIT) | (self.held == self.log.size)), size, 0))
            with m.If((come == 0) | transmitter.log_step):
                m.d.sync += waited.eq(0)
            with m.Elif(waited != LOG_WAIT):
                m.d.sync += waited.eq(waited + 1)
        else:
            m.d.comb += [transmitter.log_byte.eq(self.log.data), transmitter.log_more.eq(more & ~self.hold)]
            m.d.sync += more.eq((self.next[:low] != self.log.reached[:low]) & (self.next != self.limit) & ~self.hold)
        with m.If(transmitter.log_step):
            m.d.sync += self.next.eq(self.next + self.log.unit)

    def _requests(self, m: Module, receiver: Any, transmitter: Any) -> None:
        """Carries requests out, one after the other."""
        self.under_way = r = Request.of(self.words, self.response_words)
        word = self.request.data
        m.d.comb += [
            self.request.addr.eq(r.at), transmitter.respond.eq(r.answered), transmitter.value.eq(r.value),
            transmitter.size.eq(r.size), transmitter.head.operation.eq(r.operation | RESPONSE),
            transmitter.head.number.eq(r.number), transmitter.head.status.eq(r.status),
            self.response.addr.eq(r.size),
        ]
        with m.If(transmitter.responded):
            m.d.sync += r.answered.eq(0)
        self.told = Signal(8, name="told")
        with m.FSM() as self.states:
            with m.State("IDLE"):
                m.d.sync += r.at.eq(0)
                with m.If(receiver.held & ~r.answered):
                    m.next = "FETCH_HEAD"
            with m.State("FETCH_HEAD"):
                m.d.sync += r.at.eq(1)
                m.next = "HEAD"
            with m.State("HEAD"):
                m.d.sync += [r.at.eq(HEAD_WORDS), self.told.eq(word[16:24])]
                (self._number_in_any_order if self.datagrams else self._number)(m, r, word)
            if self.datagrams:
                self._sessions(m, r, receiver)
            self._greet(m, r)
            self._credit(m, r, receiver.size, transmitter)
            self._segments(m, r, receiver.size)
            with m.State("ANSWER"):
                m.d.comb += [receiver.take.eq(1), self.accepted.eq(1)]
                m.d.sync += r.answered.eq(1)
                m.next = "IDLE"

    def _number(self, m: Module, r: Request, word: Any) -> None:
        """Decide by a request's number: carry it out, send the last response again, or refuse it."""
        operation, number = word[:8], word[8:16]
        again = r.known & (number == r.number) & (operation == r.operation)
        in_turn = r.known & (number == (r.number + 1)[:8])
        with m.If(again & (operation != Operation.HELLO)):
            m.next = "ANSWER"
        with m.Else():
            m.d.sync += [r.operation.eq(operation), r.number.eq(number), r.status.eq(Status.DONE), r.value.eq(0),
                         r.size.eq(0)]
            with m.If(operation == Operation.HELLO):
                m.d.sync += r.known.eq(1)
                m.next = "GREET"
            with m.Elif(~in_turn):
                m.d.sync += [r.known.eq(0), r.status.eq(Status.NUMBER)]
                m.next = "ANSWER"
            with m.Else():
                self._carry_out(m, r, operation)

    def _carry_out(self, m: Module, r: Request, operation: Any) -> None:
        with m.If((operation == Operation.WRITE) | (operation == Operation.READ)):
            m.next = "ACCESSES"
        with m.Elif(operation == Operation.CREDIT):
            m.next = "POSITION"
        with m.Else():
            m.d.sync += r.status.eq(Status.MALFORMED)
            m.next = "ANSWER"

    def _number_in_any_order(self, m: Module, r: Request, word: Any) -> None:
        """The same for frames of which copies may come late, and from another session: those are ignored."""
        operation, number, session = word[:8], word[8:16], word[24:]
        self.nonce, self.asked = Signal(32, name="nonce"), Signal(8, name="asked")
        mine = r.known & (session == self.nonce[:8])
        m.d.sync += self.asked.eq(number)
        with m.If(operation == Operation.HELLO):
            m.d.sync += r.at.eq(HEAD_WORDS - 1)  # its value is looked at twice
            m.next = "SESSION"
        with m.Elif(mine & (number == r.number) & (operation == r.operation)):
            m.next = "ANSWER"
        with m.Elif(r.known & ~(mine & (number == (r.number + 1)[:8]))):
            m.next = "IGNORE"
        with m.Else():
            m.d.sync += [r.operation.eq(operation), r.number.eq(number), r.status.eq(Status.DONE), r.value.eq(0),
                         r.size.eq(0)]
            with m.If(r.known):
                self._carry_out(m, r, operation)
            with m.Else():
                m.d.sync += r.status.eq(Status.NUMBER)
                m.next = "ANSWER"

    def _sessions(self, m: Module, r: Request, receiver: Any) -> None:
        """A hello begins a session, unless it is a late copy of this session's hello or of the one before."""
        nonce, word = self.nonce, self.request.data
        self.nonce_before, self.begun = before, begun = Signal(32, name="nonce_before"), Signal(name="begun")  # it is one
        again, late = Signal(name="again"), Signal(name="late")
        m.d.comb += [again.eq((word == nonce) & (self.asked == r.number) & (r.operation == Operation.HELLO)),
                     late.eq(((word == nonce) & ~again) | (begun & (word == before)))]
        with m.State("SESSION"):
            with m.If(r.known & late):
                m.next = "IGNORE"
            with m.Else():
                m.d.sync += [r.operation.eq(Operation.HELLO), r.number.eq(self.asked), r.status.eq(Status.DONE),
                             r.size.eq(0), r.known.eq(1), nonce.eq(word)]
                m.next = "GREET"
                with m.If(r.known & ~again):
                    m.d.sync += [before.eq(nonce), begun.eq(1)]
        with m.State("IGNORE"):
            m.d.comb += receiver.take.eq(1)
            m.next = "IDLE"

    def _greeting(self) -> tuple[list[Any], Any]:
        """The words of an answer to a hello, and the place of the last one."""
        # A program that knows versions from FIRST_TOLD on tells its own; an earlier one is spoken to in the version before that.
        version = Mux(self.told >= FIRST_TOLD, FIRST_WINDOWED - 1, FIRST_TOLD - 1) if self.short_elements else FIRST_PACKED - 1
        words = [version, self.words, self.response_words, self.log.size, self.line_bits // 8, self.freed, self.log.reached,
                 self.behind]
        return words, len(words) - 1

    def _greet(self, m: Module, r: Request) -> None:
        words, last = self._greeting()
        with m.State("GREET"):
            # The address of the value was given in the state before.
            m.d.sync += r.value.eq(self.request.data)
            m.next = "GREET_WORDS"
        with m.State("GREET_WORDS"):
            m.d.comb += [self.response.en.eq(1), self.response.data.eq(Array(words)[r.size])]
            m.d.sync += r.size.eq(r.size + 1)
            with m.If(r.size == last):
                m.next = "ANSWER"

    def _credit(self, m: Module, r: Request, words: Any, transmitter: Any) -> None:
        """A credit: free bytes, set the limit, rewind if asked. The request's value is the position, its body limit and flags."""
        position, back, rewind = r.value, Signal(32, name="back"), Signal(name="rewind")
        malformed, passed = Signal(name="malformed"), Signal(name="passed")  # passed: bytes that have not been sent are freed
        low, self.malformed = len(self.held), malformed
        m.d.sync += back.eq(position - self.freed)
        with m.State("POSITION"):
            m.d.sync += [position.eq(self.request.data), r.at.eq(HEAD_WORDS + 1)]
            m.next = "FLAGS"
        with m.State("FLAGS"):
            m.d.sync += r.at.eq(HEAD_WORDS)
            m.next = "LIMIT"
        with m.State("LIMIT"):
            m.d.sync += rewind.eq(self.request.data[REWIND - 1])
            m.next = "GRANT"
        with m.State("GRANT"):
            # A log frame that is being sent is ended first, so that its bytes agree with the position in its header.
            m.d.comb += self.hold.eq(1)
            m.d.sync += [malformed.eq((back > self.held) | (words < HEAD_WORDS + 2)),
                         passed.eq(back[:low] > (self.next - self.freed)[:low])]
            with m.If(transmitter.idle):
                m.next = "FREE"
        with m.State("FREE"):
            m.d.comb += self.hold.eq(1)
            m.d.sync += r.value.eq(self.log.reached)
            with m.If(malformed):
                m.d.sync += r.status.eq(Status.MALFORMED)
            with m.Else():
                m.d.sync += [self.freed.eq(position), self.limit.eq(self.request.data)]
                # Freed bytes are not sent again.
                with m.If(rewind | passed):
                    m.d.sync += self.next.eq(position)
            m.next = "ANSWER"

    def _segments(self, m: Module, r: Request, words: Any) -> None:
        """Reads and writes of the bus."""
        accesses = self.accesses
        m.d.comb += [accesses.write.eq(r.operation == Operation.WRITE), accesses.size.eq(words),
                     accesses.word.eq(self.request.data)]
        with m.State("ACCESSES"):
            m.d.comb += [accesses.go.eq(1), self.request.addr.eq(accesses.place), self.request.en.eq(accesses.step),
                         self.response.addr.eq(accesses.stored_at), self.response.data.eq(accesses.stored),
                         self.response.en.eq(accesses.store)]
            with m.If(accesses.done):
                m.d.sync += [r.status.eq(accesses.status), r.value.eq(accesses.count), r.size.eq(accesses.response)]
                m.next = "ANSWER"
