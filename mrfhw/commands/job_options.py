"""Options of a job that is estimated on a board, and quantities with units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from mrfhw.cost.seconds import Delays
from mrfhw.field.problem import ESTIMATES
from mrfhw.fpga.board import Board
from mrfhw.fpga.boards import BOARDS
from mrfhw.machine.config import Config
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.job import JOBS, Job

__all__ = ["DELAY_MAX", "delays_of", "duration", "job_of", "job_options"]

F = TypeVar("F", bound=Callable[..., Any])

DELAY_MAX = 1.0  # seconds


def job_options(function: F, board: bool = True) -> F:
    """Add to a click command a board, a job on it and its link's delay, as parameters `name`, `delay` and those of `job_of`.

    board: it has to be given.
    """
    for option in reversed((
            click.option("--board", "name", required=board, metavar="NAME",
                         help=f"The board: {', '.join(BOARDS)}, or the path of a Python file with another."),
            click.option("--job", "job_name", default="stereo", show_default=True, metavar="NAME|FIELD.npz",
                         help=f"What is sampled: the scene of {', '.join(JOBS)}, or a saved field."),
            click.option("--sites", metavar="RxC", help="Rows and columns of a scene."),
            click.option("--labels", type=int, metavar="L", help="Labels of a scene."),
            click.option("--sweeps", type=int, default=200, show_default=True, metavar="N",
                         help="Sweeps of the run, half of them counted."),
            click.option("--estimate", type=click.Choice(ESTIMATES), default=ESTIMATES[0], show_default=True,
                         help="What is read of the run."),
            click.option("--delay", default="0ms", show_default=True, metavar="TIME",
                         help="How long bytes of the link are under way each way, such as 1ms of a USB adapter."))):
        function = option(function)
    return function


def job_of(board: Board | None, job_name: str, sites: str | None, labels: int | None, sweeps: int, estimate: str) -> Job:
    """The job that the options say; of no board, for the default machine. Raises ProblemError."""
    return Job.of(job_name, _shape(sites), labels, sweeps, estimate, Config() if board is None else Config.preset(board.preset))


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,7})x([0-9]{1,7})", text.strip().lower())
    if found is None:
        raise ProblemError(f"sites is {text!r}; a field has rows and columns: give such as 16x32")
    return int(found[1]), int(found[2])


def delays_of(text: str) -> Delays:
    """Of a link whose bytes are under way for so long. Raises ProblemError."""
    seconds = duration("delay", text, {"us": 1e-6, "s": 1.0, "ms": 1e-3})
    if seconds > DELAY_MAX:
        raise ProblemError(f"delay is {text}; a byte is under way for {DELAY_MAX:g} s at most: give less")
    return Delays(seconds)


def duration(name: str, text: str, units: dict[str, float]) -> float:
    """Seconds of a number and a unit, such as 2h. Raises ProblemError."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([a-z]+)", text.strip().lower())
    if found is None or found[2] not in units or not math.isfinite(float(found[1])):
        raise ProblemError(f"{name} is {text!r}; it is a number and one of {', '.join(units)}: give such as "
                           f"2{next(reversed(units))}")
    return float(found[1]) * units[found[2]]
