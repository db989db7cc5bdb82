"""Options that every application has, by name, into energies, temperatures, length, machine and the part of the pictures."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.applications.descriptors import edge_weights
from mrfhw.field.given import NUMBER_MAX, short, whole_number
from mrfhw.field.problem import ESTIMATES, WHOLE_NUMBERS, Problem, ProblemError, Run, check_labels
from mrfhw.field.schedule import Schedule
from mrfhw.jobs.job import Cooling, energy_settings
from mrfhw.jobs.options import NOTHING, Given, Option
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import config_from_options, split_options
from mrfhw.machine.parameters import parameters
from mrfhw.pictures.images import Inputs, Reading, Window, check_size, crop, parse_window
from mrfhw.placement.fit import check_number
from mrfhw.placement.temperature import realized_limits

__all__ = ["COMMON", "MORE", "MOST_HELP", "READING", "SEED_HELP", "Common", "Contrast", "check_choice", "common_options",
           "contrast_weights", "default", "label_machine", "most_sweeps", "pair", "picture_notes", "same_size",
           "schedule_from_options"]

FLOATS = (sys.float_info.min, sys.float_info.max)  # the temperatures of arithmetic
MORE = 4  # times the default sweeps are what a chain has at most, where chains do not agree before

SEED_HELP = ("Seed of all random numbers. Each further chain has the next seed, so runs to be compared need seeds at least "
             "--chains apart.")
MOST_HELP = ("Where the chains do not agree after the sweeps and more help, go on to twice as many, and so on up to N, with "
             " all sweeps before as burn-in.")
# Parameters of an application's problem that are options, where it has them.
ENERGIES = (
    Option(name="alpha", type=int, rare=True, help="Weight of the singleton."),
    Option(name="beta", type=int, help="Weight of the doubletons."),
    Option(name="tau", type=int, help="Each doubleton is at most this."),
    Option(name="singleton", rare=True, help="absolute or squared difference of data, or hamming: their unlike bits."),
    Option(name="doubleton", rare=True, help="absolute or squared difference of labels, or potts."),
    Option(name="out_of_range", type=int, rare=True, help="Singleton where the second picture has no pixel."),
    Option(name="energy_shift", type=int, rare=True, help="Low bits dropped from an energy."),
    Option(name="temperature", type=float, help="T, in units of energy; with --anneal, that of the first sweep."),
)
_LENGTH = (
    Option(name="window", help="Part of every input: first column, first row, columns, rows.", metavar="X,Y,W,H"),
    Option(name="sweeps", type=int, help="Sweeps of a chain, burn-in included."),
    Option(name="burn_in", type=int, help="First sweeps, which are not counted.",
           said="half of the sweeps; with --anneal, nine tenths"),
    Option(name="most_sweeps", type=int, rare=True, metavar="N", help=MOST_HELP,
           said=f"{MORE} times the default sweeps; with --sweeps, --burn-in, a changing temperature or --estimate last, no more"),
    Option(name="seed", type=int, default=0, help=SEED_HELP),
    Option(name="initial", default="random", rare=True, help="Labels to start from: random or minimum.", said="random"),
)
_TEMPERATURES = (
    Option(name="estimate", choices=ESTIMATES, said="mode; with --anneal, last",
           help="What is made of the samples: mode, the most frequent label, by a histogram that also gives the uncertainty; mean "
                "of the counted labels; or the last ones."),
    Option(name="anneal", type=bool, default=False,
           help="Cool over the whole run, and give the last sample unless told otherwise."),
    Option(name="cooling", metavar="FINAL|T,T,...",
           help="FINAL: T falls to it by the end of the burn-in, or with --anneal of the run; FINAL:RATIO, by RATIO a sweep. "
                "T,T,...: each for a sweep; T,T,.../N, each for N."),
    # What one option says today.
    Option(name="final_temperature", type=float, help="FINAL of cooling.", hidden=True),
    Option(name="cooling_ratio", type=float, help="RATIO of cooling.", hidden=True),
    Option(name="cooling_table", help="T,T,... of cooling.", hidden=True),
    Option(name="cooling_stride", type=int, default=1, help="N of cooling.", hidden=True),
)
# How the greys of pictures are read.
READING = (
    Option(name="depth", type=int, rare=True, metavar="BITS", said="as the files say",
           help="Bits of a grey value in the pictures, 1 to 16: 2^BITS - 1 is white."),
    Option(name="stretch", type=bool, default=False, rare=True,
           help="Make the least grey of the pictures black and the greatest white, by the same map for all of them."),
)
COMMON: dict[str, Any] = {option.name: option.default for option in (*_LENGTH, *_TEMPERATURES, *READING)}


def common_options(problem: Callable[..., Any], found: Mapping[str, str]) -> tuple[Option, ...]:
    """The options of every application that reads pictures, but for READING, with those of its energies.

    problem: its function from data to a Problem, whose signature has the energies' defaults. found: what it finds by itself, its
    sweeps at least: from what, by option.
    """
    def energy(option: Option) -> Option:
        standard, said = default(problem, option.name), found.get(option.name, "")
        if option.name == "temperature":  # whether it is given matters to annealing
            return dataclasses.replace(option, said=f"{said or float(standard)}; with --anneal, a multiple of it")
        return dataclasses.replace(option, default=None if said else standard, said=said)

    energies = [energy(option) for option in ENERGIES if option.name in inspect.signature(problem).parameters]
    length = [dataclasses.replace(option, said=found.get(option.name, option.said)) for option in _LENGTH]
    return (*length, *energies, *_TEMPERATURES)


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
    if cooling_stride != 1:
        raise ProblemError(f"cooling-stride is {cooling_stride}; it is of a table of temperatures: give cooling-table, or drop it")
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


def cooling_from_text(text: str) -> dict[str, Any]:
    """The options of `schedule_from_options` that a cooling stands for: "FINAL", "FINAL:RATIO", "T,T,..." or "T,T,.../SWEEPS".

    Raises ProblemError for another text.
    """
    try:
        if "," in text or "/" in text:
            table, slash, stride = text.partition("/")
            for temperature in table.split(","):
                float(temperature)
            return {"cooling_table": table, "cooling_stride": int(stride) if slash else 1}
        final, colon, ratio = text.partition(":")
        return {"final_temperature": float(final), "cooling_ratio": float(ratio) if colon else None}
    except ValueError:
        raise ProblemError(f"cooling is {short(repr(text))}; it is a last temperature, with a ratio or without, or a list of them: "
                           "give such as 2, 2:0.95, 8,4,2 or 8,4,2/10") from None


def _with_cooling(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with what `cooling` stands for. Raises ProblemError where one of those is given as well."""
    if options["cooling"] is None:
        return options
    found = cooling_from_text(options["cooling"])
    for name in ("final_temperature", "cooling_ratio", "cooling_table", "cooling_stride"):
        if options[name] != COMMON[name]:
            raise ProblemError(f"cooling is {options['cooling']}, and {name.replace('_', '-')} is given too; cooling says all of "
                               "it: drop one")
    return {**options, **found}


