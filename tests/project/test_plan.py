"""The test plan names tests that exist, and every component of the gateware."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import tomllib
from functools import cache
from pathlib import Path

from amaranth.lib import wiring

import mrfhw.gateware

ROOT = Path(__file__).parents[2]
PLAN = tomllib.loads((ROOT / "tests" / "plan.toml").read_text())["claim"]


@cache
def functions(path: Path) -> dict[str, bool]:
    """A file's functions, and whether they are left to the long tests."""
    return {node.name: any(ast.unparse(one).startswith("pytest.mark.long") for one in node.decorator_list)
            for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_test_of_the_plan_exists():
    for claim in PLAN:
        assert claim["tests"], claim["text"]
        for test in claim["tests"]:
            name, function = test.split("::")
            assert function in functions(ROOT / name), test


def test_what_is_left_to_the_long_tests_says_so():
    for claim in PLAN:
        for test in claim["tests"]:
            name, function = test.split("::")
            assert not functions(ROOT / name)[function] or "make long" in claim["text"], test


def test_every_component_has_a_claim():
    components = set()
    for found in pkgutil.walk_packages(mrfhw.gateware.__path__, "mrfhw.gateware."):
        module = importlib.import_module(found.name)
        components |= {name for name, value in vars(module).items() if inspect.isclass(value)
                       and issubclass(value, wiring.Component) and hasattr(value, "elaborate")
                       and value.__module__ == module.__name__}
    parts = {claim["part"] for claim in PLAN}
    assert components - {"Mesh"} <= parts  # the mesh is what the accelerator's tests run
