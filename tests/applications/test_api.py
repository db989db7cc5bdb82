"""The public interface: arrays in, answers out, runs that are looked at, stopped and gone on with."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import mrfhw
from mrfhw.applications.stereo.job import APPLICATION
from mrfhw.field.costs import costs_of_probabilities, scaled_costs
from mrfhw.field.energy import Energy
from mrfhw.field.problem import Run
from mrfhw.machine.config import Config
from mrfhw.pictures.flow import read_flow
from mrfhw.runs import chains as sampling
from mrfhw.scenes import denoising_scene, motion_scene, segmentation_scene, stereo_scene, write_scene

CALL_PYTHON_BITS = pytest.mark.claim(
    "interface", "a call from Python gives the bits of the command line, and a run that goes on those of one run")
OTHER_PROGRAMS_READ = pytest.mark.claim("interface", "other programs read the files of an answer")
MASK_HIDES_TRUTH = pytest.mark.claim("applications",
    "what a mask hides, or a truth does not know, has no part in the scale, the answer or its quality; what a machine cuts off is "
    "said")

ROWS, COLS = 32, 48


@pytest.fixture(scope="module")
def pair():
    return stereo_scene(ROWS, COLS, 8, 1)


def small(seed=0, labels=4):
    rng = np.random.default_rng(seed)
    return mrfhw.Problem(labels=labels, unary=rng.integers(0, 30, (12, 16, labels)), doubleton="potts", beta=6,
                         schedule=mrfhw.Schedule.constant(8.0))


def test_a_pair(pair, tmp_path):
    answer = mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=40, truth=pair.disparity)
    assert answer.disparity.dtype == np.float32
    for array, shape in ((answer.labels, ()), (answer.disparity, ()), (answer.entropy, ()), (answer.std, ()), (answer.occluded, ()),
                         (answer.interval, (2,)), (answer.mean, (1,)), (answer.counts, (8,))):
        assert array.shape == (ROWS, COLS, *shape)
    assert np.abs(answer.disparity - answer.labels).mean() < 1
    assert answer.metrics["bad_1"] < 40
    limit = answer.report["convergence"]["rhat_limit"]
    assert answer.not_mixed == answer.report["convergence"]["sites"]["not_mixed"] <= 0.1
    assert answer.converged in ((True, None) if answer.rhat < 1.05 else (None if answer.rhat < limit else False,))
    assert not answer.stopped
    paths = answer.save(tmp_path / "out")
    assert all(path.is_file() for path in paths)
    assert {"report.html", "disparity.pfm", "labels.npy"} <= {path.name for path in paths}
    assert np.array_equal(np.load(tmp_path / "out" / "labels.npy"), answer.labels)
    few = {path.name for path in answer.save(tmp_path / "few", report=False)}
    assert not {"report.html", "estimate.png", "energy.png"} & few
    assert {"report.json", "disparity.pfm", "occluded.png", "energy.npz"} <= few
    sweeps, energy = answer.energies
    assert energy.shape == (2, len(sweeps))
    assert (sweeps[-1], energy[0, -1]) == (40, Energy(answer.problem)(answer.last))
    with np.load(tmp_path / "few" / "energy.npz") as kept:
        assert np.array_equal(kept["sweeps"], sweeps)
        assert np.array_equal(kept["energy"], energy)
    assert "<img" in answer._repr_html_()
    assert "48x32" in repr(answer)


@pytest.mark.slow
@CALL_PYTHON_BITS
def test_the_same_bits_as_the_command_line(pair, tmp_path):
    left, right, _ = write_scene(pair, tmp_path)
    subprocess.run([sys.executable, "-m", "mrfhw", "run", "stereo", left, right, "--labels", "8", "--sweeps", "20", "--seed", "3",
                    "--no-report", "-o", tmp_path / "out"], check=True, stdout=subprocess.DEVNULL)
    counts = np.load(tmp_path / "out" / "histogram.npz")["counts"]
    assert not (tmp_path / "out" / "report.html").exists()
    for pictures in ((left, right), (str(left), str(right)), (Image.open(left), Image.open(right)),
                     (np.asarray(Image.open(left)), np.asarray(Image.open(right)))):
        answer = mrfhw.stereo(*pictures, labels=8, sweeps=20, seed=3)
        assert np.array_equal(answer.counts, counts)


@pytest.mark.parametrize("kind", [np.uint16, np.float64, np.float32])
def test_types_of_values(pair, kind):
    def given(picture):
        return (picture.astype(np.uint16) * 257 if kind is np.uint16 else (picture / 255).astype(kind))

    plain = mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=6)
    assert np.array_equal(mrfhw.stereo(given(pair.left), given(pair.right), labels=8, sweeps=6).counts, plain.counts)


def test_motion():
    scene = motion_scene(ROWS, COLS, 1)
    truth = scene.flow[..., ::-1]
    answer = mrfhw.motion(scene.first, scene.second, vectors=(5, 5), sweeps=40, truth=truth)
    assert answer.flow.shape == (ROWS, COLS, 2)
    assert answer.interval.shape == (ROWS, COLS, 2, 2)
    assert np.linalg.norm(answer.flow - truth, axis=-1).mean() == pytest.approx(answer.metrics["epe"], rel=1e-4)
    assert answer.metrics["epe"] == answer.metrics["epe_flow"]


@OTHER_PROGRAMS_READ
def test_motion_file(tmp_path):
    scene = motion_scene(ROWS, COLS, 1)
    answer = mrfhw.motion(scene.first, scene.second, vectors=(5, 5), sweeps=6)
    answer.save(tmp_path, report=False)
    assert np.allclose(read_flow(tmp_path / "flow.flo")[..., ::-1], answer.flow)


def test_segment():
    scene = segmentation_scene(64, 96, 1)
    answer = mrfhw.segment(scene.image, classes=4, sweeps=20, truth=[scene.classes + 1])
    assert answer.mean is answer.std is answer.interval is None
    assert answer.segments.min() == 1
    assert answer.metrics["vi"] < answer.metrics["vi_single"]


@OTHER_PROGRAMS_READ
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_denoised_pictures_are_of_their_own_kind(kind, colour, tmp_path):
    scene = denoising_scene(ROWS, COLS, 20.0, 1)
    clean, noisy = (scene.clean[..., None] * ([1, 1, 1] if colour else [1])).squeeze(), scene.noisy
    noisy = (noisy[..., None] * np.array([1, 1, 1] if colour else [1])).squeeze()
    scale = {np.uint8: 1, np.uint16: 257, np.float32: 1 / 255}[kind]
    answer = mrfhw.denoise((noisy * scale).astype(kind), mask=scene.observed, sweeps=40)
    assert (answer.image.shape, answer.image.dtype) == (noisy.shape, kind)
    known = scene.observed
    error = np.abs(answer.image / scale - clean)[known].mean()
    assert error < 0.6 * np.abs(noisy.astype(float) - clean)[known].mean()
    answer.save(tmp_path, report=False)
    read = np.asarray(Image.open(tmp_path / "denoised.png"))
    assert read.shape == noisy.shape
    assert read.dtype == (np.uint8 if kind is np.uint8 or colour else np.uint16)


def test_any_field_and_its_machine(tmp_path):
    problem = small()
    answer = mrfhw.solve(problem, sweeps=60, seed=5)
    problem.save(tmp_path / "field.npz")
    assert np.array_equal(mrfhw.solve(tmp_path / "field.npz", sweeps=60, seed=5).counts, answer.counts)
    model = mrfhw.solve(problem, sweeps=60, seed=5, backend="model")
    assert np.array_equal(mrfhw.solve(problem, sweeps=60, seed=5, machine=model.machine).counts, model.counts)
    assert not np.array_equal(model.counts, answer.counts)
    assert answer.counts.sum(-1).min() == 2 * 30


@CALL_PYTHON_BITS
@pytest.mark.parametrize("backend", ["cpu", "float", "model"])
def test_to_continue_gives_the_bits_of_one_run(backend):
    problem = small()
    whole = mrfhw.solve(problem, sweeps=90, burn_in=25, seed=2, chains=3, backend=backend)
    with mrfhw.Session(problem, burn_in=25, seed=2, chains=3, backend=backend) as session:
        for sweeps in (30, 1, 59):
            answer = session.continue_(sweeps)
        assert session.sweeps == 90
    assert np.array_equal(answer.counts, whole.counts)
    assert np.array_equal(answer.last, whole.last)
    assert answer.report["cycles"] == whole.report["cycles"]
    assert answer.report["log_messages"] == whole.report["log_messages"]
    assert (answer.rhat, answer.report["label_evaluations"]) == (whole.rhat, whole.report["label_evaluations"])


@pytest.mark.tools
@CALL_PYTHON_BITS
def test_to_continue_on_the_compiled_chip_and_in_windows():
    problem = small(labels=2)
    options = dict(machine=mrfhw.Config.preset("smallest", tile_rows=8, tile_cols=8, data_bits=5, s2_words=128), seed=1, chains=1)
    for backend, visit in (("model", 4), ("rtl", 4)):
        whole = mrfhw.solve(problem, sweeps=16, burn_in=4, visit=visit, backend=backend, **options)
        with mrfhw.Session(problem, burn_in=4, visit=visit, backend=backend, **options) as session:
            session.continue_(8)
            answer = session.continue_(8)
            assert np.array_equal(answer.counts, whole.counts)
            session.continue_(3)
            with pytest.raises(mrfhw.ProblemError, match="goes on after whole rounds of 4"):
                session.continue_(8)


def test_looks_come_side_by_side():
    seen = []
    problem = small()
    answer = mrfhw.solve(problem, sweeps=45, chains=2, callback=seen.append, every=10)
    assert [(look.chain, look.sweeps) for look in seen] == [(chain, sweeps) for sweeps in (10, 20, 30, 40, 45) for chain in (0, 1)]
    assert all(look.total == 45 for look in seen)
    assert seen[0].rhat is None
    assert seen[-1].rhat == pytest.approx(answer.rhat)
    assert np.array_equal(seen[-2].labels, answer.last)
    assert np.array_equal(answer.counts, mrfhw.solve(problem, sweeps=45, chains=2).counts)


@CALL_PYTHON_BITS
@pytest.mark.parametrize("backend", ["model", "float"])
@pytest.mark.parametrize("every", [10, 7])
def test_to_stop_early_gives_what_there_is(backend, every):
    problem = small()
    answer = mrfhw.solve(problem, sweeps=500, burn_in=20, callback=lambda look: look.sweeps >= 35, every=every, backend=backend)
    reached = {10: (40, 30), 7: (35, 28)}[every]
    assert answer.stopped
    assert answer.report["sweeps"] == reached[1]  # as far as both chains have come
    runs = [sampling.sample(backend, answer.machine, problem, Run(sweeps=sweeps, burn_in=20, seed=seed)).results[0]
            for seed, sweeps in enumerate(reached)]
    assert np.array_equal(answer.counts, runs[0].counts + runs[1].counts)


def test_to_stop_within_the_burn_in():
    answer = mrfhw.solve(small(), sweeps=500, callback=lambda look: True, every=3, chains=1)
    assert answer.stopped
    assert answer.counts.sum() == 0
    assert np.array_equal(answer.labels, answer.last)


@pytest.mark.parametrize(("call", "message"), [
    (lambda pair: mrfhw.stereo(pair.left, pair.right, label=8), "label is no option of stereo: give labels"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right[:-1]), "right image is 48x31; the left image is 48x32"),
    (lambda pair: mrfhw.stereo(pair.left, None), "right is None, or is not given"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right, data="colour"), "data is 'colour'; it is one of census, grey"),
    (lambda pair: mrfhw.stereo(pair.left / 40, pair.right / 40), "left image has values from"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right, truth="no.png"), "no.png"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right, truth=np.zeros(3)), "the truth image is of type float64 and shape"),
    (lambda pair: mrfhw.motion(pair.left, pair.right, truth=np.zeros((3, 3))), "the true motions are of type"),
    (lambda pair: mrfhw.segment(pair.left, truth=[pair.left - 300.0]), "numbers of segments are whole"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right, every=0, callback=print), "every is 0"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right, chains=0), "chains is 0"),
    (lambda pair: mrfhw.stereo(pair.left, pair.right, backend="chip"), "backend"),
    (lambda pair: mrfhw.Session(small(), burn_in=10).continue_(10), "at least one sweep must count"),
    (lambda pair: mrfhw.solve([[1, 2]]), "the problem is of type list"),
    (lambda pair: mrfhw.solve(np.zeros((3, 3))), r"costs has shape \(3, 3\); it has rows, columns and labels: give"),
])
def test_mistakes_are_one_line(pair, call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call(pair)
    assert "\n" not in str(caught.value)


def test_to_stop_in_windows_and_in_the_second_chain():
    options = dict(machine=mrfhw.Config.preset("smallest", tile_rows=8, tile_cols=8, data_bits=5, s2_words=128), visit=4)
    answer = mrfhw.solve(small(labels=2), sweeps=40, every=8, callback=lambda look: look.chain == 1 and look.sweeps >= 10,
                         **options)
    assert answer.stopped
    assert (answer.report["sweeps"], answer.report["sweeps_asked"]) == (16, 40)
    assert "stopped after 16 of 40 sweeps" in " ".join(answer.warnings)


def test_to_stop_at_the_last_look_of_the_first_chain_leaves_the_second_out():
    options = dict(machine=mrfhw.Config.preset("smallest", tile_rows=8, tile_cols=8, data_bits=5, s2_words=128), visit=4)
    answer = mrfhw.solve(small(labels=2), sweeps=8, every=8, callback=lambda look: True, **options)
    assert answer.stopped
    assert len(answer.report["chains"]) == 1


@CALL_PYTHON_BITS
@pytest.mark.parametrize("kind", [float, np.float32, np.array])
def test_whole_numbers_of_any_type(kind):
    options = dict(machine=mrfhw.Config.preset("smallest", tile_rows=8, tile_cols=8, data_bits=5, s2_words=256), backend="model")
    for given in (dict(chains=2), dict(chains=2, visit=3, **options)):
        numbers = {name: kind(value) for name, value in given.items() if name in ("chains", "visit")}
        whole = mrfhw.solve(small(), sweeps=6, burn_in=2, **given)
        answer = mrfhw.solve(small(), sweeps=6, burn_in=2, **{**given, **numbers}, every=kind(2), callback=lambda look: None)
        assert np.array_equal(answer.counts, whole.counts)
        assert (answer.report["settings"]["chains"], answer.report["settings"]["visit"]) == (2, given.get("visit"))
        with mrfhw.Session(small(), burn_in=2, **{**given, **numbers}) as session:
            assert np.array_equal(session.continue_(kind(6), every=kind(2), callback=lambda look: None).counts, whole.counts)


@pytest.mark.claim("model",
    "the processor's sampler is a backend: estimates, states, pictures of any size; it is taken where "
    "nothing of a machine is given")
@pytest.mark.parametrize("backend", ["cpu", "float", "events"])
def test_what_a_backend_without_a_machine_leaves_out_is_said(backend):
    options = dict(sweeps=8, seed=3, estimate="last", backend=backend)
    plain = mrfhw.solve(small(), **options)
    places = dict(spes=6, spus=2, tile_rows=8, tile_cols=8, s2_words=512, counter_bits=5, lmem_banks=4, line_bits=96)
    placed = mrfhw.solve(small(), **options, **places)
    assert np.array_equal(placed.last, plain.last)
    assert placed.notes == (
        "Note: spes, spus, tile_rows, tile_cols, counter_bits, lmem_banks, s2_words, line_bits place a field on a machine; backend "
        f"{backend} has none: backend model takes them",)
    with mrfhw.Session(small(), burn_in=2, estimate="last", backend=backend, tile_rows=8) as session:
        assert session.continue_(6).notes == (
            f"Note: tile_rows places a field on a machine; backend {backend} has none: backend model takes it",)
    # A machine that is given whole, and widths, hold for every backend.
    for held in (dict(machine=mrfhw.Config()), dict(energy_bits=14, weight_bits=9), {}):
        assert mrfhw.solve(small(), **options, **held).notes == ()
    message = (rf"^visit is 3; backend {backend} takes a picture of any size whole, not in windows: leave visit out, or give "
               "backend model$")
    for call in (lambda: mrfhw.solve(small(), **options, visit=3),
                 lambda: mrfhw.Session(small(), burn_in=2, backend=backend, visit=3)):
        with pytest.raises(mrfhw.ProblemError, match=message):
            call()


def test_what_a_stop_leaves_unknown_is_a_warning():
    answer = mrfhw.solve(small(), sweeps=40, callback=lambda look: True)
    assert "within the burn-in: nothing was counted" in answer.warnings[0]
    picture = np.random.default_rng(0).integers(0, 255, (12, 12), np.uint8)
    annealed = mrfhw.denoise(picture, noise=10, sweeps=40, anneal=True, callback=lambda look: look.sweeps >= 20)
    assert "before the temperature was at its end" in annealed.warnings[0]
    assert mrfhw.solve(small(), sweeps=400).warnings == ()


def test_a_callback_that_raises_leaves_the_session_as_it_was():
    def broken(look):
        raise KeyboardInterrupt

    whole = mrfhw.solve(small(), sweeps=50, burn_in=5)
    with mrfhw.Session(small(), burn_in=5) as session:
        session.continue_(10)
        with pytest.raises(KeyboardInterrupt):
            session.continue_(40, callback=broken)
        answer = session.continue_(40)
    assert np.array_equal(answer.counts, whole.counts)
    assert answer.rhat == whole.rhat
    assert answer.report["settings"]["sweeps"] == 50
    with pytest.raises(mrfhw.ProblemError, match="the session was closed"):
        session.continue_(1)
    with mrfhw.Session(small(), burn_in=5) as session:
        session.continue_(20, callback=lambda look: True)
        with pytest.raises(mrfhw.ProblemError, match="was ended by its callback"):
            session.continue_(1)


@pytest.mark.tools
@pytest.mark.parametrize("backend", ["model", "rtl"])
def test_a_second_chain_that_raises_takes_the_first_back(backend):
    """Where chains run one after the other, one may have ended when the next one's callback raises."""
    def broken(look):
        if look.chain == 1:
            raise KeyboardInterrupt

    options = dict(machine=mrfhw.Config.preset("smallest", tile_rows=8, tile_cols=8, data_bits=5, s2_words=128), visit=4,
                   backend=backend)
    whole = mrfhw.solve(small(labels=2), sweeps=12, burn_in=2, **options)
    with mrfhw.Session(small(labels=2), burn_in=2, **options) as session:
        session.continue_(4)
        with pytest.raises(KeyboardInterrupt):
            session.continue_(20, callback=broken)
        assert session.sweeps == 4
        answer = session.continue_(8)
    assert np.array_equal(answer.counts, whole.counts)
    assert np.array_equal(answer.last, whole.last)
    assert answer.rhat == whole.rhat
    assert answer.report["cycles"] == whole.report["cycles"]


