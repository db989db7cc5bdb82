"""A clean picture of our own making, the same under noise, and a mask of what is scratched out of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.applications.textures import Field, card, check_scene, disc, drawn, noise, rings
from mrfhw.field.problem import ProblemError

__all__ = ["DenoisingScene", "denoising_scene", "write_demo", "write_denoising_scene"]


@dataclass(frozen=True)
class DenoisingScene:
    """clean, noisy: uint8 (H, W) grey; noisy is 0 where it is scratched out. observed: bool (H, W), False there."""

    clean: np.ndarray
    noisy: np.ndarray
    observed: np.ndarray


def _picture(rows: int, cols: int, rng: np.random.Generator) -> Field:
    """A shaded ground with a ball, a card and a rippled ring on it."""
    size = min(rows, cols * 0.75)
    ball, ring = (0.34 * rows, 0.26 * cols), (0.40 * rows, 0.74 * cols)
    in_ball, in_ring = disc(*ball, 0.22 * size), disc(*ring, 0.25 * size, 0.10 * size)
    in_card = card(0.78 * rows, 0.42 * cols, 0.24 * size, 0.6 * size, 0.2)
    clouds, ripples = noise(rng, 0.5 * size, 3), rings(*ring, 0.15 * size)

    def grey(row: np.ndarray, col: np.ndarray) -> np.ndarray:
        value = 95 + 50 * row / rows + 12 * clouds(row, col)
        value = np.where(in_card(row, col), 205 - 60 * col / cols, value)
        value = np.where(in_ring(row, col), 75 + 25 * ripples(row, col), value)
        return np.where(in_ball(row, col), 225 - 150 * np.hypot(row - ball[0], col - ball[1]) / (0.22 * size) / 2, value)

    return grey


def denoising_scene(rows: int = 144, cols: int = 192, deviation: float = 20.0, seed: int = 0) -> DenoisingScene:
    """Smooth things on a smooth ground under Gaussian noise, scratched; the same for the same arguments.

    rows, cols: at least 16.
    deviation: of the noise, in 8-bit grey, 0 to 255.
    Raises ProblemError otherwise.
    """
    check_scene(rows, cols, seed)
    if not 0 <= deviation <= 255:
        raise ProblemError(f"noise is {deviation}; a deviation of 8-bit grey is 0 to 255: give a number between them")
    rng = np.random.Generator(np.random.PCG64([seed, 6]))
    clean = drawn(_picture(rows, cols, rng), rows, cols)
    row, col = np.arange(rows)[:, None] + 0.0, np.arange(cols)[None, :] + 0.0
    observed = np.ones((rows, cols), bool)
    for _ in range(6):
        scratch = card(rng.uniform(0.1, 0.9) * rows, rng.uniform(0.1, 0.9) * cols, 4.0, 0.5 * rows, rng.uniform(0, np.pi))
        observed &= ~scratch(row, col)
    noisy = np.rint(clean + rng.normal(0, deviation, clean.shape)).clip(0, 255)
    return DenoisingScene(clean, np.where(observed, noisy, 0).astype(np.uint8), observed)


def write_denoising_scene(scene: DenoisingScene, directory: Path) -> list[Path]:
    """Write clean.png, noisy.png and mask.png (0 where scratched out) into a directory, which is made; the files' paths."""
    directory.mkdir(parents=True, exist_ok=True)
    pictures = {"clean": scene.clean, "noisy": scene.noisy, "mask": np.where(scene.observed, 255, 0).astype(np.uint8)}
    paths = []
    for name, data in pictures.items():
        paths.append(directory / f"{name}.png")
        Image.fromarray(data).save(paths[-1])
    return paths


def write_demo(directory: Path, rows: int, cols: int, seed: int, noise: float) -> tuple[list[Path], str]:
    """As of `mrfhw.jobs.application.SceneWriter`."""
    return (write_denoising_scene(denoising_scene(rows, cols, noise, seed), directory),
            "{}/noisy.png --mask {}/mask.png --truth {}/clean.png")
