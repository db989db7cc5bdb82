"""Layouts of the words that the control tree carries to all tiles and back. All tiles work in lockstep.

The scheduler emits each `Operation` with the delay at which a tile needs it, so that tiles have no delay lines.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from amaranth import unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.bits import bits_for, of_channel
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import register_bits
from mrfhw.machine.words import EDGES, log_message

__all__ = ["KINDS", "LABEL_MEMORY", "Direction", "LabelRead", "LabelSlot", "LogMessage", "LogStream", "NeighbourFetch",
           "NeighbourSwap", "Operation", "SingletonColumns", "SingletonRead", "SingletonRows", "SitePlace", "SiteRead",
           "SlotStrobe", "WriteBack", "bus_layout", "datum", "downlink", "edges", "label_word", "modes", "neighbour",
           "operations", "parameters", "site", "uplink", "vector"]

KINDS = EDGES  # of neighbours


class Direction(IntEnum):
    """Where a neighbour's word comes from."""

    LOCAL = 0
    UP = 1
    DOWN = 2
    LEFT = 3
    RIGHT = 4


def vector(config: Config) -> data.StructLayout:
    """A label's 2-D vector; signed components."""
    from amaranth import signed

    return data.StructLayout({"u": signed(config.vector_bits), "v": signed(config.vector_bits)})


def label_word(config: Config) -> data.StructLayout:
    """What a neighbour reads of a site: its label, and whether it is a site of the image."""
    return data.StructLayout({"label": config.label_bits, "exists": 1})


def neighbour(config: Config) -> data.StructLayout:
    """A neighbour's label word, with the label's vector where a machine has vectors."""
    return data.StructLayout({"word": label_word(config), **({"vector": vector(config)} if config.vector_bits else {})})


def datum(config: Config) -> data.StructLayout:
    """A singleton word: datum, its channels side by side, and a flag (S1: observed; S2: inside the second image)."""
    return data.StructLayout({"value": Derived.of(config).datum_bits, "flag": 1})


def edges(config: Config) -> data.ArrayLayout:
    """The weights of a site's edges, by `KINDS`."""
    return data.ArrayLayout(config.edge_bits, len(KINDS))


def site(config: Config) -> data.StructLayout:
    """What is fetched of a site that is drawn: its singleton 1, and the weights of its edges where a machine has them."""
    return data.StructLayout({"datum": datum(config), **({"edges": edges(config)} if config.edge_bits else {})})


def parameters(config: Config) -> data.StructLayout:
    """Run-time parameters of the tiles; `temperature` changes from sweep to sweep, the others are constant during a run. context:
    the one that runs, of several."""
    c = Derived.of(config)
    channels = [of_channel(name, number) for number in range(len(c.channel_bits))
                for name in (("alpha", "squared", "singleton_max") if number else ("singleton_max",))]
    widths = register_bits(c, "alpha", "beta", "tau", "doubleton", "energy_shift", "out_of_range", "squared", "constant", "sums",
                           "temperature", *channels, "hamming", *(["unary"] if c.subset_slots else []))
    named = {"shift" if name == "energy_shift" else name: bits for name, bits in widths.items()}
    return data.StructLayout({**named, **_context(c)})


def _context(config: Config) -> dict[str, int]:
    """The number of a context, where a machine has several."""
    return {"context": bits_for(config.contexts)} if config.contexts > 1 else {}


def modes(config: Config) -> data.StructLayout:
    """Fields of the mode register that the scheduler reads: how S2Mem's words lie in tiles that hold their reach."""
    return data.StructLayout(register_bits(Derived.of(config), "mirrored", "unary"))


def bus_layout(config: Config) -> data.StructLayout:
    """A bus access on its way to a tile; `path` holds those digits of the tile's number that are not decoded yet. context: whose
    memories and generators it is for, of several."""
    amap = AddressMap(config)
    return data.StructLayout({
        "strobe": 1, "write": 1, "broadcast": 1, "path": max(1, amap.tile_bits), "region": amap.region_bits,
        "offset": amap.offset_bits, "data": 32, **_context(config),
    })


class Operation(data.StructLayout):
    """Fields that a tile takes together, in cycle `cycle` of their slot (`mrfhw.machine.latency`).

    The other fields are valid if the field `enable` is set; an operation without `enable` is valid together with one that has it.
    """

    def __init__(self, cycle: int, members: dict[str, Any]):
        self.cycle = cycle
        super().__init__(members)


class SingletonRead(Operation):
    """S2Mem addresses: `first` of the banks from `rotate` on, `second` of those below it."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.singleton_cycle, {
            "first": config.s2_address_bits, "second": config.s2_address_bits, "rotate": bits_for(config.s2_banks)})


class SingletonColumns(Operation):
    """Column direction of the lanes' singleton-2 words: `left` of lanes with the first address, `right` of those with the second.

    Bit 1: from the western tile. Bit 0: from the eastern tile.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.columns_cycle, {"left": 2, "right": 2})


