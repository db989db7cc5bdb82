"""USB: a byte stream to two wires and back, as a serial port (CDC-ACM) of a full-speed device."""

from __future__ import annotations

from types import SimpleNamespace

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.link.usb_core import UsbDevice

__all__ = ["USB", "USB_HZ", "USB_IO", "USB_IO_HZ", "PacketEnds", "UsbSerial"]

USB, USB_IO = "usb", "usb_io"  # the domains, as LUNA names them
USB_HZ, USB_IO_HZ = 12_000_000, 48_000_000  # a bit, and a sample of the wires
PAUSE = 16  # cycles of USB after which a byte that has not come is not waited for
ON_THEIR_WAY = 8  # bytes between the clocks


class PacketEnds(wiring.Component):
    """Says of each byte whether others follow at once, so that no byte waits in a packet that is not full.

    bytes: taken one at a time. out, last: a byte, and whether none has come for PAUSE cycles after it. A byte is given when the
    next one has come, or after PAUSE cycles. All of it is in the domain "usb".
    """

    def __init__(self) -> None:
        super().__init__({"bytes": In(stream.Signature(8)), "out": Out(stream.Signature(8)), "last": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal()
        waited = Signal(range(PAUSE + 1))
        m.d.comb += [
            self.last.eq(~self.bytes.valid), self.out.valid.eq(held & (self.bytes.valid | (waited == PAUSE))),
            self.bytes.ready.eq(~held | (self.out.valid & self.out.ready)),
        ]
        with m.If(self.bytes.ready):
            m.d[USB] += [held.eq(self.bytes.valid), self.out.payload.eq(self.bytes.payload), waited.eq(0)]
        with m.Elif(waited != PAUSE):
            m.d[USB] += waited.eq(waited + 1)
        return m


class UsbSerial(wiring.Component):
    """From the wires to bytes and back: a serial port to the host, whatever rate that sets.

    d_p_i, d_n_i: the wires, registers in the domain "usb_io"; d_p_o, d_n_o: what is driven while oe is set, in the same domain.
    An answer begins 10 to 14.5 bits after the end of what it answers. A device is allowed 6.5, so that there may be hubs on the way
    to a host, which waits for 16 (USB 2.0, 7.1.18 and 8.7.2).
    pull_up: drives D+ through 1.5 kOhm, which tells the host that there is a device.
    received: bytes from the host, of whole and undamaged packets, each once; where they are not taken, the host is told to wait.
    sent: bytes to the host; a packet ends with PACKET_BYTES or where no byte comes for PAUSE cycles of "usb" (`PacketEnds`), then
    with an empty packet after a full one. What the host has not fetched when it configures the device anew is lost.
    The domains "usb" of USB_HZ and "usb_io" of USB_IO_HZ are of one PLL; "sync", of `received` and `sent`, is any.
    Elaborating it raises ValueError where LUNA is missing (`mrfhw.gateware.link.usb_core.check_core`).
    """

    def __init__(self) -> None:
        super().__init__({
            "d_p_i": In(1), "d_n_i": In(1), "d_p_o": Out(1), "d_n_o": Out(1), "oe": Out(1), "pull_up": Out(1),
            "received": Out(stream.Signature(8)), "sent": In(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        d_p = SimpleNamespace(i=self.d_p_i, o=self.d_p_o, oe=self.oe)
        d_n = SimpleNamespace(i=self.d_n_i, o=self.d_n_o, oe=Signal(name="d_n_oe"))  # driven whenever d_p is
        m.submodules.device = device = UsbDevice(SimpleNamespace(d_p=d_p, d_n=d_n, pullup=SimpleNamespace(o=self.pull_up)))
        m.submodules.come = come = AsyncFIFO(width=8, depth=ON_THEIR_WAY, w_domain=USB, r_domain="sync")
        m.submodules.gone = gone = AsyncFIFO(width=8, depth=ON_THEIR_WAY, w_domain="sync", r_domain=USB)
        m.submodules.ends = ends = PacketEnds()
        m.d.comb += [
            come.w_data.eq(device.received.payload), come.w_en.eq(device.received.valid), device.received.ready.eq(come.w_rdy),
            self.received.payload.eq(come.r_data), self.received.valid.eq(come.r_rdy), come.r_en.eq(self.received.ready),
            gone.w_data.eq(self.sent.payload), gone.w_en.eq(self.sent.valid), self.sent.ready.eq(gone.w_rdy),
            ends.bytes.payload.eq(gone.r_data), ends.bytes.valid.eq(gone.r_rdy), gone.r_en.eq(ends.bytes.ready),
            Cat(device.sent.payload, device.sent.valid, device.sent.last).eq(Cat(ends.out.payload, ends.out.valid, ends.last)),
            ends.out.ready.eq(device.sent.ready),
        ]
        return m
