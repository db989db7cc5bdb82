"""Tiles in standard cells side by side and beside the published ones: lines, a table and a picture (Figures 3.14 to 3.16)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mrfhw.machine.config import Config
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain
from studies.report import COLOURS, Report, bars

__all__ = ["HEAD", "PUBLISHED", "RECORD", "RESULTS", "kept", "line_of", "name_of", "report_of"]

RECORD = "asic.json"
RESULTS = Path(__file__).parent / "results"
_RECORD_BYTES = 1 << 20
_NUMBERS = ("nanometres", "lanes", "sites", "tile_um2", "clock_hz", "labels_per_s", "tile_w", "joules_per_label", "cells")

# Section 3.5.1, Figures 3.14 to 3.16: a tile of one SPU and of two in 15 nm, memories by CACTI at 22 nm, at 3 GHz; labels/s are
# lanes x clock.
_CLOCK = 3e9
PUBLISHED: list[dict[str, Any]] = [
    {"library": "published", "name": f"published 1x{spus}", "nanometres": 15, "status": "published, synthesized", "lanes": spus,
     "sites": 1024 * spus, "clock_hz": _CLOCK, "labels_per_s": spus * _CLOCK, "tile_um2": area, "tile_w": watts,
     "joules_per_label": watts / (spus * _CLOCK)}
    for spus, area, watts in ((1, 30_760.0, 50.076e-3), (2, 48_862.0, 78.917e-3))]
_LARGEST_MM2, _LARGEST_TILES = 58.0, 1024  # with two SPUs each

# A tile's parts as they are drawn together.
_GROUPS = {"spu": "sampling units", "lmem": "label memory", "s1mem": "singleton memories", "s2mem": "singleton memories",
           "edges": "singleton memories", "prefetch": "prefetch", "log_fifo": "log", "memory": "memories"}
_OTHER = "switches, bus, registers"
HEAD = ("machine", "library", "lanes", "um^2 a tile", "of it memory", "um^2 a lane", "clock GHz", "G labels/s", "mW a tile",
        "pJ a label", "how it is known")
COLUMNS = {
    "name": "machine: SPEs are one", "library": "of cells", "nanometres": "of the library", "lanes": "labels a cycle at most",
    "sites": "of a tile", "tile_um2": "area of a tile, um^2", "memory_um2": "of it memory macros", "clock_hz": "Hz",
    "labels_per_s": "label evaluations a second", "tile_w": "W of a tile while labels are drawn",
    "joules_per_label": "J of a tile for a label evaluation", "cells": "of the tile with its control", "status": "how it is known"}


def name_of(record: dict[str, Any]) -> str:
    """What the record's machine is called: sampler, sampling units and lanes, sites."""
    if "name" in record:
        return str(record["name"])
    c = Config.from_dict(record["config"])
    lanes = f"{c.spus} SPU{'s' if c.spus > 1 else ''}" if c.lanes == 1 else f"{c.lanes} lanes"
    return f"{c.sampler.name}, {lanes}, {c.tile_rows}x{c.tile_cols}"


