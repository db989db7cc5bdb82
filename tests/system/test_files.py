"""What a killed process leaves is removed by the next one, and what another one is writing stays."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mrfhw.system.files import remove_part, replaced, staged

WRITING = """
import sys, time
from pathlib import Path
from mrfhw.system.files import replaced, staged
with staged(Path("out")) if sys.argv[1] == "folder" else replaced(Path("kept")) as half:
    if sys.argv[1] == "folder":
        (half / "a").write_text("x")
    else:
        half.write(b"x" * 9999)
    print("here", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], subprocess.Popen[str]]:
    """Starts a process that writes until it is killed."""
    monkeypatch.chdir(tmp_path)

    def start(what: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", WRITING, what], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        return process
    return start


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def names() -> list[str]:
    return sorted(path.name for path in Path().rglob("*"))


@pytest.mark.claim("checkpoints", "what a kill left half written is removed by the next run; what another run is writing is not")
@pytest.mark.parametrize("existing", [False, True])
def test_a_folder(written: Callable[[str], subprocess.Popen[str]], existing: bool) -> None:
    if existing:
        Path("out").mkdir()
    for killed in (False, True):
        process = written("folder")
        if killed:
            end(process)
        with staged(Path("out")) as scratch:
            (scratch / "b").write_text("y")
        if not killed:
            assert len(names()) == 4  # out and b, and the folder and file of the process that goes on
            end(process)
    assert names() == ["b", "out"]


def test_a_file(written: Callable[[str], subprocess.Popen[str]]) -> None:
    process = written("file")
    remove_part(Path("kept"))
    assert names() == [".kept.part"]
    end(process)
    remove_part(Path("kept"))
    assert names() == []
    with replaced(Path("kept")) as file:
        file.write(b"z")
    remove_part(Path("kept"))
    assert names() == ["kept"]
