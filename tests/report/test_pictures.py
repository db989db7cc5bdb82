"""The pictures of a run: their colours mean what the legend says, and odd data are drawn too."""

import io

import numpy as np
import pytest
from PIL import Image

from mrfhw.analysis.calibration import sparsification
from mrfhw.analysis.trace import Trace
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.report import pictures

SCALES = {
    "scalar": LabelScale(values=np.arange(6.0)[:, None], name="disparity (pixels)"),
    "grey": LabelScale(values=np.linspace(0, 250, 6)[:, None], name="grey (0 to 255)", kind="grey"),
    "classes": LabelScale(values=np.linspace(20, 220, 6)[:, None], name="class (mean grey)", kind="classes"),
    "flow": LabelScale(values=np.array([(r, c) for r in (-1, 0) for c in (-1, 0, 1)], float), name="motion (pixels)", kind="flow"),
}


def opened(png):
    with Image.open(io.BytesIO(png)) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB")).astype(int)


def has(picture, colour, within=2):
    """How many pixels have (r, g, b)."""
    return int((np.abs(picture - np.array(colour)).max(-1) <= within).sum())


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("panels", [1, 2])
def test_labelled_maps(kind, panels):
    scale = SCALES[kind]
    values = scale.values[np.arange(48).reshape(6, 8) % 6]
    holed = values.copy()
    holed[:3] = np.nan
    unknown = (143, 184, 220) if kind == "grey" else (183, 183, 183)
    png = pictures.labelled(dict(list({"first": holed, "second": values}.items())[:panels]), scale)
    assert has(opened(png), unknown) > 10000
    whole = opened(pictures.labelled({"second": values}, scale))
    assert has(whole, unknown) < 500
    assert min(whole.shape[:2]) > 200


def test_classes_have_colours_of_their_own():
    scale = SCALES["classes"]
    picture = opened(pictures.labelled({"x": scale.values[np.arange(6)[None].repeat(4, 0)]}, scale))
    for colour in pictures.class_colours(6)[:, :3] * 255:
        assert has(picture, colour) > 1000
    # A truth between two classes has the nearer one's colour.
    near = opened(pictures.labelled({"x": np.full((4, 4, 1), 75.0)}, scale))
    first, second = pictures.class_colours(2)[:, :3] * 255
    assert has(near, second) > 20 * has(near, first)


@pytest.mark.parametrize("count", [2, 9, 10, 40, 64])
def test_class_colours_differ(count):
    colours = pictures.class_colours(count)
    assert colours.shape == (count, 4)
    assert len(np.unique(np.round(colours * 255), axis=0)) == count


def test_flow_colours_by_direction_and_length():
    # Right, down, left, up, still, half as long, unknown.
    vectors = np.array([[(0, 2), (2, 0), (0, -2), (-2, 0), (0, 0), (0, 1), (np.nan, 1)]], float)
    right, down, left, up, still, half, unknown = pictures.flow_colours(vectors, 2.0)[0].astype(int)
    assert right.tolist() == [255, 0, 0]
    assert still.tolist() == [255, 255, 255]
    assert half.tolist() == pytest.approx([255, 127, 127], abs=1)
    assert unknown[0] == unknown[1] == unknown[2] == 183
    # The wheel runs from red by yellow (down), cyan-blue (left) and violet (up) back to red.
    assert down[0] > 200
    assert down[1] > 200
    assert down[2] < 20
    assert left[2] == 255
    assert left[0] < 20
    assert up[2] == 255
    assert up[0] > 50


def test_flow_colours_as_the_published_code_computes_them():
    def published(row, col):
        """One pixel of computeColor of the code published with the data set, written out."""
        wheel = []
        for count, colour in ((15, lambda t: (255, 255 * t, 0)), (6, lambda t: (255 - 255 * t, 255, 0)),
                              (4, lambda t: (0, 255, 255 * t)), (11, lambda t: (0, 255 - 255 * t, 255)),
                              (13, lambda t: (255 * t, 0, 255)), (6, lambda t: (255, 0, 255 - 255 * t))):
            wheel += [colour(n / count) for n in range(count)]
        radius = np.hypot(row, col)
        position = (np.arctan2(-row, -col) / np.pi + 1) / 2 * (len(wheel) - 1)
        k = int(position)
        low, high = np.array(wheel[k]) / 255, np.array(wheel[(k + 1) % len(wheel)]) / 255
        colour = (1 - (position - k)) * low + (position - k) * high
        return 255 * (1 - radius * (1 - colour) if radius <= 1 else colour * 0.75)

    vectors = np.random.default_rng(0).normal(0, 0.7, (5, 9, 2))
    expected = np.array([[published(*v) for v in line] for line in vectors])
    assert np.abs(pictures.flow_colours(vectors, 1.0) - expected).max() <= 1


def test_flow_of_nothing():
    assert (pictures.flow_colours(np.zeros((2, 3, 2))) == 255).all()
    assert pictures.flow_colours(np.full((2, 3, 2), np.nan)).shape == (2, 3, 3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 2)])
