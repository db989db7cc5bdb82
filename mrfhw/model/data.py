"""A problem's data in the types that the compiled loops take."""

from __future__ import annotations

import contextlib

import numpy as np

from mrfhw.model.kernel import fill_singles
from mrfhw.problem import Problem, doubleton_table
from mrfhw.runtime.progress import working

__all__ = ["compiling", "doubles", "energy_bound", "singles", "sources"]


_compiled: set[tuple[object, ...]] = set()  # kernels that this process has called


def compiling(*kernel: object) -> contextlib.AbstractContextManager[None]:
    """Around the first call of a kernel: it may be compiled, which takes seconds."""
    if kernel in _compiled:
        return contextlib.nullcontext()
    _compiled.add(kernel)
    return working("compiling the model")


def sources(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, bool, int]:
    """What E_singleton is made of: s1 (H, W), s2 (H2, W2), offsets (L, 2), constants (L,), observed (H, W), alpha, squared,
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
    observed = np.empty((0, 0), np.bool_) if problem.observed is None else np.ascontiguousarray(problem.observed, np.bool_)
    return (np.ascontiguousarray(problem.singleton1, np.int32), second, offsets, constants, observed, int(problem.alpha),
            problem.singleton == "squared", int(problem.out_of_range))


def singles(problem: Problem, shape: np.ndarray, kind: type[np.generic]) -> np.ndarray:
    """alpha E_singleton in the order of the sweep, of type `kind`; shape as in `mrfhw.model.kernel.sweep_cdf`.

    Rows of sites outside the image are left unset.
    """
    mesh_rows, mesh_cols, h, w, spus, count, width = map(int, shape)
    blocks = -(-mesh_rows * mesh_cols * spus // width)
    out: np.ndarray = np.empty((blocks * 2 * h * (w // (2 * spus)) * width, count), kind)
    rows, cols = problem.shape
    s1, s2, offsets, constants, observed, alpha, squared, outside = sources(problem)
    fill_singles(out, shape, rows, cols, s1, s2, offsets, constants, observed, alpha, squared, outside)
    return out


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
