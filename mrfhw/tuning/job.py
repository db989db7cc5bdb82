"""The job that a machine is chosen for: a field of a known size, how long it is sampled, and what is asked of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mrfhw.applications.denoising.field import denoising_problem, grey_levels
from mrfhw.applications.denoising.scene import denoising_scene
from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.motion.scene import motion_scene
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.applications.stereo.scene import stereo_scene
from mrfhw.cost.traffic import drawn_labels
from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, ProblemError, Run, load_problem
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.fit import check_fits
from mrfhw.placement.needs import needed_parameters
from mrfhw.placement.temperature import coefficient, realized, realized_limits
from mrfhw.twin.draws import conditional, exact_conditional, total_variation

__all__ = ["JOBS", "Job"]

JOBS = ("stereo", "motion", "denoise")
LEAST_SIDE = 16  # of a scene
SITES_MAX = 1 << 20
LABELS = (2, 256)
SWEEPS_MAX = 100_000_000
LOOKED_AT = 48  # sites whose draws are enumerated
SMALL_SIDE = 48  # of the part of a field whose labels are drawn for its log
DRAWN = 240  # sweeps of it, of which half are looked at


@dataclass(frozen=True)
class Job:
    """A field and its run. name: of JOBS, or a file's.

    The data of a built-in scene have the width of the board's own machine, and weights no larger than it takes, so that the job is
    one that it may do.
    """

    name: str
    problem: Problem
    run: Run

    @classmethod
    def of(cls, name: str, shape: tuple[int, int] | None, labels: int | None, sweeps: int, estimate: str, like: Config) -> Job:
        """like: the board's own machine. Raises ProblemError in one line."""
        if not 1 <= sweeps <= SWEEPS_MAX:
            raise ProblemError(f"sweeps is {sweeps}; a run has 1 to {SWEEPS_MAX}: give a number between them")
        run = Run(sweeps=sweeps, burn_in=sweeps // 2, estimate=estimate)
        if name not in JOBS:
            if not name.endswith(".npz"):
                raise ProblemError(f"job is {name!r}; it is {', '.join(JOBS)} or a file of a field that ends in .npz: give one of "
                                   "them")
            problem = load_problem(Path(name))[0]
            for what, given, own in (("sites", shape, problem.shape), ("labels", labels, problem.labels)):
                if given is not None and given != own:
                    said = ("x".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in (given, own))
                    raise ProblemError(f"{what} is {next(said)}; the field of {name} has {next(said)}: leave it out")
            return cls(name, problem, run)
        if shape is None or labels is None:
            raise ProblemError(f"job is {name}; a scene has a size and labels: give --sites ROWSxCOLS and --labels L")
        if min(shape) < 2 or shape[0] * shape[1] > SITES_MAX:
            raise ProblemError(f"sites is {shape[0]}x{shape[1]}; a field has 2 rows and columns at least and {SITES_MAX} sites at "
                               "most: give such a size")
        if not LABELS[0] <= labels <= LABELS[1]:
            raise ProblemError(f"labels is {labels}; machines take {LABELS[0]} to {LABELS[1]}: give a number between them")
        return cls(name, _narrowed(_scene(name, shape, labels, Derived.of(like)), Derived.of(like)), run)

    @property
    def said(self) -> str:
        run, (rows, cols) = self.run, self.problem.shape
        return f"{self.name} of {rows}x{cols} sites and {self.problem.labels} labels, {run.sweeps} sweeps for the {run.estimate}"

    @cached_property
    def part(self) -> Problem:
        """A part of the field whose labels are drawn as often as those of the whole, about."""
        rows, cols = (min(side, SMALL_SIDE) for side in self.problem.shape)
        cut = (slice(0, rows), slice(0, cols))
        p = self.problem
        changed = {name: value[cut] for name in ("singleton1", "unary", "edges", "observed", "clamped", "shown")
                   if (value := getattr(p, name)) is not None}
        return replace(p, **changed)

    @cached_property
    def labels(self) -> np.ndarray:
        """(n, sites) of `part`, as `mrfhw.cost.traffic.messages` takes them, drawn by a machine of wide words."""
        wide = Config(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=SMALL_SIDE, tile_cols=SMALL_SIDE, energy_bits=16,
                      s2_words=1 << 14)
        return drawn_labels(wide.changed(**needed_parameters(self.part, wide)), self.part, DRAWN)

    @property
    def share(self) -> float:
        """Sites of the field for each of `part`."""
        return self.problem.sites / self.part.sites

    @cached_property
    def energies(self) -> np.ndarray:
        """(LOOKED_AT, labels) int64, energies of sites of `part` as its last labels leave them."""
        state = self.labels[-1].reshape(1, *self.part.shape)
        places = np.random.default_rng(0).choice(self.part.sites, min(LOOKED_AT, self.part.sites), replace=False)
        energy = Energy(self.part)
        return np.array([energy.of_site(state, *divmod(int(place), self.part.shape[1]))[0] for place in places])

    def deviation(self, config: Config) -> float:
        """The largest total variation between a draw of the machine and the exact one, over `energies`, by enumeration."""
        start, shift = self.problem.schedule.start, self.problem.energy_shift
        value = coefficient(config, start, shift)
        true = exact_conditional(self.energies, realized(config, value, shift))
        return max(total_variation(conditional(config, self.problem, own, value), exact)
                   for own, exact in zip(self.energies, true, strict=True))


def _scene(name: str, shape: tuple[int, int], labels: int, like: Derived) -> Problem:
    rows, cols = shape
    bits = min(8, like.data_bits)

    def cut(image: np.ndarray) -> np.ndarray:
        return image[:rows, :cols] >> (8 - bits)

    if name == "stereo":
        scene = stereo_scene(max(LEAST_SIDE, rows), max(LEAST_SIDE, cols, 4 * min(labels, 64) + 4), min(64, max(4, labels)))
        return stereo_problem(cut(scene.left), cut(scene.right), labels=labels)
    if name == "motion":
        side = max(n for n in range(1, math.isqrt(labels) + 1) if labels % n == 0)
        moving = motion_scene(max(LEAST_SIDE, rows), max(LEAST_SIDE, cols))
        return motion_problem(cut(moving.first), cut(moving.second), rows=side, cols=labels // side)
    noisy = denoising_scene(max(LEAST_SIDE, rows), max(LEAST_SIDE, cols)).noisy
    return denoising_problem(cut(noisy), grey_levels(labels, bits))


def _narrowed(problem: Problem, like: Derived) -> Problem:
    """With weights and a temperature that the machine takes."""
    coldest, hottest = realized_limits(like, problem.energy_shift)
    schedule = replace(problem.schedule, start=min(max(problem.schedule.start, coldest), hottest))
    problem = replace(
        problem, singleton=problem.singleton if problem.singleton in like.singletons else like.singletons[0],
        alpha=min(problem.channels[0].alpha, like.weight_max), beta=min(problem.beta, like.weight_max),
        out_of_range=min(problem.out_of_range, (1 << like.singleton_bits) - 1), schedule=schedule)
    return problem if like.doubletons == "table" or problem.tau is None else replace(
        problem, tau=min(problem.tau, like.doubleton_max))


def takes(config: Config, problem: Problem) -> str | None:
    """Why a machine's words do not hold a field, in one line; None where they do."""
    try:
        check_fits(config, problem)
    except ProblemError as error:
        return str(error)
    return None
