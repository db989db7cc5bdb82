"""Verilog whose nets are driven as a whole.

Icarus keeps the strength of each bit of a net that several assignments drive, part by part, and turns all of them into plain bits
again for each reader, at each change of one. With one driver a machine is simulated up to five times as fast.
"""

from __future__ import annotations

import re

__all__ = ["whole_nets"]

_NAME = r"\\\S+ |[A-Za-z_]\w*"
_NET = re.compile(rf"^  (?:wire|output) (?:\[(\d+):0\] )?({_NAME}) ?;$", re.MULTILINE)
_ASSIGN = re.compile(r"^  assign (\{ .* \}|.*?\]) = (.*);$")
_PART = re.compile(rf"({_NAME})\[(\d+)(?::(\d+))?\]")

_Part = tuple[str, int, int]  # net, highest and lowest bit


def whole_nets(text: str) -> str:
    """The same circuit with one assignment to each net that assignments drive in parts, as the generator writes them.

    A net of which another thing drives a part is left as it is.
    """
    return "".join(_module(module) for module in re.split(r"^(?=module )", text, flags=re.MULTILINE))


def _parts(target: str) -> list[_Part]:
    """Of a left side, from the highest on; none where it has something else, too."""
    found = []
    for one in target.removeprefix("{ ").removesuffix(" }").split(", "):
        match = _PART.fullmatch(one)
        if match is None:
            return []
        found.append((match[1].strip(), int(match[2]), int(match[3] or match[2])))
    return found


def _module(text: str) -> str:
    widths = {match[2].strip(): int(match[1] or 0) + 1 for match in _NET.finditer(text)}
    lines = text.split("\n")
    assigns = {number: (parts, match[2]) for number, line in enumerate(lines)
               if (match := _ASSIGN.match(line)) and (parts := _parts(match[1]))}
    while True:
        bits: dict[str, list[int]] = {}
        for parts, _ in assigns.values():
            for name, high, low in parts:
                bits.setdefault(name, []).extend(range(low, high + 1))
        whole = {name for name, driven in bits.items() if sorted(driven) == list(range(widths.get(name, 0)))}
        kept = {number: assign for number, assign in assigns.items() if all(name in whole for name, _, _ in assign[0])}
        if len(kept) == len(assigns):
            break
        assigns = kept
    pieces: dict[str, list[tuple[int, str]]] = {}
    for number, (parts, value) in assigns.items():
        left = sum(high - low + 1 for _, high, low in parts)
        # A net of its own, as within braces a sum would have fewer bits.
        lines[number] = f"  wire [{left - 1}:0] piece_{number} = {value};"
        for name, high, low in parts:
            left -= high - low + 1
            pieces.setdefault(name, []).append((high, f"piece_{number}[{left + high - low}:{left}]"))
    driven = [f"  assign {name} = {{ {', '.join(piece for _, piece in sorted(of_net, reverse=True))} }};\n"
              for name, of_net in pieces.items()]
    return "\n".join(lines).replace("\nendmodule", "\n" + "".join(driven) + "endmodule", 1) if driven else text
