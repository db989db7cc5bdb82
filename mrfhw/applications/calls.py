"""One call for each application, and one for any field."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

from mrfhw.applications.answer import Answer, Denoised, Disparity, Motion, Segmentation
from mrfhw.applications.denoising import job as denoise_job
from mrfhw.applications.field import job as problem_job
from mrfhw.applications.motion import job as motion_job
from mrfhw.applications.segmentation import job as segment_job
from mrfhw.applications.session import (
    BESIDE,
    EVERY,
    Machine,
    backend_of,
    check_callback,
    counted,
    counted_or_none,
    machine_options,
    sampled,
)
from mrfhw.applications.stereo import job as stereo_job
from mrfhw.applications.task import Task
from mrfhw.backends.plan import check_useful
from mrfhw.field.given import NUMBER_MAX, short, whole_number
from mrfhw.field.problem import SEEDS, Problem
from mrfhw.machine.manifest import AUTO
from mrfhw.pictures.images import is_path
from mrfhw.runs.first import prepared
from mrfhw.runs.stepwise import Callback
from mrfhw.system.errors import ProblemError

__all__ = ["denoise", "motion", "segment", "solve", "stereo"]

BESIDE_ALL = (*BESIDE, "callback", "every")  # what every call takes beside the options of its application
# Options that are text on the command line, and may be numbers here.
_SEPARATORS = {"window": ",", "vectors": "x", "centre": ",", "means": ",", "cooling": ",", "cooling_table": ","}


def _checked(name: str, value: Any, kind: type | None) -> Any:
    """A value of an option as its job takes it, which the command line has from its parser. Raises ProblemError."""
    if kind is int or name == "spes":
        return whole_number(name, value, -NUMBER_MAX, SEEDS - 1, "give one", "it must be a whole number of at most 64 bits")
    if kind is float and (isinstance(value, bool) or not isinstance(value, (int, float, np.number))):
        raise ProblemError(f"{name} is {short(repr(value))}; it is a number: give one")
    if kind is bool and not isinstance(value, (bool, np.bool_)):
        raise ProblemError(f"{name} is {short(repr(value))}; it is True or False: give one of them")
    if name == "mesh":
        return _mesh(value)
    if name in _SEPARATORS and not isinstance(value, str):
        values = list(value) if isinstance(value, (tuple, list, np.ndarray)) else [value]
        return _SEPARATORS[name].join(str(int(one) if isinstance(one, (float, np.floating)) and float(one).is_integer() else one)
                                      for one in values)
    return value


def _mesh(value: Any) -> tuple[int, int]:
    parts = value.lower().split("x") if isinstance(value, str) else value
    if not isinstance(parts, (tuple, list)) or len(parts) != 2 or not all(str(part).isdecimal() for part in parts):
        raise ProblemError(f"mesh is {short(repr(value))}; it is rows and columns: give such as (4, 4)")
    return int(parts[0]), int(parts[1])


def _answer(kind: type[Answer], task: Task, arguments: dict[str, Any], options: dict[str, Any], *, machine: Machine, backend: str,
            chains: int | None, visit: int | None, callback: Callback | None, every: int) -> Any:
    """The answer of an application. What is None among arguments and options, an option's default or not, is not given."""
    chains, visit, every = counted_or_none("chains", chains), counted_or_none("visit", visit), counted("every", every)
    check_callback(callback)
    given = {name: _checked(name, value, task.types.get(name)) for name, value in {**arguments, **options}.items()
             if value is not None}
    backend = backend_of(backend, machine, visit, given)
    notes = check_useful(backend, given, visit)
    job = prepared(backend, task.job_of(given | machine_options(machine, backend, options), backend, BESIDE_ALL), visit)
    job = dataclasses.replace(job, notes=(*job.notes, *notes))
    return sampled(job, backend, chains, visit, callback, every, kind)


def _several(given: Any) -> tuple[Any, ...]:
    """One truth or several as several."""
    if given is None:
        return ()
    if is_path(given) or hasattr(given, "mode") or _is_map(given):
        return (np.asarray(given) if hasattr(given, "mode") else given,)
    try:
        return tuple(given)
    except TypeError:
        raise ProblemError(f"truth is {short(repr(given))}; it is a picture, the path of one, or several of these: give "
                           "one") from None


