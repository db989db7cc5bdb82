"""The Arria 10 GX FPGA Development Kit: what a machine with a serial port needs of it."""

from __future__ import annotations

from typing import Any

from amaranth.build import Attrs, Clock, Connector, Pins, Resource, Subsignal
from amaranth.vendor import AlteraPlatform

from mrfhw.fpga.vendors import QuartusProject

__all__ = ["Arria10GxPlatform"]


class Arria10GxPlatform(QuartusProject, AlteraPlatform):
    """DK-DEV-10AX115S-A, its 50 MHz oscillator and a serial port on FMC connector A.

    The kit has no serial port for the FPGA. This one is on FMC A (J1), where a public design for the kit has its own: the adapter's
    TXD at C26 (LA27_P, FPGA pin AP21), its RXD at C27 (LA27_N, AR21), through a breakout card. The pins are at
    the connector's voltage, 1.8 V by default (user guide 683526, default switch settings): use a 1.8 V adapter, never 3.3 V, and
    check both pins against the schematic of your board's revision before connecting anything.

    The device is the user guide's. The pin of the 50 MHz clock (AU33, 1.8 V) and those of FMC A come from public projects for the
    kit, and have not been seen in a document of Intel's.
    """

    family = "Arria 10"
    device = "10AX115S2"
    package = "F45"
    speed = "I1"
    suffix = "SG"
    default_clk = "clk50"
    resources = [  # noqa: RUF012 - as Amaranth's platforms state it
        Resource("clk50", 0, Pins("AU33", dir="i"), Clock(50e6), Attrs(io_standard="1.8 V")),
        Resource("uart", 0, Subsignal("rx", Pins("c26", dir="i", conn=("fmc_a", 0))),
                 Subsignal("tx", Pins("c27", dir="o", conn=("fmc_a", 0))), Attrs(io_standard="1.8 V")),
    ]
    connectors = [Connector("fmc_a", 0, {"c26": "AP21", "c27": "AR21"})]  # noqa: RUF012

    def get_io_buffer(self, buffer: Any) -> Any:
        """Plain Verilog: the family does not have ALTIOBUF, with which Amaranth makes a buffer."""
        return buffer.elaborate(None)
