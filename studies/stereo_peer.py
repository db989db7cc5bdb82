"""Our stereo beside semi-global matching (OpenCV), alpha-expansion (gco) and another Gibbs sampler (thrml), on the same pictures.

    python -m studies.stereo_peer [--data DIR] [--scenes teddy,poster,art] [--peers cv2,gco,thrml] [--backend model]

Without --data the built-in scene stands in. All get the disparity range of the truth.

mrfhw: `mrfhw run stereo` with the range's labels and its default sweeps, which chains do not go on from: matching both ways, then
two chains of the final field, by the bit-exact model of its machine or by --backend cpu. "final field" repeats the row with the
seconds of that field's chains alone, as the rows of gco and thrml have them: they are given the same final field, its singletons,
doubletons and weights of edges, and thrml also its first labels, sweeps and temperature.
SGBM: the settings of OpenCV's own example (3-way aggregation, P1 = 8 n b^2, P2 = 32 n b^2, block 5, uniqueness 10, speckles of 100
removed); pixels for which it gives no answer count as bad and are left out of its mean error; once more after filling them from the
left.
gco: alpha-expansion from label 0 until no move lowers the energy. thrml: as `peer_thrml.py` says.

bad 1 and bad 2: percent of the pixels of known truth, occluded ones included, off by more than that many pixels. mean error: px.
energy: of the final field at the estimate, of SGBM at its nearest labels. covered: percent of the pixels of known truth whose 90 %
interval holds it. seconds: by the clock, without compiling, medians of three runs of SGBM and of what mrfhw does in less than 10 s,
one run of all else. CPU s: of all cores together in the same runs. gco has one core, the others what they take: taskset gives all
of them the same.

What the others do better: SGBM is hundreds of times sooner, and its disparities have fractions of pixels: its mean error is small
where it answers. Alpha-expansion reaches a lower energy, of a metric doubleton, than samples or their mode do, and on poster
fewer bad pixels. thrml samples the same field as well, at exact temperatures in floating point; it runs on GPUs as it is and takes
any graph and any conditional.
A peer that is not installed is skipped with one line: "mrfhw[benchmark]" brings OpenCV and gco, pip install thrml the other.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.applications.stereo.field import StereoTruth
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Job
from mrfhw.pictures.images import load_grey
from mrfhw.runs.chains import sample
from mrfhw.runs.first import prepared
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.system.errors import ProblemError
from studies.scene_jobs import CHAINS, built_in, job_of, judged, published, solved

SCENES = "teddy,poster,art"
REPEATS = 3
PEERS = {"cv2": "opencv-python-headless", "gco": "gco-wrapper", "thrml": "thrml"}  # modules and their packages
SLOW = 10.0  # seconds from which one run is enough
Seconds = tuple[float, float]  # by the clock, of all cores together
Row = tuple[str, np.ndarray, np.ndarray | None, float | None, Seconds]  # method, disparities, labels, coverage, seconds


def scenes(data: Path | None, names: str, rows: int, cols: int) -> Iterator[tuple[str, list[str]]]:
    """(name, the words after `mrfhw run stereo`). Raises ProblemError for a scene that is not there."""
    if data is None:
        with tempfile.TemporaryDirectory() as directory:
            yield "built-in", built_in("stereo", Path(directory), 0, rows, cols)
        return
    for name in names.split(","):
        yield name, published("stereo", data, name)


def semi_global(left: np.ndarray, right: np.ndarray, labels: int, least: int) -> np.ndarray:
    """Disparities (H, W) float64 in pixels, NaN where there is no answer. left, right: uint8 (H, W)."""
    cv2 = importlib.import_module("cv2")
    matcher = cv2.StereoSGBM_create(minDisparity=least, numDisparities=-(-labels // 16) * 16, blockSize=5, P1=8 * 25, P2=32 * 25,
                                    disp12MaxDiff=1, uniquenessRatio=10, speckleWindowSize=100, speckleRange=2,
                                    mode=cv2.STEREO_SGBM_MODE_SGBM_3WAY)
    found = matcher.compute(left, right).astype(np.float64) / 16
    found[found < least] = np.nan
    return found


def filled(disparity: np.ndarray) -> np.ndarray:
    """Each pixel without an answer takes that of the nearest one to its left, else to its right."""
    out = disparity.copy()
    for row in out:
        known = np.flatnonzero(np.isfinite(row))
        if len(known):
            row[:] = row[known[np.maximum(np.searchsorted(known, np.arange(len(row)), "right") - 1, 0)]]
    return out


def bad(disparity: np.ndarray, truth: np.ndarray, threshold: float) -> float:
    """Percent of known truth, occluded pixels included; no answer is bad."""
    known = truth > 0
    return float(100 * np.mean(~(np.abs(disparity - truth)[known] <= threshold)))


def mean_error(disparity: np.ndarray, truth: np.ndarray) -> float:
    """Pixels, over known truth where there is an answer; NaN where there is none at all."""
    error = np.abs(disparity - truth)[(truth > 0) & np.isfinite(disparity)]
    return float(error.mean()) if error.size else float("nan")


def timed(what: Callable[[], Any]) -> tuple[Any, Seconds]:
    """(what the last call gives, median seconds of REPEATS calls, or those of one call that is slow)."""
    took: list[Seconds] = []
    while len(took) < REPEATS and (not took or took[0][0] < SLOW):
        began = time.perf_counter(), time.process_time()
        found = what()
        took.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return found, (statistics.median(clock for clock, _ in took), statistics.median(cpu for _, cpu in took))


def rows_of(job: Job, left: np.ndarray, right: np.ndarray, peers: list[str], backend: str) -> tuple[list[Row], Job]:
    """The rows of the table and the job of the final field. left, right: uint8 (H, W), 8 bits."""
    assert isinstance(job.truth, StereoTruth)
    least, labels = job.truth.min_disparity, job.problem.labels
    final, before = timed(lambda: prepared(backend, job, None))
    solution, seconds = timed(lambda: sample(backend, final.config, final.problem, final.run, chains=CHAINS))
    ours = judged(final, solution.counts, solution.last)
    whole_run = before[0] + seconds[0], before[1] + seconds[1]
    rows: list[Row] = [(f"mrfhw{what}", ours.labels + float(least), ours.labels, ours.coverage, took)
                       for what, took in (("", whole_run), (", final field", seconds))]
    if "cv2" in peers:
        found, seconds = timed(lambda: semi_global(left, right, labels, least))
        whole = filled(found)
        nearest = np.rint(whole - least).clip(0, labels - 1).astype(np.uint8) if np.isfinite(whole).all() else None
        rows += [("SGBM", found, None, None, seconds), ("SGBM, filled", whole, nearest, None, seconds)]
    if "gco" in peers:
        cut, seconds = importlib.import_module("studies.peer_gco").expansion(final.problem)
        rows.append(("gco, alpha-expansion", cut + float(least), cut, None, seconds))
    if "thrml" in peers:
        counts, last, seconds = importlib.import_module("studies.peer_thrml").sampled(final.problem, final.run, CHAINS)
        theirs = judged(final, counts, last)
        rows.append((f"thrml, {CHAINS} chains", theirs.labels + float(least), theirs.labels, theirs.coverage, seconds))
    return rows, final


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
@click.option("--scenes", "names", default=SCENES, show_default=True, help="Which of them; NAME:SCALE of one that is not known.")
@click.option("--peers", "wanted", default=",".join(PEERS), show_default=True, help="Which of them, where they are installed.")
@click.option("--backend", type=click.Choice(["model", "cpu"]), default="model", show_default=True, help="Who solves mrfhw's rows.")
@click.option("--size", type=(int, int), default=(288, 384), show_default=True, help="Rows and columns of the built-in scene.")
def main(data: Path | None, names: str, wanted: str, backend: str, size: tuple[int, int]) -> None:
    """Print a table, and of several scenes the means of all."""
    chosen = set(wanted.split(",")) - {""}
    if unknown := chosen - {*PEERS}:
        raise ProblemError(f"peers has {min(unknown)}; they are {', '.join(PEERS)}: give some of these")
    peers = [module for module in PEERS if module in chosen and importlib.util.find_spec(module) is not None]
    for module, package in PEERS.items():
        if module in chosen and module not in peers:
            print(f"{module} is skipped, as it is not installed: pip install {package}")
    print(f"{'scene':14}{'method':22}{'bad 1 %':>9}{'bad 2 %':>9}{'mean error':>12}{'energy':>10}"
          f"{'covered %':>11}{'seconds':>10}{'CPU s':>9}")
    with tempfile.TemporaryDirectory() as directory:
        solved(job_of("stereo", built_in("stereo", Path(directory), 0, 48, 64)), backend=backend)  # compiles
    all_bad: dict[str, list[tuple[float, float]]] = {}
    for name, words in scenes(data, names, *size):
        left, right = (load_grey(path, 8) for path in words[:2])
        rows, final = rows_of(job_of("stereo", words), left, right, peers, backend)
        assert isinstance(final.truth, StereoTruth)
        truth, energy = final.truth.disparity, FieldEnergy(final.problem)
        for method, disparity, labels, coverage, (seconds, cpu) in rows:
            shares = bad(disparity, truth, 1), bad(disparity, truth, 2)
            all_bad.setdefault(method, []).append(shares)
            print(f"{name:14}{method:22}{shares[0]:9.2f}{shares[1]:9.2f}"
                  f"{mean_error(disparity, truth):12.3f}{'-' if labels is None else energy(labels):>10}"
                  f"{'-' if coverage is None else f'{coverage:.1f}':>11}{seconds:10.3f}{cpu:9.3f}", flush=True)
    for method, several in all_bad.items():
        if len(several) > 1:
            print(f"{f'mean of {len(several)}':14}{method:22}" + "".join(f"{mean:9.2f}" for mean in np.mean(several, axis=0)))


if __name__ == "__main__":
    main()
