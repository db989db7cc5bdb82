"""Command-line options for a machine, one for each of its parameters, and errors of one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from mrfhw.field.problem import ProblemError
from mrfhw.machine.config import CLOCK_HZ, PRESETS, Config, ConfigError
from mrfhw.machine.manifest import DEFAULTS, MESH_FIELDS
from mrfhw.machine.parameters import Parameter
from mrfhw.system.errors import ABORTED
from mrfhw.system.files import said

__all__ = ["OneLineCommand", "OneLineGroup", "backend_address", "board_machine", "clock_hz", "given_options", "is_given",
           "machine_options", "of_board"]

F = TypeVar("F", bound=Callable[..., Any])

_LINE = 600  # characters of an error at most

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


PARAMETERS: tuple[Parameter, ...] = tuple(p for p in Config.space() if p.name not in MESH_FIELDS)


def _help(parameter: Parameter) -> str:
    only = f" For --sampler {parameter.sampler}." if parameter.sampler else ""
    return f"{parameter.sentences}{only} The preset default has {parameter.default}."


def machine_options(function: F, preset: str = DEFAULTS["preset"]) -> F:
    """Add to a click command every option of a machine: --machine, --preset, --spes, --mesh and the parameters of `Config.space`.

    The command receives them by the names of `mrfhw.machine.manifest.DEFAULTS`, None where not given, as `config_from_options`
    takes them. preset: what its help says of the preset where none is given, in a command that takes a board's by `of_board`.
    """
    for parameter in reversed(PARAMETERS):
        function = click.option("--" + parameter.name.replace("_", "-"), parameter.name, default=None, type=parameter.type,
                                help=_help(parameter))(function)
    function = click.option("--mesh", type=Mesh(), default=None, help="Rows and columns of SPEs.")(function)
    function = click.option("--spes", type=int, default=None, metavar="N",
                            help="SPEs, in the mesh nearest to a square.")(function)
    function = click.option("--preset", default=DEFAULTS["preset"], metavar="NAME",
                            help=f"The machine that the other options change: {', '.join(PRESETS)}.  [default: {preset}]")(function)
    return click.option("--machine", type=click.Path(), default=None, metavar="MANIFEST",
                        help="The machine of a manifest.json that generate or build wrote, in place of all other options of a "
                        "machine.")(function)


def is_given(option: str) -> bool:
    """Whether the command under way has an option, by the name of its parameter, among its words."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(option) == ParameterSource.COMMANDLINE


def given_options() -> frozenset[str]:
    """The options among the words of the command under way, by the names of their parameters."""
    context = click.get_current_context(silent=True)
    return frozenset() if context is None else frozenset(filter(is_given, context.params))


def board_machine(options: dict[str, Any], address: str) -> dict[str, Any]:
    """The options, with the machine of the board at `address` where none is given and the board's is known on this computer."""
    if "://" not in address:
        return options
    from mrfhw.host.identity import machine_at

    found = machine_at(address, given_options())
    return options if found is None else {**options, "machine": found}


def backend_address() -> str:
    """--backend of the command under way, if it has that; else empty."""
    context = click.get_current_context(silent=True)
    return "" if context is None else context.params.get("backend") or ""


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
    """click.Command with errors of one line, and options of a machine in a group of their own in its help; use as
    `click.command(cls=OneLineCommand)`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                rows[parameter.name in DEFAULTS].append(record)
        for title, found in (("Options", rows[False]), ("Options of the machine", rows[True])):
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


class OneLineGroup(_OneLine, click.Group):
    """click.Group with errors of one line; use as `click.group(cls=OneLineGroup)`."""
