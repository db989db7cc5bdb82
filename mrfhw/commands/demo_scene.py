"""`mrfhw demo-scene`: pictures of known truth for each application that has them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.commands.options import click_option
from mrfhw.jobs.application import SceneWriter
from mrfhw.jobs.options import Option
from mrfhw.jobs.registry import application, names
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import staged

__all__ = ["command"]


def _scenes() -> dict[str, SceneWriter]:
    """Of the applications that can be imported."""
    found, others = dict[str, SceneWriter](), dict[str, SceneWriter]()
    for name in names():
        with contextlib.suppress(ProblemError):
            app = application(name)
            if app.scene is not None:
                found[name] = app.scene
            others |= app.scenes
    return found | others


def _write(application: str, rows: int, cols: int, seed: int, output: Path, **options: Any) -> None:
    scene = _scenes().get(application)
    if scene is None:
        raise ProblemError(f"application is {application!r}; it must be one of {', '.join(_scenes())}: choose one")
    with staged(output) as scratch:
        paths, arguments = scene.write(scratch, rows, cols, seed, **{option.name: options[option.name] for option in scene.options})
    click.echo(f"wrote {', '.join(path.name for path in paths)} to {output}\n"
               f"solve it: mrfhw {scene.solved_by or f'run {application}'} {arguments.replace('{}', str(output))} -o DIR")


def _command() -> click.Command:
    """With the options of all scenes."""
    scenes, options = _scenes(), dict[str, Option]()
    for scene in scenes.values():
        options |= {option.name: option for option in scene.options}
    made: Any = _write
    *first, last = scenes
    decorators: list[Callable[[Any], Any]] = [
        click.option("-o", "--output", type=Folder(), required=True, metavar="DIR",
                     help="Directory for the files; made where it is missing."),
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of the scene."),
        *map(click_option, reversed(options.values())),
        click.option("--cols", type=int, default=192, show_default=True, help="Columns of the pictures."),
        click.option("--rows", type=int, default=144, show_default=True, help="Rows of the pictures."),
        click.argument("application", default="stereo")]
    for decorator in decorators:
        made = decorator(made)
    return click.command("demo-scene", cls=OneLineCommand, help="Write a scene of known truth for APPLICATION: stereo (if none is "
                         f"named), {', '.join(first[1:])} or {last}.")(made)


command = _command()
