"""`mrfhw help`: every option of a command, and the parameters of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from mrfhw.commands.machine_options import WHOLE_HELP, OneLineCommand, near
from mrfhw.machine.config import MESH_SIDE, PRESETS, Config, ConfigError
from mrfhw.machine.manifest import MESH_FIELDS
from mrfhw.machine.parameters import Parameter
from mrfhw.machine.samplers import SAMPLERS
from mrfhw.system.errors import ProblemError

__all__ = ["command"]

MACHINE = "machine"  # the topic that is no command


def _rows(parameters: Iterable[Parameter], values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(f"{p.name}={values.get(p.name, p.default)}", p.sentences) for p in parameters]


def _values(config: Config) -> dict[str, Any]:
    """The values of a machine's parameters, by their names."""
    own = {p.name: getattr(config.sampler, p.field) for p in Config.space() if p.sampler == config.sampler.name}
    return {**config.to_dict(), "clusters": config.clusters, "contexts": config.contexts, "sampler": config.sampler.name, **own}


def _machine(preset: str) -> str:
    """The parameters of a machine, each with its value in a preset."""
    if preset not in PRESETS:
        raise ConfigError(f"machine is {preset!r}; the names are {', '.join(PRESETS)}: "
                          f"give {' or '.join(near(preset, PRESETS)) or 'one of them'}")
    values, space, formatter = _values(Config.preset(preset)), Config.space(), click.HelpFormatter()
    formatter.write_text("A machine has a name, --machine NAME, or a manifest that generate or build wrote, --machine MANIFEST. "
                         "Parameters of a named one are changed by --set FIELD=VALUE, once for each; --spes, --mesh, --spus and "
                         "--lanes are options of their own. mrfhw help machine NAME has the values of NAME.")
    formatter.write_paragraph()
    formatter.write_text(f"Names: {', '.join(PRESETS)}.")
    with formatter.section(f"Every machine, with the values of {preset}"):
        mesh = f"mesh={values['mesh_rows']}x{values['mesh_cols']}", f"Rows and columns of SPEs. 1x1 to {MESH_SIDE}x{MESH_SIDE}."
        formatter.write_dl([mesh, *_rows((p for p in space if not p.sampler and p.name not in MESH_FIELDS), values)])
    for name in SAMPLERS:
        with formatter.section(f"With sampler={name}"):
            formatter.write_dl(_rows((p for p in space if p.sampler == name), values))
    return formatter.getvalue()


def _below(group: click.Group, context: click.Context, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command of a group, and of the groups in it."""
    for name in group.list_commands(context):
        yield (*path, name)
        if name in ("run", "verify"):
            found = group.get_command(context, name)
            assert isinstance(found, click.Group)
            yield from _below(found, context, (*path, name))


def _of_command(root: click.Context, words: Sequence[str]) -> str:
    """The help of a command, with its rare options."""
    assert isinstance(root.command, click.Group)
    known = [" ".join(path) for path in _below(root.command, root)]
    wanted = " ".join(words)
    if wanted not in known:
        if f"run {wanted}" not in known:
            found = near(wanted, [*known, *(path.removeprefix("run ") for path in known), MACHINE])
            raise ProblemError(f"topic is {wanted!r}; topics are {MACHINE} and the commands: give "
                               f"{' or '.join(found) or 'such as machine or run stereo'}")
        wanted = f"run {wanted}"
    context, group = root, root.command
    for word in wanted.split():
        found_command = group.get_command(context, word)
        assert found_command is not None
        context = click.Context(found_command, context, word)
        if isinstance(found_command, click.Group):
            group = found_command
    context.meta[WHOLE_HELP] = True
    return context.get_help() + "\n"


@click.command("help", cls=OneLineCommand)
@click.argument("topic", nargs=-1, metavar="[TOPIC]...")
def command(topic: tuple[str, ...]) -> None:
    """Print all that TOPIC has: a command, such as run stereo, with the options that its own --help leaves out; or machine, the
    parameters of a machine with their values, or machine NAME with those of a named one."""
    root = click.get_current_context().find_root()
    if topic[:1] == (MACHINE,) and len(topic) < 3:
        click.echo(_machine(topic[1] if len(topic) == 2 else "default"), nl=False)
    elif topic:
        click.echo(_of_command(root, topic), nl=False)
    else:
        click.echo(root.get_help() + "\n\nmrfhw help run stereo prints all options of a command, mrfhw help machine the parameters "
                   "of a machine.")
