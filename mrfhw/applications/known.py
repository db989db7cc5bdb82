"""What is known of a pair of pictures: what a mask hides in the first, and black borders of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mrfhw.jobs.options import Option
from mrfhw.pictures.borders import black_border, filled_beside
from mrfhw.pictures.images import Inputs, Window, crop, name_of
from mrfhw.pictures.numbers import known_mask
from mrfhw.system.errors import ProblemError

__all__ = ["ALL", "MASK", "GivenMask", "Known", "Masks"]

Masks = tuple[np.ndarray | None, np.ndarray | None]  # bool (H, W), pixels of two pictures that are known; None for all
ALL: Masks = (None, None)

NONE = "none"
MASK = Option(name="mask", file=True, metavar="MASK|none",
              help="A grey image of the first picture's size, 0 where that says nothing; none: all pixels say something.",
              said="black borders are found")


@dataclass(frozen=True, eq=False)
class GivenMask:
    """A mask as it is given.

    known: bool (H, W), False where the first picture says nothing; None where none is given. borders: whether black borders are
    found. name: what messages call it. notes: what is to be said of it.
    """

    known: np.ndarray | None = None
    borders: bool = True
    name: str = "the mask"
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, mask: Any) -> Self:
        """Of the value of the option. Raises ProblemError."""
        if mask is None or (isinstance(mask, str) and mask == NONE):
            return cls(borders=mask is None)
        found = known_mask(mask, "mask")
        return cls(known=found.values, name=name_of(mask, "the mask"), notes=found.notes)


@dataclass(frozen=True, eq=False)
class Known:
    """Which pixels of a pair something is known of.

    first, second: bool (H, W) of the whole pictures, None for all. window: the part of them that is wanted. given: the mask.
    """

    first: np.ndarray | None
    second: np.ndarray | None
    window: Window | None
    given: GivenMask

    @classmethod
    def of(cls, given: GivenMask, inputs: Inputs, window: Window | None) -> Self:
        """Of the two pictures that are read. Raises ProblemError for a mask that hides all."""
        found: list[np.ndarray | None] = [None, None]
        if given.borders:
            borders = [black_border(source.values) for source in inputs.sources]
            found = [None if border is None else ~border for border in borders]
        if given.known is not None:
            found[0] = None if given.known.all() else given.known
            if not crop(given.known, window, "mask").any():
                raise ProblemError("mask leaves 0 pixels to see; at least 1 must be other than 0: give a mask of 0 where unknown")
        # A window within a border is taken as picture.
        first, second = (None if known is None or not crop(known, window).any() else known for known in found)
        return cls(first, second, window, given)

    @property
    def cut(self) -> Masks:
        """`first` and `second` in the window; None where all of it is known."""
        first, second = (None if known is None or (part := crop(known, self.window)).all() else part
                         for known in (self.first, self.second))
        return first, second

    def doubt(self, unknown: float) -> np.ndarray | None:
        """`Job.doubt` of a field that is matched one way, of such a doubt where nothing is known; None where all is known."""
        first = self.cut[0]
        return None if first is None else np.where(first, 0.0, unknown)

    def settings(self, mask: Any) -> dict[str, Any]:
        """For a report: the option, and the shares of both pictures of which nothing is known."""
        return {"mask": None if mask is None else mask if isinstance(mask, str) else name_of(mask, "array"),
                "unknown": [0.0 if known is None else 1 - float(known.mean()) for known in self.cut]}

    def filled(self, first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
        """Images of the whole pictures, of which what is not known is filled from beside."""
        return [filled_beside(first, self.first), filled_beside(second, self.second)]

    def notes(self, first: str, second: str) -> tuple[str, ...]:
        """What is to be said, of pictures of these names."""
        shares = [0.0 if known is None else 100 * (1 - float(known.mean())) for known in self.cut]
        of = [f"{share:.{0 if share >= 1 else 1}f} % of {name}" for share, name in zip(shares, (first, second), strict=True)]
        by_mask = self.given.known is not None
        parts = [f"{self.given.name} hides {of[0]}"] if shares[0] and by_mask else []
        borders = [part for part, share in list(zip(of, shares, strict=True))[by_mask:] if share]
        if borders:
            parts.append(f"{' and '.join(borders)} {'are' if len(borders) > 1 else 'is'} black border")
        if not parts:
            return self.given.notes
        way = "" if by_mask else "; mask none takes it as picture"
        return (*self.given.notes, f"Note: {', and '.join(parts)}, of which nothing is known: the answer there is filled in from "
                f"beside, with wide intervals{way}")
