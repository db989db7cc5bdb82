"""The lowest versions of the packages that pyproject.toml asks for are ones with which the program works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.tools,
    pytest.mark.claim("house", "with the lowest versions of its packages that are asked for, every kind of picture is read as with "
                               "the latest, and stereo and segmentation run"),
]


def lowest() -> dict[str, str]:
    """The least version by package, of those without an exact one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["apps"]]
    found = [re.match(r"([A-Za-z0-9_-]+)>=([0-9.]+)", one) for one in wanted]
    return {one[1]: one[2] for one in found if one}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The lowest versions before those that are installed."""
    place = tmp_path_factory.mktemp("lowest")
    wanted = [f"{name}=={version}" for name, version in lowest().items()]
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", "--target",
                           str(place / "packages"), *wanted], capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        assert "conflicting dependencies" not in done.stderr, said
        pytest.skip(f"pip has not all of the lowest versions here: {(said or [done.stderr])[0][:300]}")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place / "packages"), str(ROOT)]), "MRFHW_CACHE": str(place / "cache"),
            "NUMBA_CACHE_DIR": str(place / "numba"), "PYTHONDONTWRITEBYTECODE": "1"}


def call(environment: dict[str, str], cwd: Path, *words: object) -> str:
    done = subprocess.run([sys.executable, *map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True,
                          timeout=1200, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def test_they_are_what_is_imported(environment: dict[str, str], tmp_path: Path) -> None:
    code = f"import importlib.metadata as m, json; print(json.dumps({{name: m.version(name) for name in {list(lowest())}}}))"
    found = json.loads(call(environment, tmp_path, "-c", code))
    assert {name: tuple(map(int, version.split(".")[:3])) for name, version in found.items()} == {
        name: tuple(map(int, f"{version}.0.0".split(".")[:3])) for name, version in lowest().items()}


def test_pictures_are_read(environment: dict[str, str], tmp_path: Path) -> None:
    """Their own warnings, of what later versions of others drop, are none of the program."""
    said = call(environment, ROOT, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider", "--basetemp",
                tmp_path / "base", "-W", "ignore::DeprecationWarning", "-m", "not slow",
                *(f"tests/pictures/test_{name}.py" for name in ("picture_modes", "images_scale", "misread_files", "flow_files")))
    assert re.search(r"\d{3} passed", said)


def test_applications_run(environment: dict[str, str], tmp_path: Path) -> None:
    """The one with all packages and its page, the other with the loops that are compiled for it."""
    for verb, files, options in (("segment", ["image"], []), ("stereo", ["left", "right"], ["--labels", 8, "--no-report"])):
        call(environment, tmp_path, "-m", "mrfhw", "demo-scene", verb, "--rows", 32, "--cols", 40, "-o", verb,
             *(("--labels", 8) if verb == "stereo" else ()))
        call(environment, tmp_path, "-m", "mrfhw", "run", verb, *(f"{verb}/{name}.png" for name in files), "--sweeps", 8, *options,
             "-o", f"of {verb}")
    assert (tmp_path / "of segment" / "report.html").is_file()
    assert (tmp_path / "of stereo" / "disparity.pfm").is_file()
