"""Which program this is: versions of all that decides the bits of an answer."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

import mrfhw

__all__ = ["difference", "versions"]

# Compile and sample, read pictures, find classes, and judge whether chains go on.
_DECIDE = ("numba", "llvmlite", "numpy", "pillow", "scikit-learn", "scipy", "arviz-stats")


@cache
def versions() -> dict[str, str]:
    """Of this program, of Python and of the packages that decide bits, by name; "none" for what is not installed."""
    found = {"mrfhw": mrfhw.__version__, "Python": platform.python_version()}
    for name in _DECIDE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def difference(there: dict[str, str]) -> str:
    """What another program has that this one has not, such as "numba 0.60.0, and 0.61.0 here"; empty where nothing differs."""
    return ", ".join(f"{name} {there.get(name, 'none')}, and {own} here" for name, own in versions().items()
                     if there.get(name, "none") != own)