def test_narrow_grids(shape):
    for scale in SCALES.values():
        values = scale.values[np.zeros(shape, int)]
        assert min(opened(pictures.labelled({"one": values}, scale)).shape[:2]) > 100
        assert min(opened(pictures.labelled({"one": values, "two": values}, scale)).shape[:2]) > 100
    opened(pictures.measure(np.zeros(shape), "zero", "entropy (bits)"))
    opened(pictures.measure(np.full(shape, np.nan), "unknown", "error"))


def test_a_large_picture_keeps_its_sites():
    values = SCALES["scalar"].values[np.arange(1200)[None].repeat(300, 0) % 2]
    picture = opened(pictures.labelled({"stripes": values}, SCALES["scalar"]))
    assert picture.shape[1] > 1200


def test_unknown_errors_are_hatched():
    values = np.zeros((20, 30))
    values[:, :15] = np.nan
    plain, hatched = opened(pictures.measure(np.zeros((20, 30)), "a", "b")), opened(pictures.measure(values, "a", "b"))
    assert has(hatched, (183, 183, 183)) > 10000 > 100 * has(plain, (183, 183, 183))


def test_errors_end_at_three_times_what_is_wrong():
    error = np.array([[0.0, 3, 50], [1, 2, 3]])
    picture = opened(pictures.errors(error, "error", "error (pixels)", 1.0))
    last = np.array(picture[picture.shape[0] // 4, :, :])
    # 3 and 50 have the last colour alike: the right two thirds of the upper row.
    assert has(picture, (252, 255, 164)) > 0.3 * 500 * 300
    assert last.shape[1] == 3
    assert pictures._error_limit(np.array([[0.0, 1.0]]), 0.5) == 1.0
    assert pictures._error_limit(np.array([[np.nan]]), 0.5) is None


def trace(chains, n, burn_in=0):
    energy = np.random.default_rng(0).random((chains, n)) * 1e5
    return Trace(sweeps=np.arange(1, n + 1), burn_in=burn_in, energy=energy, sites=np.zeros((0, 2), np.int64),
                 labels=np.zeros((chains, n, 0), np.uint8))


@pytest.mark.parametrize(("chains", "n", "burn_in"), [(1, 1, 0), (2, 40, 20), (12, 30, 10), (2, 10, 10), (2, 3, 2)])
def test_energy_by_sweep(chains, n, burn_in):
    picture = opened(pictures.energy_by_sweep(trace(chains, n, burn_in)))
    assert has(picture, (11, 95, 165), 40) > 10
    # The burn-in is shaded, and what was counted is drawn again beside it.
    assert (has(picture, (237, 237, 237)) > 1000) == (burn_in > 0)
    assert (picture.shape[1] > 1000) == (0 < burn_in < n)


@pytest.mark.parametrize(("chains", "burn_in"), [(2, 20), (8, 20), (8, 0)])
def test_the_legend_of_energies_is_beside_the_curves(chains, burn_in, monkeypatch):
    drawn = []
    monkeypatch.setattr(pictures, "_png", lambda figure, dpi: drawn.append(figure) or b"")
    pictures.energy_by_sweep(trace(chains, 40, burn_in))
    figure = drawn[0]
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert len(legend.get_texts()) == chains + (burn_in > 0)
    assert figure.bbox.x0 <= box.x0
    assert box.x1 <= figure.bbox.x1
    assert all(axes.get_legend() is None for axes in figure.axes)
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes)


def test_sparsification_curves():
    rng = np.random.default_rng(0)
    curve = sparsification(rng.random(100), rng.random(100))
    picture = opened(pictures.sparsification({"entropy": curve, "std": curve}, "error (pixels)"))
    assert has(picture, (200, 16, 46), 40) > 100
    opened(pictures.sparsification({"entropy": None}, "error (pixels)"))
    flat = sparsification(rng.random(9), np.zeros(9))
    opened(pictures.sparsification({"entropy": flat}, "error (pixels)"))


def test_the_same_data_give_the_same_file():
    values = np.random.default_rng(0).random((5, 7))
    assert pictures.measure(values, "a", "b") == pictures.measure(values, "a", "b")
    assert b"Matplotlib" not in pictures.measure(values, "a", "b")


@pytest.mark.parametrize("shape", [(9, 11), (9, 11, 3), (2000, 40)])
def test_input_pictures(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    picture = opened(pictures.input_picture(pixels))
    if max(shape) < 1600:
        assert np.array_equal(picture, pixels if pixels.ndim == 3 else pixels[..., None].repeat(3, -1))
    else:
        assert picture.shape[:2] == (1600, 32)


def test_numbers_up_to_what_16_bits_hold():
    greatest = np.array([[0, 65535]], np.int32)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(pictures.numbers(greatest)))), greatest)
    assert pictures.numbers(greatest + 1) is None
