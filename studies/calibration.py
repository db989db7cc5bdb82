"""Probabilities of a small classifier before and after `mrfhw.smooth_probabilities`: accuracy, log loss, calibration error.

    python -m studies.calibration [FOLDER] [--scenes 101085,2018,3096] [--held-back 388016,42049,66075]

Without FOLDER, the built-in scenes of seeds 2 to 4: the classifier, logistic regression on a pixel's grey and means of 3x3 and 5x5,
is trained on the scene of seed 1. FOLDER has images/NAME.jpg and labels/NAME_K.png, segmentations by hand: of each picture's first
one, segments of at least 2 % of the pixels, 8 at most, are classes, and pixels of others are left out. There is one classifier a
picture: logistic regression on colour (CIELAB, also smoothed by 2 pixels), place, and the spread of lightness around, trained on
one in 500 pixels (seeded). As many others are `known` labels. All are judged on the pixels that are neither.

Rows are the probabilities as they are, smoothed by a fixed strength of 2 at T = 1 with weights by contrast, and by what
`smooth_probabilities` chooses, without known labels and with them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from PIL import Image
from scipy import ndimage
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mrfhw
from mrfhw.analysis.calibration import expected_calibration_error
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.pictures.images import load_segments
from mrfhw.pictures.lab import lab
from mrfhw.scenes import segmentation_scene
from mrfhw.system.errors import ProblemError

CHOSEN_ON, HELD_BACK = "101085,2018,3096", "388016,42049,66075"
COLUMNS = ("scene", "part", "probabilities", "accuracy", "log_loss", "ece", "strength", "temperature", "seconds")
LEAST, MOST = 0.02, 8  # of a segment's pixels; classes
ONE_IN = 500  # pixels is trained on, and as many known
FLOOR = 1e-6  # of a probability whose logarithm is taken

Task = tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # name, picture, probabilities, truth (-1: not judged), known


def _trained(features: np.ndarray, classes: np.ndarray) -> LogisticRegression:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features, classes)


def _grey_features(picture: np.ndarray) -> np.ndarray:
    grey = picture.astype(np.float64)
    return np.stack([grey, *(ndimage.uniform_filter(grey, size, mode="nearest") for size in (3, 5))], -1).reshape(-1, 3)


def built_in() -> Iterator[Task]:
    """Scenes of 96x128 pixels."""
    first = segmentation_scene(96, 128, 1)
    classifier = _trained(_grey_features(first.image), first.classes.ravel())
    for seed in (2, 3, 4):
        scene = segmentation_scene(96, 128, seed)
        given = classifier.predict_proba(_grey_features(scene.image)).reshape(*scene.classes.shape, -1)
        known = np.where(np.random.default_rng(seed).integers(0, 50, scene.classes.shape) == 0, scene.classes, -1)
        yield str(seed), scene.image, given, np.where(known < 0, scene.classes, -1), known


def published(folder: Path, name: str) -> Task:
    """Of a picture of a folder. Raises ProblemError where it is not there."""
    path = folder / "images" / f"{name}.jpg"
    if not path.is_file():
        raise ProblemError(f"{path} is not there; a folder has images/NAME.jpg and labels/NAME_K.png: give such a folder, and "
                           "--scenes and --held-back of it")
    picture = np.array(Image.open(path).convert("RGB"))
    segments = load_segments(folder / "labels" / f"{name}_0.png")
    numbers, counts = np.unique(segments[segments > 0], return_counts=True)
    large = numbers[np.argsort(-counts, kind="stable")][:MOST][np.sort(counts)[::-1][:MOST] >= LEAST * segments.size]
    truth = np.full(segments.shape, -1)
    for label, number in enumerate(large):
        truth[segments == number] = label
    colours = lab(picture)
    light, smooth = colours[..., :1], ndimage.gaussian_filter(colours, (2, 2, 0))
    spread = np.sqrt(np.maximum(ndimage.gaussian_filter(light**2, (2, 2, 0)) - ndimage.gaussian_filter(light, (2, 2, 0))**2, 0))
    places = np.stack(np.mgrid[:truth.shape[0], :truth.shape[1]], -1) / max(truth.shape)
    features = np.concatenate([colours, smooth, spread, places], -1)
    chance = np.random.default_rng(int(name)).integers(0, ONE_IN, truth.shape)
    train, known = (chance == 0) & (truth >= 0), np.where(chance == 1, truth, -1)
    classifier = _trained(features[train], truth[train])
    given = np.zeros((*truth.shape, len(large)))
    given[..., classifier.classes_] = classifier.predict_proba(features.reshape(-1, features.shape[-1])).reshape(*truth.shape, -1)
    return name, picture, given, np.where((chance > 1), truth, -1), known


def numbers_of(probabilities: np.ndarray, truth: np.ndarray) -> list[float]:
    """Accuracy, log loss and expected calibration error over the pixels that are judged."""
    given, right = probabilities[truth >= 0], truth[truth >= 0]
    correct = given.argmax(-1) == right
    loss = -np.log(np.maximum(np.take_along_axis(given, right[:, None], 1), FLOOR)).mean()
    error = expected_calibration_error(given.max(-1), correct)
    assert error is not None
    return [float(correct.mean()), float(loss), error]


def rows_of(task: Task) -> Iterator[tuple[str, list[float]]]:
    """(probabilities, numbers of COLUMNS)."""
    _, picture, given, truth, known = task
    yield "as they are", [*numbers_of(given, truth), 0.0, 1.0, 0.0]
    for name, options in (("strength 2, T 1", {"strength": 2.0, "temperature": 1.0}), ("smoothed", {}),
                          ("smoothed, known labels", {"known": known})):
        began = time.perf_counter()
        found = mrfhw.smooth_probabilities(given, picture, **options)
        yield name, [*numbers_of(found.probabilities, truth), found.strength, found.temperature, time.perf_counter() - began]


@click.command(cls=OneLineCommand)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--scenes", default=CHOSEN_ON, show_default=True, help="Pictures that the rule was chosen on.")
@click.option("--held-back", default=HELD_BACK, show_default=True, help="Other pictures.")
def main(folder: Path | None, scenes: str, held_back: str) -> None:
    """Compare probabilities with the truth."""
    parts = {"built in": built_in()} if folder is None else {
        part: (published(folder, name) for name in filter(None, names.split(",")))
        for part, names in (("chosen on", scenes), ("held back", held_back))}
    every: dict[tuple[str, str], list[list[float]]] = {}
    click.echo(",".join(COLUMNS))
    for part, tasks in parts.items():
        for task in tasks:
            for method, numbers in rows_of(task):
                every.setdefault((part, method), []).append(numbers)
                click.echo(f'{task[0]},{part},"{method}",' + ",".join(f"{number:.4f}" for number in numbers))
    for (part, method), several in every.items():
        click.echo(f'mean,{part},"{method}",' + ",".join(f"{number:.4f}" for number in np.mean(several, 0)))


if __name__ == "__main__":
    main()
