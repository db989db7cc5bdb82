"""A board with gigabit Ethernet: the machine, its link in UDP datagrams, and the core that carries them."""

from __future__ import annotations

from typing import Any

from amaranth import ClockSignal, Instance, Module, Mux, ResetSignal, Signal
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.board.board_top import LinkedMachine
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.link.window_bridge import WindowBridge
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import DATAGRAM_WORDS, ETHERNET_LOG_BYTES, OUTSTANDING, PEER_BITS, UDP_PORT

__all__ = ["ETHERNET_CORE", "EthernetTop"]

ETHERNET_CORE = "mrfhw_ethernet"  # module of `mrfhw.generation.ethernet_core`
WHOLE = 0b1000  # of the core's last_be: the last word has all its bytes


class EthernetTop(LinkedMachine):
    """The machine behind RGMII wires.

    rgmii_<name>: to and from the PHY, of which rx_clock and tx_clock have ETHERNET_HZ and the others change at both edges. The
    link is that of docs/link.md, in datagrams; answers and the log go to whoever sent the last request that was taken. "sync" has
    a quarter of that and more, so that the core's words come as fast as the wires take them. The core itself is not part of this
    design's Verilog: `mrfhw.generation.ethernet_core`. The arguments: see `LinkedMachine`.
    """

    def __init__(self, config: Config, words: int = DATAGRAM_WORDS, log_bytes: int = ETHERNET_LOG_BYTES,
                 leaves: Leaves | None = None, digest: str = PLACEHOLDER, two_clocks: bool = False,
                 response_words: int | None = None, outstanding: int = OUTSTANDING):
        ports = {"rgmii_rx_clock": In(1), "rgmii_rx_ctl": In(1), "rgmii_rx_data": In(4), "rgmii_rst_n": Out(1),
                 "rgmii_tx_clock": Out(1), "rgmii_tx_ctl": Out(1), "rgmii_tx_data": Out(4)}
        super().__init__(ports, config, words, log_bytes, leaves, None, digest, two_clocks, response_words, True,
                         True, outstanding, PEER_BITS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bridge = self._linked(m)
        taken = {name: Signal(width, name=f"received_{name}") for name, width in (
            ("valid", 1), ("last", 1), ("last_be", 4), ("data", 32), ("error", 4), ("src_port", 16), ("ip_address", 32))}
        sent_ready = Signal()
        # Who sent the frame that waits, who sent the last one that was taken, and whom the datagram under way is for.
        waiting, peer, now, before = (Signal(PEER_BITS, name=name) for name in ("waiting", "peer", "peer_now", "peer_before"))
        under_way = Signal()
        sent, received = bridge.sent, bridge.received
        m.d.comb += [
            received.valid.eq(taken["valid"]), received.payload.word.eq(taken["data"]), received.payload.last.eq(taken["last"]),
            received.payload.whole.eq((taken["last_be"] == WHOLE) & (taken["error"] == 0)), sent.ready.eq(sent_ready),
            now.eq(Mux(under_way, before, peer)),
        ]
        kept: Any = waiting
        if isinstance(bridge, WindowBridge):
            # Between the last words of two datagrams are more cycles than it takes to see that the first one is whole.
            m.d.comb += bridge.tag.eq(waiting)
            kept = bridge.taken_tag
        with m.If(taken["valid"] & taken["last"] & (1 if isinstance(bridge, WindowBridge) else ~bridge.holding)):
            m.d.sync += [waiting[:32].eq(taken["ip_address"]), waiting[32:].eq(taken["src_port"])]
        with m.If(bridge.accepted):
            m.d.sync += peer.eq(kept)
        with m.If(sent.valid):
            m.d.sync += [under_way.eq(~(sent.ready & sent.payload.last)), before.eq(now)]
        m.submodules.ethernet = Instance(
            ETHERNET_CORE,
            i_clk=ClockSignal(), i_rst=ResetSignal(),
            i_rgmii_clock_rx=self.rgmii_rx_clock, i_rgmii_rx_ctl=self.rgmii_rx_ctl, i_rgmii_rx_data=self.rgmii_rx_data,
            o_rgmii_clock_tx=self.rgmii_tx_clock, o_rgmii_tx_ctl=self.rgmii_tx_ctl, o_rgmii_tx_data=self.rgmii_tx_data,
            o_rgmii_rst_n=self.rgmii_rst_n,
            i_received_ready=1, **{f"o_received_{name}": signal for name, signal in taken.items()},
            i_sent_valid=sent.valid, i_sent_last=sent.payload.last, i_sent_last_be=Mux(sent.payload.last, WHOLE, 0),
            i_sent_data=sent.payload.word, i_sent_length=sent.payload.length, i_sent_src_port=UDP_PORT,
            i_sent_dst_port=now[32:], i_sent_ip_address=now[:32], o_sent_ready=sent_ready)
        return m
