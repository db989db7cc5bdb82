"""Receivers of frames: what is held is a whole frame, as it came; and what follows each other for what is behind them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import Assert
from amaranth.lib.memory import Memory

from mrfhw.gateware.link.datagrams import DatagramReceiver
from mrfhw.gateware.link.frames import FrameReceiver
from mrfhw.machine.link_protocol import ESCAPE, FLAG, FLIP, HEAD_WORDS
from sim.proofs.engine import Anything, Proof, absent, opened

__all__ = ["DELAY", "receiver_proof", "words_come"]

DELAY = 2  # cycles after which a frame's words have been written when it is said to have come


def receiver_proof(words: int, datagrams: bool, holds: bool) -> Proof:
    """Bytes or words, and when a frame is taken, are any. words: of the largest frame, its CRC included."""
    what = "datagrams" if datagrams else "bytes"
    return Proof(f"receiver of {what}, frames of up to {words} words, {'held' if holds else 'one after the other'}",
                 "each undamaged frame of at most so many words is held, and no other; its words are those that came, and stay "
                 "until it is taken", partial(_words if datagrams else _bytes, words, holds), cycles=3)


def words_come(m: Module, rule: Callable[..., Any], write: Value, address: Value, came: Value, size: Value) -> tuple[Value, Value]:
    """What a receiver that does not hold its frames keeps to, asserted or assumed by `rule`, of its writes `DELAY` cycles later.

    Words of a frame are written in their order, from the first on; a frame comes once, when its words and its CRC are written,
    before a word of the next one is. Returns the words written of the frame, before this cycle, and whether it has come.
    """
    written, after = Signal(len(size) + 1, name="words_written"), Signal(len(size) + 1, name="then")
    ended = Signal(name="frame_came")
    m.d.comb += [after.eq(Mux(write, address + 1, written)),
                 rule(~write | (address == 0) | (address == written) & ~ended, "a frame's words are written in their order"),
                 rule(~came | (after == size + 1) & (~ended | write) & (size >= HEAD_WORDS),
                      "a frame comes once, when all of it is written")]
    m.d.sync += [written.eq(after), ended.eq(came | ended & ~write)]
    return written, ended


def _in_order(m: Module, receiver: Any, current: Value, count: Value) -> None:
    """`words_come` of a receiver. current: words of a frame come or have come, `count` of them."""
    one, two = ((Signal(name=f"write_{n}"), Signal.like(receiver.address, name=f"address_{n}")) for n in (1, 2))
    m.d.sync += [now.eq(before) for now, before in zip((*one, *two), (receiver.write, receiver.address, *one), strict=True)]
    written, ended = words_come(m, Assert, *two, receiver.held, receiver.size)
    follows = [(write & other, (address == 0) | (written == address) & ~ended)
               for (write, address), other in ((two, Value.cast(1)), (one, ~two[0]))]
    follows.append((one[0] & two[0], (one[1] == 0) | (one[1] == two[1] + 1)))
    last = Mux(one[0], one[1] + 1, Mux(two[0], two[1] + 1, written))
    m.d.comb += [*(Assert(~where | what, "words on their way follow those that are written") for where, what in follows),
                 Assert(~current | (last == count) & (one[0] | two[0] | ~ended), "and are the frame's")]


def _receiver(kind: type[FrameReceiver | DatagramReceiver], words: int, holds: bool) -> tuple[Module, Any]:
    """A harness with a receiver whose CRC says that what came is right, or not, as it likes (sim/proofs/crcs.py)."""
    m, receiver = Module(), kind(words, holds)
    receiver.crc = Anything(absent(receiver.crc).signature)
    m.submodules.receiver = opened(receiver)
    return m, receiver


def _behind(m: Module, receiver: Any, words: int) -> Memory:
    """The memory into which a frame's words are written."""
    m.submodules.memory = memory = Memory(shape=32, depth=words, init=[])
    write = memory.write_port()
    m.d.comb += [write.addr.eq(receiver.address), write.data.eq(receiver.word), write.en.eq(receiver.write)]
    return memory


def _held(m: Module, receiver: Any, whole: Value, length: Value) -> Signal:
    """A frame is held from when it is whole until it is taken. Returns whether one should be."""
    held, size = Signal(name="frame_held"), Signal.like(receiver.size, name="frame_size")
    with m.If(whole):
        m.d.sync += [held.eq(1), size.eq(length - 1)]
    with m.Elif(receiver.take if receiver.holds else Value.cast(1)):
        m.d.sync += held.eq(0)
    m.d.comb += [Assert(receiver.held == held, "whole frames are held, and no others, until they are taken"),
                 Assert(~held | (receiver.size == size), "with their size"),
                 Assert(~receiver.holds | ~held | ~receiver.write, "what is held is not overwritten")]
    return held


