"""A board whose FPGA is at a USB socket: the machine, its link, and a serial port of full-speed USB."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.board.board_top import LinkedMachine
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.link.usb import UsbSerial
from mrfhw.gateware.log.log_memory import LogMemory
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import OUTSTANDING, USB_LOG_BYTES, WORDS

__all__ = ["UsbTop"]


class UsbTop(LinkedMachine):
    """The machine behind USB's two wires.

    Its ports, and the domains "usb" and "usb_io": see `UsbSerial`. The link is that of docs/link.md, the same bytes as behind a
    UART's wires (`BoardTop`). The arguments: see `LinkedMachine`.
    """

    def __init__(self, config: Config, words: int = WORDS, log_bytes: int = USB_LOG_BYTES, leaves: Leaves | None = None,
                 log_memory: LogMemory | None = None, digest: str = PLACEHOLDER, two_clocks: bool = False,
                 response_words: int | None = None, outstanding: int = OUTSTANDING):
        ports = {"d_p_i": In(1), "d_n_i": In(1), "d_p_o": Out(1), "d_n_o": Out(1), "oe": Out(1), "pull_up": Out(1)}
        super().__init__(ports, config, words, log_bytes, leaves, log_memory, digest, two_clocks,
                         response_words, False, outstanding=outstanding)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bridge = self._linked(m)
        m.submodules.serial = serial = UsbSerial()
        wiring.connect(m, serial.received, bridge.received)
        wiring.connect(m, bridge.sent, serial.sent)
        m.d.comb += [
            serial.d_p_i.eq(self.d_p_i), serial.d_n_i.eq(self.d_n_i), self.d_p_o.eq(serial.d_p_o), self.d_n_o.eq(serial.d_n_o),
            self.oe.eq(serial.oe), self.pull_up.eq(serial.pull_up),
        ]
        return m
