"""The tests of what was changed: `cd tests && python -m support.changed`, a file a line, of `make quick`.

Changed is what differs from the last commit, or with --since COMMIT from that one. A test file is its own test; of a module it is
the files of its room that import it, and of a bench the files that name it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def changed(since: str, root: Path = ROOT) -> list[str]:
    """Paths that differ from a commit, those that git does not know among them."""
    words = (["diff", "--name-only", "-z", since], ["ls-files", "--others", "--exclude-standard", "-z"])
    found = [subprocess.run(["git", *one], cwd=root, capture_output=True, text=True, check=True).stdout for one in words]
    return sorted({name for names in found for name in names.split("\0") if name and (root / name).exists()})


def files_of_tests(path: str, root: Path = ROOT) -> list[str]:
    """Test files of a changed file."""
    place = Path(path)
    if place.suffix != ".py":
        return []
    if place.parts[0] == "tests":
        return [path] if place.name.startswith("test_") else []
    if place.parts[:2] == ("sim", "benches"):
        return _that_have((root / "tests").rglob("test_*.py"), re.compile(rf"sim\.benches\.{place.stem}\b"), root)
    room = place.parts[1] if place.parts[0] == "mrfhw" and len(place.parts) > 2 else place.parts[0]
    module = re.escape(".".join(place.with_suffix("").parts).removesuffix(".__init__"))
    package, _, name = module.rpartition(r"\.")
    return _that_have((root / "tests" / room).glob("test_*.py"),
                      re.compile(rf"from {module} import|import {module}\b|from {package} import [^\n]*\b{name}\b"), root)


def _that_have(paths, text: re.Pattern[str], root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in paths if text.search(path.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m support.changed", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="HEAD", help="a commit [the last one]")
    options = parser.parse_args()
    try:
        paths = changed(options.since)
    except subprocess.CalledProcessError as error:
        sys.exit(f"since is {options.since!r}, {error.stderr.strip().splitlines()[0]}: give a commit")
    for name in sorted({test for path in paths for test in files_of_tests(path)}):
        print(name)


if __name__ == "__main__":
    main()
