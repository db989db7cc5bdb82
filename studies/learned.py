"""Learned models beside the additive one: cells of machines, and fast choices for a job without asking tools.

    python -m studies.learned             # cells, fit and speed
    python -m studies.learned --problems 10 25 50 --tests 20

Forests and boosted trees (scikit-learn) are trained on the points that are kept. A device is its capacities, not its name. Machines
recur in several families, so that splits are by machine; and by board where it is to be another one. After Figure 6 of a study of
forests of 20 trees of any depth and 4 features a node, and one of boosted trees of the logarithm of a speed over a reference.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import DEVICES, Device
from mrfhw.cost.logic import GROUPS, group_of
from mrfhw.cost.seconds import Delays
from mrfhw.fpga.boards import BOARDS
from mrfhw.machine.config import Config
from mrfhw.system.progress import working
from mrfhw.tuning.estimates import Estimates, Limits
from mrfhw.tuning.job import Job
from mrfhw.tuning.points import Point, points_of
from mrfhw.tuning.space import Choice, Space

__all__ = ["Cells", "cells", "fits", "speeds"]

DEVICE_OF = {"ecp5": "LFE5U-12F", "ice40": "iCE40UP5K", "gowin": "GW1NR-9C", "xilinx": "xc7a35t", "cyclone5": "5CSEBA6"}
TREES, FEATURES_A_NODE = 20, 4
LEAST_TRAINED = 8  # machines from which an additive model is made
INVALID = (0.0, 0.25, 0.5, 0.75, 1.0)  # scores of choices that break a limit


def _forest(seed: int, classes: bool = False) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    return kind(n_estimators=TREES, max_features=FEATURES_A_NODE, random_state=seed)


def _boosted(seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=200, learning_rate=0.05, max_depth=4, random_state=seed)


def _features(config: Config, device: Device) -> list[float]:
    """Of a machine on a device: what the additive model is linear in, and the device's capacities."""
    of = GROUPS["plain"](config)
    return [*of.values(), math.log(sum(of.values())), device.lut, device.ff, device.ram, device.dsp]


@dataclass(frozen=True)
class _Sample:
    """A machine of a family. machine: by its parameters, the same in each family."""

    family: str
    machine: str
    group: str
    row: list[float]
    terms: list[float]
    lut: int

    @classmethod
    def of(cls, point: Point) -> _Sample:
        config = point.config
        group = group_of(config)
        return cls(point.family, str(sorted(config.to_dict().items(), key=str)), group,
                   _features(config, DEVICES[DEVICE_OF[point.family]]), list(GROUPS[group](config).values()),
                   point.cells.get("logic", point.cells["lut"]))


def samples() -> list[_Sample]:
    """The machines that were synthesized alone."""
    return [_Sample.of(one) for family in DEVICE_OF for one in points_of(families=[family])
            if one.truth == "synthesized" and one.board is None and not one.failure]


def _additive(train: list[_Sample], test: list[_Sample]) -> np.ndarray:
    """Logic of the tests by models that are linear in their features, of each family and group by itself."""
    from scipy.optimize import nnls

    found = np.zeros(len(test))
    for key in {(one.family, one.group) for one in test}:
        own = [one for one in train if (one.family, one.group) == key] or [one for one in train if one.group == key[1]] or train
        rows, lut = np.array([one.terms for one in own if len(one.terms) == len(own[0].terms)]), np.array(
            [one.lut for one in own if len(one.terms) == len(own[0].terms)], float)
        scale = rows.max(0).clip(1e-9)
        coefficients = nnls(rows / scale / lut[:, None], np.ones(len(lut)))[0] / scale
        for n, one in enumerate(test):
            if (one.family, one.group) == key:
                alike = len(one.terms) == len(coefficients)
                found[n] = float(np.array(one.terms) @ coefficients) if alike else float(np.median(lut))
    return found.clip(1)


@dataclass(frozen=True)
class Cells:
    """Relative errors of logic on machines that a model had not seen. median, largest: by model."""

    median: dict[str, float]
    largest: dict[str, float]


def folds(held: list[_Sample], by: Callable[[_Sample], str], count: int,
          seed: int) -> Iterator[tuple[list[_Sample], list[_Sample]]]:
    """(train, test), each machine, or whatever `by` says, in one test only."""
    names = sorted({by(one) for one in held})
    random.Random(seed).shuffle(names)
    for n in range(min(count, len(names))):
        out = set(names[n::count])
        yield [one for one in held if by(one) not in out], [one for one in held if by(one) in out]


