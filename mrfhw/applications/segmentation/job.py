"""From a picture, or the file that has it, and options to the job of segmenting it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mrfhw.applications.options import (
    READING,
    Common,
    check_choice,
    common_options,
    contrast_weights,
    default,
    label_machine,
    picture_notes,
    same_size,
    squared_machine,
)
from mrfhw.applications.segmentation.answer import Segmentation
from mrfhw.applications.segmentation.field import (
    TUNED,
    SegmentationTruth,
    Tuned,
    class_means,
    class_scale,
    least_segment,
    segmentation_problem,
    segments,
    worse_than_none,
)
from mrfhw.applications.segmentation.scene import write_demo
from mrfhw.applications.segmentation.strokes import (
    STROKES,
    Strokes,
    checked_strokes,
    first_of_strokes,
    strokes_problem,
    with_strokes,
)
from mrfhw.backends.first_labels import FirstLabels
from mrfhw.field.given import short
from mrfhw.field.problem import LABELS_MAX, LABELS_MIN, ProblemError
from mrfhw.jobs.application import Application, Measure, SceneWriter
from mrfhw.jobs.job import START_FOUND, Job
from mrfhw.jobs.options import Given, Option
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.pictures.images import load_inputs, name_of
from mrfhw.pictures.numbers import Known, known_segments, known_strokes
from mrfhw.placement.fit import check_fits
from mrfhw.placement.needs import needed_parameters
from mrfhw.report.exchange import writes_classes

__all__ = ["APPLICATION", "means_from_text"]

DATA = Option(name="data", choices=("colour", "grey"), help="What pixels are compared by.",
              said="colour, where the picture has it, no means are given, and a preset's machine can")


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


def job(app: Application, *, image: Any, scribbles: Any, classes: int, means: str | None, truth: Sequence[Any], data: str | None,
        given: Given, **others: Any) -> Job:
    """Check every option and read every file of a segmentation problem. Raises ProblemError or ConfigError.

    image, scribbles, each of truth: paths or arrays.
    """
    if scribbles is not None:
        return job_of_strokes(app, image=image, scribbles=scribbles, classes=classes, means=means, truth=truth, data=data,
                              given=given, **others)
    tuned: Tuned = app.tuned
    check_choice("data", data, DATA.choices)
    count = classes if means is None else min(max(means.count(",") + 1, LABELS_MIN), LABELS_MAX)  # what is wrong is said below
    if means is not None and "classes" in given:
        raise ProblemError(f"classes is {classes} and means are given, each of which is a class: drop one of the two")
    if means is not None and data == "colour":
        raise ProblemError("data is colour and means are given, which are greys: drop one of the two")
    by_grey = data == "grey" or means is not None
    common = Common.of(others, lambda widths: tuned.sweeps,
                       label_machine("classes", count) | squared_machine(others["doubleton"], count)
                       | ({} if by_grey else dict(tuned.needs)), given)
    bits, name = common.widths.data_bits, name_of(image, "image")
    constants = None if means is None else means_from_text(means, bits)
    inputs = load_inputs({"image": image}, bits, common.reading)
    picture = inputs.pictures[0]
    if data == "colour" and picture.ndim == 2:
        raise ProblemError(f"data is colour and {name} is grey; a grey picture has one channel: give grey")
    colours = data == "colour" or (data is None and constants is None and picture.ndim == 3 and _takes_colours(common.widths))
    known = _by_hand(truth)
    images = {"image": picture >> (8 - bits) if colours else inputs.data[0], "picture": picture,
              **{f"truth {path}": one.values for path, one in known.items()}}
    values, shown, *true = same_size(images, common.window)
    constants = class_means(values, classes) if constants is None else constants
    schedule = common.schedule(default(segmentation_problem, "temperature"), tuned.cooling)
    edges = contrast_weights(tuned.contrast, common.widths, shown) if colours else None
    problem = segmentation_problem(values, constants, schedule=schedule, edges=edges, **common.energy)
    scale = class_scale(constants, bits)
    starts = "initial" not in given
    run = dataclasses.replace(common.run, initial=FirstLabels(tuned.stiffness, given.backend).of(problem)) if starts else common.run
    return Job(
        application=app, config=common.config, problem=problem, run=run, most_sweeps=common.most_sweeps,
        annealing=common.anneal, inputs={"picture": shown}, scale=scale,
        notes=picture_notes([name], inputs) + tuple(note for one in known.values() for note in one.notes),
        truth=SegmentationTruth(true, values, constants, scale, tuned.least_segment) if true else None,
        drawn_from=partial(_segments, tuned.least_segment),
        settings=common.settings("segment", problem, image=name_of(image, "array"), labels=len(constants),
                                 data="colour" if colours else "grey", means=constants.tolist(),
                                 truth=list(known), stretched_from=inputs.stretched_from)
        | ({"initial": START_FOUND} if starts else {}))


def _by_hand(truth: Sequence[Any]) -> dict[str, Known]:
    """Segmentations by hand, by what messages call them."""
    named = [(name_of(one, str(number)), one) for number, one in enumerate(truth, 1)]
    return {path: known_segments(one, f"truth {path}") for path, one in named}


def job_of_strokes(app: Application, *, image: Any, scribbles: Any, classes: int, means: str | None, truth: Sequence[Any],
                   data: str | None, given: Given, **others: Any) -> Job:
    """As of `job`, of labels that are drawn into the picture."""
    for name, value in (("means", means), ("data", data)):
        if value is not None:
            raise ProblemError(f"{name} is {short(value)} and scribbles are given, from whose colours the labels' costs follow: "
                               "drop one of the two")
    tuned: Tuned = app.tuned
    drawn = known_strokes(scribbles, "map of scribbles")
    inputs, known = load_inputs({"image": image}, 8, Common.reading_of(others)), _by_hand(truth)
    shown, numbers, *true = same_size({
        "image": inputs.pictures[0], "map of scribbles": drawn.values,
        **{f"truth {path}": one.values for path, one in known.items()}}, Common.window_of(others))
    labels = checked_strokes(drawn.values, classes if "classes" in given else None)
    checked_strokes(numbers, labels)  # in the window
    common = Common.of(others, lambda widths: tuned.sweeps,
                       label_machine("classes", labels) | squared_machine(others["doubleton"], labels), given)
    strokes = Strokes(shown, numbers)
    schedule = common.schedule(STROKES.temperature, tuned.cooling)
    starts = "initial" not in given
    run = common.run if starts else dataclasses.replace(common.run, initial=_initial(common.run.initial, strokes))
    made = partial(strokes_problem, strokes, schedule=schedule, **common.energy)
    problem, run, first = first_of_strokes(strokes, made, run, starts, given.backend)
    config = common.config
    if config is not None:
        if not given.machine_is_fixed:
            needed = needed_parameters(problem, config)
            config = config.changed(**{name: value for name, value in needed.items() if name not in given})
        check_fits(config, problem)
    colours = np.rint([shown[numbers == label].mean(0) for label in range(1, labels + 1)]).astype(np.int64)
    scale = class_scale(colours, 8)
    return Job(
        application=app, config=config, problem=problem, run=run, most_sweeps=common.most_sweeps, annealing=common.anneal,
        first=first, inputs={"picture": shown, "strokes": (numbers * (255 // labels)).astype(np.uint8)}, scale=scale,
        notes=picture_notes([name_of(image, "image")], inputs) + tuple(n for one in (drawn, *known.values()) for n in one.notes),
        truth=SegmentationTruth(true, shown, colours, scale, tuned.least_segment) if true else None,
        drawn_from=partial(_segments, tuned.least_segment),
        settings=common.settings("segment", problem, image=name_of(image, "array"), scribbles=name_of(scribbles, "array"),
                                 labels=labels, stroked=float(strokes.mask.mean()), truth=list(known),
                                 stretched_from=inputs.stretched_from) | ({"initial": START_FOUND} if starts else {}))


def _initial(initial: str | np.ndarray, strokes: Strokes) -> str | np.ndarray:
    """Labels to start from that have the strokes'. Raises ProblemError."""
    if isinstance(initial, str):
        if initial == "random":
            raise ProblemError("initial is random and scribbles are given, whose pixels keep the labels that they start from: give "
                               "minimum or labels, or drop it")
        return initial
    if initial.shape != strokes.strokes.shape:
        return initial  # the run says what is wrong
    return with_strokes(strokes, initial)


