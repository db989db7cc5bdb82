"""Pictures in: grey data of the machine's width, true disparities, segments, masks, and windows of them.

Every failure is a `ProblemError` of one line. What is not a plain file is not opened, and neither bytes nor pixels are without
bound: `mrfhw.input_files.BYTES_MAX` and Pillow's `Image.MAX_IMAGE_PIXELS`.
"""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, TiffImagePlugin, UnidentifiedImageError

from mrfhw.errors import ProblemError
from mrfhw.input_files import read_plain

__all__ = ["Window", "crop", "load_disparity", "load_grey", "load_input", "load_mask", "load_segments", "parse_window"]

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TIFF")
_BITS = "mrfhw bits"  # of a grey value in the file, kept beside the decoded picture
READABLE = "give a PNG, JPEG, PPM/PGM, BMP or TIFF file"

Window = tuple[int, int, int, int]


def _stated_bits(image: Image.Image) -> int:
    """Bits of a grey value of more than 8: those that a TIFF states, 16 elsewhere (Pillow widens a PGM of fewer to 16)."""
    if not isinstance(image, TiffImagePlugin.TiffImageFile):
        return 16
    stated = image.tag_v2.get(TiffImagePlugin.BITSPERSAMPLE, 16)
    return int(stated[0] if isinstance(stated, tuple) else stated)


