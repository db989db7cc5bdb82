"""A PLL's dividers for a clock, within what each family's data sheet allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mrfhw.fpga.errors import BuildError
from mrfhw.machine.config import CLOCK_HZ

__all__ = ["LIMITS", "TOLERANCE", "Limits", "Pll", "pll_for"]

TOLERANCE = 0.001  # of the clock asked for, that a PLL may miss it by


@dataclass(frozen=True)
class Limits:
    """What a family's PLL can do, from its data sheet. Frequencies in Hz, least and most, both allowed.

    divide: of the input.
    multiply: of the feedback.
    post: dividers of the oscillator.
    input: frequency.
    detector: frequency of the phase detector.
    oscillator: frequency.
    output: frequency.
    from_output: its feedback is taken from the divided output, so `post` does not change the output's frequency.
    """

    divide: range
    multiply: range
    post: tuple[int, ...]
    input: tuple[float, float]
    detector: tuple[float, float]
    oscillator: tuple[float, float]
    output: tuple[float, float]
    from_output: bool = False


@dataclass(frozen=True)
class Pll:
    """A PLL's dividers: its phase detector is at input / divide, its oscillator at that x multiply (x post, too, where the
    feedback is from the output), and its output at oscillator / post."""

    input_hz: int
    divide: int
    multiply: int
    post: int
    from_output: bool

    @property
    def detector_hz(self) -> float:
        return self.input_hz / self.divide

    @property
    def oscillator_hz(self) -> float:
        return self.input_hz * self.multiply * (self.post if self.from_output else 1) / self.divide

    @property
    def output_hz(self) -> float:
        return self.oscillator_hz / self.post

    def also_makes(self, hz: int) -> bool:
        """Whether another divider of its oscillator gives `hz` exactly; 0 Hz are nothing to make."""
        return not hz or self.oscillator_hz % hz == 0

    def within(self, limits: Limits) -> bool:
        return all(low <= hz <= high for hz, (low, high) in (
            (self.input_hz, limits.input), (self.detector_hz, limits.detector), (self.oscillator_hz, limits.oscillator),
            (self.output_hz, limits.output)))


# ECP5: FPGA-DS-02012, sysCLOCK PLL. iCE40 UltraPlus: FPGA-DS-02008, FPGA-TN-02052 (divide is DIVR + 1, multiply DIVF + 1, post
# 2^DIVQ). Gowin: what GW1NR-9C C6/I5 (DS117) and GW2AR-18C C8/I7 (DS226) have in common. Cyclone V: CV-51002, the slowest grade.
# 7 series: DS181 and DS187, speed grades -1 and -1LI; UG472 for the dividers.
LIMITS = {
    "ecp5": Limits(range(1, 129), range(1, 81), tuple(range(1, 129)), (8e6, 400e6), (3.125e6, 400e6), (400e6, 800e6),
                   (3.125e6, 400e6), from_output=True),
    "ice40": Limits(range(1, 17), range(1, 129), (2, 4, 8, 16, 32, 64), (10e6, 133e6), (10e6, 133e6), (533e6, 1066e6),
                    (16e6, 275e6)),
    "gowin": Limits(range(1, 65), range(1, 65), (2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128), (3e6, 400e6), (3e6, 400e6),
                    (500e6, 1200e6), (3.90625e6, 600e6), from_output=True),
    "cyclone5": Limits(range(1, 513), range(1, 513), tuple(range(1, 513)), (5e6, 500e6), (5e6, 325e6), (600e6, 1300e6),
                       (0, 460e6)),
    "xilinx": Limits(range(1, 57), range(2, 65), tuple(range(1, 129)), (19e6, 800e6), (19e6, 450e6), (800e6, 1600e6),
                     (6.25e6, 800e6)),
}


def _candidates(limits: Limits, input_hz: int, output_hz: int) -> Iterator[Pll]:
    if not limits.input[0] <= input_hz <= limits.input[1]:
        return
    for divide in limits.divide:
        if not limits.detector[0] <= input_hz / divide <= limits.detector[1]:
            continue
        for post in limits.post:
            if not 0.99 * limits.oscillator[0] <= output_hz * post <= 1.01 * limits.oscillator[1]:
                continue  # no rounding brings it within
            multiply = round(output_hz * divide * (1 if limits.from_output else post) / input_hz)
            if multiply in limits.multiply:
                yield Pll(input_hz, divide, multiply, post, limits.from_output)


def pll_for(family: str, input_hz: int, output_hz: int, others: bool = False, beside_hz: int = 0,
            own_hz: int = 0) -> Pll | None:
    """The PLL's dividers for a clock, None where the oscillator has it already and no others are to be made beside it.

    beside_hz: a clock that the PLL must also make, exactly; 0 for none. own_hz: the board's own, 0 if not known: a faster one is
    proposed only where there is no other, as the machine may not reach what the PLL makes.
    Of those that come nearest, the one with the fastest phase detector, then the slowest oscillator. Raises BuildError where
    there are none, and for a family whose PLL is not used.
    """
    if output_hz == input_hz and not others and not beside_hz:
        return None
    if family not in LIMITS:
        raise BuildError(f"clock is {output_hz / 1e6:g} MHz; this board's machine runs at its oscillator's {input_hz / 1e6:g} MHz: "
                         "give that")
    found = _within(LIMITS[family], input_hz, output_hz, beside_hz)
    if not found:
        also = f" beside USB's {beside_hz / 1e6:g} MHz" if beside_hz else ""
        least, most = CLOCK_HZ
        nearest = sorted({own_hz or most, *range(least, most + 1, 10 ** 6)},
                         key=lambda hz: (hz > (own_hz or most), abs(hz - output_hz)))
        possible = (hz for hz in nearest
                    if (hz == input_hz and not beside_hz) or _within(LIMITS[family], input_hz, hz, beside_hz))
        none = "give another oscillator" if beside_hz else "give another, such as the oscillator's"
        way_out = next((f"give another, such as {hz / 1e6:g}" for hz in possible), none)
        raise BuildError(f"clock is {output_hz / 1e6:g} MHz; this board's PLL makes no such clock from {input_hz / 1e6:g} MHz"
                         f"{also}: {way_out}")
    return min(found, key=lambda pll: (abs(pll.output_hz - output_hz), pll.divide, pll.oscillator_hz))


def _within(limits: Limits, input_hz: int, output_hz: int, beside_hz: int) -> list[Pll]:
    return [pll for pll in _candidates(limits, input_hz, output_hz)
            if abs(pll.output_hz / output_hz - 1) <= TOLERANCE and pll.within(limits) and pll.also_makes(beside_hz)]