def test_a_session_of_a_file(tmp_path):
    small().save(tmp_path / "field.npz")
    with mrfhw.Session(tmp_path / "field.npz", burn_in=5) as session:
        assert np.array_equal(session.continue_(20).counts, mrfhw.solve(small(), sweeps=20, burn_in=5).counts)


@pytest.mark.parametrize("initial", ["minimum", "labels"])
def test_a_session_begins_as_the_file_says(tmp_path, initial):
    field = small()
    labels = np.random.default_rng(2).integers(0, field.labels, field.shape) if initial == "labels" else initial
    field.save(tmp_path / "field.npz", Run(sweeps=20, burn_in=5, seed=4, initial=labels))
    with mrfhw.Session(tmp_path / "field.npz", burn_in=5) as session:
        found = session.continue_(20)
    assert np.array_equal(found.counts, mrfhw.solve(tmp_path / "field.npz").counts)
    assert not np.array_equal(found.counts, mrfhw.solve(field, sweeps=20, burn_in=5).counts)


def test_a_12_bit_picture_in_colour(tmp_path):
    picture = (np.random.default_rng(0).integers(1000, 4095, (16, 16, 3))).astype(np.uint16)
    answer = mrfhw.denoise(picture, depth=12, noise=3.0, sweeps=10)
    answer.save(tmp_path, report=False)
    read = np.asarray(Image.open(tmp_path / "denoised.png"))
    assert np.abs(read - answer.image * (255 / 4095)).max() <= 0.51


