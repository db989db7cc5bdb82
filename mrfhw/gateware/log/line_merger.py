"""The logs of several clusters as one."""

from __future__ import annotations

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.machine.cluster_registers import TURN_BITS, switch_line
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import log_message

__all__ = ["FEW", "LineMerger"]

FEW = 4  # lines that a cluster sends at least, where it has them, once another one has been named before it


class LineMerger(wiring.Component):
    """Passes the lines of one cluster after the other's, in turn, and says whose they are.

    child_<k>: the clusters' logs, tlast on the last line of a run. turn_<k>: lines of a turn, 1 or more: with every log full these
    are the clusters' shares.
    Whose turn it is sends them whenever it has one. While it has none, and of a log that is slow none comes in the cycles that a
    packer takes for the next line of messages that wait (`patience`), the others' lines go, in turns of their own, but no turn ends
    before its lines have gone: who logs little beside one that logs much waits for that one's turn once a turn of its own, and for
    FEW lines at other times. A turn that has come to its end goes on until another cluster waits.
    lines: before a run's first line, and where another cluster's lines go on, a line that names the cluster
    (`mrfhw.machine.cluster_registers.switch_line`); tlast is that of a cluster's own line. A child's line passes through wires;
    to change the cluster takes two cycles.
    """

    def __init__(self, config: Config):
        self.config = config = Derived.of(config)
        # A hub of one message passes one every other cycle; and a packer has a few of its own.
        self.patience = config.line_messages * (2 if config.hub_depth == 1 and config.tree_levels else 1) + 4
        super().__init__({**{f"child_{k}": In(AxiStream(config.line_bits)) for k in range(config.seats)},
                          **{f"turn_{k}": In(TURN_BITS) for k in range(config.seats)},
                          "lines": Out(AxiStream(config.line_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, out = self.config.seats, self.lines
        children = [getattr(self, f"child_{k}") for k in range(n)]
        valid, current, target = Signal(n), Signal(range(n)), Signal(range(n))
        known = Signal()  # the last line that left was a switch line to the current cluster, or one of its run that has not ended
        naming = Signal()  # a switch line stands at the output
        held = Signal()  # a line stands at the output since an earlier cycle
        leave, passes, taken = Signal(), Signal(), Signal()
        here, last, data = (Array([getattr(child, name) for child in children])[current] for name in ("tvalid", "tlast", "tdata"))
        m.d.comb += [
            valid.eq(Cat(child.tvalid for child in children)),
            leave.eq(~naming & ~held & valid.any() & ((target != current) | ~known)),
            passes.eq(known & ~naming & (held | (target == current))), taken.eq(passes & here & out.tready),
        ]
        self._choose(m, valid, current, target, known, held, leave, taken)
        with m.If(leave):
            m.d.sync += [current.eq(target), known.eq(0), naming.eq(1)]
        with m.If(naming & out.tready):
            m.d.sync += [naming.eq(0), known.eq(1)]
        with m.If(taken & last):
            m.d.sync += known.eq(0)

        # The bits of a switch line that are never set cost a gate each, the others a multiplexer.
        address, named = log_message(self.config)["address"], switch_line(self.config, 0)
        m.d.comb += [
            out.tvalid.eq(naming | (passes & here)), out.tlast.eq(~naming & last),
            out.tdata.eq(Mux(naming, named | current << address.low, data)),
        ]
        m.d.sync += held.eq(out.tvalid & ~out.tready)
        for k, child in enumerate(children):
            m.d.comb += child.tready.eq(passes & (current == k) & out.tready)
        return m

    def _choose(self, m: Module, valid: Signal, current: Signal, target: Signal, known: Signal, held: Signal,
                leave: Signal, taken: Signal) -> None:
        """Whose line comes next.

        owner: whose turn it is; owed: lines that are left of it. guest_left: of the turn of another that sends meanwhile. soon: the
        current one's next line may come as fast as a packer makes it. That is awaited where the last line had to wait for the log:
        to name another one takes longer there.
        """
        n = len(valid)
        turns = Array([getattr(self, f"turn_{k}") for k in range(n)])
        owner, owed, guest_left, sent = Signal(range(n)), Signal(TURN_BITS), Signal(TURN_BITS), Signal(range(FEW + 1))
        others, following, here, own, begins, soon = Signal(n), Signal(range(n)), Signal(), Signal(), Signal(), Signal()
        quiet = Signal(range(self.patience + 1), init=self.patience)  # cycles since the last line
        guest, mine = here & ~own, Array(valid)[owner]
        m.d.comb += [others.eq(valid & ~(1 << owner)), here.eq(Array(valid)[current]), own.eq(current == owner),
                     soon.eq(known & ~here & (quiet != self.patience) & Mux(own, owed.any(), guest_left.any() & ~mine))]
        with m.If(taken):
            m.d.sync += quiet.eq(Mux(held, 0, self.patience))
        with m.Elif(quiet != self.patience):
            m.d.sync += quiet.eq(quiet + 1)
        with m.Switch(current):
            for k in range(n):
                with m.Case(k):
                    for step in range(n, 0, -1):
                        with m.If(others[(k + step) % n]):
                            m.d.comb += following.eq((k + step) % n)
        with m.If(soon | (guest & (sent != FEW)) | (known & here & (sent == 0))):  # nobody is named for nothing
            m.d.comb += target.eq(current)
        with m.Elif(mine & (owed.any() | ~others.any())):
            m.d.comb += target.eq(owner)
        with m.Elif(guest & guest_left.any()):
            m.d.comb += target.eq(current)
        with m.Else():
            m.d.comb += target.eq(following)
        m.d.comb += begins.eq(~owed.any() & (target != owner))
        with m.If(leave):
            m.d.sync += sent.eq(0)
        with m.If(leave & (target != current)):
            with m.If(begins):
                m.d.sync += [owner.eq(target), owed.eq(turns[target])]
            with m.Elif(target != owner):
                m.d.sync += guest_left.eq(turns[target])
        with m.If(taken):
            m.d.sync += sent.eq(sent + (sent != FEW))
            with m.If(own):
                m.d.sync += owed.eq(owed - owed.any())
            with m.Else():
                m.d.sync += guest_left.eq(guest_left - guest_left.any())