def _bytes(words: int, holds: bool) -> tuple[Module, list[Signal]]:
    m, receiver = _receiver(FrameReceiver, words, holds)
    memory, r, come = _behind(m, receiver, words), receiver, receiver.bytes
    # A frame since its flag: bytes without escapes, and whether one of them was lost or cannot be.
    count, crc = Signal(range(4 * words + 1), name="bytes_of_frame"), receiver.crc
    spoiled, escaped, flag = Signal(name="spoiled", init=1), Signal(name="after_an_escape"), Signal(name="is_flag")
    byte, takes, whole = Signal(8, name="clear_byte"), Signal(name="takes_a_byte"), Signal(name="is_whole")
    held = _held(m, receiver, whole, count >> 2)
    lost = come.valid & held if holds else Value.cast(0)
    m.d.comb += [flag.eq(come.valid & ~lost & (come.payload == FLAG)), byte.eq(Mux(escaped, come.payload ^ FLIP, come.payload)),
                 takes.eq(come.valid & ~lost & (come.payload != FLAG) & (come.payload != ESCAPE) & (count != 4 * words)),
                 whole.eq(flag & ~spoiled & ~escaped & (count[:2] == 0) & (count >= 4 * (HEAD_WORDS + 1)) & crc.whole)]
    with m.If(flag):
        m.d.sync += [count.eq(0), spoiled.eq(0), escaped.eq(0)]
    with m.Elif(takes):
        m.d.sync += [count.eq(count + 1), escaped.eq(0)]
    with m.Elif(come.valid):  # lost, an escape, or a byte too many
        escape = ~lost & (come.payload == ESCAPE)
        m.d.sync += [spoiled.eq(spoiled | ~escape | escaped), escaped.eq(escaped | escape)]
    m.d.comb += [Assert(count <= 4 * words, "it fits"), Assert(r.bad == spoiled, "a frame is spoiled or not"),
                 Assert(spoiled | (r.count == count) & (r.escaped == escaped), "a frame is followed"),
                 Assert(spoiled | lost | (crc.valid == takes) & (crc.start == flag) & (~takes | (crc.byte == byte)),
                        "its CRC is its own")]
    # One byte of the frame, any one.
    chosen, at, seen = Signal(range(4 * words), name="chosen"), Signal(range(4 * words), name="place"), Signal(8, name="seen")
    with m.If(flag):
        m.d.sync += at.eq(chosen)
    with m.Elif(takes & (count == at)):
        m.d.sync += seen.eq(byte)
    with m.If(~spoiled & (at < count)):
        m.d.comb += Assert(Mux(at >> 2 < count >> 2, _byte(m, memory, at), receiver.shift.word_select((at - count - 1)[:2], 8))
                           == seen, "its bytes are in their place")
    _stays(m, receiver, memory, whole, at, seen)
    if not holds:
        _in_order(m, receiver, ~spoiled & (count >= 4), count >> 2)
    return m, [come.valid, come.payload, chosen, crc.whole, *([receiver.take] if holds else [])]


def _byte(m: Module, memory: Memory, at: Value) -> Value:
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(at >> 2)
    found: Value = port.data.word_select(at[:2], 8)
    return found


def _stays(m: Module, receiver: Any, memory: Memory, whole: Value, at: Signal, seen: Signal) -> None:
    """A byte or word stays in its place while its frame is held."""
    kept, value, of_bytes = Signal.like(at, name="kept_place"), Signal.like(seen, name="kept"), len(seen) == 8
    with m.If(whole):
        m.d.sync += [kept.eq(at), value.eq(seen)]
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(kept >> 2 if of_bytes else kept)
    word = port.data.word_select(kept[:2], 8) if of_bytes else port.data
    with m.If(receiver.held & ((kept >> 2 if of_bytes else kept) <= receiver.size)):
        m.d.comb += Assert(word == value, "a frame that is held is as it came")


def _words(words: int, holds: bool) -> tuple[Module, list[Signal]]:
    m, receiver = _receiver(DatagramReceiver, words, holds)
    crc = receiver.crc
    memory, r, come, now = _behind(m, receiver, words), receiver, receiver.received, receiver.received.payload
    # A datagram since its first word. A frame is known to be whole a cycle after its last word, when its CRC is.
    count, place = Signal(range(words + 1), name="words_of_frame"), Signal(range(words + 1), name="number")
    begun, spoiled, ended = Signal(name="begun"), Signal(name="spoiled"), Signal(name="was_last")
    held = _held(m, receiver, ended & crc.whole, count)
    lost = held | ended if holds else Value.cast(0)
    bad = (begun & spoiled) | lost | (begun & (count == words))
    m.d.comb += [place.eq(Mux(begun, count, 0)), Assert(~come.valid | crc.valid & (crc.first == ~begun) & (crc.word == now.word),
                                                        "the CRC is that of the datagram"),
                 Assert(come.valid | ~crc.valid, "of its words alone")]
    m.d.sync += ended.eq(come.valid & now.last & now.whole & ~bad & (place >= HEAD_WORDS))
    with m.If(come.valid):
        m.d.sync += [count.eq(Mux(bad, place, place + 1)), spoiled.eq(bad), begun.eq(~now.last)]
    m.d.comb += [Assert(count <= words, "it fits"), Assert((r.first == ~begun) & (r.ended == ended), "a datagram is followed"),
                 Assert(~begun | (r.lost == spoiled) & (spoiled | (r.count == count)), "it is spoiled or not")]
    chosen, at, seen = (Signal(size, name=name) for size, name in ((range(words), "chosen"), (range(words), "place"), (32, "seen")))
    port, first = memory.read_port(domain="comb"), come.valid & ~begun
    m.d.comb += port.addr.eq(at)
    with m.If(first):
        m.d.sync += at.eq(chosen)
    with m.If(come.valid & ~bad & (place == Mux(first, chosen, at))):
        m.d.sync += seen.eq(now.word)
    with m.If((begun & ~spoiled | ended) & (at < count)):
        m.d.comb += Assert(port.data == seen, "its words are in their place")
    if holds:
        _stays(m, receiver, memory, ended & crc.whole, at, seen)
    else:  # words of the next one may come before a frame is said to have come
        _in_order(m, receiver, (begun & ~spoiled) | ended, count)
    return m, [come.valid, now.as_value(), chosen, crc.whole, *([receiver.take] if holds else [])]
