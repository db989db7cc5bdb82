"""The operation of the LMem port in each slot: the fetch of a neighbour, or the write-back of a label."""

from __future__ import annotations

from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import KINDS, Direction, LabelRead, NeighbourFetch, SiteRead, WriteBack
from mrfhw.gateware.control.run import GroupOfSites, problem_registers
from mrfhw.gateware.control.write_backs import WriteBackSlot
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["LabelMemoryOperations"]


class LabelMemoryOperations(wiring.Component):
    """Issues write-backs and, in the slots without a write-back, the fetches of the following group's neighbours.

    fetching, last_slot, following: the group whose neighbours are fetched; its S sites are fetched in turn, until all are fetched
    or until `last_slot`; with subsets, its site's own label after them. slot: the write-back of this slot. end: the run's end
    marker takes the place of a write-back.
    label_read, write_back, fetch, site: the operations; each leaves `Latency.scheduler` plus its own cycles after its slot.
    """

    STAGES = 2  # the operation, its addresses

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        config.latency.beyond("scheduler", self.STAGES, "the scheduler's LMem operations")
        super().__init__({
            "registers": In(problem_registers(config)), "fetching": In(1), "last_slot": In(1),
            "following": In(GroupOfSites(config)), "slot": In(WriteBackSlot(config)), "end": In(1),
            "label_read": Out(LabelRead(config)), "write_back": Out(WriteBack(config)), "fetch": Out(NeighbourFetch(config)),
            "site": Out(SiteRead(config)),
        })

    def _operation(self, m: Module) -> data.View:
        """The LMem port's operation in a slot and its site, one cycle later; a write-back has priority."""
        c = self.config
        one, lane_bits = c.lmem_banks == 1, (c.spus - 1).bit_length()
        fetched = Signal(range(c.fetch_slots + 1))
        fetch = Signal(name="fetch_slot")
        m.d.comb += fetch.eq(self.fetching & ~self.slot.enable & (fetched != c.fetch_slots - c.spus))
        with m.If(self.last_slot | ~self.fetching):
            m.d.sync += fetched.eq(0)
        with m.Elif(fetch):
            m.d.sync += fetched.eq(fetched + 1)
        # One bank: one neighbour per slot (up, down, left, right of each lane in turn). Four banks: all four of a lane per slot,
        # and with subsets the site itself in the slot after.
        kind = fetched[:2] if one or c.subset_slots else Signal(2, name="kind")
        lane = (fetched >> 2 if one else fetched)[:bits_for(c.spus)]
        group = Signal(GroupOfSites(c))
        written = self.slot.group
        m.d.comb += group.eq(self.following)
        with m.If(self.slot.enable):
            m.d.comb += [group.row.row[:len(written.row)].eq(written.row), group.row.here.eq(written.here),
                         group.row.raster.eq(written.raster), group.group.eq(written.group), group.white.eq(written.white),
                         group.counted.eq(written.counted)]
        operation = Signal(data.StructLayout({"fetch": 1, "write_back": 1, "end": 1, "kind": 2, "lane": bits_for(c.spus),
                                              "pair": bits_for(c.tile_cols // 2), "last_pair": 1, "group": GroupOfSites(c)}))
        op_lane = Mux(self.slot.enable, self.slot.lane, lane) if lane_bits else 0
        pair = Signal.like(operation.pair)
        m.d.comb += pair.eq((group.group << lane_bits) + op_lane)
        m.d.sync += [
            operation.fetch.eq(fetch), operation.write_back.eq(self.slot.enable), operation.end.eq(self.end),
            operation.kind.eq(kind), operation.lane.eq(op_lane), operation.group.eq(group), operation.pair.eq(pair),
            operation.last_pair.eq(pair + 1 == (self.registers.tile_groups << lane_bits)),
        ]
        return operation

    def _neighbour_indices(self, m: Module, op: data.View, odd: Value) -> tuple[list[Signal], Value]:
        """LMem index within the colour of each kind of neighbour, and which kinds lie in the next tile."""
        c = self.config
        row, pairs = op.group.row, self.registers.tile_groups << (c.spus - 1).bit_length()
        first_pair, half = op.pair == 0, c.lmem_banks == 4
        left = Mux(odd, op.pair, Mux(first_pair, pairs - 1, op.pair - 1))
        right = Mux(odd, Mux(op.last_pair, 0, op.pair + 1), op.pair)
        indices = [Signal(c.lmem_address_bits - 1, name=f"index_{k}") for k in KINDS]
        places = ((row.up, op.pair), (row.down, op.pair), (row.here, left), (row.here, right))
        for index, (base, at) in zip(indices, places, strict=True):
            m.d.comb += index.eq(base + (at >> half))
        cross = Cat(row.row == 0, row.row + 1 == self.registers.tile_rows, ~odd & first_pair, odd & op.last_pair)
        return indices, cross

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        one = c.lmem_banks == 1
        op = self._operation(m)
        row, white = op.group.row, op.group.white
        odd = row.row[0] ^ white
        kinds, cross = self._neighbour_indices(m, op, odd)

        # The bank function of Figure 3.7, of the site and of its upper and left neighbours.
        parity = op.pair[0] ^ (row.row >> 1)[0]
        own_bank, up_bank, left_bank = (Cat(parity, row.row[0]), Cat(parity ^ ~row.row[0], ~row.row[0]),
                                        Cat(parity ^ ~odd, row.row[0]))
        own = Signal(c.lmem_address_bits - 1)
        m.d.comb += own.eq(row.here + (op.pair >> (not one)))
        own_address = Cat(own, white)
        reads_own = op.fetch & (op.kind == 1) if c.subset_slots else Const(0)
        at_own = op.write_back | reads_own if c.subset_slots else op.write_back
        addresses = []
        for bank in range(c.lmem_banks):
            if one:
                fetched = Array(kinds)[op.kind]
            else:
                fetched = Mux(up_bank == bank, kinds[0], Mux(up_bank == bank ^ 1, kinds[1],
                                                             Mux(left_bank == bank, kinds[2], kinds[3])))
            addresses.append(Mux(at_own, own_address, Cat(fetched, ~white)))
        source = Array([Mux(cross[i], d, Direction.LOCAL) for i, d in enumerate(
            (Direction.UP, Direction.DOWN, Direction.LEFT, Direction.RIGHT))])[op.kind]
        self._emit(m, "label_read", address=Cat(*(address[:c.lmem_address_bits] for address in addresses)))
        self._emit(m, "write_back", enable=op.write_back, end=op.end, lane=op.lane, bank=0 if one else own_bank,
                   address=own_address, offset=row.raster + Cat(odd, op.pair), counted=op.group.counted)
        fetched_own = {"own": reads_own, "bank": own_bank} if c.subset_slots else {}
        self._emit(m, "fetch", enable=op.fetch & ~reads_own if c.subset_slots else op.fetch, source=source, up_bank=up_bank,
                   left_bank=left_bank, cross=cross, **fetched_own)
        self._emit(m, "site", enable=op.fetch & (op.kind == 0),
                   address=Cat((row.site + op.pair)[:c.site_address_bits - 1], white))
        return m

    def _emit(self, m: Module, name: str, **fields: Any) -> None:
        """The last stage, and the delay until the cycle in which the tile takes the operation."""
        port: data.View = getattr(self, name)
        layout: Any = port.shape()
        operation = Signal(layout, name=f"{name}_0")
        m.d.sync += [Value.cast(operation[field]).eq(value) for field, value in fields.items()]
        m.d.comb += port.eq(delayed(m, operation, self.config.latency.scheduler - self.STAGES + layout.cycle, name))