def test_a_stretched_picture_comes_back_in_its_own_greys():
    picture = (100 + np.arange(32) // 4 * 4)[None, :].repeat(16, 0).astype(np.uint8)
    answer = mrfhw.denoise(picture, noise=1.0, sweeps=40, stretch=True)
    assert np.abs(answer.image.astype(int) - picture).max() <= 3


def test_one_truth_or_several():
    scene = segmentation_scene(24, 32, 1)
    given = scene.classes + 1
    found = [mrfhw.segment(scene.image, classes=4, sweeps=6, truth=truth).metrics["vi"]
             for truth in (given, [given], (given,), Image.fromarray(given.astype(np.uint8)))]
    assert len(set(found)) == 1
    assert mrfhw.segment(scene.image, classes=4, sweeps=6, truth=None).metrics == {}


@pytest.mark.parametrize(("options", "message"), [
    (dict(labels=8.5), "labels is 8.5"), (dict(sweeps="6"), "sweeps is '6'"), (dict(chains="2"), "chains is '2'"),
    (dict(every=None), "every is None"), (dict(backend=None), "backend is None"), (dict(machine=[1]), r"machine is \[1\]"),
    (dict(machine=5), "machine is 5"), (dict(mesh=4), "mesh is 4"), (dict(mesh="2x"), "mesh is '2x'"),
    (dict(spes="4"), "spes is '4'"),
    (dict(window=5), "window is '5'"), (dict(noise=3), "noise is no option of stereo"), (dict(visit=0), "visit is 0"),
    (dict(anneal="yes"), "anneal is 'yes'"), (dict(min_disparity="a"), "min_disparity is 'a'"),
    (dict(truth_scale="a"), "truth_scale is"), (dict(truth_scale=4), "truth-scale is 4; it is of a picture of true disparities"),
    (dict(callback=3), "callback is 3; it is a function of a Look"),
    (dict(cooling_stride=3), "cooling-stride is 3; it is of a table"),
    (dict(sweeps=10**30), "sweeps is 1000000000000000000000000000000; it must be a whole number of at most 64 bits"),
    (dict(cooling_table=(9.0, 3.0), temperature=3.0), r"temperature is 3\.0 and cooling-table is given, too"),
    (dict(cooling_ratio="a"), "cooling_ratio is"), (dict(data=3), "data is 3"),
    (dict(machine="nowhere.json"), "nowhere.json cannot"),
    (dict(machine="census", preset="matching"), "machine is census and preset is matching"),
    (dict(truth=np.full((ROWS, COLS), 6144)), "the truth image has disparities of 6144 pixels, and 48 columns: give truth-scale"),
    (dict(sweeps=8, every=4, callback=lambda look: look.labels), r"callback gave array\("),
])
def test_values_of_other_types_are_one_line(pair, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        mrfhw.stereo(pair.left, pair.right, **options)
    assert type(caught.value) is not ValueError
    assert "\n" not in str(caught.value)


@MASK_HIDES_TRUTH
def test_what_a_mask_hides_says_nothing_of_the_scale():
    rng = np.random.default_rng(0)
    clean = np.linspace(0.2, 0.8, 30) + rng.normal(0, 0.02, (30, 30))
    mask = rng.random(clean.shape) > 0.2

    def denoised(hidden, scale=1.0, kind=np.float64, **options):
        picture = np.where(mask, clean * scale, hidden).astype(kind)
        return mrfhw.denoise(picture, mask=mask, sweeps=20, **options)

    wanted = denoised(0)
    for hidden in (np.nan, np.inf, -1, 20, 255, 1000):
        found = denoised(hidden)
        assert np.array_equal(found.image, wanted.image)
        assert found.notes == ()
    assert np.array_equal(mrfhw.denoise(np.where(mask, clean, np.nan).tolist(), mask=mask, sweeps=20).image, wanted.image)
    with pytest.raises(mrfhw.ProblemError, match="give depth 12"):
        denoised(65535, 4095, np.uint16)
    assert denoised(65535, 4095, np.uint16, depth=12).image.max() < 4095
    assert denoised(-1, 255, np.int16, depth=8).image.max() < 255
    stretched = [denoised(hidden, 20, np.uint8, stretch=True) for hidden in (0, 10, 255)]
    assert len({tuple(one.report["settings"]["stretched_from"]) for one in stretched}) == 1


@MASK_HIDES_TRUTH
def test_what_a_mask_hides_in_a_file(tmp_path):
    rng = np.random.default_rng(0)
    picture, mask = rng.integers(100, 120, (20, 24, 3)).astype(np.uint8), rng.random((20, 24)) > 0.2
    answers = []
    for hidden in (0, 255):
        Image.fromarray(np.where(mask[..., None], picture, np.uint8(hidden))).save(tmp_path / "picture.png")
        Image.fromarray((255 * mask).astype(np.uint8)).save(tmp_path / "mask.png")
        answers.append(mrfhw.denoise(tmp_path / "picture.png", mask=tmp_path / "mask.png", stretch=True, sweeps=20))
    assert answers[0].report["settings"]["stretched_from"] == answers[1].report["settings"]["stretched_from"]
    assert np.array_equal(answers[0].labels, answers[1].labels)


@MASK_HIDES_TRUTH
def test_true_disparities_below_zero_are_known(pair):
    right = np.roll(pair.right, 3, axis=1)
    answer = mrfhw.stereo(pair.left, right, labels=12, min_disparity=-4, sweeps=20, truth=pair.disparity - 3)
    known = pair.disparity != 3
    error = np.abs(answer.disparity - (pair.disparity - 3))[known]
    assert (pair.disparity < 3)[known].any()
    assert answer.metrics["bad_1"] == pytest.approx(100 * (error > 1).mean())
    assert answer.metrics["epe"] == pytest.approx(error.mean())
    assert answer.report["calibration"]["pixels"] == known.sum()


@MASK_HIDES_TRUTH
def test_energies_that_a_machine_cuts_off_are_said():
    """A squared difference beyond the machine's largest energy, at a temperature at which such labels are drawn."""
    field = dict(singleton1=np.full((2, 2), 63), singleton="squared", alpha=2)
    hot, cold, high = (mrfhw.Problem(labels=3, **field, constants=np.array([0, 1, best]), schedule=mrfhw.Schedule.constant(t))
                       for best, t in ((63, 1000.0), (63, 100.0), (18, 100.0)))

    def said(problem, **machine):
        return [line for line in mrfhw.solve(problem, sweeps=40, **machine).warnings if "takes energies above" in line]

    assert len(said(hot, backend="model")) == 1
    assert "takes energies above 4095 for that, and this field has up to 7946 at T = 1000" in said(hot, backend="model")[0]
    assert said(hot, backend="cpu") == said(cold, backend="model") == said(hot, backend="model", energy_bits=16) == []
    assert len(said(high, backend="model")) == 1  # its best label is near what is cut off
    clamped = dict(field, singleton1=np.array([[63, 0], [0, 0]]))
    kept = mrfhw.Problem(labels=3, **clamped, constants=np.array([0, 1, 18]), clamped=clamped["singleton1"] > 0,
                         schedule=mrfhw.Schedule.constant(100.0))
    assert said(kept, backend="model", initial="minimum") == []


def test_couplings_too_strong_for_a_machine_are_said():
    """Labels that may not differ by more than one between neighbours; a machine whose sums are all cut off draws at random."""
    labels = np.arange(8)
    true = np.clip(np.add.outer(np.arange(12) // 3, np.arange(16) // 6), 0, 7)
    field = dict(labels=8, unary=np.minimum((labels - true[..., None]) ** 2 * 4, 255), doubleton="table",
                 pairwise=np.where(abs(labels[:, None] - labels) > 1, 255, abs(labels[:, None] - labels)))

    def solved(beta, **machine):
        problem = mrfhw.Problem(**field, beta=beta, schedule=mrfhw.Schedule.constant(16.0))
        return mrfhw.solve(problem, sweeps=400, backend="model", seed=1, **machine)

    right, wrong, wide = solved(12), solved(16), solved(16, energy_bits=13)
    assert right.warnings == wide.warnings == ()
    assert (wrong.labels == true).mean() < 0.5 < (wide.labels == true).mean()
    line, = wrong.warnings
    share, = re.findall(r"at ([0-9.]+) % of the sites", line)
    assert float(share) > 50


def test_a_truth_of_another_scale_is_said(pair):
    def said(truth):
        return mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=8, data="grey", truth=truth).notes

    line, = said(pair.disparity * 5 + 3)
    assert re.fullmatch(r"\d+ % of the true disparities, [0-9.]+ pixels in the middle, are not among the labels, 0 to 7: "
                        r"truth-scale, the grey value that one pixel of disparity has, is 1; is that right\?", line)
    assert said(pair.disparity) == ()
    line, = said(np.where(np.arange(COLS) < COLS // 3, 30, pair.disparity))
    assert re.fullmatch(r"Note: \d+ of \d+ true disparities, most often 30 pixels, lie outside the labels, 0 to 7, and count as "
                        "errors: make them 0 where that stands for unknown", line)


def test_clamped_sites_without_labels_to_keep_are_said():
    unary, clamped = np.random.default_rng(0).integers(0, 60, (6, 8, 3)), np.zeros((6, 8), bool)
    clamped[:3] = True
    field = dict(labels=3, unary=unary, doubleton="potts", beta=5, schedule=mrfhw.Schedule.constant(10.0))

    def said(clamped, **run):
        answer = mrfhw.solve(mrfhw.Problem(**field, clamped=clamped), sweeps=20, **run)
        return any("clamped sites keep" in line for line in answer.warnings)

    assert said(clamped)
    assert not said(clamped, initial=np.zeros((6, 8), np.uint8))
    assert not said(clamped, initial="minimum")
    assert not said(np.zeros((6, 8), bool))


@MASK_HIDES_TRUTH
def test_masked_truth_is_unknown(pair):
    def bad(truth):
        return mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=20, truth=truth).metrics["bad_1"]

    true = pair.disparity
    assert bad(np.ma.masked_greater(true, 4)) == bad(np.where(true > 4, 0, true)) != bad(true)
    scene = motion_scene(32, 40)
    flow = scene.flow[..., ::-1]
    masked, unknown = np.ma.masked_less(flow, 0), np.where((flow < 0).any(-1, keepdims=True), np.nan, flow)
    found = [mrfhw.motion(scene.first, scene.second, vectors=(7, 7), sweeps=8, truth=one).metrics
             for one in (masked, unknown, flow)]
    assert found[0] == found[1] != found[2]
    classes = segmentation_scene(32, 40).classes + 1
    found = [mrfhw.segment(segmentation_scene(32, 40).image, sweeps=8, truth=one).metrics
             for one in (np.ma.masked_equal(classes, 1), np.where(classes == 1, 0, classes), classes)]
    assert found[0] == found[1] != found[2]


@MASK_HIDES_TRUTH
@pytest.mark.parametrize("call", [
    lambda masked: mrfhw.denoise(np.full((6, 8), 90, np.uint8), mask=masked),
    lambda masked: scaled_costs(masked[..., None]), lambda masked: costs_of_probabilities(masked[..., None])])
def test_other_masked_arrays_are_refused(call):
    with pytest.raises(mrfhw.ProblemError, match="is an array of which values are masked"):
        call(np.ma.masked_array(np.ones((6, 8)), np.eye(6, 8, dtype=bool)))


def test_true_disparities_of_a_file_of_floats(pair, tmp_path):
    answer = mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=20, truth=pair.disparity)
    answer.save(tmp_path, report=False)
    truth = np.asarray(Image.open(tmp_path / "disparity.pfm"))
    of_file, of_array = (mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=20, truth=one).metrics
                         for one in (tmp_path / "disparity.pfm", truth))
    assert of_file == of_array != answer.metrics


def test_means_of_classes():
    image = segmentation_scene(32, 40).image
    for means in ((50, 94, 146, 198), (50.0, 94.0, 146.0, 198.0), "50,94,146,198"):
        assert mrfhw.segment(image, means=means, sweeps=8).problem.labels == 4
    assert mrfhw.segment(image, sweeps=8).problem.labels == 3
    with pytest.raises(mrfhw.ProblemError, match="classes is 4 and means are given"):
        mrfhw.segment(image, classes=4, means=(50, 94, 146, 198))


def test_pillow_images_are_turned_upright(tmp_path):
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (12, 20)).astype(np.uint8)).save(tmp_path / "a.jpg", exif=turned)
    of_file, of_image = (mrfhw.denoise(one, sweeps=4).image for one in (tmp_path / "a.jpg", Image.open(tmp_path / "a.jpg")))
    assert of_image.shape == (20, 12)
    assert np.array_equal(of_file, of_image)


