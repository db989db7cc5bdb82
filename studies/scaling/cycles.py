"""Cycles of a sweep over meshes and lanes, by the model of the machine's timing; what the log adds, by runs of the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.applications.descriptors import census
from mrfhw.applications.options import contrast_weights
from mrfhw.applications.stereo.field import TUNED, stereo_problem
from mrfhw.field.problem import Problem
from mrfhw.fpga.errors import BuildError
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.scenes import stereo_scene
from mrfhw.system.files import replaced
from mrfhw.system.input_files import read_plain
from studies.reproduce.chains import tiles_for
from studies.reproduce.performance import log_of, quiet_cycles
from studies.scaling.machines import LANES, machine

__all__ = ["LABELS", "LOGGED", "SIDES", "STRONG", "WEAK", "Log", "LogRun", "Sweep", "field", "measure_log", "read_log",
           "sweep", "sweeps"]

SIDES = (1, 2, 4, 8, 16, 32)
LABELS = 64
SWEEPS = 100  # of the run whose cycles are divided by them
WEAK = "64x64 sites a tile"
STRONG = {"256x192 sites": (192, 256), "1920x1080 sites": (1080, 1920)}

# Machines whose log is measured (lanes, side, line_levels), and sweeps before it and with it. The later half of those with it is
# a round of the 8-bit counters, because those of pixels that keep their label all began together and saturate together.
LOGGED = tuple((lanes, side, line_levels) for lanes in (1, 16) for side in (8, 32) for line_levels in (0, 2))
LOG_SHAPE = STRONG["256x192 sites"]
WARM, COUNTED = 60, 2 * 255


def field(rows: int, cols: int) -> Problem:
    """Stereo by census of that size; the data are 0, which cycles do not depend on."""
    empty = np.zeros((rows, cols), np.uint8)
    return stereo_problem(empty, empty, labels=LABELS, singleton_max=TUNED.singleton_max, **TUNED.census)


@dataclass(frozen=True)
class Sweep:
    """A sweep of a workload on side x side tiles, its log empty. tile: rows and columns of sites. cycles: of one sweep."""

    work: str
    lanes: int
    side: int
    tile: tuple[int, int]
    sites: int
    cycles: float

    @property
    def tiles(self) -> int:
        return self.side**2

    @property
    def utilization(self) -> float:
        """Label evaluations over lanes and cycles; sites that pad the tiles are not counted."""
        return self.sites * LABELS / (self.lanes * self.tiles * self.cycles)


def sweep(work: str, lanes: int, side: int) -> Sweep | None:
    """None where a tile cannot hold its part of the workload."""
    config = machine(lanes, side)
    rows, cols = STRONG.get(work, (config.tile_rows * side, config.tile_cols * side))
    problem = field(rows, cols)
    if work in STRONG:
        try:
            config = tiles_for(config, problem)
        except ConfigError:  # tiles too large for a memory
            return None
    cycles = quiet_cycles(config, problem, SWEEPS) / SWEEPS
    return Sweep(work, lanes, side, (config.tile_rows, config.tile_cols), rows * cols, cycles)


def sweeps(lanes: tuple[int, ...] = LANES) -> Iterator[Sweep]:
    """Of every workload, mesh and number of lanes that there is."""
    for work in (WEAK, *STRONG):
        for k in lanes:
            for side in SIDES:
                found = sweep(work, k, side)
                if found is not None:
                    yield found


@dataclass(frozen=True)
class LogRun:
    """A machine on the built-in scene with its log: cycles of a sweep without stalls, stalls and messages of a sweep."""

    lanes: int
    side: int
    line_levels: int
    cycles: float
    stalls: float
    messages: float


@dataclass(frozen=True)
class Log:
    """The log of a few machines, by the bit-exact model."""

    scene: str
    runs: tuple[LogRun, ...]

    @cached_property
    def messages_a_site(self) -> float:
        """Of a sweep, on average of the runs."""
        return float(np.mean([run.messages for run in self.runs])) / (LOG_SHAPE[0] * LOG_SHAPE[1])

    def messages_a_cycle(self, found: Sweep) -> float:
        """What the log's root is given, did nothing wait; it takes one at most."""
        return self.messages_a_site * found.sites / found.cycles


def _header() -> dict[str, Any]:
    rows, cols = LOG_SHAPE
    return {"scene": f"built-in stereo by census, {cols}x{rows}, {LABELS} labels", "sweeps": [WARM, COUNTED]}


def measure_log(path: Path) -> None:
    """Run the model of the machines of LOGGED, a minute each, and write `path`; nothing where it is there."""
    if path.exists():
        return
    scene = stereo_scene(*LOG_SHAPE, LABELS, 0)
    problem = stereo_problem(census(scene.left), census(scene.right), labels=LABELS, singleton_max=TUNED.singleton_max,
                             edges=contrast_weights(TUNED.contrast, Config(**TUNED.needs), scene.left), **TUNED.census)
    rows = []
    with tqdm(total=len(LOGGED) * (WARM + COUNTED), desc="log", unit="sweep", leave=False, disable=None) as bar:
        for lanes, side, levels in LOGGED:
            config = Derived.of(tiles_for(machine(lanes, side).changed(line_levels=levels), problem))
            found = log_of(config, problem, WARM, COUNTED, 1, SWEEPS, bar)
            rows.append({"lanes": lanes, "side": side, "line_levels": levels, "cycles": found.quiet, "stalls": found.stalled,
                         "messages": found.messages})
    with replaced(path) as file:
        file.write((json.dumps({**_header(), "runs": rows}, indent=1) + "\n").encode())


def read_log(path: Path) -> Log:
    """What `measure_log` wrote. Raises BuildError."""
    way_out = "give a directory that python -m studies.scaling --measure filled"
    try:
        held = json.loads(read_plain(path, way_out, 1 << 20, BuildError))
        runs = tuple(LogRun(**row) for row in held["runs"])
        if {**held, **_header()} != held or [(run.lanes, run.side, run.line_levels) for run in runs] != list(LOGGED):
            raise BuildError(f"{path} is of other runs than this program makes: {way_out}")
    except BuildError:
        raise
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise BuildError(f"{path} is no record of the log ({error}): {way_out}") from None
    return Log(held["scene"], runs)
