"""Boards of amaranth-boards with an FPGA of Intel or AMD: serial port and constraints for a machine."""

from __future__ import annotations

from amaranth.build import Attrs, Pins, Resource, Subsignal
from amaranth_boards.arty_a7 import ArtyA7_35Platform, ArtyA7_100Platform
from amaranth_boards.arty_z7 import ArtyZ720Platform
from amaranth_boards.de10_nano import DE10NanoPlatform

from mrfhw.fpga.vendors import QuartusProject, VivadoProject

__all__ = ["ArtyA7With35", "ArtyA7With100", "ArtyZ7With20", "De10Nano"]


class De10Nano(QuartusProject, DE10NanoPlatform):
    """Terasic DE10-Nano.

    The board's USB serial port is the processor's; the FPGA's is on the Arduino header: the adapter's TXD at IO0
    (FPGA pin AG13), its RXD at IO1 (AF13), 3.3 V.
    """

    family = "Cyclone V"


class ArtyA7With35(VivadoProject, ArtyA7_35Platform):
    """Digilent Arty A7-35T; the serial port is the board's own USB."""


class ArtyA7With100(VivadoProject, ArtyA7_100Platform):
    """Digilent Arty A7-100T; the serial port is the board's own USB. Its FPGA is an XC7A100TCSG324-1, not the -1LI of the 35T."""

    device = "xc7a100t"
    speed = "1"


class ArtyZ7With20(VivadoProject, ArtyZ720Platform):
    """Digilent Arty Z7-20, programmable logic alone: clock from the Ethernet PHY, which needs no program of the processor's.

    The board's USB serial port is the processor's; the logic's is on Pmod JA, where a Pmod USBUART in the upper row has it: the
    adapter's RXD at JA2 (FPGA pin Y19), its TXD at JA3 (Y16), 3.3 V.
    """

    resources = [  # noqa: RUF012 - as Amaranth's platforms state it
        *ArtyZ720Platform.resources,
        Resource("uart", 0, Subsignal("rx", Pins("3", dir="i", conn=("pmod", 0))),
                 Subsignal("tx", Pins("2", dir="o", conn=("pmod", 0))), Attrs(IOSTANDARD="LVCMOS33")),
    ]
