"""A ring of log lines in memory: its geometry, and a place in it from which the next burst begins."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFOBuffered

from mrfhw.gateware.common.axi import byte_size

__all__ = ["POSITION_BITS", "Place", "Ring"]

POSITION_BITS = 32  # positions of the log count bytes since reset, modulo 2^32
BOUNDARY = 4096  # bytes; no AXI4 burst crosses a multiple of it
MAX_BEATS = 256  # of an AXI4 burst
MAX_ADDRESS_BITS = 64


class Ring:
    """Geometry: a line is whole beats; memory is divided into blocks of burst_beats beats, and a burst stays within its block.

    Base and size of the ring are multiples of a block's bytes, so no burst crosses the ring's end or 4096 bytes.
    line_bits: a multiple of data_bits. data_bits: 8 to 1024, a power of two. address_bits: a block's to 64. burst_beats: 1 to
    256, a power of two, of 4096 bytes together at most.
    """

    def __init__(self, line_bits: int, data_bits: int, address_bits: int, burst_beats: int = 16):
        self.beat_bits = byte_size(data_bits)
        if isinstance(line_bits, bool) or line_bits < data_bits or line_bits % data_bits:
            raise ValueError(f"line_bits is {line_bits!r}; a line is whole beats of {data_bits} bits: give a multiple of "
                             f"{data_bits}")
        if isinstance(burst_beats, bool) or not 1 <= burst_beats <= MAX_BEATS or burst_beats & (burst_beats - 1):
            raise ValueError(f"burst_beats is {burst_beats!r}; an AXI burst has 1 to {MAX_BEATS} beats, here a power of two: give "
                             "one of them")
        self.line_bits, self.data_bits, self.address_bits, self.burst_beats = line_bits, data_bits, address_bits, burst_beats
        self.line_bytes, self.line_beats = line_bits // 8, line_bits // data_bits
        self.beat_bytes = data_bits // 8
        self.burst_bytes = burst_beats * self.beat_bytes
        if self.burst_bytes > BOUNDARY:
            raise ValueError(f"burst_beats is {burst_beats}; {burst_beats} beats of {data_bits} bits are {self.burst_bytes} bytes, "
                             f"and a burst has {BOUNDARY} at most: give {BOUNDARY // self.beat_bytes} or fewer")
        # Counts of whole lines omit the low bits, which are always 0.
        self.unit_bits = (self.line_bytes & -self.line_bytes).bit_length() - 1
        self.line_units = self.line_bytes >> self.unit_bits
        self.index_bits = burst_beats.bit_length() - 1
        self.burst_bits = self.beat_bits + self.index_bits
        if isinstance(address_bits, bool) or not self.burst_bits <= address_bits <= MAX_ADDRESS_BITS:
            raise ValueError(f"address_bits is {address_bits!r}; a block of {self.burst_bytes} bytes needs {self.burst_bits}, "
                             f"and an AXI address has {MAX_ADDRESS_BITS} at most: give a number between them")

    def buffer(self, extra_bits: int = 0) -> SyncFIFOBuffered:
        """A queue of two blocks of beats in a memory, and one more in its output register."""
        return SyncFIFOBuffered(width=self.data_bits + extra_bits, depth=2 * self.burst_beats + 1)

    def bytes_of(self, beats: Any) -> Any:
        """Bytes of a number of beats."""
        return Cat(Const(0, self.beat_bits), beats)

    def units(self, count: Any) -> Any:
        """Bytes of a count by `line_units` a line."""
        return Cat(Const(0, self.unit_bits), count)


class Place:
    """A beat of the ring, as a position of the log and as an address.

    block, beat: the position, in blocks and beats. address: in memory, of base and size (see Ring).
    """

    def __init__(self, ring: Ring, base: Any, size: Any):
        self.ring, self.blocks = ring, size[ring.burst_bits:]
        self.block, self.beat = Signal(POSITION_BITS - ring.burst_bits, name="block"), Signal(ring.index_bits, name="beat")
        # Kept separately from the position, because the ring's size need not divide 2^32.
        self.offset = Signal(min(ring.address_bits, POSITION_BITS) - ring.burst_bits, name="offset")
        self.address = ring.bytes_of(Cat(self.beat, base[ring.burst_bits:] + self.offset))[:ring.address_bits]

    def advance(self, m: Module, beats: Any) -> None:
        """Advance by `beats`, at most to the block's end."""
        end, following = self.beat + beats, self.offset + 1
        m.d.sync += self.beat.eq(end)
        with m.If(end[self.ring.index_bits]):
            m.d.sync += [self.block.eq(self.block + 1), self.offset.eq(Mux(following == self.blocks, 0, following))]
