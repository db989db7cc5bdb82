"""Files of an answer that other programs read, in the formats of their fields."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from mrfhw.analysis.answer import Analysis
from mrfhw.analysis.uncertainty import Uncertainty
from mrfhw.jobs.job import Job
from mrfhw.report.pictures import class_colours

__all__ = ["DISPARITY_UNIT", "MEASURE_FILES", "exchanged", "pfm_bytes", "picture_bytes", "ply_bytes", "png_bytes", "writes_classes"]

DISPARITY_UNIT = 256  # grey value of a pixel of disparity in disparity.png, as the KITTI benchmark has it
MEASURE_FILES = ("entropy.pfm", "mean.pfm", "std.pfm")


def png_bytes(values: np.ndarray | Image.Image) -> bytes:
    """A Pillow image, or an array that is one, as a PNG file."""
    image, file = values if isinstance(values, Image.Image) else Image.fromarray(values), io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def pfm_bytes(values: np.ndarray) -> bytes:
    """(H, W) numbers, or (H, W, 3), as a PFM file: "Pf", or "PF", columns and rows, -1.0 (little-endian), then float32 rows from
    the last to the first."""
    rows, cols = values.shape[:2]
    head = f"{'Pf' if values.ndim == 2 else 'PF'}\n{cols} {rows}\n-1.0\n"
    return head.encode() + np.ascontiguousarray(values[::-1], "<f4").tobytes()


def ply_bytes(points: np.ndarray, colours: np.ndarray, confidence: np.ndarray | None = None) -> bytes:
    """A cloud of points as a PLY file, binary and little-endian.

    points: (N, 3), float32 in the file. colours: (N, 3) uint8. confidence: (N,) of 0 to 1, float32 in the file, or None.
    """
    fields = [(name, "<f4", "float", points[:, axis]) for axis, name in enumerate("xyz")]
    fields += [(name, "u1", "uchar", colours[:, channel]) for channel, name in enumerate(("red", "green", "blue"))]
    if confidence is not None:
        fields.append(("confidence", "<f4", "float", confidence))
    vertices = np.empty(len(points), [(name, kind) for name, kind, _, _ in fields])
    for name, _, _, values in fields:
        vertices[name] = values
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}",
            *(f"property {said} {name}" for name, _, said, _ in fields), "end_header\n"]
    return "\n".join(head).encode() + vertices.tobytes()


def writes_classes(job: Job, analysis: Analysis) -> bytes | None:
    """Labels that have no order as uint8 (H, W) with a palette, PNG; None of others."""
    if job.scale.kind != "classes":
        return None
    image = Image.fromarray(analysis.labels.astype(np.uint8))
    image.putpalette(np.rint(255 * class_colours(job.problem.labels)[:, :3]).astype(np.uint8).tobytes())
    return png_bytes(image)


def picture_bytes(values: np.ndarray, white: float) -> bytes:
    """A picture in its own depth, PNG; floats with 16 bits, colours of more than 8 bits with 8, because Pillow has no others."""
    if values.ndim == 3 and values.dtype != np.uint8:
        values = np.rint(values * (0xFF / white)).astype(np.uint8)
    elif values.dtype.kind == "f":
        values = np.rint(values * (0xFFFF / white)).astype(np.uint16)
    return png_bytes(values)


def _measures(uncertainty: Uncertainty | None, mean: np.ndarray | None) -> dict[str, bytes]:
    found = {} if uncertainty is None else {"entropy.pfm": pfm_bytes(uncertainty.entropy)}
    if mean is not None and mean.shape[2] != 2:  # which PFM has not
        found["mean.pfm"] = pfm_bytes(mean[..., 0] if mean.shape[2] == 1 else mean)
    return found if uncertainty is None or uncertainty.std is None else {**found, "std.pfm": pfm_bytes(uncertainty.std)}


def exchanged(job: Job, analysis: Analysis) -> dict[str, bytes]:
    """The files by name: those of the job's application, and entropy.pfm, mean.pfm of one component or of
    colours, std.pfm: float32 (H, W), of colours (H, W, 3), in the units of `Uncertainty`, where the run has them."""
    own = {name: write(job, analysis) for name, write in job.application.files.items()}
    return {**_measures(analysis.uncertainty, analysis.mean), **{name: data for name, data in own.items() if data is not None}}
