"""Every code block of the documents runs, here or in a test that its comment names, or its comment says why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import mrfhw
from mrfhw.field.problem import Problem, Run
from mrfhw.scenes import denoising_scene, motion_scene, stereo_scene
from support.pages import KINDS, PAGES, ROOT, Block, blocks, run_page

LANGUAGES = {"sh", "python", "text"}
ELSEWHERE = {"c", "mermaid", "verilog"}  # languages that do not run here: what they are is in a comment, or made from the code
ALL = [block for page in PAGES for block in blocks(page)]
RUNNING = [page for page in PAGES if any(block.runs and block.language in LANGUAGES for block in blocks(page))]


def small_files() -> dict[str, Any]:
    """Write what the pages' commands read, into the working directory; the names that their Python has."""
    scene, frames, noisy = stereo_scene(24, 40, 8, 1), motion_scene(32, 40), denoising_scene(24, 32, 20.0)
    for names, picture in ((("LEFT", "left.png"), scene.left), (("RIGHT", "right.png"), scene.right), (("FIRST",), frames.first),
                           (("SECOND",), frames.second), (("PICTURE",), noisy.noisy), (("MASK",), 255 * noisy.observed)):
        for name in names:
            Image.fromarray(np.asarray(picture).astype(np.uint8)).save(name, "png")
    field = Problem(labels=4, singleton1=np.arange(24 * 32).reshape(24, 32) % 64, constants=np.array([8, 24, 40, 56]))
    for file in ("field.npz", "FIELD.npz"):
        field.save(file, Run(sweeps=20, burn_in=10))
    raw = {side: getattr(scene, side).astype(np.uint16) * 16 for side in ("left", "right")}
    return {"left": scene.left, "right": scene.right, "noisy": noisy.noisy, "left_raw": raw["left"], "right_raw": raw["right"],
            **{f"{side}_floats": getattr(scene, side) / 255 for side in ("left", "right")}}


@pytest.mark.parametrize("block", ALL, ids=lambda block: block.place)
def test_every_block_runs_or_says_why_not(block: Block) -> None:
    assert block.kind in ("", *KINDS)
    assert block.language in LANGUAGES | ELSEWHERE
    assert block.language not in {"c", "verilog"} or not block.runs
    assert block.language != "mermaid" or block.page == "rooms.md"  # made from the code: test_docs.py
    if block.kind == "run by":
        for test in block.said.split(", "):
            file, name = test.split("::")
            assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), test
    if block.kind == "no code":
        assert not re.search(r"^(mrfhw|python|pip|make|import|from) ", block.text, re.MULTILINE)


def _tutorial(names: dict[str, Any], printed: str) -> None:
    assert np.array_equal(np.load("result/labels.npy"), names["answer"].labels)
    assert np.array_equal(np.load("result/interval.npy")[:, :, 0], names["answer"].interval)


def _own_fields(names: dict[str, Any], printed: str) -> None:
    assert names["best"].converged is None
    assert (names["best"].last != names["truth"]).mean() < 0.1
    assert mrfhw.solve(names["weighted"], sweeps=20).labels.shape == names["truth"].shape
    wrong = {name: float(share) for name, share in re.findall(r"(\w+)(?: weights)?: ([\d.]+) % wrong", printed)}
    assert wrong["contrast"] < wrong["equal"] < 0.5 * wrong["classifier"]
    assert printed.count("equal: rtl and model have the same labels") == 2


CHECKS = {"tutorial.md": _tutorial, "own-fields.md": _own_fields}


@pytest.mark.slow
@pytest.mark.claim("documents", "the site builds without a warning, and what its pages show is what the program does")
@pytest.mark.claim("files",
    "problems, runs and results come back from files equal and of one digest; what is no such file is one line, and nothing large "
    "is unpacked")
@pytest.mark.claim(
    "applications", "a classifier's probabilities become a segmentation: contrast weights better than none, RTL equals model")
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if page.name == "own-fields.md":
        pytest.importorskip("sklearn")
    names = small_files()
    printed = run_page(page, names)
    if page.name in CHECKS:
        CHECKS[page.name](names, printed)


def test_a_block_that_fails_or_prints_something_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    right = ("```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n\n    mrfhw help machine\n\n"
             "<!-- not run: no such tool -->\n\n    tool\n")
    page.write_text(right)
    assert [(block.line, block.language, block.kind) for block in blocks(page)] == [
        (1, "python", ""), (5, "text", ""), (9, "sh", ""), (13, "sh", "not run")]
    run_page(page, {})
    for old, new in (("1 + 1", "1 + 2"), ("machine", "nothing"), ("not run: no such tool", "another comment")):
        page.write_text(right.replace(old, new))
        with pytest.raises(AssertionError):
            run_page(page, {})
