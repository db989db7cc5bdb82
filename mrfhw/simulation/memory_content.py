"""First contents of memories as one constant and a loop, for a C++ compiler that takes seconds over thousands of assignments."""

from __future__ import annotations

import re

__all__ = ["with_constants"]

_CONSTANT_BITS = 1 << 15  # of one constant; Verilator's limit is twice as many
_LEAST_LINES = 64  # shorter blocks stay as they are
_BLOCK = re.compile(r"^  initial begin(?: : .*)?\n((?:    .*\n)+)  end\n", re.M)
_WORD = re.compile(r"    (\S+ ?)\[(\d+)\] = (\d+)'h([0-9a-f]+);")
_LOOP = re.compile(r"    for \(i = (\d+); i < (\d+); i = i \+ 1\)")
_WORD_OF_LOOP = re.compile(r"      (\S+ ?)\[i\] = (\d+)'h([0-9a-f]+);")


def with_constants(text: str) -> str:
    """The Verilog `text` with the same first contents, as constants from which a loop takes word by word.

    Blocks of another form than `mrfhw.generation.readable` writes, or of few lines, stay as they are.
    """
    return _BLOCK.sub(lambda found: _shorter(found[1].splitlines()) or found[0], text)


def _shorter(lines: list[str]) -> str | None:
    words = _words(lines) if len(lines) >= _LEAST_LINES else None
    if words is None:
        return None
    memory, width, values = words
    step = _CONSTANT_BITS // width
    name, written = re.sub(r"\W", "_", memory), []
    for first in range(0, len(values), step):
        some = values[first:first + step]
        # The bit above all words is 1: Verilator 5.006 writes past the end of a constant whose upper words are 0.
        bits = len(some) * width + 1
        digits = sum(value << place * width for place, value in enumerate((*some, 1)))
        written += [f"  initial begin : {name}_content_{first}", "    integer i;", f"    reg [{bits - 1}:0] words;",
                    f"    words = {bits}'h{digits:x};", f"    for (i = 0; i < {len(some)}; i = i + 1)",
                    f"      {memory}[i + {first}] = words[i * {width} +: {width}];", "  end"]
    return "\n".join((*written, ""))


def _words(lines: list[str]) -> tuple[str, int, list[int]] | None:
    """(memory, width, values from address 0 on) of a block; None where it is no whole content of one memory."""
    values: dict[int, int] = {}
    places: set[tuple[str, int]] = set()
    loop = range(0)
    for line in lines:
        if found := _WORD.fullmatch(line):
            places.add((found[1], int(found[3])))
            values[int(found[2])] = int(found[4], 16)
        elif found := _WORD_OF_LOOP.fullmatch(line):
            places.add((found[1], int(found[2])))
            values |= dict.fromkeys(loop, int(found[3], 16))
        elif found := _LOOP.fullmatch(line):
            loop = range(int(found[1]), int(found[2]))
        elif line != "    integer i;":
            return None
    if len(places) != 1 or sorted(values) != list(range(len(values))):
        return None
    (memory, width), = places
    return memory, width, [values[address] for address in range(len(values))]
