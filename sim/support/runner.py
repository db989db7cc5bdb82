"""Runs a cocotb bench on one component under Icarus Verilog."""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from amaranth.lib import wiring

from mrfhw.machine.derived import Derived
from sim.support.whole_nets import whole_nets

__all__ = ["BenchError", "bench_config", "bench_parameters", "run_bench"]

_VARIABLE = "MRFHW_BENCH"
WAVES = "MRFHW_WAVES"  # environment: a folder for the waveform of each bench that runs, by the name of its test

if _VARIABLE in os.environ:
    # Within a bench: what was imported is not looked through for garbage, neither now and then nor at the end.
    gc.set_threshold(100_000, 50, 50)
    atexit.register(gc.freeze)


class BenchError(AssertionError):
    """A bench that failed or did not run. The message has the failing tests' own and the end of the log."""


def bench_config() -> Derived:
    """Within a bench: the configuration of the component under test."""
    return Derived.from_dict(json.loads(os.environ[_VARIABLE])["config"])


def bench_parameters() -> dict[str, Any]:
    """Within a bench: the `parameters` of run_bench."""
    found: dict[str, Any] = json.loads(os.environ[_VARIABLE])["parameters"]
    return found


def run_bench(component: wiring.Component, name: str, module: str, parameters: Mapping[str, Any] | None = None,
              testcase: str | Sequence[str] | None = None, verilog: str | None = None) -> int:
    """Run the cocotb tests of `module` on `component`; returns how many passed.

    name: of the Verilog module. module: import path of the bench. parameters: handed to the bench, with
    the component's `config` if it has one; must survive JSON. testcase: run these tests alone.
    verilog: simulate this text, whose top module is `name`, in place of the component's own.
    Works in a temporary directory of its own; a waveform is kept where WAVES asks for it. Raises BenchError unless every test ran
    and passed.
    """
    from cocotb_tools.runner import get_runner  # here, as each bench imports this module and does without them

    from mrfhw.generation.modules import component_verilog

    if shutil.which("iverilog") is None:
        raise BenchError("iverilog is not installed; the benches run on it: install it (Debian: apt-get install iverilog)")
    # Whole names: the runner's own choice by testcase takes "frames_of_a_full_log" for "log".
    names = [testcase] if isinstance(testcase, str) else testcase
    tests = None if names is None else rf"\.({'|'.join(map(re.escape, names))})$"
    config = getattr(component, "config", None)
    context = {"config": config.to_dict() if config is not None else None, "parameters": dict(parameters or {})}
    text = component_verilog(component, name) if verilog is None else verilog
    with tempfile.TemporaryDirectory(prefix="mrfhw-bench-") as directory:
        work = Path(directory)
        (work / f"{name}.v").write_text(whole_nets(text))
        results, log = work / "results.xml", work / "log"
        try:
            runner = get_runner("icarus")
            runner.build(sources=[work / f"{name}.v"], hdl_toplevel=name, build_dir=work, timescale=("1ns", "1ps"),
                         log_file=log, waves=WAVES in os.environ)
            runner.test(test_module=module, hdl_toplevel=name, build_dir=work, test_dir=work, test_filter=tests, seed=1,
                        results_xml=str(results), log_file=log, waves=WAVES in os.environ, extra_env={
                            # Rewriting the assertions of all that a bench imports takes longer than most benches.
                            "COCOTB_REWRITE_ASSERTION_FILES": "bench_*.py", _VARIABLE: json.dumps(context)})
        except (SystemExit, RuntimeError) as error:
            # The runner ends with either; what went wrong is in the results or, without them, in the log.
            if not results.exists():
                raise BenchError(f"{module} on {name} did not run: {error}\n{_tail(log)}") from error
        finally:
            _keep_waves(work / f"{name}.fst")
        return _passed(results, f"{module} on {name}", log)


def _keep_waves(made: Path) -> None:
    """Moves a waveform to the folder of WAVES, by the name of the test that runs."""
    if WAVES in os.environ and made.exists():
        kept = Path(os.environ[WAVES])
        kept.mkdir(parents=True, exist_ok=True)
        test = os.environ.get("PYTEST_CURRENT_TEST", made.stem).split("::")[-1].split(" ")[0]
        shutil.move(made, kept / f"{re.sub(r'[^a-zA-Z0-9_.,=-]+', '_', test).strip('_')}.fst")


def _tail(log: Path, lines: int = 60) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "no log"


def _passed(results: Path, what: str, log: Path) -> int:
    """Number of tests in a results file, all of which passed; raises BenchError otherwise."""
    if not results.exists():
        raise BenchError(f"{what} left no results\n{_tail(log)}")
    cases = [case for case in ElementTree.parse(results).iter("testcase") if case.find("skipped") is None]
    failures = []
    for case in cases:
        for kind in ("failure", "error"):
            for found in case.findall(kind):
                failures.append(f"{case.get('name')}: {found.get('message') or found.text or kind}")
    if failures:
        raise BenchError(f"{what}: {len(failures)} of {len(cases)} tests failed\n" + "\n".join(failures) + f"\n{_tail(log)}")
    if not cases:
        raise BenchError(f"{what}: no test ran\n{_tail(log)}")
    return len(cases)
