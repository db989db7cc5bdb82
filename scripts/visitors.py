"""Three visitors in fresh environments: what each of them wants, how long it took, and whether it was right.

    python scripts/visitors.py              # all of them: ten minutes or so, and packages from PyPI
    python scripts/visitors.py pictures     # or soc, or joiner

pictures: has the wheel alone, and photographs. soc: has the sdist, and an FPGA or a system on chip. joiner: has a checkout.
Each step is checked; the first that fails ends the program. Debian's gcc and iverilog are used where they are there.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from release import ROOT, build, call, unpack

FIRST = """
import mrfhw
from PIL import Image

answer = mrfhw.stereo(Image.open("scene/left.png"), Image.open("scene/right.png"), labels=24)
answer.save("first")
print(answer)
"""
HOW_SURE = """
import mrfhw
import numpy as np
from PIL import Image

answer = mrfhw.stereo("scene/left.png", "scene/right.png", labels=24)
shape, truth = answer.disparity.shape, np.asarray(Image.open("scene/disparity.png")) / 2048
assert answer.std.shape == answer.entropy.shape == shape and answer.interval.shape == (*shape, 2)
assert answer.std.min() >= 0 and 0 <= answer.entropy.min() and answer.entropy.max() <= np.log2(24)
low, high = np.moveaxis(answer.interval, -1, 0)
wide = high - low > np.median(high - low)
assert (low <= high).all() and answer.std[~wide].mean() < answer.std[wide].mean()
assert answer.converged in (True, False, None) and (not answer.converged or answer.rhat < 1.05 and answer.not_mixed <= 0.1)
wrong = np.abs(answer.disparity - truth) > 1
assert answer.entropy[wrong].mean() > answer.entropy[~wrong].mean() and answer.std[wrong].mean() > answer.std[~wrong].mean()
held = ((low - 0.5 <= truth) & (truth <= high + 0.5)).mean()
print(f"R-hat {answer.rhat:.3f}, converged: {answer.converged}; the intervals hold the truth at {100 * held:.0f} % of the pixels")
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
flow, moved = cv2.readOpticalFlow("motion/flow.flo"), cv2.readOpticalFlow("scenes/flow.flo")
assert flow.shape == moved.shape == (*np.load("motion/labels.npy").shape, 2) and flow.dtype == np.float32
far = np.linalg.norm(flow - moved, axis=2)
assert np.median(far) < 0.25 and (far > 1).mean() < 0.1, far
noisy, clean = Image.open("scenes/noisy.png"), Image.open("denoise/denoised.png")
assert noisy.size == clean.size and noisy.mode == clean.mode
classes = Image.open("segment/classes.png")
colours = np.reshape(classes.getpalette(), (-1, 3))
assert classes.mode == "P" and (np.asarray(classes) == np.load("segment/labels.npy")).all()
assert len(np.unique(colours, axis=0)) == len(colours) == np.load("segment/histogram.npz")["counts"].shape[2]
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
early = mrfhw.solve(problem, sweeps=200, callback=lambda look: look.sweeps >= 50)
assert early.stopped and not answer.stopped and (early.labels < 3).all()
assert 0 < early.report["sweeps"] <= 50 and early.report["sweeps_asked"] == 200  # as far as both chains have come
print(len(seen), "looks; one run ended early, after", early.report["sweeps"], "sweeps of 200")
"""
HELP = """
import pydoc
import mrfhw

text = pydoc.render_doc(mrfhw.stereo, renderer=pydoc.plaintext)
assert all(f"{name}:" in text or f"{name}," in text for name in ("left", "labels", "backend", "callback", "every")), text
print(len(text.splitlines()), "lines, which say what each argument is")
"""
SMALL = """
from PIL import Image

for name in ("left", "right"):
    Image.open(f"scene/{name}.png").crop((40, 40, 48, 48)).save(f"{name}.png")
"""

FIELD = """
import mrfhw
import numpy as np

data = np.random.default_rng(0).integers(0, 9, (8, 8))
mrfhw.Problem(labels=3, singleton1=data, constants=np.array([0, 3, 6])).save("field.npz")
"""
SAME = """
import numpy as np

