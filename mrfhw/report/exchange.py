"""Files of an answer that other programs read, in the formats of their fields."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from mrfhw.analysis.answer import Analysis
from mrfhw.analysis.uncertainty import Uncertainty
from mrfhw.jobs.job import Job
from mrfhw.pictures.flow import flow_bytes
from mrfhw.report.pictures import class_colours

__all__ = ["DISPARITY_UNIT", "EXCHANGE_FILES", "MEASURE_FILES", "answer_files", "exchanged"]

DISPARITY_UNIT = 256  # grey value of a pixel of disparity in disparity.png, as the KITTI benchmark has it
MEASURE_FILES = ("entropy.pfm", "mean.pfm", "std.pfm")
DISPARITY_FILES = ("disparity.pfm", "disparity.png")
FLOW_FILE, DENOISED_FILE, CLASSES_FILE = "flow.flo", "denoised.png", "classes.png"
EXCHANGE_FILES = (*DISPARITY_FILES, FLOW_FILE, DENOISED_FILE, CLASSES_FILE, *MEASURE_FILES)


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def pfm_bytes(values: np.ndarray) -> bytes:
    """(H, W) numbers as a PFM file: "Pf", columns and rows, -1.0 (little-endian), then float32 rows from the last to the first."""
    rows, cols = values.shape
    return f"Pf\n{cols} {rows}\n-1.0\n".encode() + np.ascontiguousarray(values[::-1], "<f4").tobytes()


def _disparity(values: np.ndarray) -> dict[str, bytes]:
    found = {"disparity.pfm": pfm_bytes(values)}
    # 0 means unknown there, and nothing is; negative or large disparities have no place.
    if values.min() >= 0 and values.max() * DISPARITY_UNIT <= 0xFFFF:
        scaled = np.maximum(1, np.rint(values * DISPARITY_UNIT)).astype(np.uint16)
        found["disparity.png"] = _png(Image.fromarray(scaled))
    return found


def _palette(labels: np.ndarray, count: int) -> bytes:
    image = Image.fromarray(labels.astype(np.uint8))
    image.putpalette(np.rint(255 * class_colours(count)[:, :3]).astype(np.uint8).tobytes())
    return _png(image)


def _picture(values: np.ndarray, white: float) -> bytes:
    """A picture in its own depth; floats with 16 bits, colours of more than 8 bits with 8, because Pillow has no others."""
    if values.ndim == 3 and values.dtype != np.uint8:
        values = np.rint(values * (0xFF / white)).astype(np.uint8)
    elif values.dtype.kind == "f":
        values = np.rint(values * (0xFFFF / white)).astype(np.uint16)
    return _png(Image.fromarray(values))


def _measures(uncertainty: Uncertainty | None, mean: np.ndarray | None) -> dict[str, bytes]:
    found = {} if uncertainty is None else {"entropy.pfm": pfm_bytes(uncertainty.entropy)}
    if mean is not None and mean.shape[2] == 1:
        found["mean.pfm"] = pfm_bytes(mean[..., 0])
    return found if uncertainty is None or uncertainty.std is None else {**found, "std.pfm": pfm_bytes(uncertainty.std)}


def exchanged(job: Job, analysis: Analysis) -> dict[str, bytes]:
    """The files by name.

    entropy.pfm, mean.pfm of one component, std.pfm: float32 (H, W) in the units of `Uncertainty`, where the run has them.

    disparity.pfm: float32 (H, W) pixels. disparity.png: uint16 (H, W), DISPARITY_UNIT a pixel of disparity, at least 1; left out
    where a disparity is negative or too large. flow.flo: float32 (H, W, 2), along columns and along rows, pixels. denoised.png:
    the picture in its own size, depth and colours (colours of 16 bits with 8). classes.png: uint8 (H, W) labels with a palette.
    """
    return {**_measures(analysis.uncertainty, analysis.mean), **_answer(job, analysis)}


def answer_files(job: Job) -> tuple[str, ...]:
    """The files that a job's answer may have, by what it is."""
    if job.scale.kind == "scalar" and job.application == "stereo":
        return DISPARITY_FILES
    if job.scale.kind == "flow":
        return (FLOW_FILE,)
    if job.restoring is not None:
        return (DENOISED_FILE,)
    return (CLASSES_FILE,) if job.scale.kind == "classes" else ()


def _answer(job: Job, analysis: Analysis) -> dict[str, bytes]:
    names, answer = answer_files(job), analysis.answer
    if CLASSES_FILE in names:
        return {CLASSES_FILE: _palette(analysis.labels, job.problem.labels)}
    if not names:
        return {}
    if FLOW_FILE in names:
        return {FLOW_FILE: flow_bytes(answer)}
    if DENOISED_FILE in names:
        assert job.restoring is not None
        return {DENOISED_FILE: _picture(job.restoring.picture(answer[..., 0]), job.restoring.source.white)}
    return _disparity(answer[..., 0])
