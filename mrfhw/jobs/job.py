"""What the command line, the runtime and the reports know of an application: a problem and how its labels are read."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.jobs.application import Application
from mrfhw.jobs.fields import Fields
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.machine.config import Config
from mrfhw.pictures.restored import Restoring
from mrfhw.placement.temperature import coefficients
from mrfhw.samplers.gpu.device import Device

__all__ = ["START_FOUND", "Between", "Cooling", "Finer", "First", "Job", "Measured", "Shared", "Truth", "energy_settings"]

START_FOUND = "labels found from the pictures"  # of `Run.initial`, in a report


def energy_settings(problem: Problem) -> dict[str, Any]:
    """The whole energy of a field and its temperatures, for the report."""
    named = ("singleton", "singleton_max", "alpha", "out_of_range", "doubleton", "beta", "tau", "energy_shift")
    return {**{name: getattr(problem, name) for name in named},
            "edge_weights": None if problem.edges is None else np.unique(problem.edges).tolist(),
            "schedule": dataclasses.asdict(problem.schedule)}


@dataclass(frozen=True)
class Cooling:
    """Where annealing begins and ends by default, as multiples of the temperature that sampling holds."""

    first: float
    last: float


class Truth(Protocol):
    """The true answer of a problem, where it is known."""

    error_name: str  # of the error map, with its unit
    wrong_above: float  # an error above this is a wrong pixel
    wrong: str  # what a wrong pixel is, in words with the unit
    title: str  # of `picture`
    note: str  # a sentence on what `picture` shows of the truth; "" where it is the truth itself
    picture: np.ndarray  # (H, W, D) float64 as LabelScale.values, NaN where unknown; what is shown beside the estimate

    def metrics(self, labels: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None = None) -> dict[str, float | None]:
        """Quality by name, such as {"bad_1": percent}; None where nothing is known.

        labels: (H, W), the estimate: uint8, or float64 of a mean, between labels. mean: (H, W, D) float64, the posterior
        mean in values, or None. finer: (H, W, D), an estimate between values: `Uncertainty.median` or `Job.finer`'s, or None.
        """

    def error(self, labels: np.ndarray) -> np.ndarray:
        """Each pixel's error, float64 (H, W), NaN where the truth is unknown. labels: as of `metrics`."""


@runtime_checkable
class Measured(Protocol):
    """A truth that also judges answers between labels, by which the quality of a run is then told."""

    def quality(self, values: np.ndarray) -> dict[str, float | None]:
        """Those of the measures of `Truth.metrics` that judge the answer itself. values: (H, W, D) float64, as
        LabelScale.values."""


@dataclass(frozen=True)
class Between:
    """Values between those of labels. values: (H, W, D) float64. interval: (H, W, D, 2), or None where none of samples is given.
    inner: (H, W, D, 2), of level `mrfhw.analysis.uncertainty.INNER`, or None where there is none."""

    values: np.ndarray
    interval: np.ndarray | None
    inner: np.ndarray | None = None


class Finer(Protocol):
    """From what was sampled to values between those of labels.

    name: what they are, in words, such as "the motion between pixels".
    """

    name: ClassVar[str]

    def __call__(self, values: np.ndarray, start: np.ndarray, interval: np.ndarray | None, /) -> Between:
        """values: (H, W, D), the estimate. start: (H, W, D), where to begin: the mean of the samples, or the estimate again.
        interval: (H, W, D, 2), of the samples, or None."""


