"""A complete slice of a board's choices, each synthesized: how few true syntheses a search needs to find its best.

    python -m studies.slice --measure 160     # synthesize so many of those that are not among the kept points (a minute each)
    python -m studies.slice                   # replay searches on what is kept

Replays are repeated with other seeds, and say after how many true syntheses a search has a choice that fits and takes at most 2 %
more seconds than the best of the slice. `tune` begins with some of the whole boards that `python -m studies.whole_boards` measured,
each time others, and knows nothing of the slice; the others know nothing. A search on the shortlist takes only the choices that
tune would look at. Optuna's searches need `pip install 'mrfhw[benchmark]'`.

The job is that of `mrfhw tune --board icebreaker --job denoise --sites 16x32 --labels 8 --sweeps 200 --estimate mode --delay 1ms`.
"""

from __future__ import annotations

import itertools
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.cost.seconds import Delays
from mrfhw.fpga.boards import BOARDS
from mrfhw.machine.config import Config
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.estimates import Estimates, Limits
from mrfhw.tuning.job import Job
from mrfhw.tuning.points import SLICE, STORE, Point, add_point, points_of
from mrfhw.tuning.search import front, order
from mrfhw.tuning.space import Choice, Space, changed
from mrfhw.tuning.truth import matches, synthesized
from mrfhw.tuning.tuner import SHORTLIST, Asked, Tuned, Tuner

BOARD = BOARDS["icebreaker"]
FIXED = {"clock": 27_000_000, "baud": 3_000_000, "temperature_table": 16, "log_bytes": 256}
AXES: dict[str, tuple[int, ...]] = {
    "vector_bits": (0, 2), "lanes": (1, 2), "line_bits": (32, 64), "counter_bits": (4, 5, 6, 7, 8), "words": (32, 64, 128, 256)}
DELAYS = Delays(0.001)
WITHIN = 1.02  # of the seconds of the best
BEGUN = 6  # whole boards that tune knows when a replay begins
NO_FIT = 10.0  # seconds that stand for a choice which does not fit, where a search wants a number; more with the cells it is over


def job() -> Job:
    return Job.of("denoise", (16, 32), 8, 200, "mode", Config.preset(BOARD.preset))


def choices(of: Job) -> Iterator[tuple[tuple[int, ...], Choice]]:
    """Each choice of the slice with its values of AXES."""
    start = changed(Space(BOARD, of, {}).start, FIXED)
    for values in itertools.product(*AXES.values()):
        yield values, changed(start, dict(zip(AXES, values, strict=True)))


def known(points: list[Point], choice: Choice) -> Point | None:
    """The synthesis of a choice, of the present circuit."""
    return next((one for one in points if matches(one, choice, BOARD, "synthesized")), None)


def measure(number: int, store: Path, part: tuple[int, int]) -> None:
    """Synthesize so many choices that are not in the store, in an order that is spread over the slice."""
    points = list(points_of(store, [BOARD.family]))
    lacking = [choice for place, (_, choice) in enumerate(choices(job()))
               if place % part[1] == part[0] and known(points, choice) is None]
    for choice in tqdm(lacking[:number], unit="synthesis"):
        point = synthesized(choice, BOARD)
        point.options["drawn"] = SLICE
        add_point(point, store)



@dataclass(frozen=True)
class Slice:
    """Choices in the order of AXES, their points, and seconds by the model of runs, infinite where a choice does not fit."""

    job: Job
    choices: dict[tuple[int, ...], Choice]
    points: dict[tuple[int, ...], Point]
    seconds: dict[tuple[int, ...], float]
    there: int

    @classmethod
    def of(cls, points: list[Point]) -> Slice:
        """Raises ProblemError where some were not measured."""
        asked = job()
        found = dict(choices(asked))
        true = {values: point for values, choice in found.items() if (point := known(points, choice)) is not None}
        if len(true) < len(found):
            raise ProblemError(f"{len(found) - len(true)} of {len(found)} choices were not synthesized: give --measure")
        estimates = Estimates(BOARD, asked, Limits(), DELAYS, [])
        device = estimates.device
        seconds = {values: estimates.seconds(choice).seconds
                   if true[values].cells["logic"] <= device.lut and true[values].cells["ram"] <= device.ram else float("inf")
                   for values, choice in found.items()}
        return cls(asked, found, true, seconds, device.lut)

    def score(self, values: tuple[int, ...]) -> float:
        """The less the better, for a search that takes a number alone."""
        over = self.points[values].cells["logic"] / self.there
        return self.seconds[values] if self.seconds[values] < float("inf") else NO_FIT * over


Search = Callable[[Slice, Sequence[tuple[int, ...]], int], Iterator[tuple[int, ...]]]  # asked for, in turn; (slice, allowed, seed)


def at_random(of: Slice, allowed: Sequence[tuple[int, ...]], seed: int) -> Iterator[tuple[int, ...]]:
    yield from random.Random(seed).sample(list(allowed), len(allowed))


def climbing(of: Slice, allowed: Sequence[tuple[int, ...]], seed: int) -> Iterator[tuple[int, ...]]:
    """From a random choice to the first better one that differs in one value, and from another one where there is none."""
    rng = random.Random(seed)
    starts = rng.sample(list(allowed), len(allowed))
    for here in starts:
        yield here
        better = True
        while better:
            beside = [one for one in allowed if sum(map(int.__ne__, one, here)) == 1]
            better = False
            for one in rng.sample(beside, len(beside)):
                yield one
                if of.score(one) < of.score(here):
                    here, better = one, True
                    break


