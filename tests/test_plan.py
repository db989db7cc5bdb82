"""The test plan names tests that exist, and every component of the gateware."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import tomllib
from pathlib import Path

from amaranth.lib import wiring

import mrfhw.gateware

ROOT = Path(__file__).parent.parent
PLAN = tomllib.loads((ROOT / "tests" / "plan.toml").read_text())["claim"]


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_test_of_the_plan_exists():
    for claim in PLAN:
        assert claim["tests"], claim["text"]
        for test in claim["tests"]:
            name, function = test.split("::")
            assert function in functions(ROOT / name), test


def test_every_component_has_a_claim():
    components = set()
    for found in pkgutil.walk_packages(mrfhw.gateware.__path__, "mrfhw.gateware."):
        module = importlib.import_module(found.name)
        components |= {name for name, value in vars(module).items() if inspect.isclass(value)
                       and issubclass(value, wiring.Component) and hasattr(value, "elaborate")
                       and value.__module__ == module.__name__}
    parts = {claim["part"] for claim in PLAN}
    assert components - {"Mesh"} <= parts  # the mesh is what the accelerator's tests run
