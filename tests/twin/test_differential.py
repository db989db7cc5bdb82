"""The comparison of random machines with their model: what differs is found, reduced, kept and found again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from click.testing import CliRunner, Result

from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from support import differential

pytestmark = pytest.mark.tools

SMALL = Config.preset("smallest")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(differential, "drawn_machine", lambda rng: ("plain", SMALL))


def run(*words: str) -> Result:
    return CliRunner().invoke(differential.main, words)


@pytest.mark.claim("machine", "a model that differs in one label of large fields is found, its problem reduced and kept; of "
                   "several clusters and contexts, too")
@pytest.mark.parametrize("changes", [{}, {"clusters": 2}, {"contexts": 2}], ids=str)
def test_what_differs_is_found_and_reduced(small, monkeypatch, tmp_path, changes):
    monkeypatch.setattr(differential, "SEVERAL", (changes,))
    right = differential.machine.solve

    def wrong(config, problem, run):
        found = right(config, problem, run)
        if problem.shape[0] >= 3 and problem.shape[1] >= 2:
            found.last[2, 1] ^= 1
        return found

    assert differential.compared(3, 0, 6, tmp_path)["unequal"] == []
    with monkeypatch.context() as context:
        context.setattr(differential.machine, "solve", wrong)
        found = differential.compared(3, 0, 6, tmp_path)
        assert 6 <= found["problems"] < 6 + 2 * differential.IN_A_ROW
        assert found["unequal"]
        for bad in found["unequal"]:
            assert bad["shapes"] == [(3, 2)]
            assert "last" in bad["what"]
        assert run("--again", str(tmp_path / "0.pickle")).exit_code == 1
    assert run("--again", str(tmp_path / "0.pickle")).exit_code == 0


def test_a_run_goes_on_where_it_was(small, tmp_path):
    words = ("--problems", "1", "--seed", "5", "--jobs", "1", "-o", str(tmp_path))
    assert run("--machines", "1", *words).exit_code == 0
    again = run("--machines", "2", *words)
    assert again.exit_code == 0
    assert "2/2 machine 1, plain" in again.stdout
    assert len((tmp_path / "seed-5.jsonl").read_text().splitlines()) == 2


def test_machines_are_of_each_kind_and_at_the_ends_of_widths():
    drawn = [differential.drawn_machine(np.random.default_rng((1, n))) for n in range(60)]
    assert {kind for kind, _ in drawn} == set(differential.KINDS)
    configs = [Derived.of(config) for _, config in drawn]
    space = {p.name: p for p in Config.space()}
    for name in ("energy_bits", "temperature_bits", "counter_bits"):
        assert {space[name].low, space[name].high} <= {getattr(config, name) for config in configs}, name
    assert {1, 2, 4, 8, 16} <= {config.lanes for config in configs}
    placed = [differential.drawn_problem(np.random.default_rng(1), kind, config) for kind, config in drawn[:20]]
    assert sum(one is not None for one in placed) >= 15
    assert all(dataclasses.is_dataclass(one.problem) for one in placed if one is not None)


@pytest.mark.parametrize(("words", "said"), [
    (("--jobs", "0"), "jobs"), (("--machines", "-3"), "machines"),
    (("--again", "nowhere"), "nowhere is no kept problem (FileNotFoundError): give a file that this command wrote"),
    (("--again", __file__), f"{__file__} is no kept problem (UnpicklingError): give a file that this command wrote")])
def test_wrong_arguments_are_one_line(words, said):
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
