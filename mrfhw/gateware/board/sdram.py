"""A memory behind AXI4: a controller of a single data rate SDRAM of 16 bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import ID_BITS, OKAY, Axi4, byte_size

__all__ = ["CLOCK_LIMITS", "DATA_BITS", "READ_DELAY_LIMITS", "ReadAnswers", "SdramController", "SdramTiming"]

DATA_BITS = 16
ADDRESS_PINS = 13
ALL_BANKS = 10  # the bit of `a` that has a precharge close every bank
CLOCK_LIMITS = (20_000_000, 133_333_333)
READ_DELAY_LIMITS = (0, 4)
PAGE_BITS = 12 - byte_size(DATA_BITS)  # beats of the 4096 bytes that a burst stays in
ANSWERS = 16  # beats of read data that can wait for rready; more than can be in flight at the highest latency
_GEOMETRY = {"bank_bits": (1, 2), "row_bits": (11, ADDRESS_PINS), "column_bits": (8, 10), "cas_latency": (2, 3),
             "refreshes_first": (2, 8)}


@dataclass(frozen=True)
class SdramTiming:
    """Timing limits of an SDRAM in nanoseconds, named as in data sheets, and its geometry.

    The defaults suit each memory of the ULX3S: of every number the strictest that is known of MT48LC16M16A2 (speed grades -7E, -75)
    and AS4C32M16SB-7 (half of its columns stay unused), from their data sheets, and of IS42S16160, from LiteDRAM's table.

    tRCD, activate to read or write; tRP, precharge to activate: 21 (AS4C32M16SB-7; -75: 20). tRAS, activate to precharge: 44
    (-75). tRC, activate to activate of a bank, and tRFC, refresh to any command: 70 (IS42S16160; -75: 66). tRRD, activate to
    activate of another bank: 15 (-75). tWR, last data written to precharge: 20 (IS42S16160; -75: 15). tMRD, mode register to any
    command: 14 (AS4C32M16SB-7), at least two cycles (MT48LC16M16A2). tRAS_max, a row's longest time open: 100000 (the least of
    them). tREFI, from refresh to refresh: 7800 (AS4C32M16SB-7; 64 ms / 8192 in the others). power_up: 200000 (AS4C32M16SB).
    refreshes_first, before use: 8 (JEDEC JESD21-C; two in newer data sheets).
    tCK_2, tCK_3, the shortest cycle at a CAS latency of 2, 3: 10 and 7.5 (-75). tAC_2, tAC_3, clock to data, also to the bus let
    go: 6 and 5.4 (-75). tOH, data after the next clock: 2.5 (AS4C32M16SB-7).
    Rows, banks and columns are numbered by row_bits (11 to 13), bank_bits (1, 2), column_bits (8 to 10). cas_latency: 2 or 3.
    """

    tRCD: float = 21
    tRP: float = 21
    tRAS: float = 44
    tRC: float = 70
    tRFC: float = 70
    tRRD: float = 15
    tWR: float = 20
    tMRD: float = 14
    tRAS_max: float = 100_000
    tREFI: float = 7800
    power_up: float = 200_000
    tCK_2: float = 10
    tCK_3: float = 7.5
    tAC_2: float = 6
    tAC_3: float = 5.4
    tOH: float = 2.5
    refreshes_first: int = 8
    cas_latency: int = 2
    bank_bits: int = 2
    row_bits: int = 13
    column_bits: int = 9

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name in _GEOMETRY:
                low, high = _GEOMETRY[name]
                if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                    raise ValueError(f"{name} is {value!r}; it is a whole number from {low} to {high}: give one of them")
            elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise ValueError(f"{name} is {value!r}; it is nanoseconds, more than 0: give the data sheet's number")

    @property
    def tCK(self) -> float:
        """The shortest cycle at this CAS latency."""
        return self.tCK_2 if self.cas_latency == 2 else self.tCK_3

    @property
    def tAC(self) -> float:
        """Clock to data at this CAS latency."""
        return self.tAC_2 if self.cas_latency == 2 else self.tAC_3

    @property
    def address_bits(self) -> int:
        """Of a byte."""
        return self.row_bits + self.bank_bits + self.column_bits + byte_size(DATA_BITS)

    def cycles(self, name: str, clock_hz: int) -> int:
        """Cycles of a clock that keep the limit `name`: rounded up, at least one; a longest time is rounded down."""
        exact = Fraction(getattr(self, name)) * clock_hz / 10 ** 9
        if name in ("tREFI", "tRAS_max"):
            return math.floor(exact)
        return max(2 if name == "tMRD" else 1, math.ceil(exact))

    def beats_per_cycle(self, clock_hz: int) -> float:
        """Of a long sequence of writes through `SdramController`: what opening rows and refreshes leave."""
        row = sum(self.cycles(name, clock_hz) for name in ("tWR", "tRP", "tRCD"))
        beats, refresh = 1 << self.column_bits, row + self.cycles("tRFC", clock_hz) + 1
        return beats / (beats + row) * (1 - refresh / self.cycles("tREFI", clock_hz))


class Command(enum.Enum, shape=4):  # type: ignore[misc, call-arg]
    """cs_n, ras_n, cas_n, we_n, the last in bit 0."""

    NONE = 0b1111
    ACTIVATE = 0b0011
    READ = 0b0101
    WRITE = 0b0100
    PRECHARGE = 0b0010
    REFRESH = 0b0001
    MODE = 0b0000


class SdramController(wiring.Component):
    """An SDRAM as an AXI4 memory for long sequential bursts.

    memory: beats of 16 bits, byte addresses: from the top row, bank, column, byte. Bursts of type INCR, 1 to 256 beats that do not
    cross 4096 bytes; bit 0 of an address is not looked at, wlast neither. Bytes without wstrb keep their value. A response has its
    request's ID and is OKAY. One burst is carried out at a time, one more of each direction is taken in advance; where both wait,
    they take turns. A burst once begun is finished first: a master that withholds write data, or does not take read data or the
    response before, holds up the other direction. bvalid means that a later read sees the data.
    Throughput: a beat a cycle within a row, and from burst to burst in the same row and direction without a gap. One row is open
    at a time; it stays open until another is wanted or a refresh is due. Another row costs tWR (after a write) + tRP + tRCD, a
    refresh these and tRFC, a write after a read cas_latency + 1 cycles. In an open row read data stands in rdata
    cas_latency + read_delay + 5 cycles after the cycle that takes its request.
    Refresh: every tREFI, also within a burst and however long that is held up; late by at most tRAS + tRP and three cycles, which
    do not add up. Ready after power-up: two times power_up (first with cke low, then high: data sheets differ), then a precharge,
    the mode register and the first refreshes, one each tREFI: 0.48 ms. Requests are taken in the meantime. A reset starts over,
    the contents are lost.

    Pins: every output is a register, dq_i goes to one. The memory's clock is driven outside and rises a time `lag` after the
    clock here, half a cycle where it is the inverted clock. Commands need a lag of 1.5 ns and the rest of the cycle 0.8 ns. With
    `delay` for the clock's way out, the data's way in and the register's set-up, read data is taken at the edge
    cas_latency + read_delay cycles after the one that put the command out; that must lie between
    (cas_latency - 1) cycles + lag + tAC + delay and cas_latency cycles + lag + tOH + delay.
    read_delay: 0 to 4; one more for every register added on the way out and on the way in, and where the delay asks for it.
    clock_hz: 20 to 133 MHz, and no faster than the CAS latency allows.
    """

    def __init__(self, timing: SdramTiming, clock_hz: int, read_delay: int = 0):
        if not isinstance(timing, SdramTiming):
            raise ValueError(f"timing is {timing!r}; the memory is described by an SdramTiming: give one")
        _check("clock_hz", clock_hz, CLOCK_LIMITS, "a clock has {} to {} Hz")
        _check("read_delay", read_delay, READ_DELAY_LIMITS, "read data comes {} to {} cycles late")
        if clock_hz * Fraction(timing.tCK) > 10 ** 9:
            raise ValueError(f"clock_hz is {clock_hz}; a CAS latency of {timing.cas_latency} takes a cycle of {timing.tCK} ns: "
                             "give a slower clock or a CAS latency of 3")
        row = sum(timing.cycles(name, clock_hz) for name in ("tRCD", "tRAS", "tRP", "tRFC"))
        if timing.cycles("tREFI", clock_hz) <= 2 * row:
            raise ValueError(f"tREFI is {timing.tREFI}; opening a row and a refresh take {row} cycles of {clock_hz} Hz, half the "
                             "interval or less: give a longer interval or a faster clock")
        self.timing, self.clock_hz, self.read_delay = timing, clock_hz, read_delay
        super().__init__({
            "memory": In(Axi4(timing.address_bits, DATA_BITS)),
            "cke": Out(1), "cs_n": Out(1, init=1), "ras_n": Out(1, init=1), "cas_n": Out(1, init=1), "we_n": Out(1, init=1),
            "ba": Out(timing.bank_bits), "a": Out(ADDRESS_PINS), "dqm": Out(DATA_BITS // 8, init=(1 << DATA_BITS // 8) - 1),
            "dq_o": Out(DATA_BITS), "dq_oe": Out(1), "dq_i": In(DATA_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        t, bus = self.timing, self.memory
        m.submodules.answers = answers = ReadAnswers(t.cas_latency + self.read_delay)
        command = Signal(Command, init=Command.NONE)
        started = Signal()
        due = Signal()
        tick = self._start(m, command, started)

        burst = Signal(_request(t))
        valid = Signal()
        hit = Signal()
        is_open = Signal()
        opened = Signal(t.row_bits + t.bank_bits)
        line = burst.address[t.column_bits:]
        last = Signal()
        issue = Signal()
        waits = _Waits(m, t, self.clock_hz, command)
        run = started & ~due & valid & is_open & hit & waits.free
        m.d.comb += [
            last.eq(burst.left == 0),
            bus.wready.eq(run & burst.write & waits.write & (~last | ~bus.bvalid)),
            issue.eq(Mux(burst.write, bus.wready & bus.wvalid, run & answers.room)),
            answers.issue.eq(issue & ~burst.write), answers.last.eq(last), answers.id.eq(burst.id), answers.dq_i.eq(self.dq_i),
        ]
        # Closing a row has priority, so that a refresh does not wait for data.
        with m.If(started & waits.free):
            with m.If(issue):
                m.d.comb += command.eq(Mux(burst.write, Command.WRITE, Command.READ))
            with m.Elif(is_open & (due | (valid & ~hit))), m.If(waits.precharge):
                m.d.comb += command.eq(Command.PRECHARGE)
                m.d.sync += is_open.eq(0)
            with m.Elif(due):
                m.d.comb += command.eq(Command.REFRESH)
                m.d.sync += due.eq(0)
            with m.Elif(valid & ~is_open):
                m.d.comb += command.eq(Command.ACTIVATE)
                m.d.sync += [is_open.eq(1), hit.eq(1), opened.eq(line)]
        with m.If(tick & started):
            m.d.sync += due.eq(1)

        picked, pick = self._requests(m, ~valid | (issue & last))
        with m.If(issue):
            m.d.sync += [burst.address[:PAGE_BITS].eq(burst.address[:PAGE_BITS] + 1), burst.left.eq(burst.left - 1)]
            with m.If(burst.address[:t.column_bits].all()):
                m.d.sync += hit.eq(0)
            with m.If(last):
                m.d.sync += valid.eq(0)
        with m.If(pick):
            m.d.sync += [burst.eq(picked), valid.eq(1), hit.eq(picked.address[t.column_bits:] == opened)]

        with m.If(issue & burst.write & last):
            m.d.sync += [bus.bvalid.eq(1), bus.bid.eq(burst.id)]
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        m.d.comb += [bus.bresp.eq(OKAY), bus.rresp.eq(OKAY), bus.rvalid.eq(answers.valid), answers.ready.eq(bus.rready),
                     bus.rdata.eq(answers.beat.data), bus.rlast.eq(answers.beat.last), bus.rid.eq(answers.beat.id)]
        self._pins(m, command, burst, started)
        return m

    def _start(self, m: Module, command: Signal, started: Signal) -> Signal:
        """Count the refresh interval (returns its end) and step through the initialization, one step per interval."""
        t = self.timing
        interval = t.cycles("tREFI", self.clock_hz)
        timer = Signal(range(interval))
        tick = Signal()
        m.d.sync += tick.eq(timer == interval - 2)
        m.d.sync += timer.eq(Mux(tick, 0, timer + 1))
        wait = -(-t.cycles("power_up", self.clock_hz) // interval)
        precharge = 2 * wait
        mode = precharge + 1
        ready = mode + t.refreshes_first + 1
        step = Signal(range(ready))
        with m.If(tick & ~started):
            m.d.sync += [step.eq(step + 1), started.eq(step == ready - 1)]
            with m.If(step == wait - 1):
                m.d.sync += self.cke.eq(1)
            with m.If(step == precharge):
                m.d.comb += command.eq(Command.PRECHARGE)
            with m.Elif(step == mode):
                m.d.comb += command.eq(Command.MODE)
            with m.Elif(step > mode):
                m.d.comb += command.eq(Command.REFRESH)
        return tick

    def _requests(self, m: Module, free: Signal) -> tuple[data.View, Signal]:
        """Hold one request of each direction. Returns the one whose turn it is, and whether it begins in this cycle."""
        t, bus = self.timing, self.memory
        write = Signal(_request(t))
        read = Signal(_request(t))
        write_held = Signal()
        read_held = Signal()
        turn = Signal()
        picked = Signal(_request(t))
        pick = Signal()
        m.d.comb += [bus.awready.eq(~write_held), bus.arready.eq(~read_held), pick.eq(free & (write_held | read_held)),
                     picked.eq(Mux(write_held & (turn | ~read_held), write, read))]
        for held, kept, channel, is_write in ((write_held, write, "aw", 1), (read_held, read, "ar", 0)):
            of = {name: getattr(bus, channel + name) for name in ("valid", "addr", "len", "id")}
            m.d.comb += kept.write.eq(is_write)
            with m.If(of["valid"] & ~held):
                m.d.sync += [held.eq(1), kept.address.eq(of["addr"][byte_size(DATA_BITS):]), kept.left.eq(of["len"]),
                             kept.id.eq(of["id"])]
            with m.Elif(pick & (picked.write == is_write)):
                m.d.sync += [held.eq(0), turn.eq(not is_write)]
        return picked, pick

    def _pins(self, m: Module, command: Signal, burst: data.View, started: Signal) -> None:
        t, bus = self.timing, self.memory
        is_write, column = command == Command.WRITE, burst.address[:t.column_bits]
        m.d.sync += [
            Cat(self.we_n, self.cas_n, self.ras_n, self.cs_n).eq(command),
            self.ba.eq(Mux(command == Command.MODE, 0, burst.address[t.column_bits:][:t.bank_bits])),
            self.a.eq(column), self.a[ALL_BANKS].eq(command == Command.PRECHARGE),
            # dqm masks the data that is written now and the data that is read two cycles later.
            self.dqm.eq(Mux(started, Mux(is_write, ~bus.wstrb, 0), ~0)),
            self.dq_o.eq(bus.wdata), self.dq_oe.eq(is_write),
        ]
        with m.If(command == Command.ACTIVATE):
            m.d.sync += self.a.eq(burst.address[t.column_bits + t.bank_bits:])
        with m.If(command == Command.MODE):
            m.d.sync += self.a.eq(t.cas_latency << 4)  # bursts of one, sequential


class _Waits:
    """Which commands may be given in this cycle, according to the commands given before.

    free: any command except a precharge and a write. precharge, write: these commands may be given, while `free` is set.
    """

    def __init__(self, m: Module, timing: SdramTiming, clock_hz: int, command: Signal):
        cycles = {name: timing.cycles(name, clock_hz) for name in ("tRCD", "tRP", "tRAS", "tRC", "tRFC", "tWR")}
        # A row is open long enough for tRC too; only one is open at a time, which keeps tRRD.
        row = max(cycles["tRAS"], cycles["tRC"] - cycles["tRP"])
        self.free = self._count(m, command, {Command.ACTIVATE: cycles["tRCD"], Command.PRECHARGE: cycles["tRP"],
                                             Command.REFRESH: cycles["tRFC"]})
        self.precharge = self._count(m, command, {Command.ACTIVATE: row, Command.WRITE: cycles["tWR"],
                                                  Command.READ: timing.cas_latency - 1})
        # The bus is free for a cycle between data read and data written.
        self.write = self._count(m, command, {Command.READ: timing.cas_latency + 2})

    @staticmethod
    def _count(m: Module, command: Signal, distances: dict[Any, int]) -> Signal:
        """Whether each of these commands was given at least so many cycles ago (`distances`)."""
        left = Signal(range(max(distances.values())))
        done = Signal()
        m.d.comb += done.eq(left == 0)
        with m.If(~done):
            m.d.sync += left.eq(left - 1)
        for kind, distance in distances.items():
            with m.If((command == kind) & (left < distance)):
                m.d.sync += left.eq(distance - 1)
        return done


class ReadAnswers(wiring.Component):
    """Read data on its way from the pins to the master, in a queue that has room for every read that was issued.

    issue: a read command; `last` and `id` are put beside its data, `latency` + 1 cycles later. room: one more read may be issued.
    """

    def __init__(self, latency: int):
        self.latency = latency
        beat = data.StructLayout({"data": DATA_BITS, "last": 1, "id": ID_BITS})
        super().__init__({"issue": In(1), "last": In(1), "id": In(ID_BITS), "room": Out(1), "dq_i": In(DATA_BITS),
                          "beat": Out(beat), "valid": Out(1), "ready": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = SyncFIFOBuffered(width=len(self.beat.as_value()), depth=ANSWERS)
        dq = Signal(DATA_BITS, reset_less=True)
        m.d.sync += dq.eq(self.dq_i)
        issue, last, id = self.issue, self.last, self.id
        for stage in range(self.latency + 1):
            after = [Signal(name=f"issue_{stage}"), Signal(name=f"last_{stage}", reset_less=True),
                     Signal(ID_BITS, name=f"id_{stage}", reset_less=True)]
            m.d.sync += [now.eq(before) for now, before in zip(after, (issue, last, id), strict=True)]
            issue, last, id = after
        m.d.comb += [fifo.w_data.eq(Cat(dq, last, id)), fifo.w_en.eq(issue), self.beat.eq(fifo.r_data),
                     self.valid.eq(fifo.r_rdy), fifo.r_en.eq(self.ready)]
        room = Signal(range(ANSWERS + 1), init=ANSWERS)
        take = self.valid & self.ready
        m.d.comb += self.room.eq(room != 0)
        m.d.sync += room.eq(room - self.issue + take)
        return m


def _request(timing: SdramTiming) -> data.StructLayout:
    return data.StructLayout({"address": timing.address_bits - byte_size(DATA_BITS), "left": 8, "id": ID_BITS, "write": 1})


def _check(name: str, value: int, limits: tuple[int, int], says: str) -> None:
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}; {says.format(low, high)}: give a whole number between them")
