"""The Tang Nano 20K: what a machine with a serial port needs of it."""

from __future__ import annotations

from amaranth.build import Attrs, Clock, Pins, Resource, Subsignal
from amaranth.vendor import GowinPlatform

__all__ = ["TangNano20kPlatform"]


class TangNano20kPlatform(GowinPlatform):
    """Clock and UART (through the board's USB controller), LEDs; pins from the maker's schematic."""

    part = "GW2AR-LV18QN88C8/I7"
    family = "GW2AR-18C"
    default_clk = "clk27"
    resources = [  # noqa: RUF012 - as Amaranth's platforms state it
        Resource("clk27", 0, Pins("4", dir="i"), Clock(27e6), Attrs(IO_TYPE="LVCMOS33")),
        Resource("uart", 0, Subsignal("rx", Pins("70", dir="i")), Subsignal("tx", Pins("69", dir="o")),
                 Attrs(PULL_MODE="UP", IO_TYPE="LVCMOS33")),
    ]
    connectors: list[object] = []  # noqa: RUF012
