"""Frames of a video on a Dask cluster: the shots side by side, the frames of each one after the other."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.applications.parcel import enclosing, unpacked
from mrfhw.applications.video import Done, Link, Then, at_once
from mrfhw.runs.choice import board_of
from mrfhw.system.cluster import LATER, Cluster

__all__ = ["OUT", "Received", "on_shots"]

_IN, OUT = Path("in"), Path("..", "out")  # where a frame's files lie, and where `then` writes, on the worker
_AHEAD = 512  # frames that wait for those before

Received = Callable[[Link, dict[str, bytes]], None]  # what is done here with the files that `then` has written


@dataclasses.dataclass(eq=False)
class _Shot:
    """frames: those that wait. former: labels (H, W) of the frame before the first of them. busy: whether a worker has one."""

    frames: deque[Link]
    former: np.ndarray | None
    busy: bool = False


class _Shots:
    """The frames that can be done now, as tasks. failed: what was raised in the place of the next frame. last: number of the last
    one. given: those that are not done, by their place among the tasks."""

    def __init__(self, links: Iterable[Link]):
        self._links, self._shots, self._all = iter(links), list[_Shot](), False
        self.failed: Exception | None = None
        self.last = 0
        self.given: dict[int, tuple[_Shot, Link]] = {}
        self._places = itertools.count()

    def tasks(self) -> Iterator[Any]:
        while True:
            self._shots = [one for one in self._shots if one.busy or one.frames or one is self._shots[-1]]
            ready = next((one for one in self._shots if one.frames and not one.busy), None)
            if ready is not None:
                link, ready.busy = dataclasses.replace(ready.frames.popleft(), before=ready.former), True
                self.given[next(self._places)] = ready, link
                yield link
            elif not self._all and sum(len(one.frames) for one in self._shots) < _AHEAD:
                self._take()
            elif self._all and not any(one.frames for one in self._shots):
                return
            else:
                yield LATER

    def _take(self) -> None:
        try:
            link = next(self._links, None)
        except Exception as error:
            self.failed, link = error, None
        if link is None:
            self._all = True
            return
        self.last = link.number
        if link.opens or not self._shots:
            self._shots.append(_Shot(deque(), link.before))
        self._shots[-1].frames.append(link)


def _frame(task: tuple[Link, tuple[int, int], Then]) -> tuple[np.ndarray, Done, dict[str, bytes]]:
    """On a worker, in an empty folder: a frame's labels, what `then` gives, and the files that it wrote below OUT."""
    link, shape, then = task
    _IN.mkdir()
    os.chdir(_IN)
    OUT.mkdir()
    labels, done = at_once(dataclasses.replace(link, request=unpacked(link.request)), shape, then)
    return labels, done, {str(path.relative_to(OUT)): path.read_bytes() for path in sorted(OUT.rglob("*")) if path.is_file()}


def on_shots(links: Iterable[Link], shape: tuple[int, int], then: Then, cluster: Cluster,
             received: Received) -> Generator[tuple[int, Done | Exception], None, None]:
    """As of `in_order`, on a cluster: a link that opens begins a shot, and shots are done side by side, so that numbers are in
    order in each of them alone.

    then: writes below OUT. received: takes what it wrote; a frame of which it raises has failed.
    """
    def packed(link: Link) -> tuple[Link, tuple[int, int], Then]:
        return dataclasses.replace(link, request=enclosing(link.request)), shape, then

    shots = _Shots(links)
    for place, outcome in cluster.outcomes(_frame, shots.tasks(), packed=packed, needs=lambda link: board_of(link.request.backend)):
        shot, link = shots.given.pop(place)
        shot.busy, shot.former = False, None
        if isinstance(outcome, BaseException):
            yield link.number, outcome if isinstance(outcome, Exception) else RuntimeError(str(outcome))
            continue
        shot.former, done, files = outcome
        try:
            received(link, files)
        except Exception as error:
            yield link.number, error
        else:
            yield link.number, done
    if shots.failed is not None:
        yield shots.last + 1, shots.failed
