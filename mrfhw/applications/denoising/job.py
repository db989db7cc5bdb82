"""From a picture, or the file that has it, and options to the job of freeing it of noise."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from mrfhw.applications.denoising.field import (
    COOLING,
    SWEEPS,
    DenoisingTruth,
    denoising_problem,
    grey_levels,
    grey_scale,
    noise_deviation,
    weights_for_noise,
)
from mrfhw.applications.options import Common, label_machine, range_note, same_size, squared_machine
from mrfhw.applications.task import Task
from mrfhw.field.problem import ProblemError
from mrfhw.jobs.job import Job
from mrfhw.pictures.images import load_inputs, mask_of, name_of
from mrfhw.pictures.restored import Restoring

__all__ = ["TASK", "job"]


def job(*, image: Any, levels: int = 64, mask: Any = None, noise: float | None = None, truth: Any = None,
        given: frozenset[str] = frozenset(),
        **others: Any) -> Job:
    """Check every option and read every file of a denoising problem. Raises ProblemError or ConfigError.

    image, mask, truth: paths or arrays. given: as of `Common.of`. others: those of `Task.defaults`.
    """
    needed = label_machine("levels", levels)
    common = Common.of(others, lambda config: SWEEPS, ({**needed, "data_bits": 8} if needed else {})
                       | squared_machine(others["doubleton"], levels), given)
    if noise is not None and not (math.isfinite(noise) and 0 <= noise <= 255):
        raise ProblemError(f"noise is {noise}; a deviation of 8-bit grey is 0 to 255: give a number between them")
    bits = common.config.data_bits
    values = grey_levels(levels, bits)
    seen = None if mask is None else mask_of(mask, "mask")
    inputs = load_inputs({"image": image}, 8, common.reading, also={} if truth is None else {"truth image": truth}, seen=seen)
    images = {"image": inputs.data[0], "picture": inputs.pictures[0]}
    if seen is not None:
        images["mask"] = seen
    if truth is not None:
        images["truth image"] = inputs.data[1]
    cut = dict(zip(images, same_size(images, common.window), strict=True))
    grey = cut["image"]
    observed = cut["mask"] if mask is not None else None
    deviation = noise_deviation(grey, observed) if noise is None else noise
    if deviation is None and observed is not None and not observed.any():
        deviation = 0.0  # the problem refuses such a mask
    if deviation is None:
        raise ProblemError("the noise cannot be told from the picture, in which no 3x3 pixels are all known: give noise")
    found = weights_for_noise(deviation / (1 << (8 - bits)), common.config, levels,
                              alpha=common.energy.get("alpha"), singleton=common.energy["singleton"])
    energy = {**dataclasses.asdict(found), **common.energy}
    schedule = common.schedule(energy.pop("temperature"), COOLING, energy["energy_shift"])
    problem = denoising_problem(grey >> (8 - bits), values, observed=observed, schedule=schedule, **energy)
    scale = grey_scale(values, bits)
    shown = {"noisy picture": cut["picture"]}
    if observed is not None:
        shown["mask"] = np.where(observed, 255, 0).astype(np.uint8)
    common = dataclasses.replace(common, energy=energy)
    return Job(
        application="denoise", config=common.config, problem=problem, run=common.run, most_sweeps=common.most_sweeps,
        annealing=common.anneal, inputs=shown, scale=scale,
        restoring=Restoring(source=inputs.sources[0].cut(common.window), stretched_from=inputs.range if inputs.stretched else None,
                            observed=observed),
        notes=range_note([name_of(image, "image")], inputs),
        truth=DenoisingTruth(cut["truth image"], grey, scale.values) if truth is not None else None,
        settings=common.settings("denoise", problem, image=name_of(image, "array"), labels=levels,
                                 mask=None if mask is None else name_of(mask, "array"),
                                 noise_deviation=deviation, noise_given=noise is not None,
                                 truth=None if truth is None else name_of(truth, "array"),
                                 stretched_from=inputs.stretched_from))


TASK = Task(
    verb="denoise", summary="Free IMAGE of noise and fill what its mask hides: a grey for each pixel, and how sure it is.",
    arguments=("image",), problem=denoising_problem, job=job,
    found={"sweeps": str(SWEEPS), "alpha": "from the noise", "beta": "from the noise", "temperature": "from the noise",
           "tau": "12 of 64 grey levels", "energy_shift": "0, or what a machine of narrow energies needs"})
