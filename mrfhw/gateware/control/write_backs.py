"""The groups in flight, and the slots of their write-backs."""

from __future__ import annotations

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import Queue
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.run import GroupOfSites, WrittenGroup
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import LatencyError
from mrfhw.machine.memory_words import due_bits

__all__ = ["GroupInFlight", "WriteBackSlot", "WriteBacks"]


class WriteBackSlot(data.StructLayout):
    """A slot in which a lane's label is written back."""

    def __init__(self, config: Config):
        super().__init__({"enable": 1, "lane": bits_for(config.spus), "group": WrittenGroup(config)})


class GroupInFlight(data.StructLayout):
    """A group whose labels are being drawn. due: the slot of its first write-back, modulo the width."""

    def __init__(self, config: Config):
        c = Derived.of(config)
        super().__init__({"due": due_bits(c), "group": WrittenGroup(c)})


class WriteBacks(wiring.Component):
    """Holds each group from its first label slot until its labels are drawn, then writes them back, one lane per slot.

    slots: of a site, constant during a run. enter, group: the first label slot of a group; its write-back begins
    `Derived.commit_delay(slots)` slots later. slot: the write-back of this slot.
    written: no group is in flight and the last write-back has been in LMem for a cycle (`Derived.drain_cycles`).
    sweep_written: a pulse in the cycle before the last label of a sweep can be read.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        settled, shortest = config.drain_cycles + 1, config.commit_delay(config.min_slots) + config.interval(config.min_slots)
        if settled > shortest:
            # A sweep is counted when its labels are written, at the latest before the last group of the next sweep is issued.
            raise LatencyError(f"scheduler is {config.latency.scheduler} and node_down is {config.latency.node_down}; a label "
                               f"is in LMem {settled} cycles after its write-back's slot, and sweeps are counted right up to "
                               f"{shortest}: declare fewer")
        super().__init__({
            "slots": In(config.label_bits + 1), "enter": In(1), "group": In(GroupOfSites(config)),
            "slot": Out(WriteBackSlot(config)), "written": Out(1), "sweep_written": Out(1),
        })
        # A write-back is due later than the queue's latency of two cycles after the group's first label.
        self.queue = Queue(GroupInFlight(config).size, config.commit_queue_depth, latency=2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, slot = self.config, self.slot
        # The delay is linear in the number of slots.
        base, slope = c.commit_delay(0), c.commit_delay(1) - c.commit_delay(0)
        layout = GroupInFlight(c)
        now = Signal(layout["due"].shape)
        delay = Signal(layout["due"].shape)
        self.now, self.delay = now, delay
        m.d.sync += [now.eq(now + 1), delay.eq(base + slope * self.slots)]

        m.submodules.in_flight = queue = self.queue
        oldest = data.View(layout, queue.r_data)
        entry = Signal(layout)
        m.d.comb += [entry.due.eq(now + delay), queue.w_data.eq(entry.as_value()), queue.w_en.eq(self.enter)]
        for field in ("group", "white", "counted", "last_of_sweep"):
            m.d.comb += entry.group[field].eq(self.group[field])
        for field in ("row", "here", "raster"):
            m.d.comb += entry.group[field].eq(self.group.row[field])

        self.lane = lane = Signal.like(slot.lane)
        self.under_way = under_way = Signal()
        last_lane = Signal()
        m.d.comb += [
            last_lane.eq(lane == c.spus - 1), slot.enable.eq(queue.r_rdy & (under_way | (oldest.due == now))), slot.lane.eq(lane),
            slot.group.eq(oldest.group), queue.r_en.eq(slot.enable & last_lane),
        ]
        with m.If(slot.enable):
            m.d.sync += [lane.eq(Mux(last_lane, 0, lane + 1)), under_way.eq(~last_lane)]

        self.left = left = Signal(range(c.drain_cycles + 1))
        with m.If(slot.enable):
            m.d.sync += left.eq(c.drain_cycles)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        m.d.comb += [
            self.written.eq((queue.level == 0) & (left == 0)),
            self.sweep_written.eq(delayed(m, queue.r_en & oldest.group.last_of_sweep, c.drain_cycles - 1, "sweep_written")),
        ]
        return m
