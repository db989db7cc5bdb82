"""What is compared: label evaluations a second, what they cost, and what binds them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mrfhw.cost.seconds import read_out
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.report import PUBLISHED, cell_of, link_of, picture_of
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.samplers.gpu.chain import Choice
from mrfhw.samplers.gpu.device import of_name
from studies.asic.report import kept, name_of
from studies.bench import software
from studies.reproduce.performance import CLOCK, SIDE

__all__ = ["Row", "built", "elsewhere", "in_cells", "measured", "measurements"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A sampler, in hardware or software.

    labels_per_s: label evaluations a second, of a log that costs nothing. replaced: those that a machine without subsets would need
    to visit as many sites, where a visit evaluates a subset of the labels. logged: the same with every counted label in a histogram
    that reaches the host, None where that is not known or there is none. read_out: of a run without a log, whose estimate is the
    mean, `mrfhw.cost.seconds.read_out`. picture_s: seconds of a whole picture at the clock that the machine has, transfers included
    (`mrfhw.cost.picture`), None where it does not fit or its link is not known. log_bytes: of the log for each label evaluation.
    logic: which cells, and how many. multipliers: how many. joules: for a label evaluation, by a model of power. binds: what sets
    the rate.
    status: simulated, placed and routed, run on a board, measured here.
    """

    name: str
    labels_per_s: float
    status: str
    binds: str
    replaced: float | None = None
    logged: float | None = None
    read_out: float | None = None
    picture_s: float | None = None
    log_bytes: float | None = None
    logic: tuple[str, int] | None = None
    multipliers: int | None = None
    joules: float | None = None

    @property
    def per_logic(self) -> float | None:
        return self.labels_per_s / self.logic[1] if self.logic else None

    @property
    def per_multiplier(self) -> float | None:
        return self.labels_per_s / self.multipliers if self.multipliers else None

    @property
    def per_watt(self) -> float | None:
        return 1 / self.joules if self.joules else None


def _name(record: dict[str, Any]) -> str:
    """Board and design, and the sites where they are not those of the board's own machine of that size."""
    board = BOARDS.get(record["board"])
    own = Derived.preset(board.preset) if board else None
    other = own is not None and own.size == record["design"] and own.sites != record["sites"]
    return f"{record['board']}, {record['design']}" + (f", {record['sites']:,} sites" if other else "")


def built(record: dict[str, Any]) -> Row:
    """A build's record, this project's own or one of `PUBLISHED`."""
    log, logic, multipliers = record.get("log"), cell_of(record, "logic"), cell_of(record, "dsp")
    rate, replaced = record["labels_per_s"], record.get("labels_per_s_of_all_slots")
    picture, link = picture_of(record), link_of(record)
    return Row(
        name=_name(record), labels_per_s=rate, replaced=replaced, status=record["status"],
        binds=f"lanes x {record['machine_fmax_hz'] / 1e6:.1f} MHz" + (", with the log its link" if log and log["binds"] == "link"
                                                                      else ""),
        logged=log["labels_per_s"] if log else None,
        read_out=None if link is None or "config" not in record else
        read_out(Config.from_dict(record["config"]), link, record["machine_fmax_hz"], record.get("link_clock_hz")),
        log_bytes=log["bytes_per_label_evaluation"] if log else None,
        picture_s=None if isinstance(picture, str) else picture.seconds,
        logic=logic, multipliers=multipliers[1] if multipliers else None)


def elsewhere() -> list[Row]:
    """Published machines that this project has not built."""
    # The design's ASIC study (Section 3.5.1): 1,024 x 2 lanes at 3 GHz in 15 nm, 13.2 pJ a label. FlexGibbs: FCCM 2019.
    return [*map(built, PUBLISHED),
            Row(name="published ASIC, 1024x2", labels_per_s=2 * SIDE**2 * CLOCK, status="published, synthesized for 15 nm",
                binds=f"lanes x {CLOCK / 1e6:.1f} MHz", joules=13.2e-12),
            Row(name="FlexGibbs", labels_per_s=177e6, status="published", binds="not stated")]


def in_cells() -> list[Row]:
    """Tiles in standard cells, of the records that are kept (`python -m studies.asic`)."""
    return [Row(name=f"a tile, {name_of(one)}, {one['library']}", labels_per_s=one["labels_per_s"],
                status=f"synthesized for {one['nanometres']} nm", binds=f"lanes x {one['clock_hz'] / 1e6:.0f} MHz",
                joules=one["joules_per_label"]) for one in kept()]


def measurements(labels: int, repeats: int, gpu: Choice | None = None) -> dict[str, tuple[str, Callable[[], float]]]:
    """What is measured on this computer: by name, what binds it and how it is measured.

    gpu: a device for backend gpu; None for none.
    """
    cores = os.cpu_count() or 1
    one, weighed = "one core", f"; weighs the labels in {software.cpu_weighed(labels):.0%} of the visits"
    found: dict[str, tuple[str, Callable[[], float]]] = {
        "bit-exact model, one core": (one, lambda: software.model_speed(Config(), labels, 1, repeats)),
        "the processor's vectors (cpu), one core": (one + weighed, lambda: software.cpu_speed(labels, 1, repeats)),
        "float64 reference, one core": (one, lambda: software.float_speed(labels, repeats)),
        "tables in numba, one core": (one, lambda: software.tables_speed(labels, repeats)),
        "NumPy, one core": (one, lambda: software.numpy_speed(labels, repeats)),
    }
    if cores > 1:
        found[f"bit-exact model, {cores} cores"] = (
            f"{cores} cores", lambda: software.model_speed(Config(), labels, None, repeats))
        found[f"the processor's vectors (cpu), {cores} cores"] = (
            f"{cores} cores{weighed}", lambda: software.cpu_speed(labels, None, repeats))
    if gpu is not None:
        name = of_name(gpu.device).name
        found[f"{name} (gpu)"] = (name, lambda: software.gpu_speed(gpu, labels, repeats))
    return found


def measured(labels: int, repeats: int, gpu: Choice | None = None) -> Iterator[Row]:
    """Each of `measurements`, when it is done."""
    for name, (binds, measure) in measurements(labels, repeats, gpu).items():
        yield Row(name=name, labels_per_s=measure(), status="measured here", binds=binds)
