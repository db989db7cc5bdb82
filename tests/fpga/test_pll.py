"""PLLs: every clock that a family can make is made, within its data sheet's limits, and what the primitives are told makes it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.back import rtlil
from amaranth.hdl import IOPort
from amaranth.lib import io

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.dividers import LIMITS, TOLERANCE, Pll, pll_for
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.plls import PLLS

PLL_DIVIDERS_EVERY = pytest.mark.claim("clocks of boards",
    "a PLL's dividers: every clock in whole MHz that a family's data sheet allows, the others refused; the primitive is told so")

FAMILIES = sorted(LIMITS)
OSCILLATORS = {"ecp5": (25,), "ice40": (12,), "gowin": (27,), "cyclone5": (50,), "xilinx": (100, 125)}

# The data sheets' tables, in MHz, stated again: input divider, multiplier, output divider, phase detector, oscillator, output;
# and whether the feedback is from the divided output.
SHEETS = {
    "ecp5": (128, 80, list(range(1, 129)), (3.125, 400), (400, 800), (3.125, 400), True),
    "ice40": (16, 128, [2, 4, 8, 16, 32, 64], (10, 133), (533, 1066), (16, 275), False),
    "gowin": (64, 64, [2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128], (3, 400), (500, 1200), (3.90625, 600), True),
    "cyclone5": (512, 512, list(range(1, 513)), (5, 325), (600, 1300), (0, 460), False),
    "xilinx": (56, 64, list(range(1, 129)), (19, 450), (800, 1600), (6.25, 800), False),
}


def reachable(family: str, input_mhz: float) -> np.ndarray:
    """Every output in MHz that the data sheet allows, sorted."""
    divides, multiplies, posts, detector, oscillator, output, from_output = SHEETS[family]
    least = 2 if family == "xilinx" else 1
    compared = [n for n in range(1, divides + 1) if detector[0] <= input_mhz / n <= detector[1]]
    d, m, p = np.meshgrid(compared, np.arange(least, multiplies + 1), posts, indexing="ij")
    vco = input_mhz * m * (p if from_output else 1) / d
    out = vco / p
    kept = (vco >= oscillator[0]) & (vco <= oscillator[1]) & (out >= output[0]) & (out <= output[1])
    return np.unique(out[kept])


@PLL_DIVIDERS_EVERY
@pytest.mark.parametrize(("family", "input_mhz"), [(f, o) for f in FAMILIES for o in OSCILLATORS[f]])
def test_every_clock_that_there_is(family: str, input_mhz: int):
    """For each MHz: the nearest that the data sheet allows, or a refusal where that is more than 0.1 % off."""
    there, made = reachable(family, input_mhz), 0
    for mhz in range(1, 300):
        if mhz == input_mhz:
            continue
        nearest = np.abs(there - mhz).min() / mhz if len(there) else 1
        if abs(nearest - TOLERANCE) < 1e-9:
            continue  # rounding decides
        if nearest > TOLERANCE:
            with pytest.raises(BuildError, match=f"^clock is {mhz} MHz; this board's PLL makes no such clock from {input_mhz} MHz: "
                                                 "give another, such as [0-9]+$") as refusal:
                pll_for(family, input_mhz * 1_000_000, mhz * 1_000_000)
            other = int(str(refusal.value).rsplit(" ", 1)[1])
            assert other == input_mhz or np.abs(there - other).min() <= TOLERANCE * other
            continue
        pll = pll_for(family, input_mhz * 1_000_000, mhz * 1_000_000)
        assert pll is not None
        assert abs(pll.output_hz / (mhz * 1e6) - 1) == pytest.approx(nearest, abs=1e-9)
        assert_within_sheet(family, pll)
        made += 1
    assert made > 30


def assert_within_sheet(family: str, pll: Pll) -> None:
    divides, multiplies, posts, detector, oscillator, output, _ = SHEETS[family]
    assert 1 <= pll.divide <= divides
    assert (2 if family == "xilinx" else 1) <= pll.multiply <= multiplies
    assert pll.post in posts
    for hz, (low, high) in ((pll.detector_hz, detector), (pll.oscillator_hz, oscillator), (pll.output_hz, output)):
        assert low <= hz / 1e6 <= high


@PLL_DIVIDERS_EVERY
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("input_hz", [1_000_000, 900_000_000])
def test_an_input_that_the_pll_does_not_take(family: str, input_hz: int):
    with pytest.raises(BuildError, match="makes no such clock"):
        pll_for(family, input_hz, 60_000_000)


@pytest.mark.parametrize("family", [*FAMILIES, "arria10"])
def test_the_oscillator_itself_takes_no_pll(family: str):
    assert pll_for(family, 50_000_000, 50_000_000) is None


def test_a_family_without_a_pll():
    with pytest.raises(BuildError, match=r"^clock is 60 MHz; this board's machine runs at its oscillator's 50 MHz: give that$"):
        pll_for("arria10", 50_000_000, 60_000_000)


def test_of_the_nearest_the_fastest_detector():
    """25 to 100 MHz by ECP5 needs no input divider; of the oscillators from 400 MHz on the slowest."""
    assert pll_for("ecp5", 25_000_000, 100_000_000) == Pll(25_000_000, 1, 4, 4, True)
    assert pll_for("xilinx", 100_000_000, 60_000_000) == Pll(100_000_000, 1, 9, 15, False)


@PLL_DIVIDERS_EVERY
@pytest.mark.parametrize("name", BOARDS)
def test_every_boards_own_clock(name: str):
    board = BOARDS[name]
    pll = pll_for(board.family, board.oscillator_hz, board.clock_hz)
    if pll is not None:
        assert_within_sheet(board.family, pll)
        assert abs(pll.output_hz / board.clock_hz - 1) <= TOLERANCE


def test_a_clock_that_is_made_beside_it():
    """Every clock that there is beside 48 MHz, exactly, and no other."""
    made = 0
    for mhz in range(1, 300):
        try:
            pll = pll_for("ecp5", 25_000_000, mhz * 1_000_000, beside_hz=48_000_000)
        except BuildError:
            continue
        assert pll is not None
        assert_within_sheet("ecp5", pll)
        assert pll.oscillator_hz in (480e6, 720e6)
        made += 1
    assert made >= 9


def told(family: str, pll: Pll) -> tuple[dict[str, str], str]:
    """The parameters of the family's primitive, and the RTLIL around it."""
    m, clock, locked = Module(), Signal(name="clock"), Signal(name="locked")
    PLLS[family](m, io.SingleEndedPort(IOPort(1, name="pin"), direction="i"), pll, clock, locked, "GW1NR-9C")
    text = rtlil.convert(m, ports=[clock, locked])
    return {name: value.strip('"') for _, name, value in re.findall(r"(parameter|attribute)[^\\\n]* \\(\w+) (.*)", text)}, text


