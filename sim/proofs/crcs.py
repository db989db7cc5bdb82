"""Crc: the state after a byte is that which the CRC's definition gives, a bit after the other."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import Assert

from mrfhw.gateware.link.frames import CRC_POLYNOMIAL, CRC_RESIDUE, Crc
from sim.proofs.engine import Proof

__all__ = ["INITIAL", "crc_proof"]

INITIAL = 0xFFFFFFFF


def crc_proof() -> Proof:
    """Bytes may come in any cycles. (A datagram's CRC takes four at once, of which a solver does not decide it.)"""
    return Proof("CRC-32 of bytes", "its state is that of the definition, after any bytes", _crc)


def _after(state: Value, data: Value) -> Value:
    """The state after some bits, the lowest first."""
    for bit in range(len(data)):
        state = (state >> 1)[:31] ^ Mux(state[0] ^ data[bit], CRC_POLYNOMIAL, 0)
    return state[:32]


def _crc() -> tuple[Module, list[Signal]]:
    m = Module()
    m.submodules.crc = crc = Crc()
    state = Signal(32, name="defined", init=INITIAL)
    with m.If(crc.start):
        m.d.sync += state.eq(INITIAL)
    with m.Elif(crc.valid):
        m.d.sync += state.eq(_after(state, crc.byte))
    m.d.comb += [Assert(crc.state == state, "its state is that of the definition"),
                 Assert(crc.whole == (state == CRC_RESIDUE), "its residue is looked for")]
    return m, [crc.start, crc.valid, crc.byte]
