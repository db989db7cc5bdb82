"""The bit-exact model of a configured machine: labels, LMem, log messages and cycles."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result, histogram
from mrfhw.field.state import RunState
from mrfhw.field.state_check import Stands, check_generators, check_state
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.entry_sums import entries_of_sums, most_of_entries, sums_of_entries
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement, place
from mrfhw.placement.temperature import coefficient, coefficients
from mrfhw.samplers.chain import Observe, advance
from mrfhw.samplers.data import doubles, edges, energy_bound, singles
from mrfhw.samplers.random import lane_states
from mrfhw.samplers.sites_kernel import CLAMPED, EXISTS, fill_flags
from mrfhw.system.large_arrays import zeros
from mrfhw.system.progress import compiling
from mrfhw.system.threads import in_shares, threads_of
from mrfhw.twin.kernel import BLOCK, fill_noise, fill_weights, sweep_cdf, sweep_race, sweep_subsets
from mrfhw.twin.log_timing import LogTiming

__all__ = ["Machine", "complete", "outcome", "solve"]

# Generators that a thread steps at once, side by side for a race; cdf gains nothing from many.
_WIDTH = {"race": BLOCK, "cdf": 4}
_KEPT = 1 << 24  # messages that are kept; a run with more keeps only their histogram
_WORTH_A_THREAD = 200_000  # label evaluations of a colour; fewer take less time than to hand them over


def _width(config: Derived) -> int:
    """Units that a thread processes at once."""
    if config.subset_slots:
        return 1
    return min(_WIDTH[config.sampler.name] // config.unit_generators, config.units)


@dataclass(frozen=True)
class Tables:
    """Data of a placed problem for the sweeps, in the types and the order of the compiled loops (`mrfhw.twin.kernel`).

    wide: whether energies have 32 bits, not 16. sites, singles, doubles, edges, flags: as `sweep_cdf` takes them.
    """

    wide: bool
    sites: np.ndarray
    singles: np.ndarray
    doubles: np.ndarray
    edges: np.ndarray
    flags: np.ndarray

    @classmethod
    def of(cls, placement: Placement, wide: bool) -> Tables:
        """The tables of a placement: made at the first call, and kept with it if they fit its room. wide: 32 bits are required."""
        kept = placement.derived.get("tables")
        if isinstance(kept, cls) and kept.wide >= wide:
            return kept
        made = cls._made(placement, wide)
        if sum(array.nbytes for array in (made.sites, made.singles, made.doubles, made.edges, made.flags)) <= placement.room:
            placement.derived["tables"] = made
        return made

    @classmethod
    def _made(cls, placement: Placement, wide: bool) -> Tables:
        problem, order = placement.problem, placement.order
        sites = order.table(_width(placement.config))
        flags = (EXISTS * placement.exists + CLAMPED * placement.clamped).astype(np.uint8)
        energy_type = np.int32 if wide else np.int16
        with compiling("load", wide):
            fill_flags(flags, *problem.shape)
            loaded = singles(problem, sites, order.columns, energy_type)
        weights = edges(problem)
        if weights.size:
            weights = np.stack([placement.pad(weights[..., side]) for side in range(weights.shape[-1])], -1)
        return cls(wide, sites, loaded, doubles(problem, energy_type), weights.reshape(-1, 4), flags.reshape(-1))


def _bound(placement: Placement) -> int:
    """`energy_bound` of the placed problem."""
    if "energy bound" not in placement.derived:
        placement.derived["energy bound"] = energy_bound(placement.problem)
    return int(placement.derived["energy bound"])


class Machine:
    """A machine of `config` with a problem loaded, advanced sweep by sweep.

    The constructor runs no sweep; `sweep()` runs one. `labels`, `mrp_count`, `lrp_label` and
    `lrp_count` are LMem on the padded grid, where the run's estimate is the mean `labels` and `label_sums` (int64);
    `random` the (generators, 4) uint32 states, `messages` what has been sent, `timing` the cycles.
    problem: placed anew, or placed already (its run is `run` from here on).
    threads: cores to use at most; None for the environment's MRFHW_THREADS or, without it, all that the process
    may use. Nothing but the speed depends on it.
    random: states (generators, 4) to start from, in place of those of run.seed; copied. energy: None, it is not followed.
    """

    energy: int | None = None

    def __init__(self, config: Config, problem: Problem | Placement, run: Run, threads: int | None = None,
                 random: np.ndarray | None = None):
        config = Derived.of(config)
        self.placement = p = place(config, problem, run)
        self.config, self.problem, self.run, self._order = config, p.problem, run, p.order
        problem = p.problem
        c = config
        sampler = c.sampler
        self._race = isinstance(sampler, Race)
        self._threads = threads_of(threads)
        fraction = sampler.fraction_bits if isinstance(sampler, Race) else sampler.exponent_fraction_bits
        largest = _bound(p)
        changed = problem.energy_shift > 0 or largest > c.energy_max
        self._key_label_bits = 0 if p.subsets is not None else bits_for(problem.labels)
        widths = [sampler.uniform_bits, fraction, problem.energy_shift, c.energy_max, changed, c.count_max]
        if self._race:
            widths += [BLOCK, self._key_label_bits, p.slots, c.unit_generators, c.numbers_a_step]
        if p.subsets is not None:
            widths += [c.other_bits, c.place_bits]
        self._widths = np.array(widths, np.int64)
        highest = min(largest >> problem.energy_shift, c.energy_max)
        wide = largest > np.iinfo(np.int16).max
        if isinstance(sampler, Race):
            # Keys are 2^label_bits x score + label; the noise is of their size.
            hottest = coefficient(c, problem.schedule.hottest, problem.energy_shift)
            noise = int(np.abs(sampler.gumbel_table).max()) * hottest >> c.temperature_fraction_bits
            wide |= (((highest << fraction) + noise + 2) << self._key_label_bits) > np.iinfo(np.int32).max
        self._tables = Tables.of(p, bool(wide))
        self._wide = self._tables.wide
        self._table = (np.empty(len(sampler.gumbel_table), np.int64 if self._wide else np.int32) if isinstance(sampler, Race)
                       else np.empty(highest + 1, np.uint16))
        self._kernel, self._drawing = self._draws()
        self._temperature = -1
        self.labels = p.pad(p.initial)
        self.mrp_count, self.lrp_count = (np.zeros(p.padded_shape, np.int32) for _ in range(2))
        self.lrp_label = np.zeros(p.padded_shape, np.uint8)
        self.label_sums = np.zeros(p.padded_shape, np.int64)
        self._drawn = p.exists & ~p.clamped
        self._past = np.zeros((*problem.shape, 2), np.int64)  # sums that LMem holds no more; labels counted before a restore
        self._restored = 0  # the sweep of the last restore
        if random is not None:
            check_generators(np.asarray(random).reshape(-1, 4), c.generators)
        states = lane_states(run.seed, c.generators) if random is None else np.array(random, np.uint32)
        self.random = states.reshape(c.generators, 4)
        self.timing = LogTiming(config, p)
        self._messages: list[np.ndarray] = []
        self._held = 0  # messages in that list
        self._folded: np.ndarray | None = None
        self._sent = 0
        self._buffer = np.empty((c.units * p.order.turns, 3), np.int64)
        self._events = np.zeros((p.order.turns, c.units), np.uint8)
        self._coefficients: Iterator[int] = coefficients(c, problem)
        self.initial = p.initial
        self.sweeps = 0

    def _draws(self) -> tuple[Callable[..., int], tuple[np.ndarray, ...]]:
        """The kernel of a colour, and what it takes between widths and sites."""
        groups, subsets = self.placement.label_groups, self.placement.subsets
        if subsets is not None:
            firsts = np.array([*groups.firsts, groups.labels])
            return sweep_subsets, (self._table, firsts, subsets.slot, subsets.others, subsets.weights.copy())
        return (sweep_race, (self._table, self._places_of_numbers())) if self._race else (sweep_cdf, (self._table,))

    def _places_of_numbers(self) -> np.ndarray:
        """(L,) int64: where the uniform number of each label lies in what `block_noise` draws for a block's first unit."""
        order, labels = self._order, np.arange(self.problem.labels)
        generator, step = order.number(0, COLOURS[0], 0, 0, labels)
        return np.asarray((order.part(labels) * order.numbers_a_turn + step) * BLOCK + generator, np.int64)

    @property
    def sample(self) -> np.ndarray:
        """(H, W) uint8, a view."""
        return self.image(self.labels)

    def state(self, wall: float = 0.0, counted: bool = True) -> RunState:
        """The state of the run after `wall` seconds, as a copy that later sweeps do not change; without its counts,
        `RunState.uncounted`."""
        state = RunState(sweeps=self.sweeps, so_far=outcome(self, wall, counted), generators=self.random.copy(),
                         more=self.timing.state())
        return state if counted else state.uncounted()

    def restore(self, state: RunState) -> None:
        """Continue from the state of a machine with the same configuration, problem and run.

        Raises ProblemError for what is no such state.
        """
        found, p = state.so_far, self.placement
        check_state(state, self.problem, self.run, Stands(
            self.config.generators, lmem=most_of_entries(self.config, self.run.estimate), more=self.timing.holds()))
        assert found.lmem is not None
        assert state.generators is not None
        fields: tuple[np.ndarray, ...] = (self.labels, self.mrp_count, self.lrp_label, self.lrp_count)
        if self.run.estimate == "mean":
            held_sums = sums_of_entries(self.config, found.lmem)
            self.labels[...], self.label_sums[...] = p.pad(found.lmem[..., 0].astype(np.uint8)), p.pad(held_sums)
            self._restored = state.sweeps
            if found.sums is not None:
                self._past = found.sums.copy()
                self._past[..., 0] -= held_sums
            fields = ()
        for number, held in enumerate(fields):
            held[...] = p.pad(found.lmem[..., number].astype(held.dtype))
        self.random[...] = state.generators
        self.timing.restore(state.more)
        self.initial, self.sweeps = found.initial, state.sweeps
        self._messages, self._held, self._sent = [], 0, found.messages_counted or 0
        if found.counts is not None and found.messages is None:
            rest = histogram(self.problem.labels, np.empty((0, 3), np.int64), found.lmem)
            self._folded = (found.counts - rest).reshape(-1)
        elif found.messages is not None and len(found.messages):
            self._messages, self._held = [np.asarray(found.messages, np.int64)], len(found.messages)
            self._sent -= self._held
        self._coefficients = itertools.islice(coefficients(self.config, self.problem), state.sweeps, None)

    def _set_temperature(self, value: int) -> None:
        c, sampler = self.config, self.config.sampler
        if value == self._temperature:
            return
        self._temperature = value
        if isinstance(sampler, Race):
            fill_noise(self._table, sampler.gumbel_table, value, c.temperature_fraction_bits, self._key_label_bits)
            if self.placement.subsets is not None:
                fill_noise(self._drawing[-1], self.placement.subsets.weights, value, c.temperature_fraction_bits, 0)
        else:
            fill_weights(self._table, sampler.exponent_table, value, sampler.exponent_fraction_bits, c.temperature_fraction_bits)

    def _colour(self, colour: int, counted: bool) -> list[np.ndarray]:
        """Update a colour; the messages of each share of the units, in the order of the units."""
        order, tables = self._order, self._tables
        places, (blocks, _, turns, width) = order.places(self.sweeps, colour), tables.sites.shape
        flat = [a.reshape(-1) for a in (self.labels, self.mrp_count, self.lrp_label, self.lrp_count)]

        def share(first: int, last: int) -> np.ndarray:
            buffer = self._buffer[first * width * turns:]
            sent = self._kernel(first, last - first, colour, places, counted, order.columns, self._widths, *self._drawing,
                          tables.sites, tables.singles, tables.doubles, tables.edges, tables.flags, *flat, self.random,
                          self._events, buffer)
            found = buffer[:sent].copy()
            row, col = np.divmod(found[:, 0], order.columns)
            found[:, 0] = row * self.problem.shape[1] + col  # the image's raster
            return found

        if counted:
            self._events.fill(0)
        return in_shares(share, blocks, order.colour_evaluations // _WORTH_A_THREAD, self._threads)

    def sweep(self) -> None:
        """Update every site once: black, then white."""
        counted, mean = self.sweeps >= self.run.counts_from, self.run.estimate == "mean"
        if self.placement.sums_end(self.sweeps):
            self._past[..., 0] += self.image(self.label_sums)
            self.label_sums.fill(0)
            self.timing.pause()
        with compiling(self._kernel.__name__, self.config.sampler, self._wide):
            self._set_temperature(next(self._coefficients))
            for colour in COLOURS:
                sent = [part for part in self._colour(colour, counted and not mean) if len(part)]
                self._messages += sent
                self._held += sum(map(len, sent))
                if self._held > _KEPT:
                    self._fold()
                self.timing.colour(self._events, bool(sent))
        if counted and mean:  # each site has been written once
            np.add(self.label_sums, self.labels, out=self.label_sums, where=self._drawn)
        self.sweeps += 1

    def _fold(self) -> None:
        """Count the messages that are held into a histogram and forget them."""
        if self._folded is None:
            self._folded = zeros((self.problem.sites * self.problem.labels,), np.uint32)
        for part in self._messages:
            np.add.at(self._folded, part[:, 0] * self.problem.labels + part[:, 1], part[:, 2].astype(np.uint32))
        self._sent += self._held
        self._messages, self._held = [], 0

    @property
    def messages(self) -> np.ndarray:
        """(n, 3) int64 (address, label, count), in no particular order: all, or those since they were last folded."""
        return np.concatenate(self._messages) if self._messages else np.empty((0, 3), np.int64)

    @property
    def log_messages(self) -> int:
        """Messages sent."""
        return self._sent + self._held

    @property
    def folded(self) -> bool:
        """Whether there were too many messages to keep, so that some are only in the histogram."""
        return self._folded is not None

    @property
    def lmem(self) -> np.ndarray:
        """(H, W, 4) int32: current label and count, the other label and count, or a sum in place of the last three."""
        if self.run.estimate == "mean":
            return entries_of_sums(self.config, self.image(self.labels), self.image(self.label_sums))
        fields = (self.labels, self.mrp_count, self.lrp_label, self.lrp_count)
        return np.stack([self.image(field) for field in fields], -1).astype(np.int32)

    @property
    def counts(self) -> np.ndarray | None:
        """(H, W, L) uint32: how often each label was drawn in counted sweeps; None where the run's estimate needs no histogram."""
        if self.run.estimate != "mode":
            return None
        counts = histogram(self.problem.labels, self.messages, self.lmem)
        if self._folded is not None:
            counts += self._folded.reshape(counts.shape)
        return counts

    @property
    def sums(self) -> np.ndarray | None:
        """(H, W, 2) int64: the sum of the labels drawn in counted sweeps, and their number; None for another estimate."""
        if self.run.estimate != "mean":
            return None
        counted = self.run.counted_of(self.sweeps) - self.run.counted_of(self._restored)
        return np.asarray(self._past + np.stack([self.image(self.label_sums), counted * self.image(self._drawn)], -1))

    def image(self, padded: np.ndarray) -> np.ndarray:
        """The image's part of a padded grid."""
        rows, cols = self.problem.shape
        return padded[:rows, :cols]


def outcome(machine: Machine, wall: float, counted: bool = True) -> Result:
    """The result of a machine so far, after `wall` seconds, with or without histogram and sums. `cycles` is right only after the
    run's timing is finished."""
    problem, timing = machine.problem, machine.timing
    return Result(
        backend="model", counts=machine.counts if counted else None, sums=machine.sums if counted else None,
        last=machine.image(machine.labels).copy(), initial=machine.initial,
        label_evaluations=machine.placement.order.label_evaluations(problem.unclamped_sites, machine.sweeps), wall_seconds=wall,
        messages=None if machine.folded else machine.messages,
        lmem=machine.lmem, cycles=timing.cycles, stall_cycles=timing.stall_cycles, gap_cycles=timing.gap_cycles,
        lanes=machine.config.all_lanes, messages_counted=machine.log_messages)


def complete(machine: Machine, progress: Callable[[int], object] | None = None,
             observe: Observe | None = None) -> Result:
    """Run a machine to the end of its run; see `solve`."""
    began = time.perf_counter()
    advance(machine, progress, observe)
    machine.timing.finish()
    return outcome(machine, time.perf_counter() - began)


def solve(config: Config, problem: Problem | Placement, run: Run, progress: Callable[[int], object] | None = None,
          observe: Observe | None = None, *, threads: int | None = None) -> Result:
    """Run `problem` on the model. progress is called with the number of sweeps done.

    observe: called after each sweep with that number, the labels (H, W) uint8, a view of the running machine's, and None.
    threads: as in `Machine`. Raises ProblemError where the problem does not fit the machine.
    """
    return complete(Machine(config, problem, run, threads), progress, observe)