class SingletonRows(Operation):
    """Row direction of the lanes' singleton-2 words: from the northern or the southern tile."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.rows_cycle, {"up": 1, "down": 1})


class NeighbourSwap(Operation):
    """The fetched neighbours become current."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.swap_cycle, {"enable": 1})


class LabelSlot(Operation):
    """Labels for the SPUs, one a lane: `label`, label + 1 and so on; first, last: they are the first or last of the sites.

    vectors, constants: of each lane's label. Machines with several lanes: used, the lanes that have a label, from the first on;
    slot, the slot's number.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        more: dict[str, Any] = {"used": config.lanes, "slot": config.label_bits} if config.lanes > 1 else {}
        if config.vector_bits:
            more["vectors"] = data.ArrayLayout(vector(config), config.lanes)
        super().__init__(config.latency.label_cycle, {
            "enable": 1, "first": 1, "last": 1, "label": config.label_bits,
            "constants": data.ArrayLayout(config.datum_bits, config.lanes), **more})


class SlotStrobe(Operation):
    """Labels for the SPUs, of machines whose tiles choose the slots: first, last: they are the first or last of the site."""

    def __init__(self, config: Config):
        super().__init__(Derived.of(config).latency.label_cycle, {"enable": 1, "first": 1, "last": 1})


class SitePlace(Operation):
    """Where the singleton-2 words of the site lie whose slots are chosen: its group in the row and parity of its column, both from
    the right where words are mirrored, and the address of its row's first word."""

    def __init__(self, config: Config):
        c = Derived.of(config)
        super().__init__(c.latency.slot_cycle, {"group": bits_for(c.tile_cols // (2 * c.spus) + 1), "odd": 1,
                                                "base": c.s2_address_bits})


class LabelRead(Operation):
    """LMem read address of each bank, for a fetch or a write-back."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.lmem_cycle, {
            "address": data.ArrayLayout(config.lmem_address_bits, config.lmem_banks)})


class WriteBack(Operation):
    """A lane's label is written into the entry that was read. offset: raster offset of the site in the tile's part of the image.

    end: instead of a label, the end marker of the run is sent to the log.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.write_back_cycle, {
            "enable": 1, "end": 1, "lane": bits_for(config.spus), "bank": bits_for(config.lmem_banks),
            "address": config.lmem_address_bits, "offset": config.offset_bits, "counted": 1})


class NeighbourFetch(Operation):
    """Neighbour words. One bank: `source` is a `Direction`. Four banks: the banks of the upper and the left neighbour and, for each
    kind of neighbour, whether its word comes from the next tile. own: with subsets, the site's own word is read, of a bank."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.fetch_cycle, {
            "enable": 1, "source": 3, "up_bank": 2, "left_bank": 2, "cross": 4,
            **({"own": 1, "bank": bits_for(config.lmem_banks)} if config.subset_slots else {})})


class SiteRead(Operation):
    """S1Mem address of a site of the group whose data are fetched."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        super().__init__(config.latency.s1_cycle, {"enable": 1, "address": config.site_address_bits})


LABEL_MEMORY = ("label_read", "write_back", "fetch", "site")  # operations that are issued with the label memory's


def operations(config: Config) -> dict[str, Operation]:
    """The scheduler's operations, by their names in `downlink`."""
    directions = {} if Derived.of(config).holds_reach else {"columns": SingletonColumns(config), "rows": SingletonRows(config)}
    slots: dict[str, Operation] = ({"place": SitePlace(config)} if config.subset_slots
                                   else {"singleton": SingletonRead(config), **directions})
    return {
        **slots, "swap": NeighbourSwap(config),
        "label": SlotStrobe(config) if config.subset_slots else LabelSlot(config), "label_read": LabelRead(config),
        "write_back": WriteBack(config), "fetch": NeighbourFetch(config), "site": SiteRead(config),
    }


def downlink(config: Config) -> data.StructLayout:
    """Everything that a tile receives: operations, parameters, bus."""
    return data.StructLayout({**operations(config), "parameters": parameters(config), "bus": bus_layout(config)})


def uplink(config: Config) -> data.StructLayout:
    """From the tiles: read data (0 from tiles that are not addressed), and the stall request."""
    return data.StructLayout({"data": unsigned(32), "stall": 1})


class LogMessage(data.StructLayout):
    """A message within the log network (Figure 3.9b): tile number, raster offset in the tile, label, count.

    A count of 0 marks the end of a run.
    """

    def __init__(self, config: Config, tile_bits: int):
        # Messages within a tile carry no tile number; the hubs add it.
        config = Derived.of(config)
        number, fields = {"tile": tile_bits} if tile_bits else {}, log_message(config)
        super().__init__({**{name: fields[name].bits for name in ("count", "label")}, "offset": config.offset_bits, **number})


class LogStream(wiring.Signature):
    """Ready/valid stream of LogMessage. ends: the message marks the end of a run, its count is 0."""

    def __init__(self, config: Config, tile_bits: int):
        super().__init__({"payload": Out(LogMessage(config, tile_bits)), "ends": Out(1), "valid": Out(1), "ready": In(1)})
