"""Two maps of disparities of one scene as one, by how sure they are: `docs/applications.md`, Two maps of one scene.

    python -m studies.fusion [--data DIR --scenes art-348x278,poster [--held-back teddy,1,2]]

A whole number is the built-in scene of that seed, of 288x384 pixels. One map is that of `mrfhw run stereo`, the other that of the
right picture with both turned over, moved into the left picture's pixels. Rows are the first map alone, both by the inverse of
their variances, and by the rule of `fused`.

bad_0.5, bad_1, bad_2: percent of the pixels of known truth that are off by more. error: mean, pixels.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np
from PIL import Image

import mrfhw
from mrfhw.applications.stereo.answer import Disparity
from mrfhw.commands.machine_options import OneLineCommand
from studies.scene_jobs import choice_options, chosen_on_and_held_back, job_of

LIMITS = (0.5, 1, 2)  # pixels
SIZE = (288, 384)  # rows and columns of built-in scenes
COLUMNS = ("scene", "part", "method", *(f"bad_{limit}" for limit in LIMITS), "error")
TOGETHER = 1.0  # pixels
SURER = 0.2


def moved(disparity: np.ndarray, *others: np.ndarray, hidden: np.ndarray) -> list[np.ndarray]:
    """Maps (H, W) of the right picture in the pixels of the left one, NaN where nothing comes to lie; the nearest counts."""
    rows, cols = disparity.shape
    row, col = np.nonzero(~hidden)
    order = np.argsort(disparity[row, col], kind="stable")
    row, col = row[order], col[order]
    to = np.rint(col + disparity[row, col]).astype(int)
    inside = (to >= 0) & (to < cols)
    row, col, to = row[inside], col[inside], to[inside]
    found = [np.full((rows, cols), np.nan) for _ in range(1 + len(others))]
    for own, into in zip((disparity, *others), found, strict=True):
        into[row, to] = own[row, col]
    return found


def fused(first: np.ndarray, sure: np.ndarray, second: np.ndarray, second_sure: np.ndarray) -> np.ndarray:
    """Their mean where two maps (H, W) are within TOGETHER; elsewhere the first, or the second where its confidence is greater by
    SURER. The second has NaN where it knows nothing."""
    apart = np.nan_to_num(np.abs(first - second), nan=np.inf)
    surer = np.nan_to_num(second_sure, nan=-1.0) > sure + SURER
    return np.where(apart < TOGETHER, (first + second) / 2, np.where(surer, second, first))


def maps_of(words: list[str], backend: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The truth (H, W), NaN where unknown, and the maps by method. words: after `mrfhw run stereo`."""
    job = job_of("stereo", words)
    assert job.truth is not None
    values = job.scale.values[:, 0]
    left, right = (np.asarray(Image.open(path).convert("RGB")) for path in words[:2])

    def matched(first: np.ndarray, second: np.ndarray) -> Disparity:
        return mrfhw.stereo(first, second, labels=len(values), min_disparity=int(values[0]), backend=backend)

    one, other = matched(left, right), matched(right[:, ::-1], left[:, ::-1])
    turned = [array[:, ::-1] for array in (other.disparity, other.confidence, other.interval[..., 1] - other.interval[..., 0])]
    second, sure, width = moved(*turned, hidden=other.occluded[:, ::-1])
    weight, beside = (np.maximum(wide, 0.1) ** -2 for wide in (one.interval[..., 1] - one.interval[..., 0], np.nan_to_num(
        width, nan=1e9)))
    first = one.disparity.astype(np.float64)
    by_variance = (weight * first + beside * np.nan_to_num(second)) / (weight + beside)
    return job.truth.picture[..., 0], {"one map": first, "inverse variances": by_variance,
                                       "fused": fused(first, one.confidence, second, sure)}


def numbers(found: np.ndarray, truth: np.ndarray) -> list[float]:
    """Those of COLUMNS."""
    error = np.abs(found - truth)[np.isfinite(truth)]
    return [*(100 * float(np.mean(error > limit)) for limit in LIMITS), float(error.mean())]


@click.command(cls=OneLineCommand)
@choice_options
def main(data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Compare two maps fused with one alone."""
    every: dict[tuple[str, str], list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        parts = chosen_on_and_held_back("stereo", data, scenes, held_back, Path(directory), SIZE)
        click.echo(",".join(COLUMNS))
        for part, words in parts.items():
            for name, given in words.items():
                truth, maps = maps_of(given, backend)
                for method, found in maps.items():
                    every.setdefault((part, method), []).append(numbers(found, truth))
                    click.echo(",".join([name, part, method, *(f"{number:.3f}" for number in every[part, method][-1])]))
    for (part, method), several in every.items():
        click.echo(",".join(["mean", part, method, *(f"{number:.3f}" for number in np.mean(several, 0))]))


if __name__ == "__main__":
    main()