def read_record(path: Path) -> dict[str, Any]:
    """A record that `python -m studies.asic` wrote. Raises ProblemError."""
    way_out = f"give an {RECORD} that python -m studies.asic wrote"
    try:
        record = json.loads(read_plain(path, way_out, _RECORD_BYTES, ProblemError))
        wrong = _wrong(record)
    except ProblemError:
        raise
    except (ValueError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        raise ProblemError(f"{path} is no record of a machine in cells ({wrong}): {way_out}")
    return dict(record)


def _wrong(record: object) -> str | None:
    """What keeps a file's content from being a record, or None. Raises ConfigError for a parameter that no machine can have."""
    if not isinstance(record, dict):
        return "it is no JSON object"
    missing = [name for name in ("config", "library", "status", "tile_w", "areas_um2", "powers_w", *COLUMNS)
               if name not in record and name != "name"]
    if missing:
        return f"it has no {missing[0]}"
    try:
        Config.from_dict(record["config"])
    except (TypeError, AttributeError, KeyError):
        return "its config has parameters of no machine"
    for name in _NUMBERS:
        if not (_is_number(record[name]) and record[name] > 0):
            return f"its {name} is {record[name]!r}, and no number above 0"
    if record["memory_um2"] is not None and not _is_number(record["memory_um2"]):
        return f"its memory_um2 is {record['memory_um2']!r}, and no number"
    powers = record["powers_w"].items() if isinstance(record["powers_w"], dict) else [("powers_w", None)]
    return next((f"its {name} has no numbers by part" for name, of in [("areas_um2", record["areas_um2"]), *powers]
                 if not (isinstance(of, dict) and of and all(map(_is_number, of.values())) and sum(of.values()) > 0)), None)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")  # type: ignore[operator]


def kept(paths: Iterable[Path] = ()) -> list[dict[str, Any]]:
    """The records at the paths; without any, those that are kept with the program, by library and lanes."""
    given = list(paths)
    records = [read_record(path) for path in given or sorted(RESULTS.glob("*.json"))]
    return records if given else sorted(records, key=lambda one: (one["nanometres"], one["lanes"], name_of(one)))


def line_of(record: dict[str, Any]) -> tuple[str, ...]:
    """A row of the table under `HEAD`."""
    memory = record.get("memory_um2")
    return (name_of(record), f"{record['library']}, {record['nanometres']} nm", str(record["lanes"]), f"{record['tile_um2']:,.0f}",
            "-" if memory is None else f"{memory / record['tile_um2']:.0%}", f"{record['tile_um2'] / record['lanes']:,.0f}",
            f"{record['clock_hz'] / 1e9:.3g}", f"{record['labels_per_s'] / 1e9:.3g}", f"{1e3 * record['tile_w']:.3g}",
            f"{1e12 * record['joules_per_label']:.3g}", record["status"])


def _grouped(values: dict[str, float]) -> dict[str, float]:
    """A tile's parts, without the control, as they are drawn together."""
    found: dict[str, float] = {}
    for part, value in values.items():
        if part != "control":
            group = _GROUPS.get("spu" if part.startswith("spu_") else part, _OTHER)
            found[group] = found.get(group, 0.0) + value
    return found


def report_of(records: list[dict[str, Any]], lines: list[str]) -> Report:
    """Table, lines and picture of the records and the published tiles. lines: to be said besides."""
    rows = [{name: (name_of(one) if name == "name" else one.get(name)) for name in COLUMNS} for one in (*records, *PUBLISHED)]
    return Report("asic", "a tile in standard cells", COLUMNS, rows, lambda figure: _draw(figure, records), lines, size=(9.0, 9.0))


def _draw(figure: Any, records: list[dict[str, Any]]) -> None:
    top, middle, bottom = figure.subplots(3, 1)
    shown = [f"{name_of(one)} ({one['library']})" for one in records]
    stacks: list[tuple[Any, list[dict[str, float]], str]] = [
        (top, [_grouped(one["areas_um2"]) for one in records], "share of a tile's area"),
        (middle, [_grouped({part: sum(power.values()) for part, power in one["powers_w"].items()}) for one in records],
         "share of a tile's power")]
    order = list(dict.fromkeys((*_GROUPS.values(), _OTHER)))
    for axes, values, label in stacks:
        below = [0.0] * len(records)
        for number, group in enumerate(order):
            heights = [of.get(group, 0.0) / sum(of.values()) for of in values]
            if max(heights, default=0) > 0.005:
                axes.bar(range(len(records)), heights, 0.7, bottom=below, label=group, color=COLOURS[number % len(COLOURS)])
                below = [a + b for a, b in zip(below, heights, strict=True)]
        axes.set_ylabel(label)
        axes.set_xticks(range(len(records)), ["" for _ in records])
        if records:
            axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    every = [*records, *PUBLISHED]
    bars(bottom, [*shown, *map(name_of, PUBLISHED)], {"pJ a label": [1e12 * one["joules_per_label"] for one in every]},
         label="pJ a label")
