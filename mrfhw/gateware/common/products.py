"""Products of two numbers, in block multipliers or as sums."""

from __future__ import annotations

from amaranth import Const, Mux, Value

from mrfhw.machine.memory_words import SMALL_FACTOR_BITS

__all__ = ["product"]


def product(a: Value, b: Value, spare: bool) -> Value:
    """a x b, both without a sign. spare: a factor of at most SMALL_FACTOR_BITS bits gives a sum of shifted terms, so that the
    block multipliers are left for wider factors."""
    few, other = (a, b) if len(a) < len(b) else (b, a)
    if not spare or len(few) > SMALL_FACTOR_BITS:
        return a * b
    terms: list[Value] = [Mux(few[bit], other << bit, Const(0, 1)) for bit in range(len(few))]
    while len(terms) > 1:
        terms = [terms[n] + terms[n + 1] if n + 1 < len(terms) else terms[n] for n in range(0, len(terms), 2)]
    return terms[0]
