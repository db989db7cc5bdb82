"""Videos: the bits of `mrfhw run` with the labels of the frame before, what fails alone, what goes on after a kill, and films."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.applications.stereo.scene import stereo_scene, stereo_video
from mrfhw.cli import main
from mrfhw.pictures.frames import Frames
from mrfhw.system.errors import ProblemError
from mrfhw.system.workers import driven

SAME = pytest.mark.claim("batches", "a frame of a video has the bits of mrfhw run with the labels of the frame before, whatever "
                         "the number of processes; what fails is one line, and what a kill left is gone on with")
FILES = ("labels.npy", "last.npy", "disparity.pfm", "interval.npy", "occluded.npy")
WORDS = ["--labels", "8", "--sweeps", "12", "--first-sweeps", "6", "--seed", "3"]
PAIR = ("stereo", "scene/left/0001.png", "scene/right/0001.png")
FRAMES = 5


def invoked(*words: str | Path, code: int = 0) -> str:
    found = CliRunner().invoke(main, [*map(str, words)])
    assert found.exit_code == code, found.output
    return found.output


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("video") / "scene"
    said = invoked("demo-scene", "video", "--rows", "36", "--cols", "48", "--labels", "8", "--frames", str(FRAMES), "-o", folder)
    assert f"solve it: mrfhw video stereo {folder}/left {folder}/right --labels 8 --truth" in said
    return folder


@pytest.fixture
def here(scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the frames, to be changed."""
    shutil.copytree(scene, tmp_path / "scene")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def alone(number: int, before: Path | None, folder: str) -> None:
    """`mrfhw run` of a frame."""
    more = [] if before is None else ["--before", before / "labels.npy"]
    pair = [f"scene/{side}/{number:04}.png" for side in ("left", "right")]
    invoked("run", "stereo", *pair, *WORDS, *more, "--no-report", "-o", folder)


@SAME
@pytest.mark.slow
def test_frames_have_the_bits_of_runs_with_the_labels_of_the_frame_before(here: Path) -> None:
    for workers in ("1", "2"):
        said = invoked("video", "stereo", "scene/left", "scene/right/*.png", *WORDS, "--truth", "scene/disparity", "--truth-scale",
                       "8192", "--workers", workers, "-o", f"out{workers}")
        assert f"{FRAMES} of {FRAMES} frames are done" in said
    former, differ = None, 0
    for number in range(1, FRAMES + 1):
        frame = Path(f"out1/{number:04}")
        alone(number, former, "alone")
        for name in FILES:
            assert (frame / name).read_bytes() == Path("alone", name).read_bytes() == Path("out2", frame.name, name).read_bytes()
        alone(number, None, "without")
        differ += (frame / "last.npy").read_bytes() != Path("without/last.npy").read_bytes()
        assert json.loads((frame / "report.json").read_text())["metrics"]["bad_1"] is not None
        former = frame
    assert differ  # else the labels of the frame before would say nothing here
    page = Path("out1/index.html").read_text()
    assert 'src="film.webp"' in page
    assert page.count("shown/") == FRAMES
    with Image.open("out1/film.webp") as film:
        assert film.n_frames == FRAMES
        assert film.width > 3 * 48


