"""The sdist holds what git tracks and can run its tests; its description on PyPI has no link that needs the files beside it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from support.checkout import tracked

SDIST_HOLDS_GIT = pytest.mark.claim(
    "house", "the sdist holds all that git tracks but three links, and every test, benches included, is collected in it")
PYPI_SHOWS_LINK = pytest.mark.claim(
    "house", "what PyPI shows has no link or picture that is relative; a release with one, or with a placeholder, is refused")

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
LINKS = {"host", "fpga"}  # into mrfhw/; setuptools packs plain files alone
ADDED = ("PKG-INFO", "setup.cfg", "mrfhw.egg-info/")  # by setuptools
ADDRESS = "https://example.org/somebody/mrfhw"


def call(*command: str | Path, cwd: Path, path: Path) -> str:
    """The output of a command, which imports from `path` first and from nothing of the checkout."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("release")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as scripts/release.py builds it, by the setuptools that pyproject.toml asks for."""
    tracked()
    place = tmp_path_factory.mktemp("sdist")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", place / "tools", *needed, cwd=place,
         path=place)
    call(sys.executable, "-c", "import release, sys; from pathlib import Path; release.stage(Path(sys.argv[1]))", place / "source",
         cwd=place, path=SCRIPTS)
    call(sys.executable, "-c", "import setuptools.build_meta as backend, sys; backend.build_sdist(sys.argv[1])", place,
         cwd=place / "source", path=place / "tools")
    (built,) = place.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def unpacked(sdist: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent / "unpacked", filter="data")
    (folder,) = (sdist.parent / "unpacked").iterdir()
    return folder


@pytest.mark.tools
@SDIST_HOLDS_GIT
def test_the_sdist_has_all_that_git_tracks(unpacked: Path) -> None:
    packed = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert {name for name in packed if not name.startswith(ADDED)} == set(tracked()) - LINKS
    assert os.access(unpacked / ".ci" / "run", os.X_OK)


@pytest.mark.tools
@SDIST_HOLDS_GIT
def test_all_tests_are_collected_in_the_sdist(unpacked: Path) -> None:
    """The long ones, too, with the package, the benches and what they share from the sdist. An error ends the command."""
    assert str(unpacked) in call(sys.executable, "-c", "import mrfhw; print(mrfhw.__file__)", cwd=unpacked, path=unpacked)
    listed = call(sys.executable, "-m", "pytest", "--collect-only", "-q", "--long", "-p", "no:cacheprovider",
                  "--assert=plain", cwd=unpacked, path=unpacked)
    collected = {line.split(":")[0] for line in listed.splitlines() if re.fullmatch(r"tests/\S+\.py: \d+", line)}
    assert collected == {name for name in tracked("tests") if Path(name).name.startswith("test_")}


@pytest.mark.tools
@PYPI_SHOWS_LINK
def test_links_of_the_description_are_absolute(release: ModuleType, sdist: Path, unpacked: Path) -> None:
    page = release.absolute((ROOT / "README.md").read_text(), ADDRESS, "1.2.3")
    told = re.findall(rf"\]\({re.escape(ADDRESS)}/(blob|raw)/v1\.2\.3/([^)#]+)", page)
    assert len(told) > 20
    assert {kind for kind, name in told if name.endswith(".png")} == {"raw"}
    assert all((ROOT / name).exists() for _, name in told)
    assert release.relative_links((ROOT / "README.md").read_text())
    assert not release.relative_links(page)
    assert page.replace(f"{ADDRESS}/blob/v1.2.3/", "").replace(f"{ADDRESS}/raw/v1.2.3/", "") == (ROOT / "README.md").read_text()
    # What setuptools wrote into the metadata is that page.
    assert not release.relative_links(release.description(sdist))
    assert release.description(sdist).strip() == (unpacked / "README.md").read_text().strip()
    assert release.description(sdist).startswith("# mrfhw\n")


def test_the_files_that_are_run_exist_and_need_what_is_installed(release: ModuleType) -> None:
    for name in (*release.OF_WHEEL, *release.OF_SDIST):
        assert (ROOT / name).is_file(), name
    for name in release.OF_WHEEL:
        assert not re.search(r"^(?:from|import) (?:sim|studies)\b", (ROOT / name).read_text(), re.M), name


