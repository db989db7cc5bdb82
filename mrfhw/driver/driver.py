"""Drives a machine over its bus: load a problem, run it, read the result back.

The same steps for every chip: one that is simulated and one on a board differ only in their `Chip`.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from mrfhw.driver.contents import Contents, SiteAddresses, Words, fixed
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.bits import of_channel
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import element_bits, kinds_of, narrowest
from mrfhw.machine.registers import (
    CONTROL_BITS,
    DIGEST_REGISTERS,
    DIGITS,
    DOUBLETON_CODES,
    IDENTITY,
    INTERFACE_VERSION,
    MODE_BITS,
    REGISTERS,
    STATUS_BITS,
    TEMPERATURE_TABLE,
    Region,
    Temperature,
    register,
)
from mrfhw.machine.words import LMEM_WORDS, entry_words, log_message, row_entry, whole_entry
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficient, geometric_registers
from mrfhw.samplers.random import lane_states

__all__ = ["COUNTERS", "Chip", "ChipError", "Driver", "MemoryChip", "NoChip", "PostingChip", "is_busy", "transfer_bytes",
           "transfer_cycles", "transfer_words", "unpack_lines"]

FEW, MANY = 2, 1 << 10  # banks whose words, sent one by one, take no longer than in rows; and more than there are
KEPT_BYTES = 1 << 26  # of changes from one field to the next
GAP = 3  # unchanged words between two changed ones that take less time to send than the head of another segment
COUNTERS = ("cycles", "stall_cycles", "gap_cycles", "label_cycles", "messages", "lines")  # registers of 64 bits


class ChipError(ProblemError):
    """The chip is not the one expected, or did not answer. One line: what, and what to do."""


class Chip(Protocol):
    """A bus to a chip. Addresses and data are uint32 arrays of equal length; write order is kept."""

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None: ...

    def read(self, addresses: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class MemoryChip(Chip, Protocol):
    """A bus that is faster where the words are those of memories: each address once, in any order; and where they are short.

    rows: whether words that hold those of several banks are faster all the same, as an access takes longer than a byte.
    """

    @property
    def rows(self) -> bool: ...

    def write_memory(self, addresses: np.ndarray, data: np.ndarray) -> None: ...

    def read_memory(self, addresses: np.ndarray, mask: int) -> np.ndarray:
        """Bits outside `mask` may be 0."""
        ...


@runtime_checkable
class PostingChip(Chip, Protocol):
    """A bus that is faster where writes need not wait for those before."""

    def post(self, addresses: np.ndarray, data: np.ndarray, memory: bool) -> None:
        """Write in turn, but perhaps later. memory: each address comes once, and their order does not matter."""
        ...

    def settle(self) -> None:
        """Wait until all is written. Raises the error of the first write that failed, if `post` has not."""
        ...


class NoChip:
    """A `Chip` that accepts every write and reads as 0, used to count the accesses that a real chip would get."""

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        pass

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return np.zeros(len(addresses), np.uint32)


def transfer_cycles(placement: Placement, generators: bool = True) -> tuple[int, int]:
    """(loading, reading): bus cycles to load a placed problem completely, and to read its LMem back."""
    driver = Driver(placement.config, NoChip())
    return driver.load(placement, generators), driver.reading_cycles(placement)


def transfer_words(placement: Placement) -> tuple[int, int]:
    """(loaded, read): the same in words."""
    driver = Driver(placement.config, NoChip())
    driver.load(placement)
    return driver.written, driver.reading_words(placement)


class _Counting(NoChip):
    """A `MemoryChip` that counts the bytes of a link's elements. sent, received: without heads of segments and frames."""

    rows = False

    def __init__(self) -> None:
        self.sent = self.received = 0

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        kinds, counts = np.unique(kinds_of(data), return_counts=True)
        self.sent += sum(int(count) * element_bits(int(kind)) for kind, count in zip(kinds, counts, strict=True)) // 8

    write_memory = write

    def read_memory(self, addresses: np.ndarray, mask: int) -> np.ndarray:
        self.received += len(addresses) * element_bits(narrowest(mask)) // 8
        return self.read(addresses)


