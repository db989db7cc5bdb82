"""Queue: every word leaves once, unchanged and in order, and none waits for longer than those before it."""

from __future__ import annotations

from functools import partial

from amaranth import Module, Mux, Signal
from amaranth.hdl import Assert

from mrfhw.gateware.common.memories import Queue
from sim.proofs.engine import Proof, absent

__all__ = ["Moved", "Tracked", "counts", "invariants", "queue_proof"]


class Tracked:
    """One word of a queue, any one, from when it is put until it is taken. What holds for it holds for each.

    chosen: an input; in a cycle in which a word is put and none is tracked, it is this one. waits: it is in the queue; ahead:
    words in front of it. taken: it leaves in this cycle.
    """

    def __init__(self, m: Module, queue: Queue):
        depth = queue.depth
        self.chosen = Signal(name="chosen")
        self.waits, self.taken, self.word = Signal(name="waits"), Signal(name="taken"), Signal(queue.width, name="word")
        self.ahead = Signal(range(depth), name="ahead")
        put, get = Signal(name="was_put"), Signal(name="was_got")
        m.d.comb += [put.eq(queue.w_en & queue.w_rdy), get.eq(queue.r_en & queue.r_rdy),
                     self.taken.eq(self.waits & get & (self.ahead == 0))]
        with m.If(self.waits & get):
            m.d.sync += self.ahead.eq(self.ahead - 1)
            with m.If(self.ahead == 0):
                m.d.sync += [self.waits.eq(0), self.ahead.eq(0)]
        with m.Elif(~self.waits & put & self.chosen):
            m.d.sync += [self.waits.eq(1), self.ahead.eq(queue.level - get), self.word.eq(queue.w_data)]
        place = Signal(range(2 * depth), name="place")
        m.d.comb += place.eq(queue.consume + self.ahead)
        port = queue.storage.read_port(domain="comb")
        m.d.comb += port.addr.eq(Mux(place >= depth, place - depth, place))
        with m.If(self.waits):
            m.d.comb += [Assert(self.ahead < queue.level, "a word that waits is counted"),
                         Assert(port.data == self.word, "a word that waits is in its place")]
        with m.If(self.taken):
            m.d.comb += Assert(queue.r_data == self.word, "words leave unchanged and in order")


def invariants(m: Module, queue: Queue) -> None:
    """Level and places agree, and a word can be taken `latency` cycles after it was put, at the latest."""
    depth, behind = queue.depth, Signal(range(2 * queue.depth), name="behind")
    counted, after = Signal.like(queue.level, name="counted"), Signal(name="after_first")
    m.d.sync += [counted.eq(queue.level + (queue.w_en & queue.w_rdy) - (queue.r_en & queue.r_rdy)), after.eq(1)]
    m.d.comb += [behind.eq(queue.consume + queue.level),
                 Assert(queue.level == Mux(after, counted, 0), "words that were put and not taken are counted"),
                 Assert(queue.w_rdy == (queue.level != depth), "there is room below the depth"),
                 Assert((queue.consume < depth) & (queue.produce < depth), "places are in the memory"),
                 Assert(queue.produce == Mux(behind >= depth, behind - depth, behind), "places and level agree")]
    counts(m, queue)
    front = queue.storage.read_port(domain="comb")
    m.d.comb += front.addr.eq(queue.consume)
    with m.If(queue.r_rdy):
        m.d.comb += Assert(queue.r_data == front.data, "the oldest word is the one to be read")


def counts(m: Module, queue: Queue) -> None:
    """No more words than there is room for, and a word can be taken after the latency."""
    held = Signal(name="held")  # words that were there a cycle ago, and are there still
    m.d.sync += held.eq(queue.level - (queue.r_en & queue.r_rdy) > 0)
    m.d.comb += [Assert(queue.level <= queue.depth, "there is room for each word"),
                 Assert(queue.r_rdy == (queue.level > 0 if queue.latency == 1 else held),
                        "a word can be taken after the queue's latency")]


class Moved(Queue):
    """What is proven of a `Queue` of latency 2, as a harness of what is around one has it: its words move up, the oldest first."""

    def __init__(self, instead: Queue):
        super().__init__(instead.width, instead.depth, instead.latency)
        for unused in (instead, self.storage):
            absent(unused)
        self.words = [Signal(self.width, name=f"moved_{n}") for n in range(self.depth)]

    def elaborate(self, platform: object) -> Module:
        m, put, get = Module(), Signal(), Signal()
        m.d.comb += [self.w_rdy.eq(self.level != self.depth), put.eq(self.w_en & self.w_rdy), get.eq(self.r_en & self.r_rdy),
                     self.r_data.eq(self.words[0])]
        m.d.sync += [self.level.eq(self.level + put - get), self.r_rdy.eq(self.level != get)]
        for n, word in enumerate(self.words):
            with m.If(put & (self.level == n + get)):
                m.d.sync += word.eq(self.w_data)
            with m.Elif(get & (n + 1 < self.depth)):
                m.d.sync += word.eq(self.words[min(n + 1, self.depth - 1)])
        return m


def queue_proof(width: int, depth: int, latency: int) -> Proof:
    """Of one size."""
    return Proof(f"queue of {depth} words of {width} bits, latency {latency}",
                 "each word leaves once, unchanged and in order, and can be taken after the latency",
                 partial(_queue, width, depth, latency))


def _queue(width: int, depth: int, latency: int) -> tuple[Module, list[Signal]]:
    m, queue = Module(), Queue(width, depth, latency)
    tracked = Tracked(m, queue)
    invariants(m, queue)
    m.submodules.queue = queue
    return m, [queue.w_data, queue.w_en, queue.r_en, tracked.chosen]
