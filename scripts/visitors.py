"""Three visitors in fresh environments: what each of them wants, how long it took, and whether it was right.

    python scripts/visitors.py              # all of them: ten minutes or so, and packages from PyPI
    python scripts/visitors.py pictures     # or soc, or joiner

pictures: has the wheel alone, and photographs. soc: has the sdist, and an FPGA or a system on chip. joiner: has a checkout.
Each step is checked; the first that fails ends the program. Debian's gcc and iverilog are used where they are there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from release import ROOT, build, call, unpack

FIRST = """
import mrfhw
from PIL import Image

answer = mrfhw.stereo(Image.open("scene/left.png"), Image.open("scene/right.png"), labels=24)
answer.save("first")
print(answer)
"""
READ_BACK = """
import cv2
import numpy as np
from PIL import Image

pfm = cv2.imread("first/disparity.pfm", cv2.IMREAD_UNCHANGED)
png = cv2.imread("first/disparity.png", cv2.IMREAD_UNCHANGED)
assert pfm.dtype == np.float32 and png.dtype == np.uint16 and pfm.shape == png.shape
assert np.abs(np.maximum(1, 256 * pfm) - png).max() <= 0.51
truth = np.asarray(Image.open("scene/disparity.png")) / 2048
print(f"{100 * (np.abs(pfm - truth) > 1).mean():.1f} % of the pixels wrong by more than 1")
assert np.load("first/histogram.npz")["counts"].shape == (*pfm.shape, 24)
flow = cv2.readOpticalFlow("motion/flow.flo")
assert flow.shape[2] == 2 and flow.dtype == np.float32
noisy, clean = Image.open("scenes/noisy.png"), Image.open("denoise/denoised.png")
assert noisy.size == clean.size and noisy.mode == clean.mode
assert Image.open("segment/classes.png").mode == "P"
"""
OTHERS = """
import mrfhw
import numpy as np

seen = []
problem = mrfhw.Problem(labels=3, unary=np.random.default_rng(0).integers(0, 20, (20, 30, 3)), doubleton="potts", beta=5,
                        schedule=mrfhw.Schedule.constant(8.0))
answer = mrfhw.solve(problem, sweeps=200, callback=lambda look: seen.append(look.energy))
with mrfhw.Session(problem, burn_in=100) as session:
    session.continue_(150)
    assert (session.continue_(50).counts == answer.counts).all()
problem.save("field.npz")
print(len(seen), "looks")
"""


FIELD = """
import mrfhw
import numpy as np

