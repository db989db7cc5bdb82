"""The picture: logic a lane over the lanes of a tile, and utilization over tiles."""

from __future__ import annotations

from typing import Any

from studies.report import COLOURS
from studies.scaling.cycles import STRONG, WEAK
from studies.scaling.families import FAMILIES
from studies.scaling.logic import MESH
from studies.scaling.machines import LANES, SIDES

__all__ = ["draw"]

_MARKS = dict(zip(SIDES, ("v", "o", "s", "^"), strict=True))
_LINES = dict(zip((WEAK, *STRONG), (":", "-", "--"), strict=True))


def draw(figure: Any, logic: list[dict[str, Any]], cycles: list[dict[str, Any]]) -> None:
    """On a matplotlib Figure; rows of `studies.scaling.tables`."""
    left, right = figure.subplots(1, 2)
    for colour, (name, family) in zip(COLOURS, FAMILIES.items(), strict=False):
        for side, mark in _MARKS.items():
            own = sorted((row["lanes_a_tile"], row["logic_a_lane"]) for row in logic
                         if (row["family"], row["tiles"], row["flat"]) == (name, side**2, 0))
            left.plot(*zip(*own, strict=True) if own else ([], []), mark, linestyle="-" if len(own) == len(LANES) else "none",
                      color=colour, linewidth=0.8, markersize=4, label=f"{family.title}: {family.logic}" if side == MESH else None)
    for side, mark in _MARKS.items():
        left.plot([], [], mark, color="0.4", linestyle="none", markersize=4, label=f"{side**2} tiles" if side > 1 else "1 tile")
    left.set(xscale="log", yscale="log", xlabel="lanes of a tile", ylabel="logic cells a lane (synthesized)")
    left.set_xticks(LANES, [str(lanes) for lanes in LANES])
    ticks = (200, 400, 1000, 2000, 4000)
    left.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    left.minorticks_off()
    for colour, lanes in zip(COLOURS, LANES, strict=False):
        for work, line in _LINES.items():
            own = sorted((row["tiles"], row["utilization"]) for row in cycles
                         if (row["work"], row["lanes_a_tile"]) == (work, lanes))
            right.plot(*zip(*own, strict=True) if own else ([], []), line, color=colour, linewidth=1.2, marker=".",
                       label=f"{lanes} lanes a tile" if work == WEAK and lanes > 1 else "1 lane a tile" if work == WEAK else None)
    for work, line in _LINES.items():
        right.plot([], [], line, color="0.4", label=work)
    right.set(xscale="log", xlabel="tiles", ylabel="utilization of the lanes, log empty (model)", ylim=(0, 1.05))
    right.set_xticks([4**n for n in range(6)], [str(4**n) for n in range(6)])
    right.minorticks_off()
    for axes in (left, right):
        axes.legend(fontsize=7, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
