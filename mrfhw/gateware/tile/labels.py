"""Label memory, histogram write-back and neighbour fetch of a tile (Section 3.3.3, Figures 3.7 and 3.9)."""

from __future__ import annotations

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import context_ports
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import KINDS, Direction, label_word, neighbour, site, vector
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import ENTRY_FLAGS, SUM, entry_words, row_entry

__all__ = ["LabelMemory", "LabelSwitch", "LabelUpdate", "Prefetch", "entry_layout", "entry_name", "row_layout", "sum_of"]

ROW_FIELDS = {"label": "mrp_label", **dict(zip(ENTRY_FLAGS, ENTRY_FLAGS, strict=True))}  # in an entry


def entry_layout(config: Config) -> data.StructLayout:
    """An LMem entry: the current (most recently picked) label and its count, the one before and its count.

    In runs of sums some of them are one number, `sum_of`.
    """
    return data.StructLayout({entry_name(word, name): field.bits for word, fields in enumerate(entry_words(Derived.of(config)))
                              for name, field in fields.items()})


def entry_name(word: int, name: str) -> str:
    """What a field of a word of an entry (`mrfhw.machine.words.entry_words`) is called in it."""
    return name if name in ENTRY_FLAGS else f"{('mrp', 'lrp')[word]}_{name}"


def row_layout(config: Config) -> data.StructLayout:
    """An entry in a bus word that has several (`mrfhw.machine.words.row_entry`)."""
    return data.StructLayout({name: field.bits for name, field in row_entry(Derived.of(config)).items()})


def sum_of(entry: data.View) -> Value:
    """The sum of labels in an entry."""
    return Cat(entry[entry_name(word, name)] for word, name in SUM)


