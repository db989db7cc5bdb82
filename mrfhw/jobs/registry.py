"""Which applications there are: the built-in ones, and those that other distributions bring.

A distribution brings one by an entry point of `GROUP`, whose name is the verb and whose object is an `Application`.
"""

from __future__ import annotations

import copyreg
import importlib
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from mrfhw.jobs.application import Application
from mrfhw.system.errors import ProblemError

__all__ = ["GROUP", "application", "names"]

GROUP = "mrfhw.applications"
# Each imported when it is asked for.
_BUILT_IN = {"stereo": "mrfhw.applications.stereo.job", "motion": "mrfhw.applications.motion.job",
             "segment": "mrfhw.applications.segmentation.job", "denoise": "mrfhw.applications.denoising.job",
             "problem": "mrfhw.applications.field.job"}


def _others() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in _BUILT_IN}


def names() -> tuple[str, ...]:
    """The verbs of all applications, the built-in ones first. None of them is imported."""
    return (*_BUILT_IN, *sorted(_others()))


def application(name: str) -> Application:
    """The application of a verb.

    Raises ProblemError for an unknown one, and for one of another distribution that cannot be imported or is none.
    """
    if name in _BUILT_IN:
        found: Application = importlib.import_module(_BUILT_IN[name]).APPLICATION
        return found
    entry = _others().get(name)
    if entry is None:
        raise ProblemError(f"application is {name!r}; it must be one of {', '.join(names())}: choose one")
    whose = f"application {name} is {entry.value}" + ("" if entry.dist is None else f" of {entry.dist.name}")
    try:
        loaded = entry.load()
    except Exception as error:  # whatever another's module raises
        raise ProblemError(f"{whose}, which cannot be imported, {type(error).__name__}: {error}: mend or remove it") from error
    if not isinstance(loaded, Application) or loaded.verb != name:
        what = f"has the verb {loaded.verb!r}" if isinstance(loaded, Application) else "is no Application"
        raise ProblemError(f"{whose}, which {what}: mend or remove it")
    return loaded


def _by_name(app: Application) -> tuple[Callable[[str], Application], tuple[str]]:
    return application, (app.verb,)


copyreg.pickle(Application, _by_name)  # another process has its own, of the same name
