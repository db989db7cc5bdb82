"""Singleton memories and the singleton-2 switch of a tile (Section 3.3.3, Figure 3.6)."""

from __future__ import annotations

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import datum
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["S1Mem", "S2Mem", "S2Switch"]


class S1Mem(wiring.Component):
    """What the tile holds of each site and a run does not change, one word a site: by default singleton 1, datum and observed flag.

    address -> word: `Latency.s1_read` cycles. write, write_data: stores at `address`.
    """

    def __init__(self, config: Config, shape: data.Layout | None = None):
        config = Derived.of(config)
        self.config, self.shape = config, datum(config) if shape is None else shape
        super().__init__({"address": In(config.site_address_bits), "word": Out(self.shape),
                          "write": In(1), "write_data": In(self.shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = UnguardedMemory(
            shape=self.shape, depth=self.config.site_rows, unused="the bus writes or reads, and both between runs")
        read = memory.read_port()
        write = memory.write_port()
        m.d.comb += [read.addr.eq(self.address), self.word.eq(delayed(m, read.data, self.config.latency.s1_read - 1, "word")),
                     write.addr.eq(self.address), write.data.eq(self.write_data), write.en.eq(self.write)]
        return m


class S2Mem(wiring.Component):
    """Singleton 2 in S banks by pairs of columns: S sites of a row, two columns apart, read without conflict.

    first, second: bank addresses. Banks from `rotate` on read `first`, those below it `second` (the
    pair of columns after the last bank's). words[lane]: lane s's datum, of bank (rotate + s) mod S,
    `Latency.s2_read` + `s2_lanes` cycles later. One read a lane a cycle.
    bus_select, bus_bank, bus_address, write, bus_data: access to one word, bus_select with reads and writes;
    bus_word `Latency.s2_read` cycles later.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
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
        c, stages = self.config, self.config.latency
        outputs = []
        for bank in range(c.spus):
            m.submodules[f"bank_{bank}"] = memory = UnguardedMemory(
                shape=datum(c), depth=c.s2_bank_depth, unused="the bus writes or reads, and both between runs")
            read = memory.read_port()
            write = memory.write_port()
            run = self.first if bank == c.spus - 1 else Mux(self.rotate > bank, self.second, self.first)
            m.d.comb += [
                read.addr.eq(Mux(self.bus_select, self.bus_address, run)),
                write.addr.eq(self.bus_address), write.data.eq(self.bus_data),
                write.en.eq(self.write & (self.bus_bank == bank)),
            ]
            outputs.append(delayed(m, data.View(datum(c), read.data).as_value(), stages.s2_read - 1, f"word_{bank}"))
        rotate = delayed(m, self.rotate, stages.s2_read, "rotate")
        bus_bank = delayed(m, self.bus_bank, stages.s2_read, "bus_bank")
        banks = Array(outputs)
        m.d.comb += self.bus_word.eq(banks[bus_bank] if c.spus > 1 else outputs[0])
        for lane in range(c.spus):
            word = outputs[0] if c.spus == 1 else banks[(rotate + lane)[:len(rotate)]]
            m.d.sync += self.words[lane].eq(delayed(m, word, stages.s2_lanes - 1, f"lane_{lane}"))
        return m


class S2Switch(wiring.Component):
    """Takes each lane's singleton-2 word from the tile itself or one of its eight neighbours.

    The columns are chosen first and the chosen words passed on to the rows, so that a diagonal
    neighbour is reached over two links of one hop and no diagonal link is needed.

    words: this tile's, as S2Mem gives them. west, east: the neighbours' `words` (0 beyond the mesh).
    left: for the lanes that `second` does not mark, bit 1 selects the western tile, bit 0 the eastern one;
    right: the same for the lanes that it marks. across: the words selected by column, for the neighbours to the north
    and south, `Latency.s2_columns` cycles later. north, south: their `across`. up, down: the row direction, in the cycle of
    `across`. chosen: the selected words, `Latency.s2_rows` cycles after `across`.
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
        stages = self.config.latency
        for lane in range(self.config.spus):
            here, west, east = (words[lane].as_value() for words in (self.words, self.west, self.east))
            side = Signal(2, name=f"side_{lane}")
            m.d.comb += side.eq(Mux(self.second[lane], self.right, self.left))
            column = delayed(m, Mux(side[1], west, Mux(side[0], east, here)), stages.s2_columns - 1, f"column_{lane}")
            m.d.sync += self.across[lane].eq(column)
            across, north, south = (words[lane].as_value() for words in (self.across, self.north, self.south))
            row = delayed(m, Mux(self.up, north, Mux(self.down, south, across)), stages.s2_rows - 1, f"row_{lane}")
            m.d.sync += self.chosen[lane].eq(row)
        return m
