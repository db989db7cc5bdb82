"""Verilog of the Ethernet core of a board: RGMII, ARP, IP and UDP, by LiteEth."""

from __future__ import annotations

import contextlib
import importlib.metadata
import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mrfhw.field.problem import ProblemError
from mrfhw.gateware.board.ethernet_top import ETHERNET_CORE
from mrfhw.machine.link_protocol import UDP_PORT

__all__ = ["LEAST_HZ", "Ethernet", "core_version", "ethernet_core"]

LEAST_HZ = 32_000_000  # of its clock: four bytes a cycle for a wire that takes 125 million a second
_TAP_SECONDS = 25e-12  # of the delays at ECP5's pins, which have 127 of them
_RECEIVED = ("valid", "ready", "last", "last_be", "data", "error", "src_port", "ip_address", "length")
_SENT = ("valid", "ready", "last", "last_be", "data", "length", "src_port", "dst_port", "ip_address")


@dataclass(frozen=True, kw_only=True)
class Ethernet:
    """A board's end of an Ethernet.

    ip: its IPv4 address.
    mac: its hardware address, a local one unless its owner has another.

    rx_delay, tx_delay: seconds by which the FPGA delays the wires' clock against their data, where the PHY does not, 0 to 3.1e-9.
    """

    ip: str = "192.168.1.50"
    mac: int = 0x02_6D_72_66_00_01
    rx_delay: float = 0.0
    tx_delay: float = 2e-9

    def __post_init__(self) -> None:
        try:
            address = ipaddress.IPv4Address(self.ip)
        except ValueError:
            raise ProblemError(f"ip is {self.ip!r}; a board has an IPv4 address: give one such as 192.168.1.50") from None
        if address.is_multicast or address.is_unspecified or address.is_loopback or address == ipaddress.IPv4Address(0xFFFFFFFF):
            raise ProblemError(f"ip is {self.ip}; that is no single host's address: give one of your network that is free")
        if not 0 < self.mac < 1 << 48 or self.mac >> 40 & 1:
            raise ProblemError(f"mac is {self.mac:#x}; a hardware address has 48 bits, of which bit 40 is 0: give such a one")
        for name in ("rx_delay", "tx_delay"):
            if not 0 <= getattr(self, name) < 128 * _TAP_SECONDS:
                raise ProblemError(f"{name} is {getattr(self, name)!r}; an ECP5 delays a pin by 0 to 3.1e-9 seconds: give as many")


def core_version() -> str:
    """Of what the core's text depends on, which is LiteEth's and its parts'; empty where it is missing."""
    try:
        return " ".join(importlib.metadata.version(name) for name in ("liteeth", "litex", "migen"))
    except importlib.metadata.PackageNotFoundError:
        return ""


@contextlib.contextmanager
def _padding_of_every_packet() -> Iterator[None]:
    """LiteEth's own padding (2024.12) forgets to begin anew after a packet that lacks less than a word of the least length: those
    after it leave too short, and switches drop them."""
    from liteeth.common import eth_phy_description
    from liteeth.mac import padding
    from litex.soc.interconnect import stream
    from migen import If, Module, Signal

    class Padding(Module):  # type: ignore[misc]
        def __init__(self, dw: int, least: int):
            self.sink = sink = stream.Endpoint(eth_phy_description(dw))
            self.source = source = stream.Endpoint(eth_phy_description(dw))
            size, short, last_be = dw // 8, Signal(), 1 << (least - 1) % (dw // 8)
            end = -(-least // size) - 1  # the word in which the least length ends
            count, filling = Signal(max=end + 2), Signal()
            self.comb += [
                short.eq(count < end),
                If(filling, source.valid.eq(1), source.last.eq(~short), If(~short, source.last_be.eq(last_be))).Else(
                    sink.connect(source),
                    If(sink.last & short, source.last.eq(0), source.last_be.eq(0)),
                    If(sink.last & (count == end) & (sink.last_be < last_be), source.last_be.eq(last_be)))]
            self.sync += If(
                source.valid & source.ready,
                If(source.last, count.eq(0), filling.eq(0)).Else(
                    If(count <= end, count.eq(count + 1)), If(sink.last, filling.eq(1))))

    theirs, padding.LiteEthMACPaddingInserter = padding.LiteEthMACPaddingInserter, Padding
    try:
        yield
    finally:
        padding.LiteEthMACPaddingInserter = theirs


def ethernet_core(hz: float, ethernet: Ethernet) -> str:
    """Verilog of module ETHERNET_CORE for `mrfhw.gateware.board.ethernet_top.EthernetTop`. hz: of its clock.

    It has primitives of the ECP5 at its pins (`sim.cells`). Raises ProblemError in one line where LiteEth is missing or the
    clock is too slow.
    """
    if hz < LEAST_HZ:
        raise ProblemError(f"clock is {hz / 1e6:g} MHz; the Ethernet core takes {LEAST_HZ / 1e6:g} MHz or more: give a faster one")
    try:
        from liteeth.core import LiteEthUDPIPCore
        from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
        from litex.build.lattice.platform import LatticePlatform
        from migen import ClockDomain, Module, Record, Signal
    except ImportError:
        raise ProblemError("boards with Ethernet need LiteEth, which is not installed: pip install 'mrfhw[ethernet]'") from None
    core: Any = Module()
    clk, rst = Signal(name="clk"), Signal(name="rst")
    clocks = Record([("rx", 1), ("tx", 1)], name="rgmii_clock")
    pads = Record([("rst_n", 1), ("rx_ctl", 1), ("rx_data", 4), ("tx_ctl", 1), ("tx_data", 4)], name="rgmii")
    core.clock_domains.cd_sys = ClockDomain("sys")
    core.comb += [core.cd_sys.clk.eq(clk), core.cd_sys.rst.eq(rst)]
    core.submodules.phy = LiteEthPHYRGMII(clocks, pads, rx_delay=ethernet.rx_delay, tx_delay=ethernet.tx_delay,
                                          with_inband_status=False)
    with _padding_of_every_packet():
        core.submodules.core = LiteEthUDPIPCore(core.phy, mac_address=ethernet.mac, ip_address=ethernet.ip, clk_freq=round(hz),
                                                dw=32, with_sys_datapath=True,
                                                with_ip_broadcast=False)  # else any address is its own
    port = core.core.udp.crossbar.get_port(UDP_PORT, dw=32)
    ports = {clk, rst, *clocks.flatten(), *pads.flatten()}
    for stream, end, fields in (("received", port.source, _RECEIVED), ("sent", port.sink, _SENT)):
        for field in fields:
            signal = getattr(end, field)
            outer = Signal(len(signal), name=f"{stream}_{field}")
            core.comb += signal.eq(outer) if (stream == "received") == (field == "ready") else outer.eq(signal)
            ports.add(outer)
    platform = LatticePlatform("LFE5UM5G-85F-8BG554I", io=[], toolchain="trellis")
    text = str(platform.get_verilog(core, ios=ports, name=ETHERNET_CORE))
    return re.sub(r"^// *(Date|Auto-Generated by LiteX on).*\n", "", text, flags=re.MULTILINE)
