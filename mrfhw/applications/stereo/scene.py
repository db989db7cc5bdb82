"""A stereo scene of our own making whose true disparities are known everywhere.

Each surface is a plane with a texture, cut to a shape, all given in the left picture's coordinates. A
plane of disparity d(row, column) = base + slant_r * row + slant_c * column is drawn into the right picture
by solving right column = column - d for the column; the greatest disparity, the nearest surface, hides the
others in each picture on its own, so that both show what two cameras would.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.applications.textures import (
    Field,
    boards,
    bricks,
    card,
    check_scene,
    disc,
    drawn,
    everywhere,
    mosaic,
    rings,
    stripes,
    texture,
)
from mrfhw.field.problem import ProblemError

__all__ = ["Scene", "stereo_scene", "stereo_video", "write_demo", "write_scene", "write_video"]

EXACT = 256  # disparities are multiples of 1/256 pixel
FRAMES_MAX = 10_000
SPEED = 2.0  # of a thing, in pixels a frame along rows and columns
STILL = 2  # surfaces that stay, the first ones


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

    def moved(self, down: float, right: float) -> Surface:
        """The same so many rows and columns farther, of the same disparities."""
        def there(of: Field) -> Field:
            return lambda row, col: of(row - down, col - right)

        return Surface(self.base - self.slant_r * down - self.slant_c * right, self.slant_r, self.slant_c, there(self.inside),
                       there(self.texture))


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
    floor: Field = lambda row, col: (row > horizon) & everywhere(row, col)  # noqa: E731
    disc_at = (about(0.32) * rows, about(0.24) * cols)
    ring = (about(0.36) * rows, about(0.80) * cols)
    card_at = (about(0.60) * rows, about(0.50) * cols)
    slab = (about(0.78) * rows, about(0.20) * cols)
    ball = (about(0.80) * rows, about(0.76) * cols)
    return [
        plane((0.3 * rows, 0.5 * cols), 0.17, 0.0, 0.16, everywhere, texture(rng, 120, 26, bricks(0.11 * size))),
        plane((horizon, 0.5 * cols), 0.27, 1.1, 0.0, floor, texture(rng, 95, 22, boards(0.12 * size))),
        plane(disc_at, 0.42, 0.0, 0.0, disc(*disc_at, 0.19 * size), texture(rng, 165, 18, rings(*disc_at, 0.13 * size))),
        plane(ring, 0.55, 0.0, 0.3, disc(*ring, 0.22 * size, 0.11 * size), texture(rng, 190, 24)),
        plane(card_at, 0.70, 0.0, -0.5, card(*card_at, 0.42 * size, 0.30 * size, about(0.2, 0.1)),
              texture(rng, 140, 24, stripes(0.10 * size, 0.9))),
        plane(slab, 0.80, 0.25, 0.0, card(*slab, 0.20 * size, 0.34 * size, about(-0.25, 0.1)),
              texture(rng, 80, 20, None, 9.0)),
        plane(ball, 0.92, 0.0, 0.0, disc(*ball, 0.13 * size), texture(rng, 205, 22, None, 8.0)),
    ]


def _render(surfaces: list[Surface], row: np.ndarray, col: np.ndarray, right: bool) -> tuple[np.ndarray, np.ndarray]:
    """(grey, disparity) of the nearest surface at the points of one picture."""
    shape = np.broadcast(row, col).shape
    shown, nearest = np.zeros(shape, int), np.full(shape, -np.inf)
    columns = [surface.column(row, col) if right else col for surface in surfaces]
    for number, (surface, at) in enumerate(zip(surfaces, columns, strict=True)):
        disparity = surface.disparity(row, at)
        seen = surface.inside(row, at) & (disparity > nearest)
        shown, nearest = np.where(seen, number, shown), np.where(seen, disparity, nearest)
    grey = mosaic(shown, ((surface.texture, row, at) for surface, at in zip(surfaces, columns, strict=True)))
    return grey, nearest


def stereo_scene(rows: int = 144, cols: int = 192, labels: int = 24, seed: int = 0) -> Scene:
    """A wall, a floor and five things in front of them, seen by two cameras; the same for the same arguments.

    rows, cols: at least 16.
    labels: 4 to 64, and fewer than cols / 4. Disparities are above 0 and at most labels - 1.
    Raises ProblemError otherwise.
    """
    check_stereo(rows, cols, labels, seed)
    return _scene(_surfaces(rows, cols, labels - 1, np.random.Generator(np.random.PCG64([seed, 3]))), rows, cols, labels)


def check_stereo(rows: int, cols: int, labels: int, seed: int) -> None:
    """Raise ProblemError for what is no size of a scene, or no number of its labels."""
    check_scene(rows, cols, seed)
    if not 4 <= labels <= min(64, cols // 4):
        raise ProblemError(f"labels is {labels}; a scene {cols} wide has 4 to {min(64, cols // 4)} disparities: "
                           "give a number between them")


def _scene(surfaces: list[Surface], rows: int, cols: int, labels: int) -> Scene:
    pictures = [drawn(lambda row, col, right=right: _render(surfaces, row, col, right)[0], rows, cols)  # type: ignore[misc]
                for right in (False, True)]
    _, disparity = _render(surfaces, np.arange(rows)[:, None] + 0.0, np.arange(cols)[None, :] + 0.0, False)
    return Scene(pictures[0], pictures[1], np.rint(disparity * EXACT) / EXACT, labels)


def stereo_video(frames: int = 12, rows: int = 144, cols: int = 192, labels: int = 24, seed: int = 0) -> list[Scene]:
    """Scenes of `stereo_scene` one after the other: wall and floor stay, the five things move, each by up to SPEED pixels a frame.

    The truth is exact in each. frames: at least 1. Raises ProblemError otherwise, and as of `stereo_scene`.
    """
    if not 1 <= frames <= FRAMES_MAX:
        raise ProblemError(f"frames is {frames}; the limits are 1 to {FRAMES_MAX}: give a number between them")
    check_stereo(rows, cols, labels, seed)
    surfaces = _surfaces(rows, cols, labels - 1, np.random.Generator(np.random.PCG64([seed, 3])))
    speeds = SPEED * np.random.Generator(np.random.PCG64([seed, 4])).uniform(-1, 1, (len(surfaces), 2))
    speeds[:STILL] = 0
    return [_scene([surface.moved(*(time * speed)) for surface, speed in zip(surfaces, speeds, strict=True)], rows, cols, labels)
            for time in range(frames)]


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


def write_demo(directory: Path, rows: int, cols: int, seed: int, labels: int) -> tuple[list[Path], str]:
    """As of `mrfhw.jobs.application.SceneWriter`."""
    scene = stereo_scene(rows, cols, labels, seed)
    return write_scene(scene, directory), (f"{{}}/left.png {{}}/right.png --labels {labels} --truth {{}}/disparity.png "
                                           f"--truth-scale {scene.truth_scale}")


def write_video(directory: Path, rows: int, cols: int, seed: int, labels: int, frames: int) -> tuple[list[Path], str]:
    """As of `mrfhw.jobs.application.SceneWriter`: folders left, right and disparity with a file for each frame."""
    scenes = stereo_video(frames, rows, cols, labels, seed)
    folders = [directory / name for name in ("left", "right", "disparity")]
    for folder in folders:
        folder.mkdir(parents=True)
    for number, scene in enumerate(scenes, 1):
        truth = np.rint(scene.disparity * scene.truth_scale).astype(np.uint16)
        for folder, data in zip(folders, (scene.left, scene.right, truth), strict=True):
            Image.fromarray(data).save(folder / f"{number:04}.png")
    return folders, f"{{}}/left {{}}/right --labels {labels} --truth {{}}/disparity --truth-scale {scenes[0].truth_scale}"
