"""A picture as grey whose scale is still open: from a file, an array, a nested list or a Pillow image."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from mrfhw.field.given import array_of
from mrfhw.pictures.files import Decoded, check_opaque, converted, decode, is_grey, pixels, upright, whole
from mrfhw.system.errors import ProblemError

__all__ = ["LUMA", "Grey", "check_size", "grey_of", "is_path", "name_of"]

LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R 601-2, the weights of Pillow's "L"


@dataclass(frozen=True, kw_only=True)
class Grey:
    """A picture's grey, whose scale is still open.

    name: for messages. values: (H, W) uint8, int32 or float64. colour: the same picture, (H, W, 3) uint8, of which `values` is the
    weighted sum, or None. kind: what holds a value:
    "byte": 8 bits. "word": 16 bits. "wide": integers of 32 or more bits. "float". "upper": the upper 8 bits of colour of 16.
    "stated": numbers of which the file says that `white` is the greatest; stated: as it says it, before Pillow's scaling.
    notes: what is to be said of how it was read, one line each.
    """

    name: str
    values: np.ndarray
    kind: str
    colour: np.ndarray | None = None
    white: int = 0
    stated: int = 0
    notes: tuple[str, ...] = ()

    @property
    def most(self) -> float:
        """The greatest value, of grey and colours."""
        return float((self.values if self.colour is None else self.colour).max())

    @property
    def least(self) -> float:
        """The least value of grey."""
        return float(self.values.min())

    def filled(self, seen: np.ndarray) -> Grey:
        """With `_filled` values and colours."""
        return dataclasses.replace(self, values=_filled(self.values, seen),
                                   colour=None if self.colour is None else _filled(self.colour, seen))


def _filled(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Numbers (H, W) or (H, W, C) with the least finite one that is seen, of each channel, where `seen`, bool (H, W), is False; 0
    where nothing is seen. Anything else, and another shape, as it is."""
    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or values.shape[:2] != seen.shape or not values.size:
        return values
    made = values.copy()
    planes = made.reshape(*seen.shape, -1)
    shown = planes[seen]
    shown = shown[np.isfinite(shown).all(-1)]
    planes[~seen] = shown.min(0) if len(shown) else 0
    return made


def is_path(given: Any) -> bool:
    """Whether it names a file, and is no picture itself."""
    return isinstance(given, (str, os.PathLike))


def name_of(given: Any, name: str) -> str:
    """What messages and reports call a picture: its file, or else `name`."""
    return os.fspath(given) if is_path(given) else name


def grey_of(given: Any, name: str, seen: np.ndarray | None = None) -> Grey:
    """The grey of a file, a Pillow image, an array or a nested list, by what messages call it.

    seen: bool (H, W), False at pixels that say nothing. Of an array what is not seen is filled before its values are looked at,
    whatever stands there. Raises ProblemError for what is no picture.
    """
    if is_path(given) or isinstance(given, Image.Image):
        grey = _of_image(decode(given)) if is_path(given) else _of_array(given, name)
        if seen is None:
            return grey
        check_size(seen, "mask", grey.values, name)
        return grey.filled(seen)
    if seen is None:
        return _of_array(given, name)
    array = array_of(name, given)
    if array.ndim in (2, 3):  # what is no picture is refused as such
        check_size(seen, "mask", array, name)
    return _of_array(_filled(array, seen), name)


def check_size(image: np.ndarray, name: str, first: np.ndarray, first_name: str) -> None:
    """Raise ProblemError for an image (H, W) or (H, W, n) of another size than the first one's."""
    (rows, cols), (first_rows, first_cols) = image.shape[:2], first.shape[:2]
    if (rows, cols) != (first_rows, first_cols):
        raise ProblemError(f"the {name} is {cols}x{rows}; the {first_name} is {first_cols}x{first_rows}: give images of one size")


