"""Textures and shapes as functions of the point, so that they can be drawn anywhere between the pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from mrfhw.field.problem import ProblemError

__all__ = ["SUBSAMPLES", "Field", "boards", "bricks", "card", "check_scene", "disc", "drawn", "everywhere", "mosaic", "noise",
           "rings", "stripes", "texture"]

SUBSAMPLES = 3  # a pixel is the mean of 3 x 3 points, which smooths the outlines

# From rows and columns, which are broadcast, to values of any type.
Field = Callable[[np.ndarray, np.ndarray], np.ndarray]


def check_scene(rows: int, cols: int, seed: int) -> None:
    """Raise ProblemError for a size or a seed that no scene has."""
    if rows < 16 or cols < 16 or rows * cols > 1 << 24:
        raise ProblemError(f"the scene is {cols}x{rows}; the limits are 16x16 to 16777216 pixels: give a size between")
    if not 0 <= seed < 1 << 64:
        raise ProblemError(f"seed is {seed}; the limits are 0 to 2^64 - 1: give one between them")


def drawn(grey: Field, rows: int, cols: int) -> np.ndarray:
    """(rows, cols) uint8: each pixel the mean of SUBSAMPLES^2 points of `grey`, which gives 0..255."""
    steps = (np.arange(SUBSAMPLES) + 0.5) / SUBSAMPLES - 0.5
    row, col = (np.arange(n)[:, None] + steps for n in (rows, cols))
    values = grey(row.reshape(-1, 1), col.reshape(1, -1)).clip(0, 255)
    return np.rint(values.reshape(rows, SUBSAMPLES, cols, SUBSAMPLES).mean((1, 3))).astype(np.uint8)


def mosaic(shown: np.ndarray, parts: Iterable[tuple[Field, np.ndarray, np.ndarray]]) -> np.ndarray:
    """float64 as `shown`, integers, of the part that each point shows, by its number: (what it shows, rows, columns), the last two
    broadcast to `shown`. Each point is worked out once."""
    grey = np.zeros(shown.shape)
    for number, (field, row, col) in enumerate(parts):
        here = shown == number
        grey[here] = field(np.broadcast_to(row, shown.shape)[here], np.broadcast_to(col, shown.shape)[here])
    return grey


def noise(rng: np.random.Generator, cell: float, octaves: int = 4) -> Field:
    """Smooth noise about 0, of standard deviation near 1: octaves of a random lattice, from `cell` pixels down."""
    lattices = [rng.standard_normal((64, 64)) for _ in range(octaves)]

    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        total, size = np.zeros(np.broadcast(row, col).shape), cell
        for n, lattice in enumerate(lattices):
            y, x = row / size + 17.3 * n, col / size + 5.7 * n
            r, c = np.floor(y).astype(int), np.floor(x).astype(int)
            fy, fx = y - r, x - c
            fy, fx = fy * fy * (3 - 2 * fy), fx * fx * (3 - 2 * fx)
            upper = lattice[r % 64, c % 64] * (1 - fx) + lattice[r % 64, (c + 1) % 64] * fx
            lower = lattice[(r + 1) % 64, c % 64] * (1 - fx) + lattice[(r + 1) % 64, (c + 1) % 64] * fx
            total += (upper * (1 - fy) + lower * fy) * 0.8**n
            size /= 2
        return total

    return field


def texture(rng: np.random.Generator, grey: float, contrast: float, pattern: Field | None = None,
             cell: float = 12.0) -> Field:
    """A texture about `grey`: noise, and a pattern of -1..1 under it."""
    smooth = noise(rng, cell)

    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        value = grey + contrast * smooth(row, col)
        return value if pattern is None else value + 1.6 * contrast * pattern(row, col)

    return field


def bricks(size: float) -> Field:
    """Courses of bricks `size` pixels high, joints dark; -1..0.25."""

    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        course = np.floor(row / size)
        joint = np.minimum((row / size) % 1, ((col / size + course) / 2) % 1 * 2)
        return np.where(joint < 0.14, -1.0, 0.25)

    return field


def boards(size: float) -> Field:
    """A chequerboard of fields of `size` pixels; -0.7 and 0.7."""
    return lambda row, col: np.where((np.floor(row / size) + np.floor(col / size)) % 2 > 0, 0.7, -0.7)


def rings(row0: float, col0: float, size: float) -> Field:
    """Waves of `size` pixels around a centre; -1..1."""
    return lambda row, col: np.sin(np.hypot(row - row0, col - col0) * (2 * np.pi / size))


def stripes(size: float, angle: float) -> Field:
    """Waves of `size` pixels, their normal at `angle` radians from the columns' axis; -1..1."""
    return lambda row, col: np.sin((row * np.sin(angle) + col * np.cos(angle)) * (2 * np.pi / size))


def everywhere(row: np.ndarray, col: np.ndarray) -> np.ndarray:
    """True."""
    return np.ones(np.broadcast(row, col).shape, bool)


def disc(row0: float, col0: float, radius: float, hole: float = 0.0) -> Field:
    """Whether a point is in a disc, and not in the hole in its middle."""

    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        distance = np.hypot(row - row0, col - col0)
        return (distance < radius) & (distance >= hole)

    return field


def card(row0: float, col0: float, height: float, width: float, angle: float) -> Field:
    """Whether a point is in a rectangle turned by `angle` radians."""

    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        y, x = row - row0, col - col0
        along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        return (abs(along) < width / 2) & (abs(across) < height / 2)

    return field
