"""The search for choices that serve a job best, on estimates: steps to better neighbours from several starts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

from mrfhw.system.errors import ProblemError
from mrfhw.tuning.estimates import Estimate, Estimates
from mrfhw.tuning.space import TILING, Choice, Space

__all__ = ["front", "order", "searched"]

ALIKE = 0.002  # of seconds that count as the same
FRONT_MOST = 8
PAIRS = 300  # of parameters changed at random, where no single step is better


def order(found: Estimate) -> tuple[float, float, int, float]:
    """Less is better: what is missed, then seconds, of about the same the cells, then the deviation."""
    seconds = found.seconds
    alike = seconds if math.isinf(seconds) else float(round(math.log(seconds) / ALIKE))
    return found.violation, alike, found.logic[0], found.deviation


def searched(space: Space, estimates: Estimates, most: int, say: Callable[[str], object], seed: int = 1) -> list[Estimate]:
    """All that were looked at and keep every limit. most: choices that are looked at, though one start is searched to its end.

    Raises ProblemError where none keeps them.
    """
    found = dict[Choice, Estimate]()
    starts = [space.start, *_starts(space)]
    for number, start in enumerate(starts):
        if len(found) >= most:
            say(f"{number} of {len(starts)} starts were searched, as {most} machines were looked at")
            break
        if start not in found:
            _climb(space, estimates, start, found)
    _pairs(space, estimates, min(found.values(), key=order), found, most, random.Random(seed))
    kept = [one for one in found.values() if one.fits]
    if not kept:
        nearest = min(found.values(), key=order)
        raise ProblemError(f"no machine of {space.board.name} does the job within the limits; the nearest misses: "
                           f"{nearest.missed}: give a smaller job, a wider bound, or fewer --fix")
    return kept


def _starts(space: Space) -> Iterable[Choice]:
    """The narrowest machine that does the job, and from it each way to lay the field out."""
    least = space.start
    for name, values in space.values.items():
        if name not in (TILING, "clock", "baud", "words", "log_bytes", "spus", "lanes"):
            for value in values:
                if (narrow := space.with_value(least, name, value)) is not None:
                    least = narrow
                    break
    yield least
    for tiling in space.values[TILING][1:]:
        if (other := space.with_value(least, TILING, tiling)) is not None:
            yield other


def _climb(space: Space, estimates: Estimates, start: Choice, found: dict[Choice, Estimate]) -> None:
    """From a start, one parameter after the other to its best value, until none is better."""
    here = found[start] = estimates.of(start)
    better = True
    while better:
        better = False
        for name, values in space.values.items():
            for value in values:
                choice = space.with_value(here.choice, name, value)
                if choice is None or choice == here.choice or choice in found:
                    continue
                one = found[choice] = estimates.of(choice)
                if order(one) < order(here):
                    here, better = one, True


def _pairs(space: Space, estimates: Estimates, best: Estimate, found: dict[Choice, Estimate], most: int,
           rng: random.Random) -> None:
    """Two parameters at a time, at random."""
    names = [name for name, values in space.values.items() if len(values) > 1]
    for _ in range(PAIRS):
        if len(found) >= most or len(names) < 2:
            return
        choice: Choice | None = best.choice
        for name in rng.sample(names, 2):
            choice = choice and space.with_value(choice, name, rng.choice(space.values[name]))
        if choice is None or choice in found:
            continue
        one = found[choice] = estimates.of(choice)
        if order(one) < order(best):
            _climb(space, estimates, choice, found)
            best = min(found.values(), key=order)


def front(found: Iterable[Estimate], most: int = FRONT_MOST) -> list[Estimate]:
    """Those that no other one beats in seconds, cells and deviation, `most` of them, the fastest first.

    Differences of less than 1 % of the seconds or cells, and of a tenth of the deviation, count as none, so that a front has few.
    """
    kept: list[Estimate] = []
    for one in sorted(found, key=order):
        if not any(one.seconds > 0.99 * other.seconds and one.logic[0] > 0.99 * other.logic[0]
                   and one.deviation > 0.9 * other.deviation for other in kept):
            kept.append(one)
    if len(kept) <= most:
        return kept
    step = (len(kept) - 1) / (most - 1)
    return [kept[round(n * step)] for n in range(most)]
