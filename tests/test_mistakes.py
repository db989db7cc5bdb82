"""Every row of docs/errors.md is what the program answers, word for word, and nothing is written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from support.mistakes import write_mistaken_files

DOCUMENT = Path(__file__).parent.parent / "docs" / "errors.md"
ROWS = re.findall(r"^\| `([^`]+)` \| (.+) \|$", DOCUMENT.read_text(), re.M)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mistakes")
    write_mistaken_files(directory)
    return directory


def test_every_row_is_read():
    table = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(table) >= 40
    assert {row[0].split()[1] for row in ROWS if row[0].startswith("run ")} == {"stereo", "motion", "segment", "denoise"}


@pytest.mark.parametrize(("command", "answer"), ROWS)
def test_answer(files, monkeypatch, command, answer):
    monkeypatch.chdir(files)
    before = sorted(path.name for path in files.iterdir())
    result = CliRunner().invoke(main, shlex.split(command), prog_name="mrfhw")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {answer}\n"
    assert sorted(path.name for path in files.iterdir()) == before
