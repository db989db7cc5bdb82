"""A board's wires against cocotbext-eth's PHY and Scapy's packets, which know nothing of this program: ARP, ping, UDP."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer, with_timeout
from cocotbext.eth import GmiiFrame, RgmiiPhy
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from mrfhw.generation.ethernet_core import Ethernet
from mrfhw.machine.link_protocol import (
    FIRST_WINDOWED,
    LINK_VERSION,
    RESPONSE,
    UDP_PORT,
    DatagramDecoder,
    Operation,
    Status,
    datagram,
)
from mrfhw.simulation.compiled import LINK_HZ

LEAST = 60  # bytes of a packet without its check
MAC, IP_ADDRESS = "02:00:5e:10:00:07", "192.168.1.33"
BOARD = Ethernet()


class Wires:
    """The board's PHY, and packets through it."""

    def __init__(self, dut: Any):
        self.dut = dut
        self.phy = RgmiiPhy(dut.rgmii_tx_data, dut.rgmii_tx_ctl, dut.rgmii_tx_clock, dut.rgmii_rx_data, dut.rgmii_rx_ctl,
                            dut.rgmii_rx_clock, speed=1000e6)
        self.board_mac = ""

    async def start(self) -> None:
        Clock(self.dut.clk, round(1e9 / LINK_HZ), unit="ns").start()
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 5)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 400)
        answer = await self.ask(Ether(src=MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=MAC, psrc=IP_ADDRESS, pdst=BOARD.ip))
        assert (answer[ARP].op, answer[ARP].psrc, answer[ARP].pdst) == (2, BOARD.ip, IP_ADDRESS)
        self.board_mac = answer[ARP].hwsrc
        assert self.board_mac.replace(":", "") == f"{BOARD.mac:012x}"

    def send(self, packet: Packet) -> None:
        self.phy.rx.send_nowait(GmiiFrame.from_payload(bytes(packet).ljust(LEAST, b"\0")))

    async def receive(self) -> Packet:
        """The next packet of the board's, but its own questions, which are answered."""
        while True:
            frame = await with_timeout(self.phy.tx.recv(), 100, "us")
            assert frame.check_fcs()
            payload = bytes(frame.get_payload())
            assert len(payload) >= LEAST, "a packet that switches drop"
            packet = Ether(payload)
            if ARP in packet and packet[ARP].op == 1:
                assert packet[ARP].pdst == IP_ADDRESS
                self.send(Ether(src=MAC, dst=packet.src) / ARP(op=2, hwsrc=MAC, psrc=IP_ADDRESS, hwdst=packet.src, pdst=BOARD.ip))
                continue
            return packet

    async def ask(self, packet: Packet) -> Packet:
        self.send(packet)
        return await self.receive()

    async def silent(self, microseconds: int) -> bool:
        """Whether nothing comes for a time."""
        await Timer(microseconds, "us")
        return self.phy.tx.empty()

    def udp(self, data: bytes, port: int = 40001, **fields: Any) -> Packet:
        return Ether(src=MAC, dst=self.board_mac) / IP(src=IP_ADDRESS, dst=fields.pop("ip", BOARD.ip)) / UDP(
            sport=port, dport=fields.pop("dport", UDP_PORT)) / Raw(data)


def _frame(packet: Packet, port: int = 40001) -> Any:
    """The frame that a packet brings to a port."""
    assert (packet[IP].src, packet[IP].dst, packet[UDP].sport, packet[UDP].dport) == (BOARD.ip, IP_ADDRESS, UDP_PORT, port)
    checked = IP(bytes(packet[IP])[:20])
    del checked.chksum
    assert IP(bytes(checked)).chksum == packet[IP].chksum
    found = DatagramDecoder().feed(bytes(packet[UDP].payload)[:packet[UDP].len - 8])
    assert found
    return found[0]


@cocotb.test()
async def questions_and_answers(dut: Any) -> None:
    wires = Wires(dut)
    await wires.start()
    ping = Ether(src=MAC, dst=wires.board_mac) / IP(src=IP_ADDRESS, dst=BOARD.ip) / ICMP(id=3, seq=9) / Raw(b"x" * 40)
    echo = await wires.ask(ping)
    assert (echo[ICMP].type, echo[ICMP].id, echo[ICMP].seq, bytes(echo[ICMP].payload)[:40]) == (0, 3, 9, b"x" * 40)
    hello = _frame(await wires.ask(wires.udp(datagram(Operation.HELLO, 7, 0x1234, status=LINK_VERSION))))
    assert (hello.operation, hello.number, hello.value) == (Operation.HELLO | RESPONSE, 7, 0x1234)
    assert hello.words[0] == FIRST_WINDOWED - 1  # the board has one request outstanding
    # A register, from another port: the answer goes there; it is 16 bytes, whose packet lacks two of the least length.
    for number in range(8, 12):
        body = (1).to_bytes(4, "little") + bytes(4)
        read = _frame(await wires.ask(wires.udp(datagram(Operation.READ, number, 0, body, session=0x34), 50000)), 50000)
        assert (read.status, read.words.tolist()) == (Status.DONE, [int.from_bytes(b"MRFH", "big")])


@cocotb.test()
async def what_is_not_for_it(dut: Any) -> None:
    """Damaged, another's address or port: nothing is answered, and the next datagram is."""
    wires = Wires(dut)
    await wires.start()
    hello = datagram(Operation.HELLO, 7, 0x1234, status=LINK_VERSION)
    damaged = GmiiFrame.from_payload(bytes(wires.udp(hello)).ljust(LEAST, b"\0"))
    damaged.data[60] ^= 4
    wires.phy.rx.send_nowait(damaged)
    assert await wires.silent(20), "damaged"
    for kind, packet in (("another's address", wires.udp(hello, ip="192.168.1.77")),
                         ("another port", wires.udp(hello, dport=UDP_PORT + 1)), ("a byte more", wires.udp(hello + b"x")),
                         ("a byte less", wires.udp(hello[:-1])), ("empty", wires.udp(b""))):
        wires.send(packet)
        assert await wires.silent(20), kind
    answer = _frame(await wires.ask(wires.udp(datagram(Operation.HELLO, 9, 0x77))))
    assert (answer.number, answer.value) == (9, 0x77)
