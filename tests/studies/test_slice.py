"""Searches that are replayed on a slice of a board's choices, on cells that are made up."""

from __future__ import annotations

import random

import pytest

from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.points import Point
from mrfhw.tuning.truth import link_digest
from studies import slice as slices
from studies.slice import AXES, BOARD, Slice, at_random, climbing, replays

pytestmark = pytest.mark.claim("tuning", "searches are compared on choices that are all known, by the syntheses they ask for")


def made_up(cells: dict[str, int]) -> list[Point]:
    """A point for each choice: vectors, lanes, a wider line and a larger memory take cells."""
    found = []
    for (vectors, lanes, line, bits, words), choice in slices.choices(slices.job()):
        logic = cells["own"] + 100 * vectors + 1200 * (lanes - 1) + 3 * line + 10 * bits + words // 2
        found.append(Point("synthesized", BOARD.family, choice.config.to_dict(), BOARD.name,
                           {**choice.options, "link": link_digest(1), "outstanding": 1}, "00", INTERFACE_VERSION,
                           cells={"logic": logic, "ram": 25, "dsp": 4}, seconds=50.0))
    return found


@pytest.mark.slow
def test_a_slice_is_whole_and_searches_find_its_best() -> None:
    points = made_up({"own": 4900})
    assert len(points) == 160
    of = Slice.of(points)
    assert 0 < sum(seconds < float("inf") for seconds in of.seconds.values()) < 160
    best = min(of.seconds.values())
    for search in (at_random, climbing):
        asked = list(search(of, list(of.choices), 1))
        assert set(asked) == set(of.choices)
        assert min(of.seconds[one] for one in asked) == best
    assert [of.seconds[one] for one in climbing(of, list(of.choices), 3)][-1] >= best
    found = replays(of, [], 1, optuna=False)
    assert found["random, whole"] is not None
    assert found["tune"] is not None
    assert found["tune"] < 20
    assert found == replays(of, [], 1, optuna=False)


@pytest.mark.slow
def test_a_slice_that_is_not_whole_is_one_line() -> None:
    points = made_up({"own": 4900})
    random.Random(1).shuffle(points)
    with pytest.raises(ProblemError, match=r"^3 of 160 choices were not synthesized: give --measure$"):
        Slice.of(points[3:])


def test_axes_are_of_the_space() -> None:
    assert set(AXES) <= {"words", *(p.name for p in slices.Config.space())}
