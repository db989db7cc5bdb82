"""What is said of logic and cycles: rows of tables, and how many lanes a device holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mrfhw.fpga.report import markdown
from studies.cells import RESOURCES, occupied
from studies.scaling.cycles import SIDES, STRONG, WEAK, Log, Sweep
from studies.scaling.families import FAMILIES
from studies.scaling.logic import MESH, Synthesis
from studies.scaling.machines import LANES
from studies.scaling.machines import SIDES as SYNTHESIZED

__all__ = ["CYCLES_COLUMNS", "LOGIC_COLUMNS", "Fit", "cycles_rows", "cycles_table", "fits", "fits_table", "flat_lines",
           "log_table", "logic_rows", "logic_table"]

LOGIC_COLUMNS = {
    "family": "of FPGAs", "tiles": "of the mesh", "lanes_a_tile": "K", "lanes": "of all tiles", "logic": "cells: LUT4 (a carry is "
    "two), ALM (estimated), or LUT6", "ff": "flip-flops", "ram": "blocks of memory: 18 kbit, M10K, or halves of 36 kbit",
    "dsp": "multipliers: 18x18, 18x18, or DSP48E2", **{f"{kind}_a_lane": "likewise, over the lanes" for kind in RESOURCES},
    "flat": "every tile synthesized by itself"}
CYCLES_COLUMNS = {
    "work": "what is swept", "lanes_a_tile": "K", "tiles": "of the mesh", "tile": "rows x columns of sites",
    "cycles": "of a sweep, log empty", "utilization": "label evaluations / (lanes x cycles), log empty",
    "messages_a_cycle": "that every sweep logged would send; one passes the log's root",
    "logged_utilization": "utilization at one message a cycle"}


def logic_rows(found: Iterable[Synthesis]) -> list[dict[str, Any]]:
    """By LOGIC_COLUMNS."""
    rows = []
    for one in found:
        cells = one.occupied()
        rows.append({"family": one.design.family, "tiles": one.design.side**2, "lanes_a_tile": one.design.lanes,
                     "lanes": one.lanes, **cells, **{f"{kind}_a_lane": cells[kind] / one.lanes for kind in RESOURCES},
                     "flat": int(one.design.flat)})
    return rows


def cycles_rows(found: Iterable[Sweep], log: Log) -> list[dict[str, Any]]:
    """By CYCLES_COLUMNS."""
    rows = []
    for one in found:
        messages = log.messages_a_cycle(one)
        rows.append({"work": one.work, "lanes_a_tile": one.lanes, "tiles": one.tiles, "tile": "{}x{}".format(*one.tile),
                     "cycles": one.cycles, "utilization": one.utilization, "messages_a_cycle": messages,
                     "logged_utilization": one.utilization / max(1.0, messages)})
    return rows


@dataclass(frozen=True)
class Fit:
    """How many tiles of so many lanes a device holds by count, and what it then has no more of."""

    family: str
    lanes: int
    tiles: int
    first: str

    @property
    def all_lanes(self) -> int:
        return self.tiles * self.lanes


def _of(found: Iterable[Synthesis], family: str, lanes: int, side: int) -> Synthesis | None:
    return next((one for one in found if (one.design.family, one.design.lanes, one.design.side, one.design.flat)
                 == (family, lanes, side, False)), None)


def _trees(found: list[Synthesis], small: Synthesis) -> dict[str, float] | None:
    """What each tile beyond those of `small` adds beside itself, of each resource, up to the largest mesh of so many lanes; None
    where there is no larger one."""
    family, lanes, side = small.design.family, small.design.lanes, small.design.side
    larger = [one for more in SYNTHESIZED if more > side and (one := _of(found, family, lanes, more)) is not None]
    if not larger:
        return None
    more = larger[-1].design.side**2 - side**2
    tile, fewer, many = occupied(small.tile, family), small.occupied(), larger[-1].occupied()
    return {kind: (many[kind] - fewer[kind]) / more - tile[kind] for kind in RESOURCES}


def fits(found: list[Synthesis]) -> list[Fit]:
    """Of each family and number of lanes: from the machine of MESH tiles a side on, each tile is one more."""
    made = []
    for family, device in FAMILIES.items():
        for lanes in LANES:
            base = _of(found, family, lanes, MESH)
            trees = None if base is None else _trees(found, base)
            if base is None or trees is None:
                continue
            cells, tile = base.occupied(), occupied(base.tile, family)
            each = {kind: tile[kind] + trees[kind] for kind in RESOURCES}
            most = {kind: int(MESH**2 + (device.has[kind] - cells[kind]) // each[kind]) for kind in RESOURCES if each[kind] > 0}
            first = min(most, key=lambda kind: most[kind])
            made.append(Fit(family, lanes, max(0, most[first]), first))
    return made


def logic_table(found: list[Synthesis]) -> str:
    """Families, meshes and lanes; of each resource the machine's and, behind it, a lane's."""
    head = ("family", "tiles", "K", "lanes", "logic cells", "flip-flops", "block RAM", "multipliers")
    rows: list[tuple[str, ...]] = [head]
    for one in sorted((one for one in found if not one.design.flat), key=lambda one: (
            list(FAMILIES).index(one.design.family), one.design.side, one.design.lanes)):
        cells = one.occupied()
        rows.append((FAMILIES[one.design.family].title, str(one.design.side**2), str(one.design.lanes), str(one.lanes),
                     *(f"{cells[kind]:,} ({cells[kind] / one.lanes:,.{0 if cells[kind] >= 100 * one.lanes else 1}f})"
                       for kind in RESOURCES)))
    return markdown(rows)


def fits_table(made: list[Fit]) -> str:
    """Families and lanes of a tile; tiles, lanes and what is used up."""
    names = {"logic": "logic cells", "ff": "flip-flops", "ram": "block RAM", "dsp": "multipliers"}
    rows: list[tuple[str, ...]] = [("device", *(f"K = {lanes}" for lanes in LANES))]
    for family, device in FAMILIES.items():
        cells = {fit.lanes: f"{fit.all_lanes} in {fit.tiles} tiles ({names[fit.first]})" for fit in made if fit.family == family}
        if cells:
            rows.append((f"{device.device}, {device.title}", *(cells.get(lanes, "-") for lanes in LANES)))
    return markdown(rows)


def flat_lines(found: list[Synthesis]) -> list[str]:
    """How far the count of one tile for all is from that of every tile by itself."""
    lines = []
    for one in found:
        once = _of(found, one.design.family, one.design.lanes, one.design.side)
        if one.design.flat and once is not None:
            flat, shared = one.occupied(), once.occupied()
            lines.append(f"{FAMILIES[one.design.family].title}, {one.design.side**2} tiles of K = {one.design.lanes}, every tile "
                         "synthesized by itself: " + ", ".join(
                             f"{kind} {flat[kind]} ({flat[kind] / shared[kind] - 1:+.1%})" for kind in RESOURCES if shared[kind]))
    return lines


def cycles_table(rows: list[dict[str, Any]], column: str, form: str) -> str:
    """Workloads and lanes down, tiles across, of one of CYCLES_COLUMNS; - where a tile cannot hold its part."""
    made: list[tuple[str, ...]] = [("work", "K", "1 tile", *(f"{side**2} tiles" for side in SIDES[1:]))]
    for work in (WEAK, *STRONG):
        for lanes in LANES:
            own = {row["tiles"]: format(row[column], form) for row in rows if (row["work"], row["lanes_a_tile"]) == (work, lanes)}
            if own:
                made.append((work, str(lanes), *(own.get(side**2, "-") for side in SIDES)))
    return markdown(made)




def log_table(log: Log) -> str:
    """Machines whose log was measured: what it is given, and how much longer a sweep takes with its stalls."""
    made: list[tuple[str, ...]] = [("tiles", "K", "lanes", "line_levels", "cycles without a log", "messages a cycle of them",
                                    "with the log")]
    for run in log.runs:
        made.append((str(run.side**2), str(run.lanes), str(run.lanes * run.side**2), str(run.line_levels), f"{run.cycles:,.0f}",
                     f"{run.messages / run.cycles:.2f}", f"{1 + run.stalls / run.cycles:.2f} times as long"))
    return markdown(made)
