"""Singleton memories and the singleton-2 switch of a tile (Section 3.3.3, Figure 3.6)."""

from __future__ import annotations

from amaranth import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import chosen, context_ports, name_of, of_context
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.common.rotate import rotated
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
            shape=self.shape, depth=self.config.site_rows, unused="the bus has a problem's words while it does not run")
        read = memory.read_port()
        write = memory.write_port()
        m.d.comb += [read.addr.eq(self.address), self.word.eq(delayed(m, read.data, self.config.latency.s1_read - 1, "word")),
                     write.addr.eq(self.address), write.data.eq(self.write_data), write.en.eq(self.write)]
        return m


class S2Mem(wiring.Component):
    """Singleton 2 in banks: a row's words for all lanes, read without conflict.

    S units with a lane each read words two columns apart, from S banks by pairs of columns; K lanes of one unit read neighbouring
    words, from K banks by columns. first, second: bank addresses. Banks from `rotate` on read `first`, those below it `second` (the
    columns after the last bank's). words[lane]: lane s's datum, of bank (rotate + s) mod the number of banks,
    `Latency.s2_read` + `s2_lanes` cycles later. One read a lane a cycle.
    bus_select, bus_bank, bus_address, write, bus_data: access to one word, bus_select with reads and writes;
    bus_word `Latency.s2_read` cycles later. bus_row: write all of bus_data, to the banks from bus_bank on.
    context, bus_context: of several, each with banks of its own, the one whose words are read, and the one of bus_select.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        address, bank = config.s2_address_bits, bits_for(config.s2_banks)
        super().__init__({
            "first": In(address), "second": In(address), "rotate": In(bank),
            "words": Out(data.ArrayLayout(datum(config), config.s2_banks)),
            "bus_select": In(1), "bus_bank": In(bank), "bus_address": In(address), "write": In(1),
            "bus_data": In(data.ArrayLayout(datum(config), config.s2_row_words)), "bus_row": In(1), "bus_word": Out(datum(config)),
            **context_ports(config.contexts),
        })

    UNUSED = "the bus has a problem's words while it does not run"

    def _accessed(self, here: Value, context: int) -> Value:
        """Whether the bus accesses the banks of this context."""
        n = self.config.contexts
        return of_context(here, self.bus_context, context, n) if n > 1 else here

    def _writes(self, bank: int, context: int) -> Value:
        """Whether the bus writes to a bank: to its own, or to the first of those whose words lie beside it."""
        first = bank - bank % self.config.s2_row_words
        return self._accessed(self.write, context) & (self.bus_bank == (bank if first == bank else Mux(self.bus_row, first, bank)))

    def _written(self, bank: int) -> Value:
        place, words = bank % self.config.s2_row_words, [word.as_value() for word in self.bus_data]
        return words[0] if place == 0 else Mux(self.bus_row, words[place], words[0])

    def _banks(self, m: Module, context: int) -> list[Value]:
        """A memory for each bank."""
        c, found = self.config, []
        for bank in range(c.s2_banks):
            m.submodules[name_of(f"bank_{bank}", context, c.contexts)] = memory = UnguardedMemory(
                shape=datum(c), depth=c.s2_bank_depth, unused=self.UNUSED)
            read = memory.read_port()
            write = memory.write_port()
            run = self.first if bank == c.s2_banks - 1 else Mux(self.rotate > bank, self.second, self.first)
            m.d.comb += [
                read.addr.eq(Mux(self._accessed(self.bus_select, context), self.bus_address, run)),
                write.addr.eq(self.bus_address), write.data.eq(self._written(bank)), write.en.eq(self._writes(bank, context)),
            ]
            found.append(data.View(datum(c), read.data).as_value())
        return found

    def _words(self, m: Module, context: int) -> list[Value]:
        """The banks side by side in one memory with two ports, as narrow banks would leave most of their block memories empty."""
        c, width = self.config, datum(self.config).size
        m.submodules[name_of("words", context, c.contexts)] = memory = UnguardedMemory(
            shape=unsigned(c.s2_banks * width), depth=c.s2_bank_depth, unused=self.UNUSED)
        select = self._accessed(self.bus_select, context)
        first, second = memory.read_port(), memory.read_port()
        write = memory.write_port(granularity=width)
        address = Signal.like(self.first, name=name_of("address", context, c.contexts))
        m.d.comb += [
            address.eq(Mux(select, self.bus_address, self.first)), first.addr.eq(address), second.addr.eq(self.second),
            write.addr.eq(address), write.data.eq(Cat(self._written(bank) for bank in range(c.s2_banks))),
            write.en.eq(Cat(self._writes(bank, context) for bank in range(c.s2_banks))),
        ]
        rotate = Signal.like(self.rotate, name=name_of("rotate_read", context, c.contexts))
        m.d.sync += rotate.eq(Mux(select, 0, self.rotate))
        return [Mux(rotate > bank, second.data.word_select(bank, width), first.data.word_select(bank, width))
                for bank in range(c.s2_banks)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, stages = self.config, self.config.latency
        reads = [self._words(m, k) if c.lanes > 1 else self._banks(m, k) for k in range(c.contexts)]
        runs = self.context if c.contexts > 1 else None
        outputs = [delayed(m, chosen(words, runs), stages.s2_read - 1, f"word_{bank}")
                   for bank, words in enumerate(zip(*reads, strict=True))]
        rotate = delayed(m, self.rotate, stages.s2_read, "rotate")
        self._bus_word(m, reads, outputs)
        # The second of the lanes' stages, if there is one, stands in the middle of the rotation.
        half, more = len(rotate) // 2, min(1, stages.s2_lanes - 1)
        turned = [delayed(m, word, more, f"turned_{lane}") for lane, word in enumerate(rotated(outputs, rotate[:half], 1))]
        turned = rotated(turned, delayed(m, rotate[half:], more, "rotate_half"), 1 << half)
        for lane, word in enumerate(turned):
            m.d.sync += self.words[lane].eq(delayed(m, word, stages.s2_lanes - 1 - more, f"lane_{lane}"))
        return m

    def _bus_word(self, m: Module, reads: list[list[Value]], outputs: list[Value]) -> None:
        """The bus's word: of several contexts another than the one that is read, perhaps, and so with stages of its own."""
        c, stages = self.config, self.config.latency
        if c.contexts == 1:
            bus_bank = delayed(m, self.bus_bank, stages.s2_read, "bus_bank")
            m.d.comb += self.bus_word.eq(Array(outputs)[bus_bank] if c.s2_banks > 1 else outputs[0])
            return
        bank, context = delayed(m, self.bus_bank, 1, "bus_bank"), delayed(m, self.bus_context, 1, "accessed")
        words = [chosen(words, context) for words in zip(*reads, strict=True)]
        m.d.comb += self.bus_word.eq(delayed(m, chosen(words, bank), stages.s2_read - 1, "bus_word"))