class Shared(Protocol):
    """That pixels which look alike share what their samples say, and where between labels of one component a value is then.

    name: what the answer is, in words. within: as far as the answer's confidence reaches, in the units of values.
    """

    name: ClassVar[str]

    @property
    def within(self) -> float: ...

    @property
    def guide(self) -> np.ndarray:
        """(H, W) float64, greys of 0..255 by which pixels are alike."""

    @property
    def device(self) -> Device | None:
        """What works it out; None for the processor."""

    def fitted(self, mode: np.ndarray, near: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
        """Values (H, W) float64, and their standard deviations. mode: (H, W), the most frequent value. near: (H, W), the mean of
        those within a step of it."""


@dataclass(frozen=True)
class First:
    """What is sampled before a job's own field, whose data or first labels follow from it.

    runs: problems and their runs, solved one after the other by the job's backend; there may be none.
    then: their results to what they change of the job, by the names of its fields.
    unconfirmed: of matching both ways, the share of the pixels that the other picture does not confirm, by what is known before.
    """

    runs: tuple[tuple[Problem, Run], ...]
    then: Callable[[list[Result]], dict[str, Any]]
    unconfirmed: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """A checked problem with all that is needed to solve, draw and judge it.

    application: whose job it is.
    config: the machine that the field was made for; None where software is to solve it and nothing was said of a machine.
    inputs: pictures by caption, uint8 (H, W) or (H, W, 3).
    annealing: the chain is cooled over the whole run.
    most_sweeps: how many a chain has at most where chains go on until they agree (`mrfhw.runs.longer`); 0 where they do not.
    settings: every option, for the report.
    sources: the files that it was made of.
    first: what must be sampled before; `prior` has its results afterwards, without histograms and sums.
    maps: further answers about the pixels by the name of their files, such as "occluded": bool (H, W) or whole numbers.
    doubt: (H, W) float64, the probability that a pixel has any label, not one that its field speaks for; None for 0.
    ends: labels at the ends of a range of values that may be too small, and what to give then, "" where it is not; None for others.
    drawn_from: further maps made of the estimate, (H, W) uint8.
    notes: what is to be said of the inputs, one line each.
    doubts: what of the inputs makes any answer doubtful, one line each; to be said before anything is sampled, and afterwards.
    warnings: those of the notes that are to be said before anything is sampled.
    labels_found: which labels were found from the inputs, in words; "" where they were given.
    restoring: of denoising, from its answer to the picture in its own type and depth.
    finer: to values between those of labels.
    shared: what pixels share before numbers are made of their histograms; None where each has its own alone.
    own: what the application's answer and files need besides, of the application's own class.
    fields: several that are sampled one after the other in place of `problem`, which is the first of them; None for it alone.
    """

    application: Application
    config: Config | None
    problem: Problem
    run: Run
    inputs: dict[str, np.ndarray]
    scale: LabelScale
    truth: Truth | None = None
    annealing: bool = False
    most_sweeps: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()
    first: First | None = None
    prior: tuple[Result, ...] = ()
    maps: dict[str, np.ndarray] = field(default_factory=dict)
    doubt: np.ndarray | None = None
    ends: tuple[np.ndarray, str] | None = None
    drawn_from: Callable[[np.ndarray], dict[str, np.ndarray]] | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    labels_found: str = ""
    restoring: Restoring | None = None
    finer: Finer | None = None
    shared: Shared | None = None
    own: Any = None
    fields: Fields | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All fields that are sampled, one after the other."""
        return (self.problem,) if self.fields is None else self.fields.problems

    @property
    def chains(self) -> int:
        """How many chains are run by default."""
        return 1 if self.annealing or self.run.estimate == "last" else 2

    def __post_init__(self) -> None:
        scale = self.scale
        if self.run.estimate == "mean" and scale.kind in ("classes", "flow"):
            what = ("a label is a place in the window of motions, and a mean of places is no motion" if scale.ordered
                    else "labels are classes, not numbers, and have no mean")
            raise ProblemError(f"estimate is mean; of {self.application.verb} {what}: give mode or last")
        note = "the truth has no known pixel here: nothing is compared with it"
        if self.truth is not None and not np.isfinite(self.truth.picture).any() and note not in self.notes:
            object.__setattr__(self, "notes", (*self.notes, note))

    def of_run(self, run: Run) -> Job:
        """The job with the run that was done, where that differs in its length from the one that was asked for."""
        settings, notes = {**self.settings, "sweeps": run.sweeps, "burn_in": run.burn_in}, self.notes
        if run.burn_in >= self.run.sweeps:
            settings["sweeps_too_few"] = self.run.sweeps
            notes = (*notes, f"{self.run.sweeps} sweeps were too few, by R-hat: the run went on to {run.sweeps}, of "
                     f"which {run.burn_in} are burn-in")
        return dataclasses.replace(self, run=run, notes=notes, settings=settings)

    @property
    def machine(self) -> Config:
        """`config` of a job that a machine, or the model of one, is to solve."""
        assert self.config is not None, "a field that was made without a machine"
        return self.config

    def _temperatures(self) -> Iterator[float]:
        """Of sweep 0, 1, 2, ... without end, or what a machine holds of them."""
        return self.problem.schedule.temperatures() if self.config is None else coefficients(self.config, self.problem)

    @property
    def cooled(self) -> bool:
        """Whether the temperature changes while labels are counted, so that their frequencies are no probabilities."""
        if self.annealing:
            return True
        counted = itertools.islice(self._temperatures(), self.run.burn_in, self.run.sweeps)
        return len(set(counted)) > 1
