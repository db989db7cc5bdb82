"""Middlebury's .flo files: what they mean, round trips, and every way in which one can be wrong."""

import numpy as np
import pytest

from mrfhw.field.problem import ProblemError
from mrfhw.pictures.flow import end_point_error, flow_of, read_flow, write_flow
from support.data import data_directory


def a_file(width, height, values):
    return np.array([202021.25], "<f4").tobytes() + np.array([width, height], "<i4").tobytes() + np.array(values, "<f4").tobytes()


def test_the_first_bytes_spell_pieh(tmp_path):
    write_flow(tmp_path / "a.flo", np.zeros((1, 1, 2)))
    assert (tmp_path / "a.flo").read_bytes()[:4] == b"PIEH"


@pytest.mark.claim("applications", "measures of quality equal those computed by hand, unknown truth left out")
def test_u_is_the_column_and_v_the_row(tmp_path):
    (tmp_path / "a.flo").write_bytes(a_file(3, 1, [1.5, -2, 4, 0.25, 0, 7]))
    assert np.array_equal(read_flow(tmp_path / "a.flo"), [[[-2, 1.5], [0.25, 4], [7, 0]]])


@pytest.mark.parametrize("unknown", [1e9, -1e9, 1.1e9, -1e10, np.nan, np.inf])
def test_unknown_motions(tmp_path, unknown):
    """Writers mark them by 1e9 or by more; 1e9 is what OpenCV takes for unknown, too."""
    greatest = np.nextafter(np.float32(1e9), np.float32(0))
    (tmp_path / "a.flo").write_bytes(a_file(2, 1, [unknown, 1, 1, greatest]))
    found = read_flow(tmp_path / "a.flo")
    for flow in (found, flow_of(np.array([[[unknown, 1], [1, greatest]]]))):
        assert np.isnan(flow[0, 0]).all()
        assert np.array_equal(flow[0, 1], [greatest, 1])


def test_round_trip(tmp_path):
    flow = np.random.default_rng(0).integers(-400, 400, (5, 9, 2)) / 8
    flow[2, 3] = flow[4, 8] = np.nan
    write_flow(tmp_path / "a.flo", flow)
    assert (tmp_path / "a.flo").stat().st_size == 12 + 8 * 5 * 9
    back = read_flow(tmp_path / "a.flo")
    assert back.dtype == np.float64
    assert np.array_equal(back, flow, equal_nan=True)


@pytest.mark.parametrize(("data", "message"), [
    (b"", "has 0 bytes"), (b"PIEH", "has 4 bytes"), (b"PNG\r" + bytes(40), "begins with"), (a_file(2, 2, [0] * 7), "has 40 bytes"),
    (a_file(2, 2, [0] * 9), "2x2 motions take 44"), (a_file(0, 2, []), "0x2"), (a_file(-1, -1, [0, 0]), "-1x-1"),
    (a_file(1 << 30, 1, []), "1073741824x1"), (np.array([np.nan], "<f4").tobytes() + bytes(40), "begins with nan"),
])
def test_refused(tmp_path, data, message):
    (tmp_path / "a.flo").write_bytes(data)
    with pytest.raises(ProblemError, match=message) as error:
        read_flow(tmp_path / "a.flo")
    assert "\n" not in str(error.value)


def test_missing(tmp_path):
    for name, message in (("none.flo", "No such file"), (".", "Is a directory")):
        with pytest.raises(ProblemError, match=message):
            read_flow(tmp_path / name)


def test_end_point_error_by_hand():
    truth = np.array([[[0.0, 0.0], [1.0, 2.0], [np.nan, np.nan]]])
    error = end_point_error(np.array([[[3.0, 4.0], [1.0, 2.5], [0.0, 0.0]]]), truth)
    assert np.array_equal(error, [[5.0, 0.5, np.nan]], equal_nan=True)


def test_a_published_file():
    flow = read_flow(data_directory() / "flow" / "Venus" / "flow10.flo")
    assert flow.shape == (380, 420, 2)
    assert (flow[..., 0] == 0).all()  # a stereo pair: it moves along the columns alone
    assert np.abs(flow[..., 1]).max() == pytest.approx(9.375)
