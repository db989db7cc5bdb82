"""numba without SciPy's linear algebra: it would import it with the first compiled loop, and no loop here uses it.

It takes longer than all else that a first loop needs. Whoever uses it later, with numba or without, imports it then.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from mrfhw.system.errors import ProblemError

__all__ = ["njit", "numba"]


def _import() -> ModuleType:
    """numba. Raises ProblemError where the environment tells it what it cannot do, or not to compile."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        try:
            found = importlib.import_module("numba")
        except Exception as error:
            given = ", ".join(f"{name}={value:.40}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_"))
            if not given or isinstance(error, ImportError):
                raise
            why = str(error).splitlines()[0].rstrip(".")
            raise ProblemError(f"the environment has {given}, which numba does not take ({why}): unset it") from None
    if found.config.DISABLE_JIT:
        raise ProblemError("NUMBA_DISABLE_JIT is set; the loops of this program use instructions that Python does not have and run "
                           "only compiled: unset it")
    return found


numba = _import()

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
        for used in (function, *filter(None, map(_compiled, function.__globals__.values()))):
            _stamp(used.__code__.co_filename)
        compiled = numba.njit(**options)(function)
        with contextlib.suppress(RuntimeError):  # no place to keep it: compiled anew by each process
            compiled._cache = _Cache(function)
        return compiled

    return of


_FunctionCache: Any = numba.core.caching.FunctionCache


class _Cache(_FunctionCache):  # type: ignore[misc]
    """numba's own looks at the file of the function alone, and fails where a file cannot be read or written."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with contextlib.suppress(OSError):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), *_used(self._py_func))


@cache
def _stamp(file: str) -> tuple[float, int]:
    """(time, size) of a file when its functions were imported: what is compiled later is of that, whatever the file has by then."""
    found = os.stat(file)
    return found.st_mtime, found.st_size


def _compiled(value: Any) -> Any:
    """The function of a compiled one, or of an intrinsic; None of anything else."""
    return getattr(value, "py_func", None) or getattr(value, "_defn", None)


def _used(function: Any) -> tuple[tuple[Any, ...], ...]:
    """(file, time, size) of all compiled functions that one calls, itself included, and (name, value) of the numbers."""
    functions, numbers, left = {function}, set(), [function]
    while left:
        one = left.pop()
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            called = _compiled(value)
            if called is not None and called not in functions:
                functions.add(called)
                left.append(called)
            elif isinstance(value, (int, float, tuple)) or hasattr(value, "dtype"):
                numbers.add((name, repr(value)))
    files = {called.__code__.co_filename for called in functions}
    return (*((file, *_stamp(file)) for file in sorted(files)), *sorted(numbers))


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a function and in those within it."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)
