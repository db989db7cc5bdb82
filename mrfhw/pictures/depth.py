"""Which value of a picture is white, and 8-bit grey from it: one scale for all pictures of a run.

A number of 16 bits may hold 12, and floats may end at 1 or at 255. Where the values leave no doubt, that is their scale; else the
depth must be given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfhw.field.given import whole_number
from mrfhw.pictures.greys import Grey
from mrfhw.system.errors import ProblemError

__all__ = ["DEPTH_MAX", "Scaled", "scaled"]

DEPTH_MAX = 16
DIM = 1 << 14  # 16-bit grey whose values are all below has two bits without use: rather 8, 10, 12 or 14 bits than a dark picture
DIM_BYTE = DIM >> 8
DIM_FLOAT = 16.0  # floats that end between 1 and this are of neither scale, 0 to 1 or 0 to 255
_USUAL = (8, 10, 12, 14, 16)


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """Pictures by one scale.

    greys: uint8 (H, W) each.
    pictures: what is shown of them, uint8 (H, W) grey or (H, W, 3) colour.
    whites: the value of each, as it came, that is white.
    range: (least, greatest) grey of the run's pictures as parts of white, before they are stretched.
    """

    greys: list[np.ndarray]
    pictures: list[np.ndarray]
    whites: list[float]
    range: tuple[float, float]


def scaled(pictures: Sequence[Grey], count: int, depth: int | None = None, stretch: bool = False) -> Scaled:
    """Pictures of a run by one scale, of which the first `count` are the run's and the others follow them.

    depth: bits of a value, 1..16, so that white is 2^depth - 1; None where the files or the values say it. stretch: make the least
    grey of the run's pictures black and the greatest white.
    Raises ProblemError where neither says the depth, where they contradict each other or the depth, for values beyond their scale
    and for a stretch of one grey.
    """
    white, run = _whites(pictures, depth), pictures[:count]
    low = min(p.least / w for p, w in zip(run, white, strict=False))
    high = max(float(p.values.max()) / w for p, w in zip(run, white, strict=False))
    if stretch and low == high:
        raise ProblemError(f"{' and '.join(grey.name for grey in run)} {'has' if count == 1 else 'have'} one grey, "
                           f"{255 * low:.0f} of 255; a stretch needs two: leave stretch out")
    ends = (low, high) if stretch else None
    greys = [_bytes(grey.values, most, ends) for grey, most in zip(pictures, white, strict=True)]
    shown = [plain if grey.colour is None else _bytes(grey.colour, most, ends)
             for grey, plain, most in zip(pictures, greys, white, strict=True)]
    return Scaled(greys=greys, pictures=shown, whites=white, range=(low, high))


def _whites(pictures: Sequence[Grey], depth: int | None = None) -> list[float]:
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


def _bytes(values: np.ndarray, white: float, stretch: tuple[float, float] | None = None) -> np.ndarray:
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
