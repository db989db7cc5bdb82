"""Pictures in: grey data of the machine's width, true disparities, segments, masks, and windows of them.

Every failure is a `ProblemError` of one line.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mrfhw.field.given import array_of, unmasked
from mrfhw.pictures.depth import scaled
from mrfhw.pictures.files import check_opaque, converted, decode, is_grey, numbers
from mrfhw.pictures.greys import Grey, check_size, grey_of, is_path, name_of
from mrfhw.pictures.restored import Source
from mrfhw.system.errors import ProblemError

__all__ = ["Inputs", "Reading", "Window", "check_size", "crop", "disparity_of", "grey_data", "is_path", "load_disparity",
           "load_grey", "load_input", "load_inputs", "load_mask", "load_segments", "mask_with_notes", "name_of",
           "parse_window", "segments_of"]

GREYS_OF_A_PICTURE = 0.1  # share of a mask's pixels that are neither 0 nor the greatest, above which it looks like a picture
MUCH_HIDDEN = 0.5  # share of the pixels that a mask hides, above which it looks like an exchanged one
NARROW = 64  # greys of 256: pictures with fewer have use for a stretch

Window = tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the greys of a run's pictures are read, the same for all of them.

    depth: bits of a value, 1..16, so that white is 2^depth - 1; None: as the file or array says, where it leaves no doubt.
    stretch: make the least grey of all pictures black and the greatest white.
    """

    depth: int | None = None
    stretch: bool = False


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The pictures of a run, read by one scale.

    data: uint8 (H, W) each, 0 .. 2^data_bits - 1. pictures: what is shown of them, uint8 (H, W) grey or (H, W, 3) colour.
    range: the least and the greatest grey of the run's pictures, of 0..255, before they are stretched. stretched: whether they are.
    sources: the pictures as they came.
    """

    data: list[np.ndarray]
    pictures: list[np.ndarray]
    range: tuple[float, float]
    stretched: bool
    sources: list[Source]

    @property
    def stretched_from(self) -> list[float] | None:
        """`range` of pictures that are stretched, for a report."""
        return list(self.range) if self.stretched else None

    @property
    def narrow(self) -> bool:
        """Whether the pictures use few of the greys, and are not stretched."""
        return not self.stretched and 0 < self.range[1] - self.range[0] < NARROW


def load_inputs(pictures: Mapping[str, Any], data_bits: int = 6, reading: Reading = Reading(),
                also: Mapping[str, Any] = MappingProxyType({}), seen: Mapping[str, np.ndarray] = MappingProxyType({})) -> Inputs:
    """The pictures of a run, such as a pair, by one scale: `load_grey` says how each file is read, `grey_data` each array.

    pictures: paths, arrays or Pillow images by what messages call them. also: further ones, appended to the results, that are read
    by the same map and do not change it, such as the clean picture behind a noisy one. seen: of some of `pictures` bool (H, W),
    False at pixels that say nothing, neither of the scale.
    Raises ProblemError for what `load_grey` and `grey_data` refuse, for pictures without a common scale, and for a stretch of one
    grey.
    """
    greys = [grey_of(given, name, seen.get(name)) for name, given in pictures.items()]
    return _inputs([*greys, *(grey_of(given, name) for name, given in also.items())], len(pictures), data_bits, reading)


def _inputs(greys: list[Grey], count: int, data_bits: int, reading: Reading) -> Inputs:
    """Of pictures whose first `count` are the run's."""
    found = scaled(greys, count, reading.depth, reading.stretch)
    return Inputs(data=[grey >> (8 - data_bits) for grey in found.greys], pictures=found.pictures,
                  range=(255 * found.range[0], 255 * found.range[1]), stretched=reading.stretch,
                  sources=[Source(values=grey.values if grey.colour is None else grey.colour, white=white)
                           for grey, white in zip(greys, found.whites, strict=True)])


