"""The model gives the bits that were recorded: labels, histogram, LMem, messages and cycles of 2,200 random problems and of
built-in scenes, whole and in windows, and of machines for any field, with lanes and with subsets. That the RTL gives the model's is
the business of other tests.

A change that is meant to change results records them anew: python -m support.digests recorded/digests.json (from tests/).
"""

from __future__ import annotations

import json

import pytest

from support.digests import KINDS, MACHINES, PROBLEMS, RECORDED, kind_digests, machine_digests, scene_digests

pytestmark = pytest.mark.claim("model",
    "labels, histogram, LMem, messages and cycles of 2,200 random problems and of built-in scenes are those that were recorded")

TOGETHER = 10  # machines a test


@pytest.mark.parametrize("first", [pytest.param(first, marks=[pytest.mark.slow] * (first > 0))
                                   for first in range(0, MACHINES, TOGETHER)])
def test_random_machines_give_the_recorded_bits(first: int) -> None:
    recorded = json.loads(RECORDED.read_text())["machines"]
    assert len(recorded) == MACHINES
    assert MACHINES * PROBLEMS >= 2000
    for number in range(first, first + TOGETHER):
        assert machine_digests(number) == recorded[number], f"machine {number}"


@pytest.mark.slow
def test_scenes_give_the_recorded_bits() -> None:
    assert scene_digests() == json.loads(RECORDED.read_text())["scenes"]


@pytest.mark.parametrize("kind", KINDS)
def test_machines_of_other_kinds_give_the_recorded_bits(kind: str) -> None:
    assert kind_digests(kind) == json.loads(RECORDED.read_text())["kinds"][kind]
