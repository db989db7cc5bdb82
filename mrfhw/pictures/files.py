"""Picture files, decoded: upright, whole, and with what the file says of its bits.

Every failure is a `ProblemError` of one line. What is not a plain file is not opened, and neither bytes nor pixels are without
bound: `mrfhw.system.input_files.BYTES_MAX` and Pillow's `Image.MAX_IMAGE_PIXELS`.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, ImageOps, TiffImagePlugin, UnidentifiedImageError

from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain

__all__ = ["Decoded", "check_opaque", "converted", "decode", "is_grey", "numbers"]

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TIFF")
READABLE = "give a PNG, JPEG, PPM/PGM, BMP or TIFF file"


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """An image as Pillow decodes it, whatever its mode.

    name: for messages. bits: of one value in the file; Pillow gives colour of 16 bits as its upper 8.
    white: the greatest value of grey that the file itself states, such as 1023 in a PGM; None where it states only a number of 8,
    16 or 32 bits, which may hold fewer.
    """

    name: str
    image: Image.Image
    bits: int = 8
    white: int | None = None


def _stated(image: ImageFile.ImageFile) -> tuple[int, int | None]:
    """(bits, white) of `Decoded`, before the pixels are loaded."""
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        found = image.tag_v2.get(TiffImagePlugin.BITSPERSAMPLE, 16 if image.mode.startswith("I") else 8)
        bits = int(found[0] if isinstance(found, tuple) else found)
        return bits, (1 << bits) - 1 if 8 < bits < 16 else None
    codec, arguments = (image.tile[0].codec_name, image.tile[0].args) if image.tile else ("", None)
    if codec in ("ppm", "ppm_plain") and isinstance(arguments, tuple) and len(arguments) == 2:
        white = int(arguments[1])  # Pillow scales it to 255 or 65535
        return (8 if white <= 0xFF else 16), (None if white in (0xFF, 0xFFFF) else white)
    return (16 if image.mode.startswith("I") or ";16" in str(arguments) else 8), None


def upright(image: Image.Image) -> Image.Image:
    """The picture turned as its EXIF orientation says, if that can be read; other viewers ignore what cannot, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ImageOps.exif_transpose(image)
        except Exception:  # Pillow's reader of EXIF raises whatever broken data bring about
            return image.copy()


def decode(path: str | Path) -> Decoded:
    """The whole image of a file, turned upright by its EXIF orientation.

    Raises ProblemError for what cannot be read, is not an image of a format in FORMATS, is damaged or has too many pixels.
    """
    data = read_plain(path, "give a readable image file")
    if not data:
        raise ProblemError(f"{path} has 0 bytes; an image has more: {READABLE}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            if not data.startswith((b"II", b"MM")):  # of a TIFF it is not EXIF, but the picture's own tags
                warnings.filterwarnings("ignore", "Corrupt EXIF data")
            # verify() finds a cut behind the last pixel, which load() lets pass; it spends the object.
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                image.verify()
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                bits, white = _stated(image)
                image.load()
                return Decoded(name=str(path), image=upright(image), bits=bits, white=white)
    except UnidentifiedImageError:
        raise ProblemError(f"{path} is not an image of a known format: {READABLE}") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise ProblemError(f"{path} has more than {Image.MAX_IMAGE_PIXELS} pixels, the limit: scale it down") from None
    except Exception as error:  # Pillow's decoders raise whatever a broken file brings about
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ProblemError(f"{path} is cut off or damaged ({reason}): give the whole file") from None


def is_grey(image: Image.Image) -> bool:
    """Whether the mode has one value a pixel, beside transparency."""
    return image.mode in ("1", "L", "LA", "La", "F") or image.mode.startswith("I")


def converted(image: Image.Image, mode: str, name: str) -> Image.Image:
    """The image in "L" or "RGB". Raises ProblemError for modes without a plain conversion to them."""
    if image.mode in ("LAB", "HSV"):  # Pillow's conversions of these are none that colour management would give
        raise ProblemError(f"{name} has pixels of mode {image.mode}; they cannot be made grey here: convert it to 8-bit grey")
    return image.convert(mode)


def check_opaque(image: Image.Image, name: str) -> None:
    """Raise ProblemError where a pixel is transparent, wholly or in part: what is behind it is not known."""
    if image.getbands()[-1] in ("A", "a"):
        alpha = np.asarray(image.getchannel(len(image.getbands()) - 1))
        transparent = int(np.count_nonzero(alpha < 0xFF))
    elif "transparency" not in image.info:
        return
    elif image.mode.startswith("I"):  # one grey is transparent, and Pillow makes no alpha of it
        transparent = int(np.count_nonzero(np.asarray(image).astype(np.int64) == image.info["transparency"]))
    else:
        transparent = int(np.count_nonzero(np.asarray(image.convert("RGBA"))[..., 3] < 0xFF))
    if transparent:
        raise ProblemError(f"{name} has {transparent} transparent {'pixel' if transparent == 1 else 'pixels'}; all must be opaque: "
                           "put the picture on a background, or remove its transparency")


def numbers(image: Image.Image, name: str) -> np.ndarray:
    """The values of a grey image as they are in the file, int32 (H, W) of 0..65535. Raises ProblemError for others."""
    values = np.asarray(image).astype(np.int32)
    if values.min() < 0 or values.max() > 0xFFFF:
        raise ProblemError(f"{name} has values from {values.min()} to {values.max()}; grey of 16 bits goes from 0 to 65535: "
                           "convert it to 8 or 16 bits")
    return values
