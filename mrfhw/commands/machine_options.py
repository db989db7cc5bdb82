"""Command-line options for a machine, what help shows of them, and errors of one line."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from mrfhw.field.problem import ProblemError
from mrfhw.machine.config import CLOCK_HZ, PRESETS, Config, ConfigError
from mrfhw.machine.manifest import DEFAULTS, MESH_FIELDS
from mrfhw.machine.parameters import Parameter
from mrfhw.system.errors import ABORTED
from mrfhw.system.files import said

__all__ = ["WHOLE_HELP", "OneLineCommand", "OneLineGroup", "Rare", "as_given", "board_machine", "clock_hz",
           "given_options", "is_given", "machine_options", "near", "of_board"]

F = TypeVar("F", bound=Callable[..., Any])

WHOLE_HELP = "mrfhw.whole_help"  # in a context's `meta`: help shows rare options as well
_AS_GIVEN = "mrfhw.as_given"  # in a context's `meta`: what `as_given` returns
_LINE = 600  # characters of an error at most


class Rare(click.Option):
    """An option that `mrfhw help COMMAND` has and the command's own --help leaves out."""


def near(word: str, words: Iterable[str]) -> list[str]:
    """Those of the words, three at most, that somebody may have meant by `word`."""
    return difflib.get_close_matches(word, list(words), 3, 0.6)


class Mesh(click.ParamType):
    """ROWSxCOLUMNS, two whole numbers; the limits are `Config`'s."""

    name = "ROWSxCOLS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        try:
            rows, cols = (int(part) for part in str(value).lower().split("x"))
        except ValueError:
            self.fail(f"{value!r} is not a mesh; give rows and columns, such as 4x4", param, ctx)
        return rows, cols


PARAMETERS: dict[str, Parameter] = {p.name: p for p in Config.space() if p.name not in MESH_FIELDS}
SHOWN = ("spus", "lanes")  # of these, the options that help shows; the others stand in `mrfhw help machine`


def machine_options(function: F, preset: str = DEFAULTS["preset"]) -> F:
    """Add to a click command the options of a machine: --machine, --set, --spes, --mesh and one for each of `Config.space`.

    The command receives them by the names of `mrfhw.machine.manifest.DEFAULTS`, None where not given, as `config_from_options`
    takes them: what --set and the name of a preset say is among them (`OneLineCommand`).
    preset: what help says of the machine where none is given, in a command that takes a board's by `of_board`.
    """
    for name, parameter in reversed(PARAMETERS.items()):
        function = click.option("--" + name.replace("_", "-"), name, default=None, type=parameter.type, hidden=name not in SHOWN,
                                help=parameter.sentences)(function)
    function = click.option("--mesh", type=Mesh(), default=None, help="Rows and columns of SPEs.")(function)
    function = click.option("--spes", type=int, default=None, metavar="N",
                            help="SPEs, in the mesh nearest to a square.")(function)
    function = click.option("--preset", default=DEFAULTS["preset"], hidden=True)(function)
    function = click.option("--set", "assignments", multiple=True, metavar="FIELD=VALUE",
                            help="A parameter of the machine, such as label_bits=8; once for each. They stand in "
                                 "`mrfhw help machine`.")(function)
    return click.option("--machine", type=click.Path(), default=None, metavar="NAME|MANIFEST",
                        help=f"A machine by its name ({', '.join(PRESETS)}), which the options below change, or the manifest.json "
                        f"that generate or build wrote, which states all of it.  [default: {preset}]")(function)


def _settle(context: click.Context) -> None:
    """Have what --set says, and the preset that --machine names, among the command's parameters as if by options of their own.

    Raises ConfigError in one line.
    """
    context.meta[_AS_GIVEN] = {name: value for name, value in context.params.items() if is_given(name, context)}
    if "assignments" not in context.params or context.resilient_parsing:
        return
    for text in context.params.pop("assignments"):
        name, value = _assignment(text)
        if is_given(name, context) and context.params[name] != value:
            raise ConfigError(f"{name} is {context.params[name]}, and set says {name}={value}; they differ: drop one of the two")
        _give(context, name, value)
    machine = context.params["machine"]
    if machine in PRESETS:
        if is_given("preset", context) and context.params["preset"] != machine:
            raise ConfigError(f"machine is {machine} and preset is {context.params['preset']}; they differ: drop one of the two")
        _give(context, "preset", machine)
        context.params["machine"] = None
    elif machine is not None and "/" not in machine and "." not in machine and not Path(machine).exists():
        found = near(machine, PRESETS)
        raise ConfigError(f"machine is {machine!r}; it is no file, and the names are {', '.join(PRESETS)}: give "
                          + (" or ".join(found) or "one of them, or a manifest.json"))


def _give(context: click.Context, name: str, value: Any) -> None:
    context.params[name] = value
    context.set_parameter_source(name, ParameterSource.COMMANDLINE)