def cells(held: list[_Sample], by: Callable[[_Sample], str], count: int = 10, seed: int = 1) -> Cells:
    """Errors of the additive model, of trees alone and of trees on what it leaves, by cross-validation."""
    errors: dict[str, list[float]] = {}
    for train, test in folds(held, by, count, seed):
        base, of_train = _additive(train, test), _additive(train, train)
        true = np.array([one.lut for one in test], float)
        rows, tests = np.array([one.row for one in train]), np.array([one.row for one in test])
        logs = np.log([one.lut for one in train])
        found = {"additive": base}
        for name, make in (("forest", _forest), ("boosted trees", _boosted)):
            found[name] = np.exp(make(seed).fit(rows, logs).predict(tests))
            found[f"additive and {name}"] = base * np.exp(make(seed).fit(rows, logs - np.log(of_train)).predict(tests))
        for name, values in found.items():
            errors.setdefault(name, []).extend(np.abs(values / true - 1))
    return Cells({name: float(np.median(each)) for name, each in errors.items()},
                 {name: float(np.max(each)) for name, each in errors.items()})


def fits(held: list[_Sample], share: float = 0.1, seed: int = 1) -> dict[str, tuple[float, float, float]]:
    """(count-based accuracy, penalty-weighted accuracy, least score) of whether machines fit, by model, trained on a share of them.

    The limit is the family's median, so that half fit. A right decision scores 1; a wrong one the ratio of what is needed and
    what there is, the smaller over the larger.
    """
    limit = {family: statistics.median(one.lut for one in held if one.family == family) for family in {one.family for one in held}}
    names = sorted({one.machine for one in held})
    random.Random(seed).shuffle(names)
    known = set(names[:max(LEAST_TRAINED, round(share * len(names)))])
    train, test = [one for one in held if one.machine in known], [one for one in held if one.machine not in known]
    rows, tests = np.array([one.row for one in train]), np.array([one.row for one in test])
    true = np.array([one.lut <= limit[one.family] for one in test])
    base, of_train = _additive(train, test), _additive(train, train)
    most, logs = np.array([limit[one.family] for one in test]), np.log([one.lut for one in train])
    learned = _boosted(seed).fit(rows, logs - np.log(of_train)).predict(tests)
    forest = _forest(seed, classes=True).fit(rows, [one.lut <= limit[one.family] for one in train])
    said = {
        "forest": forest.predict(tests).astype(bool),
        "additive": base <= most, "additive and boosted trees": base * np.exp(learned) <= most}
    ratio = np.array([min(one.lut, limit[one.family]) / max(one.lut, limit[one.family]) for one in test])
    found = {}
    for name, decided in said.items():
        scores = np.where(decided == true, 1.0, ratio)
        found[name] = (float((decided == true).mean()), float(scores.mean()), float(scores.min()))
    return found


# -- speed


def _problem(rng: random.Random) -> tuple[Job, float]:
    """A job for the iCEBreaker, and its delay."""
    shape = rng.choice([(8, 16), (16, 16), (16, 32), (12, 24)])
    job = Job.of(rng.choice(["stereo", "motion"]), shape, rng.choice([4, 8, 9, 16]), rng.choice([20, 50, 100, 200, 500]),
                 rng.choice(["mode", "mean", "last"]), Config.preset("icebreaker"))
    return job, rng.choice([0.0, 0.001, 0.002, 0.004])


@dataclass
class _Task:
    """A job with its choices. true: the speed of a choice over the preset's, by the model of seconds; None where it breaks a limit.
    The model stands for the truth here: compiled boards take as long within 10 % (tests/host/test_run_seconds.py)."""

    job: Job
    space: Space
    estimates: Estimates
    asked: int = 0

    @classmethod
    def of(cls, rng: random.Random) -> _Task:
        job, delay = _problem(rng)
        board = BOARDS["icebreaker"]
        return cls(job, Space(board, job, {}), Estimates(board, job, Limits(), Delays(delay), points_of(families=["ice40"])))

    def true(self, choice: Choice) -> float | None:
        self.asked += 1
        found = self.estimates.of(choice)
        return self.reference / found.seconds if found.fits else None

    @property
    def reference(self) -> float:
        return self.estimates.seconds(self.space.preset).seconds

    def drawn(self, rng: random.Random) -> Choice:
        """The preset with some parameters changed."""
        choice = self.space.start
        for name in rng.sample(sorted(self.space.values), rng.randint(1, 6)):
            choice = self.space.with_value(choice, name, rng.choice(self.space.values[name])) or choice
        return choice

    def row(self, choice: Choice) -> list[float]:
        """Features of the board, the job and the choice."""
        device, run, c = self.estimates.device, self.job.run, choice.config
        need = Cost.of(c, device=device, link=choice.on(self.space.board).link(choice.baud)).needs
        return [device.lut, device.ram, device.dsp, *self.job.problem.shape, self.job.problem.labels, run.sweeps, run.counted,
                float(run.estimate == "mean"), float(run.estimate == "last"), self.estimates.delays.seconds,
                *_features(c, device)[:-4], need.shares["lut"][0], need.ram, c.counter_bits, c.spus, c.lanes,
                c.mesh_rows * c.mesh_cols, c.tile_rows, c.tile_cols, choice.clock_hz, choice.baud, choice.words, choice.log_bytes]

    def climbed(self, score: Callable[[Choice], float], rng: random.Random, steps: int) -> Choice:
        """Hill climbing from the preset on a score, a random neighbour at a time."""
        here = self.space.start
        best = score(here)
        for _ in range(steps):
            name = rng.choice(sorted(self.space.values))
            other = self.space.with_value(here, name, rng.choice(self.space.values[name]))
            if other is not None and (value := score(other)) > best:
                here, best = other, value
        return here


