"""What a run gives, as arrays."""

from __future__ import annotations

import base64
import html
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis, analyse, labels_of
from mrfhw.analysis.convergence import converged
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.uncertainty import Uncertainty
from mrfhw.jobs.job import Job
from mrfhw.report.numbers import plain, report
from mrfhw.runs.runner import Solved
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import output_path

__all__ = ["Answer", "Measured", "answer_of"]


class Answer:
    """The answer of a run: a label for each site, and how sure it is. H x W sites, L labels of D components.

    labels: (H, W) uint8, the estimate: the most frequent label; with estimate="mean" the label that is nearest to the mean; with
        estimate="last", or where the run annealed without another estimate, the last sample. Where the estimate needs no histogram
        there is none: counts, entropy, std and interval raise ProblemError in one line, and so does mean with estimate="last".
    entropy: (H, W) float64, bits; 0 where a site never moved.
    values: (L, D) float64, what the labels stand for; of `solve` their numbers.
    std: (H, W) float64, the standard deviation, in the units of values; None of classes.
    mean: (H, W, D) float64, the posterior mean; None of classes.
    median: (H, W) float64, the interpolated median, between values in even, rising steps; None of others and of classes.
    interval: (H, W, 2) float64, or (H, W, 2, 2) of motions with the components first: the lower and the upper end of the 90 %
        credible interval, of disparities between labels; None of classes. Of motions it lies around the flow
        (`mrfhw.applications.motion.finer.FinerMotion`).
    converged: whether the chains agree: their energies have an R-hat below 1.05, and of the watched sites at most a tenth have not
        mixed (`mrfhw.analysis.mixing`); None where it cannot be told, as of few looks.
    rhat: R-hat of the energies, or None. It takes a second, when it is asked for first.
    not_mixed: share of the watched sites at whose labels the chains do not agree; None where it cannot be told.
    warnings: what makes the answer doubtful, one line each.
    notes: what is to be said of the inputs.
    metrics: the quality by name, where truth was given.
    stopped: whether a callback ended the run early.
    problem: the field that was sampled, for `mrfhw.Session` or `Problem.save`; of several the first.
    problems: all of them.
    report: all numbers, as report.json has them.
    """

    def __init__(self, job: Job, solution: Solution):
        self._job, self._solution, self.stopped = job, solution, solution.asked is not None
        self.problem, self.problems, self.machine, self.notes = job.problem, job.problems, job.config, job.notes
        self.values = job.scale.values

    @cached_property
    def _analysis(self) -> Analysis:
        return analyse(self._job, self._solution)

    @cached_property
    def report(self) -> dict[str, Any]:
        return dict(plain(report(self._job, self._solution, self._analysis)))

    @cached_property
    def labels(self) -> np.ndarray:
        found = labels_of(self._job, self._solution)
        return self._analysis.labels if found is None else found

    @property
    def counts(self) -> np.ndarray:
        """(H, W, L) uint32: how often each label was drawn after the burn-in, all chains added."""
        found = self._solution.all_counts
        if found is None:
            raise self._missing("counts")
        return found

    @property
    def sums(self) -> np.ndarray:
        """(H, W, 2) int64, of estimate="mean": the sum of the labels drawn after the burn-in, and their number, all chains added;
        0 at clamped sites."""
        found = self._solution.all_sums
        if found is None:
            raise self._missing("sums", "mean")
        return found

    def _missing(self, name: str, wanted: str = "mode") -> ProblemError:
        return ProblemError(f"{name} of a run whose estimate is {self._job.run.estimate}: only a run whose estimate is {wanted} "
                            f"keeps what it is made of: give estimate={wanted}")

    def _uncertainty(self, name: str) -> Uncertainty:
        found = self._analysis.uncertainty
        if found is None:
            raise self._missing(name)
        return found

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8: the last sample of the first chain."""
        return self._solution.all_last

    @property
    def entropy(self) -> np.ndarray:
        return self._uncertainty("entropy").entropy

    @property
    def std(self) -> np.ndarray | None:
        return self._uncertainty("std").std

    @property
    def mean(self) -> np.ndarray | None:
        return self._analysis.mean if self._analysis.mean is not None else self._uncertainty("mean").mean

    @property
    def median(self) -> np.ndarray | None:
        return self._uncertainty("median").median

    @property
    def interval(self) -> np.ndarray | None:
        found = self._uncertainty("interval").interval
        return found[:, :, 0] if found is not None and found.shape[2] == 1 else found

    @property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) int64, numbers of finished sweeps, and (chains, n) float64, the energy of each chain's labels after them.

        alpha E_singleton of sites and beta E_doubleton of edges, of several fields those of the first. Those of the
        burn-in, too; none where labels are not seen between sweeps.
        """
        trace = self._solution.trace
        if trace is None:
            return np.empty(0, np.int64), np.empty((len(self._solution.results), 0))
        return trace.sweeps, trace.energy

    @property
    def rhat(self) -> float | None:
        found = self._analysis.convergence
        return None if found is None or found["energy"] is None else found["energy"]["rhat"]

    @property
    def converged(self) -> bool | None:
        return converged(self._analysis.convergence)

    @property
    def not_mixed(self) -> float | None:
        found = self._analysis.convergence
        return None if found is None or found["sites"] is None else found["sites"]["not_mixed"]

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self.report["warnings"])

    @property
    def metrics(self) -> dict[str, float | None]:
        return self._analysis.metrics

    def save(self, folder: str | os.PathLike[str], *, report: bool = True) -> list[Path]:
        """Write the files of `mrfhw run` into a folder, all or none; the paths.

        report: with figures and report.html.

        Raises ProblemError in one line for what is no folder, or none that may be written, and OSError where the disk is full.
        """
        from mrfhw.report.outputs import write_outputs

        with output_path("folder", folder, "a folder") as where:
            written = write_outputs(where, self._job, self._solution, page=report, analysis=self._analysis)
        return [where / name for name in written["files"]]

    @property
    def parts(self) -> tuple[Job, Analysis]:
        """What drawings are made of."""
        return self._job, self._analysis

    def picture(self) -> bytes:
        """The estimate as a PNG file, with a legend of its colours."""
        from mrfhw.report import pictures

        scale = self._job.scale
        return pictures.labelled({f"{self._job.application.verb}: estimate": self._analysis.answer}, scale)

    def _facts(self) -> dict[str, str]:
        rows, cols = self.labels.shape[:2]
        uncertainty = self._analysis.uncertainty
        facts = {"sites": f"{cols}x{rows}", "labels": str(len(self.values)),
                 "sweeps": f"{self.report['sweeps']} in each of {len(self._solution.results)} chains"}
        found = {} if uncertainty is None else uncertainty.summary()
        if found.get("mean_entropy") is not None:
            facts["mean entropy"] = f"{found['mean_entropy']:.3g} bits"
        if found.get("mean_std") is not None:
            facts["mean standard deviation"] = f"{found['mean_std']:.3g}, {self._job.scale.name}"
        if self.rhat is not None:
            facts["R-hat of the energy"] = f"{self.rhat:.3f}"
        if self.not_mixed is not None:
            facts["sites that have not mixed"] = f"{100 * self.not_mixed:.3g} %"
        return facts | {f"warning {number}": line for number, line in enumerate(self.warnings, 1)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(f'{name} {value}' for name, value in self._facts().items())}>"

    def _repr_html_(self) -> str:
        """The estimate and its numbers, for a notebook."""
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                       for name, value in self._facts().items())
        data = base64.b64encode(self.picture()).decode("ascii")
        return f"<div><img alt='estimate' style='max-width:40rem' src='data:image/png;base64,{data}'><table>{rows}</table></div>"


class Measured(Answer):
    """An answer whose labels are numbers, so that std, mean and interval are there; see Answer."""

    @property
    def std(self) -> np.ndarray:
        return _there(super().std)

    @property
    def mean(self) -> np.ndarray:
        return _there(super().mean)

    @property
    def interval(self) -> np.ndarray:
        return _there(super().interval)


def _there(found: np.ndarray | None) -> np.ndarray:
    assert found is not None
    return found


def answer_of(solved: Solved) -> Answer:
    """The answer of what a request has come to, of its application's class."""
    kind: type[Answer] = solved.job.application.answer or Answer
    return kind(solved.job, solved.solution)