def most_sweeps(sweeps: int, most: int | None, *, default: bool, cooled: bool, last: bool) -> int:
    """`Job.most_sweeps`. Raises ProblemError.

    sweeps: of the run. most: as it is given, None where it is not. default: whether sweeps and burn-in are the defaults, with which
    chains go on by themselves. cooled: whether the temperature changes. last: whether the estimate is the last sample.
    """
    if most is None:
        return MORE * sweeps if default and not cooled and not last else 0
    most = whole_number("most-sweeps", most, 1, NUMBER_MAX, "give the sweeps of a chain at most")
    if cooled or last:
        what = "where the temperature changes" if cooled else "to an estimate that is the last sample"
        raise ProblemError(f"most-sweeps is {most}; {what} no more sweeps are added: drop it, or "
                           + ("hold the temperature" if cooled else "give estimate mode or mean"))
    if most < sweeps:
        raise ProblemError(f"most-sweeps is {most}; the run has {sweeps} sweeps: give as many or more")
    return most


@dataclass(frozen=True, kw_only=True)
class Common:
    """Checked options of any application.

    config: as of `Job`. widths: the machine whose words data are as wide as: `config`, or where there is none the default one with
    what the field needs. energy: those of ENERGIES that have a value, without the temperature. options: all of them, as they came.
    most_sweeps: as of `Job`.
    """

    config: Config | None
    widths: Config
    run: Run
    most_sweeps: int
    window: Window | None
    anneal: bool
    energy: dict[str, Any]
    options: dict[str, Any]

    @classmethod
    def of(cls, options: dict[str, Any], sweeps: Callable[[Config], int], needed: Mapping[str, Any] | None = None,
           given: Given = NOTHING) -> Common:
        """From the options of COMMON, ENERGIES and a machine. Raises ProblemError or ConfigError.

        sweeps: how many by default with words of such widths.
        needed: parameters of the machine that the application's field needs; they hold where they are not given, and the machine
        is not a fixed one.
        """
        machine, options = split_options(options)
        options = _with_cooling(options)
        if not given.machine_is_fixed:
            machine |= {name: value for name, value in (needed or {}).items() if machine.get(name) is None}
        widths = config_from_options(**machine)
        config = None if given.no_machine else widths
        if options.get("doubleton") == "table":
            raise ProblemError("doubleton is table, which pictures do not give: give absolute, squared or potts, or a Problem with "
                               "its pairwise table to run problem")
        number, burn_in, anneal = options["sweeps"], options["burn_in"], options["anneal"]
        if number is None:
            number = sweeps(widths)
        if burn_in is None:
            # Where the run anneals, the histogram is that of its cold end.
            burn_in = max(0, number - max(1, number // 10)) if anneal else number // 2
        estimate = options["estimate"]
        if estimate is None:
            estimate = "last" if anneal else ESTIMATES[0]
        most = most_sweeps(number, options["most_sweeps"], default=options["sweeps"] is None and options["burn_in"] is None,
                           cooled=anneal or options["final_temperature"] is not None or options["cooling_table"] is not None,
                           last=estimate == "last")
        options = {**options, "estimate": estimate, "sweeps": number, "burn_in": burn_in, "preset": machine["preset"],
                   "most_sweeps": most or None}
        energy = {one.name: options[one.name] for one in ENERGIES
                  if one.name != "temperature" and options.get(one.name) is not None}
        for name in ("alpha", *WHOLE_NUMBERS):  # before anything is computed from them
            if name in energy and config is not None:
                check_number(config, name, energy[name])
        return cls(config=config, widths=widths,
                   run=Run(sweeps=number, burn_in=burn_in, seed=options["seed"], initial=options["initial"], estimate=estimate),
                   most_sweeps=most, window=cls.window_of(options), anneal=anneal,
                   energy=energy, options=options)

    def schedule(self, temperature: float, cooling: Cooling, energy_shift: int = 0) -> Schedule:
        """The temperatures: what the options say, else `temperature` held or, where the run anneals, multiples of it.

        Multiples end where a machine's temperatures do.
        """
        options = self.options
        given, final = options["temperature"], options["final_temperature"]
        if given is not None and options["cooling_table"] is not None:
            raise ProblemError(f"temperature is {given} and cooling-table is given, too, which has all temperatures: drop one")
        if self.anneal and options["cooling_table"] is None:
            coldest, hottest = FLOATS if self.config is None else realized_limits(self.config, energy_shift)
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

    @property
    def reading(self) -> Reading:
        """How the pictures are read, of all pictures of the run."""
        return self.reading_of(self.options)

    @staticmethod
    def reading_of(options: Mapping[str, Any]) -> Reading:
        """How the pictures are read."""
        return Reading(depth=options["depth"], stretch=options["stretch"])

    @staticmethod
    def window_of(options: Mapping[str, Any]) -> Window | None:
        """The part of the pictures that is wanted. Raises ProblemError."""
        return None if options["window"] is None else parse_window(options["window"])

    def settings(self, verb: str, problem: Problem, **others: Any) -> dict[str, Any]:
        """Every option and the whole energy, for the report; `others` are the application's own."""
        used = ("estimate", "anneal", "window", "sweeps", "burn_in", "most_sweeps", "seed", "initial", "preset", "depth", "stretch")
        return {"problem": verb, **others, **energy_settings(problem),
                **{name: self.options[name] for name in used if name in self.options},
                "rows": problem.shape[0], "columns": problem.shape[1]}


def label_machine(name: str, labels: int) -> dict[str, Any]:
    """The parameter of a machine that holds so many labels, given as `name`, where the default has not. Raises ProblemError."""
    check_labels(name, labels)
    return {"label_bits": bits_for(labels)} if labels > Derived.of(Config()).max_labels else {}


def component_machine(values: int) -> dict[str, Any] | None:
    """The parameter of a machine whose vectors have components of so many values, where the default has not; None where no machine
    does."""
    if values > most_components():
        return None
    return {"vector_bits": bits_for(values)} if values > 1 << Config().vector_bits else {}


def most_components() -> int:
    """How many values a component of a vector has at most."""
    return 1 << next(one.high for one in parameters(Config) if one.field == "vector_bits")


def squared_machine(doubleton: str | None, labels: int) -> dict[str, Any]:
    """The parameter of a machine for a doubleton by the squared difference of so many labels; nothing for others.

    Raises ProblemError where no machine has it.
    """
    found = component_machine(labels) if doubleton == "squared" else {}
    if found is None:
        raise ProblemError(f"doubleton is squared and there are {labels} labels; its limit is {most_components()}: give fewer "
                           "labels, or absolute or potts")
    return found


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Weights of edges by the contrast across them.

    smooth: where it is at most `above`.
    edge: where it is more.
    above: in 8-bit grey, of any channel.
    """

    smooth: int
    edge: int
    above: int


def contrast_weights(contrast: Contrast, widths: Config, picture: np.ndarray) -> np.ndarray | None:
    """The weights of edges for a picture, None on a machine that holds none of them."""
    if widths.edge_bits < contrast.smooth.bit_length():
        return None
    return edge_weights(picture, contrast.smooth, contrast.edge, contrast.above)


def default(problem: Callable[..., Any], name: str) -> Any:
    """The default of a parameter of an application's function."""
    return inspect.signature(problem).parameters[name].default


def same_size(images: dict[str, np.ndarray], window: Window | None) -> list[np.ndarray]:
    """The images, (H, W) or (H, W, n), cut to the window.

    images: by what a message calls them. Raises ProblemError where one has not the size of the first.
    """
    name0, first = next(iter(images.items()))
    for name, image in images.items():
        check_size(image, name, first, name0)
    return [crop(image, window, name) for name, image in images.items()]


def picture_notes(names: Sequence[str], inputs: Inputs) -> tuple[str, ...]:
    """What is to be said of how the files were read, and one line where the pictures of these names are stretched, or have few
    greys."""
    if not inputs.stretched and not inputs.narrow:
        return inputs.notes
    low, high = inputs.range
    return (*inputs.notes, f"Note: the grey of {' and '.join(names)} is {low:.0f} to {high:.0f} of 0 to 255"
            + (", stretched to all of it" if inputs.stretched else ": stretch would use all of it"),)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raises ProblemError where a value is not None and none of the choices."""
    if value is not None and value not in choices:
        raise ProblemError(f"{name} is {value!r}; it is one of {', '.join(choices)}: give one of them")


def pair(name: str, text: str, separator: str, example: str) -> tuple[int, int]:
    """Two whole numbers with a separator between them, as (row, column). Raises ProblemError for anything else."""
    try:
        row, col = (int(part) for part in text.lower().split(separator))
    except ValueError:
        raise ProblemError(f"{name} is {text!r}; it must be two whole numbers, rows and columns: give such as {example}") from None
    return row, col
