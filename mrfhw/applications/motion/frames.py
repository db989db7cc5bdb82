"""Motions of several frames: of each to the next, with one window of motions, a pair after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mrfhw.applications.answer import Answer, answer_of
from mrfhw.applications.two_ways import hidden_from
from mrfhw.applications.video import goes_on, labels_for_all, some_of
from mrfhw.field.given import short
from mrfhw.pictures.images import is_path
from mrfhw.runs.chains import Callback, Look
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner
from mrfhw.system.errors import ProblemError

__all__ = ["frames_of", "in_turn"]

def frames_of(given: Any) -> list[Any]:
    """The frames of a sequence of pictures or paths. Raises ProblemError for what is one picture, or fewer than two."""
    if is_path(given) or hasattr(given, "mode") or (isinstance(given, np.ndarray) and given.ndim < 3):
        raise ProblemError("second is None, and first is one picture; a motion is that of a frame to the next: give both, or a "
                           "list of frames")
    try:
        found = list(given)
    except TypeError:
        raise ProblemError(f"first is {short(repr(given))}; a motion is that of a frame to the next: give two pictures, or a "
                           "list of frames") from None
    if len(found) < 2:
        raise ProblemError(f"first has {len(found)} frame{'s' * (len(found) != 1)}; a motion is that of a frame to the next: give "
                           "2 or more")
    return found


def in_turn(asked: Sequence[Request], callback: Callback | None, every: int) -> list[Answer]:
    """The answers of requests whose pictures follow one another.

    Labels are those that serve all, found from some of them. A frame starts from what its own pictures say, and where the other one
    hides it from the labels of the pair before, as `mrfhw video` has it. callback: tells the pair by `Look.part`; what it ends is
    the pair under way, and no other one begins.
    """
    shared = labels_for_all([asked[number].job() for number in some_of(len(asked))])
    answers, ended = list[Answer](), list[bool]()

    def of_pair(number: int) -> Callable[[Look], object] | None:
        def told(look: Look) -> object:
            assert callback is not None
            found = callback(dataclasses.replace(look, part=number))
            ended.extend([True] if found else [])
            return found

        return None if callback is None else told

    for number, request in enumerate(asked):
        with Runner(request.with_options(**{**shared, **request.options}), callback=of_pair(number), every=every) as runner:
            runner.prepare()
            job = runner.ready()
            if answers and goes_on(job):
                runner.replace_run(hidden_from(job.run, job.maps["occluded"], answers[-1].labels))
            solved, = runner.result()
        answers.append(answer_of(solved))
        if ended:
            break
    return answers
