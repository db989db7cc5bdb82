"""A noisy picture of regions of our own making whose classes are known at every pixel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.applications.textures import card, check_scene, disc, noise

__all__ = ["MEANS", "SegmentationScene", "segmentation_scene", "write_demo", "write_segmentation_scene"]

MEANS = (60, 105, 150, 195)  # of the classes, in 8-bit grey
NOISE = 22.0  # standard deviation, in 8-bit grey: half of what lies between two classes


@dataclass(frozen=True)
class SegmentationScene:
    """image: uint8 (H, W) grey. classes: int64 (H, W), 0..3, the class of each pixel."""

    image: np.ndarray
    classes: np.ndarray


def segmentation_scene(rows: int = 144, cols: int = 192, seed: int = 0) -> SegmentationScene:
    """Regions of four greys with outlines round, straight and wavy, under noise; the same for the same arguments.

    rows, cols: at least 16.
    Raises ProblemError otherwise.
    """
    check_scene(rows, cols, seed)
    rng = np.random.Generator(np.random.PCG64([seed, 5]))
    row, col = np.arange(rows)[:, None] + 0.0, np.arange(cols)[None, :] + 0.0
    size = min(rows, cols * 0.75)
    hills = 0.62 * rows + 0.10 * rows * noise(rng, 0.4 * size, 2)(0 * row, col)
    classes = np.where(row > hills, 1, 0) + 0 * col.astype(np.int64)
    for kind, inside in (
        (3, disc(0.28 * rows, 0.26 * cols, 0.18 * size)), (2, card(0.70 * rows, 0.30 * cols, 0.22 * size, 0.5 * size, 0.3)),
        (2, disc(0.36 * rows, 0.74 * cols, 0.24 * size)), (0, disc(0.36 * rows, 0.74 * cols, 0.12 * size)),
        (3, card(0.80 * rows, 0.78 * cols, 0.18 * size, 0.36 * size, -0.2)),
    ):
        classes = np.where(inside(row, col), kind, classes)
    image = np.array(MEANS)[classes] + rng.normal(0, NOISE, classes.shape)
    return SegmentationScene(np.rint(image).clip(0, 255).astype(np.uint8), classes)


def write_segmentation_scene(scene: SegmentationScene, directory: Path) -> list[Path]:
    """Write image.png and segments.png (class + 1) into a directory, which is made; the files' paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / name for name in ("image.png", "segments.png")]
    Image.fromarray(scene.image).save(paths[0])
    Image.fromarray((scene.classes + 1).astype(np.uint8)).save(paths[1])
    return paths


def write_demo(directory: Path, rows: int, cols: int, seed: int) -> tuple[list[Path], str]:
    """As of `mrfhw.jobs.application.SceneWriter`."""
    return write_segmentation_scene(segmentation_scene(rows, cols, seed), directory), "{}/image.png --truth {}/segments.png"