def grey_data(*pictures: Any, data_bits: int = 6, depth: int | None = None, stretch: bool = False) -> list[np.ndarray]:
    """Pictures given as arrays, as grey data: a list of uint8 (H, W), 0 .. 2^data_bits - 1, one for each of them.

        left, right = grey_data(left, right)

    pictures: of one run, so that one scale holds for all of them. Each is an array or nested list, (H, W) grey or (H, W, 3 or 4)
        colour with opaque alpha, or a Pillow image. White is True of booleans, 255 of uint8, 65535 of uint16; of
        wider integers 255 where none is above it, else 65535; of floats 1 where none is above it, else 255.
    depth, stretch: as in `Reading`.

    Raises ProblemError where the scale is in doubt (16-bit values all below 16384, floats that end between 1 and 16), for values
    outside these limits or not finite, transparency, and for what is no picture.
    """
    names = ["picture"] if len(pictures) == 1 else [f"picture {number}" for number in range(1, len(pictures) + 1)]
    if not pictures:
        raise ProblemError("the number of pictures is 0; at least 1 is needed: give one")
    greys = [grey_of(picture, name) for picture, name in zip(pictures, names, strict=True)]
    return _inputs(greys, len(greys), data_bits, Reading(depth=depth, stretch=stretch)).data


def load_grey(path: str | Path, data_bits: int = 6, reading: Reading = Reading()) -> np.ndarray:
    """An image as grey data, uint8 (H, W), 0 .. 2^data_bits - 1: 8-bit grey, then >> (8 - data_bits).

    8-bit grey of an image, upright by its EXIF orientation, by Pillow's mode: 1, L: as they are, black 0 and white 255. RGB, YCbCr,
    CMYK and palettes (P, PA): Pillow's "L", the weighted sum of the colours. LA, RGBA: the same, where all pixels are opaque.
    I;16, and I of a 16-bit PNG or PGM: the upper byte, so that 65535 is 255; of a TIFF of 9 to 15 bits the upper eight. I of a TIFF
    of 32 bits: as they are where none is above 255, else as 16 bits. F: times 255 where none is above 1, else as they are; rounded.
    `reading` says another depth, and whether to stretch.
    Raises ProblemError where the scale is in doubt (16-bit values all below 16384, floats that end between 1 and 16), for 32-bit
    values outside 0..65535, floats outside 0..255 or not finite, transparent pixels, other modes, and for what is not an image.
    """
    return load_inputs({str(path): path}, data_bits, reading).data[0]


def load_input(path: str | Path, data_bits: int = 6, reading: Reading = Reading()) -> tuple[np.ndarray, np.ndarray]:
    """(data, picture) of an image: what `load_grey` gives, and what is shown of it.

    picture: uint8, (H, W) grey or (H, W, 3) colour. Raises ProblemError for what `load_grey` refuses.
    """
    found = load_inputs({str(path): path}, data_bits, reading)
    return found.data[0], found.pictures[0]


def load_mask(path: str | Path) -> np.ndarray:
    """A mask, bool (H, W): False where a pixel is black, whatever its bits.

    Raises ProblemError for what is not an image, for transparent pixels and for values that are not finite.
    """
    return _mask_values(path) != 0


def _mask_values(path: str | os.PathLike[str]) -> np.ndarray:
    """(H, W): the numbers of a mask's file, of colours the greatest."""
    image = decode(Path(path)).image
    check_opaque(image, str(path))
    if not is_grey(image):
        return np.asarray(np.asarray(converted(image, "RGB", str(path))).max(-1))
    values: np.ndarray = np.asarray(image.getchannel(0) if image.mode in ("LA", "La") else image)
    if not np.isfinite(values).all():
        raise ProblemError(f"{path} has pixels that are no finite numbers; a mask is 0 where unknown: convert it to 8-bit grey")
    return values


def load_segments(path: str | Path) -> np.ndarray:
    """Numbers of segments, int64 (H, W): the values of a grey image of 8 or 16 bits, or the indices of one with a palette.

    0 is unknown. Raises ProblemError for what is not such an image and for 32-bit values beyond 65535.
    """
    image = decode(path).image
    if image.mode not in ("1", "L", "P", "I", "I;16", "I;16B", "I;16L"):
        raise ProblemError(f"{path} has pixels of mode {image.mode}; segments are one number of 8 or 16 bits a pixel: "
                           "convert it to grey")
    return numbers(image, str(path)).astype(np.int64)


def load_disparity(path: str | Path, scale: float = 1.0) -> np.ndarray:
    """True disparities, float64 (H, W), in pixels: value / scale of a grey image of 8 or 16 bits, or of floats, such as a PFM
    file; 0 and what is not finite is unknown, and becomes 0.

    Raises ProblemError for what is not such an image, for 32-bit values beyond 65535 and for a scale that is not a positive number.
    """
    _check_scale(scale)
    image = decode(path).image
    if image.mode == "F":
        return disparity_of(np.asarray(image), scale, str(path))
    if image.mode not in ("L", "P", "I", "I;16", "I;16B", "I;16L"):
        raise ProblemError(f"{path} has pixels of mode {image.mode}; true disparities are one number of 8 or 16 "
                           "bits, or a float, a pixel: convert it to grey")
    return numbers(image.convert("L") if image.mode == "P" else image, str(path)).astype(np.float64) / scale


