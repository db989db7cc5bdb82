"""Options that every application has: energies, temperatures, length, machine and the part of the pictures."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from mrfhw.apps.images import Window, crop, parse_window
from mrfhw.apps.job import Cooling
from mrfhw.commands.machine_options import F, config_from_options, split_options
from mrfhw.field.problem import WHOLE_NUMBERS, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.placement.fit import check_number
from mrfhw.placement.temperature import realized_limits

__all__ = ["Common", "common_options", "default", "pair", "same_size", "schedule_from_options"]

Decorator = Callable[[F], F]

ENERGY_HELP = {
    "alpha": "Weight of the singleton.",
    "beta": "Weight of the doubletons.",
    "tau": "Each doubleton is at most this.",
    "singleton": "absolute or squared difference of data.",
    "doubleton": "absolute or squared difference of labels, or potts.",
    "out_of_range": "Singleton where the second picture has no pixel.",
    "energy_shift": "Low bits dropped from an energy.",
    "temperature": "T, in units of energy; with --anneal, that of the first sweep.",
}
NUMBERS = {"temperature": float, "singleton": str, "doubleton": str}


def _energy_options(problem: Callable[..., Any], found: Mapping[str, str]) -> list[Decorator[Any]]:
    """An option for each energy parameter that `problem` has, with its default; `found` says what sets the others."""
    parameters = inspect.signature(problem).parameters
    options = []
    for name, text in ENERGY_HELP.items():
        if name not in parameters:
            continue
        standard, origin = parameters[name].default, found.get(name)
        if name == "temperature":  # whether it is given matters to annealing
            origin = f"{origin or standard}; with --anneal, a multiple of it"
        options.append(click.option(
            "--" + name.replace("_", "-"), name, type=NUMBERS.get(name, int), default=None if origin else standard,
            show_default=origin is None and standard is not None, help=text + (f"  [default: {origin}]" if origin else "")))
    return options


def common_options(problem: Callable[..., Any], sweeps: int, found: Mapping[str, str]) -> list[Decorator[Any]]:
    """The options that `Common.of` takes, but for those of the machine.

    problem: the application's function, whose signature holds the defaults of the energies. sweeps: by default.
    found: the energy parameters that the application finds itself, each with what it finds them from.
    """
    return [
        click.option("--window", metavar="X,Y,W,H", help="Part of every input: first column, first row, columns, rows."),
        click.option("--sweeps", type=int, default=sweeps, show_default=True, help="Sweeps of a chain, burn-in included."),
        click.option("--burn-in", type=int, help="First sweeps, which are not counted.  [default: half of the sweeps; "
                                                 "with --anneal, nine tenths]"),
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of all random numbers."),
        click.option("--initial", default="random", show_default=True, help="Labels to start from: random or minimum."),
        *_energy_options(problem, found),
        click.option("--anneal", is_flag=True, help="Cool over the whole run and give the last sample, not the mode."),
        click.option("--final-temperature", type=float,
                     help="Cool down to this T: by the end of the burn-in, or with --anneal by the last sweep."),
        click.option("--cooling-ratio", type=float, help="Cool by this ratio a sweep, to the final temperature."),
        click.option("--cooling-table", metavar="T,T,...", help="Temperatures instead, one after the other."),
        click.option("--cooling-stride", type=int, default=1, show_default=True, help="Sweeps of each of the table's."),
    ]


def schedule_from_options(*, sweeps: int, burn_in: int, temperature: float, final_temperature: float | None = None,
                          cooling_ratio: float | None = None, cooling_table: str | None = None, cooling_stride: int = 1,
                          anneal: bool = False) -> Schedule:
    """The temperatures that the options describe.

    A final temperature without a ratio is reached with the burn-in, or with the last sweep where the run anneals.
    Raises ProblemError for options that contradict each other and for what is no temperature.
    """
    if cooling_table is not None:
        if final_temperature is not None or cooling_ratio is not None:
            raise ProblemError("cooling-table comes with final-temperature or cooling-ratio; only one of the two "
                               "schedules can hold: drop one")
        try:
            return Schedule.of_table(tuple(float(part) for part in cooling_table.split(",")), cooling_stride)
        except ValueError as error:
            if isinstance(error, ProblemError):
                raise
            raise ProblemError(f"cooling-table is {cooling_table!r}; it must be numbers with commas between them: "
                               "give such as 8,4,2") from None
    start = Schedule.constant(temperature)
    if final_temperature is None:
        if cooling_ratio is not None:
            raise ProblemError(f"cooling-ratio is {cooling_ratio}; cooling must end somewhere: give final-temperature")
        return start
    Schedule.constant(final_temperature)  # refuses what is no temperature before it enters a quotient
    if cooling_ratio is None:
        steps = burn_in if burn_in > 0 and not anneal else max(1, sweeps - 1)
        cooling_ratio = min(1.0, (final_temperature / temperature) ** (1 / steps))
    return Schedule.geometric(temperature, cooling_ratio, final_temperature)


@dataclass(frozen=True, kw_only=True)
class Common:
    """Checked options of any application.

    energy: those of ENERGY_HELP that are given, without the temperature. options: all of them, as they came.
    """

    config: Config
    run: Run
    window: Window | None
    anneal: bool
    energy: dict[str, Any]
    options: dict[str, Any]

    @classmethod
    def of(cls, options: dict[str, Any]) -> Common:
        """From the options of `common_options` and `machine_options`. Raises ProblemError or ConfigError."""
        machine, options = split_options(options)
        sweeps, burn_in, anneal = options["sweeps"], options["burn_in"], options["anneal"]
        if burn_in is None:
            # Where the run anneals, the histogram is that of its cold end.
            burn_in = max(0, sweeps - max(1, sweeps // 10)) if anneal else sweeps // 2
        options = {**options, "burn_in": burn_in, "preset": machine["preset"]}
        energy = {name: options[name] for name in ENERGY_HELP
                  if name != "temperature" and options.get(name) is not None}
        config = config_from_options(**machine)
        for name in WHOLE_NUMBERS:  # before anything is computed from them
            if name in energy:
                check_number(config, name, energy[name])
        return cls(config=config,
                   run=Run(sweeps=sweeps, burn_in=burn_in, seed=options["seed"], initial=options["initial"]),
                   window=None if options["window"] is None else parse_window(options["window"]), anneal=anneal,
                   energy=energy, options=options)

    def schedule(self, temperature: float, cooling: Cooling, energy_shift: int = 0) -> Schedule:
        """The temperatures: what the options say, else `temperature` held or, where the run anneals, multiples of it.

        Multiples end where the machine's temperatures do.
        """
        options = self.options
        given, final = options["temperature"], options["final_temperature"]
        if self.anneal and options["cooling_table"] is None:
            coldest, hottest = realized_limits(self.config, energy_shift)
            first = given if given is not None else min(temperature * cooling.first, hottest)
            Schedule.constant(first)
            if final is None:
                held = temperature if given is None else first / cooling.first
                final = max(held * cooling.last, min(coldest, first))
        else:
            first = temperature if given is None else given
        return schedule_from_options(
            sweeps=self.run.sweeps, burn_in=self.run.burn_in, temperature=first, final_temperature=final,
            cooling_ratio=options["cooling_ratio"], cooling_table=options["cooling_table"],
            cooling_stride=options["cooling_stride"], anneal=self.anneal)

    def settings(self, problem: str, shape: tuple[int, int], schedule: Schedule, **others: Any) -> dict[str, Any]:
        """Every option, for the report; `others` are the application's own."""
        used = ("anneal", "window", "sweeps", "burn_in", "seed", "initial", "preset")
        return {"problem": problem, **others, **self.energy, "schedule": dataclasses.asdict(schedule),
                **{name: self.options[name] for name in used}, "rows": shape[0], "columns": shape[1]}


def default(problem: Callable[..., Any], name: str) -> Any:
    """The default of a parameter of an application's function."""
    return inspect.signature(problem).parameters[name].default


def same_size(images: dict[str, np.ndarray], window: Window | None) -> list[np.ndarray]:
    """The images, (H, W) or (H, W, n), cut to the window.

    images: by what a message calls them. Raises ProblemError where one has not the size of the first.
    """
    name0, first = next(iter(images.items()))
    rows, cols = first.shape[:2]
    for name, image in images.items():
        if image.shape[:2] != (rows, cols):
            raise ProblemError(f"the {name} is {image.shape[1]}x{image.shape[0]}; the {name0} is {cols}x{rows}: "
                               "give images of one size")
    return [crop(image, window, name) for name, image in images.items()]


def pair(name: str, text: str, separator: str, example: str) -> tuple[int, int]:
    """Two whole numbers with a separator between them, as (row, column). Raises ProblemError for anything else."""
    try:
        row, col = (int(part) for part in text.lower().split(separator))
    except ValueError:
        raise ProblemError(f"{name} is {text!r}; it must be two whole numbers, rows and columns: give such as {example}") from None
    return row, col