@pytest.mark.tools
@pytest.mark.parametrize(("options", "config", "kept"), [
    ({}, Config(), False), ({"spes": 1}, Config(mesh_rows=1, mesh_cols=1), False),
    ({"preset": "smallest"}, Config.preset("smallest"), True)])
def test_a_board_has_the_machine_that_it_has(pair, options, config, kept):
    """A field changes the machine of the model, unless a preset is given, but not that of a board."""
    arguments = dict(left=pair.left, right=pair.right, labels=8, **options)
    board, model = (APPLICATION.job_of(arguments, backend) for backend in ("sim://", "model"))
    assert board.config == config
    assert (model.config == config) == kept


def test_values_as_the_command_line_spells_them(pair):
    plain = mrfhw.stereo(pair.left, pair.right, labels=8, sweeps=6, window=(4, 4, 24, 16), mesh=(2, 2))
    text = mrfhw.stereo(pair.left, pair.right, labels=8.0, sweeps=np.int64(6), window="4,4,24,16", mesh="2x2")
    assert np.array_equal(plain.counts, text.counts)


def test_help_is_enough_to_start():
    text = pydoc.plain(pydoc.render_doc(mrfhw))
    for name in mrfhw.__all__:
        assert name in text
        assert inspect.getdoc(getattr(mrfhw, name)), name
    assert "answer = mrfhw.stereo(left, right" in text
    for name in ("stereo", "motion", "segment", "denoise", "solve"):
        said = " ".join(inspect.getdoc(getattr(mrfhw, name)).split())
        assert "Raises" in said or "The other arguments are those of `mrfhw.stereo`" in said
    with pytest.raises(AttributeError, match="no attribute 'stereoo'"):
        getattr(mrfhw, "stereoo")  # noqa: B009


