"""The files of a run: complete, exact, and all or none."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfhw import __version__
from mrfhw.config import Config
from mrfhw.result import Result
from mrfhw.runtime import outputs
from mrfhw.runtime.outputs import FILES, check_writable, entropy, report, staged, write_outputs


def result(**changes):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (6, 8, 5)).astype(np.uint32)
    counts[0, 0] = 0
    last = rng.integers(0, 5, (6, 8)).astype(np.uint8)
    return Result(**{**{"backend": "float", "counts": counts, "last": last, "initial": last, "label_evaluations": 480,
                            "wall_seconds": 0.5}, **changes})


def write(directory, res=None, **changes):
    return write_outputs(directory, res or result(), Config(), **{**{
        "title": "a scene", "settings": {"labels": 5}, "metrics": {"bad_1": 12.5, "bad_2": None}}, **changes})


def strict_json(path):
    def refuse(text):
        raise AssertionError(f"{text} is not JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


def test_all_files_and_what_is_in_them(tmp_path):
    res = result()
    write(tmp_path / "out", res)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    labels, last = np.load(tmp_path / "out" / "labels.npy"), np.load(tmp_path / "out" / "last.npy")
    assert labels.dtype == last.dtype == np.uint8
    assert np.array_equal(labels, res.mode)
    assert np.array_equal(last, res.last)
    with np.load(tmp_path / "out" / "histogram.npz") as archive:
        assert list(archive) == ["counts"]
        assert np.array_equal(archive["counts"], res.counts)
    for name in ("estimate.png", "entropy.png"):
        with Image.open(tmp_path / "out" / name) as image:
            assert min(image.size) > 200
            assert len(image.convert("RGB").getcolors(1 << 24)) > 20
    read = strict_json(tmp_path / "out" / "report.json")
    assert read["metrics"] == {"bad_1": 12.5, "bad_2": None}
    assert read["settings"]["labels"] == 5
    assert read["settings"]["machine"] == Config().to_dict()


def test_a_new_directory_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").mkdir()
    write(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1)])
def test_pictures_of_narrow_grids(tmp_path, shape):
    counts = np.ones((*shape, 2), np.uint32)
    last = np.zeros(shape, np.uint8)
    write(tmp_path / "out", result(counts=counts, last=last, initial=last))


def test_entropy_by_hand():
    counts = np.array([[[4, 0, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [6, 2, 0, 0]]], np.uint32)
    expected = [0, 1, 2, 0, -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))]
    assert entropy(counts)[0] == pytest.approx(expected)
    assert not np.signbit(entropy(counts)).any()


def test_report_of_float_has_null_where_there_is_nothing():
    what = report(result(), Config(), {}, {})
    for key in ("cycles", "utilization", "stall_cycles", "log_messages"):
        assert what[key] is None
    assert what["backend"] == "float"
    assert what["version"] == __version__
    assert what["metrics"] == {}
    assert what["config_digest"] == Config().digest
    assert what["speed"] == {"label_evaluations_per_second": 960.0}


def test_report_of_rtl():
    res = result(backend="rtl", cycles=1000, stall_cycles=7, gap_cycles=9, lanes=2,
                 messages=np.zeros((11, 3), np.int64), extra={"path": Path("x"), "array": np.arange(2)})
    what = report(res, Config(), {}, {"bad_1": float("nan")})
    assert (what["cycles"], what["stall_cycles"], what["log_messages"]) == (1000, 7, 11)
    assert what["utilization"] == pytest.approx(0.24)
    assert what["speed"]["cycles_per_second"] == 2000.0
    assert what["metrics"] == {"bad_1": None}
    assert what["extra"] == {"path": "x", "array": [0, 1]}
    assert report(result(wall_seconds=0.0), Config(), {}, {})["speed"] == {"label_evaluations_per_second": None}


def test_json_never_has_nan(tmp_path):
    settings = {"a": float("inf"), "b": np.float64("nan"), "c": (np.int64(3), np.bool_(True)), 4: Path("p")}
    write(tmp_path / "out", settings=settings, metrics={"bad_1": float("nan")})
    read = strict_json(tmp_path / "out" / "report.json")
    assert read["metrics"] == {"bad_1": None}
    assert {k: v for k, v in read["settings"].items() if k != "machine"} == {"a": None, "b": None, "c": [3, True],
                                                                          "4": "p"}


@pytest.mark.parametrize("existing", [False, True])
def test_an_error_leaves_nothing_behind(tmp_path, monkeypatch, existing):
    out = tmp_path / "deep" / "er" / "out"
    if existing:
        out.mkdir(parents=True)
        (out / "labels.npy").write_text("old")

    def broken(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.np, "savez_compressed", broken)
    with pytest.raises(OSError, match="No space"):
        write(out)
    if existing:
        assert [path.name for path in out.iterdir()] == ["labels.npy"]
        assert (out / "labels.npy").read_text() == "old"
    else:
        assert not list(tmp_path.iterdir())


def test_an_existing_directory_keeps_its_other_files(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    (tmp_path / "labels.npy").write_text("old")
    write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "note.txt"])
    assert np.load(tmp_path / "labels.npy").shape == (6, 8)


def test_a_directory_in_the_place_of_a_file(tmp_path):
    (tmp_path / "report.json").mkdir()
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_not_a_directory(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError):
            check_writable(place)
        with pytest.raises(NotADirectoryError), staged(place):
            raise AssertionError("not reached")
    check_writable(tmp_path / "new" / "newer")
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            check_writable(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def test_no_permission_as_the_system_reports_it(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs.os, "access", lambda place, mode: False)
    with pytest.raises(PermissionError):
        check_writable(tmp_path / "out")
