"""What is made of a histogram of labels: by hand, against brute force, and whatever the size of the image."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfhw.analysis import uncertainty
from mrfhw.analysis.uncertainty import entropy, quantify
from mrfhw.jobs.label_scale import LabelScale

MEAN_DEVIATION = pytest.mark.claim("uncertainty", "mean, deviation, interval and entropy are those of the samples")


def scalar(labels, first=0.0, step=1.0, kind="grey"):
    """Of "grey" intervals end at labels, of "scalar" between them."""
    return LabelScale(values=(first + step * np.arange(labels))[:, None], name="x", kind=kind)


def of_sites(rows, scale=None, level=0.9, last=None):
    """Uncertainty of a row of sites, one a histogram."""
    counts = np.array([rows], np.uint32)
    last = np.zeros(counts.shape[:2], np.uint8) if last is None else np.array([last], np.uint8)
    return quantify(counts, last, scale or scalar(counts.shape[2]), level)


def samples(histogram, values):
    return np.repeat(values, histogram, axis=0)


def test_entropy_by_hand():
    counts = np.array([[[4, 0, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [6, 2, 0, 0]]], np.uint32)
    expected = [0, 1, 2, 0, -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))]
    for found in (entropy(counts), of_sites(counts[0]).entropy):
        assert found[0] == pytest.approx(expected)
        assert not np.signbit(found).any()


@MEAN_DEVIATION
def test_a_site_by_hand():
    found = of_sites([[1, 2, 5, 2, 0]], scalar(5, first=10, step=2), level=0.8)
    assert found.mode[0, 0] == 2
    assert found.mean[0, 0, 0] == pytest.approx((10 + 24 + 70 + 32) / 10)
    assert found.std[0, 0] == pytest.approx(np.std([10, 12, 12, 14, 14, 14, 14, 14, 16, 16]))
    # One sample of ten may be left below and one above.
    assert found.interval[0, 0, 0].tolist() == [12, 16]
    assert found.width[0, 0] == 4
    assert found.set_size[0, 0] == 3  # 5 + 2 of 10 are too few
    assert found.counted.all()


@MEAN_DEVIATION
def test_sites_that_were_not_counted_have_their_last_label():
    found = of_sites([[0, 0, 0], [0, 1, 3]], scalar(3, first=7), last=[2, 0])
    assert found.counted.tolist() == [[False, True]]
    assert found.mode.tolist() == [[2, 2]]
    assert (found.mean[0, 0, 0], found.std[0, 0], found.entropy[0, 0], found.set_size[0, 0]) == (9, 0, 0, 1)
    assert found.interval[0, 0, 0].tolist() == [9, 9]
    assert found.summary()["sites"] == 1
    assert found.summary()["mean_entropy"] == pytest.approx(0.25 * 2 + 0.75 * math.log2(4 / 3))


def test_the_input_stays_as_it_is():
    counts = np.zeros((2, 3, 4), np.uint32)
    quantify(counts, np.ones((2, 3), np.uint8), scalar(4))
    assert not counts.any()


def test_classes_have_no_order():
    scale = LabelScale(values=np.array([[40.0], [200], [90]]), name="class (mean grey)", kind="classes")
    found = of_sites([[1, 1, 8]], scale)
    assert found.mean is None
    assert found.std is None
    assert found.interval is None
    assert found.width is None
    assert found.set_size[0, 0] == 2
    assert found.summary()["mean_std"] is None
    assert found.summary()["mean_entropy"] > 0


def test_intervals_of_labels_whose_values_do_not_rise():
    values = np.array([[5.0], [1], [3], [1]])
    found = of_sites([[2, 4, 2, 2]], LabelScale(values=values, name="x", kind="grey"), level=0.6)
    # Rising: 1 x 6, 3 x 2, 5 x 2; two of ten may be left on each side.
    assert found.interval[0, 0, 0].tolist() == [1, 3]


def test_certain_sites_are_exact():
    scale = LabelScale(values=np.array([[0.1], [0.7], [1.3]]), name="x")
    found = of_sites([[0, 7, 0], [0, 0, 49]], scale)
    assert found.mean[0, :, 0].tolist() == [0.7, 1.3]
    assert found.std.tolist() == [[0, 0]]


@pytest.mark.parametrize("total", [20, 100, 200, 1000])
def test_the_tails_are_whole_samples(total):
    # 5 % of 100 are 5, in spite of (1 - 0.9) / 2 being less than 0.05 in binary.
    tail = total // 20
    inside = of_sites([[tail, total - 2 * tail, tail]])
    assert inside.interval[0, 0, 0].tolist() == [1, 1]
    more = of_sites([[tail + 1, total - 2 * tail - 1, tail]])
    assert more.interval[0, 0, 0].tolist() == [0, 1]
    assert of_sites([[total - 2 * tail, 2 * tail]]).set_size[0, 0] == 1
    assert of_sites([[total - 2 * tail - 1, 2 * tail + 1]]).set_size[0, 0] == 2


HISTOGRAMS = st.lists(st.integers(0, 30), min_size=2, max_size=9).filter(any)


@MEAN_DEVIATION
@settings(max_examples=60, deadline=None)
@given(histogram=HISTOGRAMS, level=st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_against_the_samples_themselves(histogram, level):
    scale = scalar(len(histogram), first=-3, step=0.5)
    found = of_sites([histogram], scale, level)
    drawn = samples(histogram, scale.values)[:, 0]
    n = len(drawn)
    assert found.mean[0, 0, 0] == pytest.approx(drawn.mean())
    assert found.std[0, 0] == pytest.approx(drawn.std(), abs=1e-9)
    p = np.array(histogram)[np.array(histogram) > 0] / n
    assert found.entropy[0, 0] == pytest.approx(-(p * np.log2(p)).sum(), abs=1e-12)
    low, high = found.interval[0, 0, 0]
    allowed = n * (1 - level) / 2 + 1e-6
    assert (drawn < low).sum() <= allowed < (drawn <= low).sum()
    assert (drawn > high).sum() <= allowed < (drawn >= high).sum()
    falling = sorted(histogram, reverse=True)
    least = next(k for k in range(1, len(falling) + 1) if sum(falling[:k]) >= level * n - 1e-6)
    assert found.set_size[0, 0] == least


@settings(max_examples=30, deadline=None)
@given(histogram=HISTOGRAMS, kind=st.sampled_from(["grey", "scalar"]))
def test_a_mirrored_histogram_has_the_mirrored_interval(histogram, kind):
    scale = scalar(len(histogram), kind=kind)
    low, high = of_sites([histogram], scale).interval[0, 0, 0]
    mirrored = of_sites([histogram[::-1]], scale).interval[0, 0, 0]
    ends = pytest.approx if kind == "scalar" else list
    assert mirrored.tolist() == ends([len(histogram) - 1 - high, len(histogram) - 1 - low])


@pytest.mark.claim("applications",
    "intervals of disparities are those of the histogram as a density; the shares of doubt are found by likelihood, of scenes that"
    " can be named")
@settings(max_examples=30, deadline=None)
@given(histogram=HISTOGRAMS)
def test_intervals_between_labels_are_those_of_the_density(histogram):
    found = of_sites([histogram], scalar(len(histogram), first=-3, step=0.5, kind="scalar"))
    edges, below = 0.5 * np.arange(len(histogram) + 1) - 3.25, np.cumsum([0, *histogram]) / sum(histogram)
    assert np.interp(found.interval[0, 0, 0], edges, below) == pytest.approx([0.05, 0.95])


@settings(max_examples=30, deadline=None)
@given(histogram=st.lists(st.integers(0, 9), min_size=9, max_size=9).filter(any))
def test_motions_by_component(histogram):
    values = np.array([(row, 3 * col) for row in (-1, 0, 1) for col in (-1, 0, 1)], float)
    found = of_sites([histogram], LabelScale(values=values, name="motion (pixels)", kind="flow"))
    drawn = samples(histogram, values)
    assert found.mean[0, 0] == pytest.approx(drawn.mean(0))
    assert found.std[0, 0] == pytest.approx(math.sqrt(drawn.var(0).sum()), abs=1e-9)
    for d, step in ((0, 1), (1, 3)):
        # Of the histogram as a density 5 % lie below the interval, and as much above.
        marginal = [sum(n for n, v in zip(histogram, values[:, d], strict=True) if v == x) for x in np.unique(values[:, d])]
        edges, below = step * (np.arange(4) - 1.5), np.cumsum([0, *marginal]) / sum(marginal)
        assert np.interp(found.interval[0, 0, d], edges, below) == pytest.approx([0.05, 0.95])
    assert found.width[0, 0] == pytest.approx(np.hypot(*(found.interval[0, 0, :, 1] - found.interval[0, 0, :, 0])))


def test_an_interval_of_motions_by_hand():
    columns = LabelScale(values=np.array([[0, -2], [0, 0], [0, 2]], float), name="motion (pixels)", kind="flow")
    found = of_sites([[0, 20, 0], [10, 10, 0]], columns, level=0.8)
    assert found.interval[0, :, 0].tolist() == [[0, 0], [0, 0]]  # of one row alone
    assert found.interval[0, :, 1] == pytest.approx(np.array([[-0.8, 0.8], [-2.6, 0.6]]))


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.7, (13, 7, 6)).astype(np.uint32)
    last = rng.integers(0, 6, (13, 7)).astype(np.uint8)
    whole = quantify(counts, last, scalar(6))
    bits = entropy(counts)
    monkeypatch.setattr(uncertainty, "BLOCK", 100)
    parts = quantify(counts, last, scalar(6))
    assert np.array_equal(entropy(counts), bits)
    for name in ("counted", "mode", "entropy", "set_size", "mean", "std", "interval"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
    assert np.array_equal(whole.entropy, bits)
    assert whole.interval.shape == (13, 7, 1, 2)
    assert (whole.mode.dtype, whole.set_size.dtype) == (np.uint8, np.uint16)


def test_large_counts_do_not_overflow():
    big = 2**32 - 1
    found = of_sites([[big, 0, big]])
    assert found.mean[0, 0, 0] == pytest.approx(1)
    assert found.interval[0, 0, 0].tolist() == [0, 2]
    assert found.entropy[0, 0] == pytest.approx(1)


def test_halves_lie_at_the_mode_or_half_a_step_beside_it():
    scale = LabelScale(values=10 + 2 * np.arange(4.0)[:, None], name="x")
    counts = np.array([[[0, 6, 2, 0], [0, 5, 3, 0], [3, 5, 0, 4], [0, 0, 3, 5], [4, 8, 0, 0], [5, 8, 0, 0], [0, 0, 0, 0]]])
    found = quantify(counts, np.full((1, 7), 2, np.uint8), scale)
    # The means within a step of the mode lie 2/8, 3/8, -3/8, -3/8, -4/12 and -5/13 of a step from it; a quarter goes to the mode.
    assert found.halves.tolist() == [[12, 13, 11, 15, 11, 11, 14]]
    assert quantify(counts, np.full((1, 7), 2, np.uint8), dataclasses.replace(scale, kind="grey")).halves is None


def test_the_median_lies_between_values():
    """Samples of a label are spread over a step around it; in plain Python, by bisection of the density."""
    counts = np.random.default_rng(4).integers(0, 9, (3, 4, 6)).astype(np.uint32)
    counts[0, 0] = [0, 0, 7, 0, 0, 0]
    counts[0, 1] = [0, 0, 5, 5, 0, 0]
    counts[..., 0] += 1
    scale = LabelScale(values=2.0 + 0.5 * np.arange(6)[:, None], name="x")
    found = quantify(counts, np.zeros((3, 4), np.uint8), scale).median
    for row, col in np.ndindex(3, 4):
        share = counts[row, col] / counts[row, col].sum()

        def below(x, share=share):
            return sum(p * min(1, max(0, (x - (2.0 + 0.5 * k - 0.25)) / 0.5)) for k, p in enumerate(share))

        assert below(found[row, col]) == pytest.approx(0.5)
    assert quantify(counts, np.zeros((3, 4), np.uint8), LabelScale(values=np.arange(6.0)[::-1, None], name="x")).median is None


def test_doubt_is_spread_over_all_labels():
    counts = np.array([[[0, 8, 2, 0], [0, 8, 2, 0]]], np.uint32)
    scale = LabelScale(values=np.arange(4.0)[:, None], name="x")
    found = quantify(counts, np.zeros((1, 2), np.uint8), scale, doubt=np.array([[0.0, 0.5]]), within=0.0)
    plain = quantify(counts, np.zeros((1, 2), np.uint8), scale, within=0.0)
    assert found.entropy[0, 0] == plain.entropy[0, 0]
    share = 0.5 * np.array([0, 0.8, 0.2, 0]) + 0.5 / 4
    assert found.entropy[0, 1] == pytest.approx(-(share * np.log2(share)).sum())
    assert found.mean[0, 1, 0] == pytest.approx((share * np.arange(4)).sum())
    assert found.confidence.tolist() == [[pytest.approx(0.8), pytest.approx(share[1])]]
    assert (found.mode == plain.mode).all()
    assert found.interval[0, 1, 0] == pytest.approx([-0.1, 3.1])  # 0.05 of the outermost labels' 0.125 each


def test_a_share_of_doubt_widens_and_does_not_draw_the_mean_of_motions():
    """Of one component, whose median stays, the mean has the share."""
    counts = np.zeros((1, 1, 9), np.uint16)
    counts[0, 0, 8] = 90
    vectors = np.array([(row, col) for row in (-1, 0, 1) for col in (-1, 0, 1)], float)
    motions = LabelScale(values=vectors, name="motion (pixels)", kind="flow")
    doubt = np.full((1, 1), 0.5)
    plain, found = (quantify(counts, np.zeros((1, 1), np.uint8), motions, doubt=one) for one in (None, doubt))
    assert found.mean[0, 0].tolist() == plain.mean[0, 0].tolist() == [1, 1]
    assert found.std[0, 0] > plain.std[0, 0] == 0
    assert found.entropy[0, 0] > 1
    line = LabelScale(values=np.arange(9.0)[:, None], name="disparity (pixels)")
    assert quantify(counts, np.zeros((1, 1), np.uint8), line, doubt=doubt).mean[0, 0, 0] == pytest.approx(6, abs=0.01)
