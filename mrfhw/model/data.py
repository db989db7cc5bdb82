"""A problem's data in the types that the compiled loops take."""

from __future__ import annotations

import contextlib

import numpy as np

from mrfhw.field.energy import doubleton_table
from mrfhw.field.problem import Problem
from mrfhw.model.kernel import fill_singles
from mrfhw.progress import working

__all__ = ["compiling", "doubles", "energy_bound", "singles", "sources"]


_ALL = np.empty(0, np.uint8)  # no label chosen
_compiled: set[tuple[object, ...]] = set()  # kernels that this process has called


def compiling(*kernel: object) -> contextlib.AbstractContextManager[None]:
    """Around the first call of a kernel: it may be compiled, which takes seconds."""
    if kernel in _compiled:
        return contextlib.nullcontext()
    _compiled.add(kernel)
    return working("compiling the model")


def sources(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, bool, int]:
    """The data of E_singleton: s1 (H, W), s2 (H2, W2), offsets (L, 2), constants (L,), observed (H, W), alpha, squared,
    out_of_range.

    s1, s2, constants: int32. offsets: int64, with singleton2_origin added. Without a second image s2 has size 0, without
    constants these, and observed where all sites are.
    """
    second, offsets, constants = np.empty((0, 0), np.int32), np.empty((0, 2), np.int64), np.empty(0, np.int32)
    if problem.constants is None:
        second = np.ascontiguousarray(problem.singleton2, np.int32)
        offsets = np.asarray(problem.offsets, np.int64) + np.array(problem.singleton2_origin, np.int64)
    else:
        constants = np.ascontiguousarray(problem.constants, np.int32)
    observed = np.empty((0, 0), np.bool_) if problem.observed is None else np.ascontiguousarray(problem.observed)
    return (np.ascontiguousarray(problem.singleton1, np.int32), second, offsets, constants, observed, int(problem.alpha),
            problem.singleton == "squared", int(problem.out_of_range))


def singles(problem: Problem, sites: np.ndarray, stride: int, kind: type[np.generic]) -> np.ndarray:
    """(*sites, L): alpha E_singleton of each of `sites`, flat indices on a grid of `stride` columns, of type `kind`.

    Entries of sites outside the image, and of -1, are not set.
    """
    out: np.ndarray = np.empty((sites.size, problem.labels), kind)
    fill_singles(out, sites.reshape(-1), stride, _ALL, *sources(problem))
    return out.reshape(*sites.shape, problem.labels)


def doubles(problem: Problem, kind: type[np.generic]) -> np.ndarray:
    """(L + 1, L) beta E_doubleton by neighbour and label; the last row, 0, for a neighbour that does not exist."""
    table: np.ndarray = np.zeros((problem.labels + 1, problem.labels), kind)
    table[:-1] = (problem.beta * doubleton_table(problem)).T
    return table


def energy_bound(problem: Problem) -> int:
    """A number that no alpha E_singleton + beta sum of E_doubleton exceeds."""
    second = problem.singleton2 if problem.constants is None else problem.constants
    assert second is not None
    first = problem.singleton1
    apart = max(int(first.max()) - int(second.min()), int(second.max()) - int(first.min()), 0)
    single = max(apart if problem.singleton == "absolute" else apart**2, int(problem.out_of_range))
    return int(problem.alpha) * single + 4 * int(problem.beta) * int(doubleton_table(problem).max())
