"""From a picture, or the file that has it, and options to the job of freeing it of noise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis
from mrfhw.applications.denoising.answer import Denoised
from mrfhw.applications.denoising.field import (
    COOLING,
    SWEEPS,
    ColourTruth,
    DenoisingTruth,
    Weights,
    colour_weights,
    denoising_problem,
    grey_levels,
    grey_scale,
    noise_deviation,
    weights_for_noise,
)
from mrfhw.applications.denoising.patches import SIDE, LikePatches
from mrfhw.applications.denoising.scene import write_demo
from mrfhw.applications.options import READING, Common, common_options, label_machine, picture_notes, same_size, squared_machine
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.jobs.application import Application, Measure, SceneWriter
from mrfhw.jobs.fields import Fields
from mrfhw.jobs.job import Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.jobs.options import Given, Option
from mrfhw.pictures.images import Inputs, load_inputs, name_of
from mrfhw.pictures.numbers import known_mask
from mrfhw.pictures.opponents import NAMES, Opponents
from mrfhw.pictures.restored import Restoring, Source
from mrfhw.report.exchange import picture_bytes

__all__ = ["APPLICATION"]


def job(app: Application, *, image: Any, levels: int, mask: Any, noise: float | None, truth: Any, alone: bool,
        given: Given, **others: Any) -> Job:
    """Check every option and read every file of a denoising problem. Raises ProblemError or ConfigError.

    image, mask, truth: paths or arrays. A picture in colour is three fields (`mrfhw.pictures.opponents`), one of greys, whatever
    its file has, one.
    """
    needed = label_machine("levels", levels)
    common = Common.of(others, lambda widths: SWEEPS, ({**needed, "data_bits": 8} if needed else {})
                       | squared_machine(others["doubleton"], levels), given)
    if noise is not None and not (math.isfinite(noise) and 0 <= noise <= 255):
        raise ProblemError(f"noise is {noise}; a deviation of 8-bit grey is 0 to 255: give a number between them")
    grey_levels(levels, common.widths.data_bits)  # refuses more than there are
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
    observed = cut["mask"] if mask is not None else None
    picture = inputs.sources[0].cut(common.window)
    found = _Colours.of(inputs, observed, common) if _in_colour(picture.values, observed) else _Greys(cut["image"], cut.get(
        "truth image"))
    deviations = [noise_deviation(plane, observed) if noise is None else noise * gain
                  for plane, gain in zip(found.planes, found.gains, strict=True)]
    if observed is not None and not observed.any():
        deviations = [0.0 if one is None else one for one in deviations]  # the problem refuses such a mask
    told = [one for one in deviations if one is not None]
    if len(told) < len(deviations):
        raise ProblemError("the noise cannot be told from the picture, in which no 3x3 pixels are all known: give noise")
    fields = [_field(common, levels, plane, observed, partial(found.weights, number, deviation))
              for number, (plane, deviation) in enumerate(zip(found.planes, told, strict=True))]
    problem, energy = fields[0]
    stretched = found.stretched_from(inputs)
    shown = {"noisy picture": cut["picture"]}
    if observed is not None:
        shown["mask"] = np.where(observed, 255, 0).astype(np.uint8)
    common = dataclasses.replace(common, energy=energy)
    deviation = [float(one / gain) for one, gain in zip(told, found.gains, strict=True)]
    together = not alone and common.run.estimate != "last" and not common.anneal and min(problem.shape) >= SIDE
    return Job(
        application=app, config=common.config, problem=problem, run=common.run, most_sweeps=common.most_sweeps,
        finer=(None if not together else
               LikePatches(found.noisy, np.array(told) / found.gains, found.axes, observed, noise is not None)),
        annealing=common.anneal, inputs=shown, restoring=Restoring(source=picture, stretched_from=stretched),
        notes=picture_notes([name_of(image, "image")], inputs) + (() if hidden is None else hidden.notes),
        **found.answered(grey_scale(grey_levels(levels, common.widths.data_bits), common.widths.data_bits),
                         tuple(field for field, _ in fields)),
        settings=common.settings("denoise", problem, image=name_of(image, "array"), labels=levels,
                                 mask=None if mask is None else name_of(mask, "array"),
                                 noise_deviation=deviation[0] if len(fields) == 1 else deviation,
                                 noise_given=noise is not None, alone=alone,
                                 truth=None if truth is None else name_of(truth, "array"),
                                 stretched_from=None if stretched is None else list(stretched)))


def _in_colour(values: np.ndarray, observed: np.ndarray | None) -> bool:
    """Whether (H, W) or (H, W, 3) values, where observed, have channels that differ."""
    if values.ndim == 2:
        return False
    known = values if observed is None else values[observed]
    return bool((known != known[..., :1]).any())


def _field(common: Common, levels: int, plane: np.ndarray, observed: np.ndarray | None,
           weights: Callable[..., Weights]) -> tuple[Problem, dict[str, Any]]:
    """The field of a plane, uint8 (H, W), and its energy without the temperature.

    weights: of the greatest datum, the number of levels and the keywords of `weights_for_noise`.
    """
    bits = common.widths.data_bits
    found = weights((1 << bits) - 1, levels, drop=8 - bits, machine=common.config, alpha=common.energy.get("alpha"),
                    singleton=common.energy["singleton"])
    energy = {**dataclasses.asdict(found), **common.energy}
    schedule = common.schedule(energy.pop("temperature"), COOLING, energy["energy_shift"])
    return denoising_problem(plane >> (8 - bits), grey_levels(levels, bits), observed=observed, schedule=schedule, **energy), energy


class _Greys:
    """What is particular to a picture of greys. grey, clean: uint8 (H, W), clean None where it is not known.

    noisy: (H, W, 1) float64 of 0..255.
    """

    gains = (1.0,)  # 8-bit greys of a plane in a unit of the picture
    axes = np.eye(1)  # (components, planes), orthonormal

    def __init__(self, grey: np.ndarray, clean: np.ndarray | None):
        self.planes, self._clean = [grey], clean
        self.noisy = grey[..., None].astype(np.float64)

    def weights(self, number: int, deviation: float, data_max: int, levels: int, *, drop: int, **others: Any) -> Weights:
        """Of a plane under noise of a deviation in 8-bit grey, of whose data the lowest `drop` bits are dropped."""
        return weights_for_noise(deviation / (1 << drop), data_max, levels, **others)

    def stretched_from(self, inputs: Inputs) -> tuple[float, float] | None:
        """As of `Restoring`."""
        return inputs.range if inputs.stretched else None

    def answered(self, scale: LabelScale, problems: tuple[Problem, ...]) -> dict[str, Any]:
        """Scale, truth and fields of the job. scale: of 8-bit greys of a plane."""
        return {"scale": scale, "truth": None if self._clean is None else DenoisingTruth(self._clean, self.planes[0], scale.values)}


class _Colours:
    """What is particular to a picture in colour. noisy, clean: (H, W, 3) float64 of 0..255, clean None where it is not known.
    range: what of 0..255 a stretch has made 0 and 255, or None."""

    def __init__(self, noisy: np.ndarray, clean: np.ndarray | None, observed: np.ndarray | None,
                 stretched: tuple[float, float] | None):
        self.noisy, self._clean, self._stretched = noisy, clean, stretched
        self._opponents = Opponents.of(noisy, observed)
        self.axes = self._opponents.weights
        self.planes, self.gains = self._opponents.planes(noisy), tuple(self._opponents.gains)

    @classmethod
    def of(cls, inputs: Inputs, observed: np.ndarray | None, common: Common) -> _Colours:
        """Raises ProblemError for a truth without colours."""
        first, *clean = inputs.sources
        if clean and clean[0].values.ndim == 2:
            raise ProblemError("the truth image is grey, and the image is in colour: give both in colour, or both in grey")
        low, high = (0.0, 1.0) if not inputs.stretched else (first.values.min() / first.white, first.values.max() / first.white)

        def colours(source: Source) -> np.ndarray:
            return (source.cut(common.window).values / source.white - low) / (high - low) * 255

        return cls(colours(first), colours(clean[0]) if clean else None, observed,
                   (255 * low, 255 * high) if inputs.stretched else None)

    def weights(self, number: int, deviation: float, data_max: int, levels: int, *, drop: int, **others: Any) -> Weights:
        """As of `_Greys`."""
        return colour_weights(deviation / (1 << drop), number, self.gains[number], data_max, levels, **others)

    def stretched_from(self, inputs: Inputs) -> tuple[float, float] | None:
        """As of `_Greys`, of all channels."""
        return self._stretched

    def answered(self, scale: LabelScale, problems: tuple[Problem, ...]) -> dict[str, Any]:
        """As of `_Greys`."""
        values = self._opponents.values(scale.values[:, 0])
        fields = Fields(problems=problems, names=NAMES, values=values, weights=self._opponents.weights, ends=(0.0, 255.0))
        return {"scale": LabelScale(values=values.T, name="colour (0 to 255)", kind="colour"), "fields": fields,
                "truth": None if self._clean is None else ColourTruth(self._clean, self.noisy, fields.at)}


def _writes_picture(job: Job, analysis: Analysis) -> bytes:
    """The picture in its own size and depth (colours of 16 bits with 8)."""
    assert job.restoring is not None
    return picture_bytes(job.restoring.picture(analysis.answer), job.restoring.source.white)


APPLICATION = Application(
    verb="denoise",
    summary="Free IMAGE of noise and fill what its mask hides: a grey or a colour for each pixel, and how sure it is.",
    title="Denoising", arguments=("image",), job=job, answer=Denoised,
    options=(
        Option(name="levels", type=int, default=64, metavar="N", help="Grey levels told apart, 2 to 256."),
        Option(name="mask", file=True, metavar="MASK", help="A grey image, 0 where the picture says nothing and is to be filled."),
        Option(name="noise", type=float, metavar="S", help="Standard deviation of the noise, in 8-bit grey.",
               said="estimated from the picture"),
        Option(name="alone", type=bool, default=False, rare=True,
               help="All numbers are those of the field's samples: patches that look alike say nothing together."),
        Option(name="truth", file=True, metavar="CLEAN", help="The clean picture."),
        *READING),
    common=common_options(denoising_problem, {
        "sweeps": str(SWEEPS), "alpha": "from the noise", "beta": "from the noise", "temperature": "from the noise",
        "tau": "12 of 64 grey levels", "energy_shift": "0, or what a machine of narrow energies needs"}),
    files={"denoised.png": _writes_picture},
    measures={
        "psnr": Measure("PSNR", "dB", 2), "psnr_mean": Measure("PSNR of the posterior mean", "dB", 2),
        "psnr_input": Measure("PSNR of the input", "dB", 2)},
    scene=SceneWriter(write=write_demo, options=(
        Option(name="noise", type=float, default=20.0, help="Deviation of the noise, in 8-bit grey (denoise)."),)))
