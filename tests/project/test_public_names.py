"""What the documents import is public: it is in the list that docs/api.md and the package's own docstring have."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import mrfhw

pytestmark = pytest.mark.claim("interface",
    "what the documents import is public, and each public name exists, is listed once in the docstring and in docs/api.md, and is "
    "used by a document")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ARGUMENT = re.compile(r"^[a-z_]\w*(?:, [a-z_]\w*)*: ", re.MULTILINE)
WITHIN = re.compile(r"(?<=[.;] )[a-z_]\w*(?:, [a-z_]\w*)*: ")  # in the middle of a line


def listed() -> set[tuple[str, str]]:
    """(module, name) of the docstring, without those of the package itself."""
    rows = re.findall(r"^    (mrfhw\.[\w.]+) {2,}(\w[\w, ]*)$", mrfhw.__doc__ or "", re.MULTILINE)
    return {(module, name) for module, names in rows for name in names.split(", ")}


def programs() -> list[tuple[str, str]]:
    """(where, text) of every piece of Python that the documents show."""
    found = [(page.name, block) for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
             for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)]
    for path in sorted((DOCS / "examples").glob("*.py")):
        found.append((path.name, path.read_text()))
    for path in sorted((DOCS / "examples").glob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code":
                found.append((path.name, "".join(cell["source"])))
    return found


def imported(text: str) -> set[tuple[str, str]]:
    """(module, name) of what a program takes from the package; a module that is imported whole has the name \"\"."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names if alias.name != "mrfhw"}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mrfhw":
            found.add(("mrfhw", node.attr))
    return {(module, name) for module, name in found if module.split(".")[0] == "mrfhw"}


def test_the_documents_import_public_names_alone() -> None:
    public = listed() | {("mrfhw", name) for name in mrfhw.__all__}
    found = {(where, *each) for where, text in programs() for each in imported(text)}
    assert {where for where, _, _ in found} >= {"README.md", "stereo.py", "stereo.ipynb", "pynq_run.py", "own-fields.md"}
    assert {each for each in found if each[1:] not in public} == set()


def test_public_names_exist_and_are_used() -> None:
    """Each in its module, and in a document: in what it imports, or by name beside the module's."""
    used = {each for _, text in programs() for each in imported(text)}
    for page in DOCS.glob("*.md"):
        if page.name != "api.md":
            used |= {(module, name) for name, module in re.findall(r"`(\w+)` \(`(mrfhw\.[\w.]+)`\)", page.read_text())}
    for module, name in sorted(listed()):
        assert hasattr(importlib.import_module(module), name), (module, name)
        assert (module, name) in used, f"no document uses {module}.{name}: it need not be public"


def test_the_page_lists_the_names_of_the_docstring() -> None:
    rows = re.findall(r"^\| `(mrfhw\.[\w.]+)` \| ([^|]+) \|", (DOCS / "api.md").read_text(), re.MULTILINE)
    assert {(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)} == listed()


def test_each_argument_has_a_line_of_its_own() -> None:
    """What a public docstring says of an argument or attribute ("name: ...") begins a line, also in methods."""
    public = [getattr(mrfhw, name) for name in mrfhw.__all__]
    public += [getattr(importlib.import_module(module), name) for module, name in listed()]
    described = 0
    for thing in filter(lambda one: inspect.isclass(one) or inspect.isfunction(one), public):
        inner = [one for name, one in vars(thing).items() if name[0] != "_" or name == "__init__"] if inspect.isclass(thing) else []
        for one in (thing, *filter(inspect.isfunction, inner)):
            text = inspect.getdoc(one) or ""
            described += len(ARGUMENT.findall(text))
            inside = [line for line in text.splitlines() if not line.startswith("  ") and WITHIN.search(line)]
            assert not inside, (thing.__name__, inside)
    assert described > 100


def test_what_is_not_public_is_found() -> None:
    """By each way to import."""
    text = "import mrfhw\nimport mrfhw.apps\nfrom mrfhw.host import connect\nfrom mrfhw import solve\nmrfhw.cli.main()\nimport re\n"
    assert imported(text) == {("mrfhw.apps", ""), ("mrfhw.host", "connect"), ("mrfhw", "solve"), ("mrfhw", "cli")}
