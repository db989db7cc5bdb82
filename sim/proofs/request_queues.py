"""RequestQueue: frames leave once, in order and as they came, whatever comes meanwhile."""

from __future__ import annotations

from functools import partial

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.link.request_queue import RequestQueue
from sim.proofs.engine import Proof, opened
from sim.proofs.queues import Moved, counts
from sim.proofs.receivers import words_come

__all__ = ["request_queue_proof"]


def request_queue_proof(words: int, frame: int, depth: int) -> Proof:
    """Behind a receiver (sim/proofs/receivers.py), whose frames and words may be any. words, frame, depth: of `RequestQueue`."""
    return Proof(f"requests that wait, {depth} of up to {frame} words in {words}",
                 "a frame leaves once, after those before it, with the words and the size with which it came; one for which there "
                 "is room when it begins is not dropped", partial(_requests, words, frame, depth), cycles=3)


def _requests(words: int, frame: int, depth: int) -> tuple[Module, list[Signal]]:
    m, queue = Module(), RequestQueue(words, frame, depth)
    queue.frames = frames = Moved(queue.frames)
    m.submodules.queue = module = opened(queue)
    write, address, _ = queue.late
    written, ended = words_come(m, Assume, write, address, queue.came, queue.size)
    coming = (written != 0) & ~ended
    counts(m, frames)
    starts, used = [queue.first], Value.cast(0)
    for n, size in enumerate(frames.words):
        used = used + Mux(frames.level > n, size, 0)
        starts.append((queue.first + used)[:len(queue.first)])
    room = Signal.like(queue.free, name="room_at_its_begin", init=words)
    with m.If(write & (address == 0)):
        m.d.sync += room.eq(queue.free)
    m.d.comb += [
        Assert(used + queue.free == words, "the rest of the memory is free"),
        Assert(queue.base == starts[-1], "a frame comes behind those that wait"),
        Assert(~coming | (room <= queue.free), "room does not become less while a frame comes"),
        Assert(~coming | ~queue.lost | (room < written), "what has room is not lost"),
        Assert(~coming | queue.lost | (written <= queue.free), "what is not lost has room"),
        Assert(~queue.came | ~frames.w_rdy | queue.accept | (Mux(write & (address == 0), queue.free, room) <= queue.size),
               "a frame for which there is room is not dropped")]
    return m, [queue.write, queue.address, queue.word, queue.came, queue.size, queue.take, queue.place, queue.step,
               _tracked(m, queue, module.submodules.memory, starts, coming, written)]


def _tracked(m: Module, queue: RequestQueue, memory: object, starts: list[Value], coming: Value,
             written: Value) -> Signal:
    """One frame, any one, and one word of it, from when it comes until it is taken."""
    frames, (write, address, word) = queue.frames, queue.late
    chosen, at, seen = (Signal(shape, name=name) for shape, name in ((range(queue.frame), "chosen"), (range(queue.frame), "place"),
                                                                     (32, "seen")))
    first = write & (address == 0)
    with m.If(first):
        m.d.sync += at.eq(chosen)
    with m.If(write & (address == Mux(first, chosen, at))):
        m.d.sync += seen.eq(word)
    port = memory.read_port(domain="comb")  # type: ignore[attr-defined]
    m.d.comb += port.addr.eq(queue.base + at)
    with m.If(coming & (at < written) & ~queue.lost):
        m.d.comb += Assert(port.data == seen, "words of a frame that comes are in their place")
    waits, ahead, place, value, size = (Signal(shape, name=f"tracked_{name}") for shape, name in (
        (1, "waits"), (range(queue.depth), "ahead"), (range(queue.frame), "place"), (32, "word"), (range(queue.frame), "size")))
    take, came = queue.take & queue.held, Mux(write & (address == at), word, seen)
    with m.If(waits & take):
        m.d.sync += [waits.eq(ahead != 0), ahead.eq(ahead - 1)]
    with m.Elif(~waits & queue.accept & (Mux(first, chosen, at) < queue.size)):
        m.d.sync += [waits.eq(1), ahead.eq(frames.level - take), place.eq(at), value.eq(came), size.eq(queue.size)]
    now = memory.read_port(domain="comb")  # type: ignore[attr-defined]
    m.d.comb += now.addr.eq(Array(starts)[ahead] + place)
    asked = Signal(name="word_asked")
    m.d.sync += asked.eq(waits & (ahead == 0) & ~take & queue.step & (queue.place == place))
    with m.If(waits):
        m.d.comb += [Assert((ahead < frames.level) & (place < size), "a frame that waits is counted"),
                     Assert(Array(frames.words)[ahead] == Cat(size), "its size is its own"),
                     Assert(now.data == value, "its words are in their place")]
    with m.If(asked):
        m.d.comb += Assert(queue.data == value, "and are read there")
    return chosen
