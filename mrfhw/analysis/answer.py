"""What is made of a solution of a job: estimate, uncertainty, quality, convergence."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.analysis.alike import shared
from mrfhw.analysis.between import quantiles_and_confidence
from mrfhw.analysis.calibration import Calibration, calibrate
from mrfhw.analysis.convergence import diagnose, least_agreement, undiagnosed
from mrfhw.analysis.fields import quantify_fields
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.analysis.uncertainty import INNER, Uncertainty, modes, quantify
from mrfhw.jobs.job import Job, Measured, Shared, Truth
from mrfhw.jobs.label_scale import LEVEL, LabelScale
from mrfhw.system.second_process import Begin, Outcome, here

__all__ = ["Analysis", "analyse", "answered", "measures", "quantified"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is made of a solution.

    labels: (H, W) uint8, the estimate, of a mean the nearest label. values: (H, W, D) float64, the estimate in the units of
    LabelScale.values, of a mean between them. Both are of what was drawn. uncertainty: None without a histogram; its intervals are
    those of `Job.finer`, where there is one, and all its numbers those of `Job.shared`. mean: (H, W, D) float64, the posterior
    mean; None of classes, and where no labels were counted. maps: as `Job.maps`. answer: (H, W, D) float64, the one answer of
    files, pictures and measures: `Job.finer`'s, or of a histogram `Job.shared`'s, the mean of greys, `Uncertainty.halves` of others
    of one component; without one, or of cooling, the estimate's; of classes the labels' values. between: what the answer is, in
    words, where it is another than the estimate, else "". error: (H, W) float64, of the answer, NaN where the truth is unknown;
    None without one. metrics, calibration: of the answer; metrics_of_labels: what `Measured` measures of the estimate, where that
    is another. diagnosed: what gives `convergence`, which may be on its way in another process; beside: of the further fields of a
    job that has several.
    Of several fields (`mrfhw.jobs.fields.Fields`) labels are (H, W, F).
    """

    labels: np.ndarray
    values: np.ndarray
    uncertainty: Uncertainty | None
    mean: np.ndarray | None
    error: np.ndarray | None
    metrics: dict[str, float | None]
    metrics_of_labels: dict[str, float | None]
    calibration: Calibration | None
    maps: dict[str, np.ndarray]
    answer: np.ndarray
    between: str
    diagnosed: Outcome
    beside: tuple[Outcome, ...] = ()

    @property
    def convergences(self) -> list[dict[str, Any] | None]:
        """Of `diagnose`, one for each field; waits for them."""
        return [outcome() for outcome in (self.diagnosed, *self.beside)]

    @property
    def convergence(self) -> dict[str, Any] | None:
        """Of `diagnose`, of several fields that of the least agreement; waits for it."""
        return self.convergences[self.least_agreement]

    @property
    def least_agreement(self) -> int:
        """The field, from 0, whose chains agree least."""
        return least_agreement(self.convergences)


def quantified(job: Job, counts: np.ndarray, last: np.ndarray) -> tuple[Uncertainty, np.ndarray | None]:
    """The uncertainty of histograms (H, W, L), and the estimate between values, (H, W, D) float64 or None: of `Job.finer`, whose
    intervals the uncertainty then has, or the interpolated median. Of `Job.shared` all numbers are of what is shared. last: (H, W),
    a last sample."""
    if job.shared is not None and not job.cooled:
        return _of_shared(job, job.shared, shared(counts, last, job.shared.guide, job.shared.device), last)
    found = quantify(counts, last, job.scale, doubt=job.doubt, within=None if job.truth is None else job.truth.wrong_above)
    if job.finer is None:
        return found, None if found.median is None else found.median[..., None]
    assert found.mean is not None
    mode = job.scale.at(found.mode)
    near = job.finer(mode, mode if job.cooled else found.mean, found.interval)
    return dataclasses.replace(found, interval=near.interval, inner=near.inner), near.values


def _of_shared(job: Job, sharing: Shared, counts: np.ndarray, last: np.ndarray) -> tuple[Uncertainty, np.ndarray | None]:
    """`quantified`, of shares (H, W, L) of labels that like pixels have together."""
    found = quantify(counts, last, job.scale, doubt=job.doubt)
    assert found.near is not None
    assert found.median is not None
    values = job.scale.values[:, 0]
    between, deviation = sharing.fitted(values[found.mode], found.near)
    (interval, inner), confidence = quantiles_and_confidence(
        counts, last, job.doubt, found.mode, values, between, deviation, (LEVEL, INNER), sharing.within)
    return dataclasses.replace(found, interval=interval[:, :, None], inner=inner[:, :, None], confidence=confidence,
                               between=between[..., None]), found.median[..., None]


