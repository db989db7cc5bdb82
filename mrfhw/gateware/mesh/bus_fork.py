"""One bus to several clusters."""

from __future__ import annotations

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.control.register_file import Wishbone
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.cluster_registers import LOG_TURN, TURN_BITS, TURN_LINES
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["BusFork"]


class BusFork(wiring.Component):
    """Leads each access to the cluster that the top bits of its address name; answers come in the order of requests.

    bus: as the clusters' own; a request waits while another cluster owes answers, but for the one that it gives in that cycle, and
    else passes through wires.
    cluster_<k>: the clusters' buses. turn_<k>: the register `log_turn` of each, which is answered here, in the cycle after its
    request is taken; that waits until no cluster owes an answer.
    """

    def __init__(self, config: Config):
        self.config = config = Derived.of(config)
        self.map = AddressMap(config)
        ports = {f"cluster_{k}": Out(Wishbone(self.map.address_bits)) for k in range(config.seats)}
        super().__init__({"bus": In(Wishbone(self.map.bus_bits)), **ports,
                          **{f"turn_{k}": Out(TURN_BITS, init=TURN_LINES) for k in range(config.seats)}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, bus, low = self.config, self.bus, self.map.address_bits
        clusters = [getattr(self, f"cluster_{k}") for k in range(c.seats)]
        turns = [getattr(self, f"turn_{k}") for k in range(c.seats)]
        chosen = bus.adr[low:]
        # More than a cluster's pipeline holds: reads that are under way in its tiles, and the register file's own stages.
        owed = Signal(range(c.latency.bus_read(c.tree_levels) + 2))
        last = Signal.like(chosen)  # whose answers are owed
        quiet, own, passes, taken, answered = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            quiet.eq((owed == 0) | ((owed == 1) & answered)),
            own.eq(bus.adr[:low] == LOG_TURN), passes.eq(~own & (quiet | (chosen == last))),
            bus.stall.eq(Mux(own, ~quiet, ~passes | Array([one.stall for one in clusters])[chosen])),
            taken.eq(bus.cyc & bus.stb & ~own & ~bus.stall),
        ]
        for number, one in enumerate(clusters):
            m.d.comb += [one.cyc.eq(bus.cyc), one.stb.eq(bus.stb & passes & (chosen == number)), one.we.eq(bus.we),
                         one.adr.eq(bus.adr[:low]), one.dat_w.eq(bus.dat_w)]
        m.d.sync += owed.eq(owed + taken - answered)
        with m.If(taken):
            m.d.sync += last.eq(chosen)

        done, refused, value = Signal(), Signal(), Signal(TURN_BITS)
        here = bus.cyc & bus.stb & own & quiet
        nothing = bus.we & ~bus.dat_w[:TURN_BITS].any()
        m.d.sync += [done.eq(here & ~nothing), refused.eq(here & nothing), value.eq(Array(turns)[chosen])]
        for number, turn in enumerate(turns):
            with m.If(here & bus.we & ~nothing & (chosen == number)):
                m.d.sync += turn.eq(bus.dat_w)
        answering = Array(clusters)[last]
        m.d.comb += [
            answered.eq(answering.ack | answering.err), bus.ack.eq(answering.ack | done), bus.err.eq(answering.err | refused),
            bus.dat_r.eq(Mux(done, value, answering.dat_r)),
        ]
        return m
