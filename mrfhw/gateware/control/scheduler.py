"""The scheduler: black and white colours, groups of S sites, labels, write-backs (Section 3.3.3)."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.control.group_states import GroupStates
from mrfhw.gateware.control.label_memory_operations import LabelMemoryOperations
from mrfhw.gateware.control.label_slots import LabelSlots
from mrfhw.gateware.control.ops import LABEL_MEMORY, downlink, operations
from mrfhw.gateware.control.row_pointer import RowPointer
from mrfhw.gateware.control.run import GroupOfSites, RunStatus, TableWrites, problem_registers
from mrfhw.gateware.control.temperature import SweepTemperature
from mrfhw.gateware.control.write_backs import WriteBacks
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["Scheduler"]


class Scheduler(wiring.Component):
    """Emits the operations of all tiles, which work in lockstep; one scheduler serves the whole mesh.

    start, resume, stop: pulses. start begins at sweep 0, resume at the sweep reached; both run until
    `registers.sweeps` sweeps are done, at once where none is left; stop ends the run after the sweep under way.
    registers: constant during a run. tables: see SingletonAddress, TemperatureSchedule.
    down: all operations, and of `parameters` only `temperature`; `bus` and the other parameters are not driven here.
    stall: from the tiles; no new group starts while it is set.
    log_done: the log has been emptied after the end marker.

    Time is divided into slots of one cycle. A group of S sites of a row takes `Derived.interval` slots:
    its labels, one a lane and slot, beside the fetch of the next group's neighbours and the write-back of an
    earlier group, which comes `Derived.commit_delay` slots after the group's first label and has
    the LMem port before the fetch. A colour starts one row below the last one; it starts at once
    where `registers.overlap` says that the rows it reads have been written, else when they have.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        super().__init__({
            "start": In(1), "resume": In(1), "stop": In(1), "registers": In(problem_registers(config)), "tables": In(TableWrites()),
            "down": Out(downlink(config)), "stall": In(1), "log_done": In(1), "status": Out(RunStatus()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, r = self.config, self.registers
        m.submodules.states = states = GroupStates(c)
        m.submodules.pointer = pointer = RowPointer(c)
        m.submodules.write_backs = write_backs = WriteBacks(c)
        m.submodules.label_memory = label_memory = LabelMemoryOperations(c)
        m.submodules.label_slots = label_slots = LabelSlots(c)
        m.submodules.temperature = temperature = SweepTemperature(c)
        group = Signal(GroupOfSites(c))  # the current group
        with m.If(states.issue):
            m.d.sync += group.eq(pointer.following)
        m.d.comb += [
            states.start.eq(self.start), states.resume.eq(self.resume), states.slots.eq(r.slots), states.stall.eq(self.stall),
            states.written.eq(write_backs.written), states.wait_after.eq(group.wait_after),
            states.last_of_run.eq(group.last_of_run), states.log_done.eq(self.log_done),
            pointer.registers.eq(r), pointer.start.eq(states.from_start), pointer.go.eq(self.start | self.resume),
            pointer.stop.eq(self.stop), pointer.issue.eq(states.issue), pointer.fetch_alone.eq(states.fetch_alone),
            pointer.sweep_written.eq(write_backs.sweep_written), states.done.eq(pointer.done),
            write_backs.slots.eq(r.slots), write_backs.enter.eq(states.first_slot), write_backs.group.eq(group),
            label_memory.registers.eq(r), label_memory.fetching.eq(states.fetching), label_memory.last_slot.eq(states.last_slot),
            label_memory.following.eq(pointer.following), label_memory.slot.eq(write_backs.slot), label_memory.end.eq(states.end),
            label_slots.registers.eq(r), label_slots.labelling.eq(states.labelling), label_slots.slot.eq(states.slot),
            label_slots.group.eq(group), label_slots.tables.eq(self.tables),
            temperature.registers.eq(r), temperature.load.eq(states.from_start), temperature.tables.eq(self.tables),
            temperature.sweep.eq(states.first_slot & group.first_of_sweep), self.down.parameters.temperature.eq(temperature.value),
            self.status.running.eq(states.running), self.status.busy.eq(states.busy), self.status.gap_cycle.eq(states.gap_cycle),
            self.status.stall_cycle.eq(states.stall_cycle), self.status.label_cycle.eq(label_slots.label_cycle),
            self.status.sweep.eq(pointer.sweep),
        ]
        m.d.comb += [self.down[name].eq(getattr(label_memory if name in LABEL_MEMORY else label_slots, name))
                     for name in operations(c)]
        return m
