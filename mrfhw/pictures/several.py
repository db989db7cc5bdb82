"""Files of several pictures: which one is read, and how many there are."""

from __future__ import annotations

import os
from typing import BinaryIO

from PIL import ImageFile, TiffImagePlugin

from mrfhw.system.errors import ProblemError

__all__ = ["behind_the_first", "of_the_file"]

MOST = 1000  # pages that are looked at
_REDUCED, _MASK = 1, 4  # bits of NewSubfileType
_OLD_REDUCED = 2  # a value of SubfileType
_PNM = tuple(f"P{kind}".encode() for kind in "1234567fF")


def of_the_file(image: ImageFile.ImageFile) -> int:
    """How many pictures an open file has, `MOST` at most; the first of them is chosen. Smaller copies and masks of another page of
    a TIFF are none. Raises what Pillow does."""
    if not isinstance(image, TiffImagePlugin.TiffImageFile):
        return int(getattr(image, "n_frames", 1))
    pages = []
    for number in range(MOST):
        try:
            image.seek(number)
        except EOFError:
            break
        except Exception:  # a page behind the first that Pillow does not know is a page
            if not number:
                raise
            pages.append(number)
            break
        if not _beside(image):
            pages.append(number)
    image.seek(pages[0] if pages else 0)
    return max(1, len(pages))


def _beside(image: TiffImagePlugin.TiffImageFile) -> bool:
    """Whether the page is a smaller copy or a mask of another one."""
    kind, old = (image.tag_v2.get(tag) for tag in (254, 255))
    return (isinstance(kind, int) and bool(kind & (_REDUCED | _MASK))) or old == _OLD_REDUCED


def behind_the_first(name: str, file: BinaryIO, image: ImageFile.ImageFile) -> bool:
    """Whether another picture follows in an open PBM, PGM or PPM file of bytes.

    Raises ProblemError where \\r\\n ends the header, which Pillow takes for an end of one character and the first pixel.
    """
    codec, _, offset, arguments = image.tile[0]
    if codec not in ("raw", "ppm"):
        return False
    mode = arguments[0] if isinstance(arguments, tuple) else arguments
    deep = str(mode).endswith("16B") or (codec == "ppm" and int(arguments[1]) > 0xFF)  # type: ignore[index]
    cols, rows = image.size
    line = (cols + 7) // 8 if image.mode == "1" else cols * len(image.getbands()) * (2 if deep else 1)
    end = offset + line * rows
    size = os.fstat(file.fileno()).st_size
    file.seek(offset - 1)
    if size == end + 1 and file.read(2) == b"\r\n":
        raise ProblemError(f"{name} has \\r\\n before its pixels, which would be a place off; one character stands there: write it "
                           "with line ends of one character")
    file.seek(end)
    return file.read(64).lstrip()[:2] in _PNM
