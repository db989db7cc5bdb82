"""numba without SciPy's linear algebra: it would import it with the first compiled loop, and no loop here uses it.

It takes longer than all else that a first loop needs. Whoever uses it later, with numba or without, imports it then.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import numba

__all__ = ["njit", "numba"]

_UNUSED = "scipy.linalg"

if _UNUSED not in sys.modules:
    sys.modules[_UNUSED] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[_UNUSED]


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with these options, kept on the disk: compiled again where its file has changed or the file of a function that
    it calls, however far down, or the value of a number that it has from another module."""
    def of(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        compiled._cache = _Cache(function)
        return compiled

    return of


class _Cache(numba.core.caching.FunctionCache):  # type: ignore[misc]
    """numba's own looks at the file of the function alone."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), *_used(self._py_func))


def _used(function: Any) -> tuple[tuple[Any, ...], ...]:
    """(file, time, size) of all compiled functions that one calls, itself included, and (name, value) of the numbers."""
    functions, numbers, left = {function}, set(), [function]
    while left:
        one = left.pop()
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            called = getattr(value, "py_func", None) or getattr(value, "_defn", None)  # of a compiled one, or of an intrinsic
            if called is not None and called not in functions:
                functions.add(called)
                left.append(called)
            elif isinstance(value, (int, float, tuple)) or hasattr(value, "dtype"):
                numbers.add((name, repr(value)))
    files = {called.__code__.co_filename for called in functions}
    return (*((file, os.stat(file).st_mtime, os.stat(file).st_size) for file in sorted(files)), *sorted(numbers))


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a function and in those within it."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)
