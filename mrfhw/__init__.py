"""Generator, models and host side of an accelerator for Gibbs sampling on Markov random fields.

What stands here is the public interface. `mrfhw.stereo`, `motion`, `segment` and `denoise` take pictures as arrays, Pillow
images or files; `solve` takes any field, a `Problem`; `Session` samples one some sweeps at a time. They give an `Answer`:
labels, their uncertainty, convergence, `save(folder)`.

    import mrfhw

    answer = mrfhw.stereo(left, right, labels=64)
    answer.disparity, answer.std, answer.converged

A machine is described by `Config`; `python -m mrfhw.generate` writes its Verilog. These names of its packages are public, too:

    mrfhw.apps.descriptors          edge_weights
    mrfhw.apps.images               grey_data
    mrfhw.apps.stereo               stereo_problem
    mrfhw.field.costs               costs_of_probabilities, scaled_costs
    mrfhw.field.problem             Run
    mrfhw.fpga.boards               Board
    mrfhw.generation.ethernet_core  Ethernet
    mrfhw.host.axi_session          AxiSession, RingLog
    mrfhw.model.exact               solve
    mrfhw.scenes                    denoising_scene, motion_scene, segmentation_scene, stereo_scene
    mrfhw.sessions.windows          WindowPlan, sweep_windows

Everything else in the packages is internal and may change from version to version.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mrfhw.api.answer import Answer, Denoised, Disparity, Motion, Segmentation
    from mrfhw.api.applications import denoise, motion, segment, solve, stereo
    from mrfhw.api.session import Session
    from mrfhw.field.problem import Problem
    from mrfhw.field.schedule import Schedule
    from mrfhw.field.terms import Channel
    from mrfhw.machine.config import Config, ConfigError
    from mrfhw.sessions.stepwise import Look
    from mrfhw.system.errors import ProblemError

__all__ = ["Answer", "Channel", "Config", "ConfigError", "Denoised", "Disparity", "Look", "Motion", "Problem", "ProblemError",
           "Schedule", "Segmentation", "Session", "denoise", "motion", "segment", "solve", "stereo"]

IMPORTED = time.time()  # seconds since 1970: modules on disk that are newer may not be those that run

__version__ = "0.1.0"

# Imported when they are used, so that the command line and the generator do not wait for them.
_HOMES = {
    **dict.fromkeys(("Answer", "Denoised", "Disparity", "Motion", "Segmentation"), "mrfhw.api.answer"),
    **dict.fromkeys(("denoise", "motion", "segment", "solve", "stereo"), "mrfhw.api.applications"),
    "Session": "mrfhw.api.session", "ProblemError": "mrfhw.system.errors", "Problem": "mrfhw.field.problem",
    "Schedule": "mrfhw.field.schedule", "Channel": "mrfhw.field.terms", "Config": "mrfhw.machine.config",
    "ConfigError": "mrfhw.machine.config", "Look": "mrfhw.sessions.stepwise",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mrfhw' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
