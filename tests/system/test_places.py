"""Where files are kept, numba and docstrings in surroundings that lack what is usual."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfhw.system.files import cache_directory
from mrfhw.system.places import give_places, is_writable, own_directory

SURROUNDINGS = pytest.mark.claim("house",
    "without a home, a place to keep files, docstrings or a numba that may compile, a command works or says one line")
NOWHERE = "/proc/none"  # which nobody can make, root included
LOOP = """
from mrfhw.system.numba_alone import njit

@njit(nogil=True)
def loop(x):
    return x + 1

print(loop(1))
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files, and no place of another kind."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    for name in ("MRFHW_CACHE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", NOWHERE)
    return folder


def mrfhw(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mrfhw", *words], cwd=cwd, capture_output=True, text=True, check=False,
                          env=os.environ | {"TMPDIR": str(cwd)} | environment)


def picture(folder: Path) -> str:
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (8, 8), np.uint8)).save(folder / "a.png")
    return "a.png"


# -- places


def test_one_s_own_folder_is_closed_to_others(scratch: Path) -> None:
    path = own_directory()
    assert path == own_directory() == scratch / f"mrfhw-{os.getuid()}"
    assert path.stat().st_mode & 0o777 == 0o700
    path.chmod(0o770)
    with pytest.raises(PermissionError, match="it is not a folder of this user alone"):
        own_directory()
    path.rmdir()
    (scratch / "elsewhere").mkdir(0o700)
    path.symlink_to(scratch / "elsewhere")
    with pytest.raises(PermissionError, match="it is not a folder of this user alone"):
        own_directory()


def test_one_s_own_folder_is_not_where_one_works(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's last resort for temporary files is the working directory."""
    monkeypatch.chdir(scratch)
    monkeypatch.delenv("TMPDIR", raising=False)
    with pytest.raises(PermissionError, match="no folder for temporary files can be written"):
        own_directory()
    assert not list(scratch.iterdir())


def test_a_question_leaves_nothing(tmp_path: Path) -> None:
    assert is_writable(tmp_path / "a" / "b" / "c")
    assert not is_writable(Path(NOWHERE) / "a")
    (tmp_path / "file").touch()
    assert not is_writable(tmp_path / "file" / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_cache_is_one_s_own_folder_where_there_is_no_other(scratch: Path, tmp_path: Path,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_directory() == own_directory()
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)
    assert cache_directory() == own_directory()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_directory() == tmp_path / "cache" / "mrfhw"
    monkeypatch.setenv("MRFHW_CACHE", NOWHERE)
    with pytest.raises(OSError, match=NOWHERE):  # what is asked for is not replaced
        cache_directory()


def test_libraries_are_given_places_where_they_lack_them(scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR")
    for name in names:  # so that they are as before when the test ends
        monkeypatch.setenv(name, NOWHERE)
    give_places()
    own = own_directory()
    assert [os.environ[name] for name in names] == [NOWHERE, str(own), str(own / "matplotlib")]
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in names[1:]:
        monkeypatch.delenv(name)
    give_places()
    assert [os.environ.get(name) for name in names] == [str(tmp_path), None, None]
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_a_user_without_home_has_one(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "home", no_home)
        give_places()
    assert Path.home() == own_directory()


# -- numba


def test_a_loop_that_cannot_be_kept_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    environment = os.environ | {"NUMBA_CACHE_LOCATOR_CLASSES": "UserWideCacheLocator", "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
    done = subprocess.run([sys.executable, "loop.py"], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert (done.stdout, done.stderr) == ("2\n", "")
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["loop.py"]


def test_a_loop_whose_files_cannot_be_read_or_written_is_compiled(tmp_path: Path) -> None:
    """Files of a cache that became folders are refused to root, too."""
    (tmp_path / "loop.py").write_text(LOOP)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    words = [sys.executable, "loop.py"]
    assert subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=True).stdout == b"2\n"
    kept = list((tmp_path / "kept").rglob("*.nb?"))
    assert kept
    for path in kept:
        path.unlink()
        path.mkdir()
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.slow
@SURROUNDINGS
@pytest.mark.parametrize(("name", "value", "said"), [
    ("NUMBA_DISABLE_JIT", "1", "NUMBA_DISABLE_JIT is set; the loops of this program use instructions that Python does not have and "
     "run only compiled: unset it"),
    ("NUMBA_NUM_THREADS", "0", "the environment has NUMBA_NUM_THREADS=0, which numba does not take "
     "(Number of threads specified must be > 0): unset it"),
    ("NUMBA_NUM_THREADS", "many", "the environment has NUMBA_NUM_THREADS=many, which numba does not take "
     "(Environment variable 'NUMBA_NUM_THREADS' is defined but its associated value 'many' could not be parsed): unset it"),
    ("NUMBA_COLOR_SCHEME", "none", "the environment has NUMBA_COLOR_SCHEME=none, which numba does not take ('none'): unset it")])
def test_what_numba_does_not_take_is_one_line(name: str, value: str, said: str, tmp_path: Path) -> None:
    """Also beside the second process, which imports numba as well; before any work."""
    done = mrfhw("run", "denoise", picture(tmp_path), "--noise", "10", "-o", "out", cwd=tmp_path, **{name: value})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: {said}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


# -- docstrings and assertions


@pytest.mark.slow
@SURROUNDINGS
def test_a_run_without_docstrings(tmp_path: Path) -> None:
    """With its diagnostics, whose library changes docstrings of its own."""
    done = mrfhw("run", "denoise", picture(tmp_path), "--noise", "10", "--sweeps", "60", "--no-report", "-o", "out", cwd=tmp_path,
                 PYTHONOPTIMIZE="2")
    assert done.returncode == 0, done.stderr
    assert "No convergence diagnostics" not in done.stdout + done.stderr
    assert (tmp_path / "out" / "report.json").is_file()


@pytest.mark.slow
@SURROUNDINGS
@pytest.mark.parametrize("words", ["--help", "run stereo --help", "generate --help", "help run denoise", "help machine"])
def test_help_without_docstrings(words: str, tmp_path: Path) -> None:
    usual, without = (mrfhw(*words.split(), cwd=tmp_path, PYTHONOPTIMIZE=level) for level in ("0", "2"))
    assert (without.returncode, without.stdout, without.stderr) == (0, usual.stdout, "")


# -- a whole command


@pytest.mark.tools
@SURROUNDINGS
def test_a_machine_is_generated_without_a_cache(tmp_path: Path) -> None:
    done = mrfhw("generate", "--preset", "smallest", "-o", "rtl", cwd=tmp_path, HOME=NOWHERE, XDG_CACHE_HOME=NOWHERE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "module mrfhw_top" in (tmp_path / "rtl" / "mrfhw_top.v").read_text()
