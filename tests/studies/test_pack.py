"""`python -m studies.pack`: what it prints stands in the documents, and follows from cycles of the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.field.problem import Run
from studies.pack import main, measure

PACKED = pytest.mark.claim("packs",
    "small fields in a pack end sooner on a large machine than one after the other, large ones do not")


@PACKED
def test_the_documents_have_its_table() -> None:
    said = CliRunner().invoke(main, [])
    assert said.exit_code == 0, said.output
    page = (Path(__file__).parents[2] / "docs" / "own-fields.md").read_text()
    rows = [re.sub(" +", " ", line) for line in said.output.splitlines() if line.startswith("|")]
    assert len(rows) == 7
    assert all(row in page for number, row in enumerate(rows) if number != 1)


@PACKED
def test_small_fields_gain_and_large_ones_do_not() -> None:
    packs, alone, packed = measure((64, 64), 4, 20, Run(sweeps=500))
    assert [(len(one.fields), one.filled) for one in packs] == [(20, 1.0)]
    assert alone[1] > 2 * packed[1]
    assert alone[0] > 5 * packed[0]
    packs, alone, packed = measure((256, 256), 16, 20, Run(sweeps=500))
    assert [len(one.fields) for one in packs] == [16, 4]
    assert alone[1] < 1.05 * packed[1]
