"""Every row of docs/errors.md is what the program answers, word for word, and nothing is written."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from support.boards import TINY_OPTIONS, board
from support.live_mistakes import SITUATIONS
from support.mistakes import write_mistaken_files

MISTAKE_BOARD_LINE = pytest.mark.claim(
    "link", "each mistake with a board is one line: no such port, no permission, another machine, no board, unplugged")

DOCUMENT = Path(__file__).parents[2] / "docs" / "errors.md"
ROWS = re.findall(r"^\| `([^`]+)` \| (.+) \|$", DOCUMENT.read_text(), re.M)
LIVE = re.findall(r"^\| ([^`|]+) \| `(run|diagnose)` \| (.+) \|$", DOCUMENT.read_text(), re.M)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mistakes")
    write_mistaken_files(directory)
    return directory


def test_every_row_is_read():
    table = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(table) >= 40
    assert {row[0].split()[1] for row in ROWS if row[0].startswith("run ")} == {"stereo", "motion", "segment", "denoise", "problem"}


@pytest.mark.claim("command line", "every mistake is one line with exit code 2 and leaves nothing behind")
@MISTAKE_BOARD_LINE
@pytest.mark.parametrize(("command", "answer"), ROWS)
def test_answer(files, monkeypatch, command, answer):
    monkeypatch.chdir(files)
    before = sorted(path.name for path in files.iterdir())
    result = CliRunner().invoke(main, shlex.split(command), prog_name="mrfhw")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {answer}\n"
    assert sorted(path.name for path in files.iterdir()) == before


@pytest.fixture(scope="module")
def shared():
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS) as found:
        yield found


@pytest.mark.tools
@MISTAKE_BOARD_LINE
def test_every_live_row_has_its_situation():
    assert [situation for situation, _, _ in LIVE] == list(SITUATIONS)


@pytest.mark.tools
@MISTAKE_BOARD_LINE
@pytest.mark.parametrize(("situation", "verb", "answer"), LIVE, ids=[row[0].replace(" ", "-") for row in LIVE])
def test_answer_with_a_board(files, shared, monkeypatch, situation, verb, answer):
    """With real ports and boards. Names and numbers that differ from run to run stand in capitals."""
    monkeypatch.chdir(files)
    before = sorted(path.name for path in files.iterdir())
    options = [*TINY_OPTIONS, *(("--counter-bits", "3") if "another machine" in situation else ())]
    with SITUATIONS[situation](files, shared) as address:
        command = ["diagnose", address] if verb == "diagnose" else [
            "run", "stereo", "left.png", "right.png", "--window", "0,0,16,8", "--labels", "8", "--data-bits", "4",
            "--sweeps", "1000000", "--burn-in", "0", "--backend", address]
        began = time.monotonic()
        result = CliRunner().invoke(main, [*command, *options], prog_name="mrfhw")
        assert time.monotonic() - began < 60
    assert (result.exit_code, result.stdout) == (2, "")
    found = result.stderr.rsplit("\r", 1)[-1]  # a progress bar that was there is wiped
    for real, name in ((address.split("?")[0].removeprefix("serial://").removeprefix("tcp://"), "PORT"),
                       (r"\b[0-9a-f]{32}\b", "DIGEST"), (r"\b\d+ bytes\b", "N bytes")):
        found = re.sub(real, name, found)
    assert found == f"Error: {answer}\n"
    assert sorted(path.name for path in files.iterdir()) == before
