"""What is made of a solution of a job: estimate, uncertainty, quality, convergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.analysis.calibration import Calibration, calibrate
from mrfhw.analysis.convergence import diagnose, undiagnosed
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.uncertainty import Uncertainty, quantify
from mrfhw.apps.job import Job

__all__ = ["Analysis", "analyse"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is made of a solution. labels: (H, W) uint8, the estimate, of a mean the nearest label. values: (H, W, D) float64, the
    estimate in the units of LabelScale.values, of a mean between them. uncertainty: None without a histogram. mean: (H, W, D)
    float64, the posterior mean; None of classes, and where no labels were counted. error: (H, W) float64 or None. convergence: of
    `diagnose`. maps: as `Job.maps`. answer: (H, W, D) float64, the number that is nearest to the truth on average: of a histogram
    the interpolated median of one component, else the posterior mean; without one, or of cooling, the estimate's; None of classes.
    """

    labels: np.ndarray
    values: np.ndarray
    uncertainty: Uncertainty | None
    mean: np.ndarray | None
    error: np.ndarray | None
    metrics: dict[str, float | None]
    calibration: Calibration | None
    convergence: dict[str, Any] | None
    maps: dict[str, np.ndarray]
    answer: np.ndarray | None


def analyse(job: Job, solution: Solution) -> Analysis:
    """Everything that reports, files and answers say of a solution."""
    truth, trace, counts = job.truth, solution.trace, solution.counts
    uncertainty = None if counts is None else quantify(counts, solution.last, job.scale, doubt=job.doubt,
                                                       within=None if truth is None else truth.wrong_above)
    found = solution.last if uncertainty is None else uncertainty.mode  # whole labels, or means between them
    if solution.mean is not None:
        found = solution.mean
    labels, values = np.rint(found).astype(np.uint8), job.scale.at(found)
    mean, median = (None, None) if uncertainty is None else (uncertainty.mean, uncertainty.median)
    convergence = None
    if trace is not None and len(trace.sweeps):
        convergence = (undiagnosed(trace, "No convergence diagnostics: chains whose temperature changes while labels are counted "
                                          "have no stationary distribution.") if job.cooled else diagnose(trace, job.scale))
    return Analysis(
        labels=labels, values=values, uncertainty=uncertainty, mean=mean if solution.mean is None else values,
        error=None if truth is None else truth.error(found), metrics={} if truth is None else truth.metrics(found, mean, median),
        calibration=None if truth is None or uncertainty is None else calibrate(uncertainty, labels, truth, job.scale),
        convergence=convergence, answer=_answer(job, values, uncertainty),
        maps=job.maps | ({} if job.drawn_from is None else job.drawn_from(labels)))


def _answer(job: Job, values: np.ndarray, uncertainty: Uncertainty | None) -> np.ndarray | None:
    if not job.scale.ordered:
        return None
    if job.cooled or uncertainty is None or uncertainty.mean is None:
        return values
    # Of greys the mean has the least squared error, by which they are judged.
    middle = None if job.scale.kind == "grey" else uncertainty.median
    return uncertainty.mean if middle is None else middle[..., None]
