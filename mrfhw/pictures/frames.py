"""The frames of a video: the pictures of a folder or of a pattern, in the order of their numbers, or a video file's."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mrfhw.system.errors import ProblemError

__all__ = ["FILMS", "Frame", "Frames"]

FILMS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".ogv", ".webm", ".y4m")  # names of video files end so
_WAY_OUT = "give a folder of pictures, a pattern such as 'frames/*.png', or a video file"


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame. name: for messages and pages. given: its file, or what a video file has of it, uint8 (H, W, 3)."""

    name: str
    given: Path | np.ndarray


class Frames:
    """The frames that a word of the command line names, in order; read again with each iteration.

    word: a folder, all of whose pictures are frames; a pattern with * or ?; or a video file, whose frames are decoded one at a time
    (PyAV).
    Numbers in names count as numbers: frame9.png comes before frame10.png. Raises ProblemError where there are none.
    """

    def __init__(self, word: str):
        self._word, self.files = word, list[Path]()
        path = Path(word)
        if path.suffix.lower() in FILMS and path.is_file():
            self._count = sum(1 for _ in self._decoded())
        else:
            self.files = _pictures(path) if path.is_dir() else sorted(map(Path, glob.glob(word)), key=_natural)
            self._count = len(self.files)
        if not self._count:
            raise ProblemError(f"{word} has no frames: {_WAY_OUT}")

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Frame]:
        if self.files:
            return (Frame(str(path), path) for path in self.files)
        return (Frame(f"{self._word}, frame {number}", picture.to_ndarray(format="rgb24"))
                for number, picture in enumerate(self._decoded(), 1))

    def some(self, most: int) -> list[Frame]:
        """At most so many, spread evenly from the first to the last."""
        wanted = {*np.linspace(0, len(self) - 1, min(most, len(self))).astype(int).tolist()}
        return [frame for number, frame in enumerate(self) if number in wanted]

    def pairs(self) -> Iterator[tuple[Frame, Frame]]:
        """Each frame with the next."""
        return itertools.pairwise(self)

    def _decoded(self) -> Iterator[Any]:
        """The pictures of a video file, which PyAV decodes."""
        try:
            import av  # extra: video
        except ImportError:
            raise ProblemError(f"{self._word} is a video file, and PyAV is not installed: run pip install 'mrfhw[video]', or give "
                               "its frames as pictures") from None
        try:
            with av.open(self._word) as film:
                if not film.streams.video:
                    raise ProblemError(f"{self._word} has no pictures: {_WAY_OUT}")
                yield from film.decode(video=0)
        except (av.FFmpegError, OSError) as error:
            raise ProblemError(f"{self._word} cannot be decoded ({' '.join(str(error).split())[:80]}): {_WAY_OUT}") from None


def _pictures(folder: Path) -> list[Path]:
    """The files of a folder that are named as pictures are."""
    Image.init()
    return sorted((path for path in folder.iterdir() if path.suffix.lower() in Image.EXTENSION and path.is_file()), key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    """By numbers and by what is between them."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(path)) if part]
