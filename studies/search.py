"""A search over the parameters of an application's field, on some scenes, with others held back: how its defaults are found.

    python -m studies.search {stereo,motion,segment} [--data DIR --scenes A,B,C [--held-back D,E,F]] [--parameters A,B]
        [--backend cpu] [--quick]

Without --data the scenes are built-in ones, named by their seeds. Every try is `mrfhw run` of the bit-exact model with the default
machine (or of --backend), two chains and seed 0, with some options and constants changed. The search goes from parameter to
parameter, tries the values of SPACES with all others held at the best so far, and goes around again, at most --rounds times, until
nothing gets better.
Best is the least mean over the scenes of bad 1 (percent, stereo), of the end-point error (px, motion) or of the variation of
information of the segments (bits), among tries whose 90 % intervals hold the truth at --coverage percent of the pixels on average,
or at as many as those of the defaults where they have less; classes have no intervals.

Every try is printed: * is the best so far, < has too little coverage. What is chosen, and the defaults beside it, are printed once
for the scenes that are held back: those figures have no part in the choice. Differences as small as those between two seeds mean
nothing; three scenes of 450x375 pixels took 40 s a try with --backend cpu, other work beside.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.application import Application
from mrfhw.jobs.registry import application
from mrfhw.machine.config import ConfigError
from mrfhw.system.errors import ProblemError
from studies.scene_jobs import built_in, job_of, judged, published, solved

Choice = dict[str, Any]  # values of all parameters of a space, by name

WEIGHTS = {"contrast.smooth": (1, 2, 3, 4), "contrast.edge": (0, 1, 2), "contrast.above": (8, 15, 25, 40)}


@dataclass(frozen=True)
class Space:
    """What is searched. measure: the less the better.

    values: by parameter, in the order of the search: "--tau" is an option of `mrfhw run`, "stiffness" a number of the application's
    `tuned` and "one_way.tau" an entry of one. Those of contrast tell of pictures in which edges have weights: of segmentation, of
    colour pictures alone.
    """

    measure: str
    values: dict[str, tuple[Any, ...]]


SPACES = {
    "stereo": Space("bad_1", {
        "--temperature": (1.5, 1.7, 1.9, 2.1, 2.4), "--tau": (2, 3, 4), "--beta": (1, 2), "singleton_max": (4, 5, 6), **WEIGHTS,
        "--out-of-range": (2, 3, 4), "one_way.temperature": (1.1, 1.4, 1.7), "one_way.beta": (1, 2, 3),
        "one_way.tau": (1, 2, 3), "first_sweeps": (40, 80, 160), "stiffness": (1, 2, 3, 4, 6)}),
    "motion": Space("epe", {
        "--temperature": (1.3, 1.5, 1.7, 1.9, 2.1), "--tau": (2, 3, 4, 6), "--beta": (1, 2), "singleton_max": (4, 5, 6), **WEIGHTS,
        "--out-of-range": (2, 3, 4), "stiffness": (1, 2, 3, 4, 6)}),
    "segment": Space("vi", {
        "--temperature": (8.0, 12.0, 16.0), "--beta": (8, 12, 16, 24), "contrast.smooth": (2, 3, 4), "contrast.edge": (0, 1, 2),
        "contrast.above": (15, 25, 40), "least_segment": (100, 200, 400)}),
}
QUICK = {"stereo": ("--temperature", "contrast.edge"), "motion": ("--temperature", "contrast.edge"),
         "segment": ("--temperature", "least_segment")}


def defaults(verb: str, names: list[str]) -> Choice:
    """The values without any change."""
    app, found = application(verb), dict[str, Any]()
    for name in names:
        if name.startswith("--"):
            option = next(one for one in app.common if one.name == name[2:].replace("-", "_"))
            found[name] = getattr(app.tuned, "census", {}).get(option.name, option.default)
            if found[name] is None:  # a temperature, which is told in words
                found[name] = float(option.said.partition(";")[0])
        else:
            value = app.tuned
            for part in name.split("."):
                value = value[part] if isinstance(value, Mapping) else getattr(value, part)
            found[name] = value
    return found


def _with(value: Any, name: str, new: Any) -> Any:
    """A dataclass or a mapping with another value of an entry, or of an entry's own, such as "contrast.edge"."""
    name, _, rest = name.partition(".")
    if isinstance(value, Mapping):
        return {**value, name: new}
    return replace(value, **{name: _with(getattr(value, name), rest, new) if rest else new})


