"""The table of a device's variants, and its points."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from studies.gpu import main


def test_variants_and_chains_of_a_device(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["--device", "0", "--rows", "12", "--cols", "9", "--labels", "5", "--chains", "1,3",
                                      "--points", str(tmp_path / "points.jsonl")])
    assert found.exit_code == 0, found.output
    assert "| the soonest, 3 chains a launch" in found.output
    points = [json.loads(line) for line in (tmp_path / "points.jsonl").read_text().splitlines()]
    assert len(points) == 10
    assert {(point["rows"], point["cols"], point["labels"], point["energy_bits"]) for point in points} == {(12, 9, 5, 16)}
    assert all(point["sweep_s"] > 0 and point["driver"] and point["device"] for point in points)


def test_wrong_chains_are_one_line() -> None:
    found = CliRunner().invoke(main, ["--chains", "1,x"])
    assert found.exit_code == 2
    assert "'1,x' has chains such as 1,8" in found.output
