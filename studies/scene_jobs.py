"""Pictures of known truth as the jobs that `mrfhw run` makes of them, solved and judged as it does: for the other benchmarks.

A directory of published scenes has stereo/NAME/{left,right,disp_left}.png, flow/NAME/{frame10.png,frame11.png,flow10.flo},
bsds/images/NAME.jpg and bsds/labels/NAME_K.png. Without one, built-in scenes stand in, named by their seeds. A choice of numbers
for motion may take stereo pairs, too: a motion along the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.analysis.answer import answered, measures, quantified
from mrfhw.analysis.calibration import calibrate
from mrfhw.analysis.convergence import more_helps
from mrfhw.analysis.solution import Solution
from mrfhw.commands import application as commands
from mrfhw.commands.machine_options import given_options
from mrfhw.jobs.application import Application
from mrfhw.jobs.job import Job
from mrfhw.jobs.registry import application
from mrfhw.pictures.flow import write_flow
from mrfhw.pictures.images import load_disparity
from mrfhw.runs.chains import sample
from mrfhw.runs.first import prepared
from mrfhw.scenes import (
    motion_scene,
    segmentation_scene,
    stereo_scene,
    write_motion_scene,
    write_scene,
    write_segmentation_scene,
)
from mrfhw.system.errors import ProblemError

SCALES = {"teddy": 4.0, "poster": 8.0, "art": 3.0, "art-348x278": 4.0}  # grey value of one pixel of true disparity
CHAINS = 2  # of `mrfhw run`


def published(verb: str, data: Path, name: str) -> list[str]:
    """The words after `mrfhw run VERB` for a published scene; verb: stereo, motion or segment.

    name: of stereo NAME, or NAME:SCALE with the grey value of one pixel of true disparity. Labels are the range of the truth.
    Raises ProblemError for a scene that is not there, or whose scale is not known.
    """
    if verb == "segment":
        truths = sorted((data / "bsds" / "labels").glob(f"{name}_*.png"))
        words = [str(data / "bsds" / "images" / f"{name}.jpg"), *(word for path in truths for word in ("--truth", str(path)))]
    elif verb == "motion":
        folder = data / "flow" / name
        words = [*(str(folder / f"frame{number}.png") for number in (10, 11)), "--truth", str(folder / "flow10.flo")]
    else:
        folder, scale = _pair(data, name)
        words = [str(folder / f"{side}.png") for side in ("left", "right")]
        if (folder / "disp_left.png").is_file():
            words += stereo_range(folder / "disp_left.png", scale)
    missing = [word for word in words[:2] if not word.startswith("--") and not Path(word).is_file()]
    if missing or "--truth" not in words:
        raise ProblemError(f"scenes has {name}, of which {missing[0] if missing else 'the truth'} is missing: give another one")
    return words


def _pair(data: Path, name: str) -> tuple[Path, float]:
    """Of a stereo pair's NAME or NAME:SCALE, where it lies and the grey value of one pixel of true disparity."""
    name, _, given = name.partition(":")
    if not given and name not in SCALES:
        raise ProblemError(f"scenes has {name}, whose scale is not known: give {name}:SCALE, the grey of one pixel of truth")
    return data / "stereo" / name, _scale(given) if given else SCALES[name]


def _scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ProblemError(f"scale is {text!r}; it is the grey value of one pixel of true disparity: give a number such as 4")
    return value


def stereo_range(truth: Path, scale: float) -> list[str]:
    """Options of `mrfhw run stereo` for a picture of true disparities: the truth, and labels of its range in pixels."""
    known = load_disparity(truth, scale)
    known = known[known > 0]
    least, most = int(np.floor(known.min())), int(np.rint(known.max()))
    return ["--labels", str(most - least + 1), "--min-disparity", str(least), "--truth", str(truth), "--truth-scale", str(scale)]


def pair_as_frames(data: Path, name: str, directory: Path) -> list[str]:
    """The words after `mrfhw run motion` for a stereo pair, by `name` as `published` takes it. Its truth is written into
    `directory`: a disparity is a motion to the left."""
    words = published("stereo", data, name)
    folder, scale = _pair(data, name)
    disparity = load_disparity(folder / "disp_left.png", scale)
    flow = np.stack([np.zeros_like(disparity), -disparity], -1)
    flow[disparity == 0] = np.nan
    directory.mkdir(parents=True, exist_ok=True)
    write_flow(directory / "truth.flo", flow)
    return [*words[:2], "--truth", str(directory / "truth.flo")]


