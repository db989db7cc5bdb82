"""What a state must be before loops that check no bounds go on from it: arrays by shape, kind and range, generators not zero.

A state comes from a file, from another process or from a board, and may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState

__all__ = ["WAY_OUT", "Holds", "Stands", "check_array", "check_generators", "check_result", "check_state"]

WAY_OUT = "give a checkpoint that a run of this problem wrote, or leave resume out"
_LONGEST = (1 << 62) - 1  # of numbers that have no other limit


@dataclass(frozen=True)
class Holds:
    """What an array holds.

    shape: of which None may be any.
    least: of its whole numbers, the smallest.
    most: of them, the largest.
    """

    shape: tuple[int | None, ...]
    least: int = 0
    most: int = _LONGEST


@dataclass(frozen=True)
class Stands:
    """What a sampler goes on from, beside labels and counts.

    generators: how many, of states (generators, 4) uint32; None where it takes none.
    random: whether the state of NumPy's generator is.
    lmem: of each of LMem's columns, the largest number; empty where the sampler has no LMem.
    more: the arrays that it alone knows.
    """

    generators: int | None = None
    random: bool = False
    lmem: tuple[int, ...] = ()
    more: Mapping[str, Holds] = field(default_factory=dict)


def check_array(name: str, array: np.ndarray | None, holds: Holds) -> None:
    """Raises ProblemError in one line, which names the array, what it has and what it must have."""
    if array is None:
        raise ProblemError(f"the state has no {name}: {WAY_OUT}")
    if array.dtype.kind not in "biu":
        raise ProblemError(f"{name} of the state is of {array.dtype}; it must be whole numbers: {WAY_OUT}")
    fits = array.ndim == len(holds.shape) and all(w in (None, n) for w, n in zip(holds.shape, array.shape, strict=True))
    if not fits:
        wanted = " x ".join("n" if one is None else str(one) for one in holds.shape)
        raise ProblemError(f"{name} of the state has shape {' x '.join(map(str, array.shape))}; it must be {wanted}: {WAY_OUT}")
    if array.size:
        least, most = int(array.min()), int(array.max())
        if least < holds.least or most > holds.most:
            raise ProblemError(f"{name} of the state has {least if least < holds.least else most}; the limits are {holds.least} to "
                               f"{holds.most}: {WAY_OUT}")


def check_generators(states: np.ndarray | None, number: int | None) -> None:
    """(number, 4) words of 32 bits, no row all zero, from which a generator does not move; number: None for any. Raises
    ProblemError."""
    check_array("generators", states, Holds((number, 4), 0, (1 << 32) - 1))
    assert states is not None
    if not states.any(-1).all():
        raise ProblemError(f"generator {int(np.argmin(states.any(-1)))} of the state is zero, which gives nothing but zeros: "
                           f"{WAY_OUT}")


def check_result(found: Result, problem: Problem, run: Run, lmem: tuple[int, ...] = ()) -> None:
    """What a run of the problem has so far. lmem: as of `Stands`. Raises ProblemError."""
    grid, top = problem.shape, problem.labels - 1
    check_array("last", found.last, Holds(grid, 0, top))
    check_array("initial", found.initial, Holds(grid, 0, top))
    if found.counts is not None:
        check_array("counts", found.counts, Holds((*grid, problem.labels), 0, run.after_burn_in))
    if found.sums is not None:
        check_array("sums", found.sums, Holds((*grid, 2), 0, top * run.after_burn_in))
        check_array("sums", found.sums[..., 1], Holds(grid, 0, run.after_burn_in))
    if found.messages is not None:
        check_array("messages", found.messages, Holds((None, 3)))
        for column, most in enumerate((problem.sites - 1, top, run.after_burn_in)):
            check_array("messages", found.messages[:, column], Holds((None,), 0, most))
    if found.lmem is not None:
        check_array("lmem", found.lmem, Holds((*grid, 4)))
        check_array("lmem", found.lmem[..., 0], Holds(grid, 0, top))
        if run.estimate != "mean":
            check_array("lmem", found.lmem[..., 2][found.lmem[..., 3] > 0], Holds((None,), 0, top))
        for column, most in enumerate(lmem):
            check_array("lmem", found.lmem[..., column], Holds(grid, 0, most))


def check_state(state: RunState, problem: Problem, run: Run, stands: Stands) -> None:
    """Where a run of the problem may stand: everything that a sampler takes from it. Raises ProblemError."""
    if not 0 <= state.sweeps <= run.sweeps:
        raise ProblemError(f"the state has {state.sweeps} sweeps; the run has {run.sweeps}: {WAY_OUT}")
    if stands.lmem and state.so_far.lmem is None:
        raise ProblemError(f"the state has no lmem: {WAY_OUT}")
    check_result(state.so_far, problem, run, stands.lmem)
    if stands.random:
        _check_random(state)
    if stands.generators is not None:
        check_generators(state.generators, stands.generators)
    for name, holds in stands.more.items():
        check_array(name, state.more.get(name), holds)


def _check_random(state: RunState) -> None:
    try:
        np.random.PCG64().state = dict(state.random or {})  # type: ignore[assignment]
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        why = " ".join(str(error).split())[:60]
        raise ProblemError(f"the state of the generator of numbers is none of PCG64 ({why}): {WAY_OUT}") from None
