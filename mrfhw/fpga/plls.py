"""The families' PLLs as instances: input clock to output clock and lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth import Const, Instance, Module, Signal, Value
from amaranth.lib import io

from mrfhw.fpga.dividers import Pll

__all__ = ["PLLS", "gated_clock"]


def _buffered(m: Module, port: Any) -> Signal:
    m.submodules.oscillator = buffer = io.Buffer("i", port)
    return buffer.i


def ecp5(m: Module, port: Any, pll: Pll, clock: Signal, locked: Signal, device: str, late: Signal | None = None,
         link: tuple[Signal, int] | None = None, others: Sequence[tuple[Signal, int]] = ()) -> None:
    """EHXPLLL, feedback from its first output. link: another clock, and the divider of the PLL's oscillator that makes it.
    late: a clock a quarter of a cycle after the link's, or after the first where that has no clock of its own. others: more such as
    the link's, two with it at most."""
    post = link[1] if link else pll.post
    eighths = post - 1 << 3
    shifted: dict[str, Any] = {} if late is None else dict(
        p_CLKOS_DIV=post, p_CLKOS_ENABLE="ENABLED", p_CLKOS_CPHASE=eighths + 2 * post >> 3,
        p_CLKOS_FPHASE=eighths + 2 * post & 7, o_CLKOS=late)
    for at, (signal, divider) in enumerate([link, *others] if link else others, 2):
        assert at <= 3, "the PLL has no more outputs"
        shifted |= {f"p_CLKOS{at}_DIV": divider, f"p_CLKOS{at}_ENABLE": "ENABLED", f"p_CLKOS{at}_CPHASE": divider - 1,
                    f"p_CLKOS{at}_FPHASE": 0, f"o_CLKOS{at}": signal}
    m.submodules.pll = Instance(
        "EHXPLLL", a_FREQUENCY_PIN_CLKI=f"{pll.input_hz / 1e6:g}", a_FREQUENCY_PIN_CLKOP=f"{pll.output_hz / 1e6:g}",
        a_ICP_CURRENT="12", a_LPF_RESISTOR="8", a_MFG_ENABLE_FILTEROPAMP="1", a_MFG_GMCREF_SEL="2",
        p_CLKI_DIV=pll.divide, p_CLKFB_DIV=pll.multiply, p_CLKOP_DIV=pll.post, p_CLKOP_ENABLE="ENABLED",
        p_CLKOP_CPHASE=pll.post - 1, p_CLKOP_FPHASE=0, p_FEEDBK_PATH="CLKOP", p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED",
        p_STDBY_ENABLE="DISABLED", p_DPHASE_SOURCE="DISABLED", p_OUTDIVIDER_MUXA="DIVA",
        i_CLKI=_buffered(m, port), i_CLKFB=clock, i_RST=Const(0), i_STDBY=Const(0), i_PHASESEL0=Const(0), i_PHASESEL1=Const(0),
        i_PHASEDIR=Const(1), i_PHASESTEP=Const(1), i_PHASELOADREG=Const(1), i_PLLWAKESYNC=Const(0), i_ENCLKOP=Const(0),
        o_CLKOP=clock, o_LOCK=locked, **shifted)


def gated_clock(m: Module, clock: Signal, enable: Value, gated: Signal) -> None:
    """`clock` while `enable`, of its own domain, is set: DCCA, the buffer of ECP5's global clocks."""
    m.submodules.gate = Instance("DCCA", i_CLKI=clock, i_CE=enable, o_CLKO=gated)


def ice40(m: Module, port: Any, pll: Pll, clock: Signal, locked: Signal, device: str) -> None:
    """SB_PLL40_PAD, which takes the pin itself."""
    bands = (17e6, 26e6, 44e6, 66e6, 101e6)
    m.submodules.pll = Instance(
        "SB_PLL40_PAD", p_FEEDBACK_PATH="SIMPLE", p_DIVR=pll.divide - 1, p_DIVF=pll.multiply - 1,
        p_DIVQ=pll.post.bit_length() - 1, p_FILTER_RANGE=1 + sum(pll.detector_hz >= band for band in bands),
        i_PACKAGEPIN=port.io, i_RESETB=Const(1), i_BYPASS=Const(0), o_PLLOUTGLOBAL=clock, o_LOCK=locked)