@pytest.mark.slow
def test_the_package_alone_imports_nothing_heavy():
    code = "import mrfhw, sys; assert not {'numba', 'numpy', 'amaranth', 'click'} & set(sys.modules); mrfhw.stereo; mrfhw.Problem"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_other_mistakes_are_one_line():
    picture = np.random.default_rng(1).integers(0, 256, (12, 16), np.uint8)
    for call, message in (
            (lambda: mrfhw.segment(picture, truth=3), "truth is 3; it is a picture, the path of one, or several of these"),
            (lambda: mrfhw.segment(picture, truth=np.int64(3)), r"truth is .*3\)?; it is a picture, the path of one, or several"),
            (lambda: mrfhw.segment(picture, classes=5, means="10,200"), "classes is 5 and means are given, each of which is"),
            (lambda: mrfhw.motion(picture, picture, vectors=(65, 1)), "vectors is 65x1; the limits are 64 rows and 64 columns")):
        with pytest.raises(mrfhw.ProblemError, match=message):
            call()


@pytest.mark.claim("field",
    "costs of floats become whole numbers with the error stated; NaN, wrong shapes, tables that are not L x L, weights beyond "
    "their bits and what a machine lacks are one line; what a field needs of a machine is found")
def test_clamped_sites_have_no_counts_and_keep_their_labels():
    clamped = np.random.default_rng(1).random((12, 16)) < 0.3
    labels = np.random.default_rng(2).integers(0, 4, (12, 16))
    answer = mrfhw.solve(dataclasses.replace(small(), clamped=clamped), sweeps=20, initial=labels)
    assert np.array_equal(answer.counts.sum(-1) == 0, clamped)
    assert np.array_equal(answer.labels[clamped], labels[clamped])


