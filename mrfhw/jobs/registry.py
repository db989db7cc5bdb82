"""Applications by their names."""

from __future__ import annotations

import importlib
from typing import Any

from mrfhw.system.errors import ProblemError

__all__ = ["application"]

_HOMES = {"stereo": "stereo", "motion": "motion", "segment": "segmentation", "denoise": "denoising", "problem": "field"}


def application(name: str) -> Any:
    """The application of a name. Raises ProblemError."""
    if name not in _HOMES:
        raise ProblemError(f"application is {name!r:.60}; it is one of {', '.join(_HOMES)}: choose one")
    return importlib.import_module(f"mrfhw.applications.{_HOMES[name]}.job").TASK
