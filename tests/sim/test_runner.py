"""The bench runner: what passes, what fails and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrfhw.gateware.unit.random import Random
from mrfhw.generation.modules import component_verilog
from sim.support.runner import BenchError, run_bench

pytestmark = pytest.mark.tools

FAILING_MISSING = pytest.mark.claim("benches", "a failing, missing or unbuildable bench raises with its cause")

MODULE = "sim.benches.bench_random"


def test_one_test_alone() -> None:
    assert run_bench(Random(8), "dut", MODULE, {"bits": 8}, testcase="rotation") == 1


@FAILING_MISSING
def test_failure_names_test_cycle_and_port() -> None:
    with pytest.raises(BenchError, match=r"1 of 1 tests failed\nrotation: cycle \d+: value is \d+, not \d+"):
        run_bench(Random(7), "dut", MODULE, {"bits": 8}, testcase="rotation")


def test_no_such_test() -> None:
    with pytest.raises(BenchError, match="no test ran"):
        run_bench(Random(8), "dut", MODULE, {"bits": 8}, testcase="none")


@FAILING_MISSING
def test_no_such_module() -> None:
    with pytest.raises(BenchError, match=r"bench_none on dut.*(?s:.*)No module named"):
        run_bench(Random(8), "dut", "sim.benches.bench_none")


def test_verilog_that_does_not_compile() -> None:
    component = Random(8)
    broken = component_verilog(component, "dut").replace("endmodule", "")
    with pytest.raises(BenchError, match=r"did not run(?s:.*)syntax error"):
        run_bench(component, "dut", MODULE, verilog=broken)


def test_no_simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    component = Random(8)
    text = component_verilog(component, "dut")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BenchError, match="iverilog is not installed"):
        run_bench(component, "dut", MODULE, {"bits": 8}, verilog=text)
