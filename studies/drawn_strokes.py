"""Strokes that a seeded rule draws into regions of known truth, and the tasks of segmentation that they make.

The rule, of a region: pixels that lie at least 2 pixels and a quarter of the region's greatest depth inside it are its middle. Two
of them, of one connected part, are drawn by chance; the way between them that is shortest where a pixel at depth d is 1 / d^2 long
keeps to the middle as a skeleton does, on every second row and column. It is drawn 3 pixels wide until 1 % of the region's pixels
are stroked, and further ways follow until they are. A region without a middle has its deepest pixel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage, sparse
from scipy.sparse import csgraph

from mrfhw.pictures.images import load_segments

__all__ = ["Task", "stroke", "tasks_of"]

SHARE = 0.01  # of a region's pixels
STEP = 2  # rows and columns of the ways
WAYS = 50  # at most
LEAST, MOST = 0.02, 0.5  # of the picture: a foreground
OBJECTS, SEGMENTS, BY_HAND = 3, 8, 2  # foregrounds, labels of several, and segmentations by hand of a picture at most


@dataclass(frozen=True)
class Task:
    """name. picture: uint8 (H, W, 3). strokes: uint8 (H, W), 0 for none. truth: int64 (H, W), labels, -1 for none of them."""

    name: str
    picture: np.ndarray
    strokes: np.ndarray
    truth: np.ndarray

    @property
    def labels(self) -> int:
        return int(self.truth.max()) + 1


def _ways(length: np.ndarray) -> sparse.csr_matrix:
    """The graph of eight neighbours of a map (H, W) of a pixel's lengths, inf where there is none."""
    (rows, cols), sites = length.shape, np.arange(length.size).reshape(length.shape)
    parts = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        here = (slice(0, rows - down), slice(max(0, -right), cols - max(0, right)))
        there = (slice(down, rows), slice(max(0, right), cols + min(0, right)))
        long = (length[here] + length[there]) / 2 * np.hypot(down, right)
        known = np.isfinite(long)
        parts.append((long[known], sites[here][known], sites[there][known]))
    long, begin, end = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sparse.csr_matrix((long, (begin, end)), (length.size, length.size))


def stroke(region: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Strokes in a region, both bool (H, W), by the rule above."""
    depth = ndimage.distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
    middle, _ = ndimage.label(depth >= max(2.0, depth.max() / 4), np.ones((3, 3)))
    step = STEP if middle[::STEP, ::STEP].any() else 1
    part, coarse = middle[::step, ::step], depth[::step, ::step]
    found, within = np.zeros(region.shape, bool), np.flatnonzero(part)
    if not len(within):
        found.flat[depth.argmax()] = True
        return found
    ways = _ways(np.where(part > 0, 1 / np.maximum(coarse, 1)**2, np.inf))
    for _ in range(WAYS):
        begin = int(rng.choice(within))
        site = int(rng.choice(within[part.flat[within] == part.flat[begin]]))
        before = csgraph.dijkstra(ways, directed=False, indices=begin, return_predecessors=True)[1]
        while site >= 0 and found.sum() < SHARE * region.sum():
            row, col = (step * at for at in np.unravel_index(site, part.shape))
            found[max(0, row - 1):row + 2, max(0, col - 1):col + 2] = True
            site = int(before[site])
        if found.sum() >= SHARE * region.sum():
            break
    return found & region


def _task(name: str, picture: np.ndarray, truth: np.ndarray, seed: list[int]) -> Task:
    rng, strokes = np.random.default_rng(seed), np.zeros(truth.shape, np.uint8)
    for label in range(int(truth.max()) + 1):
        strokes[stroke(truth == label, rng)] = label + 1
    return Task(name, picture, strokes, truth)


def tasks_of(folder: Path, name: str, seed: int = 0) -> Iterator[tuple[str, Task]]:
    """("two" or "several", task) of a picture with segmentations by hand: images/NAME.jpg and labels/NAME_K.png of a folder.

    two: each of the largest segments that have 2 to 50 % of the pixels is a foreground in turn, and all else is its background, of
    which the strokes say as much and not where it is. several: the largest segments of at least 2 %; the rest is not judged.
    """
    picture = np.array(Image.open(folder / "images" / f"{name}.jpg").convert("RGB"))
    for path in sorted((folder / "labels").glob(f"{name}_*.png"))[:BY_HAND]:
        segments = load_segments(path)
        numbers, counts = np.unique(segments[segments > 0], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        large = [(int(numbers[n]), counts[n] / segments.size) for n in order if counts[n] >= LEAST * segments.size]
        by_hand = int(path.stem.rsplit("_", 1)[1])
        for number in [number for number, share in large if share <= MOST][:OBJECTS]:
            yield "two", _task(f"{path.stem}:{number}", picture, (segments == number).astype(np.int64), [seed, by_hand, number])
        if len(large) > 1:
            truth = np.full(segments.shape, -1)
            for label, (number, _) in enumerate(large[:SEGMENTS]):
                truth[segments == number] = label
            yield "several", _task(path.stem, picture, truth, [seed, by_hand])
