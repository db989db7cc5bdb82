"""The register map as a page: its tables end before the text behind them."""

from __future__ import annotations

import itertools

import pytest

from mrfhw.driver.register_map import markdown, register_map
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.ports import MemoryPort

PORT = MemoryPort(64, 32, 128)


@pytest.mark.claim("driver", "the page of the register map has each table by itself, so that any viewer shows it as one")
@pytest.mark.parametrize("port", [None, PORT], ids=["chip", "AXI"])
@pytest.mark.parametrize("preset", ["default", "smallest", "matching"])
def test_text_and_tables_are_apart(preset: str, port: MemoryPort | None) -> None:
    lines = markdown(Config(**PRESETS[preset]), "0" * 64, port).splitlines()
    assert any(line.startswith("|") for line in lines)
    for line, after in itertools.pairwise(lines):
        assert "" in (line, after) or line.startswith("|") == after.startswith("|"), (line, after)


@pytest.mark.claim("driver", "the page has the fields of memories, the log's registers where the machine has them, and clusters")
def test_what_a_page_has() -> None:
    config = Config.preset("smallest")
    page, with_log = (markdown(config, "0" * 64, port) for port in (None, PORT))
    shared = markdown(config.changed(clusters=2), "0" * 64)
    said = register_map(config, "0" * 64, PORT)
    for name, bit in said["lmem_bits"].items():
        assert f"{name} {bit}" in page
    for part in said["lmem_sum"]:
        assert f"bits {part['bit'] + part['width'] - 1}:{part['bit']} of word {part['word']}" in page
    for row in said["log_registers"]:
        assert f"| `{row['name']}` |" in with_log
        assert f"| `{row['name']}` |" not in page
    assert "The machine has 2 clusters" in shared
    assert "clusters" not in page
