"""`mrfhw run segment` and `verify segment`."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from mrfhw.apps.images import load_input, load_segments
from mrfhw.apps.job import Job
from mrfhw.apps.segmentation import COOLING, SWEEPS, SegmentationTruth, class_means, class_scale, segmentation_problem
from mrfhw.commands.application import Application
from mrfhw.commands.options import Common, default, same_size
from mrfhw.field.problem import LABELS_MAX, LABELS_MIN, ProblemError

__all__ = ["APPLICATION", "job", "means_from_text"]


def means_from_text(text: str, data_bits: int) -> np.ndarray:
    """(K,) int64: "10,80,160" of 0..255 as grey data of the machine's width, in the order given.

    Raises ProblemError for what is not 2 to 64 whole numbers in that range, and for two that the machine cannot tell
    apart.
    """
    try:
        means = np.array([int(part) for part in text.split(",")])
    except ValueError:
        raise ProblemError(f"means is {text!r}; it must be whole numbers with commas between them: "
                           "give such as 10,80,160") from None
    if means.min() < 0 or means.max() > 255:
        raise ProblemError(f"means has values from {means.min()} to {means.max()}; grey goes from 0 to 255: "
                           "give values in that range")
    if not LABELS_MIN <= len(means) <= LABELS_MAX:
        raise ProblemError(f"the number of means is {len(means)}; the limits are {LABELS_MIN} to {LABELS_MAX}: "
                           "give one mean for each class")
    data = means >> (8 - data_bits)
    if len(np.unique(data)) < len(data):
        raise ProblemError(f"means is {text}; two of them are the same {data_bits}-bit grey: give means that are at least "
                           f"{1 << (8 - data_bits)} apart")
    return data


def job(*, image: str, classes: int, means: str | None, truth: tuple[str, ...], **others: Any) -> Job:
    """Check every option and read every file of a segmentation problem. Raises ProblemError or ConfigError."""
    common = Common.of(others)
    bits = common.config.data_bits
    given = None if means is None else means_from_text(means, bits)
    data, picture = load_input(image, bits)
    images = {"image": data, **{f"truth {path}": load_segments(path) for path in truth}}
    data, *segments = same_size(images, common.window)
    constants = class_means(data, classes) if given is None else given
    schedule = common.schedule(default(segmentation_problem, "temperature"), COOLING)
    problem = segmentation_problem(data, constants, schedule=schedule, **common.energy)
    scale = class_scale(constants, bits)
    return Job(
        application="segment", config=common.config, problem=problem, run=common.run, annealing=common.anneal,
        inputs={"picture": same_size({"image": picture}, common.window)[0]}, scale=scale,
        truth=SegmentationTruth(segments, data, constants, scale) if segments else None,
        settings=common.settings("segment", problem.shape, schedule, image=image, labels=len(constants),
                                 means=scale.values[:, 0].tolist(), truth=list(truth)))


APPLICATION = Application(
    verb="segment", summary="Divide IMAGE into classes of grey: one for each pixel, and how sure it is.",
    arguments=("image",), problem=segmentation_problem, sweeps=SWEEPS, job=job,
    options=(
        click.option("--classes", type=int, default=4, show_default=True, metavar="K", help="Classes told apart, 2 to 64."),
        click.option("--means", metavar="G,G,...",
                     help="Mean grey of each class, 0 to 255, in place of --classes.  [default: by k-means]"),
        click.option("--truth", multiple=True, metavar="SEGMENTS",
                     help="A segmentation by hand, a grey image of segment numbers, 0 where unknown; once for each of them."),
    ))
