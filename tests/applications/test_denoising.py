"""The denoising problem: the noise it finds, energies and PSNR, and what its defaults reach."""

import numpy as np
import pytest
from PIL import Image

from mrfhw.applications.denoising.field import (
    DenoisingTruth,
    denoising_problem,
    grey_levels,
    grey_scale,
    noise_deviation,
    psnr,
    weights_for_noise,
)
from mrfhw.field.energy import singleton_energies
from mrfhw.field.problem import ProblemError, Run, Schedule
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.fit import check_fits
from mrfhw.scenes import denoising_scene
from mrfhw.twin.machine import solve
from support.data import data_directory

LEVELS = grey_levels(64, 6)


def weights(deviation, config, levels, **more):
    """Within the limits of a machine, of its data."""
    return weights_for_noise(deviation, (1 << config.data_bits) - 1, levels, machine=config, **more)


def solved(noisy, observed, sweeps, config=None, levels=LEVELS):
    """(mode, posterior mean) in 8-bit grey of the application's defaults."""
    config = config or Config()
    found = weights(noise_deviation(noisy, observed) / 4, config, len(levels))
    problem = denoising_problem(noisy >> 2, levels, observed=observed, alpha=found.alpha, beta=found.beta, tau=found.tau,
                                energy_shift=found.energy_shift, temperature=found.temperature)
    result = solve(config, problem, Run(sweeps=sweeps, burn_in=sweeps // 2))
    values = grey_scale(levels, 6).values[:, 0]
    return values[result.mode], result.counts @ values / result.counts.sum(-1)


@pytest.mark.parametrize("deviation", [2.0, 10.0, 30.0])
def test_noise_of_a_plane(deviation):
    row, col = np.indices((120, 150))
    plane = 90 + 0.3 * row - 0.2 * col
    noisy = plane + np.random.default_rng(0).normal(0, deviation, plane.shape)
    assert noise_deviation(noisy) == pytest.approx(deviation, rel=0.03)
    assert noise_deviation(plane) == pytest.approx(0, abs=1e-9)


def test_noise_beside_steps_and_holes():
    picture = np.where(np.indices((120, 150))[1] // 10 % 2, 40.0, 200.0) + np.random.default_rng(1).normal(0, 8, (120, 150))
    assert noise_deviation(picture) == pytest.approx(8, rel=0.05)  # steps along columns cancel
    known = np.ones(picture.shape, bool)
    known[30:60, 20:90] = False
    picture[~known] = 0
    assert noise_deviation(picture, known) == pytest.approx(8, rel=0.05)


def test_no_whole_neighbourhood():
    assert noise_deviation(np.zeros((2, 9))) is None
    known = np.zeros((9, 9), bool)
    known[::2] = True
    assert noise_deviation(np.random.default_rng(0).normal(0, 9, (9, 9)), known) is None


@pytest.mark.parametrize("deviation", [0.0, 0.5, 1.5, 5.0, 12.0, 30.0, 60.0])
@pytest.mark.parametrize("preset", [name for name in PRESETS if Config.preset(name).distance != "hamming"])
@pytest.mark.parametrize("levels", [8, 64])
def test_weights_fit_every_machine(preset, deviation, levels):
    config = Derived.preset(preset)
    data = np.zeros((4, 4), int)
    count = min(levels, config.max_labels)
    found = weights(deviation, config, count)
    check_fits(config, denoising_problem(data, grey_levels(count, config.data_bits), alpha=found.alpha, beta=found.beta,
                                         tau=found.tau, energy_shift=found.energy_shift, temperature=found.temperature))


def test_weights_are_those_of_the_posterior():
    """exp(-alpha d^2 / T) is the Gaussian of the noise, and beta / T does not depend on it."""
    config = Config()
    for deviation in (0.6, 2.0, 5.0, 14.0):
        found = weights(deviation, config, 64)
        assert found.alpha / found.temperature == pytest.approx(1 / (2 * deviation**2))
        assert found.beta / found.temperature == pytest.approx(0.2, rel=0.12)
        assert (found.tau, found.energy_shift) == (12, 0)
    assert weights(5.0, config, 64, alpha=3).temperature == pytest.approx(150)
    laplace = weights(5.0, config, 64, singleton="absolute")
    assert laplace.alpha / laplace.temperature == pytest.approx(2**0.5 / 5)
    assert weights(0.0, config, 8).temperature == pytest.approx(2 * (0.35 * 9) ** 2 * 2)  # 8 labels, 9 apart
    assert weights(5.0, config, 22).beta == 30  # a label is three of 64 greys
    assert weights(5.0, config, 22).tau == 4
    assert weights(16.0, Config(energy_bits=8), 64).energy_shift == 5  # 255 << 5 is above 10 T = 5120


@pytest.mark.parametrize(("levels", "bits", "values"), [(2, 6, [0, 63]), (4, 6, [0, 21, 42, 63]), (64, 6, list(range(64))),
                                                        (3, 8, [0, 128, 255])])
def test_levels(levels, bits, values):
    assert grey_levels(levels, bits).tolist() == values


@pytest.mark.parametrize(("levels", "bits", "message"), [(1, 6, "levels is 1"), (257, 6, "levels is 257"),
                                                         (32, 4, "16 grey levels")])
def test_levels_refused(levels, bits, message):
    with pytest.raises(ProblemError, match=message):
        grey_levels(levels, bits)


def test_energies_and_the_mask():
    image = np.array([[0, 10], [20, 63]])
    observed = np.array([[True, False], [True, True]])
    problem = denoising_problem(image, grey_levels(4, 6), observed=observed)
    expected = (image[..., None] - np.array([0, 21, 42, 63])) ** 2
    expected[0, 1] = 0
    assert np.array_equal(singleton_energies(problem), expected)
    assert problem.schedule == Schedule.constant(48.0)
    with pytest.raises(ProblemError, match="mask leaves 0 pixels"):
        denoising_problem(image, LEVELS, observed=np.zeros((2, 2), bool))


def test_psnr_by_hand():
    clean = np.array([[0, 100], [200, 255]])
    assert psnr(clean, clean) is None
    assert psnr(clean + 5, clean) == pytest.approx(10 * np.log10(65025 / 25))
    assert psnr(np.array([[255]]), np.array([[0]])) == pytest.approx(0)


@pytest.mark.claim("applications", "measures of quality equal those computed by hand, unknown truth left out")
def test_truth_by_hand():
    clean = np.array([[10, 20]], np.uint8)
    truth = DenoisingTruth(clean, np.array([[20, 20]], np.uint8), np.array([[10.0], [24.0]]))
    labels = np.array([[0, 1]], np.uint8)
    assert np.array_equal(truth.error(labels), [[0, 4]])
    quality = truth.metrics(labels, np.array([[[10.0], [22.0]]]))
    assert quality == pytest.approx({"psnr": 10 * np.log10(65025 / 8), "psnr_mean": 10 * np.log10(65025 / 2),
                                     "psnr_input": 10 * np.log10(65025 / 50)})
    assert set(truth.metrics(labels, None)) == {"psnr", "psnr_input"}


def test_scale_is_the_middle_of_the_bin():
    assert grey_scale(grey_levels(4, 6), 6).values[:, 0].tolist() == [1.5, 85.5, 169.5, 253.5]
    assert grey_scale(grey_levels(3, 8), 8).values[:, 0].tolist() == [0, 128, 255]


@pytest.mark.claim("applications",
    "every application runs from files by its defaults and is better than what the pictures say by themselves")
@pytest.mark.parametrize(("deviation", "gain"), [(5.0, 1.5), (20.0, 7.0), (40.0, 8.0)])
def test_defaults_on_the_built_in_scene(deviation, gain):
    """Light and heavy noise, the picture given as it is: so many dB above what was known of it."""
    scene = denoising_scene(96, 128, deviation, seed=1)
    mode, mean = solved(scene.noisy, scene.observed, 100)
    seen = scene.observed
    before = psnr(scene.noisy[seen], scene.clean[seen])
    assert psnr(mode[seen], scene.clean[seen]) > before + gain
    assert psnr(mean[seen], scene.clean[seen]) > before + gain
    hidden = psnr(mean[~seen], scene.clean[~seen])
    grey = psnr(np.full(int((~seen).sum()), scene.noisy[seen].mean()), scene.clean[~seen])
    assert hidden > grey + 4  # filled from the neighbours, better than with the picture's mean


def test_a_machine_of_narrow_energies():
    scene = denoising_scene(48, 64, 40.0, seed=2)
    mode, _ = solved(scene.noisy, scene.observed, 80, Config(energy_bits=8))
    seen = scene.observed
    assert psnr(mode[seen], scene.clean[seen]) > psnr(scene.noisy[seen], scene.clean[seen]) + 5


def test_defaults_on_a_photograph():
    data = data_directory() / "mrf" / "bp-penguin"
    clean, noisy = (np.array(Image.open(data / f"{name}.png")) for name in ("clean", "noisy"))
    mode, mean = solved(noisy, None, 100)
    assert psnr(noisy, clean) == pytest.approx(22.27, abs=0.01)
    assert psnr(mode, clean) > 27
    assert psnr(mean, clean) > 28
