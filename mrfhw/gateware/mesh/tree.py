"""The two trees between the tiles and the edge: control (down and back) and log (up) (Figure 3.3b)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.memories import Queue
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import LogMessage, LogStream, downlink, uplink
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config

__all__ = ["ControlNode", "LineHub", "LogHub", "control_node_bits"]


def control_node_bits(config: Config) -> int:
    """Flip-flops of a ControlNode: both links, with the bus strobe once for each child, in the children's own stages all of it."""
    down, (shared, own) = downlink(config).size, _stages(config)
    return shared * (down - 1 + config.hub_fan_in) + own * config.hub_fan_in * down + config.latency.node_up * uplink(config).size


def _stages(config: Config) -> tuple[int, int]:
    """Of `Latency.node_down`: those that the children of a node share, and those that each has for itself."""
    shared = max(1, config.latency.node_down - 1)
    return shared, config.latency.node_down - shared


class ControlNode(wiring.Component):
    """A register stage of the control tree with up to `hub_fan_in` children.

    children: those that have ports, None for all that a node can have. Only where each has a stage of its own it matters
    that there be no more than are there, as synthesis takes out all else of those that are not.
    down -> child_down_<k>: `Latency.node_down` cycles, the same to all children but the bus strobe, which goes to the
    child that the first digit of the path names, or to all; of two stages and more the last is each child's own.
    child_up_<k> -> up: `Latency.node_up` cycles, or-ed.
    Cost: in each node one register for each bit of both links; a machine of n tiles has about n / (fan_in - 1) nodes.
    """

    def __init__(self, config: Config, children: int | None = None):
        self.config = config
        self.children = config.hub_fan_in if children is None else children
        super().__init__({
            "down": In(downlink(config)), "up": Out(uplink(config)),
            **{f"child_down_{k}": Out(downlink(config)) for k in range(self.children)},
            **{f"child_up_{k}": In(uplink(config)) for k in range(self.children)},
        })

    @classmethod
    def for_children(cls, config: Config, count: int) -> tuple[str, Callable[[], ControlNode]]:
        """Module name of a node of so many children, and what makes it."""
        if count == config.hub_fan_in or not _stages(config)[1]:
            return "mrfhw_control_node", lambda: cls(config)
        return f"mrfhw_control_node_{count}", lambda: cls(config, count)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, bus = self.config, self.down.bus
        digit = bits_for(c.hub_fan_in)
        down = Signal(downlink(c))
        m.d.comb += [down.eq(self.down), down.bus.path.eq(bus.path << digit)]
        shared, own = _stages(c)
        held = delayed(m, down, shared, "held")
        for k in range(self.children):
            child = getattr(self, f"child_down_{k}")
            strobe = bus.strobe & (bus.broadcast | (bus.path[-digit:] == k))
            now = Signal(downlink(c), name=f"now_{k}")
            m.d.comb += [now.eq(held), now.bus.strobe.eq(delayed(m, strobe, shared, f"strobe_{k}")),
                         child.eq(delayed(m, now, own, f"held_{k}", own=True))]
        ups = [getattr(self, f"child_up_{k}") for k in range(self.children)]
        while len(ups) > 1:
            merged = [data.View(uplink(c), a.as_value() | b.as_value()) for a, b in zip(ups[::2], ups[1::2], strict=False)]
            ups = merged + ups[2 * len(merged):]
        m.d.comb += self.up.eq(delayed(m, ups[0], c.latency.node_up, "merged"))
        return m


@dataclass(frozen=True)
class _Turn:
    """Whose turn it is at a hub.

    served: of each child, whether it is the one that is served; chosen: its number; accept: its word is taken in this cycle;
    partial: it ends a child's run, and others' are missing; complete: it ends the last one that is missing. last: the child that
    was served last; ended: of each child, whether its run has ended.
    """

    served: Signal
    chosen: Signal
    accept: Signal
    partial: Signal
    complete: Signal
    last: Signal
    ended: Signal