def test_an_unknown_option_of_a_call_names_all_that_it_takes():
    for call in (mrfhw.solve, mrfhw.stereo):
        with pytest.raises(mrfhw.ProblemError, match="config is no option of") as caught:
            call(*[small()] if call is mrfhw.solve else [np.zeros((8, 8), np.uint8)] * 2, config=3)
        takes = [name for name, of in inspect.signature(call).parameters.items() if of.kind is of.KEYWORD_ONLY]
        assert set(takes) - set(str(caught.value).replace(",", "").split()) == set()
    with pytest.raises(mrfhw.ProblemError, match=r"chain is no option of problem: give chains$"):
        mrfhw.solve(small(), chain=3)
    with pytest.raises(mrfhw.ProblemError, match=r"chains, machine, backend, visit, or a parameter of a machine such as spes$"):
        mrfhw.Session(small(), burn_in=1, config=3)


@pytest.mark.claim("command line", "every mistake is one line with exit code 2 and leaves nothing behind")
def test_places_that_cannot_be_written_are_one_line(tmp_path):
    answer, mine = mrfhw.solve(small(), sweeps=4), tmp_path / "mine.py"
    mine.write_text("mine")
    hint = "check the path, its permissions and the space on the disk"
    for call, message in (
            (lambda: answer.save(mine), f"{mine}: Not a directory: {hint}"),
            (lambda: answer.save(mine / "below"), f"{mine}: Not a directory: {hint}"),
            (lambda: answer.save(None), "folder is None; it is the path of a folder: give one"),
            (lambda: answer.save(3), "folder is 3; it is the path of a folder: give one"),
            (lambda: answer.save(b"out"), "folder is b'out'; it is the path of a folder: give one"),
            (lambda: answer.save(""), "folder is empty: give a folder"),
            (lambda: answer.problem.save(tmp_path), f"{tmp_path}: Is a directory: {hint}"),
            (lambda: answer.problem.save(mine / "field.npz"), f"{mine}: Not a directory: {hint}"),
            (lambda: answer.problem.save(None), "path is None; it is the path of a file: give one"),
            (lambda: Run(sweeps=3).save(tmp_path), f"{tmp_path}: Is a directory: {hint}"),
            (lambda: Run(sweeps=3).save("a\0b"), r"path is 'a\x00b'; the name of a file holds no character 0: leave it out")):
        with pytest.raises(mrfhw.ProblemError) as caught:
            call()
        assert str(caught.value) == message
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_a_truth_without_a_known_pixel_is_said():
    picture = np.random.default_rng(1).integers(0, 256, (12, 16), np.uint8)
    answer = mrfhw.stereo(picture, picture, labels=4, sweeps=6, truth=np.zeros((12, 16)))
    assert answer.metrics["bad_1"] is None
    assert [note for note in answer.notes if "no known pixel" in note] == [
        "the truth has no known pixel here: nothing is compared with it"]


