"""What a refused file costs: little memory, however much it declares, packs or holds."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytestmark = [pytest.mark.slow, pytest.mark.claim(
    "files", "a refused picture, truth, problem or checkpoint takes at most 300 MB of memory, and what it declares too much is "
    "refused before it is unpacked")]

MOST = 300_000  # KiB beyond what the program itself takes

# For each line, a kind and a file, a child reads the file and prints what it is refused for and the memory that it took, in KiB.
READ = """
import json, os, resource, sys
import numpy as np
from mrfhw.field.problem import load_problem, Problem, Run
from mrfhw.field.result import Result
from mrfhw.pictures.flow import flow_of
from mrfhw.pictures.images import load_inputs
from mrfhw.pictures.numbers import known_disparity, known_segments
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Checkpoint, Keeping
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError

calls = {
    "problem": load_problem, "result": Result.load, "checkpoint": Checkpoint.load, "request": Request.load,
    "resumed": lambda path: sample("float", None, Problem(labels=2, singleton1=np.zeros((4, 4), int), constants=np.array([0, 9])),
                                   Run(sweeps=4), keeping=Keeping(resume=path)),
    "image": lambda path: load_inputs({path: path}), "disparity": lambda path: known_disparity(path, 1, "truth"),
    "segments": lambda path: known_segments(path, "truth"), "flow": flow_of}
