"""What stands around a machine: the usual names of its top modules, and the memory port of the one with AXI ports."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AXI_TOP", "TOP", "MemoryPort"]

TOP = "mrfhw_top"
AXI_TOP = "mrfhw_axi_top"


@dataclass(frozen=True)
class MemoryPort:
    """The AXI port through which a log goes to memory.

    data_bits: width of its data.
    address_bits: width of its byte addresses.
    block_bytes: of a burst; what register log_block reads.
    """

    data_bits: int
    address_bits: int
    block_bytes: int
