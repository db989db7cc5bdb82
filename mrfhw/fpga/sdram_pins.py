"""An SDRAM's pins."""

from __future__ import annotations

from typing import Any

from amaranth import Elaboratable, Module
from amaranth.lib import io

from mrfhw.fpga.clocks import LATE
from mrfhw.gateware.board.sdram import SdramController

__all__ = ["ADDED_REGISTERS", "SdramPins"]

ADDED_REGISTERS = 2  # in the pins, one out and one in: the controller's `read_delay`


class SdramPins(Elaboratable):
    """A controller at the board's "sdram": every signal through a register in its pin, the clock from the domain `LATE`."""

    def __init__(self, controller: SdramController):
        self.controller = controller

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        c, ports = self.controller, platform.request("sdram", 0, dir="-")
        # The pins know which signals are active low.
        for name, port, value in (("cke", ports.clk_en, c.cke), ("cs", ports.cs, ~c.cs_n), ("ras", ports.ras, ~c.ras_n),
                                  ("cas", ports.cas, ~c.cas_n), ("we", ports.we, ~c.we_n), ("ba", ports.ba, c.ba),
                                  ("a", ports.a, c.a), ("dqm", ports.dqm, c.dqm)):
            m.submodules[name] = pin = io.FFBuffer("o", port)
            m.d.comb += pin.o.eq(value)
        m.submodules.dq = dq = io.FFBuffer("io", ports.dq)
        m.d.comb += [dq.o.eq(c.dq_o), dq.oe.eq(c.dq_oe), c.dq_i.eq(dq.i)]
        m.submodules.clk = clk = io.DDRBuffer("o", ports.clk, o_domain=LATE)
        m.d.comb += [clk.o[0].eq(1), clk.o[1].eq(0)]
        return m
