"""A model of an SDRAM after its data sheet: it stores data, and fails on a command that comes too early or too late."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NamedTuple

from mrfhw.gateware.board.sdram import SdramTiming

__all__ = ["Output", "Pins", "SdramModel"]

LONG_AGO = -1e12
AUTO_PRECHARGE = 10  # the bit of `a` in a read or write; in a precharge it means all banks
MODE_CYCLES = 2  # tMRD in clocks (MT48LC16M16A2, table 13)
DQM_LATENCY = 2  # clocks from dqm to the data read that it masks
MASKED = 0x5AA5  # on the bus where dqm masks a byte


class Pins(NamedTuple):
    """The memory's inputs at a rising edge of its clock."""

    cke: int = 1
    cs_n: int = 1
    ras_n: int = 1
    cas_n: int = 1
    we_n: int = 1
    ba: int = 0
    a: int = 0
    dqm: int = 0
    dq: int = 0
    dq_oe: int = 0  # the controller drives dq


class Output(NamedTuple):
    """Data on the bus: it may change from `begin` on, is `value` from `valid` to `until`, and the bus is let go by `end`."""

    begin: float
    valid: float
    until: float
    end: float
    value: int


@dataclass
class _Bank:
    row: int | None = None
    activated: float = LONG_AGO
    precharged: float = LONG_AGO
    written: float = LONG_AGO
    read: int = -1000  # number of the edge


@dataclass
class _Read:
    edge: int  # of the command
    value: int
    masked: int = 0


@dataclass
class _Progress:
    """Of the initialization and of refreshing."""

    cke_high: float | None = None
    precharged: bool = False
    refreshes: int = 0
    mode_set: bool = False
    ready: float | None = None  # from then on refreshes are due
    due: int = 0  # refreshes made since
    refreshed: float = LONG_AGO
    mode: float = LONG_AGO
    mode_edge: int = -1000


