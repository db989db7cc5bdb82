"""Depths and clouds of points: by hand, read back by others' rules, and what cannot be."""

import numpy as np
import pytest

import mrfhw
from mrfhw.applications.stereo.depth import Camera
from mrfhw.report.exchange import ply_bytes
from mrfhw.scenes import stereo_scene
from mrfhw.system.errors import ProblemError

DEPTH = pytest.mark.claim("applications",
    "focal length and baseline, or a calib.txt, give depth, its interval through 1 / d, and a cloud of points")
SCENE = stereo_scene(40, 64, 10, 0)
CALIB = """cam0=[800.5 0 30.25; 0 800.5 21.5; 0 0 1]
cam1=[800.5 0 34.75; 0 800.5 21.5; 0 0 1]
doffs=4.5
baseline=193.001
width=64
height=40
ndisp=20
isint=0
"""


def solved(**options):
    return mrfhw.stereo(SCENE.left, SCENE.right, labels=10, min_disparity=0, sweeps=12, **options)


def vertices(data: bytes) -> np.ndarray:
    """Of a PLY file, by what its head says."""
    head, _, body = data.partition(b"end_header\n")
    lines = head.decode().splitlines()
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    kinds = {"float": "<f4", "uchar": "u1"}
    fields = [(name, kinds[kind]) for _, kind, name in (line.split() for line in lines if line.startswith("property"))]
    found = np.frombuffer(body, fields)
    assert f"element vertex {len(found)}" in lines
    return found


@DEPTH
def test_depth_is_focal_length_times_baseline_by_disparity():
    answer = solved(focal=500.0, baseline=0.12)
    disparity = answer.disparity.astype(float)
    there = disparity > 0
    assert np.allclose(answer.depth[there], 60 / disparity[there], rtol=1e-5)
    assert np.isinf(answer.depth[~there]).all()
    near, far = answer.depth_interval[..., 0], answer.depth_interval[..., 1]
    low, high = answer.interval[..., 0], answer.interval[..., 1]
    assert np.allclose(near[high > 0], 60 / high[high > 0])
    assert np.allclose(far[low > 0], 60 / low[low > 0])
    assert np.isinf(far[low <= 0]).all()
    assert (near <= far).all()
    # The centre of a picture of 64x40 is at 31.5, 19.5.
    points = answer.points[there]
    row, col = np.nonzero(there)
    assert np.allclose(points[:, 0], (col - 31.5) * answer.depth[there] / 500, rtol=1e-4)
    assert np.allclose(points[:, 1], (row - 19.5) * answer.depth[there] / 500, rtol=1e-4)
    assert np.array_equal(points[:, 2], answer.depth[there])


@DEPTH
def test_a_calib_of_middlebury(tmp_path):
    (tmp_path / "calib.txt").write_text(CALIB)
    answer = solved(calib=tmp_path / "calib.txt")
    assert np.allclose(answer.depth, 800.5 * 193.001 / (answer.disparity + 4.5), rtol=1e-5)
    known = {"focal": 800.5, "baseline": 193.001, "column": 30.25, "row": 21.5, "offset": 4.5}
    assert answer.report["settings"]["cameras"] == known
    cut = solved(calib=tmp_path / "calib.txt", window="10,5,48,32")
    assert cut.report["settings"]["cameras"]["column"] == 20.25
    assert cut.report["settings"]["cameras"]["row"] == 16.5


@DEPTH
@pytest.mark.parametrize("alone", [False, True])
def test_the_files(tmp_path, alone):
    answer = solved(focal=500.0, baseline=0.12, alone=alone)
    names = {path.name for path in answer.save(tmp_path, report=False)}
    assert {"depth.pfm", "depth_interval.npy", "cloud.ply"} <= names
    values = np.frombuffer((tmp_path / "depth.pfm").read_bytes()[-4 * 40 * 64:], "<f4").reshape(40, 64)[::-1]
    assert np.array_equal(values, answer.depth)
    assert np.array_equal(np.load(tmp_path / "depth_interval.npy"), answer.depth_interval)
    cloud, there = vertices((tmp_path / "cloud.ply").read_bytes()), np.isfinite(answer.depth)
    assert len(cloud) == there.sum()
    assert np.array_equal(np.stack([cloud[name] for name in "xyz"], -1), answer.points[there])
    for name in ("red", "green", "blue"):
        assert np.array_equal(cloud[name], SCENE.left[there])
    assert ("confidence" in cloud.dtype.names) != alone
    if not alone:
        assert np.array_equal(cloud["confidence"], answer.confidence[there].astype(np.float32))


def test_a_cloud_in_colour():
    points, colours = np.arange(12.0).reshape(4, 3), np.arange(12, dtype=np.uint8).reshape(4, 3)
    cloud = vertices(ply_bytes(points, colours, np.array([0, 0.25, 0.5, 1])))
    assert cloud[2].item() == (6.0, 7.0, 8.0, 6, 7, 8, 0.5)


def test_nothing_is_known_of_the_cameras(tmp_path):
    answer = solved()
    for name in ("depth", "depth_interval", "points"):
        said = f"^{name} of a run that knows nothing of the cameras: give focal and baseline, or calib$"
        with pytest.raises(ProblemError, match=said):
            getattr(answer, name)
    assert not {"depth.pfm", "cloud.ply"} & {path.name for path in answer.save(tmp_path, report=False)}


@pytest.mark.parametrize(("options", "said"), [
    ({"focal": 500.0}, "focal is 500, and baseline is not given; depth needs both: give both, or calib"),
    ({"baseline": 0.5}, "baseline is 0.5, and focal is not given; depth needs both: give both, or calib"),
    ({"focal": 0.0, "baseline": 1.0}, "focal is 0.0; it must be a finite number above 0: give the focal length in pixels"),
    ({"focal": 9.0, "baseline": float("nan")},
     "baseline is nan; it must be a finite number above 0: give the distance of the cameras"),
    ({"calib": "none.txt"}, r"none.txt cannot be read, No such file or directory: give a file as Middlebury writes it, .*"),
    ({"calib": 3}, "calib is 3; it is the path of a text file: give a file as Middlebury writes it, .*"),
])
def test_what_cannot_be(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProblemError, match=f"^{said}$"):
        solved(**options)


@pytest.mark.parametrize(("text", "said"), [
    ("focal 3\n", "calib.txt has no line cam0 of nine numbers: give a file as Middlebury writes it, .*"),
    (CALIB.replace("baseline", "base"), "calib.txt has no line baseline: give a file as Middlebury writes it, .*"),
    (CALIB.replace("width=64", "width=640"), "calib.txt is of pictures of 640x40; these are 64x40: give focal and baseline of .*"),
    (CALIB.replace("[800.5", "[-800.5"), "cam0 of calib.txt is -800.5; it must be a finite number above 0: .*"),
    (" " * 70000, "calib.txt has more than 65536 bytes, which is no calib.txt: .*"),
])
def test_files_that_are_none(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calib.txt").write_text(text)
    with pytest.raises(ProblemError, match=f"^{said}$"):
        solved(calib="calib.txt")
    (tmp_path / "calib.txt").write_text(CALIB)
    with pytest.raises(ProblemError, match=r"^calib is calib.txt, and focal is given too; calib says both: drop one$"):
        solved(calib="calib.txt", focal=3.0)


def test_a_larger_disparity_is_nearer():
    camera = Camera(100.0, 2.0, 0.0, 0.0)
    assert camera.interval(np.array([4.0, 5.0])).tolist() == [40.0, 50.0]
    assert camera.depth(np.array([-1.0, 0.0, 2.0])).tolist() == [np.inf, np.inf, 100.0]