def speeds(problems: tuple[int, ...], tests: int, each: int, seed: int = 1) -> dict[str, Any]:
    """Geometric means of speeds over the preset on jobs that were not trained on: of searches that ask the truth `each` times, and
    of hill climbing on boosted trees, which ask it never, by training sets and by the score of choices that break a limit.

    A choice that breaks a limit counts as the preset, which would be built in its place.
    """
    rng = random.Random(seed)
    held = [_Task.of(rng) for _ in range(max(problems))]
    new = [_Task.of(rng) for _ in range(tests)]
    rows: list[list[tuple[list[float], float | None]]] = []
    for task in held:
        chosen = [task.drawn(rng) for _ in range(each)]
        rows.append([(task.row(one), task.true(one)) for one in chosen])
    found: dict[str, Any] = {}

    def mean(name: str, pick: Callable[[_Task], Choice]) -> None:
        found[name] = math.exp(statistics.mean(math.log(max(1.0, task.true(pick(task)) or 1.0)) for task in new))

    def truth(task: _Task) -> Callable[[Choice], float]:
        return lambda one: task.true(one) or 0.0

    mean("random", lambda task: max((task.drawn(rng) for _ in range(each)), key=truth(task)))
    mean("one at a time", lambda task: max(list(dict(task.space.neighbours(task.space.start)).values())[:each], key=truth(task)))
    mean("hill climbing on the truth", lambda task: task.climbed(truth(task), rng, each))
    for count in problems:
        for invalid in INVALID:
            data = [one for of in rows[:count] for one in of]
            # A score of 0 has no logarithm: that of the slowest valid choice stands for it.
            floor = min([speed for _, speed in data if speed], default=0.1)
            values = np.log([speed if speed else max(invalid, floor) for _, speed in data])
            trees = _boosted(seed).fit(np.array([row for row, _ in data]), values)
            mean(f"trees of {count} problems, invalid {invalid:g}", _by(trees, rng, each))
            if invalid == INVALID[2]:
                from scipy.stats import spearmanr

                ranks = []
                for task in new:
                    some = [(one, speed) for one in (task.drawn(rng) for _ in range(each)) if (speed := task.true(one))]
                    if len(some) > 3:
                        ranks.append(spearmanr([speed for _, speed in some],
                                               trees.predict([task.row(one) for one, _ in some])).statistic)
                known = [rank for rank in ranks if not math.isnan(rank)]
                found[f"Spearman, trees of {count} problems"] = statistics.mean(known) if known else math.nan
    return found


def _by(trees: Any, rng: random.Random, steps: int) -> Callable[[_Task], Choice]:
    """Hill climbing on what trees say."""
    return lambda task: task.climbed(lambda one: float(trees.predict([task.row(one)])[0]), rng, steps)


@click.command()
@click.option("--problems", multiple=True, type=int, default=(10, 25, 50), show_default=True, help="Jobs that are trained on.")
@click.option("--tests", type=int, default=20, show_default=True, help="Jobs that are asked about.")
@click.option("--each", type=int, default=60, show_default=True, help="Choices that are tried of each.")
@click.option("--no-speed", is_flag=True, help="Cells and fits alone.")
def main(problems: tuple[int, ...], tests: int, each: int, no_speed: bool) -> None:
    """Print how good learned models are beside the additive one."""
    held = samples()
    click.echo(f"{len(held)} machines, {len({one.machine for one in held})} of them different")
    for what, by in (("machines left out", lambda one: one.machine), ("families left out", lambda one: one.family)):
        with working(what):
            found = cells(held, by)
        for name in found.median:
            click.echo(f"logic, {what}: {name}: median error {found.median[name]:.1%}, largest {found.largest[name]:.1%}")
    for name, (count, weighted, least) in fits(held).items():
        click.echo(f"fits, trained on 10 %: {name}: {count:.1%} right, {weighted:.1%} by penalty, least score {least:.0%}")
    if not no_speed:
        with working("searching"):
            said = speeds(tuple(problems), tests, each)
        for name, value in said.items():
            click.echo(f"{name}: {value:.3f}" if name.startswith("Spearman") else f"speed over the preset, {name}: {value:.2f}")


if __name__ == "__main__":
    main()
