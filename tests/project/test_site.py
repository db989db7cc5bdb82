"""The documentation site: it builds without a warning, and what its pages list is what the code has."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import unicodedata
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import mrfhw
from mrfhw.jobs.registry import application, names
from mrfhw.report.outputs import files_of

SITE_BUILDS_WITHOUT = pytest.mark.claim(
    "documents", "the site builds without a warning, and what its pages show is what the program does")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
OTHERS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]


def nav() -> list[str]:
    """The pages in the order of mkdocs.yml, which is read without a YAML parser."""
    text = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    return re.findall(r"^\s+- [^:\n]+: (\S+\.md)$", text, re.M)


def prose(page: Path) -> str:
    """The page without its code."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"^    .*$", "", text, flags=re.M))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of its headings, as Python-Markdown names them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} (.+)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading)
        ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
        found[slug] = found.get(slug, -1) + 1
    return frozenset({slug if number == 0 else f"{slug}_{number}" for slug, last in found.items() for number in range(last + 1)})


def test_every_page_is_in_the_navigation_once():
    assert sorted(nav()) == [page.name for page in PAGES]
    assert nav()[0] == "index.md"


@SITE_BUILDS_WITHOUT
@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.name)
def test_links_and_anchors(page):
    links = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page if not name else (page.parent / name).resolve()
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), (link, sorted(anchors(target)))


def test_files_of_a_run_are_those_of_the_code():
    section = (DOCS / "reference.md").read_text().split("\n## The files of a run\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([\w.]+)` \|", section, re.M)
    assert sorted(named) == sorted({file for name in names() for file in files_of(application(name))})


def test_the_interface_is_that_of_the_package():
    named = re.findall(r"^::: mrfhw\.(\w+)$", (DOCS / "api.md").read_text(), re.M)
    assert sorted(named) == sorted(mrfhw.__all__)


def test_pictures_are_small_and_shown():
    pictures = sorted((DOCS / "pictures").iterdir())
    shown = set(re.findall(r"\]\((pictures/[^)]+)\)", "".join(page.read_text() for page in PAGES)))
    assert {f"pictures/{picture.name}" for picture in pictures} == shown
    assert all(picture.stat().st_size < 150_000 for picture in pictures)


def site_hooks() -> ModuleType:
    pytest.importorskip("griffe")
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("site_hooks")
    finally:
        sys.path.pop(0)


def test_docstrings_become_lists():
    argument_lists = site_hooks().argument_lists
    assert argument_lists("What it does.\n\n    f(1)\n\na, b: two\nnumbers. Both whole. c: one: more.\nRaises E.") == (
        "What it does.\n\n    f(1)\n\n- **a, b**: two numbers. Both whole.\n- **c**: one: more.\n\nRaises E.")
    assert argument_lists("Of two:\n- one,\n  of d: 3\n- two\nNo list: this.") == (
        "Of two:\n\n- one,\n  of d: 3\n- two\n\nNo list: this.")


@SITE_BUILDS_WITHOUT
def test_names_options_and_short_cells_are_not_broken():
    long = "w" * 41
    html = (f"<td>1 &lt; 2</td>\n<td>{long[1:]}</td><td><a>{long}</a></td><code>a-b</code>"
            "<code>mrfhw run stereo LEFT RIGHT --truth ...</code><pre><code>mrfhw run stereo LEFT RIGHT --truth ...</code></pre>")
    assert site_hooks().on_page_content(html) == (
        f'<td class="short">1 &lt; 2</td>\n<td>{long[1:]}</td><td class="long"><a>{long}</a></td><code class="short">a-b</code>'
        '<code>mrfhw run stereo LEFT RIGHT <span class="short">--truth</span> ...</code>'
        "<pre><code>mrfhw run stereo LEFT RIGHT --truth ...</code></pre>")


@pytest.mark.slow
@SITE_BUILDS_WITHOUT
def test_the_site_builds_without_a_warning(tmp_path):
    for module in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(module)
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / "site" / name).with_suffix(".html").is_file() for name in nav())
    page = (tmp_path / "site" / "api.html").read_text()
    assert all(f">{name}<" in page for name in mrfhw.__all__)


def test_changelog_and_citation_have_the_version():
    """`scripts/release.py` asks for more; these hold at any time."""
    assert re.search(rf"^## {re.escape(mrfhw.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert f"\nversion: {mrfhw.__version__}\n" in (ROOT / "CITATION.cff").read_text()
