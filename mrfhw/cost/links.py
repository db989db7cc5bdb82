"""A board's link to its host: the bytes of log that it carries, and the memories that it takes."""

from __future__ import annotations

from dataclasses import dataclass

from mrfhw.cost.estimate import Memory
from mrfhw.machine.link_protocol import (
    BAUD,
    DATAGRAM_LOG_CHUNK,
    ETHERNET_HZ,
    FRAME_BITS,
    HEAD_WORDS,
    LOG_BYTES,
    LOG_CHUNK,
    PACKET_BYTES,
    UDP_BYTES,
    WIRE_BYTES,
    WORDS,
    log_unit,
)

__all__ = ["BoardLink", "LogMemory"]

USB_PACKETS = 19  # of an endpoint's that USB 2.0 (5.8.4) counts in a millisecond
ESCAPED = 2 / 256  # of random bytes that are sent as two


@dataclass(frozen=True)
class LogMemory:
    """A memory outside the FPGA that holds the log until the link takes it.

    bytes: that it holds.
    bytes_per_s: that it takes, at its clock.
    """

    bytes: int
    bytes_per_s: float


@dataclass(frozen=True)
class BoardLink:
    """A board's link to its host.

    kind: "serial", "usb" (full speed, with no other device) or "ethernet" (gigabit).
    baud: of a serial port; of no other kind.
    words: of its memory for requests.
    response_words: of that for responses; None: as many.
    log_bytes: of the ring of log that waits for it.
    memory: outside the FPGA, that holds the log; None: there is none.
    """

    kind: str = "serial"
    baud: int = BAUD
    words: int = WORDS
    response_words: int | None = None
    log_bytes: int = LOG_BYTES
    memory: LogMemory | None = None

    @property
    def bytes_per_s(self) -> float:
        """Bytes of log lines, and of the answers to reads, that it carries a second."""
        if self.kind == "ethernet":  # frames of so many bytes in a datagram each
            sent = DATAGRAM_LOG_CHUNK + 4 * (HEAD_WORDS + 1) + UDP_BYTES + WIRE_BYTES
            return ETHERNET_HZ * DATAGRAM_LOG_CHUNK / sent
        frame = (LOG_CHUNK + 4 * (HEAD_WORDS + 1)) * (1 + ESCAPED) + 1  # with heads, flags and escapes
        raw = 1000 * USB_PACKETS * PACKET_BYTES if self.kind == "usb" else self.baud / FRAME_BITS
        return raw * LOG_CHUNK / frame

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Its frames', and the ring of log. Those of Ethernet's or USB's own core are not among them."""
        unit = log_unit(self.kind == "ethernet")
        responses = self.words if self.response_words is None else self.response_words
        return (Memory("requests", 1, self.words, 32), Memory("responses", 1, responses, 32),
                Memory("log ring", 1, self.log_bytes // unit, 8 * unit))
