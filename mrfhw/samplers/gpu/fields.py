"""Fields side by side on a device: their data there, and sweeps of all of them at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.field.problem import ProblemError, Run
from mrfhw.samplers.events import Skipping
from mrfhw.samplers.gpu.device import Device, DeviceMemoryError, Launch, Work
from mrfhw.samplers.gpu.source import ENTRY, NOW, PLAIN, Variant, room, source
from mrfhw.samplers.gpu.tables import GpuTables, weight_table

__all__ = ["Fields", "Kept", "Sweep", "check_variant", "key_of"]

_I32 = np.int32


def key_of(seed: int) -> tuple[int, int]:
    """The two words of a generator's key that a run's seed gives: NumPy's SeedSequence([seed, 3])."""
    first, second = np.random.SeedSequence([seed, 3]).generate_state(2)
    return int(first), int(second)


def check_variant(device: Device, variant: Variant, tables: Sequence[GpuTables]) -> None:
    """Raises ProblemError for a variant of these fields that the device does not take."""
    cells, rows = variant.group
    if cells * rows > device.most_group:
        raise ProblemError(f"group is {cells}x{rows}; {device.name} takes {device.most_group} cells together: give fewer")
    doubles = 4 * room(max(of.doubles.size for of in tables)) if variant.local_doubles else 0
    needs = doubles + ((rows + 2) * (2 * cells + 2) if variant.local_labels else 0)
    if needs > device.local_bytes:
        raise ProblemError(f"local memory of {needs} bytes a group; {device.name} has {device.local_bytes}: give gpu?local=none")


@dataclass(frozen=True)
class Sweep:
    """What a sweep of a field is like.

    number: from 0.
    temperature: in the units of energies.
    counted: whether its labels are.
    every: no site is skipped, as a temperature has risen.
    """

    number: int
    temperature: float
    counted: bool
    every: bool = False


@dataclass
class Kept:
    """What a device has of a field; None for what it does not have.

    labels: (H, W) uint8.
    counts: (H, W, L) uint16 or uint32, the histogram.
    sums: (H, W, 2) int64.
    turns: (regions down, regions across, 2) int32, the last sweep in which sites of a region are to be drawn, black and white.
    drawn: sites drawn so far, where others are skipped.
    """

    labels: np.ndarray
    counts: np.ndarray | None = None
    sums: np.ndarray | None = None
    turns: np.ndarray | None = None
    drawn: int = 0


class _Pool:
    """Arrays one after the other in one, and where each begins."""

    def __init__(self, kind: type[np.generic]):
        self._kind, self._parts, self.size = kind, list[np.ndarray](), 0
        self._known: dict[int, int] = {}

    def once(self, values: np.ndarray) -> int:
        """As `add`; an array that is there already has its place."""
        if id(values) not in self._known:
            self._known[id(values)] = self.add(values)
        return self._known[id(values)]

    def add(self, values: np.ndarray) -> int:
        begin = self.size
        self._parts.append(np.asarray(values, self._kind).reshape(-1))
        self.size += values.size
        return begin

    @property
    def values(self) -> np.ndarray:
        return np.concatenate(self._parts) if self._parts else np.empty(0, self._kind)


