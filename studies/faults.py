"""Faults put into the code one by one, and whether the tests of their own room find them: `python -m studies.faults`.

    python -m studies.faults --rooms samplers,twin,driver --number 40 --seed 1 -o out/faults.json
    python -m studies.faults --rooms samplers --number 5 --list      # what would be put in, without a test

Draws are seeded: the same tree, rooms and seed give the same faults. Each is put into a copy of the tree, and the room's quick
tests run there (those that are marked neither `tools` nor `slow`), the files that import the faulty module first, up to the first
failure; where none fails, the others of the room but those of `make long`. Tests that fail without any fault are left out, and so
is what a fault cannot change: docstrings, messages of errors, annotations, `__all__`, asserts. A run that was ended goes on with
the same command: faults whose outcome the file has are not put in again.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import difflib
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
QUICK, OTHERS = "not tools and not slow", "(tools or slow) and not long"
FOUND, SURVIVED, TIMED_OUT = "found", "survived", "timed out"

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.FloorDiv}
EITHER = ("min", "max", "minimum", "maximum", "gcd", "add", "multiply")  # whose arguments have no order
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Fault:
    """A change of one place of a module.

    room, path: the room, and the file below the root of the tree. line, kind: where it is, and what is done. start, end: offsets
    in the file's UTF-8 bytes. text: what stands there instead.
    """

    room: str
    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    def put_into(self, source: bytes) -> bytes:
        """The file with the fault."""
        return source[:self.start] + self.text.encode() + source[self.end:]

    def difference(self, root: Path = ROOT) -> str:
        """The changed lines, as diff prints them."""
        before = (root / self.path).read_bytes()
        lines = difflib.unified_diff(before.decode().splitlines(), self.put_into(before).decode().splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


class _Places(ast.NodeVisitor):
    """The faults that a module can have: (kind, node that is replaced, its replacement)."""

    def __init__(self) -> None:
        self.found: list[tuple[str, ast.AST, str]] = []

    def _put(self, kind: str, node: ast.AST, instead: ast.AST | str) -> None:
        self.found.append((kind, node, instead if isinstance(instead, str) else ast.unparse(instead)))

    def visit_Raise(self, node: ast.Raise) -> None:
        self._put("statement removed", node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *(one for one in node.kw_defaults if one is not None)):
            self.visit(default)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit(node.args)
        for one in node.body:
            self.visit(one)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for one in node.body:
            self.visit(one)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not (isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"):
            if not isinstance(node.targets[0], ast.Name | ast.Tuple):
                self._put("statement removed", node, "pass")
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._put("statement removed", node, "pass")
        if isinstance(node.value, ast.List) and len(node.value.elts) > 1:  # statements of a circuit
            for index in range(len(node.value.elts)):
                self._put("element removed", node.value, ast.List([*node.value.elts[:index], *node.value.elts[index + 1:]]))
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._put("statement removed", node, "pass")
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self._condition(node)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._condition(node)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for one in node.ifs:
            self._put("condition inverted", one, f"(not ({ast.unparse(one)}))")
        self.generic_visit(node)

    def _condition(self, node: ast.If | ast.While | ast.IfExp) -> None:
        self._put("condition inverted", node.test, f"(not ({ast.unparse(node.test)}))")

    def visit_Compare(self, node: ast.Compare) -> None:
        for index, operator in enumerate(node.ops):
            others = [*node.ops[:index], COMPARISONS[type(operator)](), *node.ops[index + 1:]]
            self._put("comparison", node, f"({ast.unparse(ast.Compare(node.left, others, node.comparators))})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._put("and for or", node, f"({ast.unparse(ast.BoolOp(other, node.values))})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if any(isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and isinstance(one.value, str))
               for one in (node.left, node.right)):
            return
        if type(node.op) in OPERATORS:
            self._put("operator", node, f"({ast.unparse(ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._put("default or flag", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._put("constant + 1", node, str(node.value + 1))
            self._put("constant - 1", node, f"({node.value - 1})" if node.value < 1 else str(node.value - 1))

    def visit_Call(self, node: ast.Call) -> None:
        plain = [one for one in node.args if not isinstance(one, ast.Starred)]
        either = ast.unparse(node.func).split(".")[-1] in EITHER
        if len(plain) == len(node.args) > 1 and not either and ast.unparse(plain[0]) != ast.unparse(plain[1]):
            self._put("arguments swapped", node, ast.Call(node.func, [plain[1], plain[0], *plain[2:]], node.keywords))
        if isinstance(node.func, ast.Name) and node.func.id in NAMES:
            self._put("name", node.func, NAMES[node.func.id])
        self.visit(node.func)
        for one in node.args:
            self.visit(one)
        for keyword in node.keywords:
            if keyword.arg not in ("strict", "stacklevel", "help", "copy"):
                self.visit(keyword.value)


def faults_of(room: str, path: Path, root: Path = ROOT) -> Iterator[Fault]:
    """All faults that a module can have, in the order of its text; some of them may not compile."""
    source = path.read_bytes()
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    places = _Places()
    places.visit(ast.parse(source))
    for kind, node, text in places.found:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        yield Fault(room, str(path.relative_to(root)), node.lineno, kind, start, end, text)


def changes(fault: Fault, root: Path = ROOT) -> bool:
    """Whether the faulty file is Python, and other Python than without the fault."""
    source = (root / fault.path).read_bytes()
    try:
        return ast.dump(ast.parse(fault.put_into(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def drawn(rooms: list[str], number: int, seed: int, root: Path = ROOT) -> list[Fault]:
    """`number` faults, room by room in turn; of a room each place is as likely as another, and each line has one fault at most."""
    rng, chosen = random.Random(seed), list[Fault]()
    can = {}
    for room in rooms:
        files = sorted((root / "mrfhw" / room).rglob("*.py"))
        if not files:
            sys.exit(f"{room} is no room: give folders of mrfhw/")
        by_kind: dict[str, list[Fault]] = {}
        for path in files:
            for fault in faults_of(room, path, root):
                by_kind.setdefault(fault.kind, []).append(fault)
        can[room] = by_kind
    while len(chosen) < number and any(can.values()):
        room = rooms[len(chosen) % len(rooms)]
        kinds = sorted(can[room])
        # The kind first, as most of all places are numbers.
        fault = rng.choice(can[room][rng.choice(kinds)])
        if changes(fault, root) and not any((one.path, one.line) == (fault.path, fault.line) for one in chosen):
            chosen.append(fault)
    return chosen


def files_of_tests(fault: Fault, root: Path) -> list[str]:
    """The files of the room's tests, those first that import the module."""
    module = fault.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    imports = re.compile(rf"from {re.escape(module)} import|import {re.escape(module)}\b|"
                         rf"from {re.escape(package)} import [^\n]*\b{name}\b")
    files = sorted((root / "tests" / fault.room).glob("test_*.py"))
    files.sort(key=lambda path: imports.search(path.read_text()) is None)
    return [str(path.relative_to(root)) for path in files]