@dataclass
class SdramModel:
    """Call `edge` at each rising edge of the memory's clock; a broken rule is an AssertionError that names it.

    timing: the data sheet; only its nanoseconds are used, the clock is what the edges say. period: of the clock, ns. lag: ns by
    which the memory's clock rises after the controller's outputs change. postponed: refreshes that may be late at a time.
    Data never written reads as noise.
    """

    timing: SdramTiming
    period: float
    lag: float
    postponed: int = 8
    counts: dict[str, int] = field(default_factory=dict)  # commands taken, by name
    longest_gap: float = 0  # ns between refreshes

    def __post_init__(self) -> None:
        t = self.timing
        assert self.period >= t.tCK, f"tCK: a cycle of {self.period} ns; CAS latency {t.cas_latency} takes {t.tCK} ns"
        self.banks = [_Bank() for _ in range(1 << t.bank_bits)]
        self.cells: dict[tuple[int, int, int], int] = {}
        self.progress, self.reads, self.windows = _Progress(), list[_Read](), list[Output]()
        self.number, self.start, self.noise = -1, 0.0, random.Random(1)

    def edge(self, now: float, pins: Pins) -> Output | None:
        """A rising edge at `now`, ns. Data that follows it on the bus, if any."""
        self.number += 1
        name = self._command(pins)
        p = self.progress
        if p.cke_high is None:
            assert name == "nothing", f"power-up: {name} at {now} ns, with cke low"
            p.cke_high = now if pins.cke else None
            return None
        assert pins.cke, f"cke falls at {now} ns: a row or the contents are lost"
        if name != "nothing":
            waited = now - p.cke_high
            assert waited >= self.timing.power_up, f"power-up: {name} after {waited} ns, not {self.timing.power_up}"
            self.counts[name] = self.counts.get(name, 0) + 1
            getattr(self, "_" + name)(now, pins)
        assert p.mode_set or pins.dqm == 3, f"power-up: dqm is {pins.dqm} at {now} ns, before the mode register is set"
        self._due(now)
        for bank in self.banks:
            assert bank.row is None or now - bank.activated <= self.timing.tRAS_max, \
                f"tRAS_max: a row is open for {now - bank.activated} ns, not {self.timing.tRAS_max} at most"
        return self._bus(now, pins)

    @staticmethod
    def _command(pins: Pins) -> str:
        if pins.cs_n:
            return "nothing"
        return {(1, 1, 1): "nothing", (0, 1, 1): "activate", (1, 0, 1): "read", (1, 0, 0): "write", (0, 1, 0): "precharge",
                (0, 0, 1): "refresh", (0, 0, 0): "load_mode", (1, 1, 0): "burst_stop"}[pins.ras_n, pins.cas_n, pins.we_n]

    def _least(self, name: str, since: float, now: float, what: str) -> None:
        """At least the time `name` has passed; a picosecond is forgiven, what binary fractions of ns may differ by."""
        least = getattr(self.timing, name)
        assert now - since >= least - 1e-3, f"{name}: {what} after {now - since:.3f} ns, not {least}, at {now} ns"

    def _after_all(self, now: float, what: str) -> None:
        """Check the limits that hold for every command except NOP."""
        p = self.progress
        self._least("tRFC", p.refreshed, now, f"{what} after a refresh")
        self._least("tMRD", p.mode, now, f"{what} after the mode register")
        clocks = self.number - p.mode_edge
        assert clocks >= MODE_CYCLES, f"tMRD: {what} {clocks} clocks after the mode register, not {MODE_CYCLES}"

    def _idle(self, now: float, what: str) -> None:
        for number, bank in enumerate(self.banks):
            assert bank.row is None, f"{what} at {now} ns with bank {number} open"
            self._least("tRP", bank.precharged, now, f"{what} after a precharge")

    def _activate(self, now: float, pins: Pins) -> None:
        p, bank = self.progress, self.banks[pins.ba]
        assert p.mode_set, f"initialization: activate at {now} ns before the mode register is set"
        assert p.refreshes >= self.timing.refreshes_first, \
            f"initialization: {p.refreshes} refreshes before the first activate, not {self.timing.refreshes_first}"
        self._after_all(now, "activate")
        assert bank.row is None, f"activate at {now} ns of bank {pins.ba}, which is open"
        self._least("tRP", bank.precharged, now, "activate after a precharge")
        self._least("tRC", bank.activated, now, "activate after an activate of the bank")
        for other in self.banks:
            if other is not bank:
                self._least("tRRD", other.activated, now, "activate after an activate of another bank")
        assert pins.a >> self.timing.row_bits == 0, f"activate of row {pins.a} at {now} ns; there are {self.timing.row_bits} bits"
        bank.row, bank.activated = pins.a, now

    def _opened(self, what: str, now: float, pins: Pins) -> tuple[int, int, int]:
        """The cell of a read or write."""
        bank = self.banks[pins.ba]
        self._after_all(now, what)
        assert bank.row is not None, f"{what} at {now} ns of bank {pins.ba}, which is closed"
        self._least("tRCD", bank.activated, now, f"{what} after the activate")
        assert not pins.a >> AUTO_PRECHARGE & 1, f"{what} at {now} ns with auto precharge, which is not modelled"
        assert pins.a >> self.timing.column_bits == 0, f"{what} at {now} ns of column {pins.a}"
        return pins.ba, bank.row, pins.a

    def _read(self, now: float, pins: Pins) -> None:
        cell = self._opened("read", now, pins)
        self.banks[pins.ba].read = self.number
        self.reads.append(_Read(self.number, self.cells.get(cell, self.noise.getrandbits(16))))

    def _write(self, now: float, pins: Pins) -> None:
        cell = self._opened("write", now, pins)
        assert pins.dq_oe, f"write at {now} ns without data"
        assert not self.reads, f"dq bus: write at {now} ns, before the data of a read"
        self.banks[pins.ba].written = now
        kept = sum(0xFF << 8 * lane for lane in range(2) if pins.dqm >> lane & 1)
        old = self.cells.get(cell, self.noise.getrandbits(16))
        self.cells[cell] = pins.dq & ~kept | old & kept

    def _precharge(self, now: float, pins: Pins) -> None:
        self._after_all(now, "precharge")
        every = pins.a >> AUTO_PRECHARGE & 1
        self.progress.precharged |= bool(every)
        for bank in self.banks if every else [self.banks[pins.ba]]:
            if bank.row is None and every:
                continue  # no more than nothing to a closed bank
            self._least("tRAS", bank.activated, now, "precharge after the activate")
            self._least("tWR", bank.written, now, "precharge after a write")
            clocks, least = self.number - bank.read, self.timing.cas_latency - 1
            assert clocks >= least, f"precharge {clocks} clocks after a read, not {least}, at {now} ns"
            bank.row, bank.precharged = None, now
        if every:
            self._closed_all(now)

    def _closed_all(self, now: float) -> None:
        """After power-up any bank may have been open."""
        if not self.progress.mode_set:
            for bank in self.banks:
                bank.precharged = now

    def _refresh(self, now: float, pins: Pins) -> None:
        p = self.progress
        assert p.precharged, f"initialization: refresh at {now} ns before a precharge of all banks"
        self._after_all(now, "refresh")
        self._idle(now, "refresh")
        if p.ready is not None:
            self.longest_gap = max(self.longest_gap, now - max(p.refreshed, p.ready))
            p.due += 1
        p.refreshes, p.refreshed = p.refreshes + 1, now

    def _load_mode(self, now: float, pins: Pins) -> None:
        p, t = self.progress, self.timing
        assert p.precharged, f"initialization: mode register at {now} ns before a precharge of all banks"
        self._after_all(now, "mode register")
        self._idle(now, "mode register")
        assert pins.ba == 0, f"mode register: ba is {pins.ba}, reserved"
        assert pins.a & 0b1_1101_1000_1111 == 0, f"mode register: {pins.a:013b} is not bursts of one, sequential"
        assert pins.a >> 4 & 7 == t.cas_latency, f"mode register: CAS latency {pins.a >> 4 & 7}, not {t.cas_latency}"
        p.mode_set, p.mode, p.mode_edge, p.ready = True, now, self.number, now

    def _burst_stop(self, now: float, pins: Pins) -> None:
        raise AssertionError(f"burst stop at {now} ns; bursts have a length of one")

    def _due(self, now: float) -> None:
        """Refreshes of the time since initialization, of which `postponed` may be to come; and no longer gap than those make."""
        p = self.progress
        if p.ready is not None:
            wanted = int((now - p.ready) / self.timing.tREFI)
            assert p.due + self.postponed >= wanted, \
                f"tREFI: {p.due} refreshes after {now - p.ready} ns, not {wanted}, of which {self.postponed} may be late"
            gap, longest = now - max(p.refreshed, p.ready), (self.postponed + 1) * self.timing.tREFI
            assert gap <= longest, f"tREFI: no refresh for {gap} ns, {longest} at most"

    def _bus(self, now: float, pins: Pins) -> Output | None:
        """Data that the clock edge puts on the bus; and whether the controller drives in the time of any."""
        t, output = self.timing, None
        for read in self.reads:
            if self.number == read.edge + t.cas_latency - DQM_LATENCY:
                read.masked = pins.dqm
        if self.reads and self.number == self.reads[0].edge + t.cas_latency - 1:
            read = self.reads.pop(0)
            value = read.value
            for lane in range(2):
                if read.masked >> lane & 1:
                    value = value & ~(0xFF << 8 * lane) | MASKED & 0xFF << 8 * lane
            output = Output(now, now + t.tAC, now + self.period + t.tOH, now + self.period + t.tAC, value)
            self.windows.append(output)
        self.windows = [w for w in self.windows if w.end > now - self.period]
        if pins.dq_oe:
            begin, end = now - self.lag, now - self.lag + self.period
            for window in self.windows:
                assert window.end <= begin or window.begin >= end, \
                    f"dq bus: the controller drives from {begin} to {end} ns, the memory from {window.begin} to {window.end} ns"
        return output