class LabelUpdate(wiring.Component):
    """Algorithm 1 as a function: the effect of writing `label` on an entry.

    counted: after the burn-in. During the burn-in only the label changes. The entry of a site that does not exist or is clamped
    does not change. A count of 0 marks an empty pair, which is never sent.
    sums: the label is added to the entry's sum instead, modulo 2^`Derived.sum_bits`, and nothing is sent.
    updated: the new entry. send, send_label, send_count: the message. `Latency.update` cycles later.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        super().__init__({
            "entry": In(entry_layout(config)), "label": In(config.label_bits), "counted": In(1), "sums": In(1),
            "updated": Out(entry_layout(config)), "send": Out(1), "send_label": Out(config.label_bits),
            "send_count": Out(config.counter_bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = self.config.latency.update
        e, new = delayed(m, self.entry, stages, "entry", reset_less=True), self.updated
        label = delayed(m, self.label, stages, "label", reset_less=True)
        counted, sums = delayed(m, self.counted, stages, "counted"), delayed(m, self.sums, stages, "sums")
        same, swap = (delayed(m, self.label == before, stages, name, reset_less=True)
                      for name, before in (("same", self.entry.mrp_label), ("swap", self.entry.lrp_label)))
        hit_count = Mux(same, e.mrp_count, e.lrp_count)
        full = hit_count == self.config.count_max
        hit = same | swap
        m.d.comb += [new.eq(e), self.send_label.eq(Mux(same, e.mrp_label, e.lrp_label)), self.send_count.eq(hit_count)]
        with m.If(e.exists & ~e.clamped):
            m.d.comb += new.mrp_label.eq(label)
            with m.If(counted & sums):
                m.d.comb += sum_of(new).eq(sum_of(e) + label)
            with m.Elif(counted):
                m.d.comb += [new.mrp_count.eq(Mux(hit & ~full, hit_count + 1, 1)),
                             self.send.eq(Mux(hit, full, e.lrp_count != 0))]
                with m.If(~same):
                    m.d.comb += [new.lrp_label.eq(e.mrp_label), new.lrp_count.eq(e.mrp_count)]
        return m


class LabelMemory(wiring.Component):
    """LMem: an entry a site, both colours, in one memory or in four banks (Figure 3.7).

    addresses[bank] -> entries[bank]: `Latency.lmem_read` cycles. write, write_bank, write_address, write_data: one entry
    a cycle, readable from the next cycle on; an entry read in the cycle of its write is undefined. write_row, row: labels of the
    banks from write_bank on, without counts, in place of write and write_data.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        super().__init__({
            "addresses": In(data.ArrayLayout(config.lmem_address_bits, config.lmem_banks)),
            "entries": Out(data.ArrayLayout(entry_layout(config), config.lmem_banks)),
            "write": In(1), "write_bank": In(bits_for(config.lmem_banks)),
            "write_address": In(config.lmem_address_bits), "write_data": In(entry_layout(config)),
            **({"write_row": In(1), "row": In(data.ArrayLayout(row_layout(config), config.lmem_row_entries))}
               if config.lmem_row_entries > 1 else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        for bank in range(c.lmem_banks):
            m.submodules[f"bank_{bank}"] = memory = UnguardedMemory(
                shape=entry_layout(c), depth=c.lmem_rows,
                unused="neighbours that are read are of the other colour, which is written; a site's own label is of a sweep ago")
            read = memory.read_port()
            write = memory.write_port()
            m.d.comb += [
                read.addr.eq(self.addresses[bank]),
                self.entries[bank].eq(delayed(m, read.data, c.latency.lmem_read - 1, f"entry_{bank}", reset_less=True)),
                write.addr.eq(self.write_address), write.data.eq(self.write_data),
                write.en.eq(self.write & (self.write_bank == bank)),
            ]
            if c.lmem_row_entries > 1:
                place = bank % c.lmem_row_entries
                with m.If(self.write_row):
                    m.d.comb += [write.en.eq(self.write_bank == bank - place), write.data.as_value().eq(0),
                                 *(write.data[name].eq(self.row[place][field]) for field, name in ROW_FIELDS.items())]
        return m


class LabelSwitch(wiring.Component):
    """Takes neighbours' label words from this tile or, across an edge, from one of its four neighbours.

    words[bank]: the label words read this cycle. With one bank a word a cycle: `source` is a Direction.
    With four, all four kinds (up, down, left, right) at once: `up_bank` and `left_bank` are the banks of
    those neighbours, down and right lie in the banks that differ in bit 0; `cross` marks the kinds that
    come from the next tile.
    to_north .. to_east: what the neighbours need of this tile; north .. east: theirs (0 beyond the mesh).
    chosen: the words, combinational.
    """

    def __init__(self, config: Config):
        self.config = config
        self.width = config.lmem_banks
        word = label_word(config)
        super().__init__({
            "words": In(data.ArrayLayout(word, self.width)), "source": In(3), "up_bank": In(2), "left_bank": In(2),
            "cross": In(4),
            **{f"to_{side}": Out(word) for side in ("north", "south", "west", "east")},
            **{side: In(word) for side in ("north", "south", "west", "east")},
            "chosen": Out(data.ArrayLayout(word, self.width)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        incoming = (self.north, self.south, self.west, self.east)
        # A neighbouring tile needs the word of the opposite direction: the southern tile needs its sites' upper neighbours.
        outgoing = (self.to_south, self.to_north, self.to_east, self.to_west)
        if self.width == 1:
            m.d.comb += [port.eq(self.words[0]) for port in outgoing]
            with m.Switch(self.source):
                for direction, port in zip((Direction.UP, Direction.DOWN, Direction.LEFT, Direction.RIGHT), incoming,
                                           strict=True):
                    with m.Case(direction):
                        m.d.comb += self.chosen[0].eq(port)
                with m.Default():
                    m.d.comb += self.chosen[0].eq(self.words[0])
            return m
        words = Array([self.words[i].as_value() for i in range(4)])
        banks = (self.up_bank, self.up_bank ^ 1, self.left_bank, self.left_bank ^ 1)
        for kind, bank in enumerate(banks):
            own = Signal(len(words[0]), name=f"own_{KINDS[kind]}")
            m.d.comb += [own.eq(words[bank]), outgoing[kind].eq(own),
                         self.chosen[kind].eq(Mux(self.cross[kind], incoming[kind].as_value(), own))]
        return m


class Prefetch(wiring.Component):
    """Collects the next sites' neighbours and singleton 1 while the current ones are in use.

    words: with one bank a word a cycle, four a lane (up, down, left, right); with four, a lane a cycle.
    fetch: words enter the shift register `Latency.vector_read` cycles later, together with their vectors from the vector table.
    s1_fetch, s1_word: likewise for singleton 1 and the weights of the edges, one word per lane, `Latency.s1_read` cycles after
    s1_fetch. Lanes come in order.
    swap: the collected words become `current` and `current_s1` after `Latency.current` cycles; a word that
    enters in the same cycle as the swap belongs to the next sites. collected: with subsets, the first site's words when they are.
    vector_write, vector_label, vector_data: the table label -> vector, where the machine has vectors; of several contexts each has
    one, that of `context` in use and that of `bus_context` written.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        around = data.ArrayLayout(neighbour(config), 4)
        super().__init__({
            "words": In(data.ArrayLayout(label_word(config), config.lmem_banks)), "fetch": In(1), "swap": In(1),
            "s1_word": In(site(config)), "s1_fetch": In(1),
            "current": Out(data.ArrayLayout(around, config.spus)),
            "current_s1": Out(data.ArrayLayout(site(config), config.spus)),
            **({"collected": Out(around)} if config.subset_slots else {}),
            **({"vector_write": In(1), "vector_label": In(config.label_bits), "vector_data": In(vector(config)),
                **context_ports(config.contexts)} if config.vector_bits else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        stages, entering = c.latency, []
        if c.vector_bits:
            m.submodules.vectors = table = UnguardedMemory(
                shape=vector(c), depth=c.contexts * c.max_labels, unused="a table is written while its problem does not run")
            write = table.write_port()
            address = Cat(self.vector_label, self.bus_context) if c.contexts > 1 else self.vector_label
            m.d.comb += [write.addr.eq(address), write.data.eq(self.vector_data), write.en.eq(self.vector_write)]
        enter = delayed(m, self.fetch, stages.vector_read, "enter")
        s1_enter = delayed(m, self.s1_fetch, stages.s1_read, "s1_enter")
        for i in range(c.lmem_banks):
            word = delayed(m, self.words[i].as_value(), stages.vector_read, f"word_{i}", reset_less=True)
            if not c.vector_bits:
                entering.append(word)
                continue
            read = table.read_port()
            m.d.comb += read.addr.eq(Cat(self.words[i].label, self.context) if c.contexts > 1 else self.words[i].label)
            found = delayed(m, data.View(vector(c), read.data).as_value(), stages.vector_read - 1, f"vector_{i}", reset_less=True)
            entering.append(Cat(word, found))
        step, s1_step = Cat(*entering), self.s1_word.as_value()
        chain = Signal(len(self.current.as_value()), reset_less=True)
        s1_chain = Signal(len(self.current_s1.as_value()), reset_less=True)
        # The word that enters first ends in the lowest place: the upper neighbour of lane 0.
        with m.If(enter):
            m.d.sync += chain.eq(Cat(chain, step)[len(step):])
        with m.If(s1_enter):
            m.d.sync += s1_chain.eq(Cat(s1_chain, s1_step)[len(s1_step):])
        if c.subset_slots:
            m.d.comb += self.collected.as_value().eq(chain)
        # The collected words pass through the additional registers, if there are any: those of a group through one for each of the
        # least number of cycles between two groups.
        wait, step = stages.current - 1, c.interval(0)
        held = max(0, wait - stages.swap + 1) // step
        swap = delayed(m, self.swap, wait - held * step, "swap")
        collected = delayed(m, Cat(chain, s1_chain), wait - held * step, "collected")
        for number in range(held):
            register = Signal(len(collected), name=f"held_{number}", reset_less=True)
            with m.If(swap):
                m.d.sync += register.eq(collected)
            swap, collected = delayed(m, swap, step, f"swap_held_{number}"), register
        with m.If(swap):
            m.d.sync += Cat(self.current.as_value(), self.current_s1.as_value()).eq(collected)
        return m
