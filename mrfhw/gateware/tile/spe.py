"""A tile of the mesh: memories, switches, SPUs and log port (Figure 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import chosen, join_contexts, name_of, of_context
from mrfhw.gateware.common.memories import Queue
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import LogMessage, LogStream, datum, downlink, edges, label_word, uplink
from mrfhw.gateware.tile.labels import LabelMemory, LabelSwitch, LabelUpdate, Prefetch, entry_layout, entry_name
from mrfhw.gateware.tile.singleton import S1Mem, S2Mem, S2Switch
from mrfhw.gateware.tile.subset_slots import SubsetSlots
from mrfhw.gateware.unit.spu import Spu
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import Region
from mrfhw.machine.words import LMEM_WORDS, entry_words

__all__ = ["SIDES", "Spe"]

SIDES = ("north", "south", "west", "east")


def _lmem_write(config: Config) -> data.StructLayout:
    """A write at LMem's port."""
    return data.StructLayout({"enable": 1, "bank": bits_for(config.lmem_banks), "address": Derived.of(config).lmem_address_bits,
                              "entry": entry_layout(config)})


class Spe(wiring.Component):
    """An SPE tile. All tiles of a mesh are identical and get the same operations in the same cycle.

    down: see `ops.downlink`. up: read data, `Latency.tile_read` cycles after a bus strobe; stall: fewer than
    `Derived.log_reserve` places were left in the log FIFO `Latency.stall` cycles ago.
    label_to_<side>, label_<side>: label words to and from the four neighbours.
    s2_words, s2_west, s2_east: the banks' words, to and from the neighbours in the row; s2_across, s2_north, s2_south: the words
    chosen by column, to and from those in the column. A tile that holds its reach (`Derived.holds_reach`) has none of these
    ports.
    log: messages; a count of 0 ends a run. The log does not stop the tile itself; `stall` asks the scheduler to wait.

    Of several contexts (`Config.contexts`) each has memories, tables and generators of its own. That of the parameters runs, while
    the bus accesses the one that it names.

    Machines with subsets: `SubsetSlots` takes the place of the scheduler's label table and singleton-2 addresses.

    ::

        S2Mem -> S2Switch (one lane a site) -----+
        S1Mem -> Prefetch -----------------------+-> SPUs -> LabelUpdate -> log FIFO
        LMem -> LabelSwitch -> Prefetch ---------+              |  ^
          ^                                                     |  |
          +------------------- write-back ----------------------+--+
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        config.latency.exactly("log_fifo", 1, "a tile's log FIFO")
        self._store = min(config.latency.tile_bus, config.latency.write_back)  # registers that writes of labels and bus share
        words = data.ArrayLayout(datum(config), config.s2_banks)
        super().__init__({
            "down": In(downlink(config)), "up": Out(uplink(config)),
            **{f"label_to_{side}": Out(label_word(config)) for side in SIDES},
            **{f"label_{side}": In(label_word(config)) for side in SIDES},
            **({"s2_words": Out(words), "s2_west": In(words), "s2_east": In(words), "s2_across": Out(words), "s2_north": In(words),
                "s2_south": In(words)} if not config.holds_reach else {}),
            "log": Out(LogStream(config, 0)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, down = self.config, self.down
        self._context = down.parameters.context if c.contexts > 1 else None  # that runs
        s1mem = self._memories(m, "s1mem", lambda: S1Mem(c))
        self._edges = self._memories(m, "edges", lambda: S1Mem(c, edges(c))) if c.edge_bits else []
        m.submodules.s2mem = s2mem = S2Mem(c)
        lmem = self._memories(m, "lmem", lambda: LabelMemory(c))
        m.submodules.label_switch = label_switch = LabelSwitch(c)
        m.submodules.prefetch = prefetch = Prefetch(c)
        spus = []
        for unit in range(c.spus):
            m.submodules[f"spu_{unit}"] = spu = Spu(c)
            spus.append(spu)
        self._subset: SubsetSlots | None = None
        label = down.label
        if c.subset_slots:
            m.submodules.subset = self._subset = SubsetSlots(c)
            label = self._subset.label
        words = self._singletons(m, s2mem)
        self._neighbours(m, lmem, label_switch, prefetch, s1mem)
        second = Signal(data.ArrayLayout(datum(c), c.s2_banks), name="s2")
        for lane, constant in enumerate(second):
            m.d.comb += constant.eq(words[lane])
            with m.If(down.parameters.constant):
                m.d.comb += constant.value.eq(label.constants[lane % c.lanes])
        for unit, spu in enumerate(spus):
            m.d.comb += [
                spu.valid.eq(label.enable), spu.first.eq(label.first), spu.last.eq(label.last),
                spu.label.eq(label.label), spu.parameters.eq(down.parameters),
                spu.s1.eq(prefetch.current_s1[unit].datum), spu.neighbours.eq(prefetch.current[unit]),
                *(spu.s2[lane].eq(second[unit * c.lanes + lane]) for lane in range(c.lanes)),
            ]
            if c.vector_bits:
                m.d.comb += spu.vectors.eq(label.vectors)
            if c.lanes > 1:
                m.d.comb += [spu.used.eq(label.used), spu.slot.eq(label.slot)]
            if self._subset is not None:
                m.d.comb += spu.weight.eq(self._subset.weight)
            if c.edge_bits:
                m.d.comb += spu.edges.eq(prefetch.current_s1[unit].edges)
        write = self._write_back(m, lmem, [spu.result for spu in spus])
        self._bus(m, s1mem, s2mem, lmem, prefetch, spus, write)
        return m

    def _memories(self, m: Module, name: str, make: Callable[[], Any]) -> list[Any]:
        """A memory of this name for each context."""
        found = [make() for _ in range(self.config.contexts)]
        for k, memory in enumerate(found):
            m.submodules[name_of(name, k, self.config.contexts)] = memory
        return found

    def _entry(self, lmem: list[LabelMemory], bank: int, context: Any) -> data.View:
        """An entry that a context's LMem reads."""
        return data.View(entry_layout(self.config), Value.cast(chosen([memory.entries[bank] for memory in lmem], context)))

    def _singletons(self, m: Module, s2mem: S2Mem) -> data.View:
        """Returns the lanes' singleton-2 words as the SPUs take them."""
        c, down = self.config, self.down
        stages, read = c.latency, down.singleton if self._subset is None else self._subset.singleton
        m.d.comb += [s2mem.first.eq(read.first), s2mem.second.eq(read.second), s2mem.rotate.eq(read.rotate)]
        if c.holds_reach:
            held: data.View = delayed(m, s2mem.words, stages.s2_columns + stages.s2_rows, "words", reset_less=True)
            return held
        m.submodules.s2switch = switch = S2Switch(c)
        rotate = delayed(m, down.singleton.rotate, stages.columns_cycle - stages.singleton_cycle, "rotate")
        m.d.comb += [
            self.s2_words.eq(s2mem.words), switch.words.eq(s2mem.words), switch.west.eq(self.s2_west),
            switch.east.eq(self.s2_east), switch.left.eq(down.columns.left), switch.right.eq(down.columns.right),
            self.s2_across.eq(switch.across), switch.north.eq(self.s2_north), switch.south.eq(self.s2_south),
            switch.up.eq(down.rows.up), switch.down.eq(down.rows.down),
        ]
        for lane in range(1, c.s2_banks):
            m.d.comb += switch.second[lane].eq(rotate + lane >= c.s2_banks)
        found: data.View = switch.chosen
        return found

    def _neighbours(self, m: Module, lmem: list[LabelMemory], switch: LabelSwitch, prefetch: Prefetch,
                    s1mem: list[S1Mem]) -> None:
        c, down = self.config, self.down
        for bank in range(c.lmem_banks):
            word, entry = Signal(label_word(c), name=f"word_{bank}"), self._entry(lmem, bank, self._context)
            m.d.comb += [word.label.eq(entry.mrp_label), word.exists.eq(entry.exists),
                         switch.words[bank].eq(delayed(m, word, c.latency.label_switch, f"read_{bank}", reset_less=True))]
        for side in SIDES:
            m.d.comb += [getattr(self, f"label_to_{side}").eq(getattr(switch, f"to_{side}")),
                         getattr(switch, side).eq(getattr(self, f"label_{side}"))]
        m.d.comb += [
            switch.source.eq(down.fetch.source), switch.up_bank.eq(down.fetch.up_bank),
            switch.left_bank.eq(down.fetch.left_bank), switch.cross.eq(down.fetch.cross),
            prefetch.words.eq(switch.chosen), prefetch.fetch.eq(down.fetch.enable), prefetch.swap.eq(down.swap.enable),
            prefetch.s1_fetch.eq(down.site.enable),
            prefetch.s1_word.datum.eq(chosen([memory.word for memory in s1mem], self._context)),
        ]
        if self._edges:
            m.d.comb += prefetch.s1_word.edges.eq(chosen([memory.word for memory in self._edges], self._context))
        if self._subset is not None:
            m.d.comb += [self._subset.swap.eq(down.swap.enable), self._subset.place.eq(down.place),
                         self._subset.own_fetch.eq(down.fetch.own),
                         self._subset.own.eq(Array([word.label for word in switch.words])[down.fetch.bank]),
                         self._subset.flags.eq(down.label), self._subset.unary.eq(down.parameters.unary),
                         *(self._subset.neighbours[kind].eq(around.word) for kind, around in enumerate(prefetch.collected))]

    def _write_back(self, m: Module, lmem: list[LabelMemory], results: list[Signal]) -> data.View:
        """Write back the drawn labels and send messages. Returns the write, `_store` stages before LMem's port."""
        c, operation, stages = self.config, self.down.write_back, self.config.latency
        m.submodules.update = update = LabelUpdate(c)
        m.submodules.log_fifo = fifo = Queue(len(self.log.payload.as_value()) + 1, c.log_depth)
        entries = Array([self._entry(lmem, i, self._context).as_value() for i in range(c.lmem_banks)])
        m.d.comb += [
            update.entry.as_value().eq(entries[operation.bank] if c.lmem_banks > 1 else entries[0]),
            update.label.eq(Array(results)[operation.lane] if c.spus > 1 else results[0]),
            update.counted.eq(operation.counted), update.sums.eq(self.down.parameters.sums),
        ]
        operation = delayed(m, operation, stages.update, "write_back")
        write = Signal(_lmem_write(c))
        message = Signal(LogMessage(c, 0))
        send = Signal()
        m.d.comb += [
            write.enable.eq(operation.enable), write.bank.eq(operation.bank), write.address.eq(operation.address),
            write.entry.eq(update.updated), send.eq(operation.enable & update.send | operation.end),
            message.offset.eq(operation.offset), message.label.eq(update.send_label),
            message.count.eq(Mux(operation.end, 0, update.send_count)),
        ]
        m.d.comb += [
            fifo.w_data.eq(delayed(m, Cat(message.as_value(), operation.end), stages.log_entry, "message", reset_less=True)),
            fifo.w_en.eq(delayed(m, send, stages.log_entry, "send")),
            Cat(self.log.payload.as_value(), self.log.ends).eq(fifo.r_data), self.log.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.log.ready),
            self.up.stall.eq(delayed(m, fifo.level > c.log_depth - c.log_reserve, stages.stall, "stall")),
        ]
        found: data.View = delayed(m, write, stages.write_back - self._store, "write")
        return found

    def _bus(self, m: Module, s1mem: list[S1Mem], s2mem: S2Mem, lmem: list[LabelMemory], prefetch: Prefetch, spus: list[Spu],
             write: data.View) -> None:
        """Bus access while no label is in flight: one word a strobe, read data `Latency.tile_read` cycles later."""
        c = self.config
        early = delayed(m, self.down.bus, c.latency.tile_bus - self._store, "bus_early")
        self._access = bus = delayed(m, early, self._store, "bus")
        there = {Region.S1, Region.S2, Region.LMEM, Region.RANDOM} | ({Region.VECTORS} if c.vector_bits else set())
        there |= {Region.LABELS} if c.subset_slots else set()
        there |= {Region.SITE} if c.s1_has_edges else set()
        there |= ({Region.S2_ROW} if c.s2_row_words > 1 else set()) | ({Region.LMEM_ROW} if c.lmem_row_entries > 1 else set())
        there |= ({Region.EDGES} if c.edge_bits else set()) | ({Region.PAIRWISE} if c.pairwise_bits else set())
        decoded = {r: Signal(name=f"at_{r.name.lower()}") for r in sorted(there)}
        for r, here in decoded.items():
            m.d.comb += here.eq(early.strobe & (early.region == r))
        region = {r: delayed(m, here, self._store, here.name) for r, here in decoded.items()}
        flag = bus.data[c.datum_bits]
        s2_row, site = (region.get(r, Const(0)) for r in (Region.S2_ROW, Region.SITE))
        for k, memory in enumerate(s1mem):
            of_s1 = self._at(region[Region.S1] | site, bus, k)
            m.d.comb += [memory.address.eq(Mux(of_s1, bus.offset, self.down.site.address)),
                         memory.write.eq(of_s1 & bus.write), memory.write_data.eq(Cat(bus.data[:c.datum_bits], flag))]
        m.d.comb += [
            s2mem.bus_select.eq(region[Region.S2] | s2_row), s2mem.write.eq((region[Region.S2] | s2_row) & bus.write),
            s2mem.bus_address.eq(bus.offset), s2mem.bus_bank.eq(bus.offset >> c.s2_address_bits),
            s2mem.bus_row.eq(s2_row), s2mem.bus_data.as_value().eq(bus.data),
        ]
        if c.vector_bits:
            m.d.comb += [
                prefetch.vector_write.eq(region[Region.VECTORS] & bus.write), prefetch.vector_label.eq(bus.offset),
                prefetch.vector_data.u.eq(bus.data[:c.vector_bits]), prefetch.vector_data.v.eq(bus.data[16:16 + c.vector_bits]),
            ]
        generators = Array([word for spu in spus for word in spu.random_words])
        ports = [(spu.random_load[own], spu.random_rotate[own], spu.random_data)
                 for spu in spus for own in range(c.lane_generators)]
        if self._subset is not None:
            generators = Array([*generators, self._subset.random_word])
            ports.append((self._subset.random_load, self._subset.random_rotate, self._subset.random_data))
            m.d.comb += [self._subset.table_write.eq(region[Region.LABELS] & bus.write), self._subset.table_address.eq(bus.offset),
                         self._subset.table_data.eq(bus.data)]
        for number, (load, rotate, word) in enumerate(ports):
            here = region[Region.RANDOM] & (bus.offset[:bits_for(c.tile_generators)] == number)
            m.d.comb += [load.eq(here & bus.write), rotate.eq(here & ~bus.write), word.eq(bus.data)]
        for k, memory in enumerate(self._edges):
            here = self._at(region[Region.EDGES] | site, bus, k)
            m.d.comb += [memory.address.eq(Mux(here, bus.offset, self.down.site.address)), memory.write.eq(here & bus.write),
                         memory.write_data.eq(Mux(site, bus.data[c.datum_bits + 1:], bus.data))]
        for spu in spus if c.pairwise_bits else []:
            m.d.comb += [spu.pairwise_write.eq(region[Region.PAIRWISE] & bus.write), spu.pairwise_address.eq(bus.offset),
                         spu.pairwise_data.eq(bus.data)]
        row = decoded.get(Region.LMEM_ROW, Const(0)) & early.write
        reading = region[Region.LMEM] | (region[Region.LMEM_ROW] if c.lmem_row_reads else 0)
        for k, one in enumerate(lmem):
            of_row = self._at(row, early, k)
            self._lmem(m, one, k, early, self._at(decoded[Region.LMEM], early, k), self._at(reading, bus, k), of_row, write)
            if Region.LMEM_ROW in there:
                m.d.comb += [one.write_row.eq(delayed(m, of_row, self._store, self._name("lmem_write_row", k))),
                             one.row.as_value().eq(delayed(m, early.data, self._store, self._name("lmem_row", k), reset_less=True))]
        if c.contexts > 1:
            for part in (s2mem, *([prefetch] if c.vector_bits else []), *([self._subset] if self._subset is not None else [])):
                join_contexts(m, part, self._context, bus.context)
            m.d.comb += [spu.bus_context.eq(bus.context) for spu in spus]
        self._read(m, region, s1mem, s2mem, lmem, generators)

    def _name(self, name: str, context: int) -> str:
        return name_of(name, context, self.config.contexts)

    def _at(self, here: Value, bus: Any, context: int) -> Value:
        """Whether an access is one of this context."""
        return here if self.config.contexts == 1 else of_context(here, bus.context, context, self.config.contexts)

    def _lmem(self, m: Module, lmem: LabelMemory, context: int, bus: Any, here: Value, reading: Value, row: Value,
              write: data.View) -> None:
        """Ports of a context's LMem, the scheduler's or the bus's: an entry's second word waits for its first to be written.

        bus: an access `_store` cycles before it is at the memories; here: it is one of LMem; reading: it reads that, or a whole
        entry, and is at the memories; row: it writes to several banks.
        """
        c = self.config
        held = Signal(entry_layout(c), name=self._name("held", context))
        entry = Signal(entry_layout(c), name=self._name("entry", context))
        second, at_bank = bus.offset[0], bus.offset[1 + c.lmem_address_bits:]
        current, before = entry_words(c)
        m.d.comb += [entry.eq(held), *(entry[entry_name(0, name)].eq(bus.data[field.low:field.end])
                                       for name, field in current.items())]
        store = Signal(name=self._name("store", context))
        addressed = Signal(name=self._name("addressed", context))  # by the bus
        runs = of_context(write.enable, self._context, context, c.contexts)
        m.d.comb += [store.eq(here & bus.write & ~second), addressed.eq(store | row)]
        with m.If(here & bus.write):
            # Up to where a next field may begin; cut to the fields' widths it is the same circuit, of another text and digest.
            ends = {"label": current["exists"].low, "count": len(bus.data)}
            m.d.sync += [held[entry_name(1, name)].eq(Mux(second, bus.data[field.low:ends[name]], 0))
                         for name, field in before.items()]
        for bank in range(c.lmem_banks):
            m.d.comb += lmem.addresses[bank].eq(Mux(reading, self._access.offset[1:], self.down.label_read.address[bank]))
        for name, value in (("write", runs | store), ("write_bank", Mux(addressed, at_bank, write.bank)),
                            ("write_address", Mux(addressed, bus.offset[1:], write.address)),
                            ("write_data", Mux(store, entry.as_value(), write.entry.as_value()))):
            port = Value.cast(getattr(lmem, name))
            m.d.comb += port.eq(delayed(m, value, self._store, self._name(f"lmem_{name}", context)))

    def _bus_word(self, entry: data.View, word: int) -> Value:
        """A word of an LMem entry, as the bus reads it."""
        parts, low = list[Value](), 0
        for name, field in entry_words(self.config)[word].items():
            parts += [Const(0, field.low - low), entry[entry_name(word, name)]]
            low = field.end
        return Cat(parts)

    def _read(self, m: Module, region: dict[Region, Signal], s1mem: list[S1Mem], s2mem: S2Mem, lmem: list[LabelMemory],
              generators: Array) -> None:
        """Read data: the output of the addressed memory in the cycle in which it is valid, 0 otherwise; then registers."""
        c, bus, stages = self.config, self._access, self.config.latency
        after = {Region.S1: stages.s1_read, Region.S2: stages.s2_read, Region.LMEM: stages.lmem_read,
                 Region.RANDOM: stages.random_word}
        if self._edges:
            after[Region.EDGES] = stages.s1_read
        if c.lmem_row_reads:
            after[Region.LMEM_ROW] = stages.lmem_read
        at = {r: delayed(m, region[r] & ~bus.write, cycles, f"read_{r.name.lower()}") for r, cycles in after.items()}
        generator = delayed(m, bus.offset[:bits_for(c.tile_generators)], stages.random_word, "read_generator")
        second = delayed(m, bus.offset[0], stages.lmem_read, "read_second")
        bank = Const(0, 1)
        if c.lmem_banks > 1:
            bank = delayed(m, bus.offset[1 + c.lmem_address_bits:][:bits_for(c.lmem_banks)], stages.lmem_read, "read_bank")
        of_s1, of_lmem = ((delayed(m, bus.context, cycles, f"{name}_context") if c.contexts > 1 else None)
                          for name, cycles in (("s1", stages.s1_read), ("lmem", stages.lmem_read)))
        entry = Signal(entry_layout(c), name="read_entry")
        entries = [self._entry(lmem, i, of_lmem) for i in range(c.lmem_banks)]
        m.d.comb += entry.eq(Array([one.as_value() for one in entries])[bank] if c.lmem_banks > 1 else entries[0])
        current, before = (self._bus_word(entry, word) for word in range(LMEM_WORDS))
        words = {Region.S1: Value.cast(chosen([memory.word for memory in s1mem], of_s1)), Region.S2: s2mem.bus_word.as_value(),
                 Region.LMEM: Mux(second, before, current),
                 Region.RANDOM: generators[generator] if c.tile_generators > 1 else generators[0]}
        if self._edges:
            words[Region.EDGES] = Value.cast(chosen([memory.word for memory in self._edges], of_s1))
        if c.lmem_row_reads:
            words[Region.LMEM_ROW] = entry.as_value()
        answer: Value = Const(0, 32)
        for r, word in words.items():
            here = Signal(32, name=f"word_{r.name.lower()}")
            with m.If(at[r]):
                m.d.comb += here.eq(word)
            answer |= delayed(m, here, max(after.values()) - after[r], f"word_{r.name.lower()}")
        m.d.comb += self.up.data.eq(delayed(m, answer, stages.tile_answer, "answer"))
