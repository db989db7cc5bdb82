"""The machine's clock from a board's oscillator, and its reset."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

from amaranth import ClockDomain, ClockSignal, Const, Elaboratable, Module, ResetSignal, Signal, Value
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from mrfhw.fpga.board import Board
from mrfhw.fpga.dividers import LIMITS, Pll, pll_for
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.plls import PLLS, gated_clock
from mrfhw.gateware.board.board_top import divisor_for
from mrfhw.gateware.board.clock_crossing import MACHINE
from mrfhw.gateware.link.usb import USB, USB_HZ, USB_IO, USB_IO_HZ
from mrfhw.generation.ethernet_core import LEAST_HZ

__all__ = ["LATE", "MachineClock", "Rates", "rates_for"]

WAIT_SECONDS = 15e-6  # in reset after the PLL's lock: iCE40's block RAMs read as zero in the first 3 us
LATE = "late"  # the domain whose clock comes a quarter of a cycle after the link's


@dataclass(frozen=True)
class Rates:
    """The clocks of a machine and its link.

    pll: None where the machine's clock is the oscillator.
    hz: of the machine, within 0.1 % of what was asked for.
    link_post: divider of the PLL's oscillator that makes the link's clock of link_hz; None where the link has the machine's.
    baud: of a serial port; 0 where the link is Ethernet or USB.
    divisor: cycles of the link's clock a bit; likewise.
    """

    pll: Pll | None
    hz: float
    link_post: int | None
    baud: int
    divisor: int

    @property
    def link_hz(self) -> float:
        return self.pll.oscillator_hz / self.link_post if self.pll and self.link_post else self.hz


def rates_for(board: Board, clock_hz: int, baud: int) -> Rates:
    """Raises BuildError where the board cannot have the clock, or the clock not the serial rate."""
    if board.usb and board.family != "ecp5":
        raise BuildError(f"board has usb, and its family is {board.family!r}; only an ecp5 makes USB's clocks here: leave it out")
    pll = pll_for(board.family, board.oscillator_hz, clock_hz, board.link_hz is not None and clock_hz > board.link_hz,
                  USB_IO_HZ if board.usb else 0, board.clock_hz)
    hz = pll.output_hz if pll else float(clock_hz)
    if board.sdram and pll is None:
        raise BuildError(f"clock is {clock_hz / 1e6:g} MHz; the clock of this board's SDRAM comes from the PLL: give another "
                         "than the oscillator's")
    if board.ethernet:
        return _rates_of_ethernet(pll, hz, board.link_hz)
    if board.usb and pll:
        return Rates(pll, hz, round(pll.oscillator_hz / USB_IO_HZ) if board.link_hz and hz > board.link_hz else None, 0, 0)
    if board.link_hz and pll and hz > board.link_hz:
        return _rates_of_two_clocks(pll, board.link_hz, baud)
    try:
        return Rates(pll, hz, None, baud, divisor_for(round(hz), baud))
    except ValueError as error:
        raise BuildError(str(error)) from None


def _rates_of_ethernet(pll: Pll | None, hz: float, link_hz: int | None) -> Rates:
    """The fastest clock of the link up to `link_hz`."""
    post = math.ceil(pll.oscillator_hz / link_hz) if pll and link_hz and hz > link_hz else None
    rates = Rates(pll, hz, post, 0, 0)
    if rates.link_hz < LEAST_HZ:
        raise BuildError(f"clock is {hz / 1e6:g} MHz, the link's {rates.link_hz / 1e6:g}; Ethernet takes {LEAST_HZ / 1e6:g} MHz or "
                         "more: give a faster one")
    return rates


def _rates_of_two_clocks(pll: Pll, link_hz: int, baud: int) -> Rates:
    """The fastest clock of the link up to `link_hz` that has the serial rate, not below half of that."""
    first, most = math.ceil(pll.oscillator_hz / link_hz), LIMITS["ecp5"].post[-1]  # no other PLL here makes a second clock
    if first > most:
        raise BuildError(f"link_hz is {link_hz}; beside the machine's {pll.output_hz / 1e6:g} MHz this board's PLL makes "
                         f"{pll.oscillator_hz / most:.0f} Hz or more: give as many")
    for post in range(first, min(2 * first, most) + 1):
        with contextlib.suppress(ValueError):
            return Rates(pll, pll.output_hz, post, baud, divisor_for(round(pll.oscillator_hz / post), baud))
    raise BuildError(f"baud is {baud}; no clock of {link_hz / 2e6:g} to {link_hz / 1e6:g} MHz that this board's PLL makes beside "
                     f"the machine's {pll.output_hz / 1e6:g} MHz has a divisor within 2 % of it: give another rate or clock")


class MachineClock(Elaboratable):
    """Drives the domains "sync", `LATE` where the board has an SDRAM, `MACHINE` where the link has a clock of its own, and those of
    USB where it is that.

    The domains stand above it.
    In reset until the PLL is locked, and 15 us more; `MACHINE` has no clock that long, and no reset.
    """

    def __init__(self, board: Board, rates: Rates):
        self.board, self.rates = board, rates

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pll, rates = self.rates.pll, self.rates
        port = platform.request(platform.default_clk, dir="-")
        locked = Const(1)
        link = None
        if pll is None:
            m.submodules.buffer = buffer = io.Buffer("i", port)
            clock = buffer.i
        else:
            clock, locked = Signal(name="machine_clock"), Signal(name="pll_locked")
            others: dict[str, Any] = {}
            if self.board.sdram:
                others["late"] = Signal(name="late_clock")
                m.d.comb += ClockSignal(LATE).eq(others["late"])
                platform.add_clock_constraint(others["late"], rates.link_hz)
            if rates.link_post:
                link = Signal(name="link_clock")
                others["link"] = link, rates.link_post
                platform.add_clock_constraint(link, rates.link_hz)
            if self.board.usb:
                others["others"] = self._usb(m, platform, pll, link)
            PLLS[self.board.family](m, port, pll, clock, locked, self.board.device, **others)
            platform.add_clock_constraint(clock, rates.hz)
        m.d.comb += ClockSignal("sync").eq(clock if link is None else link)
        m.domains.starting = ClockDomain(local=True)
        m.d.comb += ClockSignal("starting").eq(ClockSignal("sync"))
        m.submodules.locked = ResetSynchronizer(~locked, domain="starting")
        wait = int(WAIT_SECONDS * rates.link_hz) + 1
        count = Signal(range(wait + 1))
        with m.If(count != wait):
            m.d.starting += count.eq(count + 1)
        m.submodules.reset = ResetSynchronizer(count != wait, domain="sync")
        if link is not None:
            self._machine(m, clock, count != wait)
        for domain in (USB, USB_IO) if self.board.usb else ():
            m.submodules[f"{domain}_reset"] = ResetSynchronizer(count != wait, domain=domain)
        return m

    @staticmethod
    def _machine(m: Module, clock: Signal, waiting: Value) -> None:
        """Clock `MACHINE`, after the wait. Its registers begin as the bitstream sets them, and no reset goes to them."""
        m.domains.wait = ClockDomain(local=True)
        m.d.comb += ClockSignal("wait").eq(clock)
        m.submodules.machine_wait = ResetSynchronizer(waiting, domain="wait")
        running = Signal(name="machine_running")
        gated_clock(m, clock, ~ResetSignal("wait"), running)
        m.d.comb += [ClockSignal(MACHINE).eq(running), ResetSignal(MACHINE).eq(0)]

    @staticmethod
    def _usb(m: Module, platform: Any, pll: Pll, link: Signal | None) -> list[tuple[Signal, int]]:
        """Clock USB's domains. Returns those that the PLL is to make, with dividers, but for a link's own clock, which is one."""
        made = []
        for domain, hz in ((USB_IO, USB_IO_HZ), (USB, USB_HZ)):
            clock = link if domain == USB_IO else None
            if clock is None:
                clock = Signal(name=f"{domain}_clock")
                platform.add_clock_constraint(clock, hz)
                made.append((clock, round(pll.oscillator_hz / hz)))
            m.d.comb += ClockSignal(domain).eq(clock)
        return made
