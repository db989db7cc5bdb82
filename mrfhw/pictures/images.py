"""Pictures in: grey data of the machine's width, and windows of them. What is a number in a file is read by
`mrfhw.pictures.numbers`.

Every failure is a `ProblemError` of one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mrfhw.pictures.depth import scaled
from mrfhw.pictures.greys import Grey, check_size, grey_of, is_path, name_of
from mrfhw.pictures.numbers import disparity_of, load_disparity, load_mask, load_segments, segments_of
from mrfhw.pictures.restored import Source
from mrfhw.system.errors import ProblemError

__all__ = ["Inputs", "Reading", "Window", "check_size", "crop", "disparity_of", "grey_data", "is_path", "load_disparity",
           "load_grey", "load_input", "load_inputs", "load_mask", "load_segments", "name_of",
           "parse_window", "segments_of"]

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
    sources: the pictures as they came. notes: what is to be said of how they were read, one line each.
    """

    data: list[np.ndarray]
    pictures: list[np.ndarray]
    range: tuple[float, float]
    stretched: bool
    sources: list[Source]
    notes: tuple[str, ...] = ()

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
                           for grey, white in zip(greys, found.whites, strict=True)],
                  notes=tuple(dict.fromkeys(note for grey in greys for note in grey.notes)))


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
