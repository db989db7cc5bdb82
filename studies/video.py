"""Frames of a video by few sweeps beside many, and how many a second there are: `python -m studies.video`.

    python -m studies.video                             # things that move, built in
    python -m studies.video --data DIR                  # a published scene as well, panned

For each video, by few sweeps, by many, and by many of each frame alone: bad pixels, how much of the truth 90 % intervals hold, and
frames a second from the begin of the command to its end, with its files and its film. Runs are those of the command line.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

import click
import numpy as np
from click.testing import CliRunner
from PIL import Image

from mrfhw.applications.stereo.field import TUNED
from mrfhw.applications.video import SWEEPS
from mrfhw.cli import main as program
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.system.errors import ProblemError
from studies.scene_jobs import published

MANY = 500  # sweeps
SIZE = (240, 320)
_AS_ALONE = ["--first-sweeps", TUNED.first_sweeps]
STEP = 4  # columns from a frame to the next, of a panned picture


def panned(data: Path, name: str, frames: int, folder: Path) -> list[str]:
    """Words of a published pair of which each frame is a part, each STEP columns farther. Raises ProblemError."""
    words = published("stereo", data, name)
    for place, word in enumerate(words):
        if not Path(word).is_file():
            continue
        kept = folder / str(place)
        kept.mkdir()
        with Image.open(word) as picture:
            rows, cols = (min(have, want) for have, want in zip((picture.height, picture.width), SIZE, strict=True))
            top, way = (picture.height - rows) // 2, min(picture.width - cols, STEP * (frames - 1))
            for number in range(frames):
                left = round(way * number / max(1, frames - 1))
                picture.crop((left, top, left + cols, top + rows)).save(kept / f"{number + 1:04}.png")
        words[place] = str(kept)
    return words


def moving(frames: int, folder: Path) -> list[str]:
    """Words of a built-in video."""
    rows, cols = SIZE
    _run("demo-scene", "video", "--rows", rows, "--cols", cols, "--labels", 24, "--frames", frames, "-o", folder / "scene")
    left, right, truth = (str(folder / "scene" / name) for name in ("left", "right", "disparity"))
    return [left, right, "--labels", "24", "--truth", truth, "--truth-scale", "2048"]


def _run(*words: object) -> None:
    found = CliRunner().invoke(program, [*map(str, words)])
    if found.exit_code:
        raise ProblemError(found.output.strip().splitlines()[-1])


def measured(folder: Path) -> tuple[float, float]:
    """Bad pixels (> 1) and coverage in percent, the means of all frames of a run."""
    reports = [json.loads(path.read_text()) for path in sorted(folder.glob("*/report.json"))]
    return (float(np.mean([one["metrics"]["bad_1"] for one in reports])),
            100 * float(np.mean([one["calibration"]["coverage"] for one in reports])))


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
@click.option("--scenes", default="teddy", show_default=True, help="Those of them that are panned.")
@click.option("--frames", type=click.IntRange(1, 1000), default=12, show_default=True)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
def main(data: Path | None, scenes: str, frames: int, workers: int) -> None:
    """Print a table."""
    click.echo("video,sweeps,starts from,bad_1 %,coverage %,frames/s")
    for name in ["moving things", *(scenes.split(",") if data is not None else [])]:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            words = moving(frames, folder) if data is None or name == "moving things" else panned(data, name, frames, folder)
            for sweeps, start, more in ((SWEEPS, "frame before", []), (MANY, "frame before", _AS_ALONE),
                                        (MANY, "itself", [*_AS_ALONE, "--shot", 1])):
                began = time.perf_counter()
                _run("video", "stereo", *words, "--sweeps", sweeps, "--workers", workers, *more, "-o", folder / "out")
                rate = frames / (time.perf_counter() - began)
                bad, covered = measured(folder / "out")
                shutil.rmtree(folder / "out")
                click.echo(f"{name},{sweeps},{start},{bad:.2f},{covered:.1f},{rate:.2f}")


if __name__ == "__main__":
    main()