def _turns(m: Module, valid: Signal, ends: Signal, present: Value, room: Value) -> _Turn:
    """The first valid child after the one that was served last. valid, ends: of each child, and whether its word ends its run."""
    n = len(valid)
    served, chosen, last = Signal(n), Signal(range(n)), Signal(range(n))
    accept, partial, complete = Signal(), Signal(), Signal()
    # Of each child beside the choice, not behind it: the ways through a hub are the longest ones between tiles.
    for k in range(n):
        earlier = (valid[j] & Array(Const((j - at - 1) % n < (k - at - 1) % n, 1) for at in range(n))[last]
                   for j in range(n) if j != k)
        m.d.comb += served[k].eq(valid[k] & ~Cat(earlier).any())
    for bit in range(len(chosen)):
        m.d.comb += chosen[bit].eq(Cat(served[k] for k in range(n) if k >> bit & 1).any())
    ended = Signal(n)
    completes = Signal(n)
    m.d.comb += [
        completes.eq(Cat((ended | (1 << k) | ~present).all() for k in range(n))),
        partial.eq((served & ends & ~completes).any()), complete.eq((served & ends & completes).any()),
        accept.eq(valid.any() & room),
    ]
    with m.If(accept):
        m.d.sync += last.eq(chosen)
        with m.If(complete):
            # Every run begins with the same child, so that its cycles do not depend on the run before.
            m.d.sync += [ended.eq(0), last.eq(0)]
        with m.Elif(partial):
            m.d.sync += ended.eq(ended | served)
    return _Turn(served, chosen, accept, partial, complete, last, ended)


class LogHub(wiring.Component):
    """Merges the logs of `hub_fan_in` children, one message a cycle, in turn, into a FIFO.

    The child's number is put in front of the message's tile number. An end marker (count 0) is passed on
    when every child that is `present` has sent one; the round-robin order then starts again at the first child. child_<k>: inputs;
    log: output, `Latency.log_fifo` cycles later.
    """

    def __init__(self, config: Config, tile_bits: int):
        self.config, self.tile_bits = config, tile_bits
        config.latency.exactly("log_fifo", 1, "a hub's FIFO")
        super().__init__({
            "present": In(config.hub_fan_in),
            **{f"child_{k}": In(LogStream(config, tile_bits)) for k in range(config.hub_fan_in)},
            "log": Out(LogStream(config, tile_bits + bits_for(config.hub_fan_in))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, n = self.config, self.config.hub_fan_in
        out = LogMessage(c, self.tile_bits + bits_for(n))
        m.submodules.fifo = self.fifo = fifo = Queue(out.size + 1, c.hub_depth)
        children = [getattr(self, f"child_{k}") for k in range(n)]
        valid = Signal(n)
        markers = Signal(n)
        m.d.comb += [valid.eq(Cat(child.valid for child in children)),
                     markers.eq(Cat(child.ends for child in children))]
        self.turn = turn = _turns(m, valid, markers, self.present, fifo.w_rdy)
        message = Signal(LogMessage(c, self.tile_bits))
        m.d.comb += [
            message.as_value().eq(Array([child.payload.as_value() for child in children])[turn.chosen]),
            # A marker that goes no further waits for room, too, so that `ready` does not wait for what the message is.
            fifo.w_en.eq(valid.any() & ~turn.partial),
            fifo.w_data.eq(Cat(message.as_value(), turn.chosen, turn.complete)),
            Cat(self.log.payload.as_value(), self.log.ends).eq(fifo.r_data), self.log.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.log.ready),
        ]
        for k, child in enumerate(children):
            m.d.comb += child.ready.eq(turn.served[k] & fifo.w_rdy)
        return m


class LineHub(wiring.Component):
    """Merges the lines of `hub_fan_in` children, one line a cycle, in turn, into a FIFO.

    tlast is passed on with the last line when every child that is `present` has sent one; the round-robin order then starts
    again at the first child. child_<k>: inputs; lines: output, `Latency.log_fifo` cycles later.
    """

    def __init__(self, config: Config):
        self.config = config
        config.latency.exactly("log_fifo", 1, "a hub's FIFO")
        super().__init__({"present": In(config.hub_fan_in), "lines": Out(AxiStream(config.line_bits)),
                          **{f"child_{k}": In(AxiStream(config.line_bits)) for k in range(config.hub_fan_in)}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, n = self.config, self.config.hub_fan_in
        m.submodules.fifo = self.fifo = fifo = Queue(c.line_bits + 1, c.hub_depth)
        children = [getattr(self, f"child_{k}") for k in range(n)]
        valid = Signal(n)
        last_lines = Signal(n)
        m.d.comb += [valid.eq(Cat(child.tvalid for child in children)), last_lines.eq(Cat(child.tlast for child in children))]
        self.turn = turn = _turns(m, valid, last_lines, self.present, fifo.w_rdy)
        m.d.comb += [
            fifo.w_en.eq(turn.accept),
            fifo.w_data.eq(Cat(Array([child.tdata for child in children])[turn.chosen], turn.complete)),
            Cat(self.lines.tdata, self.lines.tlast).eq(fifo.r_data), self.lines.tvalid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.lines.tready),
        ]
        for k, child in enumerate(children):
            m.d.comb += child.tready.eq(turn.served[k] & fifo.w_rdy)
        return m
