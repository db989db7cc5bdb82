"""No module of a room imports one that imports it, itself or by others of the room."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import mrfhw

PACKAGE = Path(mrfhw.__file__).parent
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if len([*path.rglob("*.py")]) > 2)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("mrfhw", exclude_type_checking_imports=True, cache_dir=None)


@pytest.mark.parametrize("room", ROOMS)
def test_no_circle_of_modules(graph: grimp.ImportGraph, room: str) -> None:
    modules = {name for name in graph.modules if name.startswith(f"mrfhw.{room}.")}
    assert len(modules) > 1
    order = TopologicalSorter({name: graph.find_modules_directly_imported_by(name) & modules for name in modules})
    try:
        order.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
