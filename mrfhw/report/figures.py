"""The figures of a run: what is drawn, as calls that any process can make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mrfhw.report import pictures

if TYPE_CHECKING:  # which the process that draws need not import
    from mrfhw.analysis.answer import Analysis
    from mrfhw.analysis.solution import Solution
    from mrfhw.jobs.job import Job

__all__ = [
    "MIXING", "WIDTH", "Drawing", "Figure", "answer_drawings", "draw", "drawings", "input_name", "mixing_drawings", "width_title",
]

WIDTH = "width of the interval"  # the drawing of the page's map
MIXING = "mixing.png"

Drawing = Callable[[], bytes]  # makes a PNG file


@dataclass(frozen=True)
class Figure:
    """PNG files. whole: as drawn. small: for the page."""

    whole: bytes
    small: bytes


def draw(drawings: Mapping[str, Drawing]) -> dict[str, Figure]:
    """The figures by the names of their drawings."""
    whole = {name: drawing() for name, drawing in drawings.items()}
    return {name: Figure(png, pictures.at_most(png)) for name, png in whole.items()}


def input_name(caption: str) -> str:
    """The name of an input's drawing, which is in the page alone."""
    return f"input {caption}"


def width_title(level: float) -> str:
    return f"Width of the {100 * level:g} % credible interval"


def drawings(job: Job, solution: Solution) -> dict[str, Drawing]:
    """What can be drawn before the answer is known, by the names of files or of `input_name`."""
    made: dict[str, Drawing] = {input_name(caption): partial(pictures.input_picture, pixels)
                                for caption, pixels in job.inputs.items()}
    if solution.seen is not None:
        made["energy.png"] = partial(pictures.energy_by_sweep, solution.seen)
    return made


def answer_drawings(job: Job, analysis: Analysis) -> dict[str, Drawing]:
    """Of the answer, by the names of files, or WIDTH, which is in the page alone."""
    scale, found, truth = job.scale, analysis.uncertainty, job.truth
    name = f"{job.application.verb}, {job.problem.shape[1]}x{job.problem.shape[0]}"
    made: dict[str, Drawing] = {"estimate.png": partial(pictures.labelled, {f"{name}: estimate": analysis.answer}, scale)}
    if found is not None:
        made["entropy.png"] = partial(pictures.measure, found.entropy, f"{name}: entropy", "entropy (bits)",
                                      high=float(np.log2(job.problem.labels)))
    if found is not None and found.std is not None:
        made["std.png"] = partial(pictures.measure, found.std, f"{name}: standard deviation", f"standard deviation of {scale.name}",
                                  colours="viridis")
        if found.width is not None:
            made[WIDTH] = partial(pictures.measure, found.width, width_title(found.level), f"width of {scale.name}",
                                  colours="cividis")
    if truth is not None and analysis.error is not None:
        made["truth.png"] = partial(pictures.labelled, {truth.title: truth.picture, "estimate": analysis.answer}, scale)
        made["error.png"] = partial(pictures.errors, analysis.error, f"{name}: error", truth.error_name, truth.wrong_above)
        if analysis.calibration is not None:
            made["sparsification.png"] = partial(pictures.sparsification, analysis.calibration.sparsification, truth.error_name)
    return made


def mixing_drawings(job: Job, solution: Solution, analysis: Analysis) -> dict[str, Drawing]:
    """Of the diagnostics, where sites were watched, by the name of the file."""
    found = analysis.convergence
    if solution.seen is None or found is None or found["sites"] is None or found["sites"]["not_mixed"] is None:
        return {}
    places = np.array(found["sites"]["not_mixed_at"], np.int64).reshape(-1, 2)
    return {MIXING: partial(pictures.mixing, job.problem.shape, solution.apart, solution.seen.sites, places)}
