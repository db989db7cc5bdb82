"""The label table: the ports by which a part of the machine is told its words, and the memory of a word."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, ShapeLike, Value
from amaranth.lib.wiring import In, Member

from mrfhw.gateware.common.contexts import context_ports
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import LABEL_TABLE_WORDS
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["UNUSED", "at_context", "join_label_table", "label_table_ports", "word_memory", "written"]

UNUSED = "a table is written while its problem does not run"


def label_table_ports(config: Config) -> dict[str, Member]:
    """table_*: writes of the label table, `LABEL_TABLE_WORDS` words an entry (`mrfhw.machine.words.LabelWord`).

    Those of a tile with several contexts have their ports as well, and in each memory an entry for each context.
    """
    return {"table_write": In(1), "table_address": In(AddressMap(config).label_table_bits), "table_data": In(32),
            **context_ports(Derived.of(config).label_contexts)}


def join_label_table(m: Module, part: Any, write: Value, address: Value, word: Value) -> None:
    """Connect a part's `label_table_ports`."""
    m.d.comb += [part.table_write.eq(write), part.table_address.eq(address), part.table_data.eq(word)]


def written(part: Any, word: int) -> tuple[Value, Value]:
    """(entry, strobe) of a write to `word` of an entry, by the ports of `part`."""
    word_bits = bits_for(LABEL_TABLE_WORDS)
    return part.table_address >> word_bits, part.table_write & (part.table_address[:word_bits] == word)


def at_context(part: Any, entry: Value, size: int, bus: bool = False) -> Value:
    """Address of a context's entry in a memory that has `size` entries for each: of the one that runs, or that the bus writes."""
    if Derived.of(part.config).label_contexts == 1:
        return entry
    return entry[:bits_for(size)] + Mux(part.bus_context if bus else part.context, size, 0)


def word_memory(m: Module, name: str, part: Any, word: int, shape: ShapeLike, value: Value | None = None,
                depth: int | None = None) -> UnguardedMemory:
    """The memory of `word`, with its write port: submodule `name` of m.

    value: what a write puts there; table_data where it is left out. depth: entries that are kept; all where it is left out.
    """
    entry, here = written(part, word)
    if depth is not None:
        here &= entry < depth
    size, contexts = depth or part.config.max_labels, Derived.of(part.config).label_contexts
    m.submodules[name] = memory = UnguardedMemory(shape=shape, depth=contexts * size, unused=UNUSED)
    write = memory.write_port()
    m.d.comb += [write.addr.eq(at_context(part, entry, size, bus=True)),
                 Value.cast(write.data).eq(part.table_data if value is None else value), write.en.eq(here)]
    return memory
