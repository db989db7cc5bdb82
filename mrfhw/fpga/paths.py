"""What sets a clock: the slowest way between two registers, in nextpnr's report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["CriticalPath", "clock_name", "critical_paths"]

_EDGE = re.compile(r"^(?:posedge|negedge) ")
# Yosys names a cell by the signal that it drives or that comes nearest, and adds _CELL_PORT; nextpnr adds $PART, or begins the name
# of one of its own with $. Signals of this project have no capitals. Behind a memory's name are the numbers of its part, as .1.0.
_OF_TOOLS = re.compile(r"^\$.*|(?:_|\$)[A-Z].*|(?:\.\d+)+$|\[\d+\]$")


@dataclass(frozen=True)
class CriticalPath:
    """The slowest way of a clock from a register or memory to the next.

    start, end: the signals or memories, by the names that the design's components gave them. ns: from the clock's edge to what the
    last register needs before the next one. routing_ns: in wires; the rest is in cells, those of both ends included. steps: cells
    between the ends, those of carries too.
    """

    start: str
    end: str
    ns: float
    routing_ns: float
    steps: int

    def to_dict(self) -> dict[str, Any]:
        """As a record has it; `logic_ns` is what is not routing."""
        return {"from": self.start, "to": self.end, "ns": round(self.ns, 3), "logic_ns": round(self.ns - self.routing_ns, 3),
                "routing_ns": round(self.routing_ns, 3), "steps": self.steps}


def clock_name(net: str) -> str:
    """What the design calls a clock, without what the tools make of it where a global wire carries it."""
    return net.split("$TRELLIS")[0].removeprefix("$glbnet$")


def critical_paths(report: dict[str, Any]) -> dict[str, CriticalPath]:
    """The slowest way of each clock, by the clock's name, in a report of nextpnr's (`--report`).

    Ways between a clock and another, or a pin, are left out: they do not count for a clock's fmax.
    """
    found: dict[str, CriticalPath] = {}
    for path in report.get("critical_paths", []):
        start, end = (_EDGE.sub("", path[name]) for name in ("from", "to"))
        if start != end or start not in report["fmax"] or not path["path"]:
            continue
        name, way = clock_name(start), _path_of(path["path"])
        # With both edges in use there are several; the longest is listed.
        if name not in found or way.ns > found[name].ns:
            found[name] = way
    return found


def _path_of(segments: list[dict[str, Any]]) -> CriticalPath:
    nets = [segment["net"] for segment in segments if segment.get("net")]
    routing = sum(segment["delay"] for segment in segments if segment["type"] == "routing")
    return CriticalPath(_signal(segments[0]["from"]["cell"], nets[:1]), _signal(segments[-1]["to"]["cell"], nets[-1:]),
                        sum(segment["delay"] for segment in segments), routing,
                        sum(segment["type"] == "logic" for segment in segments))


def _signal(cell: str, nets: list[str]) -> str:
    """The design's name of a cell; where it has one of the tools' alone, of the wire at it; else the tools' name."""
    return next(filter(None, (_OF_TOOLS.sub("", name) for name in (cell, *nets))), cell)
