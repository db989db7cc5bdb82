"""The built wheel in an empty environment: it brings its dependencies, and no benches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.checkout import tracked

pytestmark = [
    pytest.mark.tools,
    pytest.mark.claim("house",
        "the built wheel holds the product and no benches; in an empty environment it generates a machine and runs a problem, and "
        "does so as a user who has no home, no entry in the list of users, and may write neither the environment nor where he is"),
]

ROOT = Path(__file__).parents[2]
NOBODY = 54321  # whom no list of users has
# Where Python itself is in a folder that is closed to other users, nobody may read all files, and still write none.
READER = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+dac_read_search",
          "--ambient-caps=+dac_read_search")
STEREO = ("--labels", "8", "--sweeps", "10", "--burn-in", "5", "--chains", "1")


def call(*command: str | Path, cwd: Path) -> str:
    # Without this checkout's path, which would be found in place of what is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
                          env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Nobody:
    """Where nobody is, and a folder for temporary files; of the first only the folder `answers` can be written by nobody."""

    here: Path
    scratch: Path
    reader: bool = False

    def call(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        words = [*(READER if self.reader else ()), *map(str, command)]
        who: dict[str, Any] = {} if self.reader else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return subprocess.run(words, cwd=self.here, capture_output=True, text=True, timeout=600, check=False,
                              env={"PATH": os.defpath, "TMPDIR": str(self.scratch)}, **who)

    def can_start(self, program: Path) -> bool:
        try:
            return self.call(program, "-c", "pass").returncode == 0
        except OSError:
            return False


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the files that git tracks, or would; building leaves nothing in the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    for name in tracked():
        target = place / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, place / "source", cwd=place)
    (built,) = place.glob("*.whl")
    return built


def test_the_wheel_has_the_product_and_no_benches(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert packed == set(tracked("mrfhw"))


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Iterator[Path]:
    """What the wheel is installed into; pytest's own folders are closed to other users."""
    with tempfile.TemporaryDirectory(prefix="mrfhw-wheel-") as name:
        place = Path(name)
        place.chmod(0o755)
        call(sys.executable, "-m", "venv", "--without-pip", place / "environment", cwd=place)
        call(sys.executable, "-m", "pip", "--python", place / "environment", "install", "--quiet", "--no-compile", wheel, cwd=place)
        yield place / "environment"


def test_an_empty_environment_generates_and_runs(environment: Path, tmp_path: Path) -> None:
    mrfhw = environment / "bin" / "mrfhw"
    call(mrfhw, "generate", "--preset", "smallest", "-o", "rtl", cwd=tmp_path)
    assert "module mrfhw_top" in (tmp_path / "rtl" / "mrfhw_top.v").read_text()
    call(mrfhw, "demo-scene", "--rows", "48", "--cols", "96", "--labels", "8", "-o", "scene", cwd=tmp_path)
    said = call(mrfhw, "run", "stereo", "scene/left.png", "scene/right.png", *STEREO, "-o", "answer", cwd=tmp_path)
    assert "label evaluations" in said
    assert (tmp_path / "answer" / "report.html").is_file()


@pytest.fixture
def nobody(environment: Path) -> Iterator[Nobody]:
    if os.getuid() != 0:
        pytest.skip("only root runs a program as another user")
    with tempfile.TemporaryDirectory(prefix="mrfhw-nobody-") as name:
        Path(name).chmod(0o755)
        here, scratch = Path(name) / "here", Path(name) / "scratch"
        (here / "answers").mkdir(parents=True)
        os.chown(here / "answers", NOBODY, NOBODY)
        scratch.mkdir()
        scratch.chmod(0o1777)
        ways = [Nobody(here, scratch), Nobody(here, scratch, reader=True)]
        found = next((way for way in ways if way.can_start(environment / "bin" / "python")), None)
        if found is None:
            pytest.skip("another user may not start this Python")
        yield found


def test_a_user_without_home_entry_and_permission_runs_and_generates(environment: Path, nobody: Nobody) -> None:
    """As in a container with any user's number, from what another user has installed."""
    here = nobody.here
    mrfhw, python = environment / "bin" / "mrfhw", environment / "bin" / "python"
    alone = "import os, pwd, sys; assert not any(e.pw_uid == os.getuid() for e in pwd.getpwall()); open(sys.argv[1], 'w')"
    for place in (here, environment, environment / "lib"):
        refused = nobody.call(python, "-c", alone, place / "file")
        assert "PermissionError" in refused.stderr, refused.stderr
    call(mrfhw, "demo-scene", "--rows", "48", "--cols", "96", "--labels", "8", "-o", "scene", cwd=here)
    for words in (("run", "stereo", "scene/left.png", "scene/right.png", *STEREO, "-o", "answers/stereo"),
                  ("generate", "--preset", "smallest", "-o", "answers/rtl")):
        done = nobody.call(mrfhw, *words)
        assert done.returncode == 0, done.stderr
        for unwanted in ("Traceback", "Matplotlib", "matplotlib", "Warning"):
            assert unwanted not in done.stderr, done.stderr
    assert (here / "answers" / "stereo" / "report.html").is_file()
    assert "module mrfhw_top" in (here / "answers" / "rtl" / "mrfhw_top.v").read_text()
    assert sorted(path.name for path in here.iterdir()) == ["answers", "scene"]
    # What is kept is in one folder, of which nobody else reads or writes anything.
    (kept,) = nobody.scratch.iterdir()
    assert (kept.stat().st_uid, kept.stat().st_mode & 0o777) == (NOBODY, 0o700)
