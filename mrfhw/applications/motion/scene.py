"""Two frames of our own making whose true motion is known at every pixel.

Each layer is a textured shape of the first frame that moves by one vector, whole or not; the last layer that covers a
point is seen, in each frame on its own, so that the second frame hides and shows what moving things do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.applications.textures import Field, boards, card, check_scene, disc, drawn, everywhere, mosaic, rings, stripes, texture
from mrfhw.pictures.flow import write_flow

__all__ = ["MotionScene", "motion_scene", "write_demo", "write_motion_scene"]


@dataclass(frozen=True)
class MotionScene:
    """first, second: uint8 (H, W) grey. flow: float64 (H, W, 2), the (row, column) motion of what `first` shows.

    Motions are multiples of 1/4 pixel within -3..3, exact in float32.
    """

    first: np.ndarray
    second: np.ndarray
    flow: np.ndarray


@dataclass(frozen=True)
class Layer:
    """A shape of the first frame that moves by `motion` (row, column)."""

    motion: tuple[float, float]
    inside: Field
    texture: Field


def _layers(rows: int, cols: int, rng: np.random.Generator) -> list[Layer]:
    """The furniture, from the back to the front, placed a little by chance."""

    def about(row: float, col: float) -> tuple[float, float]:
        return (row + 0.03 * rng.uniform(-1, 1)) * rows, (col + 0.03 * rng.uniform(-1, 1)) * cols

    size = min(rows, cols * 0.75)
    upper, lower, right, front = about(0.30, 0.28), about(0.72, 0.30), about(0.40, 0.74), about(0.78, 0.72)
    return [
        Layer((0.0, 1.0), everywhere, texture(rng, 115, 26)),
        Layer((-2.0, -1.0), disc(*upper, 0.21 * size), texture(rng, 165, 20, rings(*upper, 0.13 * size))),
        Layer((1.0, -3.0), card(*lower, 0.30 * size, 0.42 * size, 0.3), texture(rng, 85, 22, boards(0.12 * size))),
        Layer((0.5, 2.5), disc(*right, 0.25 * size, 0.12 * size), texture(rng, 195, 22)),
        Layer((2.75, 0.25), card(*front, 0.24 * size, 0.34 * size, -0.4), texture(rng, 140, 24, stripes(0.11 * size, 0.9))),
    ]


def motion_scene(rows: int = 144, cols: int = 192, seed: int = 0) -> MotionScene:
    """Four things that move over a moving ground; the same for the same arguments.

    rows, cols: at least 16.
    Raises ProblemError otherwise.
    """
    check_scene(rows, cols, seed)
    layers = _layers(rows, cols, np.random.Generator(np.random.PCG64([seed, 4])))

    def frame(time: float) -> Field:
        def grey(row: np.ndarray, col: np.ndarray) -> np.ndarray:
            at = [(row - time * layer.motion[0], col - time * layer.motion[1]) for layer in layers]
            shown = np.zeros(np.broadcast(row, col).shape, int)
            for number, layer in enumerate(layers):
                shown = np.where(layer.inside(*at[number]), number, shown)
            return mosaic(shown, ((layer.texture, *points) for layer, points in zip(layers, at, strict=True)))

        return grey

    flow = np.zeros((rows, cols, 2))
    row, col = np.arange(rows)[:, None] + 0.0, np.arange(cols)[None, :] + 0.0
    for layer in layers:
        flow[np.broadcast_to(layer.inside(row, col), flow.shape[:2])] = layer.motion
    return MotionScene(drawn(frame(0), rows, cols), drawn(frame(1), rows, cols), flow)


def write_motion_scene(scene: MotionScene, directory: Path) -> list[Path]:
    """Write first.png, second.png (8-bit grey) and flow.flo into a directory, which is made; the files' paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / name for name in ("first.png", "second.png", "flow.flo")]
    Image.fromarray(scene.first).save(paths[0])
    Image.fromarray(scene.second).save(paths[1])
    write_flow(paths[2], scene.flow)
    return paths


def write_demo(directory: Path, rows: int, cols: int, seed: int) -> tuple[list[Path], str]:
    """As of `mrfhw.jobs.application.SceneWriter`."""
    return write_motion_scene(motion_scene(rows, cols, seed), directory), "{}/first.png {}/second.png --truth {}/flow.flo"
