"""The store of machines that tools have tried."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mrfhw.machine.config import Config
from mrfhw.system.errors import ProblemError
from mrfhw.tuning import points
from mrfhw.tuning.points import STORE, Point, add_point, points_of, read_points

STORED = pytest.mark.claim(
    "tuning", "machines that tools have tried are kept as lines that are only added to; a damaged one is named")
POINT = Point("synthesized", "ice40", Config.preset("smallest").to_dict(), board="icebreaker", options={"clock_hz": 12_000_000},
              circuit="00", interface=12, tools={"yosys": "0.70"}, cells={"lut": 3, "ram": 2}, seconds=1.5)


@STORED
def test_what_is_added_is_read_again(tmp_path: Path) -> None:
    failed = Point("placed", "ice40", POINT.parameters, board="icebreaker", seed=3, seconds=60.0, failure="not within 1 minute")
    for one in (POINT, failed):
        add_point(one, tmp_path / "points")
    assert list(points_of(tmp_path / "points")) == [POINT, failed]
    assert read_points(tmp_path / "points" / "ice40.jsonl")[0].config == Config.preset("smallest")
    assert list(points_of(tmp_path / "points", ["ecp5"])) == []
    before = (tmp_path / "points" / "ice40.jsonl").read_bytes()
    add_point(POINT, tmp_path / "points")
    assert (tmp_path / "points" / "ice40.jsonl").read_bytes() == before + before.split(b"\n")[0] + b"\n"


@STORED
def test_the_kept_store_is_whole() -> None:
    kept = list(points_of())
    assert len(kept) >= 173
    assert {path.stem for path in STORE.glob("*.jsonl")} == {one.family for one in kept}
    for one in kept:
        assert Point.of_line(one.line) == one


@STORED
@pytest.mark.parametrize(("damage", "why"), [
    ("{", "it is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ("[]", "it is no object"), ("", "it is no JSON: Expecting value: line 1 column 1 (char 0)"),
    ('{"truth": "synthesized"}', "it has no family"),
    ({"cells": [3]}, "its cells is [3]"), ({"cells": {"lut": -1}}, "its cells are no counts"), ({"seed": True}, "its seed is True"),
    ({"truth": "heard"}, "its truth is 'heard', none of gates, synthesized, placed, simulated"),
    ({"colour": 1}, "it has 'colour', which no point has"), ({"cells": {}}, "it has neither cells nor a failure"),
    ({"parameters": {"spus": 99}}, "its machine cannot be read: spus is 99; it must be one of 1, 2, 4: choose one")])
def test_a_damaged_store_is_one_line(tmp_path: Path, damage: object, why: str) -> None:
    line = damage if isinstance(damage, str) else json.dumps({**json.loads(POINT.line), **damage})
    path = tmp_path / "ice40.jsonl"
    path.write_text(f"{POINT.line}\n{line}\n{POINT.line}\n")
    with pytest.raises(ProblemError) as caught:
        read_points(path)
    assert str(caught.value) == f"{path} is damaged in line 2 ({why}): restore the file, or take the line out"


@STORED
def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "ice40.jsonl"
    path.write_text(f"{POINT.line}\n{POINT.line}")
    with pytest.raises(ProblemError, match="ends within a line, as if a program had been killed: restore the file"):
        read_points(path)
    path.write_bytes(b"\xff\n")
    with pytest.raises(ProblemError, match=r"is damaged in line 1 \(it is no text\)"):
        read_points(path)


@STORED
def test_a_full_disk_leaves_the_store_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_point(POINT, tmp_path)
    before, write = (tmp_path / "ice40.jsonl").read_bytes(), os.write
    monkeypatch.setattr(points.os, "write", lambda descriptor, data: write(descriptor, data[:9]))
    with pytest.raises(ProblemError, match=r"ice40.jsonl cannot be written \(No space left on device\): free some space"):
        add_point(POINT, tmp_path)
    assert (tmp_path / "ice40.jsonl").read_bytes() == before
