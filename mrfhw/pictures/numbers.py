"""Pictures whose values are numbers: true disparities, numbers of segments, masks.

They are never scaled as greys are: what a file of fewer bits, a PGM or a palette holds is the number itself. `Known` has besides
what a run says of how a file was read. Every failure is a `ProblemError` of one line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mrfhw.field.given import array_of, unmasked
from mrfhw.pictures.files import Decoded, check_opaque, converted, decode, is_grey, pixels, whole
from mrfhw.pictures.greys import is_path
from mrfhw.system.errors import ProblemError

__all__ = ["Known", "disparity_of", "known_disparity", "known_mask", "known_segments", "known_strokes", "load_disparity",
           "load_mask", "load_segments", "segments_of"]

_MODES = ("L", "P", "I", "I;16", "I;16B", "I;16L")
GREYS_OF_A_PICTURE = 0.1  # share of a mask's pixels that are neither 0 nor the greatest, above which it looks like a picture
MUCH_HIDDEN = 0.5  # share of the pixels that a mask hides, above which it looks like an exchanged one
_VOID = (0xFF, 0xFFFF)  # numbers of segments that stand for none where the number before is no segment


@dataclass(frozen=True)
class Known:
    """values: (H, W). notes: what is to be said of how they were read, one line each."""

    values: np.ndarray
    notes: tuple[str, ...] = ()


def _numbers(decoded: Decoded, modes: tuple[str, ...], what: str) -> Known:
    """Whole numbers, int64 (H, W), of an image in one of `modes`. what: such as "segments are one number a pixel"."""
    image, name = decoded.image, decoded.name
    if image.mode not in modes:
        raise ProblemError(f"{name} has pixels of mode {image.mode}; {what}: convert it to grey")
    if decoded.white_is_zero:
        raise ProblemError(f"{name} is a TIFF whose white is 0, so that its numbers may be meant either way: save it with "
                           "black as 0")
    values = whole(image, name, decoded.bits).astype(np.int64)
    if decoded.white is not None and not (image.mode.startswith("I") and decoded.bits < 16):  # what Pillow has scaled
        values = np.rint(values * (decoded.white / (0xFF if image.mode == "L" else 0xFFFF))).astype(np.int64)
    _check_opaque(image, name, values)
    notes = (f"Note: {name} is a JPEG, which does not keep numbers exactly: give a PNG",) if decoded.lossy else ()
    return Known(values, decoded.notes + notes)


def _check_opaque(image: Image.Image, name: str, values: np.ndarray) -> None:
    """Raise ProblemError where a pixel of another number than 0 is transparent."""
    clear = image.info.get("transparency")
    if clear is None:
        return
    given = [n for n, alpha in enumerate(clear) if alpha < 0xFF] if isinstance(clear, bytes) else [clear]
    count = int(np.count_nonzero(np.isin(values, given) & (values != 0)))
    if count:
        raise ProblemError(f"{name} has {count} transparent pixels of another number than 0; a number is known or 0: remove its "
                           "transparency")


def _by_palette(decoded: Decoded, indices: np.ndarray) -> bool | None:
    """Of an image with a palette, whether the colours in use are greys that are other numbers than their indices; None where some
    are no greys. False of an image without one."""
    if decoded.image.mode != "P":
        return False
    palette = np.zeros((256, 3), np.int64)
    held = np.array(decoded.image.getpalette("RGB") or [], np.int64).reshape(-1, 3)[:256]
    palette[:len(held)] = held
    used = np.unique(indices)
    colours = palette[used]
    if (colours != colours[:, :1]).any():
        return None
    return bool((colours[:, 0] != used).any())


def load_mask(path: str | Path) -> np.ndarray:
    """A mask, bool (H, W): False where a pixel is black, whatever its bits.

    Raises ProblemError for what is not an image, for transparent pixels and for values that are not finite.
    """
    return _mask(path).values


def _mask(path: str | Path) -> Known:
    decoded = decode(path)
    image, name = decoded.image, decoded.name
    check_opaque(decoded)
    notes = (f"Note: {name} is a JPEG, which does not keep black exactly: give a PNG",) if decoded.lossy else ()
    if not is_grey(image):
        return _of_mask(pixels(converted(image, "RGB", name)).max(-1), name, decoded.notes + notes)
    values = pixels(image.getchannel(0) if image.mode in ("LA", "La") else image)
    if not np.isfinite(values).all():
        raise ProblemError(f"{name} has pixels that are no finite numbers; a mask is 0 where unknown: convert it to 8-bit grey")
    return _of_mask(values, name, decoded.notes + notes)


def _of_mask(values: np.ndarray, name: str, notes: tuple[str, ...] = ()) -> Known:
    """Of a mask's numbers (H, W), with a line where it looks like a picture, or like a mask whose two values are exchanged."""
    known = values != 0
    between, hidden = float(np.mean(known & (values != values.max()))), float(1 - known.mean())
    if between > GREYS_OF_A_PICTURE:
        notes += (f"Note: {name} has {len(np.unique(values))} values, at {100 * between:.0f} % of the pixels neither 0 nor "
                  "the greatest, and only 0 is unknown: is it a mask, not a picture?",)
    elif MUCH_HIDDEN < hidden < 1:
        notes += (f"Note: {name} is 0, which is unknown, at {100 * hidden:.0f} % of the pixels: are 0 and the other value "
                  "exchanged?",)
    return Known(known, notes)


