"""`python -m sim`: which tests run a bench, and the waveform that is kept of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrfhw.gateware.unit.random import Random
from sim.__main__ import ROOT, benches, main, using
from sim.support.runner import WAVES, run_bench


def test_every_bench_has_a_test():
    for name, line in benches().items():
        assert line, name
        assert using(name), name


def test_tests_are_found_by_what_they_name():
    assert using("log_hub") == ["tests/gateware/test_tree.py::test_log_hub"]
    # By a constant of the file, which two tests use.
    assert [test.split("::")[0] for test in using("log_writer")] == ["tests/gateware/test_log_writer.py"] * 2


def test_all_benches_are_listed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sim"])
    assert main() == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(list((ROOT / "sim" / "benches").glob("bench_*.py")))


def test_no_such_bench_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sim", "none"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("none is no bench that a test runs: give one of accelerator, ")


@pytest.mark.tools
def test_a_waveform_is_kept_by_the_name_of_the_test(monkeypatch, tmp_path: Path):
    monkeypatch.setenv(WAVES, str(tmp_path / "waves"))
    run_bench(Random(8), "dut", "sim.benches.bench_random", {"bits": 8}, testcase="rotation")
    (kept,) = (tmp_path / "waves").iterdir()
    assert kept.name == "test_a_waveform_is_kept_by_the_name_of_the_test.fst"
    assert kept.stat().st_size > 1000
