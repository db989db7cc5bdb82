"""The pins of a USB socket."""

from __future__ import annotations

from typing import Any

from amaranth import Elaboratable, Module
from amaranth.lib import io

from mrfhw.gateware.link.usb import USB_IO

__all__ = ["UsbPins"]


class UsbPins(Elaboratable):
    """A board's top (`mrfhw.gateware.board.usb_top.UsbTop`) at the platform's "usb": a register in each pin both ways, so that D+
    and D- change together."""

    def __init__(self, top: Any):
        self.top = top

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        top, ports = self.top, platform.request("usb", 0, dir="-")
        for name, port, come, gone in (("d_p", ports.d_p, top.d_p_i, top.d_p_o), ("d_n", ports.d_n, top.d_n_i, top.d_n_o)):
            m.submodules[name] = pin = io.FFBuffer("io", port, i_domain=USB_IO, o_domain=USB_IO)
            m.d.comb += [come.eq(pin.i), pin.o.eq(gone), pin.oe.eq(top.oe)]
        m.submodules.pull_up = pull_up = io.Buffer("o", ports.pullup)
        m.d.comb += pull_up.o.eq(top.pull_up)
        return m
