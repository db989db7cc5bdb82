"""The machine's clock from a board's oscillator, and its reset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth import ClockDomain, ClockSignal, Const, Elaboratable, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from mrfhw.fpga.boards import Board, BuildError
from mrfhw.fpga.dividers import Pll, pll_for
from mrfhw.fpga.plls import PLLS
from mrfhw.gateware.board.board_top import divisor_for

__all__ = ["LATE", "MachineClock", "Rates", "rates_for"]

WAIT_SECONDS = 15e-6  # in reset after the PLL's lock: iCE40's block RAMs read as zero in the first 3 us
LATE = "late"  # the domain whose clock comes a quarter of a cycle after the machine's


@dataclass(frozen=True)
class Rates:
    """The machine's clock and its serial port. pll: None where the clock is the oscillator. hz: within 0.1 % of what was asked for.

    divisor: clock cycles a bit.
    """

    pll: Pll | None
    hz: float
    baud: int
    divisor: int


def rates_for(board: Board, clock_hz: int, baud: int) -> Rates:
    """Raises BuildError where the board cannot have the clock, or the clock not the serial rate."""
    pll = pll_for(board.family, board.oscillator_hz, clock_hz)
    hz = pll.output_hz if pll else float(clock_hz)
    if board.sdram and pll is None:
        raise BuildError(f"clock is {clock_hz / 1e6:g} MHz; the clock of this board's SDRAM comes from the PLL: give another "
                         "than the oscillator's")
    try:
        return Rates(pll, hz, baud, divisor_for(round(hz), baud))
    except ValueError as error:
        raise BuildError(str(error)) from None


class MachineClock(Elaboratable):
    """Drives the domain "sync", which stands above, and `LATE` where the board has an SDRAM.

    In reset until the PLL is locked, and 15 us more.
    """

    def __init__(self, board: Board, rates: Rates):
        self.board, self.rates = board, rates

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pll, hz = self.rates.pll, self.rates.hz
        port = platform.request(platform.default_clk, dir="-")
        locked = Const(1)
        if pll is None:
            m.submodules.buffer = buffer = io.Buffer("i", port)
            clock = buffer.i
        else:
            clock, locked = Signal(name="machine_clock"), Signal(name="pll_locked")
            late = {}
            if self.board.sdram:
                late["late"] = Signal(name="late_clock")
                m.d.comb += ClockSignal(LATE).eq(late["late"])
                platform.add_clock_constraint(late["late"], hz)
            PLLS[self.board.family](m, port, pll, clock, locked, self.board.device, **late)
            platform.add_clock_constraint(clock, hz)
        m.d.comb += ClockSignal("sync").eq(clock)
        m.domains.starting = ClockDomain(local=True)
        m.d.comb += ClockSignal("starting").eq(clock)
        m.submodules.locked = ResetSynchronizer(~locked, domain="starting")
        wait = int(WAIT_SECONDS * hz) + 1
        count = Signal(range(wait + 1))
        with m.If(count != wait):
            m.d.starting += count.eq(count + 1)
        m.submodules.reset = ResetSynchronizer(count != wait, domain="sync")
        return m
