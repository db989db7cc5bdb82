"""Which value of a picture is white, and 8-bit grey from it: one scale for all pictures of a run.

A number of 16 bits may hold 12, and floats may end at 1 or at 255. Where the values leave no doubt, that is their scale; else the
depth must be given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfhw.field.given import whole_number
from mrfhw.system.errors import ProblemError

__all__ = ["DEPTH_MAX", "Grey", "filled", "grey_bytes", "grey_range", "whites"]

DEPTH_MAX = 16
DIM = 1 << 14  # 16-bit grey whose values are all below has two bits without use: rather 8, 10, 12 or 14 bits than a dark picture
DIM_BYTE = DIM >> 8
DIM_FLOAT = 16.0  # floats that end between 1 and this are of neither scale, 0 to 1 or 0 to 255
_USUAL = (8, 10, 12, 14, 16)


@dataclass(frozen=True, kw_only=True)
class Grey:
    """A picture's grey, whose scale is still open.

    name: for messages. values: (H, W) uint8, int32 or float64. colour: the same picture, (H, W, 3) uint8, of which `values` is the
    weighted sum, or None. kind: what holds a value:
    "byte": 8 bits. "word": 16 bits. "wide": integers of 32 or more bits. "float". "upper": the upper 8 bits of colour of 16.
    "stated": numbers of which the file says that `white` is the greatest; stated: as it says it, before Pillow's scaling.
    """

    name: str
    values: np.ndarray
    kind: str
    colour: np.ndarray | None = None
    white: int = 0
    stated: int = 0

    @property
    def most(self) -> float:
        """The greatest value, of grey and colours."""
        return float((self.values if self.colour is None else self.colour).max())

    @property
    def least(self) -> float:
        """The least value of grey."""
        return float(self.values.min())

    def filled(self, seen: np.ndarray) -> Grey:
        """With `filled` values and colours."""
        return dataclasses.replace(self, values=filled(self.values, seen),
                                   colour=None if self.colour is None else filled(self.colour, seen))


def filled(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
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


def whites(pictures: Sequence[Grey], depth: int | None = None) -> list[float]:
    """The value that is white, for each of the pictures of a run.

    depth: bits of a value, 1..16, so that white is 2^depth - 1; None where the files or the values say it.
    Raises ProblemError where neither does, where they contradict each other or the depth, and for values beyond their scale.
    """
    for picture in pictures:
        _check_values(picture)
    if depth is None:
        return _presumed(pictures)
    number = whole_number("depth", depth, 1, DEPTH_MAX, "give the bits of one grey value")
    return [_given(picture, number) for picture in pictures]


def _check_values(picture: Grey) -> None:
    if picture.kind == "float" and not np.isfinite(picture.values).all():
        raise ProblemError(f"{picture.name} has pixels that are no finite numbers; grey goes from 0 to 255: "
                           "convert it to 8-bit grey")
    low, high = picture.least if picture.colour is None else float(picture.colour.min()), picture.most
    if picture.kind == "float":
        if low < 0:
            raise ProblemError(f"{picture.name} has values from {low:g} to {high:g}; grey goes from 0 to 1 or from 0 to 255: "
                               "convert it to 8-bit grey")
    elif low < 0 or high > 0xFFFF:
        raise ProblemError(f"{picture.name} has values from {low:.0f} to {high:.0f}; grey of 16 bits goes from 0 to 65535: "
                           "convert it to 8 or 16 bits")


def _given(picture: Grey, depth: int) -> float:
    """White of a picture whose depth is given."""
    white, name = (1 << depth) - 1, picture.name
    if picture.kind == "stated":
        if white != picture.stated:
            raise ProblemError(f"depth is {depth}; {name} itself says that its white is {picture.stated}: leave depth out")
        return picture.white
    if picture.kind == "upper":
        if depth != 16:
            raise _unread(picture, f"depth is {depth}")
        return 0xFF
    if picture.kind == "byte" and depth > 8:
        raise ProblemError(f"depth is {depth}; {name} has 8 bits: give pictures of one depth, or leave depth out")
    if picture.most > white:
        raise ProblemError(f"{name} has values up to {picture.most:g}; depth {depth} goes to {white}: give a greater depth")
    if picture.kind == "float" and 0 < picture.most <= 1 < white:
        raise ProblemError(f"{name} has values from {picture.least:g} to {picture.most:g}; depth {depth} goes to {white}: "
                           "leave depth out for floats from 0 to 1")
    return white


def _presumed(pictures: Sequence[Grey]) -> list[float]:
    """White of pictures whose depth is not given."""
    found = [_by_kind(picture, pictures) for picture in pictures]
    for kind in ("wide", "float"):  # whose white comes from the values
        same = [(p, white) for p, white in zip(pictures, found, strict=True) if p.kind == kind and p.most > 0]
        for picture, white in same[1:]:
            first, other = same[0]
            if white != other:
                raise ProblemError(f"{picture.name} has values up to {picture.most:g}, {first.name} up to {first.most:g}; "
                                   "the pictures of a run have one scale: give depth, or scale one of them")
    return found


def _by_kind(picture: Grey, pictures: Sequence[Grey]) -> float:
    most = picture.most
    if picture.kind == "stated":
        return picture.white
    if picture.kind == "float":
        return _white_of_floats(picture)
    if picture.kind == "byte" or (picture.kind == "wide" and most <= 0xFF):
        return 0xFF
    if picture.kind == "upper":
        if most < DIM_BYTE:
            raise _unread(picture, f"the greatest is {most:.0f}")
        return 0xFF
    if 0 < most < DIM:
        # The pictures of a run have one depth, which has room for all of them.
        needed = max(p.most for p in pictures if p.kind in ("word", "wide"))
        depth = next(bits for bits in _USUAL if needed < 1 << bits)
        way_out = "give depth 16 if it is that dark" if depth == 16 else f"give depth {depth}, or depth 16 if it is that dark"
        raise ProblemError(f"{picture.name} has values up to {most:.0f}; 16-bit grey goes to 65535: {way_out}")
    return 0xFFFF


def _white_of_floats(picture: Grey) -> float:
    low, high = picture.least, picture.most
    said = f"{picture.name} has values from {low:g} to {high:g}; grey goes from 0 to 1 or from 0 to 255"
    if high > 255:
        raise ProblemError(f"{said}: convert it to 8-bit grey, or give depth")
    if 1 < high < DIM_FLOAT:
        raise ProblemError(f"{said}: cut it off at 1, or give depth 8 if 255 is white")
    return 1.0 if 0 < high <= 1 else 255.0


def _unread(picture: Grey, what: str) -> ProblemError:
    return ProblemError(f"{picture.name} has 16-bit colour, of which the upper 8 bits are read; {what}: convert it to 16-bit grey, "
                        "or to 8 bits")


def grey_range(pictures: Sequence[Grey], white: Sequence[float]) -> tuple[float, float]:
    """(least, greatest) grey of all pictures, as parts of white."""
    return (min(p.least / w for p, w in zip(pictures, white, strict=True)),
            max(float(p.values.max()) / w for p, w in zip(pictures, white, strict=True)))


def grey_bytes(values: np.ndarray, white: float, stretch: tuple[float, float] | None = None) -> np.ndarray:
    """Values of any shape as 8-bit grey, uint8.

    stretch: (black, white) as parts of `white`, to be made 0 and 255; what is beyond is cut off. None: integers of 8 or more bits
    give their upper 8, others are scaled and rounded.
    """
    if stretch is not None:
        low, high = stretch
        return np.rint(np.clip((values / white - low) / (high - low), 0, 1) * 255).astype(np.uint8)
    if values.dtype.kind == "f" or white < 255:
        return np.rint(np.minimum(values * (255 / white), 255)).astype(np.uint8)
    return (values >> (int(white).bit_length() - 8)).astype(np.uint8)
