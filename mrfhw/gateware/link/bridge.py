"""The board's end of the link (docs/link.md): a byte stream to the machine's bus and from its log."""

from __future__ import annotations

from typing import Any

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.gateware.link.frames import FrameReceiver, FrameTransmitter, check_words
from mrfhw.machine.link_protocol import (
    HEAD_WORDS,
    LINK_VERSION,
    LOG_MEMORY,
    RESPONSE,
    REWIND,
    Operation,
    Status,
    is_size,
)

__all__ = ["Bridge", "LogBuffer"]


class LogBuffer(wiring.Component):
    """Log lines as bytes in a ring, until they are freed.

    lines: one byte of a line is stored per cycle while there is room; the line is taken with its last byte. freed: position up to
    which the ring may be overwritten. reached: bytes stored since reset. byte: the ring's byte at `position`, one cycle later.
    line_bits: a whole number of bytes. size: bytes, 16 to 65536, a power of two.
    """

    def __init__(self, line_bits: int, size: int):
        if line_bits < 16 or line_bits % 8:
            raise ValueError(f"line_bits is {line_bits}; a line is two bytes or more, whole ones: give a multiple of 8 from 16 on")
        if not is_size(size, LOG_MEMORY):
            least, most = LOG_MEMORY
            raise ValueError(f"size is {size!r}; a log buffer has {least} to {most} bytes, a power of two: give one of them")
        self.line_bits, self.size = line_bits, size
        super().__init__({"lines": In(AxiStream(line_bits)), "freed": In(32), "reached": Out(32), "position": In(32),
                          "byte": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, bytes_of_line = self.size.bit_length() - 1, self.line_bits // 8
        m.submodules.ring = ring = UnguardedMemory(
            shape=8, depth=self.size, unused="a byte is read again the cycle after it has come, before it is sent")
        write = ring.write_port()
        read = ring.read_port()
        number = Signal(range(bytes_of_line))
        full = Signal()
        take = Signal()
        parts = Array([self.lines.tdata[8 * i:8 * i + 8] for i in range(bytes_of_line)])
        m.d.comb += [
            full.eq((self.reached[:bits] == self.freed[:bits]) & (self.reached[bits] != self.freed[bits])),
            take.eq(self.lines.tvalid & ~full), self.lines.tready.eq(take & (number == bytes_of_line - 1)),
            write.addr.eq(self.reached), write.data.eq(parts[number]), write.en.eq(take),
            read.addr.eq(self.position), read.en.eq(1), self.byte.eq(read.data),
        ]
        with m.If(take):
            m.d.sync += [self.reached.eq(self.reached + 1), number.eq(Mux(self.lines.tready, 0, number + 1))]
        return m


class Bridge(wiring.Component):
    """Master of the machine's bus and sink of its log, behind a byte stream.

    received: bytes from the host, at most one per cycle, without backpressure. sent: bytes to the host. bus, lines: the machine's.
    behind: bytes of log that have left the machine and are still in a log memory in front of the bridge; 0 without a log memory.
    An access takes the bus's own cycles and eight more. Everything that a host can send is answered or ignored as docs/link.md
    specifies; the bridge itself has no error state.
    address_bits: of the bus. line_bits: of a log line. words: of the request and of the response memory. log_bytes: of the ring.
    """

    def __init__(self, address_bits: int, line_bits: int, words: int = 512, log_bytes: int = 2048):
        if not 1 <= address_bits <= 32:
            raise ValueError(f"address_bits is {address_bits}; the link carries addresses of 1 to 32 bits: give a "
                             "number between them")
        self.words = check_words("words", words)
        self.line_bits = line_bits
        self.log = LogBuffer(line_bits, log_bytes)
        super().__init__({"received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)),
                          "bus": Out(Wishbone(address_bits)), "lines": In(AxiStream(line_bits)), "behind": In(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = FrameReceiver(self.words)
        m.submodules.transmitter = transmitter = FrameTransmitter(self.words)
        m.submodules.log = self.log
        m.submodules.requests = requests = UnguardedMemory(
            shape=32, depth=self.words, unused="a frame is read when it is held, and then nothing is written")
        m.submodules.responses = responses = UnguardedMemory(
            shape=32, depth=self.words, unused="a response is sent when it is complete, and none is made meanwhile")
        wiring.connect(m, wiring.flipped(self.received), receiver.bytes)
        wiring.connect(m, transmitter.bytes, wiring.flipped(self.sent))
        wiring.connect(m, wiring.flipped(self.lines), self.log.lines)
        into = requests.write_port()
        self.request = requests.read_port()
        m.d.comb += [into.addr.eq(receiver.address), into.data.eq(receiver.word), into.en.eq(receiver.write),
                     self.request.en.eq(1)]
        self.response = responses.write_port()
        out = responses.read_port()
        m.d.comb += [out.addr.eq(transmitter.address), out.en.eq(1), transmitter.word.eq(out.data)]
        self._log(m, transmitter)
        self._requests(m, receiver, transmitter)
        return m

    def _log(self, m: Module, transmitter: Any) -> None:
        """The positions of the log, and the log frames."""
        # freed <= next <= reached <= freed + size: what lies between them fits the low bits, of which `next` has no others.
        low = self.log.size.bit_length()
        self.freed = Signal(32)
        self.limit = Signal(32)
        self.next = Signal(low)
        self.hold = Signal()
        self.ahead = Signal(low)
        self.held = Signal(low)
        position = Signal(32)
        more = Signal()
        m.d.comb += [
            self.ahead.eq(self.next - self.freed[:low]), self.held.eq(self.log.reached[:low] - self.freed[:low]),
            position.eq(self.freed + self.ahead),
            self.log.freed.eq(self.freed), self.log.position.eq(self.next), transmitter.log_byte.eq(self.log.byte),
            transmitter.log_more.eq(more & ~self.hold),
        ]
        m.d.sync += [transmitter.log_position.eq(position),
                     more.eq((self.next != self.log.reached[:low]) & (position != self.limit) & ~self.hold)]
        with m.If(transmitter.log_step):
            m.d.sync += self.next.eq(self.next + 1)

    def _requests(self, m: Module, receiver: Any, transmitter: Any) -> None:
        """Carries requests out, one after the other."""
        fields = ("operation", "number", "status", "value", "size", "known", "answered", "at", "address", "remaining", "period",
                  "step", "steps_at", "data_at")
        place = range(self.words + 2)  # the index of a word in a frame, or of one behind its end
        widths = (8, 8, 2, 32, range(self.words + 1), 1, 1, place, len(self.bus.adr), 16, 8, 8, place, place)
        r = {name: Signal(width, name=name) for name, width in zip(fields, widths, strict=True)}
        word = self.request.data
        m.d.comb += [
            self.request.addr.eq(r["at"]), transmitter.respond.eq(r["answered"]), transmitter.value.eq(r["value"]),
            transmitter.size.eq(r["size"]), transmitter.head.operation.eq(r["operation"] | RESPONSE),
            transmitter.head.number.eq(r["number"]), transmitter.head.status.eq(r["status"]),
            self.response.addr.eq(r["size"]), self.bus.adr.eq(r["address"]), self.bus.dat_w.eq(word),
            self.bus.we.eq(r["operation"] == Operation.WRITE),
        ]
        with m.If(transmitter.responded):
            m.d.sync += r["answered"].eq(0)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += r["at"].eq(0)
                with m.If(receiver.held & ~r["answered"]):
                    m.next = "FETCH_HEAD"
            with m.State("FETCH_HEAD"):
                m.d.sync += r["at"].eq(1)
                m.next = "HEAD"
            with m.State("HEAD"):
                m.d.sync += r["at"].eq(HEAD_WORDS)
                self._number(m, r, word)
            self._greet(m, r)
            self._credit(m, r, receiver, transmitter)
            self._segments(m, r, receiver)
            with m.State("ANSWER"):
                m.d.comb += receiver.take.eq(1)
                m.d.sync += r["answered"].eq(1)
                m.next = "IDLE"

    def _number(self, m: Module, r: dict[str, Signal], word: Any) -> None:
        """Decide by a request's number: carry it out, send the last response again, or refuse it."""
        operation, number = word[:8], word[8:16]
        again = r["known"] & (number == r["number"]) & (operation == r["operation"])
        in_turn = r["known"] & (number == (r["number"] + 1)[:8])
        with m.If(again & (operation != Operation.HELLO)):
            m.next = "ANSWER"
        with m.Else():
            m.d.sync += [r["operation"].eq(operation), r["number"].eq(number), r["status"].eq(Status.DONE), r["value"].eq(0),
                         r["size"].eq(0)]
            with m.If(operation == Operation.HELLO):
                m.d.sync += r["known"].eq(1)
                m.next = "GREET"
            with m.Elif(~in_turn):
                m.d.sync += [r["known"].eq(0), r["status"].eq(Status.NUMBER)]
                m.next = "ANSWER"
            with m.Elif((operation == Operation.WRITE) | (operation == Operation.READ)):
                m.next = "SEGMENT"
            with m.Elif(operation == Operation.CREDIT):
                m.next = "POSITION"
            with m.Else():
                m.d.sync += r["status"].eq(Status.MALFORMED)
                m.next = "ANSWER"

    def _greet(self, m: Module, r: dict[str, Signal]) -> None:
        words = [LINK_VERSION, self.words, self.words, self.log.size, self.line_bits // 8, self.freed, self.log.reached,
                 self.behind]
        with m.State("GREET"):
            # The address of the value was given in the state before.
            m.d.sync += r["value"].eq(self.request.data)
            m.next = "GREET_WORDS"
        with m.State("GREET_WORDS"):
            m.d.comb += [self.response.en.eq(1), self.response.data.eq(Array(words)[r["size"]])]
            m.d.sync += r["size"].eq(r["size"] + 1)
            with m.If(r["size"] == len(words) - 1):
                m.next = "ANSWER"

    def _credit(self, m: Module, r: dict[str, Signal], receiver: Any, transmitter: Any) -> None:
        """A credit: free bytes, set the limit, rewind if asked. The request's value is the position, its body limit and flags."""
        position, back, rewind = r["value"], Signal(32, name="back"), Signal(name="rewind")
        m.d.comb += back.eq(position - self.freed)
        with m.State("POSITION"):
            m.d.sync += [position.eq(self.request.data), r["at"].eq(HEAD_WORDS + 1)]
            m.next = "FLAGS"
        with m.State("FLAGS"):
            m.d.sync += r["at"].eq(HEAD_WORDS)
            m.next = "LIMIT"
        with m.State("LIMIT"):
            m.d.sync += rewind.eq(self.request.data[REWIND - 1])
            m.next = "GRANT"
        with m.State("GRANT"):
            # A log frame that is being sent is ended first, so that its bytes agree with the position in its header.
            m.d.comb += self.hold.eq(1)
            with m.If(transmitter.idle):
                m.d.sync += r["value"].eq(self.log.reached)
                with m.If((back > self.held) | (receiver.size < HEAD_WORDS + 2)):
                    m.d.sync += r["status"].eq(Status.MALFORMED)
                with m.Else():
                    m.d.sync += [self.freed.eq(position), self.limit.eq(self.request.data)]
                    # Freed bytes are not sent again.
                    with m.If(rewind | (back[:len(self.ahead)] > self.ahead)):
                        m.d.sync += self.next.eq(position)
                m.next = "ANSWER"

    def _segments(self, m: Module, r: dict[str, Signal], receiver: Any) -> None:
        """Reads and writes of the bus, one access after the other. The request memory gives a word one state after its address."""
        word, at, count = self.request.data, r["at"], r["value"][:self.words.bit_length()]
        with m.State("SEGMENT"):
            m.d.sync += at.eq(at + 1)
            m.next = "SEGMENT_HEAD"
            with m.If(at >= receiver.size):
                m.next = "ANSWER"
        with m.State("SEGMENT_HEAD"):
            m.d.sync += [r["remaining"].eq(word[:16]), r["period"].eq(word[16:24]), at.eq(at + 1)]
            m.next = "ADDRESS"
        with m.State("ADDRESS"):
            m.d.sync += [r["address"].eq(word), r["steps_at"].eq(at), r["data_at"].eq(at + r["period"]), r["step"].eq(0)]
            m.next = "NEXT"
            with m.If(at + r["period"] > receiver.size):
                # The address or the steps would lie beyond the end of this frame.
                m.d.sync += r["status"].eq(Status.MALFORMED)
                m.next = "ANSWER"
        with m.State("NEXT"):
            m.d.sync += at.eq(r["data_at"])
            with m.If(r["remaining"] == 0):
                m.next = "SEGMENT"
            with m.Elif(Mux(self.bus.we, r["data_at"] >= receiver.size, r["size"] == self.words)):
                m.d.sync += r["status"].eq(Status.MALFORMED)
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
                m.d.sync += [count.eq(count + 1), r["remaining"].eq(r["remaining"] - 1), at.eq(r["steps_at"] + r["step"])]
                with m.If(self.bus.we):
                    m.d.sync += r["data_at"].eq(r["data_at"] + 1)
                with m.Else():
                    m.d.sync += r["size"].eq(r["size"] + 1)
                m.next = "FETCH_STEP"
            with m.Elif(self.bus.err):
                m.d.sync += r["status"].eq(Status.BUS_ERROR)
                m.next = "ANSWER"
        with m.State("FETCH_STEP"):
            m.next = "STEP"
        with m.State("STEP"):
            m.d.sync += [r["address"].eq(r["address"] + Mux(r["period"] == 0, 1, word)),
                         r["step"].eq(Mux(r["step"] + 1 == r["period"], 0, r["step"] + 1))]
            m.next = "NEXT"
