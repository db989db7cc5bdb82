"""From a system's register bus to the machine's: AXI4-Lite in, Wishbone out."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import OKAY, SLVERR, Axi4Lite
from mrfhw.gateware.common.memories import Queue
from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.machine.log_registers import WORD_BYTES_LOG2

__all__ = ["BRIDGE_CYCLES", "AxiLiteToWishbone"]

BRIDGE_CYCLES = 3  # of an access in the bridge: to its choice, to the bus, and from the bus's answer to the response
CHANNEL_DEPTH = 2  # transfers of a channel: one goes while one comes


class AxiLiteToWishbone(wiring.Component):
    """AXI4-Lite slave that carries accesses out on a Wishbone bus, one in each cycle.

    axi: byte addresses, 32-bit data. bus: master, pipelined, word addresses: `address_bits` - 2 of them.
    An access answered with err gets SLVERR, one with ack OKAY. A write without all four strobes, and an address that
    is no multiple of 4, get SLVERR and do not reach the bus; data read with SLVERR are 0. awprot and arprot are ignored.

    Each channel holds two transfers: address and data of a write may come in any order and any time apart, and a write
    waits for both without holding up reads. Where a write and a read are both ready to go they take turns; neither
    waits for the other's response to be taken. Writes are carried out in order, so are reads, and so are their responses;
    a master that wants a read after a write waits for the write's response.
    outstanding: 1 or more. So many writes, and so many reads, are carried out before a response of theirs is taken; the room of a
    response is reserved before its access begins. `BRIDGE_CYCLES` more than the slave's from request to answer are a word a cycle.
    Timing: stb two cycles after awvalid and wvalid, or arvalid; bvalid or rvalid in the cycle after ack or err. What does not reach
    the bus is answered when nothing is under way there. All outputs but rdata, bresp and rresp are registers, or tell whether the
    number of words in a queue is its depth.
    address_bits: 3 to 64. Out of reset no access is under way; one that reset cuts short is not carried out again.
    """

    def __init__(self, address_bits: int, outstanding: int):
        if not WORD_BYTES_LOG2 < address_bits <= 64:
            raise ValueError(f"address_bits is {address_bits}; AXI4-Lite byte addresses of words have {WORD_BYTES_LOG2 + 1} to 64 "
                             "bits: give one of them")
        if isinstance(outstanding, bool) or not isinstance(outstanding, int) or outstanding < 1:
            raise ValueError(f"outstanding is {outstanding!r}; accesses under way are 1 or more: give a whole number")
        self.address_bits, self.outstanding = address_bits, outstanding
        super().__init__({"axi": In(Axi4Lite(address_bits)), "bus": Out(Wishbone(address_bits - WORD_BYTES_LOG2))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axi, bus = self.axi, self.bus
        m.submodules.aw = aw = Queue(self.address_bits, CHANNEL_DEPTH)
        m.submodules.w = w = Queue(36, CHANNEL_DEPTH)
        m.submodules.ar = ar = Queue(self.address_bits, CHANNEL_DEPTH)
        m.submodules.b = b = Queue(1, self.outstanding)
        m.submodules.r = r = Queue(33, self.outstanding)
        # Of each access on the bus: whether it writes. Answers come in the order of requests.
        m.submodules.order = order = Queue(1, self.outstanding)
        m.d.comb += [
            axi.awready.eq(aw.w_rdy), aw.w_en.eq(axi.awvalid), aw.w_data.eq(axi.awaddr),
            axi.wready.eq(w.w_rdy), w.w_en.eq(axi.wvalid), w.w_data.eq(Cat(axi.wdata, axi.wstrb)),
            axi.arready.eq(ar.w_rdy), ar.w_en.eq(axi.arvalid), ar.w_data.eq(axi.araddr),
            axi.bvalid.eq(b.r_rdy), b.r_en.eq(axi.bready), axi.bresp.eq(Mux(b.r_data, SLVERR, OKAY)),
            axi.rvalid.eq(r.r_rdy), r.r_en.eq(axi.rready), axi.rresp.eq(Mux(r.r_data[32], SLVERR, OKAY)),
            axi.rdata.eq(r.r_data[:32]),
        ]
        write_begins = Signal()
        read_begins = Signal()
        write_ready = Signal()
        read_ready = Signal()
        m.d.comb += [
            write_ready.eq(aw.r_rdy & w.r_rdy & self._room(m, "writes", write_begins, axi.bvalid & axi.bready)),
            read_ready.eq(ar.r_rdy & self._room(m, "reads", read_begins, axi.rvalid & axi.rready)),
        ]

        wrote = Signal()  # the last access that began
        write = Signal()  # the next one
        address = Signal(self.address_bits)
        begins = Signal()
        refused = Signal()
        free = Signal()  # the bus takes a request from the next cycle on
        m.d.comb += [
            write.eq(write_ready & ~(read_ready & wrote)), address.eq(Mux(write, aw.r_data, ar.r_data)),
            refused.eq(address[:WORD_BYTES_LOG2].any() | (write & ~w.r_data[32:].all())), free.eq(~bus.stb | ~bus.stall),
            begins.eq((write_ready | read_ready) & Mux(refused, ~order.r_rdy, free & order.w_rdy)),
            write_begins.eq(begins & write), read_begins.eq(begins & ~write),
            aw.r_en.eq(write_begins), w.r_en.eq(write_begins), ar.r_en.eq(read_begins),
            order.w_en.eq(begins & ~refused), order.w_data.eq(write), bus.cyc.eq(order.r_rdy),
        ]
        with m.If(begins):
            m.d.sync += wrote.eq(write)
        with m.If(free):
            m.d.sync += [bus.stb.eq(begins & ~refused), bus.we.eq(write), bus.adr.eq(address[WORD_BYTES_LOG2:]),
                         bus.dat_w.eq(w.r_data[:32])]

        answered = Signal()
        m.d.comb += [
            answered.eq(order.r_rdy & (bus.ack | bus.err)), order.r_en.eq(answered),
            # What is refused begins when no answer is due.
            b.w_en.eq((answered & order.r_data) | (write_begins & refused)), b.w_data.eq(~bus.ack | ~answered),
            r.w_en.eq((answered & ~order.r_data) | (read_begins & refused)),
            r.w_data.eq(Mux(b.w_data, 1 << 32, bus.dat_r)),
        ]
        return m

    def _room(self, m: Module, name: str, begins: Signal, taken: Signal) -> Signal:
        """Whether one more access of a kind has room for its response."""
        left = Signal(range(self.outstanding + 1), init=self.outstanding, name=f"{name}_left")
        m.d.sync += left.eq(left - begins + taken)
        return left.any()
