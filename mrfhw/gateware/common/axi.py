"""AXI4 as this project speaks it: signatures with the standard's own member names."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BURST_INCR", "OKAY", "SLVERR", "Axi4", "Axi4Lite", "AxiStream", "byte_size"]

BURST_INCR = 1  # awburst, arburst: consecutive addresses
OKAY, SLVERR = 0, 2  # bresp, rresp: done, not done
ID_BITS = 1  # every transaction has ID 0


def byte_size(data_bits: int) -> int:
    """awsize, arsize of beats as wide as the bus: log2 of its bytes. ValueError for no AXI width."""
    if data_bits not in (8, 16, 32, 64, 128, 256, 512, 1024):
        raise ValueError(f"data_bits is {data_bits!r}; an AXI bus has 8 to 1024 bits, a power of two: give one of them")
    return (data_bits // 8).bit_length() - 1


class AxiStream(wiring.Signature):
    """AXI4-Stream without side channels: tdata, tvalid, tready, tlast."""

    def __init__(self, width: int):
        super().__init__({"tdata": Out(width), "tvalid": Out(1), "tready": In(1), "tlast": Out(1)})


class Axi4(wiring.Signature):
    """AXI4 from a master's side: byte addresses, bursts of type INCR only, beats as wide as the bus, one ID.

    Bursts are aligned to the bus width and never cross 4096 bytes (AXI4, A3.4.1). Lock, cache, protection, quality and region
    signals are left out: interconnects tie them to 0.
    address_bits: of awaddr and araddr. data_bits: 8 to 1024, a power of two.
    """

    def __init__(self, address_bits: int, data_bits: int):
        byte_size(data_bits)
        self.address_bits, self.data_bits = address_bits, data_bits
        address = {"id": Out(ID_BITS), "addr": Out(address_bits), "len": Out(8), "size": Out(3), "burst": Out(2),
                   "valid": Out(1), "ready": In(1)}
        super().__init__({
            **{f"aw{name}": member for name, member in address.items()},
            "wdata": Out(data_bits), "wstrb": Out(data_bits // 8), "wlast": Out(1), "wvalid": Out(1), "wready": In(1),
            "bid": In(ID_BITS), "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            **{f"ar{name}": member for name, member in address.items()},
            "rid": In(ID_BITS), "rdata": In(data_bits), "rresp": In(2), "rlast": In(1), "rvalid": In(1), "rready": Out(1),
        })


class Axi4Lite(wiring.Signature):
    """AXI4-Lite from a master's side: 32-bit data, byte addresses."""

    def __init__(self, address_bits: int):
        self.address_bits = address_bits
        super().__init__({
            "awaddr": Out(address_bits), "awprot": Out(3), "awvalid": Out(1), "awready": In(1),
            "wdata": Out(32), "wstrb": Out(4), "wvalid": Out(1), "wready": In(1),
            "bresp": In(2), "bvalid": In(1), "bready": Out(1),
            "araddr": Out(address_bits), "arprot": Out(3), "arvalid": Out(1), "arready": In(1),
            "rdata": In(32), "rresp": In(2), "rvalid": In(1), "rready": Out(1),
        })
