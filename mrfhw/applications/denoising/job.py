"""From a picture, or the file that has it, and options to the job of freeing it of noise."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis
from mrfhw.applications.denoising.answer import Denoised
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
from mrfhw.applications.denoising.scene import write_demo
from mrfhw.applications.options import READING, Common, common_options, label_machine, picture_notes, same_size, squared_machine
from mrfhw.field.problem import ProblemError
from mrfhw.jobs.application import Application, Measure, SceneWriter
from mrfhw.jobs.job import Job
from mrfhw.jobs.options import Given, Option
from mrfhw.pictures.images import load_inputs, name_of
from mrfhw.pictures.numbers import known_mask
from mrfhw.pictures.restored import Restoring
from mrfhw.report.exchange import picture_bytes

__all__ = ["APPLICATION"]


def job(app: Application, *, image: Any, levels: int, mask: Any, noise: float | None, truth: Any, given: Given,
        **others: Any) -> Job:
    """Check every option and read every file of a denoising problem. Raises ProblemError or ConfigError.

    image, mask, truth: paths or arrays.
    """
    needed = label_machine("levels", levels)
    common = Common.of(others, lambda widths: SWEEPS, ({**needed, "data_bits": 8} if needed else {})
                       | squared_machine(others["doubleton"], levels), given)
    if noise is not None and not (math.isfinite(noise) and 0 <= noise <= 255):
        raise ProblemError(f"noise is {noise}; a deviation of 8-bit grey is 0 to 255: give a number between them")
    bits = common.widths.data_bits
    values = grey_levels(levels, bits)
    hidden = None if mask is None else known_mask(mask, "mask")
    seen = None if hidden is None else hidden.values
    inputs = load_inputs({"image": image}, 8, common.reading, also={} if truth is None else {"truth image": truth},
                         seen={} if seen is None else {"image": seen})
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
    found = weights_for_noise(deviation / (1 << (8 - bits)), (1 << bits) - 1, levels, machine=common.config,
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
        application=app, config=common.config, problem=problem, run=common.run, most_sweeps=common.most_sweeps,
        annealing=common.anneal, inputs=shown, scale=scale,
        restoring=Restoring(source=inputs.sources[0].cut(common.window), stretched_from=inputs.range if inputs.stretched else None,
                            observed=observed),
        notes=picture_notes([name_of(image, "image")], inputs) + (() if hidden is None else hidden.notes),
        truth=DenoisingTruth(cut["truth image"], grey, scale.values) if truth is not None else None,
        settings=common.settings("denoise", problem, image=name_of(image, "array"), labels=levels,
                                 mask=None if mask is None else name_of(mask, "array"),
                                 noise_deviation=deviation, noise_given=noise is not None,
                                 truth=None if truth is None else name_of(truth, "array"),
                                 stretched_from=inputs.stretched_from))


def _writes_picture(job: Job, analysis: Analysis) -> bytes:
    """The picture in its own size, depth and colours (colours of 16 bits with 8)."""
    assert job.restoring is not None
    return picture_bytes(job.restoring.picture(analysis.answer[..., 0]), job.restoring.source.white)


APPLICATION = Application(
    verb="denoise", summary="Free IMAGE of noise and fill what its mask hides: a grey for each pixel, and how sure it is.",
    title="Denoising", arguments=("image",), job=job, answer=Denoised,
    options=(
        Option(name="levels", type=int, default=64, metavar="N", help="Grey levels told apart, 2 to 256."),
        Option(name="mask", file=True, metavar="MASK", help="A grey image, 0 where the picture says nothing and is to be filled."),
        Option(name="noise", type=float, metavar="S", help="Standard deviation of the noise, in 8-bit grey.",
               said="estimated from the picture"),
        Option(name="truth", file=True, metavar="CLEAN", help="The clean picture."),
        *READING),
    common=common_options(denoising_problem, {
        "sweeps": str(SWEEPS), "alpha": "from the noise", "beta": "from the noise", "temperature": "from the noise",
        "tau": "12 of 64 grey levels", "energy_shift": "0, or what a machine of narrow energies needs"}),
    files={"denoised.png": _writes_picture},
    measures={
        "psnr": Measure("PSNR", "dB", 2), "psnr_mean": Measure("PSNR of the posterior mean", "dB", 2, said=False),
        "psnr_input": Measure("PSNR of the input", "dB", 2)},
    scene=SceneWriter(write=write_demo, options=(
        Option(name="noise", type=float, default=20.0, help="Deviation of the noise, in 8-bit grey (denoise)."),)))
