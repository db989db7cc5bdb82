"""LogHub and LineHub: what each child sends comes out once and in order, its end after all of it, and no child waits for long."""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.control.ops import LogMessage
from mrfhw.gateware.mesh.tree import LineHub, LogHub
from mrfhw.machine.config import Config
from sim.proofs.engine import Proof, opened
from sim.proofs.queues import Tracked, invariants

__all__ = ["line_hub_proof", "log_hub_proof"]


def _held(m: Module, name: str, valid: Any, ready: Any, *held: Any) -> None:
    """A stream's word stays until it is taken."""
    waited, words = Signal(name=f"{name}_waited"), [Signal.like(Cat(one), name=f"{name}_held_{n}") for n, one in enumerate(held)]
    m.d.sync += [waited.eq(valid & ~ready), *(word.eq(Cat(one)) for word, one in zip(words, held, strict=True))]
    with m.If(waited):
        m.d.comb += Assume(valid & Cat(word == Cat(one) for word, one in zip(words, held, strict=True)).all())


def _shown(m: Module, hub: Any, valid: list[Any], ready: list[Any], ends: list[Any], words: list[Any], out: Any,
           passes_ends: bool) -> Tracked:
    """What both hubs keep to.

    out: of a child, what stands in the queue for its word. passes_ends: an end that is not the last one is passed on as a word.
    """
    n, turn, queue = len(valid), hub.turn, hub.fifo
    tracked = Tracked(m, queue)
    invariants(m, queue)
    present, was_present = hub.present, Signal.like(hub.present)
    after = Signal(name="after_first")
    m.d.sync += [was_present.eq(present), after.eq(1)]
    m.d.comb += [Assume(present.any()), Assume((present == was_present) | ~after),
                 *(Assume(present[k] | ~valid[k]) for k in range(n))]
    taken = [valid[k] & ready[k] for k in range(n)]
    m.d.comb += [
        Assert(sum(taken) <= 1, "one child is served at a time"),
        Assert(sum(taken) == (Cat(valid).any() & queue.w_rdy), "a child is served in each cycle with room"),
        Assert(turn.last < n, "the last one served is a child"),
    ]
    # Which children have sent their end since the last one that was passed on.
    ended = Signal(n, name="ended_before")
    now = Cat(taken[k] & ends[k] for k in range(n))
    complete = Signal(name="all_ended")
    m.d.comb += complete.eq(now.any() & ((ended | now | ~present).all()))
    m.d.sync += ended.eq(Mux(complete, 0, ended | now))
    m.d.comb += [Assert(turn.ended == ended, "ends are counted"), Assert(ended & ~present == 0, "of children alone"),
                 Assert((present & ~ended).any(), "an end is missing"),
                 Assert(queue.w_en & queue.w_rdy == Cat(taken).any() & (int(passes_ends) | complete | ~now.any()),
                        "each word is passed on, of ends the last")]
    for k in range(n):
        # Places between it and the one that was served last, which are served before it.
        between, waits = Signal(range(n), name=f"between_{k}"), Signal(range(2 * n + 1), name=f"waits_{k}")
        m.d.comb += between.eq(Array([(k - last - 1) % n for last in range(1 << len(turn.last))])[turn.last])
        with m.If(~valid[k] | ready[k] | complete):
            m.d.sync += waits.eq(0)
        with m.Elif(Cat(taken).any()):
            m.d.sync += waits.eq(waits + 1)
        with m.If(taken[k] & queue.w_en):
            m.d.comb += Assert(queue.w_data == Cat(*out(k), complete), "the served child's word is put, and its number")
        m.d.comb += Assert(waits + between <= n - 1, f"a child waits for {n - 1} others at most, and a run's end")
        _held(m, f"child_{k}", valid[k], ready[k], words[k], ends[k])
    return tracked


def log_hub_proof(config: Config, tile_bits: int) -> Proof:
    """Of a machine's hubs at one level."""
    bits = LogMessage(config, tile_bits).size
    return Proof(f"log hub of {config.hub_fan_in} children, messages of {bits} bits, {tile_bits} of them of tiles, "
                 f"{config.hub_depth} messages",
                 "messages come out once and in order with their child's number, one end after all ends; no child waits for long",
                 partial(_log_hub, config, tile_bits))


def _log_hub(config: Config, tile_bits: int) -> tuple[Module, list[Signal]]:
    m, hub = Module(), LogHub(config, tile_bits)
    m.submodules.hub = opened(hub)
    children = [getattr(hub, f"child_{k}") for k in range(config.hub_fan_in)]
    words = [child.payload.as_value() for child in children]
    tracked = _shown(m, hub, [child.valid for child in children], [child.ready for child in children],
                     [child.ends for child in children], words,
                     lambda k: (words[k], Const(k, range(config.hub_fan_in))), False)
    inputs = [hub.present, tracked.chosen, hub.log.ready]
    return m, [*inputs, *(wire for child in children for wire in (child.payload.as_value(), child.ends, child.valid))]


def line_hub_proof(config: Config) -> Proof:
    """Of a machine's hubs of lines."""
    return Proof(f"line hub of {config.hub_fan_in} children, lines of {config.line_bits} bits, {config.hub_depth} lines",
                 "lines come out once and in order, marked as last where all have ended; no child waits for long",
                 partial(_line_hub, config))


def _line_hub(config: Config) -> tuple[Module, list[Signal]]:
    m, hub = Module(), LineHub(config)
    m.submodules.hub = opened(hub)
    children = [getattr(hub, f"child_{k}") for k in range(config.hub_fan_in)]
    words = [child.tdata for child in children]
    tracked = _shown(m, hub, [child.tvalid for child in children], [child.tready for child in children],
                     [child.tlast for child in children], words, lambda k: (words[k],), True)
    inputs = [hub.present, tracked.chosen, hub.lines.tready]
    return m, [*inputs, *(wire for child in children for wire in (child.tdata, child.tlast, child.tvalid))]