def load_segments(path: str | Path) -> np.ndarray:
    """Numbers of segments, int64 (H, W): the values of a grey image of up to 16 bits, or the indices of one with a palette.

    0 is unknown. Raises ProblemError for what is not such an image and for 32-bit values beyond 65535.
    """
    return _segments(path).values


def _segments(path: str | Path) -> Known:
    decoded = decode(path)
    found = _numbers(decoded, ("1", *_MODES), "segments are one number of 8 or 16 bits a pixel")
    if not _by_palette(decoded, found.values):
        return found
    said = f"Note: {path} has a palette of greys that are other numbers than its indices: its indices are read"
    return Known(found.values, (*found.notes, said))


def load_disparity(path: str | Path, scale: float = 1.0) -> np.ndarray:
    """True disparities, float64 (H, W), in pixels: value / scale of a grey image of up to 16 bits, the indices of one with a
    palette of colours, or floats, such as a PFM file; 0 and what is not finite is unknown, and becomes 0.

    Raises ProblemError for what is not such an image, for a palette of greys that are other numbers than its indices, for 32-bit
    values beyond 65535 and for a scale that is not a positive number.
    """
    return _disparity(path, scale).values


def _disparity(path: str | Path, scale: float) -> Known:
    _check_scale(scale)
    decoded = decode(path)
    if decoded.image.mode == "F":
        return Known(disparity_of(pixels(decoded.image), scale, str(path)), decoded.notes)
    found = _numbers(decoded, _MODES, "true disparities are one number of 8 or 16 bits, or a float, a pixel")
    other = _by_palette(decoded, found.values)
    if other:
        raise ProblemError(f"{path} has a palette of greys that are other numbers than its indices, so that true disparities may "
                           "be either: save it as grey without a palette")
    said = (f"Note: {path} has a palette of colours: its indices are read, not their grey",) if other is None else ()
    return Known(found.values / scale, found.notes + said)


def _plain(given: Any, name: str, what: str) -> np.ndarray:
    """A (H, W) array of numbers."""
    array = array_of(f"the {name}", given)
    if array.dtype.kind not in "biuf" or array.ndim != 2 or array.size == 0:
        raise ProblemError(f"the {name} is of type {array.dtype} and shape {array.shape}; it is {what}: give a path, or an array "
                           "(rows, columns) of numbers")
    return array


