"""Segmentations by strokes beside GrabCut and watershed of OpenCV with the same strokes: overlap, ranks and calibration.

    python -m studies.strokes FOLDER [--scenes 101085,2018,3096] [--held-back 388016,42049,66075] [--sweeps N]

FOLDER has images/NAME.jpg and labels/NAME_K.png, segmentations by hand (from 1). Numbers of the application were chosen on the
first scenes alone. Strokes are drawn by a seeded rule, about 1 % of each region (`studies.drawn_strokes`), of two kinds: one
segment against all else, and several segments at once.

GrabCut (five rounds) is of two labels alone; it takes what has no stroke for probably background, or for probably foreground.
Watershed floods from the strokes. Without OpenCV both are left out, which is said in one line.

iou: intersection over union, of two labels the foreground's, of several the mean of all, over pixels of known truth. auroc: how
well the confidence (the share of the draws that have the answer's label) ranks pixels that are wrong. ause: area of the
sparsification curve above that of the true errors. ece: expected calibration error. log_loss: mean -log of the true label's share,
of the draws and half a draw more for each label. Strokes are left out of these. seconds: by the clock, compiling included where it
is the first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import ndimage

import mrfhw
from mrfhw.analysis.calibration import auroc, expected_calibration_error, sparsification
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.system.errors import ProblemError
from studies.drawn_strokes import Task, tasks_of
from studies.eight_paths import opencv

CHOSEN_ON, HELD_BACK = "101085,2018,3096", "388016,42049,66075"
COLUMNS = ("task", "part", "labels", "method", "iou", "auroc", "ause", "ece", "log_loss", "seconds")
ROUNDS = 5  # of GrabCut


def overlap(task: Task, labels: np.ndarray) -> float:
    """Intersection over union, as above."""
    known = task.truth >= 0
    found = [np.count_nonzero((labels == label) & (task.truth == label)) / np.count_nonzero(((labels == label) & known) | (
        task.truth == label)) for label in range(task.labels)]
    return float(found[1] if task.labels == 2 else np.mean(found))


def doubts(task: Task, labels: np.ndarray, counts: np.ndarray) -> list[float | None]:
    """auroc, ause, ece and log_loss, as above."""
    where = (task.truth >= 0) & (task.strokes == 0)
    shares = (counts[where] + 0.5) / (counts[where].sum(-1, keepdims=True) + 0.5 * task.labels)
    believed, wrong = shares.max(-1), labels[where] != task.truth[where]
    curve = sparsification(1 - believed, wrong.astype(np.float64))
    loss = -np.log(np.take_along_axis(shares, task.truth[where][:, None], 1)).mean()
    return [auroc(1 - believed, wrong), None if curve is None else curve.ause, expected_calibration_error(believed, ~wrong),
            float(loss)]


def grabcut(cv2: Any, task: Task, rest: int) -> np.ndarray:
    """(H, W) labels. rest: of OpenCV's marks, of pixels without a stroke."""
    marks = np.select([task.strokes == 1, task.strokes == 2], [cv2.GC_BGD, cv2.GC_FGD], rest).astype(np.uint8)
    cv2.setRNGSeed(0)
    model = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(np.ascontiguousarray(task.picture[..., ::-1]), marks, None, *model, ROUNDS, cv2.GC_INIT_WITH_MASK)
    return (marks & 1).astype(np.int64)


def watershed(cv2: Any, task: Task) -> np.ndarray:
    """(H, W) labels; lines between them have the nearest."""
    marks = cv2.watershed(np.ascontiguousarray(task.picture[..., ::-1]), task.strokes.astype(np.int32))
    nearest = ndimage.distance_transform_edt(marks < 1, return_distances=False, return_indices=True)
    return np.asarray(marks[tuple(nearest)] - 1)


def rows_of(task: Task, sweeps: int | None) -> Iterator[tuple[str, list[float | None]]]:
    """(method, numbers of COLUMNS)."""
    began = time.perf_counter()
    answer = mrfhw.segment(task.picture, scribbles=task.strokes, sweeps=sweeps)
    labels = answer.labels
    taken = time.perf_counter() - began
    yield "mrfhw", [overlap(task, labels), *doubts(task, labels, answer.counts), taken]
    cv2 = opencv()
    if cv2 is None:
        return
    peers = {"watershed": lambda: watershed(cv2, task)}
    if task.labels == 2:
        peers |= {"GrabCut, rest background": lambda: grabcut(cv2, task, cv2.GC_PR_BGD),
                  "GrabCut, rest foreground": lambda: grabcut(cv2, task, cv2.GC_PR_FGD)}
    for name, peer in peers.items():
        began = time.perf_counter()
        found = peer()
        yield name, [overlap(task, found), None, None, None, None, time.perf_counter() - began]


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


def _mean(column: list[float | None]) -> float | None:
    known = [one for one in column if one is not None]
    return float(np.mean(known)) if known else None


@click.command(cls=OneLineCommand)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--scenes", default=CHOSEN_ON, show_default=True, help="Pictures that numbers were chosen on.")
@click.option("--held-back", default=HELD_BACK, show_default=True, help="Other pictures.")
@click.option("--sweeps", type=int, help="Of each chain.  [default: the application's]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the strokes.")
def main(folder: Path, scenes: str, held_back: str, sweeps: int | None, seed: int) -> None:
    """Compare segmentations by strokes with the truth."""
    parts = {"chosen on": scenes, "held back": held_back}
    for name in [name for names in parts.values() for name in names.split(",") if name]:
        if not (folder / "images" / f"{name}.jpg").is_file():
            raise ProblemError(f"{folder / 'images' / f'{name}.jpg'} is not there; a folder has images/NAME.jpg and "
                               "labels/NAME_K.png: give such a folder, and --scenes and --held-back of it")
    if opencv() is None:
        click.echo("OpenCV is not installed: GrabCut and watershed are left out (pip install opencv-python-headless)", err=True)
    every: dict[tuple[str, str, str], list[list[float | None]]] = {}
    click.echo(",".join(COLUMNS))
    for part, names in parts.items():
        for name in filter(None, names.split(",")):
            for labels, task in tasks_of(folder, name, seed):
                for method, numbers in rows_of(task, sweeps):
                    every.setdefault((part, labels, method), []).append(numbers)
                    click.echo(f'{task.name},{part},{labels},"{method}",' + ",".join(map(_text, numbers)))
    for (part, labels, method), several in every.items():
        means = [_mean(list(column)) for column in zip(*several, strict=True)]
        click.echo(f'mean of {len(several)},{part},{labels},"{method}",' + ",".join(map(_text, means)))


if __name__ == "__main__":
    main()