@pytest.mark.parametrize("shape", [(12, 16), (12, 16, 3)])
def test_what_a_mask_hides_may_be_anything(shape):
    """NaN where nothing is known is how masked pictures come; it stays refused where the mask shows it."""
    picture = np.random.default_rng(2).random(shape)
    mask = np.ones((12, 16), bool)
    mask[3:6, 4:9] = False
    holes = picture.copy()
    holes[~mask] = np.nan
    filled = np.where(mask if picture.ndim == 2 else mask[..., None], picture, picture[mask].min())
    found, plain = (mrfhw.denoise(given, mask=mask, sweeps=6, noise=10.0) for given in (holes, filled))
    assert np.array_equal(found.labels, plain.labels)
    holes[0, 0] = np.nan
    with pytest.raises(mrfhw.ProblemError, match="finite"):
        mrfhw.denoise(holes, mask=mask, sweeps=6)


def test_truths_of_several_kinds_at_once(tmp_path):
    picture = np.random.default_rng(0).integers(0, 256, (40, 50), np.uint8)
    truth = np.ones((40, 50), np.uint8)
    Image.fromarray(truth).save(tmp_path / "truth.png")
    both = mrfhw.segment(picture, truth=[truth, str(tmp_path / "truth.png")], sweeps=4)
    assert both.metrics == mrfhw.segment(picture, truth=[truth, truth], sweeps=4).metrics
    with pytest.raises(mrfhw.ProblemError, match=r"^the truth 2 is 50x39; the image is 50x40: give images of one size$"):
        mrfhw.segment(picture, truth=[truth, truth[:-1]], sweeps=4)


