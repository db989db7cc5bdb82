"""The board's end of the link (docs/link.md): a byte stream or datagrams to the machine's bus and from its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.gateware.link.datagrams import DatagramReceiver, DatagramTransmitter, DatagramWord, SentWord
from mrfhw.gateware.link.frames import FrameReceiver, FrameTransmitter, check_words
from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    DATAGRAM_WORDS,
    HEAD_WORDS,
    LINK_VERSION,
    LOG_BYTES,
    LOG_MEMORY,
    RESPONSE,
    REWIND,
    WORDS,
    Operation,
    Status,
    is_size,
    log_unit,
)

__all__ = ["LOG_WAIT", "Bridge", "LogBuffer", "check_link"]

LOG_WAIT = 1023  # cycles that log which fills no datagram waits for more


def check_link(line_bits: int, words: int, log_bytes: int, response_words: int | None = None, datagrams: bool = False) -> None:
    """Raises ValueError, in one line, for what no `Bridge` has. Its arguments are the same."""
    for name, size in (("words", words), ("response_words", words if response_words is None else response_words)):
        if check_words(name, size) > DATAGRAM_WORDS and datagrams:
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
        m.submodules.ring = ring = UnguardedMemory(
            shape=width, depth=self.size >> low,
            unused="what is read in the cycle in which it is written is not sent yet, and is read once more in the next")
        write = ring.write_port()
        read = ring.read_port()
        number = Signal(range(units))
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
class _Request:
    """The registers of a request that is carried out.

    operation, number: the request's; known: there was a hello. status, value, size (words): of its response; answered: that waits
    to be sent. at: the place in the frame of the word that is read next. Of a segment: address: of the access that is next, on the
    bus; remaining: accesses; period: words of steps, step: the one that is next, steps_at, data_at: places in the frame.
    """

    operation: Signal
    number: Signal
    status: Signal
    value: Signal
    size: Signal
    known: Signal
    answered: Signal
    at: Signal
    address: Signal
    remaining: Signal
    period: Signal
    step: Signal
    steps_at: Signal
    data_at: Signal

    @classmethod
    def of(cls, words: int, response_words: int, address_bits: int) -> _Request:
        place = range(words + 2)  # the index of a word in a frame, or of one behind its end
        shapes = {"operation": 8, "number": 8, "status": 2, "value": 32, "size": range(response_words + 1), "known": 1,
                  "answered": 1, "at": place, "address": address_bits, "remaining": 16, "period": 8, "step": 8,
                  "steps_at": place, "data_at": place}
        return cls(**{name: Signal(shape, name=name) for name, shape in shapes.items()})


class Bridge(wiring.Component):
    """Master of the machine's bus and sink of its log, behind a byte stream or datagrams.

    received: bytes from the host, or words of its datagrams (`DatagramWord`), at most one per cycle, without backpressure. sent:
    bytes or words (`SentWord`) to the host. holding: a frame waits to be carried out; accepted: it has been, and those that are
    sent from now on are for whoever sent it. bus, lines: the machine's.
    behind: bytes of log that have left the machine and are still in a log memory in front of the bridge; 0 without a log memory.
    An access takes the bus's own cycles and eight more. Everything that a host can send is answered or ignored as docs/link.md
    specifies; the bridge itself has no error state.
    address_bits: of the bus. line_bits: of a log line. words: of the request memory, and of the response memory where
    response_words gives no other. log_bytes: of the ring. datagrams: the link carries datagrams, which may be lost, doubled and
    reordered.
    """

    def __init__(self, address_bits: int, line_bits: int, words: int = WORDS, log_bytes: int = LOG_BYTES,
                 response_words: int | None = None, datagrams: bool = False):
        if not 1 <= address_bits <= 32:
            raise ValueError(f"address_bits is {address_bits}; the link carries addresses of 1 to 32 bits: give a "
                             "number between them")
        check_link(line_bits, words, log_bytes, response_words, datagrams)
        self.words, self.response_words = words, words if response_words is None else response_words
        self.line_bits, self.datagrams = line_bits, datagrams
        self.log = LogBuffer(line_bits, log_bytes, log_unit(datagrams))
        super().__init__({"received": In(stream.Signature(DatagramWord() if datagrams else 8)),
                          "sent": Out(stream.Signature(SentWord() if datagrams else 8)), "accepted": Out(1), "holding": Out(1),
                          "bus": Out(Wishbone(address_bits)), "lines": In(AxiStream(line_bits)), "behind": In(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        receiver: Any = DatagramReceiver(self.words) if self.datagrams else FrameReceiver(self.words)
        transmitter: Any = (DatagramTransmitter if self.datagrams else FrameTransmitter)(self.response_words)
        m.submodules.receiver, m.submodules.transmitter = receiver, transmitter
        m.submodules.log = self.log
        m.submodules.requests = requests = UnguardedMemory(
            shape=32, depth=self.words, unused="a frame is read when it is held, and then nothing is written")
        m.submodules.responses = responses = UnguardedMemory(
            shape=32, depth=self.response_words, unused="a response is sent when it is complete, and none is made meanwhile")
        wiring.connect(m, wiring.flipped(self.received), receiver.received if self.datagrams else receiver.bytes)
        wiring.connect(m, transmitter.sent if self.datagrams else transmitter.bytes, wiring.flipped(self.sent))
        wiring.connect(m, wiring.flipped(self.lines), self.log.lines)
        into = requests.write_port()
        self.request = requests.read_port()
        m.d.comb += [into.addr.eq(receiver.address), into.data.eq(receiver.word), into.en.eq(receiver.write),
                     self.request.en.eq(1)]
        self.response = responses.write_port()
        out = responses.read_port()
        m.d.comb += [out.addr.eq(transmitter.address), out.en.eq(1), transmitter.word.eq(out.data)]
        m.d.comb += self.holding.eq(receiver.held)
        self._log(m, transmitter)
        self._requests(m, receiver, transmitter)
        return m

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
            waited = Signal(range(LOG_WAIT + 1))
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
        r = _Request.of(self.words, self.response_words, len(self.bus.adr))
        word = self.request.data
        m.d.comb += [
            self.request.addr.eq(r.at), transmitter.respond.eq(r.answered), transmitter.value.eq(r.value),
            transmitter.size.eq(r.size), transmitter.head.operation.eq(r.operation | RESPONSE),
            transmitter.head.number.eq(r.number), transmitter.head.status.eq(r.status),
            self.response.addr.eq(r.size), self.bus.adr.eq(r.address), self.bus.dat_w.eq(word),
            self.bus.we.eq(r.operation == Operation.WRITE),
        ]
        with m.If(transmitter.responded):
            m.d.sync += r.answered.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += r.at.eq(0)
                with m.If(receiver.held & ~r.answered):
                    m.next = "FETCH_HEAD"
            with m.State("FETCH_HEAD"):
                m.d.sync += r.at.eq(1)
                m.next = "HEAD"
            with m.State("HEAD"):
                m.d.sync += r.at.eq(HEAD_WORDS)
                (self._number_in_any_order if self.datagrams else self._number)(m, r, word)
            if self.datagrams:
                self._sessions(m, r, receiver)
            self._greet(m, r)
            self._credit(m, r, receiver, transmitter)
            self._segments(m, r, receiver)
            with m.State("ANSWER"):
                m.d.comb += [receiver.take.eq(1), self.accepted.eq(1)]
                m.d.sync += r.answered.eq(1)
                m.next = "IDLE"

    def _number(self, m: Module, r: _Request, word: Any) -> None:
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

    def _carry_out(self, m: Module, r: _Request, operation: Any) -> None:
        with m.If((operation == Operation.WRITE) | (operation == Operation.READ)):
            m.next = "SEGMENT"
        with m.Elif(operation == Operation.CREDIT):
            m.next = "POSITION"
        with m.Else():
            m.d.sync += r.status.eq(Status.MALFORMED)
            m.next = "ANSWER"

    def _number_in_any_order(self, m: Module, r: _Request, word: Any) -> None:
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

    def _sessions(self, m: Module, r: _Request, receiver: Any) -> None:
        """A hello begins a session, unless it is a late copy of this session's hello or of the one before."""
        nonce, before, word = self.nonce, Signal(32, name="nonce_before"), self.request.data
        begun = Signal(name="begun")  # `nonce_before` is one
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

    def _greet(self, m: Module, r: _Request) -> None:
        words = [LINK_VERSION, self.words, self.response_words, self.log.size, self.line_bits // 8, self.freed, self.log.reached,
                 self.behind]
        with m.State("GREET"):
            # The address of the value was given in the state before.
            m.d.sync += r.value.eq(self.request.data)
            m.next = "GREET_WORDS"
        with m.State("GREET_WORDS"):
            m.d.comb += [self.response.en.eq(1), self.response.data.eq(Array(words)[r.size])]
            m.d.sync += r.size.eq(r.size + 1)
            with m.If(r.size == len(words) - 1):
                m.next = "ANSWER"

    def _credit(self, m: Module, r: _Request, receiver: Any, transmitter: Any) -> None:
        """A credit: free bytes, set the limit, rewind if asked. The request's value is the position, its body limit and flags."""
        position, back, rewind = r.value, Signal(32, name="back"), Signal(name="rewind")
        malformed, passed = Signal(name="malformed"), Signal(name="passed")  # passed: bytes that have not been sent are freed
        low = len(self.held)
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
            m.d.sync += [malformed.eq((back > self.held) | (receiver.size < HEAD_WORDS + 2)),
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

    def _segments(self, m: Module, r: _Request, receiver: Any) -> None:
        """Reads and writes of the bus, one access after the other. The request memory gives a word one state after its address."""
        word, at, count = self.request.data, r.at, r.value[:max(self.words, self.response_words).bit_length()]
        with m.State("SEGMENT"):
            m.d.sync += at.eq(at + 1)
            m.next = "SEGMENT_HEAD"
            with m.If(at >= receiver.size):
                m.next = "ANSWER"
        with m.State("SEGMENT_HEAD"):
            m.d.sync += [r.remaining.eq(word[:16]), r.period.eq(word[16:24]), at.eq(at + 1)]
            m.next = "ADDRESS"
        with m.State("ADDRESS"):
            m.d.sync += [r.address.eq(word), r.steps_at.eq(at), r.data_at.eq(at + r.period), r.step.eq(0)]
            m.next = "NEXT"
            with m.If(at + r.period > receiver.size):
                # The address or the steps would lie beyond the end of this frame.
                m.d.sync += r.status.eq(Status.MALFORMED)
                m.next = "ANSWER"
        with m.State("NEXT"):
            m.d.sync += at.eq(r.data_at)
            with m.If(r.remaining == 0):
                m.next = "SEGMENT"
            with m.Elif(Mux(self.bus.we, r.data_at >= receiver.size, r.size == self.response_words)):
                m.d.sync += r.status.eq(Status.MALFORMED)
                m.next = "ANSWER"
            with m.Else():
                m.next = "FETCH_DATA"
        with m.State("FETCH_DATA"):
            m.next = "BUS"
        with m.State("BUS"):
            m.d.comb += [self.bus.cyc.eq(1), self.bus.stb.eq(1), self.response.data.eq(self.bus.dat_r),
                         self.response.en.eq(self.bus.ack & ~self.bus.we)]
            with m.If(self.bus.ack):
                # At most as many accesses are carried out as a frame has words.
                m.d.sync += [count.eq(count + 1), r.remaining.eq(r.remaining - 1), at.eq(r.steps_at + r.step)]
                with m.If(self.bus.we):
                    m.d.sync += r.data_at.eq(r.data_at + 1)
                with m.Else():
                    m.d.sync += r.size.eq(r.size + 1)
                m.next = "FETCH_STEP"
            with m.Elif(self.bus.err):
                m.d.sync += r.status.eq(Status.BUS_ERROR)
                m.next = "ANSWER"
        with m.State("FETCH_STEP"):
            m.next = "STEP"
        with m.State("STEP"):
            m.d.sync += [r.address.eq(r.address + Mux(r.period == 0, 1, word)),
                         r.step.eq(Mux(r.step + 1 == r.period, 0, r.step + 1))]
            m.next = "NEXT"
