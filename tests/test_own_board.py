"""A board that a file outside the package describes: the page's example, and what is no board."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.fpga.boards import BuildError, board_named

PAGE = Path(__file__).parents[1] / "docs" / "own-board.md"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "my_board.py"
    path.write_text(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])
    return path


def test_the_example_is_a_project(example: Path, tmp_path: Path) -> None:
    said = CliRunner().invoke(main, ["build", "--board", str(example), "--no-build", "-o", str(tmp_path / "out")])
    assert said.exit_code == 0, said.output
    assert "wrote the project of 1x1 at 40 MHz" in said.output
    pins = (tmp_path / "out" / "top.lpf").read_text()
    assert 'SITE "P6"' in pins
    assert 'SITE "R13"' in pins
    assert "--25k" in (tmp_path / "out" / "build_top.sh").read_text()


def test_the_example_is_estimated(example: Path) -> None:
    said = CliRunner().invoke(main, ["estimate", "--board", str(example), "--preset", "smallest", "--json"])
    assert json.loads(said.stdout)["device"]["name"] == "LFE5U-25F"


@pytest.mark.parametrize(("text", "message"), [
    ("BOARD = 3", "has no BOARD that is a mrfhw.fpga.boards.Board"), ("x = 1", "has no BOARD"),
    ("1 / 0", "does not run (ZeroDivision"),
    ("raise SystemExit(3)", "does not run (SystemExit: 3"), ("def", "does not run (SyntaxError"),
    ("import no_such_module", "does not run (ModuleNotFoundError")])
def test_what_is_no_board_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "b.py"
    path.write_text(text)
    with pytest.raises(BuildError, match=re.escape(message)) as caught:
        board_named(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(BuildError, match="cannot be read"):
        board_named("no/such/board.py")


def test_a_board_of_another_family(example: Path) -> None:
    example.write_text(example.read_text().replace('family="ecp5"', 'family="spartan"'))
    with pytest.raises(BuildError, match="has family 'spartan'; those known are ecp5"):
        board_named(str(example))