@SAME
@pytest.mark.slow
def test_a_video_that_is_killed_goes_on(here: Path) -> None:
    words = ["video", "stereo", "scene/left", "scene/right", *WORDS, "--workers", "2"]
    invoked(*words, "-o", "whole")
    command = [sys.executable, "-m", "mrfhw", *words, "-o", "out"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    journal, deadline = Path("out/video.jsonl"), time.monotonic() + 240
    while not (journal.exists() and journal.read_text().count("\n") >= 2):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    times = {name: Path(f"out/{name}/labels.npy").stat().st_mtime_ns for name in ("0001", "0002")}
    assert "5 of 5 frames are done" in invoked(*words, "-o", "out", "--resume")
    for number in range(1, FRAMES + 1):
        for name in FILES:
            assert Path(f"out/{number:04}", name).read_bytes() == Path(f"whole/{number:04}", name).read_bytes()
    assert times == {name: Path(f"out/{name}/labels.npy").stat().st_mtime_ns for name in times}
    # Another frame, and all behind it are done again.
    shutil.copy("scene/left/0001.png", "scene/left/0004.png")
    invoked(*words, "-o", "out", "--resume")
    changed = [Path(f"out/{number:04}/labels.npy").read_bytes() != Path(f"whole/{number:04}/labels.npy").read_bytes()
               for number in range(1, FRAMES + 1)]
    assert changed[:4] == [False, False, False, True]


@SAME
@pytest.mark.slow
def test_what_is_damaged_or_of_another_size_is_one_line(here: Path) -> None:
    Path("scene/left/0002.png").write_bytes(Path("scene/left/0002.png").read_bytes()[:100])
    for side in ("left", "right"):
        with Image.open(f"scene/{side}/0004.png") as picture:
            small = picture.crop((0, 0, 40, 30))
        small.save(f"scene/{side}/0004.png")
    said = invoked("video", "stereo", "scene/left", "scene/right", *WORDS, "-o", "out", code=1)
    assert "3 of 5 frames are done, 2 failed" in said
    assert "0002: scene/left/0002.png" in said
    assert "0004: the frame has 40x30 pixels; the first one has 48x36: give frames of one size" in said
    alone(3, None, "alone")  # the frame before has no labels
    assert Path("out/0003/labels.npy").read_bytes() == Path("alone/labels.npy").read_bytes()
    page = Path("out/index.html").read_text()
    assert page.count('class="failed"') == 2


@pytest.mark.slow
def test_one_set_of_labels_serves_all_frames_of_a_motion(here: Path) -> None:
    """A thing moves by 1, 2 and 3 columns; each pair alone would have another window."""
    rng = np.random.default_rng(1)
    behind, thing = rng.integers(0, 256, (40, 56), np.uint8), rng.integers(0, 256, (16, 16), np.uint8)
    Path("frames").mkdir()
    for number, col in enumerate((10, 11, 13, 16)):
        frame = behind.copy()
        frame[12:28, col:col + 16] = thing
        Image.fromarray(frame).save(f"frames/{number + 8}.png")  # 10 comes behind 9
    assert "3 of 3 frames are done" in invoked("video", "motion", "frames", "--sweeps", "20", "-o", "out")
    found = [json.loads(Path(f"out/{number:04}/report.json").read_text())["settings"] for number in (1, 2, 3)]
    assert len({(one["vectors"], one["centre"]) for one in found}) == 1
    for number, col in enumerate((10, 11, 13)):
        mean = np.load(f"out/{number + 1:04}/mean.npy")[14:26, col + 2:col + 14, 1]
        assert abs(np.median(mean) - (number + 1)) < 0.5
        assert (found[number]["first"], found[number]["second"]) == (f"frames/{number + 8}.png", f"frames/{number + 9}.png")


@pytest.mark.slow
def test_frames_of_a_video_file(here: Path) -> None:
    av = pytest.importorskip("av")
    pictures = [np.asarray(Image.open(f"scene/left/{number:04}.png").convert("RGB")) for number in range(1, FRAMES + 1)]
    with av.open("film.mkv", "w") as film:
        stream = film.add_stream("ffv1", rate=5)  # without loss
        stream.width, stream.height, stream.pix_fmt = 48, 36, "bgr0"
        for pixels in pictures:
            film.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format="bgr0")))
        film.mux(stream.encode())
    frames = Frames("film.mkv")
    assert len(frames) == FRAMES
    assert all(np.array_equal(frame.given, pixels) for frame, pixels in zip(frames, pictures, strict=True))
    assert [frame.name for frame in frames.some(2)] == ["film.mkv, frame 1", "film.mkv, frame 5"]
    assert "5 of 5 frames are done" in invoked("video", "denoise", "film.mkv", "--sweeps", "8", "--levels", "8", "-o", "out")
    Path("film.mkv").write_bytes(b"none")
    said = invoked("video", "denoise", "film.mkv", "-o", "other", code=2)
    assert said.startswith("Error: film.mkv cannot be decoded (")
    assert not Path("other").exists()


def test_things_move_and_their_truth_is_exact() -> None:
    scenes = stereo_video(3, 60, 80, 12, seed=2)
    assert np.array_equal(scenes[0].left, stereo_scene(60, 80, 12, seed=2).left)
    assert not np.array_equal(scenes[0].disparity, scenes[1].disparity)
    for scene in scenes:
        col = np.arange(80) - np.rint(scene.disparity).astype(int)
        row = np.broadcast_to(np.arange(60)[:, None], col.shape)
        off = np.abs(scene.left.astype(int) - scene.right[row, col.clip(0, 79)])[col >= 0]
        assert np.median(off) < 8  # of 255, from rounding the disparities


