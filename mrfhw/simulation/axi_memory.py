"""A memory on an AXI4 port, for compiled machines: a board's DRAM without its timing."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.board.board_top import BoardTop
from mrfhw.gateware.common.axi import OKAY, Axi4
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.log.log_memory import LogMemory
from mrfhw.gateware.log.log_ring import Ring
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import OUTSTANDING

__all__ = ["AxiMemory", "BoardWithMemory", "check_memory"]

DATA_BITS = 16  # as the SDRAM of a small board
BURST_BEATS = 8
MEMORY_LIMITS = (1 << 8, 1 << 20)  # bytes of a simulated log memory


class AxiMemory(wiring.Component):
    """`1 << address_bits` bytes. One burst at a time, writes first; a beat a cycle when writing, one in two when reading."""

    def __init__(self, address_bits: int, data_bits: int = DATA_BITS):
        self.address_bits, self.data_bits = address_bits, data_bits
        super().__init__({"port": In(Axi4(address_bits, data_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, beat = self.port, (self.data_bits // 8).bit_length() - 1
        m.submodules.cells = cells = Memory(shape=self.data_bits, depth=1 << self.address_bits - beat, init=[])
        write, read = cells.write_port(granularity=8), cells.read_port()
        at, left = Signal(self.address_bits - beat), Signal(8)
        m.d.comb += [write.addr.eq(at), write.data.eq(p.wdata), read.addr.eq(at), read.en.eq(1), p.rdata.eq(read.data),
                     p.bresp.eq(OKAY), p.rresp.eq(OKAY), p.rlast.eq(left == 0)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [p.awready.eq(1), p.arready.eq(~p.awvalid)]
                with m.If(p.awvalid):
                    m.d.sync += [at.eq(p.awaddr >> beat), p.bid.eq(p.awid)]
                    m.next = "WRITE"
                with m.Elif(p.arvalid):
                    m.d.sync += [at.eq(p.araddr >> beat), left.eq(p.arlen), p.rid.eq(p.arid)]
                    m.next = "FETCH"
            with m.State("WRITE"):
                m.d.comb += p.wready.eq(1)
                with m.If(p.wvalid):
                    m.d.comb += write.en.eq(p.wstrb)
                    m.d.sync += at.eq(at + 1)
                    with m.If(p.wlast):
                        m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += p.bvalid.eq(1)
                with m.If(p.bready):
                    m.next = "IDLE"
            with m.State("FETCH"):
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += p.rvalid.eq(1)
                with m.If(p.rready):
                    m.d.sync += [at.eq(at + 1), left.eq(left - 1)]
                    m.next = "FETCH"
                    with m.If(left == 0):
                        m.next = "IDLE"
        return m


def check_memory(line_bits: int, memory_bytes: int) -> None:
    """Raises ValueError for a size that no memory has, and for lines that are not whole beats of it."""
    least, most = MEMORY_LIMITS
    if not least <= memory_bytes <= most or memory_bytes & (memory_bytes - 1):
        raise ValueError(f"log_memory is {memory_bytes}; a simulated log memory has {least} to {most} bytes, a power of two: "
                         "give one of them, or 0 for none")
    Ring(line_bits, DATA_BITS, memory_bytes.bit_length() - 1, BURST_BEATS)


class BoardWithMemory(wiring.Component):
    """A `BoardTop` whose log passes through a ring of `memory_bytes`, a power of two, in an `AxiMemory` (see `check_memory`)."""

    def __init__(self, config: Config, divisor: int, words: int, log_bytes: int, memory_bytes: int, leaves: Leaves,
                 digest: str = PLACEHOLDER, outstanding: int = OUTSTANDING):
        address_bits = memory_bytes.bit_length() - 1
        log = LogMemory(config.line_bits, DATA_BITS, address_bits, 0, memory_bytes, burst_beats=BURST_BEATS)
        self.board = BoardTop(config, divisor, words, log_bytes, leaves, log, digest, outstanding=outstanding)
        self.memory = AxiMemory(address_bits)
        super().__init__({"rx": In(1), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.board, m.submodules.memory = self.board, self.memory
        wiring.connect(m, self.board.memory, self.memory.port)
        m.d.comb += [self.board.rx.eq(self.rx), self.tx.eq(self.board.tx)]
        return m
