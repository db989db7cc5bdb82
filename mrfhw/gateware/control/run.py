"""Layouts of the signals about a run between the scheduler, its parts and the register file."""

from __future__ import annotations

from amaranth.lib import data

from mrfhw.gateware.control.ops import modes
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.memory_words import written_group_fields
from mrfhw.machine.registers import register_bits

__all__ = ["GroupOfSites", "RunStatus", "TableWrites", "TileRow", "WrittenGroup", "problem_registers"]


def problem_registers(config: Config) -> data.StructLayout:
    """The registers that the scheduler reads, as in `mrfhw.machine.registers`."""
    return data.StructLayout({**register_bits(
        Derived.of(config), "slots", "tile_rows", "tile_groups", "label_stride", "label_wrap", "site_stride", "raster_stride",
        "overlap", "sweeps", "burn_in", "temperature", "temperature_mode", "temperature_ratio", "temperature_limit",
        "temperature_stride", "temperature_last", "s2_stride"), **modes(config).members})


class TableWrites(data.StructLayout):
    """A write to the label table or to the temperature table: strobes, word index in the table, word."""

    def __init__(self) -> None:
        super().__init__({"label": 1, "temperature": 1, "address": 12, "data": 32})


class RunStatus(data.StructLayout):
    """running: a run is drawing labels. A running cycle may be a slot with a label (`label_cycle`), lie between colours
    (`gap_cycle`), wait for a full log (`stall_cycle`), or be a slot without a label. busy: running, or the log is not yet empty.
    sweep: number of sweeps whose labels are all written.

    waiting: of a machine with several contexts, the run waits for another's to end. It is running and busy, and its cycles are not
    counted."""

    def __init__(self, contexts: int = 1) -> None:
        super().__init__({"running": 1, "busy": 1, "label_cycle": 1, "gap_cycle": 1, "stall_cycle": 1, "sweep": 32,
                          **({"waiting": 1} if contexts > 1 else {})})


class TileRow(data.StructLayout):
    """A local row and the addresses derived from it: LMem bases of it and of the rows above and below, S1Mem base, raster base;
    S2Mem base, in tiles that hold their reach."""

    def __init__(self, config: Config):
        c = Derived.of(config)
        several = {"second": c.s2_address_bits} if c.holds_reach else {}
        super().__init__({
            "row": bits_for(c.tile_rows), "up": c.lmem_address_bits, "here": c.lmem_address_bits,
            "down": c.lmem_address_bits, "site": c.site_address_bits, "raster": c.offset_bits, **several,
        })


class GroupOfSites(data.StructLayout):
    """S sites of a row and colour: `group` is the group's index in the row, `white` its colour.

    counted: after the burn-in. first_of_sweep, last_of_sweep: it is the first or last group of a sweep. wait_after: the next group
    is fetched only after all labels of this one are written. last_of_run: no group follows.
    """

    def __init__(self, config: Config):
        super().__init__({
            "row": TileRow(config), "group": Derived.of(config).group_bits, "white": 1, "counted": 1, "first_of_sweep": 1,
            "last_of_sweep": 1, "wait_after": 1, "last_of_run": 1,
        })


class WrittenGroup(data.StructLayout):
    """The fields of a group that its write-back needs."""

    def __init__(self, config: Config):
        super().__init__(written_group_fields(config))