def _optuna(of: Slice, allowed: Sequence[tuple[int, ...]], sampler: Any, goals: int) -> Iterator[tuple[int, ...]]:
    """Choices that a sampler of Optuna's asks for. The whole slice has a number for each of AXES, a shortlist its rank."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * goals, sampler=sampler)
    whole = len(allowed) == len(of.choices)
    for _ in range(20 * len(allowed)):
        trial = study.ask()
        if whole:
            one = tuple(values[trial.suggest_int(name, 0, len(values) - 1)] for name, values in AXES.items())
        else:
            one = allowed[trial.suggest_int("rank", 0, len(allowed) - 1)]
        yield one
        trial.set_constraint("cells that are too many", of.points[one].cells["logic"] - of.there)
        study.tell(trial, [of.score(one), of.points[one].cells["logic"]][:goals])


def tpe(of: Slice, allowed: Sequence[tuple[int, ...]], seed: int) -> Iterator[tuple[int, ...]]:
    import optuna

    yield from _optuna(of, allowed, optuna.samplers.TPESampler(seed=seed), 1)


def nsga(of: Slice, allowed: Sequence[tuple[int, ...]], seed: int) -> Iterator[tuple[int, ...]]:
    import optuna

    yield from _optuna(of, allowed, optuna.samplers.NSGAIISampler(population_size=10, seed=seed), 2)


class _Replayed(Tuner):
    """`mrfhw tune` whose truths are those of the slice."""

    def __init__(self, of: Slice, store: Path):
        super().__init__(Asked(BOARD, BOARD.name, of.job, DELAYS, Limits(), float("inf"), 0, {}), None, store, lambda said: None)
        self.slice = of
        self.values = {choice: values for values, choice in of.choices.items()}
        self.asked_for: list[tuple[int, ...]] = []

    def _shortlist(self) -> list[Tuned]:
        found = [one for one in map(self.estimates.of, self.slice.choices.values()) if one.fits]
        short = {one.choice: one for one in [*front(found, SHORTLIST), *sorted(found, key=order)[:SHORTLIST]]}
        return [self._known(one) for one in short.values()]

    def _next(self) -> tuple[Tuned, str] | None:
        step = super()._next()
        return step if step is not None and step[1] in ("gates", "synthesized") else None

    def _ask(self, choice: Choice, level: str) -> Point:
        point = self.slice.points[self.values[choice]]
        if level == "gates":
            return Point(level, point.family, point.parameters, point.board, point.options, point.circuit, point.interface,
                         cells={kind: point.cells[kind] for kind in ("ram", "dsp")})
        self.asked_for.append(self.values[choice])
        return point

    def replay(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """What it asks for, in turn; and its first shortlist."""
        self.found = self._shortlist()
        short = [self.values[one.choice] for one in self.found]
        self._ask_tools()
        return self.asked_for, short


def replays(of: Slice, boards: list[Point], seed: int, optuna: bool = True) -> dict[str, int | None]:
    """Of each search: syntheses until its best is within WITHIN of the slice's; None where it ends before.

    boards: that tune may know, of which it gets BEGUN. optuna: its searches, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        for point in random.Random(seed).sample(boards, min(BEGUN, len(boards))):
            add_point(point, Path(folder))
        asked, short = _Replayed(of, Path(folder)).replay()
    found = {"tune": _until(of, iter(asked))}
    searches: dict[str, Search] = {"random": at_random, "hill climbing": climbing}
    if optuna:
        searches |= {"TPE": tpe, "NSGA-II": nsga}
    for name, search in searches.items():
        for where, allowed in (("whole", list(of.choices)), ("shortlist", short)):
            found[f"{name}, {where}"] = _until(of, search(of, allowed, seed))
    return found


def _until(of: Slice, asked: Iterator[tuple[int, ...]]) -> int | None:
    best, seen = min(of.seconds.values()), set[tuple[int, ...]]()
    for one in asked:
        seen.add(one)
        if of.seconds[one] <= WITHIN * best:
            return len(seen)
    return None

@click.command(cls=OneLineCommand)
@click.option("--measure", "number", type=click.IntRange(1), help="Syntheses to add to the points.")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), default=STORE, help="Folder of the points.")
@click.option("--part", type=(int, int), default=(0, 1), show_default=True, help="Of what --measure does: which of how many parts.")
@click.option("--replays", "count", type=click.IntRange(1), default=30, show_default=True)
def main(**options: Any) -> None:
    """A complete slice of choices."""
    if options["number"]:
        measure(options["number"], options["store"], options["part"])
        return
    points = list(points_of(options["store"], [BOARD.family]))
    of = Slice.of(points)
    boards = [one for one in points if str(one.options.get("drawn", "")).startswith("1/")]
    fit = sorted(seconds for seconds in of.seconds.values() if seconds < float("inf"))
    near = sum(one <= WITHIN * fit[0] for one in fit)
    click.echo(f"{len(of.choices)} choices, of which {len(fit)} fit; the best takes {fit[0]:.4f} s, the median of what fits "
               f"{statistics.median(fit):.4f}; {near} are within {WITHIN - 1:.0%} of the best; {len(boards)} whole boards")
    found = [replays(of, boards, seed) for seed in tqdm(range(options["count"]), unit="replay", leave=False)]
    for name in found[0]:
        counts = [float("inf") if (number := one[name]) is None else number for one in found]
        click.echo(f"{name:24} {statistics.median(counts):6g} syntheses in the median, {max(counts):g} at most")


if __name__ == "__main__":
    main()
