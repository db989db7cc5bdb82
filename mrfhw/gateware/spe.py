"""A tile of the mesh: memories, switches, SPUs and log port (Figure 3.5)."""

from __future__ import annotations

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import Config, bits_for
from mrfhw.gateware.labels import LabelMemory, LabelSwitch, LabelUpdate, Prefetch, entry_layout
from mrfhw.gateware.memories import Queue
from mrfhw.gateware.ops import LogMessage, LogStream, datum, downlink, label_word, uplink
from mrfhw.gateware.singleton import S1Mem, S2Mem, S2Switch
from mrfhw.gateware.spu import Spu
from mrfhw.registers import AddressMap, LmemWord, Region

__all__ = ["SIDES", "Spe"]

SIDES = ("north", "south", "west", "east")


class Spe(wiring.Component):
    """An SPE tile. All tiles of a mesh are identical and get the same operations in the same cycle.

    down: see `ops.downlink`. up: read data, three cycles after a bus strobe; stall: fewer than
    `Config.log_reserve` places are left in the log FIFO.
    label_to_<side>, label_<side>: label words to and from the four neighbours.
    s2_words, s2_west, s2_east: the banks' words, to and from the neighbours in the row; s2_across,
    s2_north, s2_south: the words chosen by column, to and from those in the column.
    log: messages; an all-zero count ends a run. Never blocks the tile: see `stall`.

    ::

        S2Mem -> S2Switch -----------------------+
        S1Mem -> Prefetch -----------------------+-> SPUs -> LabelUpdate -> log FIFO
        LMem -> LabelSwitch -> Prefetch ---------+              |  ^
          ^                                                     |  |
          +------------------- write-back ----------------------+--+
    """

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(datum(config), config.spus)
        super().__init__({
            "down": In(downlink(config)), "up": Out(uplink(config)),
            **{f"label_to_{side}": Out(label_word(config)) for side in SIDES},
            **{f"label_{side}": In(label_word(config)) for side in SIDES},
            "s2_words": Out(words), "s2_west": In(words), "s2_east": In(words),
            "s2_across": Out(words), "s2_north": In(words), "s2_south": In(words),
            "log": Out(LogStream(config, 0)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, down = self.config, self.down
        m.submodules.s1mem = s1mem = S1Mem(c)
        m.submodules.s2mem = s2mem = S2Mem(c)
        m.submodules.s2switch = s2switch = S2Switch(c)
        m.submodules.lmem = lmem = LabelMemory(c)
        m.submodules.label_switch = label_switch = LabelSwitch(c)
        m.submodules.prefetch = prefetch = Prefetch(c)
        spus = []
        for lane in range(c.spus):
            m.submodules[f"spu_{lane}"] = spu = Spu(c)
            spus.append(spu)
        self._singletons(m, s2mem, s2switch)
        self._neighbours(m, lmem, label_switch, prefetch, s1mem)
        for lane, spu in enumerate(spus):
            constant = Signal(datum(c), name=f"s2_{lane}")
            m.d.comb += [
                constant.eq(s2switch.chosen[lane]),
                spu.valid.eq(down.valid), spu.first.eq(down.first), spu.last.eq(down.last),
                spu.label.eq(down.label), spu.vector.eq(down.vector), spu.parameters.eq(down.parameters),
                spu.s1.eq(prefetch.current_s1[lane]), spu.s2.eq(constant), spu.neighbours.eq(prefetch.current[lane]),
            ]
            with m.If(down.parameters.constant):
                m.d.comb += constant.value.eq(down.constant)
        write = self._commit(m, lmem, [spu.result for spu in spus])
        self._bus(m, s1mem, s2mem, lmem, prefetch, spus, write)
        return m

    def _singletons(self, m: Module, s2mem: S2Mem, switch: S2Switch) -> None:
        c, down = self.config, self.down
        rotate = [down.s2_rotate]
        for cycle in range(2):
            rotate.append(Signal.like(rotate[-1], name=f"rotate_{cycle + 1}"))
            m.d.sync += rotate[-1].eq(rotate[-2])
        m.d.comb += [
            s2mem.first.eq(down.s2_first), s2mem.second.eq(down.s2_second), s2mem.rotate.eq(down.s2_rotate),
            self.s2_words.eq(s2mem.words), switch.words.eq(s2mem.words), switch.west.eq(self.s2_west),
            switch.east.eq(self.s2_east), switch.left.eq(down.s2_left), switch.right.eq(down.s2_right),
            self.s2_across.eq(switch.across), switch.north.eq(self.s2_north), switch.south.eq(self.s2_south),
            switch.up.eq(down.s2_up), switch.down.eq(down.s2_down),
        ]
        for lane in range(1, c.spus):
            m.d.comb += switch.second[lane].eq(rotate[2] + lane >= c.spus)

    def _neighbours(self, m: Module, lmem: LabelMemory, switch: LabelSwitch, prefetch: Prefetch, s1mem: S1Mem) -> None:
        c, down = self.config, self.down
        for bank in range(c.lmem_banks):
            read = Signal(label_word(c), name=f"read_{bank}", reset_less=True)
            m.d.sync += [read.label.eq(lmem.entries[bank].mrp_label), read.exists.eq(lmem.entries[bank].exists)]
            m.d.comb += switch.words[bank].eq(read)
        for side in SIDES:
            m.d.comb += [getattr(self, f"label_to_{side}").eq(getattr(switch, f"to_{side}")),
                         getattr(switch, side).eq(getattr(self, f"label_{side}"))]
        m.d.comb += [
            switch.source.eq(down.fetch_from), switch.up_bank.eq(down.fetch_up_bank),
            switch.left_bank.eq(down.fetch_left_bank), switch.cross.eq(down.fetch_cross),
            prefetch.words.eq(switch.chosen), prefetch.fetch.eq(down.fetch), prefetch.swap.eq(down.swap),
            prefetch.s1_fetch.eq(down.s1_fetch), prefetch.s1_word.eq(s1mem.word),
        ]

    def _commit(self, m: Module, lmem: LabelMemory, results: list[Signal]) -> dict[str, Signal]:
        """Write back the drawn labels and send messages. Returns the registered write of the next cycle."""
        c, down = self.config, self.down
        m.submodules.update = update = LabelUpdate(c)
        m.submodules.log_fifo = fifo = Queue(len(self.log.payload.as_value()), c.log_depth)
        entries = Array([lmem.entries[i].as_value() for i in range(c.lmem_banks)])
        m.d.comb += [
            update.entry.as_value().eq(entries[down.commit_bank] if c.lmem_banks > 1 else entries[0]),
            update.label.eq(Array(results)[down.commit_lane] if c.spus > 1 else results[0]),
            update.counted.eq(down.commit_counted),
        ]
        write = {name: Signal(shape, name=f"write_{name}") for name, shape in (
            ("enable", 1), ("bank", bits_for(c.lmem_banks)), ("address", c.lmem_address_bits),
            ("data", entry_layout(c).size))}
        message, send = Signal(LogMessage(c, 0), reset_less=True), Signal()
        m.d.sync += [
            write["enable"].eq(down.commit), write["bank"].eq(down.commit_bank),
            write["address"].eq(down.commit_address), write["data"].eq(update.updated.as_value()),
            send.eq(down.commit & update.send | down.flush), message.offset.eq(down.commit_offset),
            message.label.eq(update.send_label), message.count.eq(Mux(down.flush, 0, update.send_count)),
        ]
        m.d.comb += [
            fifo.w_data.eq(message.as_value()), fifo.w_en.eq(send),
            self.log.payload.as_value().eq(fifo.r_data), self.log.valid.eq(fifo.r_rdy), fifo.r_en.eq(self.log.ready),
        ]
        m.d.sync += self.up.stall.eq(fifo.level > c.log_depth - c.log_reserve)
        return write

    def _bus(self, m: Module, s1mem: S1Mem, s2mem: S2Mem, lmem: LabelMemory, prefetch: Prefetch, spus: list[Spu],
             write: dict[str, Signal]) -> None:
        """Bus access while no label is in flight: one word a strobe, read data three cycles later."""
        c, bus, amap = self.config, self.down.bus, AddressMap(self.config)
        region = {r: Signal(name=f"at_{r.name.lower()}") for r in (Region.S1, Region.S2, Region.LMEM, Region.RANDOM,
                                                                   Region.VECTORS)}
        for r, here in region.items():
            m.d.comb += here.eq(bus.strobe & (bus.region == r))
        flag = bus.data[c.data_bits]
        m.d.comb += [
            s1mem.address.eq(Mux(region[Region.S1], bus.offset, self.down.s1_address)),
            s1mem.write.eq(region[Region.S1] & bus.write), s1mem.write_data.eq(Cat(bus.data[:c.data_bits], flag)),
            s2mem.bus_select.eq(region[Region.S2]), s2mem.write.eq(region[Region.S2] & bus.write),
            s2mem.bus_address.eq(bus.offset), s2mem.bus_bank.eq(bus.offset >> c.s2_address_bits),
            s2mem.bus_data.eq(Cat(bus.data[:c.data_bits], flag)),
            prefetch.vector_write.eq(region[Region.VECTORS] & bus.write), prefetch.vector_label.eq(bus.offset),
            prefetch.vector_data.u.eq(bus.data[:c.vector_bits]), prefetch.vector_data.v.eq(bus.data[16:16 + c.vector_bits]),
        ]
        lanes = Array([spu.random_word for spu in spus])
        for lane, spu in enumerate(spus):
            here = region[Region.RANDOM] & (bus.offset[:bits_for(c.spus)] == lane)
            m.d.comb += [spu.random_load.eq(here & bus.write), spu.random_rotate.eq(here & ~bus.write),
                         spu.random_data.eq(bus.data)]
        held, entry = Signal(entry_layout(c)), Signal(entry_layout(c))
        second, at_bank = bus.offset[0], bus.offset[1 + c.lmem_address_bits:]
        m.d.comb += [entry.eq(held), entry.mrp_label.eq(bus.data[LmemWord.LABEL:]), entry.exists.eq(bus.data[LmemWord.EXISTS]),
                     entry.clamped.eq(bus.data[LmemWord.CLAMPED]), entry.mrp_count.eq(bus.data[LmemWord.COUNT:])]
        store = Signal()
        m.d.comb += store.eq(region[Region.LMEM] & bus.write & ~second)
        with m.If(region[Region.LMEM] & bus.write):
            m.d.sync += [held.lrp_label.eq(Mux(second, bus.data[LmemWord.LABEL:LmemWord.LABEL + 8], 0)),
                         held.lrp_count.eq(Mux(second, bus.data[LmemWord.COUNT:], 0))]
        for bank in range(c.lmem_banks):
            m.d.comb += lmem.addresses[bank].eq(Mux(region[Region.LMEM], bus.offset[1:], self.down.lmem_address[bank]))
        m.d.comb += [
            lmem.write.eq(write["enable"] | store), lmem.write_bank.eq(Mux(store, at_bank, write["bank"])),
            lmem.write_address.eq(Mux(store, bus.offset[1:], write["address"])),
            lmem.write_data.as_value().eq(Mux(store, entry.as_value(), write["data"])),
        ]
        self._read(m, region, s1mem, s2mem, lmem, lanes)
        assert amap.offset_bits >= len(at_bank) + 1 + c.lmem_address_bits

    def _read(self, m: Module, region: dict[Region, Signal], s1mem: S1Mem, s2mem: S2Mem, lmem: LabelMemory,
              lanes: Array) -> None:
        """Read data: the memory's output one cycle after the strobe, registered twice, 0 at other times."""
        c, bus = self.config, self.down.bus
        at = {r: Signal(name=f"read_{r.name.lower()}") for r in region}
        second, bank, lane = Signal(), Signal(bits_for(c.lmem_banks)), Signal(bits_for(c.spus))
        for r, here in region.items():
            m.d.sync += at[r].eq(here & ~bus.write)
        m.d.sync += [lane.eq(bus.offset), second.eq(bus.offset[0]), bank.eq(bus.offset[1 + c.lmem_address_bits:])]
        entry = Signal(entry_layout(c), name="read_entry")
        m.d.comb += entry.eq(Array([lmem.entries[i].as_value() for i in range(c.lmem_banks)])[bank]
                             if c.lmem_banks > 1 else lmem.entries[0])
        word, out = Signal(32), Signal(32)
        pad = LmemWord.EXISTS - c.label_bits
        with m.If(at[Region.S1]):
            m.d.comb += word.eq(s1mem.word.as_value())
        with m.If(at[Region.S2]):
            m.d.comb += word.eq(s2mem.bus_word.as_value())
        with m.If(at[Region.RANDOM]):
            m.d.comb += word.eq(lanes[lane] if c.spus > 1 else lanes[0])
        with m.If(at[Region.LMEM] & ~second):
            m.d.comb += word.eq(Cat(entry.mrp_label, Signal(pad, name="pad_0"), entry.exists, entry.clamped,
                                    Signal(LmemWord.COUNT - LmemWord.CLAMPED - 1, name="pad_1"), entry.mrp_count))
        with m.If(at[Region.LMEM] & second):
            m.d.comb += word.eq(Cat(entry.lrp_label, Signal(LmemWord.COUNT - c.label_bits, name="pad_2"), entry.lrp_count))
        m.d.sync += [out.eq(word), self.up.data.eq(out)]


