"""A board's whole design: clock, pins, machine."""

from __future__ import annotations

from typing import Any

from amaranth import ClockDomain, Elaboratable, Module
from amaranth.lib import io, wiring

from mrfhw.fpga.board import BURST_BEATS, Board
from mrfhw.fpga.clocks import LATE, MachineClock, Rates
from mrfhw.fpga.ethernet_pins import EthernetPins
from mrfhw.fpga.sdram_pins import ADDED_REGISTERS, SdramPins
from mrfhw.fpga.usb_pins import UsbPins
from mrfhw.gateware.board.board_top import BoardTop, LinkedMachine
from mrfhw.gateware.board.clock_crossing import MACHINE
from mrfhw.gateware.board.ethernet_top import ETHERNET_CORE, EthernetTop
from mrfhw.gateware.board.sdram import DATA_BITS, SdramController, SdramTiming
from mrfhw.gateware.board.usb_top import UsbTop
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.link.usb import USB, USB_IO
from mrfhw.gateware.log.log_memory import LogMemory
from mrfhw.generation.ethernet_core import ethernet_core
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.modules import component_verilog
from mrfhw.generation.verilog import TOP
from mrfhw.machine.config import Config

__all__ = ["BoardDesign"]



class BoardDesign(Elaboratable):
    """The machine of `config` on a board's pins, with the board's SDRAM, where it has one, for the log."""

    def __init__(self, board: Board, config: Config, rates: Rates):
        self.board, self.config, self.rates = board, config, rates
        self.leaves = Leaves(shared=True)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = ClockDomain()
        if self.rates.link_post:
            setattr(m.domains, MACHINE, ClockDomain(MACHINE))
        for domain in (USB, USB_IO) if self.board.usb else ():
            setattr(m.domains, domain, ClockDomain(domain))
        m.submodules.clock = MachineClock(self.board, self.rates)
        log_memory = self._log_memory(m) if self.board.sdram else None
        top = self._top(m, log_memory)
        if log_memory:
            wiring.connect(m, top.memory, self.controller.memory)
        if self.board.ethernet:
            m.submodules.wires = EthernetPins(top)
            platform.add_file(f"{ETHERNET_CORE}.v", ethernet_core(self.rates.link_hz, self.board.ethernet))
        elif self.board.usb:
            m.submodules.wires = UsbPins(top)
        else:
            ports = platform.request("uart", 0, dir="-")
            m.submodules.rx = rx = io.Buffer("i", ports.rx)
            m.submodules.tx = tx = io.Buffer("o", ports.tx)
            m.d.comb += [top.rx.eq(rx.i), tx.o.eq(top.tx)]
        m.submodules.parts = _Parts(self.leaves)
        return m

    def _top(self, m: Module, log_memory: LogMemory | None) -> Any:
        def make() -> LinkedMachine:
            if self.board.ethernet:
                return EthernetTop(self.config, self.board.words, self.board.log_bytes, self.leaves, circuit_digest(self.config),
                                   self.rates.link_post is not None, self.board.response_words, self.board.at_once)
            if self.board.usb:
                return UsbTop(self.config, self.board.words, self.board.log_bytes, self.leaves, log_memory,
                              circuit_digest(self.config), self.rates.link_post is not None, self.board.response_words,
                              self.board.at_once)
            return BoardTop(self.config, self.rates.divisor, self.board.words, self.board.log_bytes, self.leaves, log_memory,
                            circuit_digest(self.config), self.rates.link_post is not None, self.board.response_words,
                            self.board.short_elements, self.board.at_once)

        if self.board.open_flow:
            # As Verilog: Yosys heeds a memory's no_rw_check only where it finds the read register itself.
            domains = (*((MACHINE,) if self.rates.link_post else ()), *((USB, USB_IO) if self.board.usb else ()))
            return self.leaves.add(m, TOP, "board", make, domains)
        # The vendors' tools know the synchronizers by what Amaranth's platform makes of them.
        m.submodules.board = top = make()
        return top

    def _log_memory(self, m: Module) -> LogMemory:
        """The SDRAM and what makes a queue of all of it."""
        setattr(m.domains, LATE, ClockDomain(LATE, reset_less=True))
        timing = SdramTiming()
        self.controller = m.submodules.sdram = SdramController(timing, round(self.rates.link_hz), ADDED_REGISTERS)
        m.submodules.sdram_pins = SdramPins(self.controller)
        return LogMemory(self.config.line_bits, DATA_BITS, timing.address_bits, 0, 1 << timing.address_bits, BURST_BEATS)


class _Parts(Elaboratable):
    """Verilog of the parts that are modules of their own. Elaborated after the design that names them."""

    def __init__(self, leaves: Leaves):
        self.leaves = leaves

    def elaborate(self, platform: Any) -> Module:
        done: set[str] = set()
        while left := sorted(self.leaves.modules.keys() - done):
            for name in left:
                platform.add_file(f"{name}.v", component_verilog(self.leaves.modules[name], name))
            done.update(left)
        return Module()
