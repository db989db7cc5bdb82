"""Our stereo beside OpenCV's semi-global matching (SGBM): bad pixels and seconds, on the same pictures.

    python benchmarks/stereo_peer.py [--data DIR]

Without --data the built-in scene stands in. Both get the disparity range of the truth. SGBM has the settings of
OpenCV's own example (3-way aggregation, P1 = 8 n b^2, P2 = 32 n b^2, block 5, uniqueness 10, speckles of 100 removed);
pixels for which it gives no answer count as bad, and once more after filling them from the left. Ours is the default
`mrfhw run stereo` with the range's labels: the bit-exact model of the default machine, two chains. Seconds are medians
of three, without the first compile, on all cores for ours and as OpenCV likes for SGBM.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import click
import cv2
import numpy as np

from mrfhw.apps.images import load_disparity, load_grey
from mrfhw.apps.stereo import SWEEPS, stereo_problem
from mrfhw.field.problem import Run
from mrfhw.machine.config import Config
from mrfhw.scenes import stereo_scene
from mrfhw.sessions.sampling import sample

SCENES = (("teddy", 42, 12, 4), ("poster", 18, 3, 8), ("art", 52, 24, 3))  # name, labels, least disparity, truth's scale
REPEATS = 3


def scenes(data: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, int, int]]:
    """(name, left and right of 8-bit grey, truth, labels, least disparity)."""
    if data is None:
        scene = stereo_scene(288, 384, 32, 0)
        yield "built-in", scene.left, scene.right, scene.disparity, 32, 0
        return
    for name, labels, least, scale in SCENES:
        folder = data / "stereo" / name
        left, right = (load_grey(folder / f"{side}.png", 8) for side in ("left", "right"))
        yield name, left, right, load_disparity(folder / "disp_left.png", scale), labels, least


def semi_global(left: np.ndarray, right: np.ndarray, labels: int, least: int) -> np.ndarray:
    """Disparities (H, W) float64, NaN where there is no answer."""
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


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
def main(data: Path | None) -> None:
    """Print a table."""
    print(f"{'scene':10}{'method':24}{'bad 1 %':>9}{'bad 2 %':>9}{'seconds':>9}")
    for name, left, right, truth, labels, least in scenes(data):
        rows: list[tuple[str, np.ndarray, float]] = []
        took = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            found = semi_global(left, right, labels, least)
            took.append(time.perf_counter() - began)
        rows += [("SGBM", found, statistics.median(took)), ("SGBM, filled", filled(found), statistics.median(took))]
        problem = stereo_problem(left >> 2, right >> 2, labels=labels, min_disparity=least)
        took = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            solution = sample("model", Config(), problem, Run(sweeps=SWEEPS, burn_in=SWEEPS // 2), chains=2)
            took.append(time.perf_counter() - began)
        rows.append(("mrfhw, 2 chains", solution.mode + float(least), statistics.median(took)))
        for method, disparity, seconds in rows:
            print(f"{name:10}{method:24}{bad(disparity, truth, 1):9.2f}{bad(disparity, truth, 2):9.2f}{seconds:9.3f}", flush=True)


if __name__ == "__main__":
    main()
