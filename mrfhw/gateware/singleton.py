"""Singleton memories and the singleton-2 switch of a tile (Section 3.3.3, Figure 3.6)."""

from __future__ import annotations

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import Config, bits_for
from mrfhw.gateware.memories import UnguardedMemory
from mrfhw.gateware.ops import datum

__all__ = ["S1Mem", "S2Mem", "S2Switch"]


class S1Mem(wiring.Component):
    """Singleton 1 of the tile's sites: datum and observed flag, one word a site.

    address -> word: one cycle. write, write_data: stores at `address`.
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__({"address": In(config.site_address_bits), "word": Out(datum(config)),
                          "write": In(1), "write_data": In(datum(config))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = UnguardedMemory(
            shape=datum(self.config), depth=self.config.site_rows, unused="the bus writes or reads, and both between runs")
        read, write = memory.read_port(), memory.write_port()
        m.d.comb += [read.addr.eq(self.address), self.word.eq(read.data),
                     write.addr.eq(self.address), write.data.eq(self.write_data), write.en.eq(self.write)]
        return m


class S2Mem(wiring.Component):
    """Singleton 2 in S banks by pairs of columns: S sites of a row, two columns apart, read without conflict.

    first, second: bank addresses. Banks from `rotate` on read `first`, those below it `second` (the
    pair of columns after the last bank's). words[lane]: lane s's datum, of bank (rotate + s) mod S, two
    cycles later. One read a lane a cycle.
    bus_select, bus_bank, bus_address, write, bus_data: access to one word, bus_select with reads and writes;
    bus_word one cycle later.
    """

    def __init__(self, config: Config):
        self.config = config
        address, bank = config.s2_address_bits, bits_for(config.spus)
        super().__init__({
            "first": In(address), "second": In(address), "rotate": In(bank),
            "words": Out(data.ArrayLayout(datum(config), config.spus)),
            "bus_select": In(1), "bus_bank": In(bank), "bus_address": In(address), "write": In(1),
            "bus_data": In(datum(config)), "bus_word": Out(datum(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        outputs = []
        for bank in range(c.spus):
            m.submodules[f"bank_{bank}"] = memory = UnguardedMemory(
                shape=datum(c), depth=c.s2_bank_depth, unused="the bus writes or reads, and both between runs")
            read, write = memory.read_port(), memory.write_port()
            run = self.first if bank == c.spus - 1 else Mux(self.rotate > bank, self.second, self.first)
            m.d.comb += [
                read.addr.eq(Mux(self.bus_select, self.bus_address, run)),
                write.addr.eq(self.bus_address), write.data.eq(self.bus_data),
                write.en.eq(self.write & (self.bus_bank == bank)),
            ]
            outputs.append(data.View(datum(c), read.data).as_value())
        rotate, bus_bank = Signal.like(self.rotate), Signal.like(self.bus_bank)
        m.d.sync += [rotate.eq(self.rotate), bus_bank.eq(self.bus_bank)]
        banks = Array(outputs)
        m.d.comb += self.bus_word.eq(banks[bus_bank] if c.spus > 1 else outputs[0])
        for lane in range(c.spus):
            word = outputs[0] if c.spus == 1 else banks[(rotate + lane)[:len(rotate)]]
            m.d.sync += self.words[lane].eq(word)
        return m


class S2Switch(wiring.Component):
    """Takes each lane's singleton-2 word from the tile itself or one of its eight neighbours.

    The columns are chosen first and the chosen words passed on to the rows, so that a diagonal
    neighbour is reached over two links of one hop and no diagonal link is needed.

    words: this tile's, as S2Mem gives them. west, east: the neighbours' `words` (0 beyond the mesh).
    left: bit 1 take from the west, bit 0 from the east, of the lanes that `second` does not mark;
    right: the same of those that it marks. across: the words chosen, for the neighbours to the north
    and south, one cycle later. north, south: their `across`. up, down: one cycle after left and right.
    chosen: one cycle after up and down, two after words.
    """

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(datum(config), config.spus)
        super().__init__({
            "words": In(words), "west": In(words), "east": In(words), "left": In(2), "right": In(2),
            "second": In(config.spus), "across": Out(words), "north": In(words), "south": In(words),
            "up": In(1), "down": In(1), "chosen": Out(words),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for lane in range(self.config.spus):
            here, west, east = (words[lane].as_value() for words in (self.words, self.west, self.east))
            side = Signal(2, name=f"side_{lane}")
            m.d.comb += side.eq(Mux(self.second[lane], self.right, self.left))
            m.d.sync += self.across[lane].eq(Mux(side[1], west, Mux(side[0], east, here)))
            across, north, south = (words[lane].as_value() for words in (self.across, self.north, self.south))
            m.d.sync += self.chosen[lane].eq(Mux(self.up, north, Mux(self.down, south, across)))
        return m