@pytest.mark.parametrize(("words", "said"), [
    (("video", "stereo", "none", "scene/right"), "none has no frames: give a folder of pictures"),
    (("video", "stereo", "scene/left", "scene/right/000[12].png"), "scene/right/000[12].png has 2 frames, and scene/left has 5"),
    (("video", "motion", "scene/left/0001.png"), "scene/left/0001.png has 1 frame; a motion is that of a frame to the next"),
    (("video", "stereo", "scene/left", "scene/right", "--most-sweeps", "9"), "most-sweeps is 9"),
    (("video", "stereo", "scene/left", "scene/right", "--workers", "0"), "workers is 0"),
    (("video", "stereo", "scene/left", "scene/right", "--rate", "0"), "rate is 0"),
    (("video", "stereo", "scene/left", "scene/right", "--labels", "300"), "labels is 300"),
    (("video", "stereo", "scene/left", "scene/right", "--before", "scene/left/0001.png"), "scene/left/0001.png is cut off"),
    (("video", "chess", "scene/left"), "application is 'chess'; it must be one of stereo, motion, segment, denoise: choose one"),
    (("run", *PAIR, "--first-sweeps", "-3"), "first-sweeps is -3; the limits are 0 to"),
    (("run", *PAIR, "--before", "none.npy"), "none.npy cannot be read"),
    (("run", *PAIR, "--before", "none.npy", "--one-way"), "before is none.npy"),
    (("run", *PAIR, "--before", "small.npy"), "small.npy has 3x2 values of uint8"),
    (("run", *PAIR, "--labels", "4", "--before", "seven.npy"), "seven.npy has labels 7 to 7; the limits are 0 to 3")])
def test_one_line_each(here: Path, words: tuple[str, ...], said: str) -> None:
    np.save("small.npy", np.zeros((2, 3), np.uint8))
    np.save("seven.npy", np.full((36, 48), 7, np.uint8))
    output = invoked(*words, "-o", "out", code=2)
    assert output.startswith(f"Error: {said}")
    assert output.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.slow
def test_least_disparities_that_are_given_stay_where_labels_are_found(here: Path) -> None:
    """And sweeps before are of both ways alone, which a run says where there is one way; a video has none then."""
    invoked("video", "stereo", "scene/left", "scene/right", "--min-disparity", "-1", "--sweeps", "8", "--one-way", "-o", "out")
    reports = [json.loads(path.read_text()) for path in sorted(Path("out").glob("*/report.json"))]
    assert {one["settings"]["min_disparity"] for one in reports} == {-1}
    assert len({one["settings"]["labels"] for one in reports}) == 1
    assert not any("first-sweeps" in note for one in reports for note in one["notes"])
    found = CliRunner().invoke(main, ["run", *PAIR, *WORDS, "--one-way", "--no-report", "-o", "alone"])
    assert "Note: first-sweeps is 6, which says nothing here" in found.stderr


def test_frames_that_cannot_be_gone_on_with_end_a_video() -> None:
    """What is raised in place of the next task is an outcome, and nothing waits for ever."""
    def tasks() -> Iterator[int]:
        yield 1
        raise ProblemError("the film is cut off")

    found = dict(driven(lambda worker, task: task, tasks(), 3))
    assert found.pop(0) == 1
    assert str(found.pop(1)) == "the film is cut off"
    assert not found


def test_frames_are_not_written_over(here: Path) -> None:
    Path("scene/left").rename("scene/shown")
    before = {path: path.read_bytes() for path in Path("scene").rglob("*.png")}
    said = invoked("video", "denoise", "scene/shown", "-o", "scene", code=2)
    assert said.startswith("Error: output is ")
    assert "give another folder" in said
    assert before == {path: path.read_bytes() for path in Path("scene").rglob("*.png")}


def test_numbers_in_names_count_as_numbers(tmp_path: Path) -> None:
    for name in ("f10.png", "f9.png", "f1b.png", "note.txt"):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in Frames(str(tmp_path)).files] == ["f1b.png", "f9.png", "f10.png"]
    with pytest.raises(ProblemError, match="has no frames"):
        Frames(str(tmp_path / "x*.png"))