def test_a_mask_of_another_size_is_named_before_what_it_was_to_hide():
    picture = np.full((40, 50), np.nan)
    for given in (picture, Image.fromarray(np.zeros((40, 50), np.uint8))):
        with pytest.raises(mrfhw.ProblemError, match=r"^the mask is 50x39; the image is 50x40: give images of one size$"):
            mrfhw.denoise(given, mask=np.ones((39, 50), bool), noise=10, sweeps=4)


@pytest.mark.parametrize("backend", ["cpu", "model"])
def test_squared_doubletons_of_more_labels_than_the_default_machine_has(backend):
    pair = stereo_scene(20, 32, 8, 1)
    assert mrfhw.stereo(pair.left, pair.right, labels=24, doubleton="squared", sweeps=4, backend=backend).labels.max() < 24
    assert mrfhw.denoise(pair.left, doubleton="squared", sweeps=4, backend=backend).image.shape == pair.left.shape
    assert mrfhw.segment(pair.left, classes=20, doubleton="squared", sweeps=4, backend=backend).labels.max() < 20


@pytest.mark.parametrize("singleton", ["absolute", "squared"])
def test_greys_compared_in_place_of_descriptors_are_told_of(singleton):
    pair = stereo_scene(20, 32, 4, 1)
    said = (f"Note: singleton {singleton} compares greys, so that data is grey",)
    assert mrfhw.stereo(pair.left, pair.right, labels=4, singleton=singleton, sweeps=4).notes == said
    assert mrfhw.motion(pair.left, pair.right, vectors=(1, 4), singleton=singleton, sweeps=4).notes == said
    assert not mrfhw.stereo(pair.left, pair.right, labels=4, singleton="absolute", data="grey", sweeps=4).notes