def _segments(part: int, labels: np.ndarray) -> dict[str, np.ndarray]:
    """`Job.drawn_from` of segments of at least so small a part: no closure, as answers go from one process to another."""
    return {"segments": segments(labels, least_segment(labels.shape, part))}


def _takes_colours(config: Config) -> bool:
    return Derived.of(config).channel_bits == (config.data_bits,) * 3


APPLICATION = Application(
    verb="segment",
    summary="Divide IMAGE by strokes that are drawn into it (--scribbles): a label for each pixel, and how sure it is.",
    title="Segmentation", arguments=("image",), job=job, tuned=TUNED, answer=Segmentation,
    options=(
        Option(name="scribbles", file=True, metavar="STROKES",
               help="Strokes, a grey image of IMAGE's size: 0 none, k on pixels of label k - 1. They keep their labels, and the "
                    "others' costs follow from their colours and how far they are. Without it labels are classes of colour, "
                    "which say nothing of objects: a demonstration."),
        Option(name="classes", type=int, default=3, metavar="K", help="Classes told apart, 2 to 256.",
               said="3; with --scribbles as many as have strokes"),
        DATA,
        Option(name="means", metavar="G,G,...", said="by k-means",
               help="Mean grey of each class, 0 to 255, in place of --classes."),
        Option(name="truth", file=True, metavar="SEGMENTS", multiple=True, default=(),
               help="A segmentation by hand, a grey image of segment numbers, 0 where unknown; once for each of them."),
        *READING),
    common=common_options(segmentation_problem, {
        "sweeps": str(TUNED.sweeps), "initial": START_FOUND, "beta": f"16; with --scribbles {STROKES.beta}",
        "temperature": f"12.0; with --scribbles {STROKES.temperature}"}),
    maps={"segments": ""},
    files={"classes.png": writes_classes},
    measures={
        "vi": Measure("variation of information of the segments", "bits, averaged over the segmentations"),
        "vi_classes": Measure("variation of information of the classes", "bits, averaged over the segmentations"),
        "vi_single": Measure("variation of information of one single segment", "bits, averaged over the segmentations")},
    doubt=worse_than_none, scene=SceneWriter(write=write_demo))
