"""The accesses that a request lists (docs/link.md), on the machine's bus: one in each cycle in which the bus takes one."""

from __future__ import annotations

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.machine.link_protocol import ABOVE_BITS, BYTES, ELEMENT_MASKS, HEAD_WORDS, KIND_BITS, SEGMENT_CYCLES, Status

__all__ = ["SEGMENT_CYCLES", "Accesses"]

PLACES = [[place for place in range(32) if mask >> place & 1] for mask in ELEMENT_MASKS]  # of an element's bits in a bus word


def _element(word: Value, kind: Value, above: Value, lane: Value) -> Value:
    """An element of a word as the bus has it: zeros between its bits and above them, but for the bits above a byte."""
    found = []
    for places in PLACES:
        bits = len(places)
        element = Array([word[bits * i:bits * (i + 1)] for i in range(32 // bits)])[lane]
        found.append(Cat(element[places.index(place)] if place in places else Const(0, 1) for place in range(32)))
    found[BYTES] = Cat(found[BYTES][:8], above)
    return Array(found)[kind]


def _beside(held: Value, word: Value, kind: Value, lane: Value) -> Value:
    """An element of a bus word at its place in a word, above those of `held`."""
    found = []
    for places in PLACES:
        element = Cat(word[place] for place in places)
        found.append(Array([element << len(places) * i for i in range(32 // len(places))])[lane])
    return held | Array(found)[kind]


class Accesses(wiring.Component):
    """Carries out the segments of a write or read.

    An access takes a cycle, or two where the frame gives both its data and its step (periods of two or more), and each segment
    SEGMENT_CYCLES more at most; one of a read ends with the bus's last answer.
    go: held until `done`, with `write` and `size`, the words of the frame without its CRC, constant. status, count, response: with
    `done` and until the next go: how it ended, accesses carried out, words of the response.
    place, step, word: the frame's memory, which gives `word` one cycle after `place` where `step` is set, and else keeps it.
    store, stored_at, stored: writes into the response's memory, with an answer or one cycle after it.
    address_bits: of the bus. words, response_words: of the two memories. short_elements: there are elements of fewer bits than a
    word's, and a register in front of the bus and behind it for that; else a segment's kind is not looked at.
    """

    def __init__(self, address_bits: int, words: int, response_words: int, short_elements: bool = True):
        self.words, self.response_words, self.short_elements = words, response_words, short_elements
        # An access takes an element of a frame's words, or gives one.
        most = max(words, response_words) * (32 // min(map(len, PLACES)) if short_elements else 1)
        super().__init__({
            "go": In(1), "write": In(1), "size": In(range(words)), "done": Out(1), "status": Out(2),
            "count": Out(range(most + 1)), "response": Out(range(response_words + 1)),
            "place": Out(range(words)), "step": Out(1), "word": In(32),
            "store": Out(1), "stored_at": Out(range(response_words)), "stored": Out(32), "bus": Out(Wishbone(address_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Of a segment: its elements' kind and the bits above them; whether two steps or more are listed; else the step.
        self.kind, self.above, self.listed = Signal(KIND_BITS), Signal(ABOVE_BITS), Signal()
        self.increment, self.address = Signal.like(self.bus.adr), Signal.like(self.bus.adr)
        # A slot reads a word of the frame. In the cycle after it an access is asked, or the address is stepped, or both.
        self.asks, self.steps, self.lane = Signal(), Signal(), self._lane()
        self.in_slot, self.advance, self.failed = Signal(), Signal(), Signal()
        self.under_way, self.answered_lane = Signal.like(self.count), self._lane()
        self._ask(m)
        self._take_answers(m)
        self._carry_out(m)
        return m

    def _lane(self) -> Signal:
        """An element's place in a word."""
        return Signal(2 if self.short_elements else 0)

    def _is_last(self, lane: Value) -> Value:
        """Whether it is a word's last element."""
        return lane == Array([32 // len(places) - 1 for places in PLACES])[self.kind] if self.short_elements else Const(1)

    def _ask(self, m: Module) -> None:
        """The slots' words become requests; all of it waits while the bus does."""
        bus, asks, steps, lane = self.bus, Signal(), Signal(), self._lane()
        data = _element(self.word, self.kind, self.above, lane) if self.short_elements else self.word
        request = [bus.stb.eq(asks), bus.adr.eq(self.address), bus.dat_w.eq(data)]
        m.d.comb += [self.advance.eq(~bus.stb | ~bus.stall), self.step.eq(self.advance), self.in_slot.eq(asks | steps),
                     bus.cyc.eq(bus.stb | self.under_way.any()), bus.we.eq(self.write)]
        with m.If(self.advance):
            m.d.sync += [asks.eq(self.asks), steps.eq(self.steps), lane.eq(self.lane)]
            if self.short_elements:
                m.d.sync += request
            with m.If(steps):
                m.d.sync += self.address.eq(self.address + Mux(self.listed, self.word, self.increment))
        if not self.short_elements:
            m.d.comb += request

    def _take_answers(self, m: Module) -> None:
        """Count them up to the first err, and store the words that were read."""
        bus, lane = self.bus, self.answered_lane
        taken = bus.ack & ~self.failed
        m.d.sync += self.under_way.eq(self.under_way + (bus.stb & ~bus.stall) - (bus.ack | bus.err))
        with m.If(bus.err):
            m.d.sync += self.failed.eq(1)
        with m.If(taken):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(~self.write & (lane == 0)):
                m.d.sync += self.response.eq(self.response + 1)
        if not self.short_elements:
            m.d.comb += [self.store.eq(taken & ~self.write), self.stored.eq(bus.dat_r), self.stored_at.eq(self.response)]
            return
        m.d.sync += self.store.eq(taken & ~self.write)
        with m.If(taken & ~self.write):
            held = Mux(lane == 0, 0, self.stored)
            m.d.sync += [self.stored.eq(_beside(held, bus.dat_r, self.kind, lane)), lane.eq(Mux(self._is_last(lane), 0, lane + 1))]
            with m.If(lane == 0):
                m.d.sync += self.stored_at.eq(self.response)

    def _carry_out(self, m: Module) -> None:
        """From the head of each segment to its last slot. The memory gives a word one state after its place."""
        bus, word, lane, inside = self.bus, self.word, self.lane, range(self.words + 2)  # places, also behind a frame's end
        at, first_step, next_step, data = (Signal(inside, name=name) for name in ("at", "first_step", "next_step", "data"))
        remaining, period, turn, asked_words = Signal(16), Signal(8), Signal(8), Signal.like(self.response, name="asked_words")
        malformed, alone, short, quiet = Signal(), Signal(), Signal(), Signal()
        last = Signal()  # of a word's elements
        m.d.comb += [
            self.place.eq(at), quiet.eq(~bus.stb & ~self.under_way.any()), last.eq(self._is_last(lane)),
            short.eq((lane == 0) & Mux(self.write, data >= self.size, asked_words == self.response_words)),
            self.status.eq(Mux(self.failed, Status.BUS_ERROR, Mux(malformed, Status.MALFORMED, Status.DONE))),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += at.eq(HEAD_WORDS)
                with m.If(self.go):
                    m.d.sync += [self.count.eq(0), self.response.eq(0), asked_words.eq(0), self.failed.eq(0), malformed.eq(0)]
                    m.next = "SEGMENT"
            with m.State("SEGMENT"):
                m.d.sync += at.eq(at + 1)
                m.next = "HEAD"
                with m.If((at >= self.size) | self.failed | malformed):
                    m.next = "END"
            with m.State("HEAD"):
                m.d.sync += [remaining.eq(word[:16]), period.eq(word[16:24]), Cat(self.kind, self.above).eq(word[24:]),
                             self.listed.eq(word[17:24].any()), at.eq(at + 1)]
                m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.sync += [self.address.eq(word), first_step.eq(at), next_step.eq(at), data.eq(at + period), turn.eq(0),
                             lane.eq(0), self.answered_lane.eq(0), alone.eq(0)]
                m.next = "INCREMENT"
                # The address or the steps would lie beyond the end of this frame.
                with m.If(at + period > self.size):
                    m.d.sync += malformed.eq(1)
                    m.next = "END"
            with m.State("INCREMENT"):
                m.d.sync += self.increment.eq(Mux(period == 0, 1, word))
                m.next = "SLOTS"
            with m.State("SLOTS"):
                stepped = alone | (self.listed & ~self.write)  # the slot's word is a step
                m.d.comb += self.place.eq(Mux(stepped, next_step, data))
                with m.If(~alone & ((remaining == 0) | self.failed | short)):
                    m.d.sync += malformed.eq(remaining != 0)
                    m.next = "SETTLE"
                with m.Else():
                    m.d.comb += [self.asks.eq(~alone), self.steps.eq(alone | ~self.listed | ~self.write)]
                    with m.If(self.advance):
                        with m.If(stepped):
                            end = turn + 1 == period
                            m.d.sync += [turn.eq(Mux(end, 0, turn + 1)), next_step.eq(Mux(end, first_step, next_step + 1))]
                        with m.If(alone):
                            m.d.sync += alone.eq(0)
                        with m.Else():
                            m.d.sync += [remaining.eq(remaining - 1), lane.eq(Mux(last, 0, lane + 1)),
                                         alone.eq(self.listed & self.write & (remaining != 1)), data.eq(data + (self.write & last)),
                                         asked_words.eq(asked_words + (~self.write & (lane == 0)))]
            with m.State("SETTLE"):
                # A read's next segment may have elements of another kind.
                m.d.sync += at.eq(data + (self.write & (lane != 0)))
                with m.If(~self.in_slot & Mux(self.write, self.advance, quiet)):
                    m.next = "SEGMENT"
            with m.State("END"), m.If(quiet):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