def _decode(path: str | Path) -> Image.Image:
    """The whole image, decoded, whatever its mode."""
    data = read_plain(path, "give a readable image file")
    if not data:
        raise ProblemError(f"{path} has 0 bytes; an image has more: {READABLE}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # verify() finds a cut behind the last pixel, which load() lets pass; it spends the object.
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                image.verify()
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                bits = _stated_bits(image)
                image.load()
                whole = image.copy()
                whole.info[_BITS] = bits
                return whole
    except UnidentifiedImageError:
        raise ProblemError(f"{path} is not an image of a known format: {READABLE}") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise ProblemError(f"{path} has more than {Image.MAX_IMAGE_PIXELS} pixels, the limit: scale it down") from None
    except Exception as error:  # Pillow's decoders raise whatever a broken file brings about
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ProblemError(f"{path} is cut off or damaged ({reason}): give the whole file") from None


def load_grey(path: str | Path, data_bits: int = 6) -> np.ndarray:
    """An image as grey data, uint8 (H, W), 0 .. 2^data_bits - 1: 8-bit grey, then >> (8 - data_bits).

    8-bit grey of an image, by Pillow's mode: 1, L: as they are, black 0 and white 255. RGB, YCbCr, CMYK and palettes (P, PA):
    Pillow's "L", the weighted sum of the colours. LA, RGBA: the same, without regard to transparency. I;16, and I of a 16-bit PNG
    or PGM: the upper byte, so that 65535 is 255; of a TIFF of 9 to 15 bits the upper eight. I of a TIFF of 32 bits: as they are
    where none is above 255, else as 16 bits. F: rounded, where all are from 0 to 255 and one is above 1.
    Raises ProblemError for 32-bit values outside 0..65535, floats outside those limits or not finite, other modes, and for what is
    not an image.
    """
    return _grey(_decode(path), path) >> (8 - data_bits)


def _grey(image: Image.Image, path: str | Path) -> np.ndarray:
    """8-bit grey, uint8 (H, W), of a decoded image of any mode; `load_grey` says how."""
    if image.mode == "F":
        return _grey_of_floats(np.asarray(image), path)
    if image.mode.startswith("I"):
        return _grey_of_integers(image, path)
    return np.array(_converted(image, "L", path))


def _converted(image: Image.Image, mode: str, path: str | Path) -> Image.Image:
    if image.mode in ("LAB", "HSV"):  # Pillow's conversions of these are none that colour management would give
        raise ProblemError(f"{path} has pixels of mode {image.mode}; they cannot be made grey here: convert it to 8-bit grey")
    return image.convert(mode)


def _grey_of_integers(image: Image.Image, path: str | Path) -> np.ndarray:
    values = _numbers(image, path)
    bits = image.info.get(_BITS, 16)
    if bits == 32 and values.max() <= 0xFF:
        return values.astype(np.uint8)
    return (values >> (min(bits, 16) - 8)).astype(np.uint8)


def _grey_of_floats(values: np.ndarray, path: str | Path) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ProblemError(f"{path} has pixels that are no finite numbers; grey goes from 0 to 255: convert it to 8-bit grey")
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 255:
        raise ProblemError(f"{path} has values from {low:g} to {high:g}; grey goes from 0 to 255: convert it to 8-bit grey")
    if 0 < high <= 1:
        raise ProblemError(f"{path} has values from {low:g} to {high:g}; grey goes from 0 to 255: multiply it by 255")
    return np.rint(values).astype(np.uint8)


def _numbers(image: Image.Image, path: str | Path) -> np.ndarray:
    """The values of a grey image as they are in the file, int32 (H, W) of 0..65535."""
    values = np.asarray(image).astype(np.int32)
    if values.min() < 0 or values.max() > 0xFFFF:
        raise ProblemError(f"{path} has values from {values.min()} to {values.max()}; grey of 16 bits goes from 0 to 65535: "
                           "convert it to 8 or 16 bits")
    return values


def load_input(path: str | Path, data_bits: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """(data, picture) of an image: what `load_grey` gives, and what is shown of it.

    picture: uint8, (H, W) grey or (H, W, 3) colour. Raises ProblemError for what is not an image.
    """
    image = _decode(path)
    grey = _grey(image, path)
    return grey >> (8 - data_bits), grey if _is_grey(image) else np.array(_converted(image, "RGB", path))


def _is_grey(image: Image.Image) -> bool:
    return image.mode in ("1", "L", "LA", "La", "F") or image.mode.startswith("I")


def load_mask(path: str | Path) -> np.ndarray:
    """A mask, bool (H, W): False where a pixel is black, whatever its bits. Raises ProblemError for what is not an image."""
    image = _decode(path)
    if not _is_grey(image):
        return np.asarray(_converted(image, "RGB", path)).max(-1) > 0
    values: np.ndarray = np.asarray(image.getchannel(0) if image.mode in ("LA", "La") else image)
    if not np.isfinite(values).all():
        raise ProblemError(f"{path} has pixels that are no finite numbers; a mask is 0 where unknown: convert it to 8-bit grey")
    return values != 0


def load_segments(path: str | Path) -> np.ndarray:
    """Numbers of segments, int64 (H, W): the values of a grey image of 8 or 16 bits, or the indices of one with a palette.

    0 is unknown. Raises ProblemError for what is not such an image and for 32-bit values beyond 65535.
    """
    image = _decode(path)
    if image.mode not in ("1", "L", "P", "I", "I;16", "I;16B", "I;16L"):
        raise ProblemError(f"{path} has pixels of mode {image.mode}; segments are one number of 8 or 16 bits a pixel: "
                           "convert it to grey")
    return _numbers(image, path).astype(np.int64)


def load_disparity(path: str | Path, scale: float = 1.0) -> np.ndarray:
    """True disparities, float64 (H, W), in pixels: value / scale of a grey image of 8 or 16 bits; 0 is unknown.

    Raises ProblemError for what is not such an image, for 32-bit values beyond 65535 and for a scale that is not a positive number.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise ProblemError(f"truth-scale is {scale}; it must be a finite number above 0: "
                           "give the grey value that one pixel of disparity has")
    image = _decode(path)
    if image.mode not in ("L", "P", "I", "I;16", "I;16B", "I;16L"):
        raise ProblemError(f"{path} has pixels of mode {image.mode}; true disparities are one grey value of 8 or 16 "
                           "bits a pixel: convert it to grey")
    return _numbers(image.convert("L") if image.mode == "P" else image, path).astype(np.float64) / scale


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
