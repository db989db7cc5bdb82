"""A stereo scene of our own making whose true disparities are known everywhere.

Each surface is a plane with a texture, cut to a shape, all given in the left picture's coordinates. A
plane of disparity d(row, column) = base + slant_r * row + slant_c * column is drawn into the right picture
by solving right column = column - d for the column; the greatest disparity, the nearest surface, hides the
others in each picture on its own, so that both show what two cameras would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.problem import ProblemError

__all__ = ["Scene", "stereo_scene", "write_scene"]

SUBSAMPLES = 3  # a pixel is the mean of 3 x 3 points, which smooths the outlines
EXACT = 256  # disparities are multiples of 1/256 pixel

Field = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Scene:
    """left, right: uint8 (H, W) grey. disparity: float64 (H, W), pixels, of the left picture, exact to 1/256.

    labels: disparities are within 0 .. labels - 1 and above 0; left(column) shows what right(column - d) does,
    or something that the right picture hides.
    """

    left: np.ndarray
    right: np.ndarray
    disparity: np.ndarray
    labels: int

    @property
    def truth_scale(self) -> int:
        """Grey value of one pixel of disparity in the 16-bit picture: the largest power of two that fits."""
        return 1 << ((0xFFFF // self.labels).bit_length() - 1)


@dataclass(frozen=True)
class Surface:
    """A plane of disparity base + slant_r * row + slant_c * column where `inside`, showing `texture` (0..255)."""

    base: float
    slant_r: float
    slant_c: float
    inside: Field
    texture: Field

    def disparity(self, row: np.ndarray, col: np.ndarray) -> np.ndarray:
        return self.base + self.slant_r * row + self.slant_c * col

    def column(self, row: np.ndarray, right_col: np.ndarray) -> np.ndarray:
        """The left column whose point is at `right_col` in the right picture."""
        return (right_col + self.base + self.slant_r * row) / (1 - self.slant_c)


def _noise(rng: np.random.Generator, cell: float, octaves: int = 4) -> Field:
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


def _texture(rng: np.random.Generator, grey: float, contrast: float, pattern: Field | None = None,
             cell: float = 12.0) -> Field:
    """A texture about `grey`: noise, and a pattern of -1..1 under it."""
    noise = _noise(rng, cell)

    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        value = grey + contrast * noise(row, col)
        return value if pattern is None else value + 1.6 * contrast * pattern(row, col)

    return field


def _bricks(size: float) -> Field:
    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        course = np.floor(row / size)
        joint = np.minimum((row / size) % 1, ((col / size + course) / 2) % 1 * 2)
        return np.where(joint < 0.14, -1.0, 0.25)

    return field


def _boards(size: float) -> Field:
    return lambda row, col: np.where((np.floor(row / size) + np.floor(col / size)) % 2 > 0, 0.7, -0.7)


def _rings(row0: float, col0: float, size: float) -> Field:
    return lambda row, col: np.sin(np.hypot(row - row0, col - col0) * (2 * np.pi / size))


def _stripes(size: float, angle: float) -> Field:
    return lambda row, col: np.sin((row * np.sin(angle) + col * np.cos(angle)) * (2 * np.pi / size))


def _everywhere(row: np.ndarray, col: np.ndarray) -> np.ndarray:
    return np.ones(np.broadcast(row, col).shape, bool)


def _disc(row0: float, col0: float, radius: float, hole: float = 0.0) -> Field:
    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        distance = np.hypot(row - row0, col - col0)
        return (distance < radius) & (distance >= hole)

    return field


def _card(row0: float, col0: float, height: float, width: float, angle: float) -> Field:
    def field(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        y, x = row - row0, col - col0
        along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        return (abs(along) < width / 2) & (abs(across) < height / 2)

    return field


def _surfaces(rows: int, cols: int, depth: float, rng: np.random.Generator) -> list[Surface]:
    """The furniture, with disparities from 8 % to 97 % of `depth`, placed a little by chance."""

    def about(value: float, spread: float = 0.02) -> float:
        return float(value + spread * rng.uniform(-1, 1))

    def plane(centre: tuple[float, float], disparity: float, per_height: float, per_width: float, inside: Field,
              texture: Field) -> Surface:
        """The plane through `disparity` at the centre that rises by so many shares of `depth` over the picture."""
        slant_r, slant_c = per_height * depth / rows, per_width * depth / cols
        return Surface(disparity * depth - slant_r * centre[0] - slant_c * centre[1], slant_r, slant_c, inside, texture)

    size = min(rows, cols * 0.75)
    horizon = 0.62 * rows
    floor: Field = lambda row, col: (row > horizon) & _everywhere(row, col)  # noqa: E731
    disc = (about(0.32) * rows, about(0.24) * cols)
    ring = (about(0.36) * rows, about(0.80) * cols)
    card = (about(0.60) * rows, about(0.50) * cols)
    slab = (about(0.78) * rows, about(0.20) * cols)
    ball = (about(0.80) * rows, about(0.76) * cols)
    return [
        plane((0.3 * rows, 0.5 * cols), 0.17, 0.0, 0.16, _everywhere, _texture(rng, 120, 26, _bricks(0.11 * size))),
        plane((horizon, 0.5 * cols), 0.27, 1.1, 0.0, floor, _texture(rng, 95, 22, _boards(0.12 * size))),
        plane(disc, 0.42, 0.0, 0.0, _disc(*disc, 0.19 * size), _texture(rng, 165, 18, _rings(*disc, 0.13 * size))),
        plane(ring, 0.55, 0.0, 0.3, _disc(*ring, 0.22 * size, 0.11 * size), _texture(rng, 190, 24)),
        plane(card, 0.70, 0.0, -0.5, _card(*card, 0.42 * size, 0.30 * size, about(0.2, 0.1)),
              _texture(rng, 140, 24, _stripes(0.10 * size, 0.9))),
        plane(slab, 0.80, 0.25, 0.0, _card(*slab, 0.20 * size, 0.34 * size, about(-0.25, 0.1)),
              _texture(rng, 80, 20, None, 9.0)),
        plane(ball, 0.92, 0.0, 0.0, _disc(*ball, 0.13 * size), _texture(rng, 205, 22, None, 8.0)),
    ]


def _render(surfaces: list[Surface], row: np.ndarray, col: np.ndarray, right: bool) -> tuple[np.ndarray, np.ndarray]:
    """(grey, disparity) of the nearest surface at the points of one picture."""
    grey = np.zeros(np.broadcast(row, col).shape)
    nearest = np.full(grey.shape, -np.inf)
    for surface in surfaces:
        at = surface.column(row, col) if right else np.broadcast_to(col, grey.shape)
        disparity = surface.disparity(row, at)
        seen = surface.inside(row, at) & (disparity > nearest)
        grey = np.where(seen, surface.texture(row, at), grey)
        nearest = np.where(seen, disparity, nearest)
    return grey, nearest


def stereo_scene(rows: int = 144, cols: int = 192, labels: int = 24, seed: int = 0) -> Scene:
    """A wall, a floor and five things in front of them, seen by two cameras; the same for the same arguments.

    rows, cols: at least 16. labels: 4 to 64, and fewer than cols / 4. Disparities are above 0 and at most
    labels - 1. Raises ProblemError otherwise.
    """
    if rows < 16 or cols < 16 or rows * cols > 1 << 24:
        raise ProblemError(f"the scene is {cols}x{rows}; the limits are 16x16 to 16777216 pixels: give a size between")
    if not 4 <= labels <= min(64, cols // 4):
        raise ProblemError(f"labels is {labels}; a scene {cols} wide has 4 to {min(64, cols // 4)} disparities: "
                           "give a number between them")
    if not 0 <= seed < 1 << 64:
        raise ProblemError(f"seed is {seed}; the limits are 0 to 2^64 - 1: give one between them")
    surfaces = _surfaces(rows, cols, labels - 1, np.random.Generator(np.random.PCG64([seed, 3])))
    steps = (np.arange(SUBSAMPLES) + 0.5) / SUBSAMPLES - 0.5
    pictures = []
    for right in (False, True):
        row, col = (np.arange(n)[:, None] + steps for n in (rows, cols))
        grey, _ = _render(surfaces, row.reshape(-1, 1), col.reshape(1, -1), right)
        mean = grey.clip(0, 255).reshape(rows, SUBSAMPLES, cols, SUBSAMPLES).mean((1, 3))
        pictures.append(np.rint(mean).astype(np.uint8))
    _, disparity = _render(surfaces, np.arange(rows)[:, None] + 0.0, np.arange(cols)[None, :] + 0.0, False)
    return Scene(pictures[0], pictures[1], np.rint(disparity * EXACT) / EXACT, labels)


def write_scene(scene: Scene, directory: Path) -> list[Path]:
    """Write left.png, right.png (8-bit grey) and disparity.png (16-bit grey, value / truth_scale) into a directory.

    Makes the directory; returns the files' paths. Disparities survive exactly where truth_scale >= 256.
    """
    directory.mkdir(parents=True, exist_ok=True)
    truth = np.rint(scene.disparity * scene.truth_scale).astype(np.uint16)
    paths = []
    for name, data in (("left", scene.left), ("right", scene.right), ("disparity", truth)):
        paths.append(directory / f"{name}.png")
        Image.fromarray(data).save(paths[-1])
    return paths
