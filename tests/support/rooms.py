"""The drawing of the rooms in docs/rooms.md, from the packages' docstrings and imports.

    python -m support.rooms     # from tests/: write the document anew
"""

from __future__ import annotations

import ast
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "rooms.md"

HEAD = """# Rooms

Which package holds what, and which may use which. An arrow points from a room to one that it uses; arrows that follow from
others are left out. `lint-imports` (in `make test`) refuses an import against them: the layers stand in
[pyproject.toml](../pyproject.toml). This page is written by `python -m support.rooms` (from `tests/`), and a test compares it
with the code.

"""


def rooms(folder: Path = ROOT / "mrfhw", name: str = "") -> dict[str, str]:
    """The docstring of each package below `mrfhw`, by its dotted name, in the order of the names."""
    found = {}
    for place in sorted(path for path in folder.iterdir() if (path / "__init__.py").is_file()):
        room = f"{name}{place.name}"
        found[room] = ast.get_docstring(ast.parse((place / "__init__.py").read_text())) or ""
        found |= rooms(place, f"{room}.")
    return found


def arrows() -> set[tuple[str, str]]:
    """(room, room that it uses) of the top rooms, without those that follow from others."""
    graph = grimp.build_graph("mrfhw", exclude_type_checking_imports=True, cache_dir=None)
    tops = {name for name in rooms() if "." not in name}
    direct = set()
    for module in graph.modules:
        parts = module.split(".")
        if len(parts) < 2 or parts[1] not in tops:
            continue
        for used in graph.find_modules_directly_imported_by(module):
            target = used.split(".")[1] if "." in used else ""
            if target in tops and target != parts[1]:
                direct.add((parts[1], target))
    return {(a, b) for a, b in direct if not any((a, c) in direct and _reaches(direct, c, b) for c in tops - {a, b})}


def _reaches(edges: set[tuple[str, str]], start: str, end: str) -> bool:
    seen, open_ = set(), {start}
    while open_:
        seen |= open_
        open_ = {b for a, b in edges if a in open_} - seen
    return end in seen


def document() -> str:
    """The page's text."""
    described = rooms()
    lines = ["```mermaid", "flowchart TD", *(f"    {a} --> {b}" for a, b in sorted(arrows())), "```", "",
             "| room | what belongs there, and what does not |", "| --- | --- |"]
    lines += [f"| {'&nbsp;' * 4 * room.count('.')}`{room}` | {text.splitlines()[0]} |" for room, text in described.items()]
    return HEAD + "\n".join(lines) + "\n"


def circles() -> list[tuple[str, str]]:
    """Rooms that use each other."""
    found = arrows()
    return [pair for pair in found if pair[::-1] in found or _reaches(found, pair[1], pair[0])]


if __name__ == "__main__":
    DOCUMENT.write_text(document())
