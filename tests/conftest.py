"""Options of the long runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--machines", type=int, default=6, help="Random machines compared with the model.")
    parser.addoption("--problems", type=int, default=25, help="Random problems on each of them.")
    parser.addoption("--own-machines", action="store_true", help="Netlists of every family and of each board's own machine.")
    parser.addoption("--command-lines", type=int, default=200, help="Random command lines.")
    parser.addoption("--bridges", type=int, default=1, help="Runs of random frames through a bridge, of each size.")
    parser.addoption("--every-stage", action="store_true", help="A register stage more in every part of a machine, one by one.")
    parser.addoption("--faults", type=int, default=50, help="Runs over links that damage bytes.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first, so that no worker is left alone with them at the end."""
    items.sort(key=lambda item: item.path.stem not in ("test_build_flow", "test_netlist", "test_axi_top"))
