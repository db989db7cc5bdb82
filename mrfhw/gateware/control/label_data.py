"""The labels of a slot and their own data, from the label table."""

from __future__ import annotations

from amaranth import Cat, Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.label_table import UNUSED, at_context, label_table_ports, word_memory, written
from mrfhw.gateware.control.ops import vector
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import LabelWord, label_entry

__all__ = ["LabelData", "label_group", "label_latency"]


def label_group(config: Config) -> data.StructLayout:
    """The labels of a slot: the first one, and how many follow one another."""
    return data.StructLayout({name: field.bits for name, field in label_entry(Derived.of(config))[LabelWord.GROUP].items()})


def label_latency(config: Config) -> int:
    """Cycles of a `LabelData`. With one lane a slot is a label, and no table says which ones it has."""
    return config.latency.label_data + (config.latency.label_group if config.lanes > 1 else 0)


class LabelData(wiring.Component):
    """Looks up which labels the lanes have in a slot, their vectors and their singleton-2 constants.

    slot: its number. `latency` cycles later: label, of the first lane; vectors (where the machine has them), constants, of each
    lane's label; used, with several lanes, those that have a label. One slot a cycle.
    table_*: see `label_table_ports`.

    With one lane the label is the slot. With several, each lane has the labels' vectors in a memory of its own.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        several = config.lanes > 1
        self.latency = label_latency(config)
        super().__init__({
            "slot": In(config.label_bits), "label": Out(config.label_bits), **({"used": Out(config.lanes)} if several else {}),
            **({"vectors": Out(data.ArrayLayout(vector(config), config.lanes))} if config.vector_bits else {}),
            "constants": Out(data.ArrayLayout(config.datum_bits, config.lanes)),
            **label_table_ports(config),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, stages = self.config, self.config.latency
        first = self.slot
        if c.lanes > 1:
            fields = label_entry(c)[LabelWord.GROUP]
            value = Cat(self.table_data[:fields["first"].end], self.table_data[fields["count"].low:])
            read = word_memory(m, "groups", self, LabelWord.GROUP, label_group(c), value).read_port()
            m.d.comb += read.addr.eq(at_context(self, self.slot, c.max_labels))
            group = data.View(label_group(c), delayed(m, data.View(label_group(c), read.data).as_value(),
                                                      stages.label_group - 1, "group"))
            first = group.first
            used = Cat(lane < group.count for lane in range(c.lanes))
            m.d.comb += self.used.eq(delayed(m, used, stages.label_data, "used"))
        m.d.comb += self.label.eq(delayed(m, first, stages.label_data, "label"))
        self._constants(m)
        for lane in range(c.lanes if c.vector_bits else 0):
            name = f"_{lane}" if c.lanes > 1 else ""
            read = word_memory(m, f"table_{LabelWord.VECTOR}{name}", self, LabelWord.VECTOR, vector(c)).read_port()
            m.d.comb += [read.addr.eq(at_context(self, (first + lane)[:c.label_bits], c.max_labels)),
                         self.vectors[lane].eq(delayed(m, read.data, stages.label_data - 1, f"vector{name}"))]
        return m

    def _constants(self, m: Module) -> None:
        """Constants have no offsets, so their labels fill the slots: those of a slot stand side by side."""
        c, (label, enable), size = self.config, written(self, LabelWord.CONSTANT), self.config.max_labels >> self.config.lane_bits
        m.submodules[f"table_{LabelWord.CONSTANT}"] = memory = UnguardedMemory(
            shape=unsigned(c.lanes * c.datum_bits), depth=c.label_contexts * size, unused=UNUSED)
        write = memory.write_port(granularity=c.datum_bits if c.lanes > 1 else None)
        read = memory.read_port()
        lane = label[:c.lane_bits]
        m.d.comb += [
            write.addr.eq(at_context(self, label >> c.lane_bits, size, bus=True)),
            write.data.eq(self.table_data[:c.datum_bits].replicate(c.lanes)),
            write.en.eq(Cat(enable & (lane == n) for n in range(c.lanes)) if c.lanes > 1 else enable),
            read.addr.eq(at_context(self, self.slot, size)),
            self.constants.as_value().eq(delayed(m, read.data, self.latency - 1, "constant")),
        ]
