"""GroupStates and WriteBacks together: the groups of a run, from their first label to the last write-back."""

from __future__ import annotations

from functools import partial

from amaranth import Module, Mux, Signal
from amaranth.hdl import Assert
from amaranth.lib import data

from mrfhw.gateware.control.group_states import GroupStates
from mrfhw.gateware.control.write_backs import GroupInFlight, WriteBacks
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from sim.proofs.engine import Proof, opened
from sim.proofs.queues import Moved, counts

__all__ = ["groups_proof"]


def groups_proof(config: Config, slots: int) -> Proof:
    """Of a machine's sites with so many slots. The flags of a group may be any in each cycle."""
    c = Derived.of(config)
    return Proof(f"groups of {slots} slots and {c.spus} sites, {c.interval(slots)} cycles apart and written after "
                 f"{c.commit_delay(slots)}, {c.commit_queue_depth} in flight, {GroupInFlight(c).size} bits",
                 "each group is written back when it is due and not before; there is room for each; a run's end comes when all "
                 "is written", partial(_groups, c, slots))


def _groups(config: Derived, slots: int) -> tuple[Module, list[Signal]]:
    m, states, back = Module(), GroupStates(config), WriteBacks(config)
    # Its own is proven at the same sizes.
    back.queue = queue = Moved(back.queue)
    m.submodules.states, m.submodules.back = opened(states), opened(back)
    interval, delay = config.interval(slots), config.commit_delay(slots)
    group = Signal(len(back.group.as_value()), name="group")
    m.d.comb += [states.slots.eq(slots), back.slots.eq(slots), states.written.eq(back.written),
                 back.enter.eq(states.first_slot), back.group.as_value().eq(group)]
    after = Signal(name="after_first")
    m.d.sync += after.eq(1)
    # Both take the number of slots through a register.
    m.d.comb += [Assert(Mux(after, states.last == interval - 1, ~states.busy), "the interval is known when a run begins"),
                 Assert((back.delay == delay) | ~after, "the delay is known")]
    since = _spaced(m, states, interval, delay + config.spus + interval)
    _written(m, config, back, since, interval, delay)
    counts(m, queue)
    m.d.comb += [Assert(back.queue.w_rdy | ~back.queue.w_en, "there is room for each group"),
                 Assert(~states.end | back.written, "a run's end is due when all is written"),
                 Assert(~states.issue | ~states.stall, "no group is issued while the log is full")]
    return m, [states.start, states.resume, states.stall, states.wait_after, states.last_of_run, states.log_done, states.done,
               group]


def _spaced(m: Module, states: GroupStates, interval: int, most: int) -> Signal:
    """Groups begin an interval apart, or more. Returns the cycles since the last one began, `most` and more as `most`."""
    since, fsm = Signal(range(most + 1), init=most, name="since"), states.fsm
    with m.If(states.first_slot):
        m.d.sync += since.eq(1)
    with m.Elif(since != most):
        m.d.sync += since.eq(since + 1)
    m.d.comb += [Assert(states.slot < interval, "slots are those of the interval"),
                 Assert(~states.first_slot | (since >= interval), "groups are an interval apart"),
                 Assert((since >= 1) & (since <= most), "since the last one")]
    with m.If(fsm.ongoing("LABELS")):
        m.d.comb += Assert(Mux(states.slot == 0, since >= interval, since == states.slot), "a group's slots follow its first")
    with m.If(fsm.ongoing("STALL") | fsm.ongoing("WRITE")):
        m.d.comb += Assert((states.slot == 0) & (since >= interval), "a group that waits begins after the one before")
    with m.If(fsm.ongoing("FETCH") | fsm.ongoing("LOG") | fsm.ongoing("IDLE")):
        m.d.comb += Assert(states.written & (since >= interval), "no group is in flight")
    return since


def _written(m: Module, config: Derived, back: WriteBacks, since: Signal, interval: int, delay: int) -> None:
    """The queue's words are those of the groups that are not written, by their age, and due in their order."""
    queue, lanes, layout, drain = back.queue, config.spus, GroupInFlight(config), config.drain_cycles
    put, get, level = back.enter & queue.w_rdy, queue.r_en & queue.r_rdy, queue.level
    # Cycles since a group's first slot, the oldest first.
    ages = [Signal(range(delay + lanes + 1), name=f"age_{n}") for n in range(queue.depth)]
    for n, age in enumerate(ages):
        older = ages[n + 1] if n + 1 < len(ages) else age
        with m.If(put & (level == n + get)):
            m.d.sync += age.eq(1)
        with m.Elif(level > n):
            m.d.sync += age.eq(Mux(get, older, age) + 1)
        with m.If(level > n):
            due = data.View(layout, queue.words[n]).due
            m.d.comb += [Assert(due == (back.now + delay - age)[:len(back.now)], "each has its time"),
                         Assert((age >= 1) & (age < delay + lanes), "none is late")]
        with m.If(level == n + 1):
            m.d.comb += Assert(age == since, "the youngest one began last")
        with m.If(level > n + 1):
            m.d.comb += Assert(age >= older + interval, "groups are an interval apart")
    due = (level > 0) & (ages[0] >= delay)
    m.d.comb += [Assert(back.slot.enable == due, "a write-back comes when it is due and at no other time"),
                 Assert(~due | (back.slot.lane == ages[0] - delay), "a lane a slot"),
                 Assert(back.under_way == (due & (ages[0] > delay)), "lanes follow one another"),
                 Assert(back.under_way | (back.lane == 0), "from the first"),
                 Assert(back.lane < lanes, "of the group's lanes"),
                 Assert(back.left <= drain, "the last write-back settles")]
    settled = Signal(range(drain + 1), init=drain, name="settled")  # cycles since the last write-back
    with m.If(back.slot.enable):
        m.d.sync += settled.eq(0)
    with m.Elif(settled != drain):
        m.d.sync += settled.eq(settled + 1)
    m.d.comb += [Assert(back.left + settled == drain, "cycles since the last write-back are counted"),
                 Assert(~back.written | ((level == 0) & (settled == drain)), "all is written when it is said")]
