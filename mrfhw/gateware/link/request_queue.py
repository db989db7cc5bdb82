"""Requests that wait to be carried out, on a board with several outstanding (docs/link.md)."""

from __future__ import annotations

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import Queue, UnguardedMemory
from mrfhw.machine.link_protocol import MEMORY_WORDS, is_size

__all__ = ["RequestQueue", "check_memory_words"]

_DELAY = 2  # cycles after which words are written: those of the next frame may come while the CRC of this one is checked


def check_memory_words(name: str, words: int) -> int:
    """The size of a memory for several frames, or ValueError."""
    if not is_size(words, MEMORY_WORDS):
        least, most = MEMORY_WORDS
        raise ValueError(f"{name} is {words!r}; a memory for several frames has {least} to {most} words, a power of two: give one "
                         "of them")
    return words


class RequestQueue(wiring.Component):
    """A ring of frames, of which the first is read while others arrive.

    write, address, word, came, size: a receiver's (`received_frame`), `came` being its `held`. A frame that finds no room for its
    words and its CRC, or `depth` others, is dropped. tag: of the frame, with `came`.
    held, held_size, held_tag: of the first frame, its words without the CRC; take: on to the next one. place, step, data: the
    frame's memory, which gives `data` one cycle after `place` where `step` is set, and else keeps it.
    words: of the memory. frame: of the largest frame.
    """

    def __init__(self, words: int, frame: int, depth: int, tag_bits: int = 0):
        self.words, self.frame, self.depth, self.tag_bits = check_memory_words("words", words), frame, depth, tag_bits
        super().__init__({
            "write": In(1), "address": In(range(frame)), "word": In(32), "came": In(1), "size": In(range(frame)),
            "tag": In(tag_bits), "held": Out(1), "held_size": Out(range(frame)), "held_tag": Out(tag_bits), "take": In(1),
            "place": In(range(frame)), "step": In(1), "data": Out(32)})
        self.frames = Queue(len(self.size) + tag_bits, depth, latency=2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = UnguardedMemory(
            shape=32, depth=self.words, unused="a frame is read when it is whole, and its words are free when it was taken")
        m.submodules.frames = frames = self.frames
        into, out = memory.write_port(), memory.read_port()
        base, first, free = Signal(range(self.words)), Signal(range(self.words)), Signal(range(self.words + 1), init=self.words)
        write, address, word = self.write, self.address, self.word
        for number in range(_DELAY):
            late = Signal(name=f"write_{number}"), Signal.like(address, name=f"address_{number}"), Signal(32, name=f"word_{number}")
            m.d.sync += [later.eq(now) for later, now in zip(late, (write, address, word), strict=True)]
            write, address, word = late
        fits, lost, take, accept = Signal(), Signal(), Signal(), Signal()
        self.late, self.base, self.first, self.free = (write, address, word), base, first, free
        self.lost, self.accept = lost, accept
        m.d.comb += [
            fits.eq(address < free), into.addr.eq(base + address), into.data.eq(word), into.en.eq(write & fits),
            accept.eq(self.came & ~lost & (self.size < free) & frames.w_rdy),
            frames.w_en.eq(accept), frames.w_data.eq(Cat(self.size, self.tag)),
            self.held.eq(frames.r_rdy), Cat(self.held_size, self.held_tag).eq(frames.r_data),
            take.eq(self.take & frames.r_rdy), frames.r_en.eq(take),
            out.addr.eq(first + self.place), out.en.eq(self.step), self.data.eq(out.data),
        ]
        m.d.sync += free.eq(free - accept * self.size + take * self.held_size)
        with m.If(write):
            m.d.sync += lost.eq(~fits | (lost & (address != 0)))
        with m.If(accept):
            m.d.sync += base.eq(base + self.size)
        with m.If(take):
            m.d.sync += first.eq(first + self.held_size)
        return m
