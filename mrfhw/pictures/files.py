"""Picture files, decoded: upright, whole, and with what the file says of its bits.

Every failure is a `ProblemError` of one line. What is not a plain file is not opened, and neither bytes nor pixels are without
bound: `mrfhw.system.input_files.BYTES_MAX` and `PIXELS_MAX`. Pixels are counted before one of them is decoded.
"""

from __future__ import annotations

import contextlib
import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, ImageFile, ImageOps, TiffImagePlugin, UnidentifiedImageError

from mrfhw.pictures.pfm import MAGICS, read_pfm
from mrfhw.pictures.several import behind_the_first, of_the_file
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import open_plain

__all__ = ["PIXELS_MAX", "Decoded", "check_opaque", "converted", "decode", "is_grey", "pixels", "whole"]

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TIFF")
READABLE = "give a PNG, JPEG, PPM/PGM, BMP or TIFF file"
PIXELS_MAX = 25_000_000  # of a picture; of floats, and of values that take more than 32 bits a pixel, half as many
_PNG, _TIFF = b"\x89PNG", (b"II*\0", b"MM\0*")
_CHUNK = 1 << 24  # bytes of a chunk of a PNG that has no pixels
_BLOCK = 1 << 20
_ROWS = 256  # that are made an array at a time


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """An image as Pillow decodes it, whatever its mode.

    name: for messages. bits: of one value in the file; Pillow gives colour of 16 bits as its upper 8, and grey of fewer than 8 bits
    as 8.
    white: the greatest value of grey that the file itself states, such as 1023 in a PGM; None where it states only a number of
    bits, which may hold fewer. Pillow scales what a PGM states to 255 or 65535.
    white_is_zero: of a TIFF whose least value is white; the image has it the other way round.
    lossy: whether values are not exactly those that were saved, as in a JPEG.
    notes: what is to be said of how the file is read, one line each.
    """

    name: str
    image: Image.Image
    bits: int = 8
    white: int | None = None
    white_is_zero: bool = False
    lossy: bool = False
    notes: tuple[str, ...] = ()


@contextlib.contextmanager
def _as_damage(name: str) -> Iterator[None]:
    """Around calls of Pillow alone: what its decoders raise, which is whatever a broken file brings about, as one line."""
    try:
        yield
    except ProblemError:
        raise
    except UnidentifiedImageError:
        raise ProblemError(f"{name} is not an image of a known format: {READABLE}") from None
    except Image.DecompressionBombError:  # of far more pixels than PIXELS_MAX
        raise ProblemError(f"{name} has more than {PIXELS_MAX} pixels, the limit: scale it down, or cut it") from None
    except MemoryError:
        raise ProblemError(f"{name} takes more memory than there is: scale it down") from None
    except Exception as error:
        raise _damaged(name, " ".join(str(error).split())[:120] or type(error).__name__) from None


def _damaged(name: str, reason: str) -> ProblemError:
    return ProblemError(f"{name} is cut off or damaged ({reason}): give the whole file")


@contextlib.contextmanager
def _quietly(tiff: bool) -> Iterator[None]:
    """Of Pillow's warnings those of a TIFF's own tags are errors; others are of nothing that is read, or of pixels, which are
    counted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if tiff:  # in other files these are EXIF
            warnings.filterwarnings("error", r"(Possibly c|C)orrupt EXIF data|Truncated File Read")
        yield


def _check_chunks(name: str, file: BinaryIO) -> None:
    """Raise ProblemError for a PNG that is cut off, also behind its last pixel, or whose checksums are wrong.

    Pillow's verify() does the same, and has each chunk in memory, twice.
    """
    file.seek(8)
    kind = b""
    while kind != b"IEND":
        head = file.read(8)
        if len(head) < 8:
            raise _damaged(name, "Truncated File Read")
        length, kind = struct.unpack(">I4s", head)
        if length > _CHUNK and kind not in (b"IDAT", b"fdAT"):
            raise _damaged(name, f"a chunk {kind!r} of {length} bytes")
        found = zlib.crc32(kind)
        while length:
            data = file.read(min(_BLOCK, length))
            if not data:
                raise _damaged(name, "Truncated File Read")
            found, length = zlib.crc32(data, found), length - len(data)
        if file.read(4) != found.to_bytes(4, "big") and kind != b"IEND":
            raise _damaged(name, f"the checksum of chunk {kind!r} is wrong")


def _tag(name: str, image: ImageFile.ImageFile, number: int, default: int) -> int:
    """The first number of a TIFF's tag."""
    found: Any = default
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        with _as_damage(name):  # tags are read as they are asked for
            found = image.tag_v2.get(number, default)
    found = found[0] if isinstance(found, tuple) and found else found
    return found if isinstance(found, int) else default