def _plain(given: Any, name: str, what: str) -> np.ndarray:
    """A (H, W) array of numbers."""
    array = array_of(f"the {name}", given)
    if array.dtype.kind not in "biuf" or array.ndim != 2 or array.size == 0:
        raise ProblemError(f"the {name} is of type {array.dtype} and shape {array.shape}; it is {what}: give a path, or an array "
                           "(rows, columns) of numbers")
    return array


def mask_with_notes(given: Any, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """A mask, bool (H, W), of a file as `load_mask` reads it, of an array False where it is 0; and what is to be said of it: one
    line where it looks like a picture, or like a mask whose two values are exchanged. Raises ProblemError."""
    if is_path(given):
        values = _mask_values(given)
    else:
        values = _plain(given, name, "0 where a pixel is unknown")
        if not np.isfinite(values).all():
            raise ProblemError(f"the {name} has values that are no finite numbers; it is 0 where a pixel is unknown: give booleans")
    known, called = values != 0, name_of(given, f"the {name}")
    between, hidden = float(np.mean(known & (values != values.max()))), float(1 - known.mean())
    if between > GREYS_OF_A_PICTURE:
        return known, (f"Note: {called} has {len(np.unique(values))} values, at {100 * between:.0f} % of the pixels neither 0 nor "
                       "the greatest, and only 0 is unknown: is it a mask, not a picture?",)
    if MUCH_HIDDEN < hidden < 1:
        return known, (f"Note: {called} is 0, which is unknown, at {100 * hidden:.0f} % of the pixels: are 0 and the other value "
                       "exchanged?",)
    return known, ()


def segments_of(given: Any, name: str) -> np.ndarray:
    """Numbers of segments, int64 (H, W), 0 where unknown: of a file as `load_segments` reads it, or an array of whole numbers, in
    which what is masked is unknown."""
    if is_path(given):
        return load_segments(given)
    array = _plain(unmasked(given, 0), name, "the number of a segment at each pixel, 0 where unknown")
    if array.dtype.kind == "f" or int(array.min()) < 0:
        raise ProblemError(f"the {name} has values of type {array.dtype} from {array.min():g}; numbers of segments are whole and "
                           "not negative: number the segments from 1, 0 where unknown")
    return array.astype(np.int64)


def disparity_of(given: Any, scale: float, name: str) -> np.ndarray:
    """True disparities in pixels, float64 (H, W), 0 where unknown: of a file as `load_disparity` reads it, or an array of
    disparities times `scale`, in which what is not finite or masked is unknown as well."""
    if is_path(given):
        return load_disparity(given, scale)
    _check_scale(scale)
    array = _plain(unmasked(given, 0), name, "a disparity at each pixel, 0 where unknown").astype(np.float64)
    return np.where(np.isfinite(array), array, 0.0) / scale


def _check_scale(scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise ProblemError(f"truth-scale is {scale}; it must be a finite number above 0: "
                           "give the grey value that one pixel of disparity has")


def parse_window(text: str) -> Window:
    """'X,Y,W,H' as four whole numbers: the first column and row, columns, rows."""
    try:
        x, y, width, height = (int(part) for part in text.split(","))
    except ValueError:
        raise ProblemError(f"window is {text!r}; it must be four whole numbers X,Y,W,H: "
                           "give first column, first row, columns and rows") from None
    if width < 1 or height < 1:
        raise ProblemError(f"window is {text}; it has {width}x{height} pixels: give at least 1 column and 1 row")
    return x, y, width, height


def crop(image: np.ndarray, window: Window | None, name: str = "image") -> np.ndarray:
    """The part of (H, W) or (H, W, n) `image` in the window (x, y, width, height), or all of it for None.

    image: an array or nested list; `name` is for messages. Raises ProblemError for a window that is not inside.
    """
    image = np.asarray(image)
    if window is None:
        return image
    x, y, width, height = window
    rows, cols = image.shape[:2]
    if x < 0 or y < 0 or x + width > cols or y + height > rows or width < 1 or height < 1:
        raise ProblemError(f"window is {x},{y},{width},{height}; the {name} has {cols}x{rows} pixels: "
                           "give a window inside it")
    return image[y : y + height, x : x + width]