@PYPI_SHOWS_LINK
def test_links_that_are_made_absolute(release: ModuleType) -> None:
    page = "[`a`](b.md) ![c](d.PNG) [e](https://f) [g](#h) [i](mailto:j@k) `[l](m)`\n\n```\n[n](o)\n```\n\n[p](q.md#r \"s\")\n"
    made = {"b.md": "blob/v1/b.md", "d.PNG": "raw/v1/d.PNG", "#h": "blob/v1/README.md#h", "q.md#r": "blob/v1/q.md#r"}
    wanted = page
    for target, link in made.items():
        wanted = wanted.replace(f"]({target}", f"]({ADDRESS}/{link}")
    assert release.absolute(page, f"{ADDRESS}/", "1") == wanted
    assert release.relative_links(page) == list(made)


@PYPI_SHOWS_LINK
@pytest.mark.parametrize("broken", ["[a](docs/b.md)", "![a](b.png)", "[a](#b)", "[a]: docs/b.md", '<img src="docs/demo.png">',
                                    "<a href='docs/b.md'>a</a>"])
def test_relative_links_are_refused(release: ModuleType, broken: str) -> None:
    assert len(release.relative_links(f"Text\n\n{broken}\n")) == 1


@PYPI_SHOWS_LINK
def test_a_wheel_with_a_relative_link_is_refused(release: ModuleType, tmp_path: Path) -> None:
    for link in ("https://b/c.md", "docs/c.md"):
        with zipfile.ZipFile(tmp_path / "a-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("a-1.dist-info/METADATA", f"Name: a\nVersion: 1\n\n# A\n\n[b]({link})\n")
        if link.startswith("https:"):
            release.refuse_relative_links(Path(wheel.filename or ""))
    with pytest.raises(SystemExit, match=r"a-1-py3-none-any\.whl describes itself with links that PyPI breaks: docs/c\.md"):
        release.refuse_relative_links(Path(wheel.filename or ""))


@PYPI_SHOWS_LINK
@pytest.mark.parametrize("whole", ["[a](https://b/c.md)", "[a]: https://b", '<img src="https://b/c.png">', "`[a](b)`"])
def test_absolute_links_are_not(release: ModuleType, whole: str) -> None:
    assert not release.relative_links(f"Text\n\n{whole}\n")


@PYPI_SHOWS_LINK
def test_a_release_waits_for_its_owner(release: ModuleType, tmp_path: Path) -> None:
    """One line for each placeholder, none when all is filled in, and authors that are in both files."""
    project = ('[project]\nauthors = [{{ name = "{}" }}]{}\n[project.urls]\nRepository = "{}"\n').format
    citation = "# {}\nauthors:\n  - family-names: {}\n    given-names: Ada\n".format

    def lines(author: str, comment: str, address: str, said: str, family: str) -> list[str]:
        (tmp_path / "pyproject.toml").write_text(project(author, comment, address))
        (tmp_path / "CITATION.cff").write_text(citation(said, family))
        return [line.split(":")[0] for line in release.unfilled(tmp_path)]

    assert not lines("Ada Lovelace", "", ADDRESS, "", "Lovelace")
    assert lines("Ada Lovelace", "", f"https://{release.NOWHERE}/mrfhw", "", "Lovelace") == [
        "pyproject.toml has no address of the repository yet"]
    assert lines("Ada Lovelace", "  # To be filled in", ADDRESS, "", "Lovelace") == ["pyproject.toml has no authors yet"]
    assert lines("Ada Lovelace", "", ADDRESS, "To be filled in", "Lovelace") == ["CITATION.cff has no authors yet"]
    assert lines("Ada Lovelace", "", ADDRESS, "", "Byron") == [
        "Ada Lovelace is an author in pyproject.toml, but not in CITATION.cff"]


@pytest.mark.slow
@PYPI_SHOWS_LINK
def test_nothing_is_built_with_a_placeholder(release: ModuleType, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    """--tag ends before the first command that could change something."""
    monkeypatch.setattr(sys, "argv", ["release.py", "--tag"])
    monkeypatch.setattr(release, "unfilled", lambda: ["no address"])
    called: list[tuple[str, ...]] = []
    monkeypatch.setattr(release, "call", lambda *words: called.append(words) or "")
    with pytest.raises(SystemExit, match="nothing was built and no tag was made"):
        release.main()
    assert called == [("git", "status", "--porcelain"), ("git", "tag", "--list", f"v{release.version()}")]
    assert "lacking: no address\n" in capsys.readouterr().out


@PYPI_SHOWS_LINK
def test_placeholders_are_found_where_they_are(release: ModuleType) -> None:
    """In the files as they are, each line is there as long as its placeholder is."""
    told = "\n".join(release.unfilled())
    said = [name for name in ("pyproject.toml", "CITATION.cff") if release.UNFILLED in (ROOT / name).read_text()]
    assert all(f"{name} has no authors yet" in told for name in said)
    assert (f"https://{release.NOWHERE}" in release.project()["urls"]["Repository"]) == ("no address of the repository" in told)