for name in ("labels.npy", "last.npy", "entropy.npy"):
    assert (np.load(f"modelled/{name}") == np.load(f"on_board/{name}")).all(), name
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
        self.say(what + (f": {lines[-1][:110]}" if lines else ""), began)
        return done.stdout

    def say(self, what: str, began: float) -> None:
        now = time.monotonic()
        print(f"{self.name:9} {now - self.began:6.0f} s (+{now - began:5.1f})  {what}", flush=True)

    def install(self, what: object, *more: str) -> None:
        self.step("a virtual environment", sys.executable, "-m", "venv", self.place / "venv")
        self.step(f"pip install {Path(str(what)).name}", self.python, "-m", "pip", "install", "--quiet", what, *more)

    def run(self, what: str, *words: object, fails: str | None = None) -> str:
        return self.step(what, self.python.parent / "mrfhw", *words, fails=fails)

    @contextmanager
    def beside(self, what: str, *words: object) -> Iterator[str]:
        """A command of mrfhw that runs beside the others until they are done; the address that it prints."""
        began, command = time.monotonic(), [str(self.python.parent / "mrfhw"), *map(str, words)]
        with subprocess.Popen(command, cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            try:
                assert running.stdout is not None
                found, lines = None, []
                while found is None and (line := running.stdout.readline()):
                    lines.append(line)
                    found = re.search(r"\w+://\S+", line)
                if found is None:
                    sys.exit(f"{self.name}: {what} failed: {' '.join(command)}\n{''.join(lines)}")
                self.say(f"{what}: {found[0]}", began)
                yield found[0]
            finally:
                running.terminate()


def pictures(place: Path, _: Path, wheel: Path) -> None:
    visit = Visit("pictures", place)
    visit.install(f"{wheel}[apps]")
    visit.run("two photographs", "demo-scene", "-o", "scene")
    visit.step("first result, three lines of Python", visit.python, "-c", FIRST)
    visit.step("help(mrfhw.stereo)", visit.python, "-c", HELP)
    visit.step("how sure it is", visit.python, "-c", HOW_SURE)
    visit.run("the same by the command line", "run", "stereo", "scene/left.png", "scene/right.png", "--labels", 24, "-o", "result")
    visit.run("more scenes", "demo-scene", "motion", "-o", "scenes")
    visit.run("motion", "run", "motion", "scenes/first.png", "scenes/second.png", "--no-report", "-o", "motion")
    visit.run("more scenes", "demo-scene", "segment", "-o", "scenes")
    visit.run("segments", "run", "segment", "scenes/image.png", "--no-report", "-o", "segment")
    visit.run("more scenes", "demo-scene", "denoise", "-o", "scenes")
    visit.run("a picture without noise", "run", "denoise", "scenes/noisy.png", "--no-report", "-o", "denoise")
    visit.step("a pair of 8x8 pixels", visit.python, "-c", SMALL)
    for which in ("first", "second"):
        began = time.monotonic()
        visit.run(f"it is matched, the {which} time", "run", "stereo", "left.png", "right.png", "--labels", 4, "-o", "small")
    print(f"{'':27}a small run's second time took {time.monotonic() - began:.1f} s; 2 s are promised on a quiet computer")
    visit.step("OpenCV, to read back", visit.python, "-m", "pip", "install", "--quiet", "opencv-contrib-python-headless")
    visit.step("files as OpenCV, Pillow and NumPy read them", visit.python, "-c", READ_BACK)
    visit.step("an array of costs, callbacks, a run that goes on", visit.python, "-c", OTHERS)
    visit.run("its file on the command line", "run", "problem", "field.npz", "--sweeps", 200, "-o", "problem")
    visit.run("a mistake", "run", "stereo", "scene/left.png", "nothing.png", fails="Error: nothing.png cannot be read")


def soc(place: Path, sdist: Path, _: Path) -> None:
    visit = Visit("soc", place)
    visit.install(f"{sdist}[fpga,host]")
    visit.run("what fits my device", "estimate", "--device", "LFE5U-45F", "--mesh", "2x2")
    visit.run("a machine", "generate", "--preset", "smallest", "--name", "mrf_a", "--testbench", "-o", "a")
    visit.run("another one for the same design", "generate", "--preset", "smallest", "--label-bits", 4, "--name", "mrf_b",
              "-o", "b")
    if shutil.which("iverilog"):
        visit.step("both in one design", "iverilog", "-g2012", "-t", "null", "a/mrf_a.v", "b/mrf_b.v")
        visit.step("its own testbench", "iverilog", "-g2012", "-o", "tb", "-s", "mrf_a_tb", "a/mrf_a.v", "a/mrf_a_tb.v")
        if "PASS" not in visit.step("the testbench's verdict", "vvp", "tb"):
            sys.exit("soc: the testbench did not say PASS")
    if shutil.which("verilator"):
        visit.step("its own testbench, by Verilator", "verilator", "--binary", "-Wno-fatal", "--top-module", "mrf_a_tb",
                   "--Mdir", "tb_verilator", "a/mrf_a_tb.v", "a/mrf_a.v")
        if "PASS" not in visit.step("the testbench's verdict", "tb_verilator/Vmrf_a_tb"):
            sys.exit("soc: the testbench did not say PASS by Verilator")
    visit.run("a machine for a bus", "generate", "--preset", "smallest", "--top", "axi", "-o", "axi")
    visit.step("a field", visit.python, "-c", FIELD)
    visit.run("the field on the machine of a manifest", "run", "problem", "field.npz", "--machine", "a/manifest.json",
              "--sweeps", 20, "--no-report", "-o", "modelled")
    if shutil.which("verilator"):
        with visit.beside("a simulated board of that machine", "board", "--machine", "a/manifest.json", "--quick") as address:
            visit.run("the board is tested", "diagnose", address, "--machine", "a/manifest.json", "--every", 16)
            visit.run("the field on the board", "run", "problem", "field.npz", "--machine", "a/manifest.json", "--sweeps", 20,
                      "--backend", address, "--no-report", "-o", "on_board")
        visit.step("the same answer", visit.python, "-c", SAME)
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
    page = (ROOT / "docs" / "boards.md").read_text()
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
                 "pytest -q tests/applications/test_segmentation.py tests/project/test_plan.py",
                 "mkdocs build --quiet --strict --site-dir out/site"):
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
