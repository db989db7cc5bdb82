"""What models of cells leave unsaid, from machines that were tried."""

from __future__ import annotations

import pytest

from mrfhw.machine.config import Config
from mrfhw.tuning.residuals import LESS, UNTRIED, Residuals

pytestmark = pytest.mark.claim("tuning", "what a truth says beyond its estimate holds for machines that are alike")
OWN = Config.preset("icebreaker")


def test_nothing_tried_says_what_holds_otherwise() -> None:
    assert Residuals.of([], 70.0).of_machine(OWN, 32) == 70.0


def test_the_same_machine_has_the_mean_of_its_own() -> None:
    tried = [(OWN, 32, 100.0), (OWN, 32, 120.0), (OWN.changed(counter_bits=5), 32, 500.0)]
    assert Residuals.of(tried, 0.0).of_machine(OWN, 32) == 110.0


@pytest.mark.parametrize("differ", [1, 2, 3])
def test_a_machine_counts_less_for_each_parameter_that_differs(differ: int) -> None:
    other = OWN.changed(**dict(list({"counter_bits": 5, "line_bits": 64, "energy_bits": 9}.items())[:differ]))
    weight = LESS ** -differ
    assert Residuals.of([(OWN, 32, 100.0)], 0.0).of_machine(other, 32) == pytest.approx(100 * weight / (weight + UNTRIED))


def test_many_machines_of_one_place_count_no_more_elsewhere_than_one() -> None:
    """Nine times the same one, and one of another place: between the two both count the same."""
    far = OWN.changed(counter_bits=5, line_bits=64)
    between = OWN.changed(counter_bits=5)
    found = Residuals.of([*[(OWN, 32, 0.0)] * 9, (far, 32, 100.0)], 0.0).of_machine(between, 32)
    assert found == pytest.approx(50, abs=10)
