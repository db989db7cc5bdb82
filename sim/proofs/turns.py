"""ContextTurns: every run that is told to begins once, alone, in turn and as soon as it may; no stop is lost."""

from __future__ import annotations

from functools import partial

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.mesh.contexts import ContextTurns
from sim.proofs.engine import Proof, opened

__all__ = ["turns_proof"]


def turns_proof(contexts: int) -> Proof:
    """A register file tells no context to run that waits or runs, and a scheduler is busy from the cycle after it begins."""
    return Proof(f"turns of {contexts} contexts",
                 "a run that is told to begins once, as asked, while no other runs, after at most one of each other context, and "
                 "soon when the tiles are free; a stop that comes while its run waits is given once, behind the start",
                 partial(_turns, contexts))


def _turns(n: int) -> tuple[Module, list[Signal]]:
    m, turns = Module(), ContextTurns(n)
    m.submodules.turns = opened(turns)
    inputs, busy, begins, waiting = list[Signal](), Signal(n, name="busy"), Signal(n, name="begins"), Signal(n, name="waiting")
    ends = Signal(n, name="ends")
    m.d.comb += [turns.idle.eq(~busy.any()), waiting.eq(Cat(getattr(turns, f"waiting_{k}") for k in range(n))),
                 begins.eq(Cat(getattr(turns, f"to_start_{k}") | getattr(turns, f"to_resume_{k}") for k in range(n)))]
    m.d.sync += busy.eq(busy & ~ends | begins)
    one = [sum(bits[k] for k in range(n)) <= 1 for bits in (busy, begins)]
    m.d.comb += [Assert(one[0], "one run at a time"), Assert(one[1], "one begins at a time"),
                 Assert(turns.context < n, "a context"),
                 Assert(~begins.any() | ~busy.any(), "none begins while another runs")]
    for k in range(n):
        start, resume, stop = (getattr(turns, f"{name}_{k}") for name in ("start", "resume", "stop"))
        to_start, to_resume, to_stop = (getattr(turns, f"to_{name}_{k}") for name in ("start", "resume", "stop"))
        inputs += [start, resume, stop]
        m.d.comb += Assume(~(start | resume) | ~(waiting[k] | busy[k]))
        # What was asked and has not begun; the stop that came since.
        asked = Signal(2, name=f"told_{k}")
        m.d.sync += asked.eq(asked & ~begins[k].replicate(2) | Cat(start, resume))
        m.d.comb += [Assert(asked.any() == waiting[k], "what was asked waits until it begins"),
                     Assert(asked[0] == getattr(turns, f"fresh_{k}"), "and says whether it begins anew"),
                     Assert(~begins[k] | (Cat(to_start, to_resume) == asked), "it begins as asked"),
                     Assert(turns.asked[k] == Mux(begins[k], 0, asked), "the registers of runs"),
                     Assert(~(begins[k] | busy[k]) | (turns.context == k), "the tiles are its own")]
        kept, due = Signal(name=f"stop_kept_{k}"), Signal(name=f"stop_due_{k}")
        m.d.sync += [kept.eq((kept | stop & waiting[k]) & ~due), due.eq(begins[k])]
        m.d.comb += [Assert(to_stop == (due & kept | stop & ~waiting[k]), "a stop that waits comes a cycle after the start"),
                     Assert(~kept | waiting[k] | due, "and is kept no longer"),
                     Assert((turns.stopped[k] == kept) & (turns.begun[k] == due), "the registers of stops")]
        calm, others = Signal(3, name=f"calm_{k}"), Signal(range(n + 1), name=f"others_{k}")
        m.d.sync += [calm.eq(0), others.eq(0)]
        with m.If(waiting[k] & ~begins[k]):
            m.d.sync += [calm.eq(calm + ~busy.any()), others.eq(others + begins.any())]
            with m.If(busy.any() | begins.any()):
                m.d.sync += calm.eq(0)
        before = Array([(k - last - 1) % n for last in range(n)])[turns.context]  # contexts whose turn is before its own
        m.d.comb += [Assert((calm == 0) | (calm == 1) & begins.any(), "it waits for nothing"),
                     Assert(begins[k] | (others + before + begins.any() < n), "each other is once before it")]
    return m, [*inputs, ends]
