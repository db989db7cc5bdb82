"""The log registers of a machine with AXI ports: one table for gateware, driver and documents.

They lie on the machine's bus at the top of its register page, where the machine itself has no register (mrfhw.machine.registers).
"""

from __future__ import annotations

from enum import IntEnum

from mrfhw.machine.registers import REGISTERS, TEMPERATURE_TABLE, Bits, Register, places, sentences

__all__ = ["LOG_PAGE", "LOG_PAGE_WORDS", "LOG_REGISTERS", "LOG_STATUS_BITS", "WORD_BYTES", "WORD_BYTES_LOG2",
           "LogTarget"]

WORD_BYTES_LOG2 = 2
WORD_BYTES = 1 << WORD_BYTES_LOG2  # a byte address is that many times a word address

LOG_PAGE_WORDS = 16
LOG_PAGE = TEMPERATURE_TABLE - LOG_PAGE_WORDS  # word address, a multiple of LOG_PAGE_WORDS
assert len(REGISTERS) <= LOG_PAGE
assert LOG_PAGE % LOG_PAGE_WORDS == 0

LOG_STATUS = {"error": Bits(0, "error: memory answered other than OKAY since the ring was set"),
              "empty": Bits(1, "empty: memory has acknowledged every line that was taken for it")}
LOG_STATUS_BITS = places(LOG_STATUS)

_TABLE: tuple[tuple[str, str, str], ...] = (
    ("log_block", "r", "Bytes of a block: log_base and log_size are multiples of it."),
    ("log_base_low", "rw", "Byte address in memory of the log's ring, bits 31:0. Writing a half of it or log_size sets the "
                           "positions log_freed and log_written to 0 and clears the error; err unless log_status says empty."),
    ("log_base_high", "rw", "Bits 63:32, as far as the memory port has them."),
    ("log_size", "rw", "Bytes of the ring, 0 after reset. 0: memory takes no line, and a run with a log waits."),
    ("log_freed", "rw", "Position up to which the host has read, modulo 2^32: memory before it is written again. "
                        "err for a position that is not from log_freed to log_written."),
    ("log_written", "r", "Position up to which memory has acknowledged the log, modulo 2^32: bytes since the ring was set."),
    ("log_status", "r", sentences(LOG_STATUS)),
    ("log_target", "rw", "0: lines go to memory. 1: to the AXI4-Stream port. Holds from the next run's first line on."),
)

LOG_REGISTERS: dict[str, Register] = {
    name: Register(name, LOG_PAGE + i, access, text) for i, (name, access, text) in enumerate(_TABLE)
}
assert len(LOG_REGISTERS) <= LOG_PAGE_WORDS


class LogTarget(IntEnum):
    """Values of log_target."""

    MEMORY = 0
    STREAM = 1
