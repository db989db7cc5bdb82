"""`python -m sim BENCH`: runs the tests that use a bench, each with a waveform.

    python -m sim                           # the benches, what each is of, and how many tests run it
    python -m sim log_hub                   # its tests; out/waves/TEST.fst for each
    python -m sim log_hub --waves DIR -k present0     # one of its cases; what else pytest takes follows
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PREFIX = "sim.benches.bench_"


def benches() -> dict[str, str]:
    """The first line of each bench's docstring, by its name without `bench_`."""
    return {path.stem.removeprefix("bench_"): (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]
            for path in sorted((ROOT / "sim" / "benches").glob("bench_*.py"))}


def using(bench: str) -> list[str]:
    """The tests of the checkout that run it, as pytest names them: those that name it, or what names it in their file."""
    found = []
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        text = path.read_text()
        if f'"{PREFIX}{bench}"' not in text:
            continue
        body, naming = ast.parse(text).body, set[str]()
        while True:
            more = {name for node in body if _names(node, f"{PREFIX}{bench}", naming) for name in _defined(node)} - naming
            if not more:
                break
            naming |= more
        found += [f"{path.relative_to(ROOT)}::{node.name}" for node in body
                  if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and node.name in naming]
    return found


def _names(node: ast.stmt, text: str, names: set[str]) -> bool:
    return any((isinstance(one, ast.Constant) and one.value == text) or (isinstance(one, ast.Name) and one.id in names)
               for one in ast.walk(node))


def _defined(node: ast.stmt) -> list[str]:
    """Names that a statement of a file gives to a function or a value."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return [target.id for target in node.targets if isinstance(target, ast.Name)] if isinstance(node, ast.Assign) else []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sim", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="?", help="as sim/benches/bench_BENCH.py")
    parser.add_argument("--waves", type=Path, default=Path("out/waves"), metavar="DIR", help="where the waveforms go [out/waves]")
    options, rest = parser.parse_known_args()
    known = benches()
    if options.bench is None:
        for name, line in known.items():
            print(f"{name:<18}{len(using(name)):>3}  {line}")
        return 0
    name = options.bench.removeprefix("bench_")
    tests = using(name) if name in known else []
    if not tests:
        print(f"{options.bench} is no bench that a test runs: give one of {', '.join(known)}", file=sys.stderr)
        return 2
    import pytest

    return int(pytest.main([*(str(ROOT / test) for test in tests), "--rootdir", str(ROOT), "--waves", str(options.waves), *rest]))


if __name__ == "__main__":
    sys.exit(main())