for line in sys.stdin:
    kind, path = line.split()
    child = os.fork()
    if not child:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            calls[kind](path)
        except ProblemError as error:
            said = str(error)
        else:
            said = None
        print(json.dumps([said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print("null", flush=True)
"""
Refused = Callable[[str, Path], str]


@pytest.fixture(scope="module")
def refused() -> Iterator[Refused]:
    """From the kind of a file and its path to what it is refused for, in one line, within the memory."""
    with subprocess.Popen([sys.executable, "-c", READ], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None

        def ask(kind: str, path: Path) -> str:
            print(kind, path, file=reader.stdin, flush=True)
            said, taken = json.loads(reader.stdout.readline())  # type: ignore[union-attr]
            assert said is not None, "it was read"
            assert "\n" not in said
            assert taken < MOST, f"{taken} KiB: {said}"
            return str(said)

        yield ask
        reader.stdin.close()


def header(shape: tuple[int, ...], dtype: str) -> bytes:
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": dtype, "fortran_order": False, "shape": shape})
    return data.getvalue()


def packed(path: Path, kind: str, scalars: dict[str, object], arrays: dict[str, object]) -> Path:
    """A saved `kind`. arrays: those that are given, or (shape, dtype, bytes at the end) of zeros but for these bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in {"json": np.array(json.dumps({"format": f"mrfhw {kind}", "version": 1, **scalars})), **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                if isinstance(array, tuple):
                    shape, dtype, end = array
                    file.write(header(shape, dtype))
                    left = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize - len(end)
                    for begin in range(0, left, 1 << 24):
                        file.write(bytes(min(1 << 24, left - begin)))
                    file.write(end)
                else:
                    np.lib.format.write_array(file, array)
    return path


GRID = {"last": np.zeros((4, 4), np.uint8), "initial": np.zeros((4, 4), np.uint8)}
RESULT = {"backend": "float", "label_evaluations": 1, "wall_seconds": 0.0}
DATA = {"singleton1": np.zeros((4, 4), int), "constants": np.arange(4)}
LARGE = (1000, 1000, 400)  # 400 MB of bytes
STATE = {"sweeps": 1, "window": 0, "random": None, "so_far": RESULT}


@pytest.mark.parametrize(("kind", "form", "scalars", "arrays", "said"), [
    ("problem", "problem", {"labels": 4}, {**DATA, "more": (LARGE, "|u1", b"")}, "has the unknown array 'more'"),
    ("problem", "problem", {"labels": 4}, {"unary": (LARGE, "|u1", b"")}, "unary has shape (1000, 1000, 400); 4 labels need"),
    ("problem", "problem", {"labels": 4}, {**DATA, "clamped": ((20000, 20000), "|b1", b"")}, "clamped has shape (20000, 20000)"),
    ("problem", "problem", {"labels": 2}, {"constants": np.arange(2), "singleton1": ((20000, 20000), "|u1", b"")},
     "has 20000x20000 sites; the limit of a saved field is 67108864: give parts of it"),
    ("problem", "problem", {"labels": 200}, {"unary": ((1000, 1000, 200), "<i2", b"\xff\xff")}, "unary has the value -1; costs"),
    ("problem", "problem", {"labels": 100}, {"unary": ((1000, 1000, 100), "<f4", b"\0\0\xc0\x7f")}, "unary has the value nan"),
    ("problem", "problem", {"labels": 4, "x" * 3_000_000: 1}, {"unary": ((1000, 1000, 4), "<f4", b"")}, "has the unknown entry"),
    ("result", "result", RESULT, {**GRID, "counts": ((1000, 1000, 100), "<u4", b"")}, "counts has shape (1000, 1000, 100)"),
    ("resumed", "checkpoint", {"identity": {"problem": "x", "chains": 1}, "results": [], "looks": [], "state": STATE},
     {"state.last": ((20000, 20000), "|u1", b""), "state.initial": ((20000, 20000), "|u1", b"")}, "is a checkpoint of problem x"),
    ("checkpoint", "checkpoint", {"identity": {}, "results": [], "looks": [99]},
     {f"looks.{name}": ((50_000_000,), "<i8", b"") for name in ("sweeps", "energy", "labels")}, "looks of several lengths"),
    ("checkpoint", "checkpoint", {"identity": {}, "results": [], "looks": [50_000_000]},
     {f"looks.{name}": ((50_000_000,), "|u1", b"") for name in ("sweeps", "energy", "labels")}, "more than 4194304 looks"),
    ("request", "request", {"options": {}, "machine": None}, {"left": (LARGE, "|u1", b"")}, "has the array 'left', of which"),
])
def test_saved_files(tmp_path: Path, refused: Refused, kind: str, form: str, scalars: dict[str, object],
                     arrays: dict[str, object], said: str) -> None:
    assert said in refused(kind, packed(tmp_path / "bomb", form, scalars, arrays))


def test_a_large_array_that_is_damaged_at_its_end(tmp_path: Path, refused: Refused) -> None:
    path = packed(tmp_path / "bomb", "problem", {"labels": 200}, {"unary": ((1000, 1000, 200), "<i2", bytes(range(50)))})
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\1\2") + 16] ^= 1  # the checksum of the last member
    path.write_bytes(data)
    assert "Bad CRC-32 for file 'unary.npy'" in refused("problem", path)


def test_a_long_list_of_members(tmp_path: Path, refused: Refused) -> None:
    with zipfile.ZipFile(tmp_path / "bomb", "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number:0200}", b"")
    assert "its list of members has more than 4194304 bytes" in refused("problem", tmp_path / "bomb")


PICTURES = {
    "more pixels than are read": lambda: saved(Image.new("L", (9000, 9000))),
    "half transparent": lambda: saved(Image.new("RGBA", (5000, 5000), (9, 9, 9, 128))),
    "one colour transparent": lambda: saved(Image.new("RGB", (5000, 5000)), transparency=(0, 0, 0)),
    "a palette's colour transparent": lambda: saved(Image.new("P", (5000, 5000)), transparency=0),
    "pixels cut off": lambda: saved(Image.new("RGB", (5000, 5000)), "BMP")[:-4],
    "floats of no scale": lambda: saved(Image.fromarray(np.full((3500, 3500), 2, np.float32)), "TIFF"),
    "integers of no scale": lambda: saved(Image.fromarray(np.full((3500, 3500), 70000, np.int32)), "TIFF"),
    "16 bits of no scale": lambda: saved(Image.fromarray(np.full((5000, 5000), 7, np.uint16))),
    "a hundred megabytes of nothing": lambda: b"\x89PNG\r\n\x1a\n" + bytes(100_000_000),
    "one chunk of a hundred megabytes": lambda: saved(Image.new("L", (9, 9)))[:-12] + b"\5\xf5\xe1\0tEXt" + bytes(100_000_000),
    "more bytes than are read": lambda: b"P5 9 9 255\n" + bytes(1 << 28),
    "floats that are not there": lambda: b"Pf\n5000 5000\n-1\n" + bytes(1000),
}


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    data = io.BytesIO()
    image.save(data, kind, **options)  # type: ignore[arg-type]
    return data.getvalue()


@pytest.mark.parametrize("what", PICTURES)
def test_pictures(tmp_path: Path, refused: Refused, what: str) -> None:
    (tmp_path / "bomb").write_bytes(PICTURES[what]())
    refused("image", tmp_path / "bomb")


def test_truths(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(saved(Image.new("RGB", (5000, 5000))))
    for kind in ("disparity", "segments"):
        assert "pixels of mode RGB" in refused(kind, path)
    path.write_bytes(np.array([202021.25], "<f4").tobytes() + np.array([3600, 3600], "<i4").tobytes() + bytes(8 * 3600 * 3600 - 1))
    assert "3600x3600 motions take" in refused("flow", path)
