"""The built wheel in an empty environment: it brings its dependencies, and no benches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.checkout import tracked

pytestmark = [
    pytest.mark.tools,
    pytest.mark.claim("house",
        "the built wheel holds the product and no benches; in an empty environment it generates a machine and runs a problem"),
]

ROOT = Path(__file__).parents[2]


def call(*command: str | Path, cwd: Path) -> str:
    # Without this checkout's path, which would be found in place of what is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
                          env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


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


def test_an_empty_environment_generates_and_runs(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    call(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    call(sys.executable, "-m", "pip", "--python", environment, "install", "--quiet", "--no-compile", wheel, cwd=tmp_path)
    mrfhw = environment / "bin" / "mrfhw"
    call(mrfhw, "generate", "--preset", "smallest", "-o", "rtl", cwd=tmp_path)
    assert "module mrfhw_top" in (tmp_path / "rtl" / "mrfhw_top.v").read_text()
    call(mrfhw, "demo-scene", "--rows", "48", "--cols", "96", "--labels", "8", "-o", "scene", cwd=tmp_path)
    said = call(mrfhw, "run", "stereo", "scene/left.png", "scene/right.png", "--labels", "8", "--sweeps", "10", "--burn-in", "5",
                "--chains", "1", "-o", "answer", cwd=tmp_path)
    assert "label evaluations" in said
    assert (tmp_path / "answer" / "report.html").is_file()
