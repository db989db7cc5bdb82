"""Faults put into the code one by one, and whether the tests of their own room find them: `python -m studies.faults`.

    python -m studies.faults --rooms samplers,twin,driver --number 40 --seed 1 -o out/faults.json
    python -m studies.faults --rooms samplers --number 5 --list      # what would be put in, without a test

Draws are seeded: the same tree, rooms and seed give the same faults. Each is put into a copy of the tree, and the room's quick
tests run there (those that are marked neither `tools` nor `slow`), the files that import the faulty module first, up to the first
failure; where none fails, the others of the room but those of `make long`. A test that fails without the fault as well is left
out, and so is what a fault cannot change: docstrings, messages of errors, annotations, `__all__`, asserts. Limits are seconds of a
processor, so that a busy computer changes no outcome; tests that wait for each other for ever are given up after SLOWNESS times as
long. A run that was ended goes on with the same command: faults whose outcome the file has are not put in again.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import difflib
import itertools
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
QUICK, OTHERS = "not tools and not slow", "(tools or slow) and not long"
FOUND, SURVIVED, TIMED_OUT = "found", "survived", "timed out"
SLOWNESS = 6  # seconds for each of a processor's, at most

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
    """`number` faults of the modules of rooms, room by room in turn; see `drawn_of`."""
    files = {room: sorted((root / "mrfhw" / room).rglob("*.py")) for room in rooms}
    for room in rooms:
        if not files[room]:
            sys.exit(f"{room} is no room: give folders of mrfhw/")
    return drawn_of(files, number, seed, root)


def drawn_of(files: Mapping[str, Sequence[Path]], number: int, seed: int, root: Path = ROOT) -> list[Fault]:
    """`number` faults, of each group of files in turn: fewer where a group has no more. Each line has one fault at most.

    The first of a larger number are those of a smaller one, and a group's do not depend on the others. A fault's `room` is the
    group's name.
    """
    chosen, lines = list[Fault](), set[tuple[str, int]]()
    can, draws = {}, {group: random.Random(f"{seed} {group}") for group in files}
    for group, paths in files.items():
        by_kind: dict[str, list[Fault]] = {}
        for path in paths:
            for fault in faults_of(group, path, root):
                by_kind.setdefault(fault.kind, []).append(fault)
        can[group] = by_kind
    groups = itertools.cycle(list(can))
    while len(chosen) < number and any(can.values()):
        group = next(groups)
        of, rng = can[group], draws[group]
        while of:
            # The kind first, as most of all places are numbers.
            kind = rng.choice(sorted(of))
            fault = of[kind].pop(rng.randrange(len(of[kind])))
            if not of[kind]:
                del of[kind]
            if (fault.path, fault.line) not in lines and changes(fault, root):
                lines.add((fault.path, fault.line))
                chosen.append(fault)
                break
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


@dataclass(frozen=True)
class Stage:
    """Tests that are run together, up to the first that fails.

    words: files for pytest, in order, and its options. marks: those of the tests. seconds: of a processor, for each process.
    """

    words: tuple[str, ...]
    marks: str
    seconds: float


def first_failed(said: str) -> str:
    """The name of the first failed test of which pytest's summary says, with the words of its parameters; "" for none."""
    found = re.search(r"^(?:FAILED|ERROR) ([^\s[]+(?:\[.*?\])?)(?: - |$)", said, re.M)
    return found[1] if found else ""


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

    def pytest(self, stage: Stage, without: list[str], fresh: bool) -> tuple[str, str]:
        """(outcome, the first failure or the end of what was said). without: tests left out. fresh: loops are compiled anew."""
        seconds = stage.seconds
        self.turn += fresh
        cache = self.place / (f"loops-{self.turn}" if fresh else "loops")
        words = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--tb=line", "-m", stage.marks,
                 *(f"--deselect={name}" for name in without), *stage.words]
        process = subprocess.Popen(words, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), round(seconds) + 5)),
                                   env={
                                       **os.environ, "PYTHONPATH": str(self.root), "NUMBA_CACHE_DIR": str(cache),
                                       "MRFHW_CACHE": str(self.place / "circuits")})
        try:
            said, _ = process.communicate(timeout=SLOWNESS * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return TIMED_OUT, f"after {SLOWNESS * seconds:.0f} s"
        finally:
            if fresh:
                shutil.rmtree(cache, ignore_errors=True)
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return TIMED_OUT, f"after {seconds:.0f} s of a processor"
        if process.returncode in (0, 5):  # passed, or nothing to run
            return SURVIVED, ""
        failed = first_failed(said)
        return FOUND, failed or said.strip()[-300:]

    def write(self, path: str, text: bytes) -> None:
        """Writes a module; what Python compiled of it is gone, as sizes and seconds may be the same."""
        (self.root / path).write_bytes(text)
        for compiled in (self.root / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
            compiled.unlink()


def outcome_of(fault: Fault, tree: Tree, stages: Sequence[Stage], without: list[str]) -> dict[str, Any]:
    """What becomes of a fault: outcome, by which test, and how long it took. without: tests that fail without it are added."""
    began, source = time.monotonic(), (tree.root / fault.path).read_bytes()
    # A loop keeps what it was compiled to while its own file is the same, whatever becomes of the loops that it calls.
    fresh = b"njit" in source or b"numba" in source
    by, outcome, quick = "", SURVIVED, False
    for stage in stages:
        while True:
            tree.write(fault.path, fault.put_into(source))
            try:
                outcome, by = tree.pytest(stage, without, fresh)
            finally:
                tree.write(fault.path, source)
            alone = replace(stage, words=(by, *(word for word in stage.words if word.startswith("--"))))
            if outcome != FOUND or "::" not in by or tree.pytest(alone, [], False)[0] == SURVIVED:
                break
            without.append(by)
        if outcome != SURVIVED:
            quick = outcome == FOUND and stage is stages[0]
            break
    return {"outcome": outcome, "by": by, "quick": quick, "seconds": round(time.monotonic() - began, 1)}


def stages_of(fault: Fault, seconds: float, deep: bool) -> list[Stage]:
    """The quick tests of a fault's room; deep: and its others."""
    files = tuple(files_of_tests(fault, ROOT))
    stages = [Stage(files, QUICK, seconds), Stage(files, OTHERS, 3 * seconds)]
    return stages[:1 + deep] if files else []


def measured(faults: Sequence[Fault], stages: Callable[[Fault], Sequence[Stage]], output: Path, jobs: int,
             minutes: float | None = None) -> list[tuple[Fault, dict[str, Any]]]:
    """What becomes of faults, each of which is put in unless `output` has its outcome; those whose outcome is known.

    jobs: faults at a time. minutes: begin with none after these.
    """
    # An outcome is that of the same change of the same lines, wherever they have moved to.
    kept: dict[str, dict[str, Any]] = json.loads(output.read_text()) if output.exists() else {}
    names = {fault: f"{fault.path}: {fault.kind}: {fault.difference()}" for fault in faults}
    began, trees = time.monotonic(), queue.SimpleQueue[Tree]()
    with tempfile.TemporaryDirectory(prefix="mrfhw-faults-") as folder:
        for number in range(jobs):
            trees.put(Tree(Path(folder) / str(number)))
        without: dict[str, list[str]] = {fault.room: [] for fault in faults}

        def work(fault: Fault) -> None:
            if names[fault] in kept or (minutes is not None and time.monotonic() - began > 60 * minutes):
                return
            tree = trees.get()
            try:
                of = outcome_of(fault, tree, stages(fault), without[fault.room])
            finally:
                trees.put(tree)
            kept[names[fault]] = {**asdict(fault), "difference": fault.difference(), **of}
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps(kept, indent=1))
            print(f"{of['outcome']:<10}{fault.path}:{fault.line} {fault.kind} ({of['seconds']:.0f} s) {of['by']}", flush=True)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, faults))
        for room, names_of_tests in without.items():
            if names_of_tests:
                print(f"{room}: left out, as they fail without a fault: {', '.join(names_of_tests)}", flush=True)
    return [(fault, kept[names[fault]]) for fault in faults if names[fault] in kept]


def print_missed(done: Sequence[tuple[Fault, dict[str, Any]]]) -> None:
    """Each fault that no test found, with its lines."""
    for fault, one in done:
        if one["outcome"] != FOUND:
            print(f"\n{one['outcome']}: {fault.path}:{fault.line} {fault.kind}\n{one['difference']}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.faults", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", required=True, help="rooms of mrfhw/, with commas between")
    parser.add_argument("--number", type=int, default=40, help="faults in all [40]")
    parser.add_argument("--seed", type=int, default=1, help="of the draws [1]")
    parser.add_argument("--timeout", type=float, default=240, help="a processor's seconds for quick tests, thrice for others [240]")
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
    done = measured(faults, lambda fault: stages_of(fault, options.timeout, not options.quick), options.output, options.jobs,
                    options.minutes)
    print(f"{len(done)} of {len(faults)} faults: " + ", ".join(
        f"{sum(one['outcome'] == outcome for _, one in done)} {outcome}" for outcome in (FOUND, SURVIVED, TIMED_OUT)))
    print_missed(done)


if __name__ == "__main__":
    main()
