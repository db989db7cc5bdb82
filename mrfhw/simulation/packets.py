"""Ethernet packets of one host: ARP, IPv4 and UDP as a simulated board's neighbour needs them."""

from __future__ import annotations

import ipaddress
import struct
import zlib
from dataclasses import dataclass

from mrfhw.machine.link_protocol import UDP_PORT

__all__ = ["Datagram", "Neighbour"]

PREAMBLE = bytes((0x55,) * 7 + (0xD5,))
LEAST = 60  # bytes of a packet without its check; shorter ones are filled up
_ARP, _IPV4, _UDP = 0x0806, 0x0800, 17
_ETHERNET = struct.Struct(">6s6sH")  # destination, source, type
_ARP_BODY = struct.Struct(">HHBBH6s4s6s4s")
_IPV4_HEAD = struct.Struct(">BBHHHBBH4s4s")
_UDP_HEAD = struct.Struct(">HHHH")


@dataclass(frozen=True)
class Datagram:
    """What UDP carries. port: of the neighbour's end."""

    port: int
    data: bytes


def _checksum(words: bytes) -> int:
    """Of an IPv4 header (RFC 1071)."""
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Neighbour:
    """The host at the other end of a board's wires. mac, ip: its own. board_ip: the board's; its hardware address is asked for."""

    def __init__(self, board_ip: str, ip: str = "192.168.1.1", mac: bytes = b"\x02mrf\x00\x02"):
        self.mac, self.ip = mac, ipaddress.IPv4Address(ip).packed
        self.board_ip = ipaddress.IPv4Address(board_ip).packed
        self.board_mac: bytes | None = None

    def _packet(self, destination: bytes, kind: int, payload: bytes) -> bytes:
        plain = (_ETHERNET.pack(destination, self.mac, kind) + payload).ljust(LEAST, b"\0")
        return plain + zlib.crc32(plain).to_bytes(4, "little")

    def question(self) -> bytes:
        """Whoever has the board's address is asked to say so."""
        body = _ARP_BODY.pack(1, _IPV4, 6, 4, 1, self.mac, self.ip, bytes(6), self.board_ip)
        return self._packet(b"\xff" * 6, _ARP, body)

    def datagram(self, port: int, data: bytes) -> bytes:
        """The packet of a datagram to the board's port, from this one."""
        assert self.board_mac is not None, "the board has not said its address"
        length = _UDP_HEAD.size + len(data)
        head = _IPV4_HEAD.pack(0x45, 0, _IPV4_HEAD.size + length, 0, 0x4000, 64, _UDP, 0, self.ip, self.board_ip)
        head = head[:10] + _checksum(head).to_bytes(2, "big") + head[12:]
        return self._packet(self.board_mac, _IPV4, head + _UDP_HEAD.pack(port, UDP_PORT, length, 0) + data)

    def take(self, packet: bytes) -> tuple[bytes | None, Datagram | None]:
        """A packet from the board, preamble included: (an answer to be sent, the datagram in it), each None where there is none.

        A packet that is damaged or not for this host is forgotten.
        """
        plain, check = packet[len(PREAMBLE):-4], packet[-4:]
        if packet[:len(PREAMBLE)] != PREAMBLE or zlib.crc32(plain).to_bytes(4, "little") != check or len(plain) < LEAST:
            return None, None
        destination, _, kind = _ETHERNET.unpack_from(plain)
        body = plain[_ETHERNET.size:]
        if destination not in (self.mac, b"\xff" * 6):
            return None, None
        if kind == _ARP:
            return self._take_arp(body), None
        return None, self._take_ip(body) if kind == _IPV4 else None

    def _take_arp(self, body: bytes) -> bytes | None:
        _, _, _, _, operation, mac, ip, _, asked = _ARP_BODY.unpack_from(body)
        if ip == self.board_ip:
            self.board_mac = mac
        if operation != 1 or asked != self.ip:
            return None
        return self._packet(mac, _ARP, _ARP_BODY.pack(1, _IPV4, 6, 4, 2, self.mac, self.ip, mac, ip))

    def _take_ip(self, body: bytes) -> Datagram | None:
        head = body[:_IPV4_HEAD.size]
        version, _, length, _, _, _, protocol, _, source, destination = _IPV4_HEAD.unpack(head)
        if version != 0x45 or protocol != _UDP or _checksum(head) or (source, destination) != (self.board_ip, self.ip):
            return None
        from_port, port, size, _ = _UDP_HEAD.unpack_from(body, _IPV4_HEAD.size)
        data = body[_IPV4_HEAD.size + _UDP_HEAD.size:length]
        return Datagram(port, data) if from_port == UDP_PORT and size == _UDP_HEAD.size + len(data) else None
