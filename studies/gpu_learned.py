"""Which way of drawing is soonest on a device, learned from few: local memory by a forest, all of a variant by boosted trees.

    python -m studies.gpu_learned --measure 40 --device 0     # fields of any kind, each drawn in 16 ways; kept as points
    python -m studies.gpu_learned                             # what is learned of the kept points

A forest of 20 trees of any depth, 4 features a node, says by how much local memory for doubletons or for labels speeds a kernel up;
it is used where that is more than one. Accuracy by count: the share of kernels for which this is right; by penalty: where it is
wrong the ratio of the two speeds counts. Boosted trees say the logarithm of the speed over the plain variant, and the best one by
them is taken; the speed reached is a share of that of the best of the 16. Both are trained on some fields and asked about others,
repeated with other fields; of a forest a tenth of the fields is known.

Points are lines of JSON: device, driver, field, variant, seconds a sweep. What is learned of a processor says nothing of a GPU.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import Problem, Schedule
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.points import POINTS, KernelPoint, add_points, kept_points
from mrfhw.samplers.gpu.source import PLAIN, Variant
from mrfhw.samplers.gpu.tables import GpuTables
from mrfhw.samplers.gpu.tuning import GROUPS, timed
from mrfhw.system.errors import ProblemError

__all__ = ["Accuracy", "features", "forest_of", "measured", "reached", "ways"]

TREES, FEATURES_A_NODE = 20, 4
KNOWN = 0.1  # of the fields, for the forest
REPEATS = 20
TRAINED = (2, 5, 10, 20)  # fields that boosted trees know


def ways(rng: random.Random) -> list[Variant]:
    """The plain variant, and others of four groups, with and without each kind of local memory."""
    found = [PLAIN]
    for group in rng.sample(GROUPS, 4):
        keep, fixed = rng.random() < 0.5, rng.random() < 0.3
        found += [Variant(group, keep, doubles, labels, fixed) for doubles in (False, True) for labels in (False, True)]
    return found


def _field(rng: random.Random) -> Problem:
    """Of 4 to 128 labels, with doubletons by a formula or of two sides, with and without weights of edges."""
    rows, cols, labels = rng.randint(24, 160), rng.randint(24, 160), round(4 * 2 ** rng.uniform(0, 5))
    values = np.random.default_rng(rng.getrandbits(32))
    one_sided = rng.random() < 0.3
    return Problem(labels=labels, unary=values.integers(0, 64, (rows, cols, labels)), beta=4,
                   **({"doubleton": "table", "pairwise": values.integers(0, 16, (labels, labels))} if one_sided else {"tau": 3}),
                   edges=values.integers(0, 4, (rows, cols, 2)) if rng.random() < 0.5 else None, schedule=Schedule.constant(8.0))


def measured(device_name: str, number: int, seed: int) -> list[KernelPoint]:
    """Points of so many random fields."""
    device, rng, found = of_name(device_name), random.Random(seed), list[KernelPoint]()
    for _ in tqdm(range(number), unit="field"):
        tables = GpuTables(_field(rng))
        found += [KernelPoint.of(device, tables, variant, timed(device, tables, variant).sweep_s) for variant in ways(rng)]
    return [point for point in found if math.isfinite(point.sweep_s)]


def features(point: KernelPoint) -> list[float]:
    """What the published study has of a kernel, where it applies: reuse of labels and doubletons by a group, bytes of local memory,
    accesses to each, those that are not coalesced, operations, contextual accesses, registers, group and grid; and the variant."""
    across, down = point.group
    cells, labels = across * down, point.labels
    doubles_bytes, labels_bytes = 4 * point.doubles, (down + 2) * (2 * across + 2)
    weights = labels * (2 if point.keep else 3)
    return [4 * cells / labels_bytes, 4 * cells * labels / point.doubles, doubles_bytes, labels_bytes, 4, 4 * labels,
            labels * 4 * (1 if point.keep else 3), labels * (8 if point.keep else 20), labels * point.energy_bits / 8, weights,
            float(point.edges), labels if point.keep else 8, across, down, cells, math.ceil(point.cols / 2 / across) * math.ceil(
                point.rows / down), labels, float(point.keep), float(point.fixed), float(point.local_doubles),
            float(point.local_labels)]


@dataclass(frozen=True)
class Accuracy:
    """Of decisions: by count, by penalty, and the least score of one."""

    count: float
    penalty: float
    least: float


def _by_field(points: Sequence[KernelPoint]) -> list[list[KernelPoint]]:
    found: dict[tuple[object, ...], list[KernelPoint]] = {}
    for point in points:
        found.setdefault(point.field, []).append(point)
    return list(found.values())


def _pairs(fields: Sequence[Sequence[KernelPoint]]) -> list[tuple[list[float], float]]:
    """Of each kernel with local memory of a kind or both: its features, and the logarithm of its speed over the one without."""
    found = []
    for points in fields:
        without = {(one.group, one.keep, one.fixed): one.sweep_s for one in points if not (one.local_doubles or one.local_labels)}
        found += [(features(one), math.log(without[one.group, one.keep, one.fixed] / one.sweep_s)) for one in points
                  if (one.local_doubles or one.local_labels) and (one.group, one.keep, one.fixed) in without]
    return found


def forest_of(points: Sequence[KernelPoint], seed: int) -> Accuracy:
    """Whether local memory pays, on fields that the forest does not know."""
    from sklearn.ensemble import RandomForestRegressor

    fields = _by_field(points)
    random.Random(seed).shuffle(fields)
    known = max(1, round(KNOWN * len(fields)))
    train, test = _pairs(fields[:known]), _pairs(fields[known:])
    forest = RandomForestRegressor(n_estimators=TREES, max_features=FEATURES_A_NODE, random_state=seed)
    forest.fit([row for row, _ in train], [speed for _, speed in train])
    scores = [1.0 if (said > 0) == (true > 0) else math.exp(-abs(true))
              for said, (_, true) in zip(forest.predict([row for row, _ in test]), test, strict=True)]
    return Accuracy(statistics.mean(float(score == 1.0) for score in scores), statistics.mean(scores), min(scores))


def reached(points: Sequence[KernelPoint], trained: int, seed: int) -> dict[str, float]:
    """The share of the best variant's speed that a choice reaches, the mean of fields that nothing is known of."""
    from sklearn.ensemble import GradientBoostingRegressor

    fields = _by_field(points)
    random.Random(seed).shuffle(fields)
    rows, speeds = list[list[float]](), list[float]()
    for known in fields[:trained]:
        plain = next(one.sweep_s for one in known if one.variant == PLAIN)
        rows += [features(one) for one in known]
        speeds += [math.log(plain / one.sweep_s) for one in known]
    trees: Any = GradientBoostingRegressor(n_estimators=200, learning_rate=0.05, max_depth=4, random_state=seed).fit(rows, speeds)
    rng, found = random.Random(seed), dict[str, list[float]]()
    for unknown in fields[trained:]:
        best = min(one.sweep_s for one in unknown)
        chosen = {"boosted trees": unknown[int(np.argmax(trees.predict([features(one) for one in unknown])))],
                  "the plain variant": next(one for one in unknown if one.variant == PLAIN), "any": rng.choice(unknown)}
        for name, one in chosen.items():
            found.setdefault(name, []).append(best / one.sweep_s)
    return {name: statistics.mean(shares) for name, shares in found.items()}


