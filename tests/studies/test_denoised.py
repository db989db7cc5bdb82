"""`python -m studies.denoised`: which rows it has, what they say, and what it refuses."""

import importlib.util

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from studies.denoised import COLUMNS, main


@pytest.fixture
def folder(tmp_path):
    """A picture of smooth colours with an edge, and a file that is none."""
    rows, cols = np.indices((40, 48))
    picture = np.stack([40 + 3 * rows, 200 - 2 * cols, np.where(rows > cols, 90, 170)], -1).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "slopes.png")
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


@pytest.mark.slow
def test_rows(folder):
    ran = CliRunner().invoke(main, [str(folder), "--pictures", "slopes", "--noise", "25", "--size", "32x32", "--sweeps", "40"])
    assert ran.exit_code == 0, ran.output
    head, *rows = ran.stdout.splitlines()
    assert head == ",".join(COLUMNS)
    means = {tuple(row.replace(", ", " ").split(",")[1:4]): row.replace(", ", " ").split(",")[4:]
             for row in rows if row.startswith("mean of 1,")}
    peers = {"non-local means"} if importlib.util.find_spec("cv2") else set()
    peers |= {"total variation"} if importlib.util.find_spec("skimage") else set()
    peers |= {"BM3D"} if importlib.util.find_spec("bm3d") else set()
    ours = {"mrfhw", '"mrfhw posterior mean"'}
    assert {(kind, method) for kind, _, method in means} == {
        *((kind, method) for kind in ("grey", "colour") for method in {"input", *ours, *peers}),
        *(("filled", method) for method in ours | ({"Telea"} if importlib.util.find_spec("cv2") else set()))}
    for kind in ("grey", "colour"):
        assert float(means[kind, "25", "input"][0]) == pytest.approx(20.2, abs=0.8)  # of noise of 25, less what 0 and 255 cut off
        assert float(means[kind, "25", "mrfhw"][0]) > float(means[kind, "25", '"mrfhw posterior mean"'][0]) > 26
        assert 0 < float(means[kind, "25", "mrfhw"][1]) < float(means[kind, "25", "mrfhw"][2]) <= 100
    assert float(means["filled", "0", "mrfhw"][0]) > 25


@pytest.mark.parametrize(("words", "said"), [
    (["--pictures", "none"], "none is not there: give a folder of clean pictures, and --pictures by their names without endings"),
    (["--pictures", "notes"], "notes.txt is no picture: give --pictures, names of those that are"),
    (["--size", "8x8"], "size is 8x8: give columns and rows of at least 16, as 160x128"),
])
def test_refused(folder, words, said):
    ran = CliRunner().invoke(main, [str(folder), *words])
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
