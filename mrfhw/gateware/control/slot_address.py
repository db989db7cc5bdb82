"""What the two ways of finding a label slot's singleton-2 words have in common: their stages, and the slots' table."""

from __future__ import annotations

from typing import Any

from amaranth import Module, ShapeLike, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.label_table import at_context, label_table_ports, word_memory
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["SlotAddress"]


class SlotAddress(wiring.Component):
    """Addresses of the singleton-2 words of a group of sites and a slot; `latency` cycles, one slot a cycle.

    slot, group, odd: the slot's number, the group in its row, parity of its columns. groups: groups a row.
    first, second, rotate: see S2Mem.
    table_*: see `label_table_ports`.
    """

    STAGES = 3  # table, sums, addresses; and one more behind the table, if there is one

    def __init__(self, config: Config, more: dict[str, Member]):
        """more: the ports that one of the two has alone."""
        self.config = config = Derived.of(config)
        where, part = (("slot_address", "a tile's way to singleton-2 addresses") if config.subset_slots
                       else ("scheduler", "the scheduler's singleton-2 addresses"))
        self._more = min(1, config.latency.beyond(where, self.STAGES, part))
        self.latency = self.STAGES + self._more
        self.group_bits = Derived.of(config).group_bits
        super().__init__({
            "slot": In(config.label_bits), "group": In(self.group_bits), "odd": In(1), "groups": In(self.group_bits),
            "first": Out(config.s2_address_bits), "second": Out(config.s2_address_bits), "rotate": Out(bits_for(config.s2_banks)),
            **more, **label_table_ports(config),
        })

    def _table(self, m: Module, word: int, shape: ShapeLike, value: Value) -> Any:
        """The output of a word's memory for a slot. value: what a write of the word puts there."""
        read = word_memory(m, f"table_{word}", self, word, shape, value).read_port()
        m.d.comb += read.addr.eq(at_context(self, self.slot, self.config.max_labels))
        return delayed(m, read.data, self._more, f"table_{word}", reset_less=True)