def _of_image(decoded: Decoded) -> Grey:
    """The grey of a decoded image of any mode, its scale still open. Raises ProblemError for transparency and LAB or HSV."""
    image, name, white, notes = decoded.image, decoded.name, decoded.white, decoded.notes
    check_opaque(decoded)
    if image.mode == "F":
        with np.errstate(invalid="ignore"):  # of signalling NaN
            values = pixels(image).astype(np.float64)
        return Grey(name=name, values=values, kind="float", notes=notes)
    if image.mode.startswith("I"):
        values = whole(image, name)
        kind = "byte" if decoded.bits <= 8 else "word" if decoded.bits == 16 else "wide"
        if white is None:
            return Grey(name=name, values=values, kind=kind, notes=notes)
        # Pillow scales what a PGM states to 16 bits, and gives the values of a TIFF as they are.
        most = 0xFFFF if decoded.bits == 16 else white
        return Grey(name=name, values=values, kind="stated", white=most, stated=white, notes=notes)
    values = pixels(converted(image, "L", name))
    colour = None if is_grey(image) else pixels(converted(image, "RGB", name))
    if white is not None:
        return Grey(name=name, values=values, colour=colour, kind="stated", white=0xFF, stated=white, notes=notes)
    return Grey(name=name, values=values, colour=colour, kind="upper" if decoded.bits == 16 else "byte", notes=notes)


def _of_array(given: Any, name: str) -> Grey:
    """The grey of an array, a nested list or a Pillow image, its scale still open.

    given: (H, W), or (H, W, 3) or (H, W, 4) of red, green, blue and an opaque alpha; booleans (True is white), integers or floats.
    Raises ProblemError for anything else.
    """
    if isinstance(given, Image.Image):
        bits = 16 if given.mode.startswith("I;16") else 32 if given.mode == "I" else 8
        return _of_image(Decoded(name=name, image=upright(given), bits=bits))
    array = _array(given, name)
    if array.dtype.kind == "b":
        array = np.where(array, 0xFF, 0).astype(np.uint8)
    if array.dtype.kind == "f":
        kind, array = "float", array.astype(np.float64)
    else:
        kind = {1: "byte", 2: "word"}.get(array.dtype.itemsize, "wide")
        if int(array.min()) < 0 or int(array.max()) > 0xFFFF:
            raise ProblemError(f"{name} has values from {array.min()} to {array.max()}; grey of 16 bits goes from 0 to 65535: "
                               "scale it")
        array = array.astype(np.uint8 if kind == "byte" else np.int32)
    if array.ndim == 2:
        return Grey(name=name, values=array, kind=kind)
    return Grey(name=name, values=_grey_of_colour(_without_alpha(array, name), kind), colour=array[..., :3], kind=kind)


def _array(given: Any, name: str) -> np.ndarray:
    array = array_of(name, given)
    if array.dtype.kind not in "biuf":
        raise ProblemError(f"{name} has values of type {array.dtype}; a picture has numbers: give an array of them")
    if array.size == 0 or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise ProblemError(f"{name} has shape {array.shape}; a picture is (rows, columns), or (rows, columns, 3) in colour: "
                           "give one of them")
    return array


def _without_alpha(array: np.ndarray, name: str) -> np.ndarray:
    if array.shape[2] == 4:
        alpha = array[..., 3]
        most = alpha.flat[0]
        if (alpha != most).any() or most not in ((1, 0xFF) if alpha.dtype.kind == "f" else (0xFF, 0xFFFF)):
            raise ProblemError(f"{name} has alpha from {alpha.min():g} to {alpha.max():g}; all pixels must be opaque: "
                               "put the picture on a background, or leave alpha out")
    return array[..., :3]


def _grey_of_colour(colour: np.ndarray, kind: str) -> np.ndarray:
    if kind == "byte":
        return np.array(Image.fromarray(np.ascontiguousarray(colour)).convert("L"))
    grey = colour @ LUMA
    return grey if kind == "float" else np.rint(grey).astype(np.int32)
