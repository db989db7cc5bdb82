"""Memories and queues in block RAM: an address in one cycle, its word in the next."""

from __future__ import annotations

from typing import Any

from amaranth import Elaboratable, Module, Mux, Shape, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.poison import is_poisoned

__all__ = ["Queue", "UnguardedMemory"]


class UnguardedMemory(Memory):
    """An Amaranth memory whose reads are undefined in the cycle of a write of the same address.

    Block RAMs of different FPGA families give different words then. A plain `Memory` promises the old word, for which synthesis
    adds comparators, registers and multiplexers to each block RAM; here the attribute `no_rw_check` tells it that none are needed.
    unused: the reason why no such word is ever used; tests run whole machines within
    `mrfhw.gateware.common.poison.poisoned` to check it.
    """

    def __init__(self, *, shape: Any, depth: int, init: Any = (), unused: str):
        if not unused:
            raise ValueError("unused is ''; a memory without guards needs a reason why no word read during a write of the same "
                             "address is used: state it, or use amaranth.lib.memory.Memory")
        self.unused = unused
        super().__init__(shape=shape, depth=depth, init=init, attrs={"no_rw_check": 1})

    def elaborate(self, platform: object) -> Elaboratable:
        return self._poisoned() if is_poisoned() else super().elaborate(platform)

    def _poisoned(self) -> Module:
        """The same ports around a plain memory; words that were written in the cycle of their read are inverted."""
        m = Module()
        m.submodules.plain = plain = Memory(data=self.data)
        for port in self.write_ports:
            write = plain.write_port(granularity=port.signature.granularity)
            m.d.comb += [write.addr.eq(port.addr), write.data.eq(port.data), write.en.eq(port.en)]
        for number, port in enumerate(self.read_ports):
            read = plain.read_port()
            met = Signal(name=f"met_{number}")
            m.d.comb += [read.addr.eq(port.addr), read.en.eq(port.en)]
            with m.If(port.en):
                m.d.sync += met.eq(0)
                for write in self.write_ports:
                    with m.If(write.en.any() & (write.addr == port.addr)):
                        m.d.sync += met.eq(1)
            # A signal of its own: a port's data may be a view.
            raw, out = Signal(Shape.cast(self.shape).width, name=f"raw_{number}"), getattr(port.data, "as_value", None)
            m.d.comb += raw.eq(getattr(read.data, "as_value", lambda read=read: read.data)())
            m.d.comb += (out() if out else port.data).eq(Mux(met, ~raw, raw))
        return m


class Queue(wiring.Component):
    """A FIFO in a memory that is read one cycle ahead, with the ports of amaranth.lib.fifo.SyncFIFO.

    w_en, w_data: a word, taken if w_rdy is set. r_data: the oldest word, valid if r_rdy is set; r_en removes it. level: words held.
    width: bits of a word. depth: words, one or more.
    latency: cycles from a word's write until it can be read, 1 as SyncFIFO has it, or 2, which spares a register and a
    multiplexer for each bit.
    """

    def __init__(self, width: int, depth: int, latency: int = 1):
        for name, value in (("width", width), ("depth", depth)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}; a queue has a {name} of 1 or more: give a whole number")
        if latency not in (1, 2):
            raise ValueError(f"latency is {latency!r}; a queue's word comes after 1 or 2 cycles: give one of them")
        self.width, self.depth, self.latency = width, depth, latency
        # Where the next word is put, and where the oldest one is.
        self.produce, self.consume = (Signal(range(depth), name=name) for name in ("produce", "consume"))
        self.storage = (Memory(shape=width, depth=depth, init=[]) if latency == 1 else
                        UnguardedMemory(shape=width, depth=depth, unused="r_rdy counts a word from the cycle after"))
        super().__init__({"w_data": In(width), "w_rdy": Out(1), "w_en": In(1), "r_data": Out(width), "r_rdy": Out(1), "r_en": In(1),
                          "level": Out(range(depth + 1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        put = Signal()
        get = Signal()
        storage, produce, consume = self.storage, self.produce, self.consume
        write = storage.write_port()
        if self.latency == 1:
            # A word that is written into an empty queue is the next one to be read, so the read port is transparent.
            read = storage.read_port(transparent_for=(write,))
            # Whether it holds a word, in a register, as what is behind takes it the same cycle.
            m.d.sync += self.r_rdy.eq(put | (self.level > 1) | (self.level == 1) & ~get)
        else:
            read = storage.read_port()
            m.d.sync += self.r_rdy.eq(self.level != get)
        m.submodules.storage = storage
        following = Signal(range(self.depth))
        m.d.comb += [
            self.w_rdy.eq(self.level != self.depth),
            put.eq(self.w_en & self.w_rdy), get.eq(self.r_en & self.r_rdy),
            following.eq(Mux(get, self._after(consume), consume)), self.r_data.eq(read.data),
            write.addr.eq(produce), write.data.eq(self.w_data), write.en.eq(put), read.addr.eq(following), read.en.eq(1),
        ]
        m.d.sync += [consume.eq(following), self.level.eq(self.level + put - get)]
        with m.If(put):
            m.d.sync += produce.eq(self._after(produce))
        return m

    def _after(self, place: Signal) -> Any:
        return Mux(place == self.depth - 1, 0, place + 1)
