"""What the applications make of a mean and of a last sample, beside the mode of the same samples."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.applications.stereo.field import bad_pixels
from mrfhw.backends.plan import solve
from mrfhw.cli import main
from mrfhw.field.problem import ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.scenes import denoising_scene, stereo_scene, write_scene

MEAN_DISPARITIES_GREYS = pytest.mark.claim("applications",
    "the mean of disparities and greys is that of the histogram of the same samples; what has no mean refuses it in one line")

STEREO = stereo_scene(48, 64, 8, 0)
NOISY = denoising_scene(40, 48)
OF_HISTOGRAM = ("counts", "entropy", "std", "interval")


def stereo(estimate: str, **options: object) -> mrfhw.Disparity:
    return mrfhw.stereo(STEREO.left, STEREO.right, labels=8, min_disparity=0, sweeps=24, seed=3, truth=STEREO.disparity,
                        estimate=estimate, **options)


def refuses(answer: mrfhw.Answer, *names: str) -> None:
    for name in names:
        with pytest.raises(ProblemError, match=rf"^{name} of a run whose estimate is (mean|last): only a run whose estimate is "
                                               r"(mode|mean) keeps what it is made of: give estimate=(mode|mean)$"):
            getattr(answer, name)


@MEAN_DISPARITIES_GREYS
def test_the_mean_of_a_denoised_picture_is_that_of_its_histogram():
    mode, mean, last = (mrfhw.denoise(NOISY.noisy, sweeps=20, seed=2, truth=NOISY.clean, estimate=estimate, alone=True)
                        for estimate in ("mode", "mean", "last"))
    np.testing.assert_allclose(mean.mean, mode.mean, atol=1e-9)
    other = mean.image != mode.image  # of a half that is rounded
    assert (np.abs(mode.mean[other] % 1 - 0.5) < 1e-9).all()
    assert mean.metrics["psnr"] == pytest.approx(mode.metrics["psnr_mean"])
    assert "psnr_mean" not in mean.metrics
    assert np.array_equal(mean.sums[..., 0], mode.counts @ np.arange(64))
    assert np.array_equal(mean.labels, np.rint(mean.sums[..., 0] / 20))  # two chains, half of the sweeps counted
    assert mean.rhat == mode.rhat
    refuses(mean, *OF_HISTOGRAM)
    assert np.array_equal(last.labels, last.last)
    assert len(last.report["chains"]) == 1
    refuses(last, *OF_HISTOGRAM, "mean", "sums")
    assert np.array_equal(last.last, mode.last)


@MEAN_DISPARITIES_GREYS
def test_stereo_has_disparities_between_pixels():
    mode, mean, last = (stereo(estimate, one_way=True, alone=True) for estimate in ("mode", "mean", "last"))
    labels = mean.sums[..., 0] / mean.sums[..., 1]
    np.testing.assert_allclose(mean.disparity, labels, atol=1e-5)
    np.testing.assert_allclose(mean.mean, mode.mean, atol=1e-9)
    assert (mean.disparity % 1 > 0).any()
    assert mean.metrics["bad_1"] == bad_pixels(labels, 0, STEREO.disparity, 1)
    known = STEREO.disparity > 0
    assert mean.metrics["epe"] == pytest.approx(np.abs(labels - STEREO.disparity)[known].mean()) == pytest.approx(
        mode.metrics["epe_mean"])
    assert np.array_equal(last.disparity, last.last.astype(np.float32))


@MEAN_DISPARITIES_GREYS
@pytest.mark.parametrize("estimate", ["mean", "last"])
def test_matching_both_ways_keeps_no_histogram_either(estimate):
    answer = stereo(estimate, backend="model")
    assert answer.occluded is not None
    assert all(one.messages_counted == 0 for one in answer._job.prior)
    assert answer.report["log_messages"] == 0


@pytest.mark.claim("runtime", "histograms are counted whole, however long a run is, and those of what comes first are let go")
def test_what_comes_first_keeps_its_numbers_alone():
    answer = stereo("mode", backend="model")
    assert [(one.counts, one.sums) for one in answer._job.prior] == [(None, None)] * 2
    assert all(one.messages_counted > 0 for one in answer._job.prior)


@MEAN_DISPARITIES_GREYS
def test_annealing_is_the_last_sample_and_may_be_the_mode():
    annealed = stereo("last", anneal=True, backend="model")
    asked = mrfhw.stereo(STEREO.left, STEREO.right, labels=8, sweeps=24, seed=3, anneal=True, backend="model")
    assert np.array_equal(annealed.labels, asked.labels)
    assert asked.report["estimate"] == "last sample"
    assert asked.report["log_messages"] == 0
    mode = stereo("mode", anneal=True, backend="model")
    assert np.array_equal(mode.last, asked.labels)
    assert mode.report["estimate"] == "mode"
    assert (mode.counts.sum(-1) == mode.report["sweeps"] - mode.report["burn_in"]).all()


@MEAN_DISPARITIES_GREYS
def test_fields_of_ones_own_have_a_mean_of_numbers(tmp_path):
    rng = np.random.default_rng(1)
    problem = mrfhw.Problem(labels=5, unary=rng.integers(0, 30, (9, 11, 5)), beta=2, schedule=mrfhw.Schedule.constant(8.0),
                            clamped=rng.random((9, 11)) < 0.2)
    mode, mean = (mrfhw.solve(problem, sweeps=30, burn_in=6, seed=4, estimate=estimate) for estimate in ("mode", "mean"))
    free = ~problem.clamped
    np.testing.assert_allclose(mean.mean[free, 0], (mode.counts @ np.arange(5))[free] / 48)
    assert np.array_equal(mean.mean[~free, 0], mode.labels[~free])
    with mrfhw.Session(problem, burn_in=6, seed=4, estimate="mean") as session:
        session.continue_(11)
        found = session.continue_(19)
    assert np.array_equal(found.sums, mean.sums)
    stopped = mrfhw.solve(problem, sweeps=30, burn_in=20, seed=4, estimate="mean", every=5, callback=lambda look: look.sweeps >= 5)
    assert stopped.stopped
    assert not stopped.sums.any()
    assert np.array_equal(stopped.labels, stopped.last)
    assert "nothing was counted" in stopped.warnings[0]
    run = Run(sweeps=8, burn_in=2, estimate="mean")
    problem.save(tmp_path / "field.npz", run)
    result = CliRunner().invoke(main, ["run", "problem", str(tmp_path / "field.npz"), "--no-report", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["estimate"] == "mean"
    assert report["files"] == ["labels.npy", "last.npy", "report.json", "mean.npy", "energy.npz", "mean.pfm"]
    one = solve("model", mrfhw.Config(), problem, run)
    one.save(tmp_path / "result")
    assert Result.load(tmp_path / "result") == one


@pytest.mark.tools
@MEAN_DISPARITIES_GREYS
@pytest.mark.parametrize("estimate", ["mean", "last"])
def test_run_and_verify(tmp_path, estimate):
    write_scene(STEREO, tmp_path)
    pictures = [str(tmp_path / f"{name}.png") for name in ("left", "right")]
    words = ["stereo", *pictures, "--labels", "8", "--sweeps", "6", "--estimate", estimate, "--spes", "4", "--tile-rows", "24",
             "--tile-cols", "32"]
    result = CliRunner().invoke(main, ["run", *words, "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"estimate.png", "labels.npy", "disparity.pfm", "report.html"} <= written
    assert not written & {"entropy.png", "entropy.npy", "histogram.npz", "std.npy", "interval.npy", "median.npy", "entropy.pfm"}
    assert ("mean.npy" in written) == (estimate == "mean")
    page = (tmp_path / "out" / "report.html").read_text()
    assert {"mean": "The mean of the counted labels", "last": "The last sample"}[estimate] in page
    assert "<h2>Uncertainty</h2>" not in page
    result = CliRunner().invoke(main, ["verify", *words])
    assert result.exit_code == 0, result.output
    assert ("the same sums of 9216 samples" in result.stdout) == (estimate == "mean")
    assert "0 log messages" in result.stdout


@MEAN_DISPARITIES_GREYS
@pytest.mark.parametrize(("call", "message"), [
    (lambda: mrfhw.segment(NOISY.noisy, sweeps=4, estimate="mean"),
     "estimate is mean; of segment labels are classes, not numbers, and have no mean: give mode or last"),
    (lambda: mrfhw.motion(STEREO.left, STEREO.right, vectors=(3, 3), sweeps=4, estimate="mean"),
     "estimate is mean; of motion a label is a place in the window of motions, and a mean of places is no motion: give mode or "
     "last"),
    (lambda: mrfhw.denoise(NOISY.noisy, sweeps=4, estimate="median"),
     "estimate is 'median'; it must be one of mode, mean, last: choose one"),
])
def test_refused(call, message):
    with pytest.raises(ProblemError) as error:
        call()
    assert str(error.value) == message
