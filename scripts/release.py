"""Check and build a release. Nothing is tagged without --tag, and nothing is ever pushed or uploaded.

    python scripts/release.py               # dry run: check, build, test; says what a release still lacks
    python scripts/release.py --tag         # the same, every check must pass; then the tag, in this clone alone

Files come into out/release. The sdist is built from what git tracks, the wheel from the sdist. Both are tested in a fresh virtual
environment: the tests of the unpacked sdist run against the installed wheel.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "release"
TESTS = ("tests/test_api.py", "-k", "a_pair or any_field or mistakes")  # arrays in, answers and files out
NEEDED = ("mrfhw/__init__.py", "mrfhw/sim/chip.py", "mrfhw/sim/chip.cpp", "tests/conftest.py", "tests/support/__init__.py",
          "CHANGELOG.md", "LICENSE", "README.md")  # of the sdist


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
    if "To be filled in" in citation:
        lines.append("CITATION.cff has no authors yet: fill them in, and remove the comment")
    if call("git", "status", "--porcelain"):
        lines.append("the checkout has changes that are not committed: commit them")
    if call("git", "tag", "--list", f"v{number}"):
        lines.append(f"the tag v{number} exists: raise mrfhw.__version__")
    return lines


def build(place: Path) -> tuple[Path, Path]:
    """(sdist, wheel) of the files that git tracks or would, built in `place`."""
    source, tools, built = place / "source", place / "tools", place / "built"
    for name in filter(None, call("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")):
        file, target = ROOT / name, source / name
        if file.is_symlink() or file.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target, follow_symlinks=False)
    call(sys.executable, "-m", "venv", tools)
    call(tools / "bin" / "pip", "install", "--quiet", "build")
    call(tools / "bin" / "python", "-m", "build", "--outdir", built, source)
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
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


def test(folder: Path, wheel: Path, number: str, place: Path) -> str:
    """The last line of the tests of the unpacked sdist, which run against the installed wheel."""
    fresh, away = place / "fresh", place / "away"
    call(sys.executable, "-m", "venv", fresh)
    call(fresh / "bin" / "pip", "install", "--quiet", f"{wheel}[apps]", "pytest")
    away.mkdir()
    shutil.copytree(folder / "tests", away / "tests")  # without the package beside them
    shutil.copy2(folder / "pyproject.toml", away)
    told = call(fresh / "bin" / "python", "-c", "import mrfhw; print(mrfhw.__version__, mrfhw.__file__)", cwd=away)
    if told.split()[0] != number or str(fresh) not in told:
        sys.exit(f"the installed package says {told.strip()}: {number} in {fresh} was expected")
    call(fresh / "bin" / "mrfhw", "generate", "--preset", "smallest", "-o", "rtl", cwd=away)
    return call(fresh / "bin" / "pytest", *TESTS, cwd=away).strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", action="store_true", help="Make the tag, where every check passes.")
    tag = parser.parse_args().tag
    number = version()
    missing = lacking(number)
    print(f"version {number}, tag v{number}")
    for line in missing:
        print(f"lacking: {line}")
    if tag and missing:
        sys.exit("nothing was built and no tag was made")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sdist, wheel = build(place)
        print(f"tests: {test(unpack(sdist, place), wheel, number, place)}")
        shutil.rmtree(OUT, ignore_errors=True)
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
