"""Generator, models and host side of an accelerator for Gibbs sampling on Markov random fields.

What stands here is the public interface. `mrfhw.stereo`, `motion`, `segment` and `denoise` take pictures as arrays, Pillow
images or files; `solve` takes any field, a `Problem`, and `pack` makes one of several; `Session` samples one some sweeps at a
time; `run` and `batch` take what is asked as a `Request`. They give an `Answer`: labels, their uncertainty, convergence,
`save(folder)`. `smooth_probabilities` takes those of a classifier. A `Client` has a `Request` done by a service elsewhere.

    import mrfhw

    answer = mrfhw.stereo(left, right, labels=64)
    answer.disparity, answer.std, answer.converged

A machine is described by `Config`; `python -m mrfhw.generate` writes its Verilog. These names of its packages are public, too:

    mrfhw.applications.descriptors    edge_weights
    mrfhw.applications.stereo.field   stereo_problem
    mrfhw.backends.windows            WindowPlan, sweep_windows
    mrfhw.field.costs                 costs_of_probabilities, scaled_costs
    mrfhw.field.problem               Run
    mrfhw.fpga.boards                 Board
    mrfhw.generation.ethernet_core    Ethernet
    mrfhw.host.axi_session            AxiSession, RingLog
    mrfhw.pictures.images             grey_data
    mrfhw.samplers.exact              solve
    mrfhw.scenes                      denoising_scene, motion_scene, segmentation_scene, stereo_scene

Everything else in the packages is internal and may change from version to version.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mrfhw.applications.answer import Answer
    from mrfhw.applications.calls import batch, denoise, motion, run, segment, solve, stereo
    from mrfhw.applications.denoising.answer import Denoised
    from mrfhw.applications.motion.answer import Motion
    from mrfhw.applications.probabilities import Smoothed, smooth_probabilities
    from mrfhw.applications.segmentation.answer import Segmentation
    from mrfhw.applications.session import Session
    from mrfhw.applications.stereo.answer import Disparity
    from mrfhw.field.problem import Problem
    from mrfhw.field.schedule import Schedule
    from mrfhw.field.terms import Channel
    from mrfhw.machine.config import Config, ConfigError
    from mrfhw.placement.packing import pack
    from mrfhw.runs.chains import Look
    from mrfhw.runs.request import Request
    from mrfhw.service.client import Client
    from mrfhw.system.errors import ProblemError

__all__ = ["Answer", "Channel", "Client", "Config", "ConfigError", "Denoised", "Disparity", "Look", "Motion", "Problem",
           "ProblemError", "Request", "Schedule", "Segmentation", "Session", "Smoothed", "batch", "denoise", "motion", "pack",
           "run", "segment", "smooth_probabilities", "solve", "stereo"]

IMPORTED = time.time()  # seconds since 1970: modules on disk that are newer may not be those that run

__version__ = "0.1.0"

# Imported when they are used, so that the command line and the generator do not wait for them.
_HOMES = {
    "Answer": "mrfhw.applications.answer", "Denoised": "mrfhw.applications.denoising.answer",
    "Disparity": "mrfhw.applications.stereo.answer", "Motion": "mrfhw.applications.motion.answer",
    "Segmentation": "mrfhw.applications.segmentation.answer",
    **dict.fromkeys(("batch", "denoise", "motion", "run", "segment", "solve", "stereo"), "mrfhw.applications.calls"),
    **dict.fromkeys(("Smoothed", "smooth_probabilities"), "mrfhw.applications.probabilities"),
    "Session": "mrfhw.applications.session", "ProblemError": "mrfhw.system.errors", "Problem": "mrfhw.field.problem",
    "Schedule": "mrfhw.field.schedule", "Channel": "mrfhw.field.terms", "Config": "mrfhw.machine.config",
    "ConfigError": "mrfhw.machine.config", "Look": "mrfhw.runs.chains", "Request": "mrfhw.runs.request",
    "Client": "mrfhw.service.client", "pack": "mrfhw.placement.packing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mrfhw' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Public modules by the names that they had before; programs that import them go on.
_FORMER = {
    "mrfhw.apps.descriptors": "mrfhw.applications.descriptors", "mrfhw.apps.images": "mrfhw.pictures.images",
    "mrfhw.apps.stereo": "mrfhw.applications.stereo.field", "mrfhw.model.exact": "mrfhw.twin.paired",
    "mrfhw.sessions.windows": "mrfhw.backends.windows",
}


class _FormerNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of _FORMER, and the packages that they were in."""

    def __init__(self) -> None:
        self._specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None,
                  ) -> importlib.machinery.ModuleSpec | None:
        package = any(former.startswith(f"{name}.") for former in _FORMER)
        return importlib.util.spec_from_loader(name, self, is_package=package) if package or name in _FORMER else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if spec.name not in _FORMER:
            return None
        module = importlib.import_module(_FORMER[spec.name])
        self._specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in self._specs:  # what is there already keeps its own name
            module.__spec__ = self._specs.pop(module.__name__)


sys.meta_path.append(_FormerNames())
