"""Learned models beside the additive one: splits, and what is printed."""

from __future__ import annotations

import pytest

from studies.learned import cells, fits, folds, samples, speeds

CLAIM = pytest.mark.claim("tuning", "learned models are compared with the additive one on machines that neither has seen")


@CLAIM
def test_a_machine_is_on_one_side() -> None:
    """However many families it recurs in."""
    held = samples()
    assert len(held) > 170
    seen = []
    for train, test in folds(held, lambda one: one.machine, 10, 1):
        assert not {one.machine for one in train} & {one.machine for one in test}
        seen += test
    assert sorted(map(id, seen)) == sorted(map(id, held))


@CLAIM
@pytest.mark.slow
def test_the_additive_model_is_not_beaten() -> None:
    held = samples()
    found = cells(held, lambda one: one.machine)
    assert found.median["additive"] < 0.12
    for learned in ("forest", "boosted trees"):
        assert found.median["additive"] < found.median[learned] < 0.25
        assert found.median["additive"] < found.median[f"additive and {learned}"]
    for count, weighted, least in fits(held).values():
        assert 0.7 < count < weighted < 1
        assert 0 < least < 1


@pytest.mark.slow
def test_speeds_of_searches() -> None:
    """Few jobs and few choices: that all ways are there, and that none is worse than the preset."""
    found = speeds((3,), 2, 6)
    assert {"random", "one at a time", "hill climbing on the truth", "trees of 3 problems, invalid 0.5"} <= found.keys()
    assert all(value >= 1 for name, value in found.items() if not name.startswith("Spearman"))
