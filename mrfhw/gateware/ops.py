"""What the control tree carries to every tile in lockstep, and back.

Fields are emitted by the scheduler with the delay at which a tile needs them, so that tiles hold no
delay lines. Cycle 0 is the cycle in which a slot's addresses are at the tile's inputs.
"""

from __future__ import annotations

from enum import IntEnum

from amaranth import unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import Config, bits_for
from mrfhw.registers import AddressMap

__all__ = ["KINDS", "Direction", "LogMessage", "bus_layout", "downlink", "label_word", "neighbour", "parameters",
           "uplink", "vector"]

KINDS = ("up", "down", "left", "right")


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
    """A neighbour's label word with the label's vector."""
    return data.StructLayout({"word": label_word(config), "vector": vector(config)})


def datum(config: Config) -> data.StructLayout:
    """A singleton word: datum, and a flag (S1: observed; S2: inside the second image)."""
    return data.StructLayout({"value": config.data_bits, "flag": 1})


def parameters(config: Config) -> data.StructLayout:
    """Run-time parameters of the SPUs; `temperature` steps at its own time, the others hold during a run."""
    return data.StructLayout({
        "alpha": config.weight_bits, "beta": config.weight_bits, "tau": config.doubleton_bits,
        "shift": bits_for(config.shift_max + 1), "out_of_range": config.singleton_bits,
        "squared": 1, "constant": 1, "doubleton": 2, "temperature": config.temperature_bits,
    })


def bus_layout(config: Config) -> data.StructLayout:
    """A bus access on its way to a tile; `path` holds the digits of the tile's number still to be decoded."""
    amap = AddressMap(config)
    return data.StructLayout({
        "strobe": 1, "write": 1, "broadcast": 1, "path": max(1, amap.tile_bits), "region": amap.region_bits,
        "offset": amap.offset_bits, "data": 32,
    })


def downlink(config: Config) -> data.StructLayout:
    """Everything that a tile receives; see the comments for the cycle of each field."""
    return data.StructLayout({
        # cycle 0: S2 addresses of the banks from `rotate` on, and of those below it.
        "s2_first": config.s2_address_bits, "s2_second": config.s2_address_bits,
        "s2_rotate": bits_for(config.spus),
        # cycle 2: columns' direction, of the lanes served by the first address and by the second.
        "s2_left": 2, "s2_right": 2,
        # cycle 3: rows' direction.
        "s2_up": 1, "s2_down": 1,
        # cycle 3: the fetched neighbours become current.
        "swap": 1,
        # cycle 4: the label slot.
        "valid": 1, "first": 1, "last": 1, "label": config.label_bits, "vector": vector(config),
        "constant": config.data_bits,
        # cycle 0: LMem read address by bank, of a fetch or a write-back.
        "lmem_address": data.ArrayLayout(config.lmem_address_bits, config.lmem_banks),
        # cycle 1: write-back.
        "commit": 1, "commit_lane": bits_for(config.spus), "commit_bank": bits_for(config.lmem_banks),
        "commit_address": config.lmem_address_bits, "commit_offset": config.offset_bits, "commit_counted": 1,
        "flush": 1,
        # cycle 2: neighbour words. One bank: where the word comes from. Four: banks of `up` and `left`
        # and, by kind, whether the word crosses the tile's edge.
        "fetch": 1, "fetch_from": 3, "fetch_up_bank": 2, "fetch_left_bank": 2, "fetch_cross": 4,
        # cycle 2: S1Mem address; its word enters the chain with the neighbours' words of cycle 3.
        "s1_address": config.site_address_bits, "s1_fetch": 1,
        "parameters": parameters(config),
        "bus": bus_layout(config),
    })


def uplink(config: Config) -> data.StructLayout:
    """From the tiles: read data (0 from those not addressed), and the wish to stall."""
    return data.StructLayout({"data": unsigned(32), "stall": 1})


class LogMessage(data.StructLayout):
    """A message within the log network (Figure 3.9b): tile number, raster offset in the tile, label, count.

    A count of 0 marks the end of a run.
    """

    def __init__(self, config: Config, tile_bits: int):
        # A tile's own messages carry no number yet.
        number = {"tile": tile_bits} if tile_bits else {}
        super().__init__({"count": config.counter_bits, "label": config.label_bits, "offset": config.offset_bits, **number})


class LogStream(wiring.Signature):
    """Ready/valid stream of LogMessage."""

    def __init__(self, config: Config, tile_bits: int):
        super().__init__({"payload": Out(LogMessage(config, tile_bits)), "valid": Out(1), "ready": In(1)})
