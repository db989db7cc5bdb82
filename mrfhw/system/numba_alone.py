"""numba without SciPy's linear algebra: it would import it with the first compiled loop, and no loop here uses it.

It takes longer than all else that a first loop needs. Whoever uses it later, with numba or without, imports it then.
"""

from __future__ import annotations

import importlib
import sys

import numba

__all__ = ["numba"]

_UNUSED = "scipy.linalg"

if _UNUSED not in sys.modules:
    sys.modules[_UNUSED] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[_UNUSED]
