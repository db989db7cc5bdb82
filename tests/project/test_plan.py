"""The claims that mark tests: every component of the gateware has one, and what is left to the long tests says so."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

from amaranth.lib import wiring

import mrfhw.gateware
from support.plan import Shown, claims, plan


def test_every_claim_has_a_test():
    found = claims()
    assert len(found) > 150
    for claim, tests in found.items():
        assert tests, claim


def test_what_is_left_to_the_long_tests_says_so():
    for (_, text), tests in claims().items():
        for test in tests:
            assert not test.long or "make long" in text, test


def test_every_component_has_a_claim():
    components = set()
    for found in pkgutil.walk_packages(mrfhw.gateware.__path__, "mrfhw.gateware."):
        module = importlib.import_module(found.name)
        components |= {name for name, value in vars(module).items() if inspect.isclass(value)
                       and issubclass(value, wiring.Component) and hasattr(value, "elaborate")
                       and value.__module__ == module.__name__}
    parts = {part for part, _ in claims()}
    assert components - {"Mesh"} <= parts  # the mesh is what the accelerator's tests run


def test_claims_are_read_from_each_way_to_mark(tmp_path: Path):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "test_one.py").write_text(
        'import pytest\nSAME = pytest.mark.claim("A", "two "\n    "lines")\nNONE = pytest.mark.claim("A", "no test")\n'
        'pytestmark = [pytest.mark.claim("B", "all")]\n'
        '@SAME\n@pytest.mark.long\ndef test_a():\n    pass\n'
        '@SAME\n@pytest.mark.claim("C", "one")\ndef test_b():\n    pass\n')
    a, b = Shown("room/test_one.py::test_a", True), Shown("room/test_one.py::test_b", False)
    assert claims(tmp_path) == {("A", "two lines"): [a, b], ("A", "no test"): [], ("B", "all"): [a, b], ("C", "one"): [b]}


def test_the_plan_names_each_claim_and_its_tests():
    lines = plan(["ControlNode"]).splitlines()
    assert lines[0].startswith("ControlNode: ")
    assert "    gateware/test_tree.py::test_control_node" in lines
    assert not any(line.startswith("LogHub") for line in lines)