def gowin(m: Module, port: Any, pll: Pll, clock: Signal, locked: Signal, device: str) -> None:
    """rPLL with fixed dividers."""
    m.submodules.pll = Instance(
        "rPLL", p_FCLKIN=f"{pll.input_hz / 1e6:g}", p_DEVICE=device, p_IDIV_SEL=pll.divide - 1, p_FBDIV_SEL=pll.multiply - 1,
        p_ODIV_SEL=pll.post, p_DYN_IDIV_SEL="false", p_DYN_FBDIV_SEL="false", p_DYN_ODIV_SEL="false", p_DYN_DA_EN="false",
        p_PSDA_SEL="0000", p_DUTYDA_SEL="1000", p_DYN_SDIV_SEL=2, p_CLKFB_SEL="internal", p_CLKOUT_BYPASS="false",
        p_CLKOUTP_BYPASS="false", p_CLKOUTD_BYPASS="false", p_CLKOUTD_SRC="CLKOUT", p_CLKOUTD3_SRC="CLKOUT",
        i_CLKIN=_buffered(m, port), i_CLKFB=Const(0), i_RESET=Const(0), i_RESET_P=Const(0), i_FBDSEL=Const(0, 6),
        i_IDSEL=Const(0, 6), i_ODSEL=Const(0, 6), i_PSDA=Const(0, 4), i_DUTYDA=Const(0, 4),
        i_FDLY=Const(0, 4), o_CLKOUT=clock, o_LOCK=locked)


def cyclone5(m: Module, port: Any, pll: Pll, clock: Signal, locked: Signal, device: str) -> None:
    """altera_pll, whose dividers Quartus finds; direct: no delay is compensated, as no pin depends on the clock's phase."""
    m.submodules.pll = Instance(
        "altera_pll", p_pll_type="General", p_pll_subtype="General", p_fractional_vco_multiplier="false", p_operation_mode="direct",
        p_number_of_clocks=1, p_reference_clock_frequency=f"{pll.input_hz / 1e6} MHz",
        p_output_clock_frequency0=f"{pll.output_hz / 1e6:.6f} MHz", p_phase_shift0="0 ps", p_duty_cycle0=50,
        i_refclk=_buffered(m, port), i_rst=Const(0), i_fbclk=Const(0), o_outclk=clock, o_locked=locked)


def xilinx(m: Module, port: Any, pll: Pll, clock: Signal, locked: Signal, device: str) -> None:
    """PLLE2_BASE of the 7 series with its feedback inside, and a global buffer."""
    feedback, output = Signal(name="pll_feedback"), Signal(name="pll_output")
    m.submodules.pll = Instance(
        "PLLE2_BASE", p_BANDWIDTH="OPTIMIZED", p_STARTUP_WAIT="FALSE", p_CLKIN1_PERIOD=round(1e9 / pll.input_hz, 3),
        p_DIVCLK_DIVIDE=pll.divide, p_CLKFBOUT_MULT=pll.multiply, p_CLKOUT0_DIVIDE=pll.post,
        i_CLKIN1=_buffered(m, port), i_CLKFBIN=feedback, i_RST=Const(0), i_PWRDWN=Const(0),
        o_CLKFBOUT=feedback, o_CLKOUT0=output, o_LOCKED=locked)
    m.submodules.global_buffer = Instance("BUFG", i_I=output, o_O=clock)


PLLS: dict[str, Callable[..., None]] = {
    "ecp5": ecp5, "ice40": ice40, "gowin": gowin, "cyclone5": cyclone5, "xilinx": xilinx}
