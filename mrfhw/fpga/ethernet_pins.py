"""An Ethernet PHY's pins."""

from __future__ import annotations

from typing import Any

from amaranth import Elaboratable, Module
from amaranth.lib import io

from mrfhw.machine.link_protocol import ETHERNET_HZ

__all__ = ["EthernetPins"]


class EthernetPins(Elaboratable):
    """A board's top (`mrfhw.gateware.board.ethernet_top.EthernetTop`) at the platform's "eth_rgmii". The core has the registers in
    the pins; the PHY's settings are those of its pins, as its management interface is left alone."""

    def __init__(self, top: Any):
        self.top = top

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        top, ports = self.top, platform.request("eth_rgmii", 0, dir="-")
        platform.add_clock_constraint(ports.rx_clk.io, ETHERNET_HZ)
        for name, port, value in (("rx_clock", ports.rx_clk, top.rgmii_rx_clock), ("rx_ctl", ports.rx_ctrl, top.rgmii_rx_ctl),
                                  ("rx_data", ports.rx_data, top.rgmii_rx_data)):
            m.submodules[name] = pin = io.Buffer("i", port)
            m.d.comb += value.eq(pin.i)
        for name, port, value in (("tx_clock", ports.tx_clk, top.rgmii_tx_clock), ("tx_ctl", ports.tx_ctrl, top.rgmii_tx_ctl),
                                  ("tx_data", ports.tx_data, top.rgmii_tx_data)):
            m.submodules[name] = pin = io.Buffer("o", port)
            m.d.comb += pin.o.eq(value)
        # The platform knows that the pin is active low.
        m.submodules.reset = reset = io.Buffer("o", ports.rst)
        m.d.comb += reset.o.eq(~top.rgmii_rst_n)
        return m
