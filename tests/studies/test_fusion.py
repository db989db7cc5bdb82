"""The rule by which two maps of disparities become one, and `python -m studies.fusion`."""

import numpy as np
import pytest
from click.testing import CliRunner

from studies import fusion
from studies.fusion import COLUMNS, SURER, TOGETHER, fused, main, moved


def test_the_rule():
    first, sure = np.array([[5.0, 5.0, 5.0, 5.0]]), np.full((1, 4), 0.5)
    second = np.array([[5 + TOGETHER / 2, 9.0, 9.0, np.nan]])
    found = fused(first, sure, second, np.array([[0.0, 0.5 + SURER / 2, 0.5 + 2 * SURER, np.nan]]))
    assert found.tolist() == [[5 + TOGETHER / 4, 5.0, 9.0, 5.0]]


def test_a_map_is_moved_and_the_nearest_counts():
    disparity = np.array([[2.0, 1.0, 0.0, 3.0, 0.0, 9.0]])
    found, beside = moved(disparity, 10 * disparity, hidden=np.array([[False, False, False, False, True, False]]))
    assert np.array_equal(found, [[np.nan, np.nan, 2.0, np.nan, np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(beside, 10 * found, equal_nan=True)


@pytest.mark.slow
def test_table(monkeypatch):
    monkeypatch.setattr(fusion, "SIZE", (48, 64))
    ran = CliRunner().invoke(main, ["--scenes", "1", "--held-back", "2"])
    assert ran.exit_code == 0, ran.output
    head, *rows = [line.split(",") for line in ran.stdout.splitlines()]
    assert tuple(head) == COLUMNS
    of = [("1", "chosen on"), ("2", "held back"), ("mean", "chosen on"), ("mean", "held back")]
    assert [row[:3] for row in rows] == [[*one, method] for one in of for method in ("one map", "inverse variances", "fused")]
    numbers = np.array([row[3:] for row in rows[:6]], float)
    assert (np.diff(numbers[:, :3]) <= 0).all()  # fewer pixels are off by more
    assert (numbers[:, 3] > 0).all()
