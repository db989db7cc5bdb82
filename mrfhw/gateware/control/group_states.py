"""When groups start: the states of a run."""

from __future__ import annotations

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["GroupStates"]


class GroupStates(wiring.Component):
    """State machine of a run: it starts each group's interval, and waits for the pipeline or the log where necessary.

    start, resume: pulses; they begin a run while idle. slots: of a site, constant during a run. stall: no new group starts.
    written: no label is on its way to LMem. wait_after, last_of_run: flags of the current group. log_done: the log is empty.
    done: while the neighbours are fetched alone, no sweep is left; the run ends without one.
    from_start: a run begins at sweep 0. issue: the cycle before a group's first slot. slot: number of the slot in the interval.
    fetching: the next group's neighbours may be fetched; fetch_alone: they are fetched while no label is in flight. labelling: this
    slot may have a label. first_slot, last_slot: the slot is the first or last of a group's interval; last_slot is also set at the
    end of a fetch alone. end: the run's end marker is due.
    running, busy, gap_cycle, stall_cycle: see RunStatus.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        slots = range(config.interval(config.max_labels))
        super().__init__({
            "start": In(1), "resume": In(1), "slots": In(config.label_bits + 1), "stall": In(1), "written": In(1),
            "wait_after": In(1), "last_of_run": In(1), "log_done": In(1), "done": In(1),
            "from_start": Out(1), "issue": Out(1), "slot": Out(slots), "fetching": Out(1), "fetch_alone": Out(1),
            "labelling": Out(1), "first_slot": Out(1), "last_slot": Out(1), "end": Out(1),
            "running": Out(1), "busy": Out(1), "gap_cycle": Out(1), "stall_cycle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.last = last = Signal.like(self.slot)
        least = self.config.interval(0)
        m.d.sync += last.eq(Mux(self.slots > least, self.slots - 1, least - 1))
        m.d.comb += self.last_slot.eq(self.slot == last)

        def proceed() -> None:
            """Start the next group, or wait for the log."""
            m.d.comb += self.issue.eq(~self.stall)
            m.next = "STALL"
            with m.If(~self.stall):
                m.next = "LABELS"

        with m.FSM(init="IDLE") as self.fsm:
            with m.State("IDLE"), m.If(self.start | self.resume):
                m.d.comb += self.from_start.eq(self.start)
                m.d.sync += self.slot.eq(0)
                m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += [self.gap_cycle.eq(1), self.running.eq(1), self.fetching.eq(1), self.fetch_alone.eq(1)]
                m.d.sync += self.slot.eq(self.slot + 1)
                with m.If(self.last_slot):
                    m.d.sync += self.slot.eq(0)
                    with m.If(self.done):
                        m.d.comb += self.end.eq(1)
                        m.next = "LOG"
                    with m.Else():
                        proceed()
            with m.State("LABELS"):
                m.d.comb += [self.running.eq(1), self.labelling.eq(1), self.first_slot.eq(self.slot == 0),
                             self.fetching.eq(~self.wait_after)]
                m.d.sync += self.slot.eq(self.slot + 1)
                with m.If(self.last_slot):
                    m.d.sync += self.slot.eq(0)
                    with m.If(self.wait_after):
                        m.next = "WRITE"
                    with m.Else():
                        proceed()
            with m.State("STALL"):
                m.d.comb += [self.running.eq(1), self.stall_cycle.eq(1)]
                proceed()
            with m.State("WRITE"):
                m.d.comb += [self.running.eq(1), self.gap_cycle.eq(1)]
                with m.If(self.written):
                    m.next = "FETCH"
                    with m.If(self.last_of_run):
                        m.d.comb += self.end.eq(1)
                        m.next = "LOG"
            with m.State("LOG"), m.If(self.log_done):
                m.next = "IDLE"
        m.d.comb += self.busy.eq(~self.fsm.ongoing("IDLE"))
        return m
