"""From a system's register bus to the machine's: AXI4-Lite in, Wishbone out."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import OKAY, SLVERR, Axi4Lite
from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.machine.log_registers import WORD_BYTES_LOG2

__all__ = ["AxiLiteToWishbone"]


class AxiLiteToWishbone(wiring.Component):
    """AXI4-Lite slave that carries each access out on a Wishbone bus, one after the other.

    axi: byte addresses, 32-bit data. bus: master, classic, word addresses: `address_bits` - 2 of them.
    An access answered with err gets SLVERR, one with ack OKAY. A write without all four strobes, and an address that
    is no multiple of 4, get SLVERR and do not reach the bus; data read with SLVERR are 0. awprot and arprot are ignored.

    Each channel holds one transfer: address and data of a write may come in any order and any time apart, and a write
    waits for both without holding up reads. Where a write and a read are both ready to go they take turns; neither
    waits for the other's response to be taken. Writes are carried out in order, so are reads; a master that wants a
    read after a write waits for the write's response.
    Timing: stb two cycles after awvalid and wvalid, or arvalid; bvalid or rvalid in the cycle after ack or err. An
    access takes three cycles and the slave's own. All outputs but the bus's data are registers or their inverse.
    address_bits: 3 to 64. Out of reset no access is under way; one that reset cuts short is not carried out again.
    """

    def __init__(self, address_bits: int):
        if not WORD_BYTES_LOG2 < address_bits <= 64:
            raise ValueError(f"address_bits is {address_bits}; AXI4-Lite byte addresses of words have {WORD_BYTES_LOG2 + 1} to 64 "
                             "bits: give one of them")
        self.address_bits = address_bits
        super().__init__({"axi": In(Axi4Lite(address_bits)), "bus": Out(Wishbone(address_bits - WORD_BYTES_LOG2))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axi, bus = self.axi, self.bus
        # The transfer that each channel holds.
        aw = Signal()
        w = Signal()
        ar = Signal()
        aw_address = Signal(self.address_bits)
        ar_address = Signal(self.address_bits)
        w_data = Signal(32)
        w_strobes = Signal(4)
        m.d.comb += [axi.awready.eq(~aw), axi.wready.eq(~w), axi.arready.eq(~ar)]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [aw.eq(1), aw_address.eq(axi.awaddr)]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [w.eq(1), w_data.eq(axi.wdata), w_strobes.eq(axi.wstrb)]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [ar.eq(1), ar_address.eq(axi.araddr)]

        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)

        # An access begins only when the channel of its response is free. An access frees its transfers in the cycle in which the
        # next access is chosen, so the kind that was served last (write or read) is not ready then and the other kind is served.
        write_ready = Signal()
        read_ready = Signal()
        m.d.comb += [write_ready.eq(aw & w & (~axi.bvalid | axi.bready)), read_ready.eq(ar & (~axi.rvalid | axi.rready))]
        accessing = Signal()
        answered = Signal()
        m.d.comb += [bus.cyc.eq(accessing), bus.stb.eq(accessing), bus.dat_w.eq(w_data),
                     answered.eq(accessing & (bus.ack | bus.err))]
        with m.If(answered):
            m.d.sync += accessing.eq(0)
            self._respond(m, bus.we, bus.ack & ~bus.err, aw, w, ar)
        with m.Elif(~accessing):
            with m.If(write_ready):
                with m.If(w_strobes.all() & ~aw_address[:WORD_BYTES_LOG2].any()):
                    m.d.sync += [accessing.eq(1), bus.we.eq(1), bus.adr.eq(aw_address[WORD_BYTES_LOG2:])]
                with m.Else():
                    self._respond(m, 1, 0, aw, w, ar)
            with m.Elif(read_ready):
                with m.If(~ar_address[:WORD_BYTES_LOG2].any()):
                    m.d.sync += [accessing.eq(1), bus.we.eq(0), bus.adr.eq(ar_address[WORD_BYTES_LOG2:])]
                with m.Else():
                    self._respond(m, 0, 0, aw, w, ar)
        return m

    def _respond(self, m: Module, write: Value | int, done: Value | int, aw: Signal, w: Signal, ar: Signal) -> None:
        """Free what the access held and raise its response."""
        axi, response = self.axi, Mux(done, OKAY, SLVERR)
        with m.If(write):
            m.d.sync += [aw.eq(0), w.eq(0), axi.bvalid.eq(1), axi.bresp.eq(response)]
        with m.Else():
            m.d.sync += [ar.eq(0), axi.rvalid.eq(1), axi.rresp.eq(response), axi.rdata.eq(Mux(done, self.bus.dat_r, 0))]