# The output in MHz by each primitive's own documentation: TN-02200, FPGA-TN-02052, UG286, UG472, the Altera PLL's user guide.
DOCUMENTED = {
    "ecp5": lambda mhz, p: mhz * int(p["CLKFB_DIV"]) / int(p["CLKI_DIV"]),
    "ice40": lambda mhz, p: mhz * (int(p["DIVF"]) + 1) / (2 ** int(p["DIVQ"]) * (int(p["DIVR"]) + 1)),
    "gowin": lambda mhz, p: mhz * (int(p["FBDIV_SEL"]) + 1) / (int(p["IDIV_SEL"]) + 1),
    "cyclone5": lambda mhz, p: float(p["output_clock_frequency0"].removesuffix(" MHz")),
    "xilinx": lambda mhz, p: mhz * int(p["CLKFBOUT_MULT"]) / int(p["DIVCLK_DIVIDE"]) / int(p["CLKOUT0_DIVIDE"]),
}
OSCILLATES = {
    "ecp5": lambda mhz, p: DOCUMENTED["ecp5"](mhz, p) * int(p["CLKOP_DIV"]),
    "ice40": lambda mhz, p: mhz * (int(p["DIVF"]) + 1) / (int(p["DIVR"]) + 1),
    "gowin": lambda mhz, p: DOCUMENTED["gowin"](mhz, p) * int(p["ODIV_SEL"]),
    "xilinx": lambda mhz, p: mhz * int(p["CLKFBOUT_MULT"]) / int(p["DIVCLK_DIVIDE"]),
}


@PLL_DIVIDERS_EVERY
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mhz", [24, 36, 45, 60, 75, 120])
def test_what_the_primitive_is_told(family: str, mhz: int):
    for input_mhz in OSCILLATORS[family]:
        try:
            pll = pll_for(family, input_mhz * 1_000_000, mhz * 1_000_000)
        except BuildError:
            assert np.abs(reachable(family, input_mhz) - mhz).min() > mhz * TOLERANCE
            continue
        assert pll is not None
        parameters, text = told(family, pll)
        assert DOCUMENTED[family](input_mhz, parameters) == pytest.approx(mhz, rel=TOLERANCE)
        if family in OSCILLATES:
            low, high = SHEETS[family][4]
            assert low <= OSCILLATES[family](input_mhz, parameters) <= high
        if family == "cyclone5":
            assert parameters["reference_clock_frequency"] == "50.0 MHz"
        if family == "xilinx":
            assert float(parameters["CLKIN1_PERIOD"]) == 1000 / input_mhz
            assert "\\BUFG" in text
        assert "\\clock" in text
        assert "\\locked" in text


def test_an_oscillator_of_which_no_clock_beside_usb_is_made():
    with pytest.raises(BuildError, match=r"^clock is 45 MHz; this board's PLL makes no such clock from 33\.3333 MHz beside USB's "
                                         "48 MHz: give another oscillator$"):
        pll_for("ecp5", 33_333_333, 45_000_000, beside_hz=48_000_000)
