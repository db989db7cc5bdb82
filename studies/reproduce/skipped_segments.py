"""Figure 4.17: updates that event-driven Gibbs sampling skips in segmentations, and their quality."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.applications.segmentation import field as segmentation
from mrfhw.applications.segmentation.field import SegmentationTruth, class_means, class_scale, segmentation_problem
from mrfhw.field.problem import ProblemError
from mrfhw.pictures.images import load_grey, load_segments
from mrfhw.scenes import segmentation_scene
from studies.report import Report, bars
from studies.reproduce.context import Context
from studies.reproduce.scenes import BUILT_IN, DATA_BITS
from studies.reproduce.skipped import COLUMNS, REGIONS, SWEEPS, cooled, skipped

__all__ = ["FOLDER", "LABELS", "check_pictures", "figure_4_17", "pictures"]

LABELS = (2, 4, 8)
FOLDER = "bsds"  # below --data


@dataclass(frozen=True)
class Picture:
    """A picture of 6-bit grey, uint8 (H, W), and its segmentations by hand, (H, W) each."""

    name: str
    grey: np.ndarray
    segments: list[np.ndarray]


def pictures(data: Path | None) -> tuple[list[Picture], str]:
    """The pictures below `data` and their folder, or a built-in scene where there is none.

    FOLDER has images/NAME.jpg and labels/NAME_K.png. Raises ProblemError for broken ones, in a line that names the file.
    """
    folder = None if data is None else data / FOLDER
    if folder is None or not folder.is_dir():
        scene = segmentation_scene()
        return [Picture("scene", scene.image >> 8 - DATA_BITS, [scene.classes + 1])], BUILT_IN
    found = []
    for path in sorted((folder / "images").glob("*.jpg")):
        truths = sorted((folder / "labels").glob(f"{path.stem}_*.png"))
        grey, segments = load_grey(path, DATA_BITS), [load_segments(truth) for truth in truths]
        if not segments:
            raise ProblemError(f"{path} has no segmentation by hand: put {path.stem}_0.png into {folder / 'labels'}")
        if (greys := len(np.unique(grey))) < max(LABELS):
            raise ProblemError(f"{path} has {greys} different greys of {DATA_BITS} bits; {max(LABELS)} classes need as many: "
                               "leave it out")
        if not any(each.any() for each in segments):
            raise ProblemError(f"{path} has no pixel in a segment, in none of {truths[0].name} and others: leave it out")
        for truth, each in zip(truths, segments, strict=True):
            if each.shape != grey.shape:
                raise ProblemError(f"{truth} is {each.shape[1]}x{each.shape[0]}; its picture is {grey.shape[1]}x{grey.shape[0]}: "
                                   "give files of one size")
        found.append(Picture(path.stem, grey, segments))
    if not found:
        raise ProblemError(f"{folder / 'images'} has no .jpg: put pictures there, or leave {FOLDER} out")
    return found, FOLDER


def check_pictures(context: Context) -> None:
    """Raises ProblemError where `figure_4_17` would, before hours of other work: for a broken picture, or without scikit-learn."""
    found, _ = pictures(context.data)
    class_means(found[0].grey, min(LABELS))


def _rows(context: Context, picture: Picture, source: str, labels: int) -> list[dict[str, Any]]:
    """A row of the table for each cut-off, of plain sampling first."""
    sweeps = context.iterations or segmentation.TUNED.sweeps
    means = class_means(picture.grey, labels)
    problem = cooled(segmentation_problem(picture.grey, means), segmentation.TUNED.cooling, sweeps)
    truth = SegmentationTruth(picture.segments, picture.grey, means, class_scale(means, DATA_BITS))
    with context.bar(SWEEPS * sweeps, f"{picture.name}, {labels} labels") as bar:
        found = skipped(problem, sweeps, context.seed, bar.update)
    return [{"picture": picture.name, "data": source, "labels": labels, "iterations": sweeps, **each.columns,
             **{name: value for name, value in truth.metrics(each.labels, None).items() if name != "vi_single"}} for each in found]


def figure_4_17(context: Context) -> Report:
    """Skipped updates by cut-off and region, and quality, of annealed segmentations with 2, 4 and 8 labels."""
    found, source = pictures(context.data)
    rows = [row for labels in LABELS for picture in found for row in _rows(context, picture, source, labels)]
    groups: dict[tuple[int, float | None], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["labels"], row["cutoff"]), []).append(row)

    def mean(key: tuple[int, float | None], column: str) -> float:
        return float(np.mean([row[column] for row in groups[key]]))

    lines = []
    for key in groups:
        quality = f"variation of information {mean(key, 'vi'):.2f} bits of segments, {mean(key, 'vi_classes'):.2f} of classes"
        if key[1] is None:
            lines.append(f"{key[0]} labels, plain: {quality}; {mean(key, 'changed_percent'):.1f} % of the updates change the label")
        else:
            shares = ", ".join(f"{mean(key, f'skipped_{r}x{c}'):.1f} % ({r}x{c})" for r, c in REGIONS)
            lines.append(f"{key[0]} labels, C = {key[1]:g}: skipped {shares}; {quality}")
    many = f"{len(found)} pictures of {source}"
    if source == BUILT_IN:
        many = f"one {BUILT_IN}: give --data with {FOLDER}/images and {FOLDER}/labels"
    lines += ["published: 22 to 44 % slower on a GPU by regions, 2.5 to 10 % by single sites; variation of information as without",
              f"means over {many} (published: 30); grey, means by k-means, cooled as --anneal cools them",
              *([f"{context.iterations} iterations in place of {segmentation.TUNED.sweeps}"] if context.iterations else [])]
    shown = [key for key in groups if key[1] is not None]

    def draw(figure: Any) -> None:
        bars(figure.add_subplot(), [f"{labels} labels, C = {cutoff:g}" for labels, cutoff in shown], {
            f"regions of {r}x{c}" if r * c > 1 else "single sites": [mean(key, f"skipped_{r}x{c}") for key in shown]
            for r, c in REGIONS}, label="updates skipped (%)", form="%.0f")

    return Report(
        "figure-4.17", "updates skipped by event-driven Gibbs sampling, image segmentation", {
            "picture": "file's name, or scene", "data": "folder of the pictures, or built-in scene", "labels": "of the field",
            "iterations": "of each chain", **COLUMNS,
            "vi": "variation of information in bits, of connected segments, mean over segmentations by hand",
            "vi_classes": "the same of the classes themselves"},
        rows, draw, lines, size=(max(8.0, 1.1 * len(shown)), 4.6))
