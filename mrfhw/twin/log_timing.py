"""Cycles of a run: the scheduler's slots, and the log network where it is not empty.

The labels do not depend on time, but the log may fill and stall the machine. Only the number of
messages in each FIFO matters, so the network is stepped by its levels alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrfhw.field.problem import ProblemError
from mrfhw.field.state_check import WAY_OUT, Holds
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from mrfhw.system.numba_alone import njit

__all__ = ["LogTiming"]

# Indices of the integer state that the kernel carries from call to call.
_NOW, _STALLS, _HEAD, _COUNT, _WAITING = range(5)

# Of a packer.
_CHILD, _WAITS, _FILL = range(3)


@njit(nogil=True)
def _step_hub(hub: int, node: int, levels: np.ndarray, served: np.ndarray, first: np.ndarray, children: np.ndarray,
              given: np.ndarray, tiles: int, hub_depth: int) -> None:
    """A cycle of a hub, of messages or of lines, on its children's levels at the cycle's start."""
    full = levels[node] + given[node] == hub_depth
    given[node] = 0
    if full:
        return
    k = served[hub]
    for _ in range(children[hub, 1]):
        k = k + 1 if k + 1 < children[hub, 1] else 0
        if k < children[hub, 0] and levels[first[hub] + k] > 0:
            child = first[hub] + k
            levels[child] -= 1
            given[child] = 1 if child >= tiles else 0
            levels[node] += 1
            served[hub] = k
            break


@njit(nogil=True)
def _step_packer(packer: np.ndarray, node: int, levels: np.ndarray, given: np.ndarray, tiles: int, line_messages: int) -> int:
    """A cycle of a packer (child, whether a message waits, messages in the line), whose level is its output register.

    Returns by how many the messages and lines in it became fewer: 1 with a message that joins others, 0 with a line's last one.
    """
    was_full = levels[node] + given[node] > 0
    free = not was_full or given[node] > 0
    given[node] = 0
    joined = 0
    if packer[_WAITS]:
        ends = packer[_FILL] == line_messages - 1
        if not ends or free:
            packer[_WAITS] = 0
            packer[_FILL] = 0 if ends else packer[_FILL] + 1
            if ends:
                levels[node] = 1
            else:
                joined = 1
    if not packer[_WAITS] and levels[packer[_CHILD]] > 0:
        levels[packer[_CHILD]] -= 1
        given[packer[_CHILD]] = 1 if packer[_CHILD] >= tiles else 0
        packer[_WAITS] = 1
    return joined


@njit(nogil=True)
def _step_network(levels: np.ndarray, served: np.ndarray, first: np.ndarray, children: np.ndarray, given: np.ndarray,
                  packers: np.ndarray, sizes: np.ndarray) -> int:
    """One cycle of the hubs and packers, and of a log that is always taken, on the levels at its start.

    Nodes are numbered tiles first, then hubs of messages, packers (those below hubs of lines), hubs of lines; the root is the last.
    first, children: of each hub. From the root to the leaves: a node's children then still have the level of the cycle's start, and
    given (nodes,) says which nodes have not. All of `given` is 0 between calls. packers: see `_step_packer`. sizes: tiles, hubs of
    messages, messages of a line, depth of a hub. Returns by how many the messages and lines in the network became fewer.
    """
    tiles, message_hubs, line_messages, hub_depth = sizes
    root, first_packer = len(levels) - 1, tiles + message_hubs
    left = 1 if levels[root] > 0 else 0
    levels[root] -= left
    given[root] = left
    for hub in range(len(served) - 1, message_hubs - 1, -1):
        _step_hub(hub, tiles + len(packers) + hub, levels, served, first, children, given, tiles, hub_depth)
    for packer in range(len(packers)):
        left += _step_packer(packers[packer], first_packer + packer, levels, given, tiles, line_messages)
    for hub in range(message_hubs - 1, -1, -1):
        _step_hub(hub, tiles + hub, levels, served, first, children, given, tiles, hub_depth)
    given[root] = 0
    return left


@njit(nogil=True)
def _advance(until: int, proceed: bool, state: np.ndarray, levels: np.ndarray, served: np.ndarray, first: np.ndarray,
             children: np.ndarray, given: np.ndarray, stalled: np.ndarray, pending_cycle: np.ndarray, pending: np.ndarray,
             packers: np.ndarray, sizes: np.ndarray, limit: int, delay: int) -> int:
    """Step the network to cycle `until`; with `proceed`, on to the first cycle from there without a stall.

    stalled: ring of the tiles' wishes by cycle; one is seen `delay` cycles later. pending: ring of the
    groups whose messages are still to enter, from pending_cycle on, a lane a cycle. Returns that cycle.
    """
    slots, tiles, spus = pending.shape
    ring = len(stalled)
    now = state[_NOW]
    while now < until or proceed:
        if now >= until and not stalled[(now - delay) % ring]:
            break
        if now >= until:
            state[_STALLS] += 1
        head = state[_HEAD] % slots
        if state[_WAITING] == 0 and (state[_COUNT] == 0 or pending_cycle[head] > now):
            # The network is empty: advance to the next event.
            target = until if state[_COUNT] == 0 else min(until, pending_cycle[head])
            if target - now > ring:
                stalled[:] = False
                now = target
                continue
        wish = False
        if state[_WAITING] > limit:  # otherwise no tile's FIFO can be so full
            for tile in range(tiles):
                wish |= levels[tile] > limit
        stalled[now % ring] = wish
        if state[_WAITING] > 0:
            state[_WAITING] -= _step_network(levels, served, first, children, given, packers, sizes)
        if state[_COUNT] > 0:
            lane = now - pending_cycle[head]
            if lane >= 0:
                for tile in range(tiles):
                    if pending[head, tile, lane]:
                        levels[tile] += 1
                        state[_WAITING] += 1
                if lane == spus - 1:
                    state[_HEAD] += 1
                    state[_COUNT] -= 1
        now += 1
    state[_NOW] = now
    return now


@njit(nogil=True)
def _issue_groups(ready: int, interval: int, enters: int, events: np.ndarray, state: np.ndarray, levels: np.ndarray,
                  served: np.ndarray, first: np.ndarray, children: np.ndarray, given: np.ndarray, stalled: np.ndarray,
                  pending_cycle: np.ndarray, pending: np.ndarray, packers: np.ndarray, sizes: np.ndarray, limit: int,
                  delay: int) -> int:
    """Issue the groups of `events` (groups, tiles, units) from cycle `ready` on; returns the cycle of the last one.

    enters: cycles from a group's issue until its first lane's message enters the tile's FIFO.
    """
    slots, issue = len(pending_cycle), 0
    for group in range(len(events)):
        issue = 1 + _advance(ready, True, state, levels, served, first, children, given, stalled, pending_cycle, pending,
                             packers, sizes, limit, delay)
        if events[group].any():
            slot = (state[_HEAD] + state[_COUNT]) % slots
            pending_cycle[slot] = issue + enters
            pending[slot] = events[group]
            state[_COUNT] += 1
        ready = issue + interval - 1
    return issue


class LogTiming:
    """Cycle counts of a run with an always-ready log, equal to the hardware's counters.

    colour(events, any): one colour's groups, events (groups, tiles x units) uint8. pause(): the run ends before the next colour and
    is resumed, with an empty log. finish(): after the last. cycles, stall_cycles, gap_cycles: then.
    """

    def __init__(self, config: Config, placement: Placement):
        config = Derived.of(config)
        c = config
        site_slots = placement.slots
        self.config, self.overlap = c, placement.overlap
        self.interval, self.delay = c.interval(site_slots), c.commit_delay(site_slots)
        self.gap_cycles = 0
        self.cycles = 0
        self._issue = -1
        self._paused = False
        self._build_network(c)
        self._state = np.zeros(5, np.int64)
        self._seen_after = c.latency.stall_seen(c.tree_levels)
        self._enters = c.latency.logged(c.tree_levels)  # cycles from a write-back slot
        self._stalled = np.zeros(self._seen_after + 1, np.bool_)
        slots = c.commit_queue_depth + c.in_flight(site_slots, self._enters + c.spus) + 2
        self._pending_cycle = np.zeros(slots, np.int64)
        self._pending = np.zeros((slots, c.spes, c.spus), np.uint8)
        # Where a group's messages, were every unit to send one, are gone before the next group's come, no FIFO fills.
        # A hub of depth 1 takes a message every other cycle.
        gone = c.units * (1 if c.hub_depth > 1 else 2) + 2 * c.tree_levels + c.spus + 4
        self._never_stalls = gone <= self.interval and not c.line_levels

    def _build_network(self, c: Derived) -> None:
        """The nodes as `_step_network` numbers them."""
        first: list[int] = []
        children: list[tuple[int, int]] = []
        packers, message_hubs, width, start = np.zeros((0, 3), np.int64), 0, c.spes, 0
        for level in range(c.tree_levels):
            if level == c.message_levels:  # hubs of lines lie above
                packers = np.zeros((width, 3), np.int64)
                packers[:, _CHILD] = start + np.arange(width)
                start += width
            hubs = -(-width // c.hub_fan_in)
            for n in range(hubs):
                first.append(start + n * c.hub_fan_in)
                children.append((min(c.hub_fan_in, width - n * c.hub_fan_in), c.hub_fan_in))
            message_hubs += hubs if level < c.message_levels else 0
            start, width = start + width, hubs
        nodes = c.spes + len(first) + len(packers)
        self._levels = np.zeros(nodes, np.int64)
        self._given = np.zeros(nodes, np.int64)
        self._served = np.zeros(len(first), np.int64)
        self._first = np.array(first, np.int64)
        self._children = np.array(children, np.int64).reshape(-1, 2)
        self._packers = packers
        self._sizes = np.array([c.spes, message_hubs, c.line_messages, c.hub_depth], np.int64)

    @property
    def stall_cycles(self) -> int:
        return int(self._state[_STALLS])

    def state(self) -> dict[str, np.ndarray]:
        """All that the cycles to come depend on, as integers by name."""
        return {"clock": np.array([self.gap_cycles, self._issue], np.int64), "levels": self._levels.copy(),
                "served": self._served.copy(), "network": self._state.copy(), "stalled": self._stalled.copy(),
                "pending_cycle": self._pending_cycle.copy(), "pending": self._pending.copy(), "packers": self._packers.copy()}

    def holds(self) -> dict[str, Holds]:
        """What the arrays of `state` are."""
        c, slots = self.config, len(self._pending)
        return {"clock": Holds((2,), -1), "levels": Holds(self._levels.shape, 0, max(c.log_depth, c.hub_depth)),
                "served": Holds(self._served.shape, 0, c.hub_fan_in - 1), "network": Holds(self._state.shape),
                "stalled": Holds(self._stalled.shape, 0, 1), "pending_cycle": Holds((slots,)),
                "pending": Holds(self._pending.shape, 0, 1),
                "packers": Holds(self._packers.shape, 0, max(len(self._levels), c.line_messages))}

    def _check(self, state: Mapping[str, np.ndarray]) -> None:
        """Raises ProblemError where arrays that `holds` takes, one by one, do not go with each other: the loops index by them."""
        network, issue = state["network"], int(state["clock"][1])
        now, head, count = (int(network[at]) for at in (_NOW, _HEAD, _COUNT))
        c, slots = self.config, len(self._pending)
        ahead = state["pending_cycle"][(head + np.arange(min(count, slots))) % slots] - now
        sound = (
            count <= slots
            and issue - 1 <= now <= max(issue, 0)
            and network[_WAITING] <= c.units * slots + len(self._levels) * (c.log_depth + c.hub_depth)
            and bool(np.all((-c.spus < ahead) & (ahead <= self.delay + self._enters + slots * self.interval)))
            and np.array_equal(state["packers"][:, _CHILD], self._packers[:, _CHILD]))
        if not sound:
            raise ProblemError(f"the state of the log's network is none of this machine: {WAY_OUT}")

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from what `state` returned for the same machine and problem, whose arrays are as `holds` says. Raises
        ProblemError for what no run of it leaves."""
        self._check(state)
        self.gap_cycles, self._issue = map(int, state["clock"])
        for name, held in (("levels", self._levels), ("served", self._served), ("network", self._state), ("stalled", self._stalled),
                           ("pending_cycle", self._pending_cycle), ("pending", self._pending), ("packers", self._packers)):
            held[...] = state[name]

    def _begin(self, start: int) -> int:
        """A fetch without labels from cycle `start` on; returns the cycle in which the first group may be issued."""
        self.gap_cycles += self.interval
        return start + self.interval - 1

    def _drain(self) -> int:
        """The last cycle of waiting for the last group's write-back."""
        c = self.config
        end = max(self._issue + self.interval, self._issue + self.delay + c.spus + c.drain_cycles)
        self.gap_cycles += end - (self._issue + self.interval) + 1
        return end

    def colour(self, events: np.ndarray, any_sent: bool) -> None:
        """Issue the groups of one colour."""
        c = self.config
        if self._issue < 0:
            ready = self._begin(0)
        elif self.overlap and not self._paused:
            ready = self._issue + self.interval - 1
        else:
            ready = self._begin(self._drain() + 1)
        self._paused = False
        quiet = not any_sent and not self._state[_COUNT] and not self._state[_WAITING]
        if quiet or self._never_stalls:
            # Every group starts an interval after the last.
            self._state[_NOW] = ready
            self._stalled[:] = False
            self._issue = ready + 1 + (len(events) - 1) * self.interval
            self._state[_NOW] = self._issue
            return
        self._issue = _issue_groups(
            ready, self.interval, self.delay + self._enters, events.reshape(-1, c.spes, c.spus), self._state,
            self._levels, self._served, self._first, self._children, self._given, self._stalled, self._pending_cycle,
            self._pending, self._packers, self._sizes, c.log_depth - c.log_reserve, self._seen_after)

    def pause(self) -> None:
        """The pipeline runs empty, and the next colour starts as a run's first one does."""
        self._paused = True

    def finish(self) -> None:
        """End of the run: wait for the last write-back."""
        self.cycles = self._drain() + 1
