"""Claims of the project and the tests that show them, from the markers `claim(part, text)` beside the tests.

    python -m support.plan [PART ...]     # from tests/: prints them, those of some parts or all
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Shown:
    """A test that shows a claim. test: its file below tests/ and its name; long: `make long` alone runs it."""

    test: str
    long: bool


def claims(folder: Path = TESTS) -> dict[tuple[str, str], list[Shown]]:
    """The tests of each claim, by its part and text; a claim that is written down and marks no test has none."""
    found: dict[tuple[str, str], list[Shown]] = defaultdict(list)
    for path in sorted(folder.glob("*/test_*.py")):
        named, always = {}, []
        body = ast.parse(path.read_text()).body
        for node in body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                written = list(_claims(node.value))
                for claim in written:
                    found[claim]
                if node.targets[0].id == "pytestmark":
                    always = written
                elif written:
                    named[node.targets[0].id] = written[0]
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = node.decorator_list
                long = any(ast.unparse(mark).startswith("pytest.mark.long") for mark in marks)
                of = [*always, *(named[mark.id] for mark in marks if isinstance(mark, ast.Name) and mark.id in named),
                      *(claim for mark in marks for claim in _claims(mark))]
                for claim in of:
                    found[claim].append(Shown(f"{path.relative_to(folder)}::{node.name}", long))
    return found


def _claims(expression: ast.expr) -> Iterable[tuple[str, str]]:
    """The markers `claim` that are written in an expression."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.claim":
            part, text = (ast.literal_eval(argument) for argument in node.args)
            yield part, text


def plan(parts: Iterable[str] = ()) -> str:
    """The claims of these parts, or of all, each followed by its tests."""
    lines, wanted = [], set(parts)
    for (part, text), tests in sorted(claims().items()):
        if not wanted or part in wanted:
            lines += [f"{part}: {text}", *(f"    {one.test}{' (make long)' * one.long}" for one in tests)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(plan(sys.argv[1:]))