def _is_map(given: Any) -> bool:
    """Whether it has rows and columns, and no more."""
    try:
        return np.ndim(given) == 2
    except ValueError:  # maps of unlike size, or a path beside an array
        return False


def stereo(left: Any, right: Any, *, labels: int | None = None, min_disparity: int | None = None, sweeps: int | None = None,
           seed: int = 0, chains: int | None = None, machine: Machine = None, backend: str = AUTO, visit: int | None = None,
           truth: Any = None, callback: Callback | None = None, every: int = EVERY, **options: Any) -> Disparity:
    """Match a rectified pair: a disparity for each pixel of the left picture, and how sure it is.

        answer = mrfhw.stereo(cv2.imread("left.png"), cv2.imread("right.png"))
        answer.disparity, answer.std, answer.occluded, answer.converged

    left, right: (H, W) or (H, W, 3) arrays of uint8, uint16 or floats (0 to 1 or 0 to 255), Pillow images, or paths of files. The
        order of colours does not matter much: they become grey.
    labels: disparities told apart, 2 to 256, from min_disparity on, in pixels; by default found from the pictures, and with labels
        alone from 0.
    sweeps: of each chain, half of them burn-in; None for the default, from which chains that do not agree go on to as many as
        `mrfhw.applications.options.MORE` times it (or option most_sweeps, which also holds for sweeps that are given).
    seed: of all random numbers: the same arguments give the same bits. The first chain has it, the next one seed + 1 and so on, so
        that runs to be compared need seeds at least `chains` apart.
    chains: independent ones, two by default.
    machine: a Config, the path of a manifest.json, or the name of a preset; by default one that this field needs.
    backend: "cpu" (the processor, fastest), "model" (a machine's bits), "float", "rtl" (the compiled Verilog) or the address of a
        board; "auto" is "model" where anything of a machine is given, and "cpu" otherwise.
    visit: sweeps of a window at a time, where the picture is larger than the machine.
    truth: (H, W) true disparities, 0, masked or not finite where unknown, or a path; then answer.metrics has the quality.
    callback: called with a `Look` after each `every` sweeps of a chain, with its labels, energy and the R-hat so far; anything true
        that it returns ends the run, and the answer is what there is.
    options: any other of `mrfhw run stereo`, with _ for -, such as window=(x, y, width, height), temperature=1.9, beta=1, tau=3,
        anneal=True, one_way=True, data="grey", stretch=True, depth=12, spes=4. See docs/applications.md.
    Raises ProblemError or ConfigError, in one line, for what cannot be.
    """
    given = dict(left=left, right=right, labels=labels, min_disparity=min_disparity, sweeps=sweeps, seed=seed, truth=truth)
    answer: Disparity = _answer(Disparity, stereo_job.TASK, given, options, machine=machine, backend=backend,
                                chains=chains, visit=visit, callback=callback, every=every)
    return answer


def motion(first: Any, second: Any, *, vectors: tuple[int, int] | None = None, centre: tuple[int, int] | None = None,
           sweeps: int | None = None, seed: int = 0, chains: int | None = None, machine: Machine = None, backend: str = AUTO,
           visit: int | None = None, truth: Any = None, callback: Callback | None = None, every: int = EVERY,
           **options: Any) -> Motion:
    """Follow one frame into the next: a motion for each pixel of the first, and how sure it is.

        answer = mrfhw.motion(frame0, frame1)
        answer.flow                             # (H, W, 2), along columns and along rows, as OpenCV has it
        answer.std, answer.occluded, answer.converged

    first, second: pictures, as of `mrfhw.stereo`.
    vectors: (rows, columns) of the window of motions that are told apart, 256 together at most; by default found from the frames.
    centre: the motion in the middle of them, (row, column) in pixels; by default found from the frames.
    truth: (H, W, 2) in the order of OpenCV, not finite where unknown, or the path of a .flo file.
    The other arguments are those of `mrfhw.stereo`.
    """
    given = dict(first=first, second=second, sweeps=sweeps, seed=seed, truth=truth)
    options = {"vectors": vectors, "centre": centre, **options}
    answer: Motion = _answer(Motion, motion_job.TASK, given, options, machine=machine, backend=backend,
                             chains=chains, visit=visit, callback=callback, every=every)
    return answer


