"""A tile of a machine in standard cells: synthesis, clock, activity and power, as one record (Section 3.5.1)."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import Any

import mrfhw
from mrfhw.applications.descriptors import census, takes_census
from mrfhw.applications.stereo import field as stereo
from mrfhw.field.problem import Problem, Run
from mrfhw.fpga.tools import find_tool
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.scenes import stereo_scene
from mrfhw.system.errors import ProblemError
from studies.asic.activity import CYCLES, Activity, count_activity
from studies.asic.libraries import CellLibrary, liberty_text
from studies.asic.synthesis import Netlist, synthesize
from studies.asic.timing import Power, find_sta, powers, worst_path

__all__ = ["LABELS", "STATUS", "study", "tile_of"]

LABELS = (2, 64)
STATUS = "synthesized; not placed, without wires and a clock tree"
_SIDE = 16  # rows and columns of the scene whose toggles are counted, or as many as a tile has
_CONTROL, _MEMORY = "control", "memory"


def tile_of(config: Config) -> Config:
    """A machine of one of its tiles."""
    return dataclasses.replace(config, mesh_rows=1, mesh_cols=1)


def _workload(config: Config, labels: int) -> tuple[Problem, Run]:
    """The built-in stereo scene, small, and as many sweeps as are followed."""
    c = Derived.of(config)
    rows, cols = min(_SIDE, c.tile_rows), min(_SIDE, c.tile_cols)
    scene = stereo_scene(rows, cols, max(4, min(labels, cols // 4)), 0)
    if takes_census(config):
        limit: dict[str, Any] = {"singleton_max": stereo.TUNED.singleton_max} if c.singleton_cap else {}
        problem = stereo.stereo_problem(census(scene.left), census(scene.right), labels=labels, **stereo.TUNED.census, **limit)
    else:
        fewer = 8 - c.data_bits
        problem = stereo.stereo_problem(scene.left >> fewer, scene.right >> fewer, labels=labels)
    sweeps = 2 + 3 * CYCLES * c.all_lanes // (rows * cols * labels)
    return problem, Run(sweeps=sweeps, burn_in=sweeps // 2, seed=1)


def study(config: Config, library: CellLibrary, folder: Path, directory: Path, labels: int = 32,
          goal: float | None = None) -> dict[str, Any]:
    """Synthesize one tile of `config` with its control, and say what it takes: a record, in um^2, Hz, W and J.

    folder: of the library's Liberty files. directory: for the tools' files. labels: of the stereo scene whose toggles are counted.
    goal: MHz that synthesis aims at; None for the library's own. Raises ProblemError and BuildError.
    """
    if not LABELS[0] <= labels <= min(LABELS[1], Derived.of(config).max_labels):
        raise ProblemError(f"labels is {labels}; the limits are {LABELS[0]} to {min(LABELS[1], Derived.of(config).max_labels)}: "
                           "give a number between them")
    tile = tile_of(config)
    liberty = liberty_text(library, folder)
    find_sta()  # before minutes of synthesis
    netlist = synthesize(tile, library, liberty, directory, 1e6 / goal if goal else library.period)
    path = worst_path(netlist)
    hertz = 1e12 / path.picoseconds
    activity = count_activity(netlist, *_workload(tile, labels))
    power = _powers(netlist, activity, hertz)
    areas, memory_area = _areas(netlist)
    rate = hertz * activity.labels_a_cycle
    own = sum((power[part] for part in power if part != _CONTROL), Power())
    return {
        "mrfhw": mrfhw.__version__, "status": STATUS, "library": library.name, "nanometres": library.nanometres,
        "config": tile.to_dict(),
        "lanes": Derived.of(tile).all_lanes, "sites": tile.tile_rows * tile.tile_cols, "labels": labels,
        "clock_hz": hertz, "slowest_path": [path.begin, path.end], "goal_hz": 1e12 / netlist.picoseconds,
        "labels_per_s": rate, "cells": len(netlist.cells), "nand2_um2": netlist.nand2,
        "tile_um2": sum(area for part, area in areas.items() if part != _CONTROL), "memory_um2": memory_area, "areas_um2": areas,
        "tile_w": own.total, "joules_per_label": own.total / rate,
        "powers_w": {part: {"internal": p.internal, "switching": p.switching, "leakage": p.leakage} for part, p in power.items()},
        "toggles_a_net_and_cycle": sum(activity.toggles.values()) / max(1, len(activity.toggles)) / activity.cycles,
        "tools": {"yosys": find_tool("yosys").version, "memories": f"CACTI 7.0, {1000 * library.memory_micrometres:g} nm"},
        "seconds": netlist.seconds}


def _part(netlist: Netlist, path: str) -> str:
    """Of a cell by its path: the tile's part that it is in, the tile's own wiring, or the control."""
    first, _, rest = path.partition("/")
    if first != netlist.tile:
        return _CONTROL
    return rest.partition("/")[0] if "/" in rest else "spe"


def _areas(netlist: Netlist) -> tuple[dict[str, float], float]:
    """um^2 by part, memories among them, and of the tile's memories alone."""
    of_cell, macros = netlist.cell_areas, {macro.name: macro for macro in netlist.macros}
    found: dict[str, float] = defaultdict(float)
    memories = 0.0
    for path, cell in netlist.cells.items():
        part = _part(netlist, path)
        macro = macros.get(cell["type"])
        area = of_cell[cell["type"]] if macro is None else macro.memory(netlist.library).area
        found[part] += area
        memories += area if macro is not None and part != _CONTROL else 0.0
    return dict(sorted(found.items(), key=lambda item: -item[1])), memories


def _powers(netlist: Netlist, activity: Activity, hertz: float) -> dict[str, Power]:
    """By part; and of the tile's memories together, whose accesses are internal."""
    found: dict[str, Power] = defaultdict(Power)
    for path, power in powers(netlist, activity, 1e12 / hertz).items():
        found[_part(netlist, path)] += power
    macros = {macro.name: macro for macro in netlist.macros}
    for path, (reads, writes) in activity.accesses.items():
        memory = macros[netlist.cells[path]["type"]].memory(netlist.library)
        joules = 1e-12 * (reads * memory.read + writes * memory.write) / activity.cycles
        part = _part(netlist, path)
        found[part if part == _CONTROL else _MEMORY] += Power(joules * hertz, 0.0, 1e-3 * memory.leakage)
    return dict(sorted(found.items(), key=lambda item: -item[1].total))
