"""What the documentation site needs beside mkdocs.yml: hooks of MkDocs, and an extension of Griffe, which reads docstrings.

Docstrings say of arguments and attributes "name: what it is." in running text, which is good to read in a terminal. On a page
each of them becomes an item of a list.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import griffe

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")  # links to files of the repository that are no part of the site
_SHORT = re.compile(r"<code>([^<]{1,24})</code>")
_COMMAND = re.compile(r"(?<!<pre>)(?<!</span>)<code>[^<\n]{25,}</code>")
_OPTION = re.compile(r"(?<=[ >])-[^\s<]+")
_CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_FEW, _MANY = 12, 40  # characters in a table's cell: up to so many stay in one line, and more than so many have a wider column
_NAMES = re.compile(r"(?:^|(?<=[.;] ))([a-z_]\w*(?:, [a-z_]\w*)*): ")  # at the beginning of a sentence, and not upper-case
_LAST = ("Raises ", "The other arguments are ", "Equal where ")  # what is said at the end, and not of the last argument


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Links out of docs/ go to the repository where its address is known (`repo_url`), and are plain names elsewhere."""
    base = config.repo_url

    def instead(link: re.Match[str]) -> str:
        return f"[{link[1]}]({base.rstrip('/')}/blob/main/{link[2][3:]})" if base else f"`{link[1]}`"

    return _OUTSIDE.sub(instead, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Short pieces of code and options in long ones are not broken at the end of a line, which browsers do after a hyphen; nor are
    short cells of tables, and long ones do not become columns of single words on a phone."""
    html = _COMMAND.sub(lambda code: _OPTION.sub(r'<span class="short">\g<0></span>', code[0]), html)
    return _CELL.sub(_cell, _SHORT.sub(r'<code class="short">\1</code>', html))


def _cell(found: re.Match[str]) -> str:
    length = len(unescape(_TAG.sub("", found[1])))
    kind = ' class="short"' if length <= _FEW else ' class="long"' if length > _MANY else ""
    return f"<td{kind}>{found[1]}</td>"


def argument_lists(text: str) -> str:
    """A docstring's text with a list item for each "name: ..." or "name, name: ..." that begins a sentence."""
    return "\n\n".join(_block(block.split("\n")) for block in re.split(r"\n\s*\n", text))


def _block(lines: list[str]) -> str:
    """One paragraph; what is indented is code, and what begins with a hyphen a list already, with its lines indented."""
    if lines[0].startswith("    "):
        return "\n".join(lines)
    item = next((number for number, line in enumerate(lines) if line.startswith("- ")), None)
    if item is not None:
        end = next((n for n in range(item, len(lines)) if not lines[n].startswith(("- ", "  "))), len(lines))
        parts = (lines[:item], lines[end:])
        before, after = (_block(part) if part else "" for part in parts)
        return "\n\n".join(filter(None, [before, "\n".join(lines[item:end]), after]))
    whole, after = " ".join(line.strip() for line in lines), ""
    cut = min((place for last in _LAST if (place := whole.find(last)) > 0), default=None)
    if cut is not None:
        whole, after = whole[:cut].strip(), whole[cut:]
    before, *said = _NAMES.split(whole)
    if not said:
        return "\n".join(lines)
    items = [f"- **{names}**: {what.strip()}" for names, what in zip(said[::2], said[1::2], strict=True)]
    return "\n\n".join(filter(None, [before.strip(), "\n".join(items), after]))


class ArgumentLists(griffe.Extension):
    """Lists in the docstrings of classes and functions."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        self._change(func)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        self._change(cls)

    @staticmethod
    def _change(of: griffe.Object) -> None:
        if of.docstring is not None:
            of.docstring.value = argument_lists(of.docstring.value)