def segment(image: Any, *, classes: int | None = None, sweeps: int | None = None, seed: int = 0, chains: int | None = None,
            machine: Machine = None, backend: str = AUTO, visit: int | None = None, truth: Any = None,
            callback: Callback | None = None, every: int = EVERY, **options: Any) -> Segmentation:
    """Divide a picture into classes of grey or colour: one for each pixel, and how sure it is.

    image: a picture, as of `mrfhw.stereo`.
    classes: 2 to 256, found by k-means; three by default.
    means: their greys of 0 to 255, such as (50, 100, 200), in their place.
    truth: (H, W) numbers of segments, 0 where unknown, or a path, or a list of them.
    The other arguments are those of `mrfhw.stereo`.
    """
    given = dict(image=image, classes=classes, sweeps=sweeps, seed=seed, truth=_several(truth))
    answer: Segmentation = _answer(Segmentation, segment_job.TASK, given, options, machine=machine, backend=backend,
                                   chains=chains, visit=visit, callback=callback, every=every)
    return answer


def denoise(image: Any, *, mask: Any = None, noise: float | None = None, levels: int = 64, sweeps: int | None = None, seed: int = 0,
            chains: int | None = None, machine: Machine = None, backend: str = AUTO, visit: int | None = None, truth: Any = None,
            callback: Callback | None = None, every: int = EVERY, **options: Any) -> Denoised:
    """Free a picture of noise and fill what a mask hides: a grey for each pixel, and how sure it is.

        answer = mrfhw.denoise(picture, mask=~scratches)
        answer.image                            # of the picture's size, type and colours

    image: a picture, as of `mrfhw.stereo`.
    mask: (H, W), 0 where the picture says nothing and is to be filled.
    noise: standard deviation, in grey of 0 to 255; by default estimated.
    levels: grey levels told apart, 2 to 256.
    truth: the clean picture.
    The other arguments are those of `mrfhw.stereo`.
    """
    given = dict(image=image, mask=mask, noise=noise, levels=levels, sweeps=sweeps, seed=seed, truth=truth)
    answer: Denoised = _answer(Denoised, denoise_job.TASK, given, options, machine=machine, backend=backend,
                               chains=chains, visit=visit, callback=callback, every=every)
    return answer


def solve(problem: Problem | str | os.PathLike[str], *, sweeps: int | None = None, burn_in: int | None = None,
          seed: int | None = None, chains: int | None = None, initial: str | np.ndarray | None = None, machine: Machine = None,
          backend: str = AUTO, visit: int | None = None, callback: Callback | None = None, every: int = EVERY,
          **options: Any) -> Answer:
    """Sample any first-order field on a grid with up to 256 labels.

        problem = mrfhw.Problem(labels=3, unary=costs, doubleton="potts", beta=8, schedule=mrfhw.Schedule.constant(10.0))
        answer = mrfhw.solve(problem, sweeps=500)
        answer.labels, answer.counts, answer.entropy

    problem: a Problem, or the path of a saved one.
    sweeps: of each chain; by default the file's, or 500, from which chains that do not agree go on as in `mrfhw.stereo`.
    burn_in: sweeps that do not count; by default half of `sweeps`, or else the file's.
    seed: of the first chain, the next one has seed + 1; give runs that are to be compared seeds at least `chains` apart. By default
        the file's.
    initial: labels to start from, "random", "minimum" or (H, W) whole numbers; by default the file's.
    options: single parameters of the machine, such as spes=4, sampler="cdf".
    The other arguments are those of `mrfhw.stereo`.
    """
    given = dict(file=problem, sweeps=sweeps, burn_in=burn_in, seed=seed, initial=initial)
    answer: Answer = _answer(Answer, problem_job.TASK, given, options, machine=machine, backend=backend,
                             chains=chains, visit=visit, callback=callback, every=every)
    return answer