def built_in(verb: str, directory: Path, seed: int, rows: int = 144, cols: int = 192) -> list[str]:
    """The words after `mrfhw run VERB` for the built-in scene of a seed and of rows x cols pixels, written into `directory`.

    Stereo has cols // 8 disparities, 32 at most.
    """
    if verb == "stereo":
        stereo = stereo_scene(rows, cols, min(32, cols // 8), seed)
        left, right, truth = map(str, write_scene(stereo, directory))
        return [left, right, "--labels", str(stereo.labels), "--truth", truth, "--truth-scale", str(stereo.truth_scale)]
    if verb == "motion":
        first, second, truth = map(str, write_motion_scene(motion_scene(rows, cols, seed), directory))
        return [first, second, "--truth", truth]
    image, truth = map(str, write_segmentation_scene(segmentation_scene(rows, cols, seed), directory))
    return [image, "--truth", truth, "--classes", "4"]


def choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that chooses numbers: those of `chosen_on_and_held_back`, and who solves the scenes."""
    for option in (
            click.option("--backend", type=click.Choice(["cpu", "model", "float"]), default="cpu", show_default=True),
            click.option("--held-back", default="", help="Scenes that the choice is shown on."),
            click.option("--scenes", default="1,2", show_default=True,
                         help="What is chosen on; of stereo NAME:SCALE where the scale is not known."),
            click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")):
        command = option(command)
    return command


def chosen_on_and_held_back(verb: str, data: Path | None, scenes: str, held_back: str, directory: Path,
                            size: tuple[int, int] = (144, 192)) -> dict[str, dict[str, list[str]]]:
    """The words after `mrfhw run VERB` by scene, of those that a choice is made on and of those that are held back from it.

    scenes, held_back: names with commas between them; a whole number is a built-in scene of `size`, written into `directory`.
    Raises ProblemError for no scene to choose on, one in both, or a name without `data`.
    """
    names = {part: [name for name in given.split(",") if name] for part, given in (("chosen on", scenes), ("held back", held_back))}
    if data is None and not all(name.isdecimal() for part in names.values() for name in part):
        raise ProblemError("scenes has a name that is no seed; built-in scenes are whole numbers: give --data, or such as 1,2")
    if not names["chosen on"]:
        raise ProblemError("scenes is empty: give what the choice is made on, such as 1,2")
    both = set(names["chosen on"]) & set(names["held back"])
    if both:
        raise ProblemError(f"held-back has {min(both)}, on which the choice is made: give others")

    def words(name: str) -> list[str]:
        if data is None or name.isdecimal():
            return built_in(verb, directory / name, int(name), *size)
        if verb == "motion" and not (data / "flow" / name).is_dir() and (data / "stereo" / name.partition(":")[0]).is_dir():
            return pair_as_frames(data, name, directory / name)
        return published(verb, data, name)

    return {part: {name: words(name) for name in several} for part, several in names.items()}


def job_of(verb: str | Application, words: Sequence[str]) -> Job:
    """The job that `mrfhw run VERB` makes of these words, or of such a verb's. Raises ProblemError or ConfigError."""
    app = application(verb) if isinstance(verb, str) else verb
    made: list[Job] = []

    def make(**options: Any) -> None:
        made.append(app.job_of({name: value for name, value in options.items() if name in given_options()}, "model"))

    command = commands.options_on(app, make)
    click.command(app.verb)(command).main(list(words), standalone_mode=False)
    return made[0]


def solved(job: Job, traced: bool = True, backend: str = "model", to_agree: bool = False) -> tuple[Job, Solution]:
    """The job with what comes first sampled, and the chains of its field, all by one backend.

    to_agree: traced chains that do not agree go on, as those of `mrfhw run` do; otherwise all have the job's sweeps.
    """
    job = prepared(backend, job, None)
    return job, sample(backend, job.config, job.problem, job.run, chains=CHAINS, traced=traced,
                       most=job.most_sweeps if to_agree else 0, judge=partial(more_helps, scale=job.scale))


@dataclass(frozen=True)
class Judged:
    """labels: (H, W) uint8, the mode. metrics: by the names of the measures. coverage: percent of the pixels of known truth
    whose 90 % interval holds it, of motions the mean of rows and columns; None of classes.
    """

    labels: np.ndarray
    metrics: dict[str, float | None]
    coverage: float | None


def judged(job: Job, counts: np.ndarray, last: np.ndarray) -> Judged:
    """What `mrfhw run` says of histograms (H, W, L) of a job's field; last: (H, W), a last sample. The job has a truth."""
    assert job.truth is not None
    found, finer = quantified(job, counts, last)
    covered = calibrate(found, found.mode, job.truth, job.scale).coverage
    shares = [share for share in covered or () if share is not None]
    answer, _ = answered(job, job.scale.at(found.mode), found, finer)
    quality, _ = measures(job.truth, found.mode, found.mean, finer, answer if job.scale.ordered else None)
    return Judged(found.mode, quality, float(100 * np.mean(shares)) if shares else None)
