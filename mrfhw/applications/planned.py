"""Many requests as a plan has them done."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mrfhw.applications.answer import Answer, answer_of
from mrfhw.machine.config import Config
from mrfhw.machine.manifest import machine_in
from mrfhw.planning.lanes import Turns, held
from mrfhw.planning.orders import machines_at, read_orders
from mrfhw.runs.request import Machine, Request
from mrfhw.runs.runner import Runner
from mrfhw.system.errors import ProblemError
from mrfhw.system.workers import Worker, driven

__all__ = ["by_plan"]


def _answered(task: tuple[Request, bool]) -> Answer:
    """In a worker. task: with whether a board is taken by turns."""
    request, by_turns = task
    with Runner(request, turn=held if by_turns else contextlib.nullcontext) as runner:
        solved, = runner.result()
    return answer_of(solved)


def by_plan(requests: Sequence[Request], plan: str | os.PathLike[str], boards: Sequence[str],
            machine: Machine) -> Iterator[tuple[int, Answer | Exception]]:
    """As of `mrfhw.batch`. Raises ProblemError or ConfigError."""
    config = machine if machine is None or isinstance(machine, Config) else machine_in(os.fspath(machine))
    orders = read_orders(Path(plan), boards, machines_at(config))
    for place, request in enumerate(requests):
        orders.check(request.application, f"request {place} is {request.application}")
        if request.backend != "cpu" or request.machine is not None:
            raise ProblemError(f"request {place} is for {request.backend}; a plan says who samples: give requests for cpu")
    lanes = orders.lanes()

    def done(worker: Worker, request: Request) -> Any:
        if lanes is None:
            return worker.done(_answered, (request, False))

        def sampled(board: str, turns: Turns) -> Any:
            with turns.working():
                return worker.done(_answered, (lanes.request(request, board), True), turns.told)

        return lanes.done(sampled)

    return driven(done, requests, min(orders.under_way, max(1, len(requests))))