@click.command(cls=OneLineCommand)
@click.option("--measure", type=click.IntRange(0, 10_000), default=0, metavar="N", help="Draw N fields and keep what they take.")
@click.option("--device", default="", help="Number or a part of its name.  [default: the first GPU]")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the fields.")
@click.option("--points", "store", type=click.Path(path_type=Path), default=POINTS, help="Folder of points.")
def main(measure: int, device: str, seed: int, store: Path) -> None:
    """Measure kernels, or say what is learned of those that are kept."""
    if measure:
        add_points(measured(device, measure, seed), store)
    points = kept_points(store)
    if not points:
        raise ProblemError(f"{store} has no points of a device: give --measure N, or another --points")
    for name in sorted({point.device for point in points}):
        own = [point for point in points if point.device == name]
        fields = len(_by_field(own))
        click.echo(f"{name}: {len(own)} kernels of {fields} fields")
        if fields < 2 * max(TRAINED):
            raise ProblemError(f"{fields} fields are known of {name}; at least {2 * max(TRAINED)} are split: give --measure")
        forests = [forest_of(own, number) for number in range(REPEATS)]
        click.echo(f"  local memory, trained on {KNOWN:.0%}: right by count {_mean(forests, 'count'):.1%}, by penalty "
                   f"{_mean(forests, 'penalty'):.1%}, least score {min(one.least for one in forests):.0%}; published 86 %, nearly "
                   "95 %, 30 %, of another GPU's kernels")
        for trained in TRAINED:
            found = [reached(own, trained, number) for number in range(REPEATS)]
            click.echo(f"  {trained} fields known, share of the best variant's speed: " + ", ".join(
                f"{way} {statistics.mean(one[way] for one in found):.1%}" for way in found[0]))


def _mean(found: Sequence[Accuracy], name: str) -> float:
    return statistics.mean(getattr(one, name) for one in found)


if __name__ == "__main__":
    main()
