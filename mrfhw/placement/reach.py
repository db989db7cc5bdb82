"""The part of the second image that a tile holds by itself, where lanes share a site."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Reach"]


@dataclass(frozen=True)
class Reach:
    """All words of the second image that a tile's sites read, row by row, `lanes` of them side by side in a word of the memory.

    low: the least offset (row, column) of a label, so that the part's first word is read by the tile's first site. rows, columns:
    of the part, the columns a multiple of `lanes`. mirrored: a row's words lie from right to left.
    """

    low: tuple[int, int]
    rows: int
    columns: int
    lanes: int
    mirrored: bool

    @classmethod
    def of(cls, tile: tuple[int, int], offsets: np.ndarray, lanes: int, mirrored: bool) -> Reach:
        """Of a tile of (rows, columns) and the labels' offsets (L, 2)."""
        low, high = np.min(offsets, 0), np.max(offsets, 0)
        rows, columns = (size + int(most - least) for size, least, most in zip(tile, low, high, strict=True))
        return cls((int(low[0]), int(low[1])), rows, -(-columns // lanes) * lanes, lanes, mirrored)

    @property
    def stride(self) -> int:
        """Words of the memory from a row to the next."""
        return self.columns // self.lanes

    @property
    def words(self) -> int:
        """Words of the memory in all."""
        return self.rows * self.stride

    def address(self, row: np.ndarray, col: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(lane's place in a word, word) of a row and column of the part."""
        word, bank = np.divmod(self.columns - 1 - col if self.mirrored else col, self.lanes)
        return bank, row * self.stride + word

    def steps(self, offset: np.ndarray, tile_cols: int) -> tuple[int, int]:
        """(columns, words) from a site to the word of an offset: columns to add to the site's own, counted from the right where
        words are mirrored, and words to add to those of the site's row."""
        row, col = (int(moved - least) for moved, least in zip(offset, self.low, strict=True))
        return self.columns - tile_cols - col if self.mirrored else col, row * self.stride
