"""Options that every application has, on the command line: energies, temperatures, length and the part of the pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from mrfhw.applications.matching import DATA
from mrfhw.applications.options import COMMON, MORE
from mrfhw.applications.task import Task
from mrfhw.commands.machine_options import Rare
from mrfhw.field.problem import ESTIMATES

__all__ = ["MOST_HELP", "SEED_HELP", "common_options", "matching_data", "own_option", "picture_options"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

SEED_HELP = ("Seed of all random numbers. Each further chain has the next seed, so runs to be compared need seeds at least "
             "--chains apart.")
MOST_HELP = ("Where the energy's R-hat is not that of a converged run after the sweeps, go on to twice as many, and so on up to N, "
             "with all sweeps before as burn-in.")
COOLING_HELP = ("FINAL: T falls to it by the end of the burn-in, or with --anneal of the run; FINAL:RATIO, by RATIO a sweep. "
                "T,T,...: each for a sweep; T,T,.../N, each for N.")
EARLIER_COOLING = {"final_temperature": float, "cooling_ratio": float, "cooling_table": str, "cooling_stride": int}
RARE_ENERGIES = ("alpha", "singleton", "doubleton", "out_of_range", "energy_shift")
ENERGY_HELP = {
    "alpha": "Weight of the singleton.",
    "beta": "Weight of the doubletons.",
    "tau": "Each doubleton is at most this.",
    "singleton": "absolute or squared difference of data, or hamming: their unlike bits.",
    "doubleton": "absolute or squared difference of labels, or potts.",
    "out_of_range": "Singleton where the second picture has no pixel.",
    "energy_shift": "Low bits dropped from an energy.",
    "temperature": "T, in units of energy; with --anneal, that of the first sweep.",
}


def _energy_options(task: Task) -> list[Decorator]:
    """An option for each energy, with its default or with what sets it."""
    options: list[Decorator] = []
    for name, standard in task.energies.items():
        origin = task.found.get(name)
        if name == "temperature":
            origin = f"{origin or task.held_temperature}; with --anneal, a multiple of it"
        options.append(click.option(
            "--" + name.replace("_", "-"), name, cls=Rare if name in RARE_ENERGIES else None, type=task.types[name],
            default=standard, show_default=standard is not None,
            help=ENERGY_HELP[name] + (f"  [default: {origin}]" if origin else "")))
    return options


def common_options(task: Task) -> list[Decorator]:
    """The options that `mrfhw.applications.options.Common.of` takes, but for those of the machine."""
    return [
        click.option("--window", metavar="X,Y,W,H", help="Part of every input: first column, first row, columns, rows."),
        click.option("--sweeps", type=int, help=f"Sweeps of a chain, burn-in included.  [default: {task.found['sweeps']}]"),
        click.option("--burn-in", type=int, help="First sweeps, which are not counted.  [default: half of the sweeps; "
                                                 "with --anneal, nine tenths]"),
        click.option("--most-sweeps", cls=Rare, type=int, metavar="N",
                     help=MOST_HELP + f"  [default: {MORE} times the default sweeps; with "
                     "--sweeps, --burn-in, a changing temperature or --estimate last, no more]"),
        click.option("--seed", type=int, default=COMMON["seed"], show_default=True, help=SEED_HELP),
        click.option("--initial", cls=Rare, default=COMMON["initial"], help="Labels to start from: random or minimum.  "
                     f"[default: {task.found.get('initial', COMMON['initial'])}]"),
        *_energy_options(task),
        click.option("--estimate", type=click.Choice(ESTIMATES),
                     help="What is made of the samples: mode, the most frequent label, by a histogram that also gives the "
                          "uncertainty; mean of the counted labels; or the last ones.  [default: mode; with --anneal, last]"),
        click.option("--anneal", is_flag=True, help="Cool over the whole run, and give the last sample unless told otherwise."),
        click.option("--cooling", metavar="FINAL|T,T,...", help=COOLING_HELP),
        *(click.option("--" + name.replace("_", "-"), name, type=kind, default=COMMON[name], hidden=True)
          for name, kind in EARLIER_COOLING.items()),
    ]


def own_option(task: Task, name: str, text: str, **more: Any) -> Decorator:
    """An option of an application's own, by its parameter's name, with the default that its job has."""
    standard, kind = task.own[name], task.types.get(name, str)
    if kind is bool:
        more["is_flag"] = True
    else:
        more = {"type": kind, "show_default": kind in (int, float) and standard is not None, **more}
    return click.option("--" + name.replace("_", "-"), name, default=standard, help=text, **more)


def matching_data(task: Task) -> Decorator:
    """--data of the applications that match two pictures."""
    return own_option(task, "data", "What pixels are compared by: which of their neighbours are darker, or their own grey.  "
                      "[default: census, where a preset's machine can]", type=click.Choice(DATA))


def picture_options() -> list[Decorator]:
    """The options that say how the greys of the pictures are read."""
    return [
        click.option("--depth", cls=Rare, type=int, metavar="BITS",
                     help="Bits of a grey value in the pictures, 1 to 16: 2^BITS - 1 is white.  [default: as the files say]"),
        click.option("--stretch", cls=Rare, is_flag=True,
                     help="Make the least grey of the pictures black and the greatest white, by the same map for all of them."),
    ]