def _stated(name: str, image: ImageFile.ImageFile) -> tuple[int, int | None]:
    """(bits, white) of `Decoded`, before the pixels are loaded."""
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        presumed = 16 if image.mode.startswith("I") else 1 if image.mode == "1" else 8
        bits = _tag(name, image, TiffImagePlugin.BITSPERSAMPLE, presumed)
        return bits, (1 << bits) - 1 if 8 < bits < 16 else None
    # A tile is a tuple of (codec, extents, offset, arguments), and has names in later versions of Pillow.
    codec, arguments = (image.tile[0][0], image.tile[0][3]) if image.tile else ("", None)
    if codec in ("ppm", "ppm_plain") and isinstance(arguments, tuple) and len(arguments) == 2:
        white = int(arguments[1])
        return (8 if white <= 0xFF else 16), (None if white in (0xFF, 0xFFFF) else white)
    found = re.search(r";(\d+)", str(arguments)) if image.format in ("PNG", "PPM") else None
    return int(found[1]) if found else 16 if image.mode.startswith("I") else 1 if image.mode == "1" else 8, None


def upright(image: Image.Image) -> Image.Image:
    """The picture turned as its EXIF orientation says, if that can be read; other viewers ignore what cannot, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ImageOps.exif_transpose(image)
        except Exception:  # Pillow's reader of EXIF raises whatever broken data bring about
            return image.copy()


def decode(path: str | Path) -> Decoded:
    """The first image of a file, whole, turned upright by its EXIF orientation.

    Raises ProblemError for what cannot be read, is not an image of a format in FORMATS, is damaged or has too many pixels.
    """
    name = str(path)
    with open_plain(path, "give a readable image file") as file:
        start = file.read(4)
        if not start:
            raise ProblemError(f"{name} has 0 bytes; an image has more: {READABLE}")
        file.seek(0)
        if start[:2] in MAGICS:
            values, said = read_pfm(name, file, PIXELS_MAX // 2)
            return Decoded(name=name, image=Image.fromarray(values), bits=32, notes=said)
        with _quietly(start in _TIFF):
            if start == _PNG:
                _check_chunks(name, file)
                file.seek(0)
            return _decoded(name, file)


def _decoded(name: str, file: BinaryIO) -> Decoded:
    with _as_damage(name):
        image = Image.open(file, formats=FORMATS)
    with image:
        _check_pixels(name, image, 8)
        with _as_damage(name):
            count = of_the_file(image)
        bits, white = _stated(name, image)
        zero = _tag(name, image, TiffImagePlugin.PHOTOMETRIC_INTERPRETATION, 1) == 0
        _check_pixels(name, image, bits)
        if bits == 8 and _tag(name, image, TiffImagePlugin.SAMPLEFORMAT, 1) == 2:
            raise ProblemError(f"{name} is a TIFF of signed values of 8 bits; those without a sign are read: convert it")
        more = image.format == "PPM" and behind_the_first(name, file, image)
        with _as_damage(name):
            image.load()
        lossy = image.format in ("JPEG", "MPO") or "jpeg" in str(image.info.get("compression"))
        turned = upright(image)
    several = str(count) if count > 1 else "several" if more else ""
    said = (f"Note: the first of {several} pictures in {name} is read",) if several else ()
    return Decoded(name=name, image=_white_above(name, turned, bits) if zero else turned, bits=bits, white=white, lossy=lossy,
                   white_is_zero=zero, notes=said)


def _check_pixels(name: str, image: Image.Image, bits: int) -> None:
    most = PIXELS_MAX // 2 if image.mode in ("F", "I") or (bits > 8 and len(image.getbands()) > 1) else PIXELS_MAX
    if image.width * image.height > most:
        raise ProblemError(f"{name} is {image.width}x{image.height}, {image.width * image.height} pixels; the limit is {most}: "
                           "scale it down, or cut it")


def _white_above(name: str, image: Image.Image, bits: int) -> Image.Image:
    """The image of a TIFF whose least value is white, of which Pillow turns round those of up to 8 bits."""
    if image.mode in ("1", "L"):
        return image
    if not image.mode.startswith("I;16"):
        raise ProblemError(f"{name} is a TIFF of mode {image.mode} whose white is 0; integers of up to 16 bits are read so: save "
                           "it with black as 0")
    return Image.fromarray((((1 << bits) - 1) - pixels(image)).astype(np.uint16))


def is_grey(image: Image.Image) -> bool:
    """Whether the mode has one value a pixel, beside transparency."""
    return image.mode in ("1", "L", "LA", "La", "F") or image.mode.startswith("I")


def converted(image: Image.Image, mode: str, name: str) -> Image.Image:
    """The image in "L" or "RGB". Raises ProblemError for modes without a plain conversion to them."""
    if image.mode in ("LAB", "HSV"):  # Pillow's conversions of these are none that colour management would give
        raise ProblemError(f"{name} has pixels of mode {image.mode}; they cannot be made grey here: convert it to 8-bit grey")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a palette whose transparency says that all is opaque
        return image if image.mode == mode else image.convert(mode)


def pixels(image: Image.Image) -> np.ndarray:
    """The values of an image as its mode has them, (H, W) or (H, W, n). np.asarray of a whole one takes three times as much."""
    cols, rows = image.size
    made = None
    for top in range(0, rows, _ROWS):
        part = np.asarray(image.crop((0, top, cols, min(rows, top + _ROWS))))
        made = np.empty((rows, *part.shape[1:]), part.dtype) if made is None else made
        made[top:top + _ROWS] = part
    return np.asarray(image) if made is None else made


def check_opaque(decoded: Decoded) -> None:
    """Raise ProblemError where a pixel is transparent, wholly or in part: what is behind it is not known."""
    image, clear = decoded.image, decoded.image.info.get("transparency")
    if image.getbands()[-1] in ("A", "a"):
        transparent = sum(image.getchannel(len(image.getbands()) - 1).histogram()[:0xFF])
    elif clear is None:
        return
    elif is_grey(image):  # one grey, as the file has it
        values = whole(image, decoded.name, decoded.bits)
        transparent = int(np.count_nonzero(values == (bool(clear) if image.mode == "1" else clear)))
    else:
        transparent = 0
        for top in range(0, image.height, _ROWS):
            part = image.crop((0, top, image.width, min(image.height, top + _ROWS)))
            if decoded.bits == 16 and isinstance(clear, tuple):
                part.info["transparency"] = tuple(value >> 8 for value in clear)
            transparent += sum(part.convert("RGBA").getchannel("A").histogram()[:0xFF])
    if transparent:
        raise ProblemError(f"{decoded.name} has {transparent} transparent {'pixel' if transparent == 1 else 'pixels'}; all must be "
                           "opaque: put the picture on a background, or remove its transparency")


def whole(image: Image.Image, name: str, bits: int = 8) -> np.ndarray:
    """The values of a grey image, int32 (H, W) of 0..65535; of fewer than 8 bits as the file has them. Raises ProblemError for
    others."""
    if image.mode == "I":
        low, high = image.getextrema()
        if low < 0 or high > 0xFFFF:  # type: ignore[operator]
            raise ProblemError(f"{name} has values from {low} to {high}; grey of 16 bits goes from 0 to 65535: convert it to 8 "
                               "or 16 bits")
    values = pixels(image).astype(np.int32, copy=False)
    return values // (0xFF // ((1 << bits) - 1)) if image.mode == "L" and bits < 8 else values
