"""What sweeps took on devices that were tried: lines of JSON under version control, to which lines are only added."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.field.problem import ProblemError
from mrfhw.samplers.gpu.device import Device
from mrfhw.samplers.gpu.source import Variant
from mrfhw.samplers.gpu.tables import GpuTables

__all__ = ["POINTS", "KernelPoint", "add_points", "kept_points", "likely"]

POINTS = Path(__file__).with_name("points")


@dataclass(frozen=True)
class KernelPoint:
    """A field drawn by a variant on a device.

    device, driver: their names.
    rows, cols, labels: of the field.
    doubles: entries of its doubletons.
    edges: they have weights.
    energy_bits: 16 or 32, of a singleton's energy.
    group, keep, local_doubles, local_labels, fixed: as of `Variant`.
    sweep_s: seconds of a sweep.
    """

    device: str
    driver: str
    rows: int
    cols: int
    labels: int
    doubles: int
    edges: bool
    energy_bits: int
    group: tuple[int, int]
    keep: bool
    local_doubles: bool
    local_labels: bool
    fixed: bool
    sweep_s: float

    @classmethod
    def of(cls, device: Device, tables: GpuTables, variant: Variant, sweep_s: float) -> KernelPoint:
        (rows, cols), labels = tables.problem.shape, tables.problem.labels
        return cls(device.name, device.driver, rows, cols, labels, tables.doubles.size, bool(tables.edges.size),
                   8 * np.dtype(tables.kind).itemsize, variant.group, variant.keep, variant.local_doubles, variant.local_labels,
                   variant.fixed, sweep_s)

    @property
    def variant(self) -> Variant:
        return Variant(self.group, self.keep, self.local_doubles, self.local_labels, self.fixed)

    @property
    def field(self) -> tuple[int, ...]:
        """What tells fields apart."""
        return self.rows, self.cols, self.labels, self.doubles, int(self.edges), self.energy_bits


def _point(line: str) -> KernelPoint:
    found: dict[str, Any] = json.loads(line)
    return KernelPoint(**{**{field.name: found[field.name] for field in fields(KernelPoint)}, "group": tuple(found["group"])})


def kept_points(store: Path = POINTS) -> list[KernelPoint]:
    """Of all devices. Raises ProblemError for a damaged file."""
    found = []
    for path in sorted(store.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                found.append(_point(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ProblemError(f"{path}: line {number} is no point of a device ({type(error).__name__}): take it out") from None
    return found


def add_points(points: Iterable[KernelPoint], store: Path = POINTS) -> None:
    """To the file of each device, which is made where it is missing."""
    store.mkdir(parents=True, exist_ok=True)
    for point in points:
        name = "".join(letter if letter.isalnum() else "-" for letter in point.device.lower()).strip("-")
        with (store / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps(asdict(point)) + "\n")


@cache
def _known() -> list[KernelPoint]:
    return kept_points()


def likely(device: Device, tables: GpuTables) -> Variant | None:
    """The variant that was the soonest for the field that is most like this one on a device of that name; None where none is known.

    Fields are alike in labels first, then in sites and doubletons, by factors.
    """
    own = KernelPoint.of(device, tables, Variant(), 1.0)
    known = [point for point in _known() if point.device == device.name]
    if not known:
        return None

    def apart(point: KernelPoint) -> float:
        return (abs(math.log(point.labels / own.labels)) + 0.5 * abs(math.log(point.doubles / own.doubles))
                + 0.25 * abs(math.log(point.rows * point.cols / (own.rows * own.cols))))

    nearest = min(known, key=apart).field
    return min((point for point in known if point.field == nearest), key=lambda point: point.sweep_s).variant
