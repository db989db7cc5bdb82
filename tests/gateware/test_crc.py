"""The CRC of words, in Amaranth's simulator: of every pair of words, as it is affine."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from amaranth import Module
from amaranth.sim import Simulator

from mrfhw.gateware.link.datagrams import WordCrc

ALL = (1 << 32) - 1


def pairs() -> Iterator[tuple[int, int]]:
    """None, and each of 64 bits alone."""
    for bits in (0, *(1 << place for place in range(64))):
        yield bits & ALL, bits >> 32


@pytest.mark.claim("WordCrc", "the CRC of every two words is zlib's, as it is for none and for each bit alone; so is its residue")
def test_the_crc_of_words_is_that_of_their_bytes() -> None:
    """Sums of bits, modulo two, are what each step is made of; and the first word brings the state to any value."""
    m, crc = Module(), WordCrc()
    m.submodules.crc = crc
    found = list[tuple[int, bool]]()

    async def testbench(ctx: Any) -> None:
        ctx.set(crc.valid, 1)
        for pair in pairs():
            states = []
            for number, word in enumerate((*pair, crc_of(pair))):
                ctx.set(crc.first, not number)
                ctx.set(crc.word, word)
                await ctx.tick()
                states.append(ctx.get(crc.state) ^ ALL)
            found.append((states[1], bool(ctx.get(crc.whole))))

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    assert found == [(crc_of(pair), True) for pair in pairs()]


def crc_of(words: tuple[int, ...]) -> int:
    return zlib.crc32(b"".join(word.to_bytes(4, "little") for word in words))