def tuned(verb: str, values: Choice) -> Application:
    """The application with these numbers; the machine's weights of edges are at least as wide as they have to be."""
    app = application(verb)
    numbers = app.tuned
    for name, value in values.items():
        numbers = _with(numbers, name, value)
    needed = max(numbers.contrast.smooth, numbers.contrast.edge).bit_length()
    return replace(app, tuned=replace(numbers, needs={**numbers.needs, "edge_bits": max(needed, numbers.needs["edge_bits"])}))


@dataclass(frozen=True)
class Tried:
    """Of each scene, in their order: the measure, and percent of coverage, None of classes. refused: why there is nothing."""

    measures: tuple[float, ...] = ()
    coverages: tuple[float | None, ...] = ()
    refused: str = ""

    @property
    def mean(self) -> float:
        return float(np.mean(self.measures)) if self.measures else float("inf")

    @property
    def coverage(self) -> float | None:
        known = [share for share in self.coverages if share is not None]
        return float(np.mean(known)) if known else None

    def line(self) -> str:
        if self.refused:
            return f"refused: {self.refused}"
        scenes = " ".join(f"{measure:.3f}" for measure in self.measures)
        return f"{self.mean:9.4f}{'-' if self.coverage is None else f'{self.coverage:.2f}':>9}  {scenes}"


class Search:
    """Tries of one application on scenes, each the words after `mrfhw run VERB`."""

    def __init__(self, verb: str, start: Choice, backend: str, bar: tqdm):
        self.verb, self.start, self.backend, self.bar = verb, start, backend, bar

    def changes(self, choice: Choice) -> str:
        """What differs from the defaults, in words."""
        return ", ".join(f"{name} {value}" for name, value in choice.items() if value != self.start[name]) or "defaults"

    def tried(self, choice: Choice, scenes: list[list[str]]) -> Tried:
        changed = {name: value for name, value in choice.items() if value != self.start[name]}
        words = [word for name, value in changed.items() if name.startswith("--") for word in (name, str(value))]
        measures, coverages = [], []
        app = tuned(self.verb, {name: value for name, value in changed.items() if not name.startswith("--")})
        for scene in scenes:
            try:
                job, solution = solved(job_of(app, [*scene, *words]), traced=False, backend=self.backend)
            except (ConfigError, ProblemError) as error:
                return Tried(refused=str(error))
            found = judged(job, solution.counts, solution.last)
            measure = found.metrics[SPACES[self.verb].measure]
            measures.append(float("inf") if measure is None else measure)
            coverages.append(found.coverage)
            self.bar.update()
        return Tried(tuple(measures), tuple(coverages))

    def say(self, mark: str, result: Tried, choice: Choice) -> None:
        tqdm.write(f"{mark:2}{result.line()}  {self.changes(choice)}")

    def best(self, space: dict[str, tuple[Any, ...]], scenes: list[list[str]], least: float, rounds: int) -> Choice:
        """The choice of the least mean among those of enough coverage, in percent, each try printed."""
        best, at_best = dict(self.start), self.tried(self.start, scenes)
        self.say("*", at_best, best)
        if at_best.refused:
            raise ProblemError(f"the defaults are refused: {at_best.refused}")
        floor = None if at_best.coverage is None else min(least, at_best.coverage)
        seen = {tuple(best.values())}
        for _ in range(rounds):
            before = best
            for name, values in space.items():
                for value in values:
                    choice = {**best, name: value}
                    if tuple(choice.values()) in seen:
                        continue
                    seen.add(tuple(choice.values()))
                    result = self.tried(choice, scenes)
                    short = floor is not None and (result.coverage is None or result.coverage < floor)
                    better = not short and result.mean < at_best.mean
                    self.say("*" if better else "<" if short and not result.refused else "", result, choice)
                    if better:
                        best, at_best = choice, result
            if best is before:
                break
        return best


