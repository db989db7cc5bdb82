"""Denoising and inpainting: one noisy picture in, a grey value for each pixel out.

Noise of standard deviation s added to a true grey g makes a datum d with probability exp(-(d - g)^2 / 2 s^2), which
is exp(-alpha E_singleton / T) of the squared singleton at T = 2 s^2 alpha. The prior on neighbours,
exp(-c min(|g - g'|, tau)), is exp(-beta E_doubleton / T) at beta = c T and does not depend on the noise. So the noise,
estimated from the picture, sets T and beta; at T the chain then draws from the posterior itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mrfhw.field.given import NUMBER_MAX
from mrfhw.field.problem import Problem, ProblemError, Schedule, check_labels
from mrfhw.jobs.job import Cooling
from mrfhw.jobs.label_scale import LabelScale, between
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.temperature import realized_limits

__all__ = ["COOLING", "SWEEPS", "DenoisingTruth", "Weights", "denoising_problem", "grey_levels", "grey_scale", "noise_deviation",
           "psnr", "weights_for_noise"]

SMOOTHNESS = 0.2  # c, for a difference of one of 64 grey levels
FARTHEST = 12  # tau, of 64 grey levels
LEAST_NOISE = 0.35  # in steps from label to label: rounding alone has 0.29, and a T of 0 is none
LEAST_TEMPERATURE = 24.0  # so that the whole-numbered beta is right to a tenth
LEAST_CAP = 10.0  # sixty labels whose energies are capped at so many T are drawn once in 370 times

SWEEPS = 200
COOLING = Cooling(1.0, 0.05)


def noise_deviation(image: np.ndarray, known: np.ndarray | None = None) -> float | None:
    """Standard deviation of the noise of a picture, in its own units.

    The picture is filtered by Immerkaer's mask (1 -2 1; -2 4 -2; 1 -2 1), which answers to no plane and to no step
    along rows or columns, and whose answer to noise of deviation s has deviation 6 s ("Fast Noise Variance
    Estimation", Computer Vision and Image Understanding 64 (1996)). The deviation is the median absolute answer over
    0.6745 (Donoho and Johnstone, "Ideal Spatial Adaptation by Wavelet Shrinkage", Biometrika 81 (1994)), which the few
    large answers at edges leave alone. Fine texture counts as noise.

    image: (H, W). known: (H, W) bool; only where a whole 3x3 neighbourhood is known. None where there is none.
    """
    rows, cols = image.shape
    if rows < 3 or cols < 3:
        return None
    answer = np.diff(np.diff(image.astype(np.float64), 2, axis=0), 2, axis=1)
    if known is not None:
        whole = np.lib.stride_tricks.sliding_window_view(known, (3, 3)).all((2, 3))
        answer = answer[whole]
    return float(np.median(np.abs(answer)) / (0.6745 * 6)) if answer.size else None


@dataclass(frozen=True, kw_only=True)
class Weights:
    """What the noise decides of a `Problem` with the absolute doubleton."""

    alpha: int
    beta: int
    tau: int
    energy_shift: int
    temperature: float


def weights_for_noise(deviation: float, data_max: int, levels: int, alpha: int | None = None, singleton: str = "squared",
                      machine: Config | None = None) -> Weights:
    """The weights and the temperature of the posterior under noise of a deviation, in grey levels of 0 .. data_max.

    levels: labels, evenly spaced over the grey levels. alpha: as wanted, or None for one that grows where the noise is light,
    because beta is a whole number. singleton: "squared" is that of Gaussian noise, "absolute" that of Laplace noise,
    exp(-|d - g| sqrt(2) / s). machine: within whose limits, None for none. The energy is shifted only where a machine's cap is
    near T.
    """
    most = NUMBER_MAX if machine is None else Derived.of(machine).weight_max
    deviation = max(deviation, LEAST_NOISE * data_max / (levels - 1))
    unit = deviation / math.sqrt(2) if singleton == "absolute" else 2 * deviation**2  # T of alpha = 1
    if not alpha or alpha < 1:
        alpha = max(1, min(most, math.ceil(LEAST_TEMPERATURE / unit)))
    temperature = unit * alpha
    shift = 0
    if machine is not None:
        config = Derived.of(machine)
        while shift < config.shift_max and config.energy_max << shift < LEAST_CAP * temperature:
            shift += 1
        coldest, hottest = realized_limits(config, shift)
        temperature = min(max(temperature, coldest), hottest)
    spacing = 63 / (levels - 1)  # of labels, in the 64 greys that SMOOTHNESS is of
    beta = min(most, max(1, round(SMOOTHNESS * spacing * temperature)))
    return Weights(alpha=alpha, beta=beta, tau=max(1, round(FARTHEST / spacing)), energy_shift=shift, temperature=temperature)


def grey_levels(levels: int, data_bits: int) -> np.ndarray:
    """(levels,) int64: grey data of the machine's width, evenly spaced from the least to the greatest."""
    check_labels("levels", levels)
    most = (1 << data_bits) - 1
    if levels > most + 1:
        raise ProblemError(f"levels is {levels}; data_bits = {data_bits} has {most + 1} grey levels: give fewer levels")
    return np.rint(np.linspace(0, most, levels)).astype(np.int64)


def denoising_problem(
    image: np.ndarray, levels: np.ndarray, *, observed: np.ndarray | None = None, alpha: int = 1, beta: int = 10,
    temperature: float = 48.0, schedule: Schedule | None = None, tau: int | None = 12, singleton: str = "squared",
    doubleton: str = "absolute", energy_shift: int = 0, clamped: np.ndarray | None = None,
) -> Problem:
    """The MRF whose label k at a pixel stands for the grey levels[k].

    image: (H, W) integers of the machine's width. levels: (K,) of that width, as from `grey_levels`. observed: (H, W)
    bool, False where the picture says nothing and its neighbours alone decide (inpainting).
    The other arguments are those of `Problem`; `schedule` takes the place of the constant `temperature`. The defaults
    are right for noise of deviation 4.9 of 64 grey levels; `weights_for_noise` gives others.
    Raises ProblemError for what `Problem` refuses, and where nothing is observed.
    """
    if observed is not None and not observed.any():
        raise ProblemError("mask leaves 0 pixels to see; at least 1 must be other than 0: give a mask of 0 where unknown")
    zeros = np.zeros(len(levels), np.int64)
    return Problem(
        labels=len(levels), singleton1=image, constants=np.asarray(levels, np.int64), singleton=singleton,
        doubleton=doubleton, alpha=alpha, beta=beta, tau=tau, energy_shift=energy_shift, observed=observed, clamped=clamped,
        vectors=np.stack([zeros, np.arange(len(levels)) - len(levels) // 2], 1) if doubleton == "squared" else None,
        schedule=Schedule.constant(temperature) if schedule is None else schedule,
    )


def grey_scale(levels: np.ndarray, data_bits: int) -> LabelScale:
    """What the labels of `denoising_problem` stand for: 8-bit grey, the centre of the bin that the machine's word is."""
    step = 1 << (8 - data_bits)
    values = np.asarray(levels, np.float64)[:, None] * step + (step - 1) / 2
    return LabelScale(values=values, name="grey (0 to 255)", kind="grey")


def psnr(estimate: np.ndarray, clean: np.ndarray) -> float | None:
    """10 log10(255^2 / mean squared difference) in dB, of 8-bit grey; None where nothing differs."""
    error = float(np.mean((np.asarray(estimate, np.float64) - clean) ** 2))
    return float(10 * np.log10(255**2 / error)) if error > 0 else None


class DenoisingTruth:
    """The clean picture. clean, noisy: (H, W) 8-bit grey. values: (L,) 8-bit grey of the labels.

    Quality: `psnr` of the answer, `psnr_mean` of the posterior mean beside a mode, and `psnr_input` of the noisy picture as
    it came, all in dB with a peak of 255.
    """

    error_name = "error of grey (of 255)"
    title, note = "truth", ""

    def __init__(self, clean: np.ndarray, noisy: np.ndarray, values: np.ndarray, wrong_above: float = 25.0):
        self.clean, self.noisy = clean.astype(np.float64), noisy.astype(np.float64)
        self.values = np.asarray(values, np.float64).ravel()
        self.wrong_above, self.wrong = wrong_above, f"grey off by more than {wrong_above:g} of 255"
        self.picture = self.clean[..., None]

    def error(self, labels: np.ndarray) -> np.ndarray:
        """|grey - clean| of (H, W) labels, float64 (H, W)."""
        return np.abs(between(self.values, labels) - self.clean)

    def quality(self, values: np.ndarray) -> dict[str, float | None]:
        """`psnr` of (H, W, 1) greys."""
        return {"psnr": psnr(values[..., 0], self.clean)}

    def metrics(self, labels: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None = None) -> dict[str, float | None]:
        """The quality of (H, W) labels and of the (H, W, 1) posterior mean of the grey."""
        quality = self.quality(between(self.values, labels)[..., None])
        if mean is not None:
            quality["psnr_mean"] = psnr(mean[..., 0], self.clean)
        quality["psnr_input"] = psnr(self.noisy, self.clean)
        return quality
