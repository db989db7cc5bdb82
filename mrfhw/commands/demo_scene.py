"""`mrfhw demo-scene`: pictures of known truth for each application."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import ProblemError
from mrfhw.scenes import (
    denoising_scene,
    motion_scene,
    segmentation_scene,
    stereo_scene,
    write_denoising_scene,
    write_motion_scene,
    write_scene,
    write_segmentation_scene,
)
from mrfhw.system.files import staged

__all__ = ["command"]

APPLICATIONS = ("stereo", "motion", "segment", "denoise")


def _scene(application: str, rows: int, cols: int, labels: int, noise: float,
           seed: int) -> tuple[Callable[[Path], list[Path]], str]:
    """What writes a scene's files into a directory, and the arguments that solve it, with {} for that directory."""
    if application == "stereo":
        scene = stereo_scene(rows, cols, labels, seed)
        return (partial(write_scene, scene), f"{{}}/left.png {{}}/right.png --labels {labels} --truth {{}}/disparity.png "
                                             f"--truth-scale {scene.truth_scale}")
    if application == "motion":
        return partial(write_motion_scene, motion_scene(rows, cols, seed)), "{}/first.png {}/second.png --truth {}/flow.flo"
    if application == "segment":
        return partial(write_segmentation_scene, segmentation_scene(rows, cols, seed)), "{}/image.png --truth {}/segments.png"
    if application == "denoise":
        return (partial(write_denoising_scene, denoising_scene(rows, cols, noise, seed)),
                "{}/noisy.png --mask {}/mask.png --truth {}/clean.png")
    raise ProblemError(f"application is {application!r}; it must be one of {', '.join(APPLICATIONS)}: choose one")


@click.command("demo-scene", cls=OneLineCommand)
@click.argument("application", default="stereo")
@click.option("--rows", type=int, default=144, show_default=True, help="Rows of the pictures.")
@click.option("--cols", type=int, default=192, show_default=True, help="Columns of the pictures.")
@click.option("--labels", type=int, default=24, show_default=True, help="Disparities run from 0 to one less (stereo).")
@click.option("--noise", type=float, default=20.0, show_default=True, help="Deviation of the noise, in 8-bit grey (denoise).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the scene.")
@click.option("-o", "--output", type=Folder(), required=True, metavar="DIR",
              help="Directory for the files; made where it is missing.")
def command(application: str, rows: int, cols: int, labels: int, noise: float, seed: int, output: Path) -> None:
    """Write a scene of known truth for APPLICATION: stereo (if none is named), motion, segment or denoise."""
    write, arguments = _scene(application, rows, cols, labels, noise, seed)
    with staged(output) as scratch:
        paths = write(scratch)
    click.echo(f"wrote {', '.join(path.name for path in paths)} to {output}\n"
               f"solve it: mrfhw run {application} {arguments.format(*[output] * 4)} -o DIR")
