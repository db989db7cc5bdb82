"""Where the block RAMs and multipliers of a machine's tiles lie on the device.

nextpnr places them like logic, and then moves each, one after the other, to the nearest site that is still free. Where most sites
are taken that is far away: with twelve tiles of eight lanes, all wires together become two thirds longer. So those of a tile are
given sites side by side before, and nextpnr places the logic around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

__all__ = ["GRIDS", "Grid", "fix", "sites"]

LEAST_TAKEN = 0.8  # of the block RAMs; below, nextpnr finds sites that are near

_TILE = re.compile(r"\.spe_(\d+)\.")
_RAM, _MULTIPLIER = "DP16KD", "MULT18X18D"


@dataclass(frozen=True)
class Grid:
    """Sites of block RAMs and multipliers on a device of ECP5: in rows, four of each in a column of tiles of the fabric.

    ram_rows, multiplier_rows: their y; of each row of block RAM the one of multipliers that is used beside it. columns: x of the
    first site of each four.
    """

    ram_rows: tuple[int, ...]
    multiplier_rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def rams(self) -> int:
        """Block RAMs in all."""
        return 4 * len(self.ram_rows) * len(self.columns)

    def ram(self, row: int, column: int) -> list[str]:
        """The sites of four block RAMs, from left to right, as nextpnr names them."""
        return [f"X{self.columns[column] + 2 * n}/Y{self.ram_rows[row]}/EBR{n}" for n in range(4)]

    def multipliers(self, row: int, column: int) -> list[str]:
        """Those of four multipliers beside a row of block RAM."""
        return [f"X{self.columns[column] + n}/Y{self.multiplier_rows[row]}/MULT18_{n}" for n in (0, 1, 4, 5)]


_85 = Grid((22, 46, 70, 82), (10, 34, 58, 58), (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114))
GRIDS = {"LFE5U-85F": _85, "LFE5UM5G-85F": _85}  # by device


def sites(cells: Mapping[str, str], grid: Grid) -> dict[str, str]:
    """Site of each tile's block RAMs and multipliers; of none where fewer than `LEAST_TAKEN` are taken, or tiles do not fit so.

    cells: kind of each of the netlist's, by its name. Tiles lie in strips, one at each row of block RAM, from top to bottom in the
    first strip and from bottom to top in the next, so that neighbours are side by side. What of a tile is numbered, as lanes are,
    lies from left to right, and what there is one of is in the middle.
    """
    found: dict[int, dict[str, list[str]]] = {}
    for name, kind in cells.items():
        of_tile = _TILE.search(name)
        if of_tile and kind in (_RAM, _MULTIPLIER):
            found.setdefault(int(of_tile[1]), {_RAM: [], _MULTIPLIER: []})[kind].append(name)
    taken = sum(kind == _RAM for kind in cells.values())
    rows = len(grid.ram_rows)
    strips = -(-len(found) // rows)
    if taken < LEAST_TAKEN * grid.rams or strips == 0 or len(grid.columns) < strips:
        return {}
    placed: dict[str, str] = {}
    of_strip = [len(found) // strips + (n < len(found) % strips) for n in range(strips)]
    order = [(strip, count - 1 - n if strip % 2 else n) for strip, count in enumerate(of_strip) for n in range(count)]
    for tile, (strip, row) in zip(sorted(found), order, strict=True):
        columns = _columns(strip, strips, len(grid.columns))
        sharing = [r for r in range(rows) if grid.multiplier_rows[r] == grid.multiplier_rows[row]]
        share, first = 4 // len(sharing), sharing.index(row)
        of_kind = {
            _RAM: [site for column in columns for site in grid.ram(row, column)],
            _MULTIPLIER: [site for column in columns
                          for site in grid.multipliers(row, column)[share * first:share * (first + 1)]],
        }
        for kind, names in found[tile].items():
            there = of_kind[kind]
            if len(names) > len(there):
                return {}
            for n, name in enumerate(_from_left_to_right(names)):
                placed[name] = there[(2 * n + 1) * len(there) // (2 * len(names))]
    return placed


def _columns(strip: int, strips: int, columns: int) -> range:
    """Columns of a strip; those that are left over lie before the middle one."""
    width = columns // strips
    spare = columns - strips * width
    first = strip * width + (spare if strip >= strips // 2 else 0)
    return range(first, first + width)


def _from_left_to_right(names: Iterable[str]) -> list[str]:
    """Names in the order of their places: of those that differ in a number alone, each has an equal share of the width."""
    def natural(name: str) -> list[Any]:
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    at: dict[str, float] = {}
    for _, family in groupby(sorted(names, key=lambda name: (re.sub(r"\d+", "", name), natural(name))),
                             key=lambda name: re.sub(r"\d+", "", name)):
        members = list(family)
        at.update({name: (n + 0.5) / len(members) for n, name in enumerate(members)})
    return sorted(at, key=lambda name: (at[name], natural(name)))


def fix(netlist: Path, device: str) -> int:
    """Give the cells of a netlist, as Yosys writes it for nextpnr, the sites that they have by `sites`; how many have one."""
    if device not in GRIDS:
        return 0
    design = json.loads(netlist.read_text())
    top = next(module for module in design["modules"].values() if "top" in module.get("attributes", {}))
    placed = sites({name: cell["type"] for name, cell in top["cells"].items()}, GRIDS[device])
    for name, site in placed.items():
        top["cells"][name]["attributes"]["BEL"] = site
    if placed:
        netlist.write_text(json.dumps(design))
    return len(placed)
