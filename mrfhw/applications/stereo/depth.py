"""Distances from disparities: what is known of two cameras, and where pixels lie before the left one."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from mrfhw.field.given import finite, short
from mrfhw.jobs.options import Option
from mrfhw.pictures.images import Window, is_path, name_of
from mrfhw.system.errors import ProblemError

__all__ = ["CAMERAS", "Camera"]

CAMERAS = (
    Option(name="calib", file=True, metavar="FILE", rare=True,
           help="calib.txt as Middlebury writes it, of the pictures' size: depth, its interval and cloud.ply, in its unit."),
    Option(name="focal", type=float, metavar="PIXELS", rare=True, help="Focal length, in place of calib, with --baseline."),
    Option(name="baseline", type=float, metavar="LENGTH", rare=True,
           help="Distance of the two cameras, in whatever unit; depths are in the same."),
)
_WAY_OUT = "give a file as Middlebury writes it, with cam0=[F 0 X; 0 F Y; 0 0 1] and baseline=LENGTH, or focal and baseline"
_LARGEST = 1 << 16  # bytes of a calib.txt
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Camera:
    """Two cameras side by side, rectified.

    focal: in pixels. baseline: their distance, in the unit of depths. column, row: of the left picture, where its camera looks
    straight ahead. offset: pixels, added to disparities, as the right camera's column may be another (doffs of Middlebury).
    """

    focal: float
    baseline: float
    column: float
    row: float
    offset: float = 0.0

    @classmethod
    def of(cls, calib: Any, focal: float | None, baseline: float | None, shape: tuple[int, ...],
           window: Window | None) -> Self | None:
        """Of the options, for pictures of a shape of which a window is wanted. None where nothing is given. Raises ProblemError."""
        if calib is None and focal is None and baseline is None:
            return None
        if calib is not None:
            if focal is not None or baseline is not None:
                one = "focal" if focal is not None else "baseline"
                raise ProblemError(f"calib is {name_of(calib, 'given')}, and {one} is given too; calib says both: drop one")
            found = cls._of_lines(calib, shape)
        else:
            if focal is None or baseline is None:
                one, other = ("focal", "baseline") if baseline is None else ("baseline", "focal")
                raise ProblemError(f"{one} is {focal if baseline is None else baseline:g}, and {other} is not given; depth needs "
                                   "both: give both, or calib")
            rows, cols = shape[:2]
            found = cls(finite("focal", focal, 0.0, "give the focal length in pixels"),
                        finite("baseline", baseline, 0.0, "give the distance of the cameras"), (cols - 1) / 2, (rows - 1) / 2)
        if window is None:
            return found
        return dataclasses.replace(found, column=found.column - window[0], row=found.row - window[1])

    @classmethod
    def _of_lines(cls, calib: Any, shape: tuple[int, ...]) -> Self:
        name = name_of(calib, "calib")
        if not is_path(calib):
            raise ProblemError(f"calib is {short(repr(calib))}; it is the path of a text file: {_WAY_OUT}")
        try:
            with Path(calib).open("rb") as file:
                text = file.read(_LARGEST + 1)
        except OSError as error:
            raise ProblemError(f"{name} cannot be read, {error.strerror or error}: {_WAY_OUT}") from None
        if len(text) > _LARGEST:
            raise ProblemError(f"{name} has more than {_LARGEST} bytes, which is no calib.txt: {_WAY_OUT}")
        lines = dict(re.findall(r"^\s*(\w+)\s*=\s*(.*?)\s*$", text.decode("latin-1"), re.MULTILINE))
        numbers = {key: [float(number) for number in re.findall(_NUMBER, value)] for key, value in lines.items()}
        camera, baseline = numbers.get("cam0", []), numbers.get("baseline", [])
        if len(camera) != 9 or len(baseline) != 1:
            missing = "cam0 of nine numbers" if len(camera) != 9 else "baseline"
            raise ProblemError(f"{name} has no line {missing}: {_WAY_OUT}")
        size = [int(numbers[key][0]) for key in ("width", "height") if numbers.get(key)]
        if len(size) == 2 and size != [shape[1], shape[0]]:
            raise ProblemError(f"{name} is of pictures of {size[0]}x{size[1]}; these are {shape[1]}x{shape[0]}: give focal and "
                               "baseline of these, or the file of their size")
        return cls(finite(f"cam0 of {name}", camera[0], 0.0, _WAY_OUT), finite(f"baseline of {name}", baseline[0], 0.0, _WAY_OUT),
                   camera[2], camera[5], numbers.get("doffs", [0.0])[0] if numbers.get("doffs") else 0.0)

    def depth(self, disparity: np.ndarray) -> np.ndarray:
        """Distances along the axis of the camera, float64 of the same shape, infinite where a disparity is that of no point."""
        apart = disparity + self.offset
        with np.errstate(divide="ignore"):
            return np.where(apart > 0, self.focal * self.baseline / np.maximum(apart, 0), np.inf)

    def interval(self, disparity: np.ndarray) -> np.ndarray:
        """(..., 2) of distances, of an interval (..., 2) of disparities: the larger disparity is nearer."""
        return self.depth(disparity)[..., ::-1]

    def points(self, depth: np.ndarray) -> np.ndarray:
        """(H, W, 3) float64: to the right, down and ahead of the left camera, of finite distances (H, W)."""
        rows, cols = depth.shape
        return np.stack([(np.arange(cols) - self.column) * depth / self.focal,
                         (np.arange(rows)[:, None] - self.row) * depth / self.focal, depth], -1)
