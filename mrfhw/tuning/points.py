"""Machines that tools have tried: cells, clocks, seconds and failures, as lines of JSON that are only ever added to."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mrfhw.machine.config import Config, ConfigError
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import check_writable
from mrfhw.system.input_files import read_plain

__all__ = ["HELD_BACK", "SLICE", "STORE", "TRUTHS", "Point", "add_point", "points_of", "read_points"]

STORE = Path(__file__).parent / "points"  # a file of each family
TRUTHS = ("gates", "synthesized", "placed", "simulated")  # what a point is true by
HELD_BACK = "2/"  # how those begin that `python -m studies.whole_boards` drew to judge estimates by
SLICE = "slice"  # those of `python -m studies.slice`, on which searches are replayed
STORE_BYTES = 1 << 28
WAY_OUT = "restore the file, or take the line out"


@dataclass(frozen=True)
class Point:
    """A machine, alone or with a board around it, and what came of it.

    truth: of TRUTHS: memories and multipliers alone, cells of synthesis as the device packs them, place and route, or the compiled
        board's run.
    family: of the FPGA. board: None for a machine alone. parameters: of the machine (`Config.to_dict`).
    options: of the board, such as clock_hz, baud, words and log_bytes; of a run, what ran.
    circuit: the digest of its Verilog (`mrfhw.generation.identity.circuit_digest`); None of machines that were tried before it was
        kept. interface: the version of its registers, likewise.
    tools: versions by name. seed: of place and route.
    cells: lut, ff, carry, ram, dsp, and logic, the units of the device that they are packed into; those that are known.
    clock_hz: that the machine reached.
    seconds: that the tools took; of a run that was simulated, `run_s` in options is what it took.
    failure: in one line, why there are no cells; None where there are.
    """

    truth: str
    family: str
    parameters: dict[str, Any]
    board: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    circuit: str | None = None
    interface: int | None = None
    tools: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    cells: dict[str, int] = field(default_factory=dict)
    clock_hz: float | None = None
    seconds: float | None = None
    failure: str | None = None

    @property
    def config(self) -> Config:
        return Config.from_dict(self.parameters)

    @property
    def logic(self) -> int | None:
        """Units of the device's logic as synthesis and packing have them, None where they are not known. Place and route of a Gowin
        takes some more, through which wires go."""
        if self.family == "gowin":
            return self.cells["lut"] + self.cells["carry"] if "lut" in self.cells else None
        return self.cells.get("logic")

    @property
    def held_back(self) -> bool:
        """It is among those by which estimates are judged, and no model or estimate is made from it."""
        return str(self.options.get("drawn", "")).startswith(HELD_BACK)

    @property
    def fitted(self) -> bool:
        """A model may be fitted to it: no search and no estimate is judged by it."""
        return not self.held_back and self.options.get("drawn") != SLICE

    @property
    def line(self) -> str:
        """As it is kept: what is unknown is left out."""
        return json.dumps({name: value for name, value in asdict(self).items() if value not in (None, {})}, allow_nan=False)

    @classmethod
    def of_line(cls, line: str) -> Point:
        """Raises ValueError for what is no point."""
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is no JSON: {error}") from None
        if not isinstance(values, dict):
            raise ValueError("it is no object")
        for name, kinds in _NEEDED.items():
            if name not in values and name in ("truth", "family", "parameters"):
                raise ValueError(f"it has no {name}")
            if name in values and not (isinstance(values[name], kinds) and not isinstance(values[name], bool)):
                raise ValueError(f"its {name} is {values[name]!r:.40}")
        if unknown := sorted(values.keys() - _NEEDED):
            raise ValueError(f"it has {unknown[0]!r:.40}, which no point has")
        if values["truth"] not in TRUTHS:
            raise ValueError(f"its truth is {values['truth']!r:.40}, none of {', '.join(TRUTHS)}")
        cells = values.get("cells", {})
        if not all(isinstance(count, int) and count >= 0 for count in cells.values()):
            raise ValueError("its cells are no counts")
        if not cells and "failure" not in values and values["truth"] != "simulated":
            raise ValueError("it has neither cells nor a failure")
        try:
            Config.from_dict(values["parameters"])
        except (ConfigError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"its machine cannot be read: {error}") from None
        return cls(**values)


_NEEDED: dict[str, Any] = {
    "truth": str, "family": str, "parameters": dict, "board": str, "options": dict, "circuit": str, "interface": int, "tools": dict,
    "seed": int, "cells": dict, "clock_hz": (int, float), "seconds": (int, float), "failure": str,
}
assert _NEEDED.keys() == {one.name for one in fields(Point)}


def read_points(path: Path) -> list[Point]:
    """The points of a file. Raises ProblemError, in one line, for one that is damaged."""
    data = read_plain(path, "give a file of points, lines of JSON", STORE_BYTES)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path} is damaged in line {data.count(10, 0, error.start) + 1} (it is no text): {WAY_OUT}") from None
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line and number > text.count("\n"):
            break
        try:
            found.append(Point.of_line(line))
        except ValueError as error:
            raise ProblemError(f"{path} is damaged in line {number} ({error}): {WAY_OUT}") from None
    if text and not text.endswith("\n"):
        raise ProblemError(f"{path} ends within a line, as if a program had been killed: {WAY_OUT}")
    return found


def points_of(folder: Path = STORE, families: Iterable[str] | None = None) -> Iterator[Point]:
    """All points of a folder, family after family. Raises ProblemError as `read_points`."""
    for path in sorted(folder.glob("*.jsonl")):
        if families is None or path.stem in families:
            yield from read_points(path)


def add_point(point: Point, folder: Path = STORE) -> None:
    """Add a line to the family's file, whole or not at all. Raises ProblemError where it cannot be written."""
    path = folder / f"{point.family}.jsonl"
    check_writable(folder)
    folder.mkdir(parents=True, exist_ok=True)
    line = f"{point.line}\n".encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # so that what another program adds meanwhile is not cut off
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(28, os.strerror(28))
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, size)
            raise ProblemError(f"{path} cannot be written ({os.strerror(error.errno or 0)}): free some space, or give another "
                               "folder") from None
    finally:
        os.close(descriptor)
