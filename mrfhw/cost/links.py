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
    OUTSTANDING,
    PACKET_BYTES,
    PEER_BITS,
    STATUS_BITS,
    UDP_BYTES,
    WIRE_BYTES,
    WORDS,
    frame_words,
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
    beats: of a burst; two bursts wait on the FPGA each way. data_bits: of a beat.
    """

    bytes: int
    bytes_per_s: float
    beats: int = 0
    data_bits: int = 0

    @property
    def buffers(self) -> tuple[Memory, ...]:
        """On the FPGA."""
        held = 2 * self.beats + 1
        return (Memory("log to memory", 1, held, self.data_bits + 1), Memory("log from memory", 1, held, self.data_bits))


@dataclass(frozen=True)
class BoardLink:
    """A board's link to its host.

    kind: "serial", "usb" (full speed, with no other device) or "ethernet" (gigabit).
    baud: of a serial port; of no other kind.
    words: of its memory for requests.
    response_words: of that for responses; None: as many.
    log_bytes: of the ring of log that waits for it.
    memory: outside the FPGA, that holds the log; None: there is none.
    outstanding: requests that it has at once.
    """

    kind: str = "serial"
    baud: int = BAUD
    words: int = WORDS
    response_words: int | None = None
    log_bytes: int = LOG_BYTES
    memory: LogMemory | None = None
    outstanding: int = OUTSTANDING

    @property
    def datagrams(self) -> bool:
        """Whether each frame is one of them."""
        return self.kind == "ethernet"

    @property
    def response_memory(self) -> int:
        """Words of its memory for responses."""
        return self.words if self.response_words is None else self.response_words

    @property
    def largest(self) -> tuple[int, int]:
        """Words of its largest request, and of the body of its largest response."""
        return frame_words(self.words, self.outstanding), frame_words(self.response_memory, self.outstanding)

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
        return (Memory("requests", 1, self.words, 32), Memory("responses", 1, self.response_memory, 32), *self._heads,
                Memory("log ring", 1, self.log_bytes // unit, 8 * unit), *(self.memory.buffers if self.memory else ()))

    @property
    def _heads(self) -> tuple[Memory, ...]:
        """Of several requests and kept responses, beside their words. Wide ones are counted in parts, as logic that is cheaper than
        blocks for each part is so for all."""
        if self.outstanding == 1:
            return ()
        request, response = self.largest
        place = self.response_memory.bit_length()
        peer = PEER_BITS if self.kind == "ethernet" else 0
        wide = {"request sizes": (request - 1).bit_length() + peer, "response places": place,
                "response heads": STATUS_BITS + 32 + response.bit_length() + place}
        return tuple(Memory(use, 1, self.outstanding, min(32, bits - low))
                     for use, bits in wide.items() for low in range(0, bits, 32))