def _assignment(text: str) -> tuple[str, Any]:
    """The parameter that FIELD=VALUE names, and its value by the type of its option. Raises ConfigError."""
    field, equals, value = (part.strip() for part in text.partition("="))
    name = field.replace("-", "_")
    names = [*PARAMETERS, "spes", "mesh"]
    if not equals or name not in names:
        found = near(name, names)
        what = f"no parameter of a machine is called {field!r}" if equals else "it is FIELD=VALUE"
        raise ConfigError(f"set is {text!r}; {what}: give "
                          + (f"{' or '.join(found)}" if found else "such as label_bits=8, a parameter of mrfhw help machine"))
    try:
        if name == "mesh":
            return name, Mesh().convert(value, None, None)
        return name, value if name in PARAMETERS and PARAMETERS[name].type is str else int(value)
    except click.BadParameter as error:
        raise ConfigError(f"set is {text!r}; {error.message}") from None
    except ValueError:
        limits = PARAMETERS[name].limits if name in PARAMETERS else "the number of SPEs"
        raise ConfigError(f"set is {text!r}; {name} is a whole number: give {limits}") from None


def is_given(option: str, context: click.Context | None = None) -> bool:
    """Whether the command under way has an option, by the name of its parameter, among its words."""
    context = context or click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(option) == ParameterSource.COMMANDLINE


def given_options() -> frozenset[str]:
    """The options among the words of the command under way, by the names of their parameters."""
    context = click.get_current_context(silent=True)
    return frozenset() if context is None else frozenset(filter(is_given, context.params))


def as_given() -> dict[str, Any]:
    """The values that the words of the command under way say, by the names of their parameters."""
    given: dict[str, Any] = click.get_current_context().meta[_AS_GIVEN]
    return given


def board_machine(options: dict[str, Any], address: str) -> dict[str, Any]:
    """The options, with the machine of the board at `address` where none is given and the board's is known on this computer."""
    if "://" not in address:
        return options
    from mrfhw.host.identity import machine_at

    found = machine_at(address, given_options())
    return options if found is None else {**options, "machine": found}


def of_board(options: dict[str, Any], preset: str) -> dict[str, Any]:
    """The options, with a board's own preset unless another one or a manifest is given."""
    return options if is_given("preset") or options.get("machine") is not None else {**options, "preset": preset}


def clock_hz(megahertz: float) -> int:
    """A clock that a machine may have, or ProblemError."""
    least, most = (hz / 1e6 for hz in CLOCK_HZ)
    if not least <= megahertz <= most:
        raise ProblemError(f"clock is {megahertz:g} MHz; a machine has {least:g} to {most:g}: give a number between them")
    return round(1e6 * megahertz)


def fail(message: str, hint: str = "") -> NoReturn:
    """Print one line to stderr, its middle left out where it is long, and leave with exit code 2."""
    line = " ".join(f"Error: {message} {hint}".split())
    if len(line) > _LINE:
        line = f"{line[:_LINE // 2]} ... {line[-_LINE // 2:]}"
    click.echo(line, err=True)
    sys.exit(2)


def _check_words(words: Sequence[str]) -> None:
    """Refuse what neither a file can be called nor a report can hold."""
    for word in words:
        if "\0" in word:
            raise ProblemError(f"an argument is {word!r}; arguments hold no character 0: leave it out")
        try:
            word.encode()
        except UnicodeEncodeError:
            way_out = "rename the file" if sys.getfilesystemencoding() == "utf-8" else "set LC_ALL=C.UTF-8"
            raise ProblemError(f"an argument is {word!r}; arguments are text in UTF-8: {way_out}") from None


class _OneLine(click.Command):
    """A command whose every mistake of the user is one line on stderr and exit code 2, without a traceback."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
             standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            _check_words(sys.argv[1:] if args is None else args)
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(2)
        except click.UsageError as error:
            fail(error.format_message(), f"(see {error.ctx.command_path} --help)" if error.ctx else "")
        except click.ClickException as error:
            fail(error.format_message())
        except (ConfigError, ProblemError) as error:
            fail(str(error))
        except OSError as error:
            fail(said(error))
        except MemoryError:
            fail("the problem does not fit in memory: give a window or fewer labels")
        except click.Abort:
            click.echo("Aborted.", err=True)
            sys.exit(ABORTED)
        sys.exit(code if isinstance(code, int) else 0)


class OneLineCommand(_OneLine):
    """click.Command with errors of one line, whose machine is what --machine, --set and the options of its parameters say; use as
    `click.command(cls=OneLineCommand)`. Its help has the options of a machine in a group of their own, without what is `Rare`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        _settle(ctx)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
        of_machine, whole = {*DEFAULTS, "assignments"}, WHOLE_HELP in ctx.meta
        rare = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, Rare) and not parameter.hidden]
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and (whole or parameter not in rare):
                rows[parameter.name in of_machine].append(record)
        for title, found in (("Options", rows[False]), ("Options of the machine", rows[True])):
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)
        if rare and not whole:
            words = [context.info_name or "" for context in _parents(ctx)] or [self.name or ""]
            formatter.write_paragraph()
            formatter.write_text(f"{len(rare)} options that are wanted less often stand in `mrfhw help {' '.join(words)}`.")


def _parents(context: click.Context) -> list[click.Context]:
    """A command's context and those above it, without the program's, from above."""
    return [] if context.parent is None else [*_parents(context.parent), context]


class OneLineGroup(_OneLine, click.Group):
    """click.Group with errors of one line; use as `click.group(cls=OneLineGroup)`."""