class Fields:
    """Fields of any sizes and numbers of labels, drawn in one launch a colour.

    device: where they are.
    tables: of each; those of one problem that several fields share are there once.
    """

    def __init__(self, device: Device, tables: Sequence[GpuTables], runs: Sequence[Run], labels: Sequence[np.ndarray],
                 variant: Variant = PLAIN, memory: int | None = None, skipping: Skipping | None = None,
                 subset: int = 0):
        """Raises ProblemError for what the device does not hold.

        runs: the seed and the estimate of each.
        labels: (H, W) uint8, those that each starts from.
        variant: how the device draws, on which no bit depends.
        memory: bytes that singletons may take on the device; None for all that one array may. Where those of a single problem take
            more, it is drawn in bands of rows, whose singletons go to the device sweep after sweep.
        skipping: what event-driven sampling leaves out; None for none.
        subset: labels among which a site is drawn; 0 for all.
        """
        self.device, self.tables, self._group = device, list(tables), variant.group
        self._skipping = skipping
        check_variant(device, variant, tables)
        kind = np.int32 if any(of.kind is np.int32 for of in tables) else np.int16
        self._rows = max(of.problem.shape[0] for of in tables)
        self._halves = max(of.half for of in tables)
        self._counted = np.uint16 if all(run.after_burn_in < 1 << 16 for run in runs) else np.uint32
        bytes_of = sum(of.singles.size for of in set(self.tables)) * np.dtype(kind).itemsize
        most = min(device.room, memory or device.room)
        self._band = 0 if bytes_of <= most else self._rows_of_a_band(most, np.dtype(kind).itemsize)
        self._entries, doubles = self._placed(runs, kind, labels)
        largest = max(of.doubles.size for of in tables)
        numbers = {of.problem.labels for of in tables}
        text = source(device.language, variant, max(numbers), largest, 8 * np.dtype(kind).itemsize,
                      8 * np.dtype(self._counted).itemsize, len(numbers) == 1, skipping is not None, subset)
        self._draw, self._energy = device.kernel(text, "draw"), device.kernel(text, "energy")
        self._doubles, self._weights = device.array(doubles), device.array(np.empty(0))
        self._held: tuple[tuple[float, int], ...] = ()
        self._where: dict[tuple[float, int], tuple[int, int]] = {}
        self._works: dict[int, tuple[object, Work]] = {}  # by the number of steps: where they are said, and what they come to

    def _rows_of_a_band(self, most: int, itemsize: int) -> int:
        of = self.tables[0]
        row = of.problem.labels * of.half * itemsize
        fields = len(set(self.tables))
        if fields > 1 or row > most:
            raise DeviceMemoryError(f"singletons of {fields} field(s) do not fit {most} bytes of {self.device.name}: give fewer at "
                                    "once, or more memory (gpu?memory=MIB)")
        return max(1, most // row)

    def _placed(self, runs: Sequence[Run], kind: type[np.generic], labels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The entries of all fields, and their doubletons; the other arrays are on the device then."""
        device = self.device
        singles, doubles, edges, clamped, sites = _Pool(kind), _Pool(np.int32), _Pool(np.uint8), _Pool(np.uint8), _Pool(np.uint8)
        counts = sums = turns = 0
        entries = np.empty((len(self.tables), len(ENTRY)), np.int64)
        for entry, of, run, start in zip(entries, self.tables, runs, labels, strict=True):
            problem = of.problem
            key, (down, across), region = key_of(run.seed), *self._regions(problem.shape)
            found = {
                "rows": problem.shape[0], "columns": problem.shape[1], "labels": problem.labels, "sites": sites.add(start),
                "clamped": clamped.once(of.clamped), "singles": 0 if self._band else singles.once(of.singles),
                "doubles": doubles.once(of.doubles), "sides": len(of.doubles),
                "edges": edges.once(of.edges) if of.edges.size else -1,
                "counts": counts if run.estimate == "mode" else -1, "sums": sums if run.estimate == "mean" else -1,
                "key0": key[0], "key1": key[1], "turns": turns if down else -1, "region_rows": region[0],
                "region_columns": region[1], "regions_across": across}
            turns += 2 * down * across
            counts += problem.sites * problem.labels * (run.estimate == "mode")
            sums += 2 * problem.sites * (run.estimate == "mean")
            entry[:] = [found[name] for name in ENTRY]
        self._of = device.array(entries)
        self._singles = device.array(singles.values) if not self._band else device.zeros(
            self._band * self.tables[0].problem.labels * self.tables[0].half * np.dtype(kind).itemsize)
        self._edges, self._clamped, self._sites = (device.array(pool.values) for pool in (edges, clamped, sites))
        self._all_sites = sites.size
        self._counts, self._sums = device.zeros(counts * np.dtype(self._counted).itemsize), device.zeros(8 * sums)
        events = self._skipping is not None
        self._turns = device.zeros(4 * turns)
        self._visits, self._drawn_before = device.zeros(4 * sites.size * events), [0] * len(self.tables)
        return entries, doubles.values

    def _regions(self, shape: tuple[int, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
        """Regions down and across, and the rows and columns of one."""
        if self._skipping is None:
            return (0, 0), (1, 1)
        rows, columns = (min(step, size) for step, size in zip(self._skipping.region, shape, strict=True))
        return (-(-shape[0] // rows), -(-shape[1] // columns)), (rows, columns)

    # -- sweeps

    def sweep(self, steps: Sequence[Sequence[Sweep | None]]) -> None:
        """One sweep of each field for each of `steps`, a Sweep a field, or None for one that rests; the device goes on while this
        returns."""
        tables = {(sweep.temperature, place): None for step in steps for place, sweep in enumerate(step) if sweep is not None}
        self._set_weights(tuple(tables))
        rests = (0,) * len(NOW)
        now = np.array([[rests if sweep is None
                         else (sweep.number, *self._where[sweep.temperature, place], sweep.counted, sweep.every)
                         for place, sweep in enumerate(step)] for step in steps], np.int32)
        assert now.shape[1:] == (len(self.tables), len(NOW))
        if self._band:
            here = self.device.array(now)
            for number, colour, first in itertools.product(range(len(steps)), COLOURS, range(0, self._rows, self._band)):
                rows = min(self._band, self._rows - first)
                self.device.write(self._singles, self.tables[0].singles[colour][:, first:first + rows])
                self.device.work(Work([self._launch(here, number, colour, first, rows)]))
            return
        if len(steps) not in self._works:
            here = self.device.array(now)
            self._works[len(steps)] = here, Work([self._launch(here, number, colour, 0, 0)
                                                  for number, colour in itertools.product(range(len(steps)), COLOURS)])
        here, work = self._works[len(steps)]
        self.device.write(here, now)
        self.device.work(work)

    def _launch(self, now: object, step: int, colour: int, first: int, band: int) -> Launch:
        """Of a colour; of `band` rows from `first` on, 0 for all."""
        return (self._draw, (self._halves, band or self._rows, len(self.tables)), (*self._group, 1), (
            self._of, now, self._singles, self._doubles, self._edges, self._clamped, self._weights, self._sites, self._counts,
            self._sums, self._turns, self._visits, *map(_I32, (step, len(self.tables), colour, first, band))))

    def _set_weights(self, wanted: tuple[tuple[float, int], ...]) -> None:
        """Tables of weights for temperatures of fields by their places."""
        if wanted == self._held:
            return
        pool = _Pool(np.uint32)
        alike: dict[tuple[float, int, int], tuple[int, int]] = {}
        for temperature, place in wanted:
            of = self.tables[place]
            kind = temperature, of.problem.labels, of.bound
            if kind not in alike:
                table = weight_table(*kind, math.inf if self._skipping is None else self._skipping.cutoff)
                alike[kind] = pool.add(table), len(table)
            self._where[temperature, place] = alike[kind]
        self._weights, self._held = self.device.array(pool.values), wanted
        self._works = {}

    # -- what there is

    def labels(self) -> list[np.ndarray]:
        """(H, W) uint8 of each field, a copy."""
        return [of.reshape(self.tables[place].problem.shape) for place, of in self._parts("sites", self._sites, np.uint8)]

    def kept(self) -> list[Kept]:
        """What the device has of each field."""
        found = [Kept(labels, drawn=drawn) for labels, drawn in zip(self.labels(), self._drawn_before, strict=True)]
        for name, array, kind in (("counts", self._counts, self._counted), ("sums", self._sums, np.int64),
                                  ("turns", self._turns, np.int32)):
            for place, of in self._parts(name, array, kind):
                first = self.tables[place].problem.shape if name != "turns" else self._regions(self.tables[place].problem.shape)[0]
                setattr(found[place], name, of.reshape(*first, -1))
        if self._skipping is not None:
            for place, of in self._parts("sites", self._visits, np.uint32):
                found[place].drawn += int(of.sum(dtype=np.int64))
        return found

    def restore(self, kept: Sequence[Kept]) -> None:
        """Put back what `kept` gave."""
        for array, given, kind in ((self._sites, [of.labels for of in kept], np.uint8),
                                   (self._counts, [of.counts for of in kept], self._counted),
                                   (self._sums, [of.sums for of in kept], np.int64),
                                   (self._turns, [of.turns for of in kept], np.int32)):
            there = [np.asarray(of, kind).reshape(-1) for of in given if of is not None and of.size]
            if there:
                self.device.write(array, np.concatenate(there))
        self._drawn_before = [of.drawn for of in kept]
        if self._skipping is not None:
            self.device.write(self._visits, np.zeros(self._all_sites, np.uint32))

    def _parts(self, name: str, array: object, kind: type[np.generic]) -> Iterator[tuple[int, np.ndarray]]:
        """Of each field that has such data its place and a copy of them, of all that begin at the entry of that name."""
        begins = self._entries[:, ENTRY.index(name)]
        sizes = np.array([self._size(name, of) for of in self.tables])
        values = np.empty(int(sizes[begins >= 0].sum()), kind)
        if values.size:
            self.device.read(array, values)
            yield from ((place, values[begin:begin + size]) for place, (begin, size) in enumerate(zip(begins, sizes, strict=True))
                        if begin >= 0)

    def _size(self, name: str, of: GpuTables) -> int:
        if name == "turns":
            return 2 * math.prod(self._regions(of.problem.shape)[0])
        return of.problem.sites * {"sites": 1, "counts": of.problem.labels, "sums": 2}[name]

    def energies(self) -> list[int] | None:
        """Of each field's labels; None of one in bands."""
        if self._band:
            return None
        found = np.empty((len(self.tables), self._rows), np.int64)
        here = self.device.zeros(found.nbytes)
        self.device.run(self._energy, (self._rows, 1, len(self.tables)), (1, 1, 1), self._of, self._singles, self._doubles,
                        self._edges, self._sites, here, _I32(self._rows))
        self.device.read(here, found)
        return [int(rows.sum()) for rows in found]

