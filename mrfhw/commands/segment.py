"""`mrfhw run segment` and `verify segment`."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from mrfhw.apps import segmentation
from mrfhw.apps.images import load_inputs, load_segments
from mrfhw.apps.job import Job
from mrfhw.apps.segmentation import SegmentationTruth, class_means, class_scale, least_segment, segmentation_problem, segments
from mrfhw.commands.application import Application
from mrfhw.commands.options import Common, contrast_weights, default, label_machine, picture_options, same_size, say_range
from mrfhw.field.problem import LABELS_MAX, LABELS_MIN, ProblemError
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["APPLICATION", "job", "means_from_text"]


def means_from_text(text: str, data_bits: int) -> np.ndarray:
    """(K,) int64: "10,80,160" of 0..255 as grey data of the machine's width, in the order given.

    Raises ProblemError for what is not 2 to 256 whole numbers in that range, and for two that the machine cannot tell
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


def job(*, image: str, classes: int, means: str | None, truth: tuple[str, ...], data: str | None, **others: Any) -> Job:
    """Check every option and read every file of a segmentation problem. Raises ProblemError or ConfigError."""
    count = classes if means is None else min(max(means.count(",") + 1, LABELS_MIN), LABELS_MAX)  # what is wrong is said below
    by_grey = data == "grey" or means is not None
    common = Common.of(others, label_machine("classes", count) | ({} if by_grey else segmentation.MACHINE))
    bits = common.config.data_bits
    given = None if means is None else means_from_text(means, bits)
    inputs = load_inputs([image], bits, common.reading)
    picture = inputs.pictures[0]
    if data == "colour" and picture.ndim == 2:
        raise ProblemError(f"data is colour and {image} is grey; a grey picture has one channel: give grey")
    colours = data == "colour" or (data is None and given is None and picture.ndim == 3 and _takes_colours(common.config))
    images = {"image": picture >> (8 - bits) if colours else inputs.data[0], "picture": picture,
              **{f"truth {path}": load_segments(path) for path in truth}}
    values, shown, *by_hand = same_size(images, common.window)
    constants = class_means(values, classes) if given is None else given
    schedule = common.schedule(default(segmentation_problem, "temperature"), segmentation.COOLING)
    edges = contrast_weights(segmentation, common.config, shown) if colours else None
    problem = segmentation_problem(values, constants, schedule=schedule, edges=edges, **common.energy)
    scale = class_scale(constants, bits)
    say_range([image], inputs)
    return Job(
        application="segment", config=common.config, problem=problem, run=common.run, annealing=common.anneal,
        inputs={"picture": shown}, scale=scale,
        truth=SegmentationTruth(by_hand, values, constants, scale) if by_hand else None,
        drawn_from=lambda labels: {"segments": segments(labels, least_segment(labels.shape))},
        settings=common.settings("segment", problem.shape, schedule, image=image, labels=len(constants),
                                 data="colour" if colours else "grey", means=constants.tolist(), truth=list(truth),
                                 stretched_from=inputs.stretched_from))


def _takes_colours(config: Config) -> bool:
    return Derived.of(config).channel_bits == (config.data_bits,) * 3


APPLICATION = Application(
    verb="segment", summary="Divide IMAGE into classes of grey or colour: one for each pixel, and how sure it is.",
    arguments=("image",), problem=segmentation_problem, sweeps=segmentation.SWEEPS, job=job,
    options=(
        *picture_options(),
        click.option("--classes", type=int, default=3, show_default=True, metavar="K", help="Classes told apart, 2 to 256."),
        click.option("--data", type=click.Choice(["colour", "grey"]), help="What pixels are compared by.  [default: colour, where "
                     "the picture has it, no means are given, and a preset's machine can]"),
        click.option("--means", metavar="G,G,...",
                     help="Mean grey of each class, 0 to 255, in place of --classes.  [default: by k-means]"),
        click.option("--truth", multiple=True, metavar="SEGMENTS",
                     help="A segmentation by hand, a grey image of segment numbers, 0 where unknown; once for each of them."),
    ))
