"""The machine for a system on chip: AXI4-Lite registers, AXI4 memory port, AXI4-Stream."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import Axi4, Axi4Lite, AxiStream
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER, Wishbone
from mrfhw.gateware.log.log_ring import POSITION_BITS, Ring
from mrfhw.gateware.log.log_writer import LogWriter
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.gateware.soc.axi_registers import BRIDGE_CYCLES, AxiLiteToWishbone
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.log_registers import LOG_PAGE, LOG_PAGE_WORDS, LOG_REGISTERS, LOG_STATUS_BITS, WORD_BYTES_LOG2

__all__ = ["AxiTop", "LogPage", "LogSplit", "axi_signature", "block_bytes"]

PAGE_BITS = (LOG_PAGE_WORDS - 1).bit_length()
RING_REGISTERS = ("log_base_low", "log_base_high", "log_size")
MEMORY_ADDRESS_BITS = (12, 64)  # an AXI4 slave has 4096 bytes or more


def _ring(config: Config, data_bits: int, memory_address_bits: int) -> Ring:
    low, high = MEMORY_ADDRESS_BITS
    if isinstance(memory_address_bits, bool) or not low <= memory_address_bits <= high:
        raise ValueError(f"memory_address_bits is {memory_address_bits!r}; addresses of an AXI memory have {low} to {high} bits: "
                         "give one of them")
    if config.seats > 1:
        several = "clusters" if config.clusters > 1 else "contexts"
        raise ValueError(f"{several} is {config.seats}; the log of a machine with AXI ports is one run's at a time: give "
                         f"{several} = 1, or the top chip")
    return Ring(config.line_bits, data_bits, memory_address_bits)


def axi_signature(config: Config, data_bits: int = 64, memory_address_bits: int = 32) -> wiring.Signature:
    """The ports of an `AxiTop`. Raises ValueError as it does."""
    _ring(config, data_bits, memory_address_bits)
    return wiring.Signature({
        "s_axi": In(Axi4Lite(AddressMap(config).address_bits + WORD_BYTES_LOG2)),
        "m_axi": Out(Axi4(memory_address_bits, data_bits)), "m_axis": Out(AxiStream(config.line_bits)),
    })


def block_bytes(config: Config, data_bits: int = 64, memory_address_bits: int = 32) -> int:
    """The value of register log_block: bytes of the AXI bursts in which the log goes to memory."""
    return _ring(config, data_bits, memory_address_bits).burst_bytes


class LogPage(wiring.Component):
    """The registers of mrfhw.machine.log_registers.

    bus: word addresses within the page. A request is taken in any cycle, carried out at its end and answered in the next. err:
    addresses without a register, writes to what is read-only, writes of base and size while not `empty`, and of a freed position
    that is not from `freed` to `written`.
    base, size, freed: what was written; bits of base and size below a block are 0. to_stream: the target.
    restart: the cycle before base or size changes; freed is 0 after it, and `written` must be.
    """

    def __init__(self, ring: Ring):
        self.ring = ring
        super().__init__({
            "bus": In(Wishbone(PAGE_BITS)), "base": Out(ring.address_bits), "size": Out(POSITION_BITS), "freed": Out(POSITION_BITS),
            "written": In(POSITION_BITS), "error": In(1), "empty": In(1), "to_stream": Out(1), "restart": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, block = self.bus, self.ring.burst_bits
        low, high = self.base[:32], self.base[32:]
        status = Signal(len(LOG_STATUS_BITS))
        fits = Signal()
        changes = Signal()
        pending = Signal()
        m.d.comb += [
            pending.eq(bus.cyc & bus.stb),
            # Both are differences from `freed`, so that wrapping at 2^32 does not matter.
            fits.eq((bus.dat_w - self.freed)[:POSITION_BITS] <= (self.written - self.freed)[:POSITION_BITS]),
        ]
        for name, bit in LOG_STATUS_BITS.items():
            m.d.comb += status[bit].eq(getattr(self, name))
        readable: dict[str, Any] = {
            "log_block": self.ring.burst_bytes, "log_base_low": low, "log_base_high": high, "log_size": self.size,
            "log_freed": self.freed, "log_written": self.written, "log_status": status, "log_target": self.to_stream}
        # For each register: its low bits that stay 0, and when it may be written.
        writable: dict[str, tuple[Any, int, Any]] = {
            "log_base_low": (low, block, self.empty), "log_base_high": (high, 0, self.empty),
            "log_size": (self.size, block, self.empty), "log_freed": (self.freed, 0, fits), "log_target": (self.to_stream, 0, 1)}
        done = Signal()
        value = Signal(32)
        with m.Switch(bus.adr):
            for name, register in LOG_REGISTERS.items():
                with m.Case(register.index - LOG_PAGE):
                    m.d.comb += value.eq(readable[name])
                    if name not in writable:
                        m.d.comb += done.eq(~bus.we)
                        continue
                    target, zeros, allowed = writable[name]
                    m.d.comb += [done.eq(~bus.we | allowed), changes.eq(int(name in RING_REGISTERS))]
                    with m.If(pending & bus.we & allowed):
                        m.d.sync += target.eq(bus.dat_w[zeros:] << zeros)
        m.d.comb += self.restart.eq(pending & bus.we & changes & self.empty)
        with m.If(self.restart):
            m.d.sync += self.freed.eq(0)
        m.d.sync += [bus.ack.eq(pending & done), bus.err.eq(pending & ~done), bus.dat_r.eq(value)]
        return m


class LogSplit(wiring.Component):
    """Sends lines to memory or to a stream.

    lines: to `memory` or, with to_stream, to `stream`, through wires; a run's lines go where its first one does. hold: no line is
    taken for memory in this cycle. restart: the taken position is 0 in the next cycle; only with hold.
    taken: bytes of the lines that memory took, modulo 2^32, from the cycle after.
    """

    def __init__(self, line_bits: int):
        self.line_bits = line_bits
        super().__init__({
            "lines": In(AxiStream(line_bits)), "memory": Out(AxiStream(line_bits)), "stream": Out(AxiStream(line_bits)),
            "to_stream": In(1), "hold": In(1), "restart": In(1), "taken": Out(POSITION_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines, memory, stream = self.lines, self.memory, self.stream
        within = Signal()  # a run's lines
        target = Signal()  # of that run
        moved = lines.tvalid & lines.tready
        with m.If(moved):
            m.d.sync += within.eq(~lines.tlast)
        # A line that stands at the stream stays there; one that waits for memory need not.
        with m.If(Mux(moved, lines.tlast, ~within & ~(lines.tvalid & target))):
            m.d.sync += target.eq(self.to_stream)
        for port in (memory, stream):
            m.d.comb += [port.tdata.eq(lines.tdata), port.tlast.eq(lines.tlast)]
        m.d.comb += [
            stream.tvalid.eq(lines.tvalid & target), memory.tvalid.eq(lines.tvalid & ~target & ~self.hold),
            lines.tready.eq(Mux(target, stream.tready, memory.tready & ~self.hold)),
        ]
        with m.If(self.restart):
            m.d.sync += self.taken.eq(0)
        with m.Elif(memory.tvalid & memory.tready):
            m.d.sync += self.taken.eq(self.taken + self.line_bits // 8)
        return m


class AxiTop(wiring.Component):
    """The machine with the ports of a system on chip.

    s_axi: slave, AXI4-Lite. Byte address = 4 x word address of the machine's bus (`AddressMap`), with the log registers of
    mrfhw.machine.log_registers in it. Timing: that of the bus and of `AxiLiteToWishbone`, whose `outstanding` is enough for reads
    from tiles in every cycle; an access to the log registers waits until those before it are answered. err is SLVERR.
    m_axi: master, AXI4, writes only. The log's lines as bytes in their order, lowest first, into a ring of memory (`LogWriter`).
    m_axis: master, AXI4-Stream: the lines, tlast with the last one of a run.
    Where a run's log goes is log_target's value at its first line. A log that is not taken stalls the machine; nothing is lost.
    data_bits: of m_axi, 8 to 1024, a power of two that divides line_bits. memory_address_bits: of m_axi, 12 to 64.
    digest: of the machine, see `RegisterFile`.
    Reset is synchronous, active high (an AXI aresetn is its inverse) and must reset what is at the ports too.
    """

    def __init__(self, config: Config, data_bits: int = 64, memory_address_bits: int = 32, leaves: Leaves | None = None,
                 digest: str = PLACEHOLDER):
        self.digest = digest
        self.config, self.data_bits, self.memory_address_bits = config, data_bits, memory_address_bits
        self.ring = _ring(config, data_bits, memory_address_bits)
        self.leaves = leaves or Leaves(shared=False)
        super().__init__(axi_signature(config, data_bits, memory_address_bits))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        derived = Derived.of(self.config)
        outstanding = derived.latency.bus_read(derived.tree_levels) + BRIDGE_CYCLES
        m.submodules.bridge = bridge = AxiLiteToWishbone(self.s_axi.signature.address_bits, outstanding)
        m.submodules.accelerator = accelerator = Accelerator(self.config, self.leaves, self.digest)
        m.submodules.page = page = LogPage(self.ring)
        m.submodules.split = split = LogSplit(self.config.line_bits)
        restart = Signal()
        writer = LogWriter(self.config.line_bits, self.data_bits, self.memory_address_bits, self.ring.burst_beats)
        # Happens only while no log is on its way to memory, so no transfer at the memory port is cut off.
        m.submodules.writer = ResetInserter(restart)(writer)
        wiring.connect(m, wiring.flipped(self.s_axi), bridge.axi)
        wiring.connect(m, accelerator.lines, split.lines)
        wiring.connect(m, split.memory, writer.lines)
        wiring.connect(m, split.stream, wiring.flipped(self.m_axis))
        wiring.connect(m, writer.memory, wiring.flipped(self.m_axi))
        m.d.comb += [
            writer.base.eq(page.base), writer.size.eq(page.size), writer.freed.eq(page.freed), page.written.eq(writer.written),
            page.error.eq(writer.error), page.empty.eq(split.taken == writer.written),
            split.to_stream.eq(page.to_stream), split.hold.eq(~page.size.any() | restart), split.restart.eq(restart),
            restart.eq(page.restart),
        ]
        self._decode(m, bridge.bus, page.bus, accelerator.bus, outstanding)
        return m

    def _decode(self, m: Module, bus: Any, page: Any, machine: Any, outstanding: int) -> None:
        """Connect the one bus master to the log registers or to the machine, by the address; answers stay in order.

        The page answers sooner than the machine, so it is asked when the machine owes no answer.
        """
        log = bus.adr[PAGE_BITS:] == LOG_PAGE >> PAGE_BITS
        owed = Signal(range(outstanding + 1))
        m.d.sync += owed.eq(owed + (machine.cyc & machine.stb & ~machine.stall) - (machine.ack | machine.err))
        for slave, chosen in ((page, log & ~owed.any()), (machine, ~log)):
            m.d.comb += [slave.cyc.eq(bus.cyc), slave.stb.eq(bus.stb & chosen), slave.we.eq(bus.we), slave.adr.eq(bus.adr),
                         slave.dat_w.eq(bus.dat_w)]
        m.d.comb += [bus.ack.eq(page.ack | machine.ack), bus.err.eq(page.err | machine.err),
                     bus.stall.eq(Mux(log, owed.any(), machine.stall)),
                     bus.dat_r.eq(Mux(page.ack, page.dat_r, machine.dat_r))]
