"""One call for each application, one for any field, and one for any request."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Unpack, overload

import numpy as np

from mrfhw.applications.answer import Answer, answer_of
from mrfhw.applications.denoising.answer import Denoised
from mrfhw.applications.motion.answer import Motion
from mrfhw.applications.motion.frames import frames_of, in_turn
from mrfhw.applications.parcel import enclosing, unpacked
from mrfhw.applications.segmentation.answer import Segmentation
from mrfhw.applications.stereo.answer import Disparity
from mrfhw.applications.typed import DenoiseOptions, MachineOptions, MotionOptions, SegmentOptions, StereoOptions
from mrfhw.backends.registry import AUTO, in_software
from mrfhw.field.costs import MOST, MOST_OF_A_MACHINE, field_of_costs
from mrfhw.field.given import short
from mrfhw.field.problem import Problem
from mrfhw.jobs.registry import application
from mrfhw.pictures.images import is_path
from mrfhw.runs.chains import Callback
from mrfhw.runs.choice import board_of
from mrfhw.runs.request import BESIDE, Machine, Request, counted
from mrfhw.runs.runner import EVERY, Runner
from mrfhw.system.cluster import on_cluster
from mrfhw.system.errors import ProblemError
from mrfhw.system.processors import processors
from mrfhw.system.workers import in_workers

__all__ = ["batch", "denoise", "motion", "run", "segment", "solve", "stereo"]


@overload
def run(request: Request, *, callback: Callback | None = None, every: int = EVERY) -> Answer: ...


@overload
def run(request: Sequence[Request], *, callback: Callback | None = None, every: int = EVERY) -> list[Answer]: ...


def run(request: Request | Sequence[Request], *, callback: Callback | None = None, every: int = EVERY) -> Answer | list[Answer]:
    """The answer of a request, or those of a list of requests, one after the other; on "gpu" several in the same launches.

        answer = mrfhw.run(mrfhw.Request("stereo", left=left, right=right))

    request: what is asked, or several.
    callback, every: as of `mrfhw.stereo`; what it ends is the request under way.
    Raises ProblemError or ConfigError, in one line, for what cannot be.
    """
    with Runner(request, callback=callback, every=every) as runner:
        answers = [answer_of(one) for one in runner.result()]
    return answers[0] if isinstance(request, Request) else answers


def batch(requests: Sequence[Request], *, workers: int | None = None, cluster: str | None = None,
          plan: str | os.PathLike[str] | None = None, boards: Sequence[str] = (),
          machine: Machine = None) -> Iterator[tuple[int, Answer | Exception]]:
    """The answers of many requests as they end, several at a time in processes that stay warm: (place in `requests`, answer).

        for number, answer in mrfhw.batch([mrfhw.Request("stereo", left=left, right=right) for left, right in pairs]):
            answer.save(f"out/{number}") if isinstance(answer, mrfhw.Answer) else print(answer)

    requests: what is asked; each answer has the bits of `mrfhw.run`.
    workers: how many are done at a time, of one thread each; None for one for each processor.
    cluster: the address of a Dask scheduler whose workers do it, tls://HOST:PORT, or tcp://127.0.0.1:PORT of this computer. Files
        go there as bytes, and answers come back whole, with their histograms.
    plan: a file that `mrfhw plan --json` wrote, which is followed in their place: so many pictures at once, sampled by processors
        or on boards; the requests are of its application and for "cpu".
    boards: addresses of the plan's boards; none for those that it has itself.
    machine: of the boards, as a Config or the path of a manifest.json; None where it was generated on this computer.
    What fails is there as the exception that it raised, and the others go on. Raises ProblemError for what is no request, and for a
    cluster, a plan or a board that cannot be had.
    """
    wrong = next((one for one in requests if not isinstance(one, Request)), None)
    if wrong is not None:
        raise ProblemError(f"requests has {short(repr(wrong))}; each is a mrfhw.Request: give these")
    if cluster is not None:
        if workers is not None:
            raise ProblemError(f"workers is {workers}, and a cluster has its own: drop one of the two")
        if plan is not None:
            raise ProblemError(f"plan is {os.fspath(plan)}, and a cluster has its own workers: drop one of the two")
        return on_cluster(_run_unpacked, requests, cluster, packed=enclosing, needs=_board)
    if plan is not None:
        from mrfhw.applications.planned import by_plan

        if workers is not None:
            raise ProblemError(f"workers is {workers}, and a plan has its own: drop one of the two")
        return by_plan(requests, plan, boards, machine)
    number = processors() if workers is None else counted("workers", workers)
    return in_workers(run, requests, min(number, max(1, len(requests))))


def _run_unpacked(request: Request) -> Answer:
    """In a folder of its own."""
    return run(unpacked(request))


def _board(request: Request) -> str | None:
    return board_of(request.backend)


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
           mask: Any = None, truth: Any = None, callback: Callback | None = None, every: int = EVERY,
           **options: Unpack[StereoOptions]) -> Disparity:
    """Match a rectified pair: a disparity for each pixel of the left picture, and how sure it is.

        answer = mrfhw.stereo("left.png", "right.png")
        answer = mrfhw.stereo(cv2.imread("left.png")[..., ::-1], cv2.imread("right.png")[..., ::-1])
        answer.disparity, answer.std, answer.occluded, answer.converged

    left, right: (H, W) or (H, W, 3) arrays of uint8, uint16 or floats (0 to 1 or 0 to 255), Pillow images, or paths of files. The
        colours are red, green and blue, in this order; OpenCV's pictures have blue first, so give them with [..., ::-1].
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
    mask: (H, W), 0 where the left picture says nothing, or a path; by default black borders of both pictures are found, and "none"
        takes all as picture. The answer there is filled in from beside, with wide intervals.
    truth: (H, W) true disparities, 0, masked or not finite where unknown, or a path; then answer.metrics has the quality.
    callback: called with a `Look` after each `every` sweeps of a chain, with its labels, energy and the R-hat so far; anything true
        that it returns ends the run, and the answer is what there is.
    options: any other of `mrfhw run stereo`, with _ for -, such as window=(x, y, width, height), temperature=1.9, beta=1, tau=3,
        anneal=True, one_way=True, data="grey", stretch=True, depth=12, spes=4. See docs/applications.md.
    Raises ProblemError or ConfigError, in one line, for what cannot be.
    """
    given = dict(left=left, right=right, labels=labels, min_disparity=min_disparity, sweeps=sweeps, seed=seed, mask=mask,
                 truth=truth)
    request = Request("stereo", machine=machine, backend=backend, chains=chains, visit=visit, **given, **options)
    answer = run(request, callback=callback, every=every)
    assert isinstance(answer, Disparity)
    return answer


@overload
def motion(first: Any, second: Any, *, vectors: tuple[int, int] | None = None, centre: tuple[int, int] | None = None,
           sweeps: int | None = None, seed: int = 0, chains: int | None = None, machine: Machine = None, backend: str = AUTO,
           visit: int | None = None, mask: Any = None, truth: Any = None, callback: Callback | None = None, every: int = EVERY,
           **options: Unpack[MotionOptions]) -> Motion: ...


@overload
def motion(first: Sequence[Any], second: None = None, *, vectors: tuple[int, int] | None = None,
           centre: tuple[int, int] | None = None, sweeps: int | None = None, seed: int = 0, chains: int | None = None,
           machine: Machine = None, backend: str = AUTO, visit: int | None = None, mask: Any = None,
           truth: Sequence[Any] | None = None, callback: Callback | None = None, every: int = EVERY,
           **options: Unpack[MotionOptions]) -> list[Motion]: ...


def motion(first: Any, second: Any = None, *, vectors: tuple[int, int] | None = None, centre: tuple[int, int] | None = None,
           sweeps: int | None = None, seed: int = 0, chains: int | None = None, machine: Machine = None, backend: str = AUTO,
           visit: int | None = None, mask: Any = None, truth: Any = None, callback: Callback | None = None, every: int = EVERY,
           **options: Unpack[MotionOptions]) -> Motion | list[Motion]:
    """Follow one frame into the next: a motion for each pixel of the first, and how sure it is.

        answer = mrfhw.motion(frame0, frame1)
        answer.flow                             # (H, W, 2), along columns and along rows, as OpenCV has it
        answer.std, answer.occluded, answer.converged
        for answer in mrfhw.motion([frame0, frame1, frame2]):   # of each frame to the next
            answer.flow

    first, second: pictures, as of `mrfhw.stereo`. Or first alone, a list of frames: the answers of each to the next, with one
        window of motions. A frame starts from what its own pictures say, and where the next one hides it from the motions before.
    vectors: (rows, columns) of the window of motions that are told apart, 256 together at most; by default found from the frames.
    centre: the motion in the middle of them, (row, column) in pixels; by default found from the frames.
    mask: (H, W), 0 where the first frame says nothing; as of `mrfhw.stereo`.
    truth: (H, W, 2) in the order of OpenCV, not finite where unknown, or the path of a .flo file; of a list of frames one of these,
        or None, for each but the last.
    The other arguments are those of `mrfhw.stereo`.
    """
    frames = frames_of(first) if second is None else [first, second]
    truths = [truth] if second is not None or truth is None else list(truth)
    if second is None and truth is not None and len(truths) != len(frames) - 1:
        raise ProblemError(f"truth has {len(truths)} motions, and {len(frames)} frames have {len(frames) - 1}: give one for each "
                           "frame but the last, None where it is not known")
    given = dict(vectors=vectors, centre=centre, sweeps=sweeps, seed=seed, mask=mask)
    asked = [Request("motion", machine=machine, backend=backend, chains=chains, visit=visit, first=one, second=other,
                     truth=truths[number % len(truths)], **given, **options)
             for number, (one, other) in enumerate(itertools.pairwise(frames))]
    if second is None:
        return [answer for answer in in_turn(asked, callback, every) if isinstance(answer, Motion)]
    answer = run(asked[0], callback=callback, every=every)
    assert isinstance(answer, Motion)
    return answer


def segment(image: Any, *, scribbles: Any = None, classes: int | None = None, sweeps: int | None = None, seed: int = 0,
            chains: int | None = None, machine: Machine = None, backend: str = AUTO, visit: int | None = None, truth: Any = None,
            callback: Callback | None = None, every: int = EVERY, **options: Unpack[SegmentOptions]) -> Segmentation:
    """Divide a picture by strokes that are drawn into it: a label for each pixel, and how sure it is.

        scribbles = np.zeros(picture.shape[:2], np.uint8)
        scribbles[40:43, 10:90], scribbles[200:203, 50:80] = 1, 2     # what is label 0, and what is label 1
        answer = mrfhw.segment(picture, scribbles=scribbles)
        answer.labels, answer.entropy, answer.converged

    Without strokes the labels are classes of grey or colour, found by k-means, which say nothing of objects: a demonstration.

    image: a picture, as of `mrfhw.stereo`.
    scribbles: (H, W) whole numbers, 0 for no stroke and k on pixels of label k - 1, or the path of such a picture, grey or with a
        palette. Each label has a stroke, there are at least two, and stroked pixels keep their labels in every draw.
    classes: 2 to 256; three by default, and with strokes as many as their largest number.
    means: greys of 0 to 255, such as (50, 100, 200), in place of those of k-means.
    truth: (H, W) numbers of segments, 0 where unknown, or a path, or a list of them.
    The other arguments are those of `mrfhw.stereo`.
    """
    given = dict(image=image, scribbles=scribbles, classes=classes, sweeps=sweeps, seed=seed, truth=_several(truth))
    request = Request("segment", machine=machine, backend=backend, chains=chains, visit=visit, **given, **options)
    answer = run(request, callback=callback, every=every)
    assert isinstance(answer, Segmentation)
    return answer


def denoise(image: Any, *, mask: Any = None, noise: float | None = None, levels: int = 64, sweeps: int | None = None, seed: int = 0,
            chains: int | None = None, machine: Machine = None, backend: str = AUTO, visit: int | None = None, truth: Any = None,
            callback: Callback | None = None, every: int = EVERY, **options: Unpack[DenoiseOptions]) -> Denoised:
    """Free a picture of noise and fill what a mask hides: a grey or a colour for each pixel, and how sure it is.

        answer = mrfhw.denoise(picture, mask=~scratches)
        answer.image                            # of the picture's size, type and colours

    image: a picture, as of `mrfhw.stereo`. One in colour is three fields, one after the other (`Denoised`), of which a callback is
        told by Look.part; the fields after one that it ends have as many sweeps as that.
    mask: (H, W), 0 where the picture says nothing and is to be filled.
    noise: standard deviation, in grey of 0 to 255; by default estimated.
    levels: grey levels told apart, 2 to 256.
    truth: the clean picture.
    The other arguments are those of `mrfhw.stereo`.
    """
    given = dict(image=image, mask=mask, noise=noise, levels=levels, sweeps=sweeps, seed=seed, truth=truth)
    request = Request("denoise", machine=machine, backend=backend, chains=chains, visit=visit, **given, **options)
    answer = run(request, callback=callback, every=every)
    assert isinstance(answer, Denoised)
    return answer


def solve(problem: Problem | str | os.PathLike[str] | np.ndarray, *, sweeps: int | None = None, burn_in: int | None = None,
          seed: int | None = None, chains: int | None = None, initial: str | np.ndarray | None = None, machine: Machine = None,
          backend: str = AUTO, visit: int | None = None, callback: Callback | None = None, every: int = EVERY,
          doubleton: str | None = None, beta: float | None = None, tau: int | None = None, edges: np.ndarray | None = None,
          pairwise: np.ndarray | None = None, values: np.ndarray | None = None, temperature: float | None = None,
          **options: Unpack[MachineOptions]) -> Answer:
    """Sample any first-order field on a grid with up to 256 labels.

        problem = mrfhw.Problem(labels=3, unary=costs, doubleton="potts", beta=8, schedule=mrfhw.Schedule.constant(10.0))
        answer = mrfhw.solve(problem, sweeps=500)
        answer.labels, answer.counts, answer.entropy
        answer = mrfhw.solve(-np.log(probabilities), beta=1.5)      # floats
        answer.notes                                                # what rounding them changed

    problem: a Problem, or the path of a saved one; or costs (H, W, L), any finite numbers, which become whole ones.
    doubleton, beta, tau, edges, pairwise, values, temperature: of costs that are given so (`mrfhw.field.costs.field_of_costs`), in
        their units; a Problem has its own.
    sweeps: of each chain; by default the file's, or 500, from which chains that do not agree go on as in `mrfhw.stereo`.
    burn_in: sweeps that do not count; by default half of `sweeps`, or else the file's.
    seed: of the first chain, the next one has seed + 1; give runs that are to be compared seeds at least `chains` apart. By default
        the file's.
    initial: labels to start from, "random", "minimum" or (H, W) whole numbers; by default the file's.
    options: single parameters of the machine, such as spes=4, sampler="cdf".
    The other arguments are those of `mrfhw.stereo`.
    """
    of_costs = dict(doubleton=doubleton, beta=beta, tau=tau, edges=edges, pairwise=pairwise, values=values, temperature=temperature)
    application("problem").check_known(options, (*BESIDE, *of_costs))
    terms: dict[str, Any] = {name: value for name, value in of_costs.items() if value is not None}
    notes: tuple[str, ...] = ()
    if isinstance(problem, np.ndarray):
        software = machine is None and not options and (backend == AUTO or in_software(backend))
        costed = field_of_costs(problem, most=MOST if software else MOST_OF_A_MACHINE, **terms)
        problem, notes = costed.problem, (costed.said,)
    elif terms:
        raise ProblemError(f"{next(iter(terms))} is given beside a Problem; it goes with costs as an array: make "
                           "the Problem with it")
    given = dict(file=problem, sweeps=sweeps, burn_in=burn_in, seed=seed, initial=initial)
    request = Request("problem", machine=machine, backend=backend, chains=chains, visit=visit, **given, **options)
    answer = run(request, callback=callback, every=every)
    assert isinstance(answer, Answer)
    answer.notes += notes
    return answer