class Tree:
    """A copy of the checkout in which tests run."""

    def __init__(self, place: Path):
        self.root = place / "tree"
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT,
                                capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).exists() or (ROOT / name).is_symlink():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name, follow_symlinks=False)
        (self.root / "conftest.py").touch()
        self.place, self.turn = place, 0

    def pytest(self, files: list[str], marks: str, seconds: float, without: list[str], fresh: bool) -> tuple[str, str]:
        """(outcome, the first failure or the end of what was said) of these tests. fresh: loops are compiled anew."""
        self.turn += fresh
        cache = self.place / (f"loops-{self.turn}" if fresh else "loops")
        words = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=line", "-m", marks,
                 *(f"--deselect={name}" for name in without), *files]
        process = subprocess.Popen(words, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True, env={
                                       **os.environ, "PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(cache),
                                       "MRFHW_CACHE": str(self.place / "circuits")})
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return TIMED_OUT, f"after {seconds:.0f} s"
        finally:
            if fresh:
                shutil.rmtree(cache, ignore_errors=True)
        if process.returncode in (0, 5):  # passed, or nothing to run
            return SURVIVED, ""
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)
        return FOUND, failed[0] if failed else said.strip()[-300:]

    def write(self, path: str, text: bytes) -> None:
        """Writes a module; what Python compiled of it is gone, as sizes and seconds may be the same."""
        (self.root / path).write_bytes(text)
        for compiled in (self.root / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
            compiled.unlink()


def failing(tree: Tree, room: str, seconds: float) -> list[str]:
    """Quick tests of the room that fail without a fault."""
    found: list[str] = []
    while True:
        outcome, name = tree.pytest([f"tests/{room}"], QUICK, seconds, found, False)
        if outcome != FOUND or name in found or "::" not in name:
            return found
        found.append(name)


def outcome_of(fault: Fault, tree: Tree, seconds: float, without: list[str], deep: bool) -> dict[str, Any]:
    """What becomes of a fault: outcome, by which test, and how long it took."""
    began, source = time.monotonic(), (tree.root / fault.path).read_bytes()
    # A loop keeps what it was compiled to while its own file is the same, whatever becomes of the loops that it calls.
    fresh = b"njit" in source or b"numba" in source
    tree.write(fault.path, fault.put_into(source))
    try:
        files = files_of_tests(fault, tree.root)
        outcome, by = tree.pytest(files, QUICK, seconds, without, fresh) if files else (SURVIVED, "")
        quick = outcome == FOUND
        if outcome == SURVIVED and deep:
            outcome, by = tree.pytest(files, OTHERS, 3 * seconds, without, fresh)
    finally:
        tree.write(fault.path, source)
    return {"outcome": outcome, "by": by, "quick": quick, "seconds": round(time.monotonic() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.faults", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", required=True, help="rooms of mrfhw/, with commas between")
    parser.add_argument("--number", type=int, default=40, help="faults in all [40]")
    parser.add_argument("--seed", type=int, default=1, help="of the draws [1]")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for quick tests, thrice for others [240]")
    parser.add_argument("--minutes", type=float, help="begin with no fault after these")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time [2]")
    parser.add_argument("--quick", action="store_true", help="the quick tests alone")
    parser.add_argument("--list", action="store_true", help="print the faults and run no test")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/faults.json"), help="outcomes [out/faults.json]")
    options = parser.parse_args()
    faults = drawn(options.rooms.split(","), options.number, options.seed)
    if options.list:
        for number, fault in enumerate(faults, 1):
            print(f"{number}. {fault.path}:{fault.line} {fault.kind}\n{fault.difference()}")
        return
    # An outcome is that of the same change of the same lines, wherever they have moved to.
    kept: dict[str, dict[str, Any]] = json.loads(options.output.read_text()) if options.output.exists() else {}
    names = {fault: f"{fault.path}: {fault.kind}: {fault.difference()}" for fault in faults}
    began, trees = time.monotonic(), queue.SimpleQueue[Tree]()
    with tempfile.TemporaryDirectory(prefix="mrfhw-faults-") as folder:
        for number in range(options.jobs):
            trees.put(Tree(Path(folder) / str(number)))
        without: dict[str, list[str]] = {}

        def before(room: str) -> None:
            tree = trees.get()
            without[room] = failing(tree, room, 2 * options.timeout)
            trees.put(tree)

        def work(fault: Fault) -> None:
            if names[fault] in kept or (options.minutes and time.monotonic() - began > 60 * options.minutes):
                return
            tree = trees.get()
            try:
                of = outcome_of(fault, tree, options.timeout, without[fault.room], not options.quick)
            finally:
                trees.put(tree)
            kept[names[fault]] = {**asdict(replace(fault)), "difference": fault.difference(), **of}
            options.output.parent.mkdir(parents=True, exist_ok=True)
            options.output.write_text(json.dumps(kept, indent=1))
            print(f"{of['outcome']:<10}{fault.path}:{fault.line} {fault.kind} ({of['seconds']:.0f} s) {of['by']}", flush=True)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            rooms = sorted({fault.room for fault in faults if names[fault] not in kept})
            list(pool.map(before, rooms))
            for room in rooms:
                if without[room]:
                    print(f"{room}: left out, as they fail without a fault: {', '.join(without[room])}", flush=True)
            list(pool.map(work, faults))
    done = [kept[names[fault]] for fault in faults if names[fault] in kept]
    print(f"{len(done)} of {len(faults)} faults: " + ", ".join(
        f"{sum(one['outcome'] == outcome for one in done)} {outcome}" for outcome in (FOUND, SURVIVED, TIMED_OUT)))
    for one in done:
        if one["outcome"] != FOUND:
            print(f"\n{one['outcome']}: {one['path']}:{one['line']} {one['kind']}\n{one['difference']}")


if __name__ == "__main__":
    main()
