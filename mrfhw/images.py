"""Pictures in: grey data of the machine's width, true disparities, segments, masks, and windows of them.

Every failure is a `ProblemError` of one line.
"""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from mrfhw.problem import ProblemError

__all__ = ["Window", "crop", "load_disparity", "load_grey", "load_input", "load_segments", "parse_window"]

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TIFF")
READABLE = "give a PNG, JPEG, PPM/PGM, BMP or TIFF file"

Window = tuple[int, int, int, int]


def _bytes(path: str | Path) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ProblemError(f"{path} cannot be read ({error.strerror}): give a readable image file") from None
    if not data:
        raise ProblemError(f"{path} has 0 bytes; an image has more: {READABLE}")
    return data


def _decode(path: str | Path) -> Image.Image:
    """The whole image, decoded, whatever its mode."""
    data = _bytes(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # verify() finds a cut behind the last pixel, which load() lets pass; it spends the object.
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                image.verify()
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                image.load()
                return image.copy()
    except UnidentifiedImageError:
        raise ProblemError(f"{path} is not an image of a known format: {READABLE}") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise ProblemError(f"{path} has more than {Image.MAX_IMAGE_PIXELS} pixels, the limit: scale it down") from None
    except Exception as error:  # Pillow's decoders raise whatever a broken file brings about
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ProblemError(f"{path} is cut off or damaged ({reason}): give the whole file") from None


def load_grey(path: str | Path, data_bits: int = 6) -> np.ndarray:
    """An image as grey data, uint8 (H, W), 0 .. 2^data_bits - 1: Pillow's "L", then >> (8 - data_bits).

    Grey images of 16 bits give their upper byte. Raises ProblemError for what is not an image.
    """
    return _grey(_decode(path), path) >> (8 - data_bits)


def _grey(image: Image.Image, path: str | Path) -> np.ndarray:
    """8-bit grey, uint8 (H, W), of a decoded image of any mode."""
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image)
        if image.mode == "F" or values.min() < 0 or values.max() > 0xFFFF:
            raise ProblemError(f"{path} has pixels of mode {image.mode}; grey data has 8 or 16 bits: convert it to 8")
        return (values.astype(np.uint16) >> 8).astype(np.uint8)
    return np.array(image.convert("L"))


def load_input(path: str | Path, data_bits: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """(data, picture) of an image: what `load_grey` gives, and what is shown of it.

    picture: uint8, (H, W) grey or (H, W, 3) colour. Raises ProblemError for what is not an image.
    """
    image = _decode(path)
    grey = _grey(image, path)
    colour = image.mode not in ("1", "L", "LA", "La", "F") and not image.mode.startswith("I")
    return grey >> (8 - data_bits), np.array(image.convert("RGB")) if colour else grey


def load_segments(path: str | Path) -> np.ndarray:
    """Numbers of segments, int64 (H, W): the values of a grey image of 8 or 16 bits, or the indices of one with a palette.

    0 is unknown. Raises ProblemError for what is not such an image.
    """
    image = _decode(path)
    if image.mode not in ("1", "L", "P", "I", "I;16", "I;16B", "I;16L"):
        raise ProblemError(f"{path} has pixels of mode {image.mode}; segments are one number of 8 or 16 bits a pixel: "
                           "convert it to grey")
    return np.asarray(image).astype(np.int64)


def load_disparity(path: str | Path, scale: float = 1.0) -> np.ndarray:
    """True disparities, float64 (H, W), in pixels: value / scale of a grey image of 8 or 16 bits; 0 is unknown.

    Raises ProblemError for what is not such an image and for a scale that is not a positive number.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise ProblemError(f"truth-scale is {scale}; it must be a finite number above 0: "
                           "give the grey value that one pixel of disparity has")
    image = _decode(path)
    if image.mode not in ("L", "P", "I", "I;16", "I;16B", "I;16L"):
        raise ProblemError(f"{path} has pixels of mode {image.mode}; true disparities are one grey value of 8 or 16 "
                           "bits a pixel: convert it to grey")
    values = np.asarray(image.convert("L") if image.mode == "P" else image)
    return values.astype(np.float64) / scale


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
    """The part of (H, W) or (H, W, n) `image` in the window (x, y, width, height), or all of it for None."""
    if window is None:
        return image
    x, y, width, height = window
    rows, cols = image.shape[:2]
    if x < 0 or y < 0 or x + width > cols or y + height > rows or width < 1 or height < 1:
        raise ProblemError(f"window is {x},{y},{width},{height}; the {name} has {cols}x{rows} pixels: "
                           "give a window inside it")
    return image[y : y + height, x : x + width]