@click.command(cls=OneLineCommand)
@click.argument("verb", type=click.Choice(list(SPACES)))
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
@click.option("--scenes", help="What the choice is made on; of stereo NAME:SCALE where the scale is not known.  [default: 1,2]")
@click.option("--held-back", help="Scenes that the choice is shown on at the end.  [default: without --data 3]")
@click.option("--coverage", type=float, default=85.0, show_default=True, help="Percent that 90 % intervals must hold at least.")
@click.option("--rounds", type=int, default=2, show_default=True, help="Times around all parameters, at most.")
@click.option("--parameters", default="", help="Those that are searched, such as stiffness,--tau.  [default: all]")
@click.option("--backend", type=click.Choice(["model", "cpu", "float"]), default="model", show_default=True)
@click.option("--quick", is_flag=True, help="Two values of two parameters, few sweeps, small built-in scenes: to see it work.")
def main(verb: str, data: Path | None, scenes: str | None, held_back: str | None, coverage: float, rounds: int, parameters: str,
         backend: str, quick: bool) -> None:
    """Search the parameters of a field."""
    if data is not None and scenes is None:
        raise ProblemError("scenes is missing; a directory of data has more than one: give --scenes A,B,C")
    names = {"scenes": (scenes or "1,2").split(","), "held-back": (held_back or ("" if data else "3")).split(",")}
    names["held-back"] = [name for name in names["held-back"] if name]
    both = set(names["scenes"]) & set(names["held-back"])
    if both:
        raise ProblemError(f"held-back has {min(both)}, on which the choice is made: give others")
    if data is None and not all(name.isdecimal() for part in names.values() for name in part):
        raise ProblemError("scenes has a name that is no seed; built-in scenes are whole numbers: give --data, or such as 1,2")
    space = SPACES[verb].values
    if parameters:
        unknown = [name for name in parameters.split(",") if name not in space]
        if unknown:
            raise ProblemError(f"parameters has {unknown[0]}; {verb} has {', '.join(space)}: give some of these")
        space = {name: space[name] for name in parameters.split(",")}
    if quick:
        space, rounds = {name: space[name][:2] for name in (space if parameters else QUICK[verb])}, 1
    with tempfile.TemporaryDirectory() as directory:
        size = (48, 64) if quick else (144, 192)
        words = {part: [built_in(verb, Path(directory) / name, int(name), *size) if data is None else published(verb, data, name)
                        for name in named] for part, named in names.items()}
        if quick:
            few = ["--sweeps", "20", *(["--vectors", "9x9"] if verb == "motion" else [])]
            words = {part: [[*scene, *few] for scene in given] for part, given in words.items()}
        most = 1 + rounds * sum(len(values) - 1 for values in space.values())
        print(f"  {SPACES[verb].measure:>9}{'covered':>9}  of {' '.join(names['scenes'])}")
        with tqdm(total=most * len(words["scenes"]) + 2 * len(words["held-back"]), unit="run", leave=False, disable=None) as bar:
            search = Search(verb, defaults(verb, list(space)), backend, bar)
            chosen = search.best(space, words["scenes"], coverage, rounds)
            tqdm.write(f"chosen: {search.changes(chosen)}")
            if words["held-back"]:
                tqdm.write(f"held back: {' '.join(names['held-back'])}")
                for choice in (search.start, chosen) if chosen != search.start else (chosen,):
                    search.say("", search.tried(choice, words["held-back"]), choice)


if __name__ == "__main__":
    main()
