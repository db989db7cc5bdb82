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
    """What is made of a solution. labels: (H, W) uint8, the estimate. error: (H, W) float64 or None. convergence: of `diagnose`.
    maps: as `Job.maps`. answer: (H, W, D) float64 in the units of LabelScale.values, the number that is nearest to the truth on
    average: the interpolated median of one component, else the posterior mean; of annealing the estimate's; None of classes.
    """

    labels: np.ndarray
    uncertainty: Uncertainty
    error: np.ndarray | None
    metrics: dict[str, float | None]
    calibration: Calibration | None
    convergence: dict[str, Any] | None
    maps: dict[str, np.ndarray]
    answer: np.ndarray | None


def analyse(job: Job, solution: Solution) -> Analysis:
    """Everything that reports, files and answers say of a solution."""
    uncertainty = quantify(solution.counts, solution.last, job.scale, doubt=job.doubt,
                           within=None if job.truth is None else job.truth.wrong_above)
    labels = solution.last if job.annealing else uncertainty.mode
    truth, trace = job.truth, solution.trace
    convergence = None
    if trace is not None and len(trace.sweeps):
        convergence = (undiagnosed(trace, "No convergence diagnostics: chains whose temperature changes while labels are counted "
                                          "have no stationary distribution.") if job.cooled else diagnose(trace, job.scale))
    return Analysis(
        labels=labels, uncertainty=uncertainty, error=None if truth is None else truth.error(labels),
        metrics={} if truth is None else truth.metrics(labels, uncertainty.mean, uncertainty.median),
        calibration=None if truth is None else calibrate(uncertainty, labels, truth, job.scale), convergence=convergence,
        answer=_answer(job, labels, uncertainty), maps=job.maps | ({} if job.drawn_from is None else job.drawn_from(labels)))


def _answer(job: Job, labels: np.ndarray, uncertainty: Uncertainty) -> np.ndarray | None:
    if not job.scale.ordered:
        return None
    if job.cooled or uncertainty.mean is None:
        return np.asarray(job.scale.values[labels])
    # Of greys the mean has the least squared error, by which they are judged.
    middle = None if job.scale.kind == "grey" else uncertainty.median
    return uncertainty.mean if middle is None else middle[..., None]