data = np.random.default_rng(0).integers(0, 9, (8, 8))
mrfhw.Problem(labels=3, singleton1=data, constants=np.array([0, 3, 6])).save("field.npz")
"""


class Visit:
    """A visitor's steps, with the time that each took."""

    def __init__(self, name: str, place: Path):
        self.name, self.place, self.began = name, place / name, time.monotonic()
        self.place.mkdir()
        self.python = self.place / "venv" / "bin" / "python"

    def step(self, what: str, *command: object, fails: str | None = None) -> str:
        """Run a command; fails: the one line with which it has to refuse."""
        began = time.monotonic()
        done = subprocess.run([str(word) for word in command], cwd=self.place, capture_output=True, text=True, check=False)
        if (done.returncode == 0) != (fails is None) or (fails is not None and fails not in done.stderr):
            sys.exit(f"{self.name}: {what} failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        if fails is not None and len(done.stderr.strip().splitlines()) != 1:
            sys.exit(f"{self.name}: {what} refused in more than one line:\n{done.stderr}")
        lines = (done.stdout if fails is None else done.stderr).strip().splitlines()
        print(f"{self.name:9} {time.monotonic() - self.began:6.0f} s (+{time.monotonic() - began:5.1f})  {what}"
              + (f": {lines[-1][:110]}" if lines else ""), flush=True)
        return done.stdout

    def install(self, what: object, *more: str) -> None:
        self.step("a virtual environment", sys.executable, "-m", "venv", self.place / "venv")
        self.step(f"pip install {Path(str(what)).name}", self.python, "-m", "pip", "install", "--quiet", what, *more)

    def run(self, what: str, *words: object, fails: str | None = None) -> str:
        return self.step(what, self.python.parent / "mrfhw", *words, fails=fails)


def pictures(place: Path, _: Path, wheel: Path) -> None:
    visit = Visit("pictures", place)
    visit.install(f"{wheel}[apps]")
    visit.run("two photographs", "demo-scene", "-o", "scene")
    visit.step("first result, three lines of Python", visit.python, "-c", FIRST)
    visit.run("the same by the command line", "run", "stereo", "scene/left.png", "scene/right.png", "--labels", 24, "-o", "result")
    visit.run("more scenes", "demo-scene", "motion", "-o", "scenes")
    visit.run("motion", "run", "motion", "scenes/first.png", "scenes/second.png", "--no-report", "-o", "motion")
    visit.run("more scenes", "demo-scene", "segment", "-o", "scenes")
    visit.run("segments", "run", "segment", "scenes/image.png", "--no-report", "-o", "segment")
    visit.run("more scenes", "demo-scene", "denoise", "-o", "scenes")
    visit.run("a picture without noise", "run", "denoise", "scenes/noisy.png", "--no-report", "-o", "denoise")
    visit.step("OpenCV, to read back", visit.python, "-m", "pip", "install", "--quiet", "opencv-contrib-python-headless")
    visit.step("files as OpenCV, Pillow and NumPy read them", visit.python, "-c", READ_BACK)
    visit.step("an array of costs, a callback, a run that goes on", visit.python, "-c", OTHERS)
    visit.run("its file on the command line", "run", "problem", "field.npz", "--sweeps", 200, "-o", "problem")
    visit.run("a mistake", "run", "stereo", "scene/left.png", "nothing.png", fails="Error: nothing.png cannot be read")


def soc(place: Path, sdist: Path, _: Path) -> None:
    visit = Visit("soc", place)
    visit.install(f"{sdist}[fpga]")
    visit.run("what fits my device", "estimate", "--device", "LFE5U-45F", "--mesh", "2x2")
    visit.run("a machine", "generate", "--preset", "smallest", "--name", "mrf_a", "--testbench", "-o", "a")
    visit.run("another one for the same design", "generate", "--preset", "smallest", "--label-bits", 4, "--name", "mrf_b",
              "-o", "b")
    if shutil.which("iverilog"):
        visit.step("both in one design", "iverilog", "-g2012", "-t", "null", "a/mrf_a.v", "b/mrf_b.v")
        visit.step("its own testbench", "iverilog", "-g2012", "-o", "tb", "-s", "mrf_a_tb", "a/mrf_a.v", "a/mrf_a_tb.v")
        if "PASS" not in visit.step("the testbench's verdict", "vvp", "tb"):
            sys.exit("soc: the testbench did not say PASS")
    visit.run("a machine for a bus", "generate", "--preset", "smallest", "--top", "axi", "-o", "axi")
    visit.step("a field", visit.python, "-c", FIELD)
    visit.run("a driver in C", "export", "field.npz", "--machine", "axi/manifest.json", "-o", "firmware")
    if shutil.which("gcc"):
        visit.step("compiled", "gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-c", "firmware/mrfhw_driver.c",
                   "-o", "driver.o")
    visit.run("too much for a board", "build", "--board", "arty-a7-35", "--mesh", "2x64", "--no-build", "-o", "never",
              fails="would fit by count")
    visit.run("a project for a board", "build", "--board", "arty-a7-35", "--no-build", "-o", "arty")
    found = json.loads((visit.place / "arty" / "manifest.json").read_text())
    if not list((visit.place / "arty").glob("*.h")) or "parameters" not in found:
        sys.exit("soc: the project has no manifest or header")
    page = (ROOT / "docs" / "own-board.md").read_text()
    (visit.place / "my_board.py").write_text(page.split("```python\n")[1].split("```")[0])
    visit.run("a board of one's own", "build", "--board", "my_board.py", "--no-build", "-o", "own")


def joiner(place: Path, _: Path, __: Path) -> None:
    visit = Visit("joiner", place)
    call("git", "clone", "--quiet", ROOT, visit.place / "checkout")
    visit.place = visit.place / "checkout"
    visit.python = visit.place / ".venv" / "bin" / "python"
    visit.step("a virtual environment", sys.executable, "-m", "venv", ".venv")
    visit.step("pip install -e .[test,docs]", visit.python, "-m", "pip", "install", "--quiet", "--editable", ".[test,docs]")
    for tool in ("ruff check --quiet .", "mypy", "lint-imports --no-cache",
                 "pytest -q tests/test_segmentation.py tests/test_plan.py", "mkdocs build --quiet --strict --site-dir out/site"):
        name, *words = tool.split()
        visit.step(tool, visit.python.parent / name, *words)


VISITORS: dict[str, Callable[[Path, Path, Path], None]] = {"pictures": pictures, "soc": soc, "joiner": joiner}


def main() -> None:
    wanted = sys.argv[1:] or list(VISITORS)
    if not set(wanted) <= set(VISITORS):
        sys.exit(f"visitors are {', '.join(VISITORS)}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sdist, wheel = build(place)
        unpack(sdist, place)
        for name in wanted:
            VISITORS[name](place, sdist, wheel)
    print("all of it was right")


if __name__ == "__main__":
    main()
