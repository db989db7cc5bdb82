"""A board with a serial port: the machine, its link, a UART, and a memory for the log where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth import Const, DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from mrfhw.gateware.board.clock_crossing import MACHINE, ClockCrossing
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.link.bridge import Bridge
from mrfhw.gateware.link.uart import DIVISOR_LIMITS, UartReceiver, UartTransmitter, check_divisor
from mrfhw.gateware.link.window_bridge import WindowBridge
from mrfhw.gateware.log.log_memory import LogMemory
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import LOG_BYTES, OUTSTANDING, WORDS

__all__ = ["BoardTop", "LinkedMachine", "divisor_for"]

TOLERANCE = 0.02  # of the baud rate, that a UART's divisor may miss it by


def divisor_for(clock_hz: int, baud: int) -> int:
    """Clock cycles a bit; raises ValueError where no whole number comes within 2 %, and where a UART cannot have it."""
    divisor = round(clock_hz / baud) if baud > 0 else 0
    if divisor < 1 or abs(clock_hz / divisor / baud - 1) > TOLERANCE:
        raise ValueError(f"baud is {baud}; a clock of {clock_hz} Hz has no divisor within 2 % of it: give another "
                         "rate or clock")
    least, most = DIVISOR_LIMITS
    if not least <= divisor <= most:
        raise ValueError(f"baud is {baud}; a clock of {clock_hz} Hz makes {-(-clock_hz // most)} to {clock_hz // least}: give a "
                         "rate between them, or another clock")
    return divisor


class LinkedMachine(wiring.Component):
    """The machine behind the link of docs/link.md, without what carries that.

    words, response_words, log_bytes, datagrams, short_elements: see `Bridge`, and with several requests `outstanding`
    `WindowBridge`, which always has short elements.
    log_memory: what the log passes through between machine and link, so that a log faster than the link does not stall the
    machine until that memory is full; `memory` is its port then. digest: of the machine, see `RegisterFile`.
    two_clocks: the machine is in the domain `MACHINE`, all else in "sync" (`ClockCrossing`).
    """

    def __init__(self, ports: Mapping[str, Member], config: Config, words: int, log_bytes: int, leaves: Leaves | None,
                 log_memory: LogMemory | None, digest: str, two_clocks: bool, response_words: int | None, datagrams: bool,
                 short_elements: bool = True, outstanding: int = OUTSTANDING, tag_bits: int = 0):
        self.config, self.digest, self.two_clocks = config, digest, two_clocks
        self.leaves = leaves or Leaves(shared=False)
        link = AddressMap(config).bus_bits, config.line_bits, words, log_bytes, response_words, datagrams
        if outstanding != 1 and not short_elements:
            raise ValueError(f"outstanding is {outstanding}, without short elements; a board without them has one: give one")
        self.bridge = WindowBridge(*link, outstanding, tag_bits) if outstanding != 1 else Bridge(*link, short_elements)
        self.log_memory = log_memory
        port = {"memory": log_memory.signature.members["memory"]} if log_memory else {}
        super().__init__({**ports, **port})

    def _linked(self, m: Module) -> Bridge:
        """Machine, bridge and log memory; returns the bridge, whose two streams are open."""
        bridge = self.bridge
        bus, lines, behind = self._machine(m)
        m.submodules.bridge = bridge
        wiring.connect(m, bridge.bus, bus)
        if self.log_memory is None:
            wiring.connect(m, lines, bridge.lines)
            m.d.comb += bridge.behind.eq(behind)
            return bridge
        m.submodules.log_memory = log_memory = self.log_memory
        wiring.connect(m, lines, log_memory.lines)
        wiring.connect(m, log_memory.out, bridge.lines)
        wiring.connect(m, log_memory.memory, wiring.flipped(self.memory))
        m.d.comb += bridge.behind.eq(log_memory.behind + behind)
        return bridge

    def _machine(self, m: Module) -> tuple[Any, Any, Any]:
        """Its bus, its log and the bytes of the log that are between the clocks, in the link's domain."""
        accelerator = Accelerator(self.config, self.leaves, self.digest)
        if not self.two_clocks:
            m.submodules.accelerator = accelerator
            return accelerator.bus, accelerator.lines, Const(0)
        m.submodules.accelerator = DomainRenamer(MACHINE)(accelerator)
        m.submodules.crossing = crossing = ClockCrossing(AddressMap(self.config).bus_bits, self.config.line_bits)
        wiring.connect(m, crossing.machine_bus, accelerator.bus)
        wiring.connect(m, accelerator.lines, crossing.machine_lines)
        return crossing.bus, crossing.lines, crossing.behind


class BoardTop(LinkedMachine):
    """The machine behind two wires.

    rx: from the host, tx: to it; 8N1, no flow control. The link is that of docs/link.md.
    divisor: clock cycles a bit (`divisor_for`), 16 for 3 Mbaud at 48 MHz. The rest: see `LinkedMachine`.
    """

    def __init__(self, config: Config, divisor: int = 16, words: int = WORDS, log_bytes: int = LOG_BYTES,
                 leaves: Leaves | None = None, log_memory: LogMemory | None = None, digest: str = PLACEHOLDER,
                 two_clocks: bool = False, response_words: int | None = None, short_elements: bool = True,
                 outstanding: int = OUTSTANDING):
        self.divisor = check_divisor(divisor)
        super().__init__({"rx": In(1), "tx": Out(1, init=1)}, config, words, log_bytes, leaves, log_memory, digest, two_clocks,
                         response_words, False, short_elements, outstanding)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bridge = self._linked(m)
        m.submodules.receiver = receiver = UartReceiver(self.divisor)
        m.submodules.transmitter = transmitter = UartTransmitter(self.divisor)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        wiring.connect(m, receiver.bytes, bridge.received)
        wiring.connect(m, bridge.sent, transmitter.bytes)
        return m
