"""Queues of a pipeline: the published lemmas against a schedule that is played, sizes under a budget, and mergings."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from mrfhw.tuning.queues import (
    Node,
    best_mergings,
    lcm,
    merged_time,
    mergings,
    real_sizes,
    schedule_switches,
    sizes,
    switch_bound,
    switch_rate,
    switch_rates,
)

LEMMAS = pytest.mark.claim("tuning", "the published rules for queues under a budget are those of a schedule that is played")


def drawn(seed: int) -> tuple[list[int], list[Fraction]]:
    rng = random.Random(seed)
    nodes = rng.randint(3, 5)
    return ([rng.randint(1, 8) for _ in range(nodes - 1)], [Fraction(rng.randint(1, 4), rng.randint(1, 4)) for _ in range(nodes)])


@LEMMAS
@pytest.mark.parametrize(("a", "b", "least"), [
    ("1/2", "1/3", "1"), ("3/4", "5/6", "15/2"), ("4", "6", "12"), ("2/3", "2/3", "2/3")])
def test_the_least_common_multiple_of_rationals(a: str, b: str, least: str) -> None:
    found = lcm(Fraction(a), Fraction(b))
    assert found == Fraction(least)
    assert (found / Fraction(a)).denominator == (found / Fraction(b)).denominator == 1


@LEMMAS
@pytest.mark.parametrize("seed", range(40))
def test_switches_are_those_of_the_schedule(seed: int) -> None:
    """Over whole periods of all nodes, in which the queues come back to where they were."""
    capacities, gains = drawn(seed)
    period = Fraction(1)
    for one, product in zip(capacities, itertools.accumulate(gains, lambda a, b: a * b), strict=False):
        period = lcm(period, Fraction(one) / product)
    inputs = math.ceil(25 * period)
    found = schedule_switches(capacities, gains, inputs)
    # What stands in the queues at the end is not consumed: less than a period in 25.
    products = [Fraction(1), *itertools.accumulate(gains, lambda a, b: a * b)]
    for node, wanted in enumerate(switch_rates(capacities, gains), 1):
        assert found[node] == pytest.approx(wanted, rel=0.04), (capacities, gains, node)
    whole = sum(rate * product for rate, product in zip(found, products, strict=False))
    assert whole == pytest.approx(switch_rate(capacities, gains), rel=0.05)


@LEMMAS
@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_at_most_twice_the_rate(seed: int) -> None:
    capacities, gains = drawn(seed)
    rate, bound = switch_rate(capacities, gains), switch_bound(capacities, gains)
    assert rate <= bound <= 2 * rate
    assert switch_bound([3], [Fraction(1), Fraction(1)]) == switch_rate([3], [Fraction(1), Fraction(1)])


@LEMMAS
@pytest.mark.parametrize("seed", range(10))
def test_real_sizes_have_the_least_bound(seed: int) -> None:
    rng = random.Random(seed)
    gains, item_bytes, total = [rng.uniform(0.1, 4) for _ in range(4)], [rng.choice([1, 4, 12]) for _ in range(4)], 4096.0

    def bound(capacities: list[float]) -> float:
        return sum(2 * math.prod(gains[:n + 1]) / c for n, c in enumerate(capacities))

    best = real_sizes(total, gains, item_bytes)
    assert sum(b * c for b, c in zip(item_bytes, best, strict=True)) == pytest.approx(total)
    for _ in range(200):
        share = [rng.random() for _ in gains]
        other = [one * total / sum(share) / b for one, b in zip(share, item_bytes, strict=True)]
        assert bound(other) >= bound(best) * (1 - 1e-9)


@LEMMAS
def test_whole_sizes_keep_the_budget_and_the_minima() -> None:
    found = sizes(1000, [1.0, 0.25, 8.0], [4, 4, 8], [1, 60, 2])
    assert found[1] == 60  # more than its share
    assert sum(b * c for b, c in zip((4, 4, 8), found, strict=True)) in range(993, 1001)
    free = sizes(1000, [1.0, 0.25, 8.0], [4, 4, 8], [1, 1, 1])
    assert free == [pytest.approx(one, abs=1) for one in real_sizes(1000, [1.0, 0.25, 8.0], [4, 4, 8])]
    with pytest.raises(ValueError, match="the least sizes take more than 10 bytes"):
        sizes(10, [1.0], [4], [3])


# Table 1 of the publication, of BLAST; the overhead of the third node as it gives the published times (printed as 0.1).
BLAST = [Node(0.379, 1, 0.23, 0.01), Node(1.920, 5, 0.70, 0.03), Node(0.0331, 1, 0.24, 0.01), Node(9e-6, 1, 2.47, 0.01)]
TABLE_2 = {(1, 2, 3, 4): 0.758, (1, 3, 4): 1.023, (2, 4): 2.934, (2, 3, 4): 1.198, (1, 2, 4): 2.494, (3, 4): 2.194,
           (1, 4): 5.642, (4,): 14.468}


@LEMMAS
def test_the_published_times_of_mergings() -> None:
    for ends, published in TABLE_2.items():
        assert merged_time(BLAST, ends) == pytest.approx(published, rel=0.005), ends
    assert [ends for _, ends in best_mergings(BLAST)][:2] == [(1, 2, 3, 4), (1, 3, 4)]
    assert sorted(mergings(4)) == sorted(TABLE_2)
    printed = [*BLAST[:2], Node(0.0331, 1, 0.24, 0.1), BLAST[3]]
    assert merged_time(printed, (1, 2, 3, 4)) == pytest.approx(1.09 * 0.758, rel=0.01)
    assert all(ends != (4,) for _, ends in best_mergings(BLAST, most=4))
