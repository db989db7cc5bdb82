"""The register map as a page: its tables end before the text behind them."""

from __future__ import annotations

import itertools

import pytest

from mrfhw.driver.register_map import markdown
from mrfhw.machine.config import PRESETS, Config


@pytest.mark.claim("driver", "the page of the register map has each table by itself, so that any viewer shows it as one")
@pytest.mark.parametrize("preset", ["default", "smallest", "matching"])
def test_text_and_tables_are_apart(preset: str) -> None:
    lines = markdown(Config(**PRESETS[preset]), "0" * 64).splitlines()
    assert any(line.startswith("|") for line in lines)
    for line, after in itertools.pairwise(lines):
        assert "" in (line, after) or line.startswith("|") == after.startswith("|"), (line, after)