class S2Switch(wiring.Component):
    """Takes each lane's singleton-2 word from the tile itself or one of its eight neighbours.

    The columns are chosen first and the chosen words passed on to the rows, so that a diagonal
    neighbour is reached over two links of one hop and no diagonal link is needed.

    Of tiles whose units have a lane each; others hold all that they read.

    words: this tile's, as S2Mem gives them. west, east: the neighbours' `words` (0 beyond the mesh).
    left: for the lanes that `second` does not mark, bit 1 selects the western tile, bit 0 the eastern one;
    right: the same for the lanes that it marks. across: the words selected by column, for the neighbours to the north
    and south, `Latency.s2_columns` cycles later. north, south: their `across`. up, down: the row direction, in the cycle of
    `across`. chosen: the selected words, `Latency.s2_rows` cycles after `across`.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        for name in ("s2_columns", "s2_rows"):
            config.latency.beyond(name, 1, "the switch of singleton-2 words")
        words = data.ArrayLayout(datum(config), config.s2_banks)
        super().__init__({
            "words": In(words), "west": In(words), "east": In(words), "left": In(2), "right": In(2),
            "second": In(config.s2_banks), "across": Out(words), "north": In(words), "south": In(words),
            "up": In(1), "down": In(1), "chosen": Out(words),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = self.config.latency
        for lane in range(self.config.s2_banks):
            here, west, east = (words[lane].as_value() for words in (self.words, self.west, self.east))
            side = Signal(2, name=f"side_{lane}")
            m.d.comb += side.eq(Mux(self.second[lane], self.right, self.left))
            column = delayed(m, Mux(side[1], west, Mux(side[0], east, here)), stages.s2_columns - 1, f"column_{lane}")
            m.d.sync += self.across[lane].eq(column)
            across, north, south = (words[lane].as_value() for words in (self.across, self.north, self.south))
            row = delayed(m, Mux(self.up, north, Mux(self.down, south, across)), stages.s2_rows - 1, f"row_{lane}")
            m.d.sync += self.chosen[lane].eq(row)
        return m
