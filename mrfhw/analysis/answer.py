"""What is made of a solution of a job: estimate, uncertainty, quality, convergence."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.analysis.calibration import Calibration, calibrate
from mrfhw.analysis.convergence import diagnose, undiagnosed
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.analysis.uncertainty import Uncertainty, quantify
from mrfhw.jobs.job import Job, Measured, Truth
from mrfhw.system.second_process import Begin, Outcome, here

__all__ = ["Analysis", "analyse", "answered", "measures", "quantified"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is made of a solution.

    labels: (H, W) uint8, the estimate, of a mean the nearest label. values: (H, W, D) float64, the estimate in the units of
    LabelScale.values, of a mean between them. uncertainty: None without a histogram; its intervals are those of `Job.finer`, where
    there is one. mean: (H, W, D) float64, the posterior mean; None of classes, and where no labels were counted. maps: as
    `Job.maps`. answer: (H, W, D) float64, the one answer of files, pictures and measures: `Job.finer`'s, or of a histogram the
    mean of greys, `Uncertainty.halves` of others of one component; without one, or of cooling, the estimate's; of classes the
    labels' values. between: what the answer is, in words, where it is another than the estimate, else "". error: (H, W) float64, of
    the answer, NaN where the truth is unknown; None without one. metrics, calibration: of the answer; what `Measured` measures of
    the estimate is added to metrics with "_labels" behind its name, where that is another. diagnosed: what gives `convergence`,
    which may be on its way in another process.
    """

    labels: np.ndarray
    values: np.ndarray
    uncertainty: Uncertainty | None
    mean: np.ndarray | None
    error: np.ndarray | None
    metrics: dict[str, float | None]
    calibration: Calibration | None
    maps: dict[str, np.ndarray]
    answer: np.ndarray
    between: str
    diagnosed: Outcome

    @property
    def convergence(self) -> dict[str, Any] | None:
        """Of `diagnose`; waits for it."""
        return self.diagnosed()


def quantified(job: Job, counts: np.ndarray, last: np.ndarray) -> tuple[Uncertainty, np.ndarray | None]:
    """The uncertainty of histograms (H, W, L), and the estimate between values, (H, W, D) float64 or None: of `Job.finer`, whose
    intervals the uncertainty then has, or the interpolated median. last: (H, W), a last sample."""
    found = quantify(counts, last, job.scale, doubt=job.doubt, within=None if job.truth is None else job.truth.wrong_above)
    if job.finer is None:
        return found, None if found.median is None else found.median[..., None]
    assert found.mean is not None
    mode = job.scale.at(found.mode)
    near = job.finer(mode, mode if job.cooled else found.mean, found.interval)
    return dataclasses.replace(found, interval=near.interval), near.values


def analyse(job: Job, solution: Solution, begin: Begin = here) -> Analysis:
    """Everything that reports, files and answers say of a solution. begin: how diagnostics are made, here or beside."""
    truth, counts = job.truth, solution.counts
    diagnosed = _diagnosed(job, solution.seen, begin)
    uncertainty, finer = (None, None) if counts is None else quantified(job, counts, solution.last)
    found = solution.last if uncertainty is None else uncertainty.mode  # whole labels, or means between them
    if solution.mean is not None:
        found = solution.mean
    labels, values = np.rint(found).astype(np.uint8), job.scale.at(found)
    mean = None if uncertainty is None else uncertainty.mean
    if uncertainty is None and job.finer is not None:
        finer = job.finer(values, values, None).values
    answer, between = answered(job, values, uncertainty, finer)
    error = None
    if truth is not None:
        error = np.linalg.norm(answer - truth.picture, axis=-1) if job.scale.ordered else truth.error(found)
    return Analysis(
        labels=labels, values=values, uncertainty=uncertainty, mean=mean if solution.mean is None else values,
        metrics={} if truth is None else measures(truth, found, mean, finer, answer if job.scale.ordered else None),
        calibration=None if truth is None or uncertainty is None else calibrate(uncertainty, labels, truth, job.scale, error),
        answer=answer, between=between, error=error, diagnosed=diagnosed,
        maps=job.maps | ({} if job.drawn_from is None else job.drawn_from(labels)))


def _diagnosed(job: Job, trace: Trace | None, begin: Begin) -> Outcome:
    if trace is None:
        return lambda: None
    if job.cooled:
        return here(undiagnosed, trace, "No convergence diagnostics: chains whose temperature changes while labels are counted "
                                        "have no stationary distribution.")
    return begin(diagnose, trace, job.scale)


def measures(truth: Truth, found: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None,
             answer: np.ndarray | None) -> dict[str, float | None]:
    """`Analysis.metrics`. found: (H, W), the estimate; mean, finer: as of `Truth.metrics`; answer: (H, W, D), None of classes."""
    of_labels = truth.metrics(found, mean, finer)
    if answer is None or not isinstance(truth, Measured):
        return of_labels
    of_answer = truth.quality(answer)
    others = {f"{name}_labels": of_labels[name] for name, value in of_answer.items() if of_labels.get(name, value) != value}
    return of_labels | of_answer | others


def answered(job: Job, values: np.ndarray, uncertainty: Uncertainty | None, finer: np.ndarray | None) -> tuple[np.ndarray, str]:
    """`Analysis.answer` and `Analysis.between`. values: (H, W, D), the estimate. finer: of `quantified`."""
    if job.finer is not None:
        assert finer is not None
        return finer, job.finer.name
    if not job.scale.ordered or job.cooled or uncertainty is None or uncertainty.mean is None:
        return values, ""
    # Of greys the mean has the least squared error, by which they are judged. Of disparities (studies/answers.py) halves have the
    # fewest pixels that are off by more than half a pixel, as few as the mode that are off by more than one, and the least mean
    # error but for the median's and the mean's, which are more often off.
    if uncertainty.halves is not None:
        return uncertainty.halves[..., None], "the most frequent value, to half a step"
    return uncertainty.mean, "the posterior mean"
