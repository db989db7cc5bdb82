"""The code blocks of the documents, and what runs each of them.

A block without a comment runs in tests/project/test_pages.py, page by page and in order, in a folder that has small pictures under
the names that pages use. A comment in the line before a block says otherwise:

    <!-- not run: REASON -->        what needs a board, a vendor's tool, an environment of its own, hours
    <!-- run by: TESTS -->          tests that run it, as FILE::NAME, with commas between them
    <!-- run with: OPTIONS -->      runs, with these words at the end of each `mrfhw run` and `mrfhw verify`
    <!-- no code: WHAT -->          a formula, a diagram
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from mrfhw.cli import main

__all__ = ["KINDS", "PAGES", "ROOT", "Block", "blocks", "run_page", "without_seconds"]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
KINDS = ("not run", "run by", "run with", "no code")
_MARK = re.compile(r"<!-- ([a-z ]+): (.+) -->$")


@dataclass(frozen=True)
class Block:
    """A block of a page.

    language: as the page says; "sh" where it is only indented.
    kind: one of KINDS, or "".
    said: what the comment says after its kind.
    """

    page: str
    line: int
    language: str
    text: str
    kind: str = ""
    said: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.kind in ("", "run with")


def blocks(page: Path) -> Iterator[Block]:
    """The fenced and the indented blocks of a page, in order."""
    lines, number, mark = page.read_text().splitlines(), 0, ("", "")
    while number < len(lines):
        line, start = lines[number], number
        if fence := re.match(r"```(\w+)", line):
            number = next(n for n in range(number + 1, len(lines)) if lines[n] == "```")
            yield Block(page.name, start + 1, fence[1], "\n".join(lines[start + 1:number]) + "\n", *mark)
        elif line.startswith("    ") and (not number or not lines[number - 1].strip()) and not _in_list(lines, number):
            while number + 1 < len(lines) and (lines[number + 1].startswith("    ") or _goes_on(lines, number + 1)):
                number += 1
            text = "\n".join(one[4:] for one in lines[start:number + 1])
            yield Block(page.name, start + 1, "sh", text + "\n", *mark)
        if found := _MARK.match(line):
            mark = found[1], found[2]
        elif line.strip():
            mark = "", ""
        number += 1


def _goes_on(lines: list[str], number: int) -> bool:
    """Whether an empty line stands inside an indented block."""
    return not lines[number] and number + 1 < len(lines) and lines[number + 1].startswith("    ")


def _in_list(lines: list[str], number: int) -> bool:
    """Whether an indented paragraph belongs to an item of a list, or is an option of a directive."""
    above = next((one for one in reversed(lines[:number]) if one.strip() and not one.startswith("    ")), "")
    return bool(re.match(r"\s*(?:[-*]|\d+\.) |:::", above))


def without_seconds(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d+ s\b", "S", line) for line in text.strip().splitlines()]


def _python(code: str, names: dict[str, Any]) -> str:
    """What the code prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "page", "exec"), names)
    return said.getvalue()


def _shell(block: Block) -> str:
    """What the block's commands say: those of mrfhw, and Python from a here document."""
    if here := re.match(r"python - <<'END'\n(.*)^END$", block.text, re.DOTALL | re.MULTILINE):
        return _python(here[1], {})
    said = ""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "mrfhw", f"{block.place}: {words[0]} is not run here: mark the block"
        more = shlex.split(block.said) if words[1] in ("run", "verify") else []
        result = CliRunner().invoke(main, [*words[1:], *more], prog_name="mrfhw")
        assert result.exit_code == 0, (block.place, line, result.output)
        said += result.output
    return said


def run_page(page: Path, names: dict[str, Any]) -> str:
    """Run its blocks in the working directory, Python's with and into `names`. Outputs must be what the page shows.

    All that they print.
    """
    said, printed = {"sh": "", "python": ""}, ""
    for block in blocks(page):
        if not block.runs:
            continue
        if block.language == "text":
            assert without_seconds(block.text) in [without_seconds(one) for one in said.values()], (block.place, said)
        else:
            said[block.language] = _python(block.text, names) if block.language == "python" else _shell(block)
            printed += said[block.language]
    return printed
