"""A UART, 8N1: bytes to a wire and back."""

from __future__ import annotations

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from mrfhw.machine.link_protocol import FRAME_BITS

__all__ = ["DIVISOR_LIMITS", "UartReceiver", "UartTransmitter", "check_divisor"]

DIVISOR_LIMITS = (4, 1 << 16)


def check_divisor(divisor: int) -> int:
    """A divisor that a UART can have, or ValueError."""
    low, high = DIVISOR_LIMITS
    if isinstance(divisor, bool) or not isinstance(divisor, int) or not low <= divisor <= high:
        raise ValueError(f"divisor is {divisor!r}; a bit takes {low} to {high} clock cycles: give a whole number between them")
    return divisor


class UartReceiver(wiring.Component):
    """From the wire to bytes.

    rx: asynchronous; passes a synchronizer of two stages. bytes: valid for one cycle per byte, in the second half of its stop bit;
    ready is ignored. Each bit is the majority of three samples around its middle, timed from the start bit's edge. The sender's
    rate may differ by 3 % at a divisor of 16, by 2 % at 8. A start bit that ends before its middle, and a byte without a stop bit,
    are dropped.
    divisor: clock cycles a bit, 4 to 65536.
    """

    def __init__(self, divisor: int):
        self.divisor = check_divisor(divisor)
        super().__init__({"rx": In(1), "bytes": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wire = Signal(init=1)
        history = Signal(3, init=7)
        vote = Signal()
        m.submodules.synchronizer = FFSynchronizer(self.rx, wire, init=1)
        m.d.sync += history.eq(Cat(wire, history))
        m.d.comb += vote.eq((history[0] & history[1]) | (history[0] & history[2]) | (history[1] & history[2]))
        receiving = Signal()
        timer = Signal(range(self.divisor))
        left = Signal(range(FRAME_BITS))
        shift = Signal(9)
        m.d.sync += self.bytes.valid.eq(0)
        # After a byte without a stop bit the wire must return to 1 before another byte can begin.
        rested = Signal(init=1)
        with m.If(history[0]):
            m.d.sync += rested.eq(1)
        with m.If(~receiving), m.If(rested & ~history[0]):
            m.d.sync += [receiving.eq(1), timer.eq(self.divisor // 2), left.eq(FRAME_BITS - 1)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self.divisor - 1), left.eq(left - 1), shift.eq(Cat(shift[1:], vote))]
            with m.If((left == FRAME_BITS - 1) & vote):
                m.d.sync += receiving.eq(0)
            with m.If(left == 0):
                m.d.sync += [receiving.eq(0), rested.eq(vote), self.bytes.valid.eq(vote), self.bytes.payload.eq(shift[1:])]
        return m


class UartTransmitter(wiring.Component):
    """From bytes to the wire.

    bytes: taken when the previous byte's stop bit has ended. A byte takes ten bits, the first one cycle after it is taken.
    tx: 1 when idle.
    divisor: clock cycles a bit, 4 to 65536.
    """

    def __init__(self, divisor: int):
        self.divisor = check_divisor(divisor)
        super().__init__({"bytes": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = Signal(9, init=0x1FF)
        left = Signal(range(FRAME_BITS + 1))
        timer = Signal(range(self.divisor))
        m.d.comb += self.bytes.ready.eq(left == 0)
        start = [self.tx.eq(0), shift.eq(Cat(self.bytes.payload, 1)), left.eq(FRAME_BITS), timer.eq(self.divisor - 1)]
        with m.If(self.bytes.ready), m.If(self.bytes.valid):
            m.d.sync += start
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self.divisor - 1), left.eq(left - 1), self.tx.eq(shift[0]), shift.eq(Cat(shift[1:], 1))]
        return m