def known_mask(given: Any, name: str) -> Known:
    """A mask, bool (H, W): of a file as `load_mask` reads it, of an array False where it is 0. Raises ProblemError."""
    if is_path(given):
        return _mask(given)
    array = _plain(given, name, "0 where a pixel is unknown")
    if not np.isfinite(array).all():
        raise ProblemError(f"the {name} has values that are no finite numbers; it is 0 where a pixel is unknown: give booleans")
    return _of_mask(array, f"the {name}")


def known_segments(given: Any, name: str) -> Known:
    """Numbers of segments, int64 (H, W), 0 where unknown: of a file as `load_segments` reads it, or an array of whole numbers, in
    which what is masked is unknown.

    Void, by which data sets mark boundaries and what is not to be counted, is unknown, too: 255, or 65535, where it is the greatest
    number and the one before it does not occur.
    """
    if is_path(given):
        found = _segments(given)
    else:
        array = _plain(unmasked(given, 0), name, "the number of a segment at each pixel, 0 where unknown")
        if array.dtype.kind == "f" or int(array.min()) < 0:
            raise ProblemError(f"the {name} has values of type {array.dtype} from {array.min():g}; numbers of segments are whole "
                               "and not negative: number the segments from 1, 0 where unknown")
        found = Known(array.astype(np.int64))
    values, most = found.values, int(found.values.max())
    if most not in _VOID or (values == most - 1).any():
        return found
    void, zeros = int(np.count_nonzero(values == most)), int(np.count_nonzero(values == 0))
    also = f", like the {zeros} of 0" if zeros else ""
    said = (f"Note: {void} of {values.size} pixels of {given if is_path(given) else f'the {name}'} are {most}, which is taken for "
            f"void{also}: they are unknown; number a segment otherwise")
    return Known(np.where(values == most, 0, values), (*found.notes, said))


def known_strokes(given: Any, name: str) -> Known:
    """Strokes of labels, int64 (H, W), 0 for none and k for label k - 1: of a file the values of a grey image of up to 16 bits, or
    the indices of one with a palette; of an array whole numbers, also as floats, in which what is masked is none.

    Raises ProblemError for colours, fractions and negative numbers.
    """
    what = "0 where there is no stroke, and k on those of label k - 1"
    if is_path(given):
        decoded = decode(given)
        return _numbers(decoded, ("1", *_MODES), f"strokes are one number a pixel, {what}")
    array = _plain(unmasked(given, 0), name, what)
    if not np.isfinite(array).all() or (array != np.rint(array)).any() or array.min() < 0:
        wrong = array[~np.isfinite(array) | (array != np.rint(array)) | (array < 0)].flat[0]
        raise ProblemError(f"the {name} has the value {wrong:g}; strokes are whole numbers from 0: give {what}")
    return Known(array.astype(np.int64))


def segments_of(given: Any, name: str) -> np.ndarray:
    """The values of `known_segments`."""
    return known_segments(given, name).values


def known_disparity(given: Any, scale: float, name: str) -> Known:
    """True disparities in pixels, float64 (H, W), 0 where unknown: of a file as `load_disparity` reads it, or an array of
    disparities times `scale`, in which what is not finite or masked is unknown as well."""
    if is_path(given):
        return _disparity(given, scale)
    _check_scale(scale)
    with np.errstate(invalid="ignore"):  # of signalling NaN
        array = _plain(unmasked(given, 0), name, "a disparity at each pixel, 0 where unknown").astype(np.float64)
    return Known(np.where(np.isfinite(array), array, 0.0) / scale)


def disparity_of(given: Any, scale: float, name: str) -> np.ndarray:
    """The values of `known_disparity`."""
    return known_disparity(given, scale, name).values


def _check_scale(scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise ProblemError(f"truth-scale is {scale}; it must be a finite number above 0: "
                           "give the grey value that one pixel of disparity has")