def _found(job: Job, solution: Solution, uncertainty: Uncertainty | None) -> np.ndarray:
    """Whole labels, the most frequent ones that were drawn, or means between them."""
    if (means := solution.all_mean) is not None:
        return means
    if job.fields is None and solution.counts is not None:
        return modes(solution.counts, solution.last)
    return solution.all_last if uncertainty is None else uncertainty.mode


def labels_of(job: Job, solution: Solution) -> np.ndarray | None:
    """`Analysis.labels`, where nothing but histograms of one field have to be looked at; else None."""
    if job.fields is not None or solution.counts is None or solution.all_mean is not None:
        return None
    return _found(job, solution, None).astype(np.uint8)


def analyse(job: Job, solution: Solution, begin: Begin = here) -> Analysis:
    """Everything that reports, files and answers say of a solution. begin: how diagnostics are made, here or beside."""
    truth, fields = job.truth, job.fields
    diagnosed, *beside = [_diagnosed(job, one.seen, scale, begin) for one, scale in zip(
        solution.every, [job.scale] if fields is None else fields.scales, strict=True)]
    uncertainty, finer = _quantified(job, solution)
    found, means = _found(job, solution, uncertainty), solution.all_mean
    labels, values = np.rint(found).astype(np.uint8), job.scale.at(found) if fields is None else fields.at(found)
    mean = None if uncertainty is None else uncertainty.mean
    if uncertainty is None and job.finer is not None:
        finer = job.finer(values, values, None).values
    answer, between = answered(job, values, uncertainty, finer)
    error = None
    if truth is not None:
        error = np.linalg.norm(answer - truth.picture, axis=-1) if job.scale.ordered else truth.error(found)
        if job.scale.kind == "colour":  # of a channel
            error /= np.sqrt(answer.shape[-1])
    of_answer, of_labels = measures(truth, found, mean, finer, answer if job.scale.ordered else None)
    return Analysis(
        labels=labels, values=values, uncertainty=uncertainty, mean=mean if means is None else values,
        metrics=of_answer, metrics_of_labels=of_labels,
        calibration=None if truth is None or uncertainty is None else calibrate(uncertainty, labels, truth, job.scale, error),
        answer=answer, between=between, error=error, diagnosed=diagnosed, beside=tuple(beside),
        maps=job.maps | ({} if job.drawn_from is None else job.drawn_from(labels)))


def _quantified(job: Job, solution: Solution) -> tuple[Uncertainty | None, np.ndarray | None]:
    """`quantified`, of all fields of the job; None without histograms."""
    several = [one.counts for one in (solution, *solution.beside)]
    counts = [one for one in several if one is not None]
    if len(counts) < len(several):
        return None, None
    if job.fields is None:
        return quantified(job, counts[0], solution.last)
    found = quantify_fields(job.fields, counts, solution.all_last)
    if job.finer is None:
        return found, None
    assert found.mean is not None
    near = job.finer(job.fields.at(found.mode) if job.cooled else found.mean, found.mean, found.interval)
    return dataclasses.replace(found, interval=near.interval, inner=near.inner), near.values


def _diagnosed(job: Job, trace: Trace | None, scale: LabelScale, begin: Begin) -> Outcome:
    if trace is None:
        return lambda: None
    if job.cooled:
        return here(undiagnosed, trace, "No convergence diagnostics: chains whose temperature changes while labels are counted "
                                        "have no stationary distribution.")
    return begin(diagnose, trace, scale)


def measures(truth: Truth | None, found: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None,
             answer: np.ndarray | None) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """`Analysis.metrics` and `Analysis.metrics_of_labels`. found: (H, W), the estimate. mean, finer: as of `Truth.metrics`.
    answer: (H, W, D), None of classes."""
    if truth is None:
        return {}, {}
    of_labels = truth.metrics(found, mean, finer)
    if answer is None or not isinstance(truth, Measured):
        return of_labels, {}
    of_answer = truth.quality(answer)
    return of_labels | of_answer, {name: of_labels[name] for name, value in of_answer.items() if of_labels[name] != value}


def answered(job: Job, values: np.ndarray, uncertainty: Uncertainty | None, finer: np.ndarray | None) -> tuple[np.ndarray, str]:
    """`Analysis.answer` and `Analysis.between`. values: (H, W, D), the estimate. finer: of `quantified`."""
    if job.finer is not None:
        assert finer is not None
        return finer, job.finer.name
    if job.shared is not None and uncertainty is not None and uncertainty.between is not None:
        return uncertainty.between, job.shared.name
    if not job.scale.ordered or job.cooled or uncertainty is None or uncertainty.mean is None:
        return values, ""
    # Of greys the mean has the least squared error, by which they are judged. Of disparities (studies/candidates.py) halves have
    # the fewest pixels that are off by more than half a pixel, as few as the mode that are off by more than one, and the least
    # mean error but for the median's and the mean's, which are more often off.
    if uncertainty.halves is not None:
        return uncertainty.halves[..., None], "the most frequent value, to half a step"
    return uncertainty.mean, "the posterior mean"