def transfer_bytes(placement: Placement) -> tuple[int, int]:
    """(loaded, read): the bytes of these words on a link (docs/link.md), without heads of segments and frames."""
    counting = _Counting()
    driver = Driver(placement.config, counting)
    driver.load(placement)
    driver.lmem(placement)
    return counting.sent, counting.received


def _with_short_gaps(chosen: np.ndarray) -> np.ndarray:
    """`chosen` (n,) bool, with every gap of at most GAP words between two True filled."""
    places = np.flatnonzero(chosen)
    if not len(places):
        return chosen
    far = np.diff(places) > GAP + 1
    edges = np.zeros(len(chosen) + 1, np.int8)
    edges[places[np.concatenate([[True], far])]] += 1
    edges[places[np.concatenate([far, [True]])] + 1] -= 1
    return np.cumsum(edges[:-1], dtype=np.int8) > 0


def unpack_lines(config: Config, lines: np.ndarray) -> np.ndarray:
    """(n, line_bits / 8) uint8 log lines, little-endian, to (m, 3) int64 (address, label, count) without padding."""
    config = Derived.of(config)
    bits = np.unpackbits(lines.reshape(-1, config.line_bits // 8), axis=1, bitorder="little")
    used = bits[:, :config.line_messages * config.message_bits].reshape(-1, config.message_bits).astype(np.int64)
    fields = log_message(config)
    values = [used[:, fields[name].low:fields[name].end] @ (1 << np.arange(fields[name].bits, dtype=np.int64))
              for name in ("address", "label", "count")]
    messages = np.stack(values, 1) if len(used) else np.empty((0, 3), np.int64)
    return messages[messages[:, 2] > 0]


def is_busy(status: int) -> bool:
    """Whether the status register says that the chip is busy. Raises ChipError for an impossible value."""
    running, busy = (1 << STATUS_BITS[name] for name in ("running", "busy"))
    if status not in (0, busy, running | busy):
        raise ChipError(f"the status register reads {status:#x}; it can be 0, {busy} or {running | busy}: build the chip again")
    return bool(status)


def _flat(values: np.ndarray) -> np.ndarray:
    """(n,) uint32, the array itself where it is one."""
    return values if values.ndim == 1 and values.dtype == np.uint32 else np.ascontiguousarray(values, np.uint32).ravel()


def _fixed(words: Words) -> Words:
    return Words(fixed(words.addresses), fixed(words.data), words.memory)


@dataclass(frozen=True)
class _Change:
    """The words that a chip lacks which holds `before` and is to hold `wanted`, all of whose addresses one of them has; and what it
    holds then."""

    before: tuple[Contents, ...]
    wanted: Contents
    tables: list[Words]
    tiles: list[Words]
    after: tuple[Contents, ...]

    @property
    def size(self) -> int:
        return sum(words.size for words in (*self.tables, *self.tiles, *self.wanted.tables, *self.wanted.tiles))


class Driver:
    """Loads, starts and reads one chip of `config`.

    It remembers the words that it has written into registers, tables, S1Mem, S2Mem and the labels' vectors, which a run does not
    change. A `load` that keeps the chip's generators writes only words that differ from these; its caller asserts that no other
    program has used the chip meanwhile. Any other load discards the record first.

    config: the machine that the chip is.
    chip: its bus.
    digest: of its circuit, hexadecimal, the first DIGITS digits or more (manifest.json, build.json); needed by `check` alone.
    label_rows: labels of several sites are loaded in a word, where the machine has such words.
    """

    def __init__(self, config: Config, chip: Chip, digest: str | None = None, label_rows: bool = True):
        config = Derived.of(config)
        self.config, self.chip, self.map = config, chip, AddressMap(config)
        self._memory = chip if isinstance(chip, MemoryChip) else None
        self._posting = chip if isinstance(chip, PostingChip) else None
        self._short = self._memory is not None
        self._label_rows = label_rows
        # Banks whose words are short elements, each of an access, at most; without such elements rows always gain.
        rows = self._memory is not None and self._memory.rows
        self._most = 1 if self._memory is None else FEW if rows else MANY
        self.digest = None if digest is None else digest[:DIGITS]  # what the digest registers must read
        # By word address; pages that are never written take no memory.
        self._held = np.zeros(1 << self.map.address_bits, np.uint32)
        self._known = np.zeros(1 << self.map.address_bits, np.bool_)
        self._sites = SiteAddresses(self.map)
        self._holds: tuple[Contents, ...] = ()  # what the chip holds, the last first, as far as others after it have left it
        self._changes: OrderedDict[tuple[int, ...], _Change] = OrderedDict()  # by what the chip was to hold, and what it held
        self._changed_bytes = 0
        self.written, self._cycles = 0, 0  # words, and cycles of the bus, of the last load

    def forget(self) -> None:
        """Discard the record of written words: another program used the chip, it was switched off, or its link was reconnected."""
        self._known = np.zeros(1 << self.map.address_bits, np.bool_)
        self._holds = ()

    # -- registers

    def set(self, **values: int) -> None:
        """Write registers by name, in order."""
        addresses, data = self._named(values)
        self._known[addresses] = False
        self.chip.write(addresses, data)

    def _named(self, values: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([register(n) for n in values], np.uint32), np.array(list(values.values()), np.uint32)

    def get(self, *names: str) -> list[int]:
        """Read registers by name; a counter's `_low` and `_high` are joined under its own name."""
        wanted = [n if n in REGISTERS else f"{n}_low" for n in names]
        highs = [n for n in names if n not in REGISTERS]
        words = self.chip.read(np.array([register(n) for n in wanted] + [register(f"{n}_high") for n in highs], np.uint32))
        values = [int(w) for w in words[:len(names)]]
        for name, high in zip(highs, words[len(names):], strict=True):
            values[names.index(name)] += int(high) << 32
        return values

    def counters(self) -> dict[str, int]:
        """What the chip counted in the run, by the names of its counters."""
        return dict(zip(COUNTERS, self.get(*COUNTERS), strict=True))

    def check(self) -> None:
        """Raise ChipError unless the chip has the circuit of the digest. ValueError where the driver was given none."""
        if self.digest is None:
            raise ValueError("digest is None; a chip is checked by its circuit's: give Driver that")
        identity, version, *digest = self.get("identity", "version", *DIGEST_REGISTERS)
        if identity != IDENTITY:
            raise ChipError(f"the identity register reads {identity:#010x}, not {IDENTITY:#010x}: no such chip on this link")
        if version != INTERFACE_VERSION:
            raise ChipError(f"the chip has interface version {version}; this driver has {INTERFACE_VERSION}: build the chip again")
        found = "".join(f"{d:08x}" for d in digest)
        if found != self.digest:
            raise ChipError(f"the chip's circuit is {found}, not {self.digest}: give the parameters that the chip was built with, "
                            "or build it again")

    # -- load

    def load(self, placement: Placement, generators: bool | np.ndarray = True, lmem: np.ndarray | None = None) -> int:
        """Write memories, tables and registers of a placed problem, except words that the chip holds already. Returns bus cycles.

        generators: True for the states of the run's seed, False to keep the chip's states, or states (generators, 4).
        lmem: (H, W, 4) as `lmem` returns it, instead of the initial labels and empty counts.
        """
        if generators is not False:
            self.forget()
        self.written, self._cycles = 0, 0
        with self._settled():
            self._load_registers(placement)
            self._load_contents(placement)
            self._load_lmem(placement, placement.initial if lmem is None else lmem[..., 0], lmem)
            if generators is not False:
                states = lane_states(placement.run.seed, self.config.generators) if generators is True else generators
                self._write(np.repeat(self.map.generators(), 4), np.asarray(states).ravel(), stays=False)
        return self._cycles

    @contextlib.contextmanager
    def _settled(self) -> Iterator[None]:
        """At its end all is written; else nothing is known of what the chip holds."""
        try:
            yield
            if self._posting:
                self._posting.settle()
        except BaseException:
            self.forget()
            raise

    def _write(self, addresses: np.ndarray, data: np.ndarray, memory: bool = False, stays: bool = True) -> Words:
        """Write the words that the chip does not hold already. Returns them.

        stays: a run does not change them. memory: each address comes once, and their order does not matter.
        """
        where, words = _flat(addresses), _flat(data)
        if stays:
            needed = _with_short_gaps(~self._known[where] | (self._held[where] != words))
            where, words = where[needed], words[needed]
            # After a failed write the chip's content is unknown.
            self._known[where] = False
        self._send(Words(where, words, memory))
        if stays:
            self._held[where], self._known[where] = words, True
        return Words(where, words, memory)

    def _send(self, words: Words) -> None:
        if not len(words.addresses):
            return
        if self._posting:
            self._posting.post(*words)
        else:
            write = self._memory.write_memory if words.memory and self._memory else self.chip.write
            write(words.addresses, words.data)
        self.written += len(words.addresses)
        self._cycles += self.config.bus_write_cycles(len(words.addresses))

    def _load_contents(self, p: Placement) -> None:
        """Tables and memories that a run does not change. What differs from one problem to the next is kept, as windows follow one
        another in the same order in each round."""
        before, wanted = self._holds, Contents.of(p, self._sites, self._short, self._most)
        key = tuple(map(id, (wanted, *before)))
        change = self._changes.get(key)
        if change is not None:
            self._changes.move_to_end(key)
            for words in change.tables:
                self._send(words)
            self._load_temperatures(p)
            for words in change.tiles:
                self._send(words)
            for words in (*change.tables, *change.tiles):
                self._held[words.addresses] = words.data
        else:
            tables = [self._write(*words) for words in wanted.tables]
            self._load_temperatures(p)
            tiles = [self._write(*words) for words in wanted.tiles]
            change = _Change(before, wanted, list(map(_fixed, tables)), list(map(_fixed, tiles)),
                             (wanted, *(held for held in before if not np.isin(held.addresses, wanted.addresses).all())))
            if any(np.isin(wanted.addresses, held.addresses).all() for held in before):
                self._keep(key, change)
        self._holds = change.after

    def _keep(self, key: tuple[int, ...], change: _Change) -> None:
        self._changes[key] = change
        self._changed_bytes += change.size
        while self._changed_bytes > KEPT_BYTES:
            self._changed_bytes -= self._changes.popitem(last=False)[1].size

    def _load_temperatures(self, p: Placement) -> None:
        schedule = p.problem.schedule
        if schedule.table:
            values = [coefficient(self.config, t, p.problem.energy_shift) for t in schedule.table]
            self._write(TEMPERATURE_TABLE + np.arange(len(values)), np.array(values))

    def _load_registers(self, p: Placement) -> None:
        c, problem = self.config, p.problem
        rows, half = p.tile_rows, p.tile_cols // 2
        one = c.lmem_banks == 1
        schedule, shift = problem.schedule, problem.energy_shift
        ratio, limit = (geometric_registers(c, schedule, shift) if schedule.kind == "geometric" else (0, 0))
        mode = {"constant": Temperature.CONSTANT, "geometric": Temperature.GEOMETRIC, "table": Temperature.TABLE}
        self._write(*self._named(dict(
            slots=p.slots, tile_rows=rows, tile_groups=p.order.groups_per_row,
            label_stride=half if one else half // 2, label_wrap=(rows - 1) * half if one else (rows - 1) // 2 * (half // 2),
            site_stride=half, **({"s2_stride": p.s2_stride} if c.holds_reach else {}),
            raster_stride=problem.shape[1], overlap=int(p.overlap), sweeps=p.run.sweeps,
            burn_in=p.run.counts_from, alpha=problem.channels[0].alpha, beta=problem.beta,
            energy_shift=shift,
            out_of_range=problem.out_of_range,
            mode=self._mode(p),
            temperature=0 if schedule.kind == "table" else coefficient(c, schedule.start, shift),
            temperature_mode=mode[schedule.kind], temperature_ratio=ratio, temperature_limit=limit,
            temperature_stride=schedule.stride, temperature_last=max(0, len(schedule.table) - 1),
            **self._channel_registers(problem), **self._doubleton_registers(problem))))

    @staticmethod
    def _mode(p: Placement) -> int:
        problem, holds_reach = p.problem, p.config.holds_reach
        functions = p.config.doubletons == "functions"
        fields = {"constant": problem.constants is not None, "doubleton": DOUBLETON_CODES[problem.doubleton] if functions else 0,
                  "hamming": problem.channels[0].singleton == "hamming", "mirrored": p.label_groups.mirrored,
                  "unary": holds_reach and problem.unary is not None, "sums": p.run.estimate == "mean"}
        for number, channel in enumerate(problem.channels):
            fields[of_channel("squared", number)] = channel.singleton == "squared"
        return sum(int(value) << MODE_BITS[name] for name, value in fields.items())

    def _doubleton_registers(self, problem: Problem) -> dict[str, int]:
        """Where the doubleton is a function: a table has it as it is truncated."""
        if self.config.doubletons == "table":
            return {}
        return {"tau": self.config.doubleton_max if problem.tau is None else problem.tau}

    def _channel_registers(self, problem: Problem) -> dict[str, int]:
        """Weights and limits of the channels that the machine has; a channel that the problem lacks has the weight 0."""
        c, found = self.config, {}
        for number in range(len(c.channel_bits)):
            channel = problem.channels[number] if number < len(problem.channels) else None
            if number:
                found[of_channel("alpha", number)] = 0 if channel is None else channel.alpha
            if c.singleton_cap:
                highest = (1 << c.channel_singleton_bits(number)) - 1
                most = highest if channel is None or channel.most is None else min(channel.most, highest)
                found[of_channel("singleton_max", number)] = most
        return found

    def clear(self, p: Placement, labels: np.ndarray) -> None:
        """Write the sites' labels (H, W), with empty counts or sums, between two sweeps. A `Chip`'s errors."""
        with self._settled():
            self._load_lmem(p, labels, None)

    def _load_lmem(self, p: Placement, labels: np.ndarray, lmem: np.ndarray | None) -> None:
        if lmem is None and self._label_rows and self.config.lmem_row_entries > self._most:
            return self._load_label_rows(p, labels)
        current, before = entry_words(self.config)
        flags = self._flags(p, current["exists"].low, current["clamped"].low)
        word = (p.tiles(p.pad(labels)).astype(np.uint32).ravel() << np.uint32(current["label"].low)) | flags
        first = self._sites.of(p, Region.LMEM)
        if lmem is None:
            self._write(first, word, memory=True, stays=False)
            return None
        count, other, others = (p.tiles(p.pad(lmem[..., n])).astype(np.uint32).ravel() for n in (1, 2, 3))
        # The chip holds an entry's second word until the first is written, and then stores both.
        self._write(np.stack([first + 1, first], -1),
                    np.stack([other << before["label"].low | others << before["count"].low, word | count << current["count"].low],
                             -1), stays=False)

    def _flags(self, p: Placement, exists: int, clamped: int) -> np.ndarray:
        """(n,) uint32, the bits of sites that exist and are clamped, by tile, row and column."""
        name = f"flags_{exists}_{clamped}"
        if name not in p.derived:
            p.derived[name] = fixed(p.tiles(p.exists).astype(np.uint32) << exists | p.tiles(p.clamped).astype(np.uint32) << clamped)
        flags: np.ndarray = p.derived[name]
        return flags

    def _load_label_rows(self, p: Placement, labels: np.ndarray) -> None:
        """Labels with empty counts, those of several banks in a word."""
        c, fields = self.config, row_entry(self.config)
        word = (p.tiles(p.pad(labels)).astype(np.uint32).ravel() << np.uint32(fields["label"].low)
                | self._flags(p, fields["exists"].low, fields["clamped"].low))
        rows = self._sites.label_rows(p)
        self._write(rows.addresses, rows.words(word, c.lmem_row_bits), memory=True, stays=False)

    # -- run

    def forward(self, p: Placement, sweeps: int) -> None:
        """Begin a run of `sweeps` sweeps that draws as few labels as possible and counts none.

        It advances the order of the rows and the temperature schedule, guard bits included, to their state after so many sweeps
        of `p`. When it has ended and the problem has been loaded, `start` with `resume` continues with sweep `sweeps`.
        """
        with self._settled():
            self._load_registers(p)
        self.set(slots=self.config.min_slots, tile_groups=1, overlap=0, sweeps=sweeps, burn_in=sweeps)
        self.start()

    def start(self, resume: bool = False) -> None:
        """Begin at sweep 0, or go on from the sweep reached."""
        self.set(control=1 << CONTROL_BITS["resume" if resume else "start"])

    @property
    def busy(self) -> bool:
        return is_busy(self.get("status")[0])

    # -- read

    def lmem(self, p: Placement) -> np.ndarray:
        """(H, W, 4) int32, LMem of the image's sites, as of `mrfhw.field.result.Result`."""
        c = self.config
        if c.lmem_row_reads and not self._short:
            at = self._sites.kept(p, "entries", lambda: fixed(self._sites.of(p, Region.LMEM) + np.uint32(
                Region.LMEM_ROW - Region.LMEM << self.map.offset_bits)))
            entries = [self._read(at, (1 << sum(field.bits for fields in whole_entry(c) for field in fields.values())) - 1)] * 2
            layout = whole_entry(c)
        else:
            layout, wanted = entry_words(c), np.arange(p.entry_words, dtype=np.uint32)
            at = self._sites.kept(p, f"{p.entry_words} words", lambda: fixed(
                self._sites.of(p, Region.LMEM)[:, None] + wanted))
            kept = [sum(word[name].mask << word[name].low for name in ("label", "count")) for word in layout]
            words = self._read(at, kept[0] | kept[1]).reshape(-1, p.entry_words)
            entries = [*words.T, *[np.zeros(1, np.uint32)] * (LMEM_WORDS - p.entry_words)]
        found = np.zeros((*p.problem.shape, 2 * len(layout)), np.int32)
        for number, (fields, words) in enumerate(zip(layout, entries, strict=True)):
            if len(words) > 1:
                grid = p.untile(words)
                for place, name in enumerate(("label", "count")):
                    found[..., 2 * number + place] = fields[name].of(grid)
        return found

    def _read(self, addresses: np.ndarray, mask: int) -> np.ndarray:
        """Words of memories, of which the bits of `mask` are wanted."""
        return self._memory.read_memory(addresses, mask) if self._memory else self.chip.read(addresses)

    def reading_cycles(self, p: Placement) -> int:
        """Bus cycles that `lmem` takes."""
        return self.config.bus_read_cycles(self.reading_words(p))

    def reading_words(self, p: Placement) -> int:
        """Words that `lmem` reads."""
        words = 1 if self.config.lmem_row_reads and not self._short else p.entry_words
        return words * self.config.spes * p.tile_rows * p.tile_cols

    def generators(self) -> np.ndarray:
        """(generators, 4) uint32, their states. Four reads rotate a state once completely, so it does not change."""
        return self.chip.read(np.repeat(self.map.generators(), 4).astype(np.uint32)).reshape(-1, 4)
