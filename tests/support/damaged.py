"""Files of every format that is read, damaged at random: each is read, or refused in one line.

    python -m support.damaged SEED COUNT    # from tests/: what is neither; then how many were refused, and the memory in KiB
"""

from __future__ import annotations

import io
import json
import resource
import struct
import sys
import tempfile
import traceback
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mrfhw.field.problem import Problem, Run, load_problem
from mrfhw.field.records import kind_of
from mrfhw.field.result import Result
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.records import read_record
from mrfhw.generation.files import manifest
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.manifest import machine_in
from mrfhw.pictures.flow import flow_bytes, flow_of
from mrfhw.pictures.images import load_inputs
from mrfhw.pictures.numbers import known_disparity, known_mask, known_segments
from mrfhw.report.exchange import pfm_bytes
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Checkpoint, Keeping, pauses_of
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError

__all__ = ["FILES", "damage"]

Reader = Callable[[Path], object]
RNG = np.random.default_rng(5)
GREY = np.kron(RNG.integers(0, 256, (6, 8)), np.ones((2, 2))).astype(np.uint8)
PROBLEM = Problem(labels=3, singleton1=GREY[:6, :6] >> 2, constants=np.array([3, 20, 50]), clamped=np.eye(6, dtype=bool))
RUN = Run(sweeps=6, burn_in=2)
PAGES = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
FAR = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)


def picture(path: Path) -> None:
    """By every reader of pictures: each may take what others refuse."""
    readers: tuple[Reader, ...] = (lambda one: load_inputs({"image": one}), lambda one: known_disparity(one, 2, "truth"),
                                   lambda one: known_segments(one, "truth"), lambda one: known_mask(one, "mask"))
    said: list[str] = []
    for read in readers:
        try:
            read(path)
        except ProblemError as error:
            said.append(str(error))
    if said:
        raise ProblemError("\n".join(line for line in said if "\n" in line) or said[0])


def checkpoint(path: Path) -> None:
    found = Checkpoint.load(path)
    found.check_shapes(path, PROBLEM, RUN)
    found.check_contents(path, PROBLEM, RUN, RUN.sweeps, None)


def saved(kind: str, image: Image.Image = PAGES[0], **options: Any) -> bytes:
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def _palette() -> Image.Image:
    image = Image.fromarray(GREY % 20)
    image.putpalette([(n * 7) % 256 for n in range(60)])
    return image


def _kept(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        write(Path(directory) / "file")
        return (Path(directory) / "file").read_bytes()


def _checkpoint(path: Path) -> None:
    sample("float", None, PROBLEM, RUN, chains=2, keeping=Keeping(path, pauses_of("1")), traced=False)


def _npy() -> bytes:
    data = io.BytesIO()
    np.save(data, GREY)
    return data.getvalue()


def files() -> dict[str, tuple[Reader, bytes]]:
    """A whole file of each kind, and what reads it."""
    colour = Image.merge("RGB", [PAGES[0], PAGES[1], PAGES[0]])
    deep, floats = Image.fromarray(GREY.astype(np.uint16) * 257), Image.fromarray(GREY.astype(np.float32) / 255)
    pictures = {
        "png": saved("PNG"), "png of 16 bits": saved("PNG", deep), "png in colour": saved("PNG", colour.convert("RGBA")),
        "png with a palette": saved("PNG", _palette(), transparency=3),
        "png of two": saved("PNG", save_all=True, append_images=PAGES[1:]),
        "tiff": saved("TIFF"), "tiff of 16 bits, packed": saved("TIFF", deep, compression="tiff_lzw"),
        "tiff of floats": saved("TIFF", floats), "tiff of two": saved("TIFF", save_all=True, append_images=PAGES[1:]),
        "tiff in colour, packed": saved("TIFF", colour, compression="tiff_adobe_deflate"), "jpeg": saved("JPEG", colour),
        "bmp": saved("BMP"), "pgm": saved("PPM"), "ppm": saved("PPM", colour),
        "pgm in words": b"P2 3 2 1023\n" + b"1 20 1023 4 5 6\n", "pfm": pfm_bytes(GREY / 4), "npy": _npy()}
    return {
        **{name: (picture, data) for name, data in pictures.items()},
        "flo": (flow_of, flow_bytes(np.stack([GREY / 8.0, GREY / -9.0], -1))),
        "problem": (load_problem, _kept(lambda path: PROBLEM.save(path, RUN))),
        "result": (Result.load, _kept(sample("float", None, PROBLEM, RUN).results[0].save)),
        "checkpoint": (checkpoint, _kept(_checkpoint)),
        "request": (Request.load, _kept(Request("denoise", image=GREY, levels=8).save)),
        "manifest": (machine_in, json.dumps(manifest(Config(), {})).encode()),
        "record of a build": (read_record, json.dumps({"labels_per_s": 1.0, "resources": {}, "lanes": 3}).encode())}


FILES = files()


def _at(rng: np.random.Generator, length: int) -> int:
    """A place in a file, rather near its beginning or its end, where what says how to read the rest is."""
    where = rng.integers(3)
    near = int(rng.integers(min(length, 200)))
    return near if where == 0 else length - 1 - near if where == 1 else int(rng.integers(length))


def _changed(rng: np.random.Generator, data: bytearray) -> bytearray:
    """Bits, bytes, numbers or slices of it changed, lost or doubled."""
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            break
        at, many = _at(rng, len(data)), int(rng.integers(1, 40))
        kind = rng.integers(8)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at] = int(rng.integers(256))
        elif kind == 2:
            word = struct.pack("<>"[rng.integers(2)] + "I", FAR[rng.integers(len(FAR))])
            data[at:at + 4] = word
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            del data[at:at + many]
        elif kind == 5:
            data[at:at] = data[at:at + many]
        elif kind == 6:
            data[at:at + many] = rng.bytes(many)
        else:
            digits = [place for place, byte in enumerate(data[:4000]) if 0x30 <= byte <= 0x39] or [at]
            data[digits[rng.integers(len(digits))]] = 0x30 + int(rng.integers(10))
    return data


def _png_of(data: bytearray) -> bytearray:
    """A PNG whose checksums fit again, so that what is wrong is found behind them."""
    at = 8
    while at + 12 <= len(data):
        length, = struct.unpack_from(">I", data, at)
        if at + 12 + length > len(data):
            break
        struct.pack_into(">I", data, at + 8 + length, zlib.crc32(data[at + 4:at + 8 + length]))
        at += 12 + length
    return data


def _archive_of(rng: np.random.Generator, data: bytes) -> bytes:
    """An archive of which one member is changed, and its checksum fits."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as changed:
        names = archive.namelist()
        wrong = rng.integers(len(names))
        for number, name in enumerate(names):
            member = archive.read(name)
            changed.writestr(name, bytes(_changed(rng, bytearray(member))) if number == wrong else member)
    return out.getvalue()


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """A damaged copy of a file."""
    if data.startswith(b"PK") and rng.integers(2):
        return _archive_of(rng, data)
    changed = _changed(rng, bytearray(data))
    return bytes(_png_of(changed) if data.startswith(b"\x89PNG") and rng.integers(2) else changed)


def one(number: int, seed: int, path: Path) -> tuple[bool, str | None]:
    """(whether it was refused, what is wrong with how it was: None where nothing is) of one damaged file."""
    rng = np.random.default_rng([seed, number])
    name = list(FILES)[number % len(FILES)]
    read, data = FILES[name]
    path.write_bytes(damage(rng, data))
    try:
        kind_of(path)
        read(path)
    except (ProblemError, ConfigError, BuildError) as error:
        return True, f"{name} {number}: {str(error)!r}" if "\n" in str(error) or not str(error) else None
    except Exception:
        return True, f"{name} {number}: {traceback.format_exc()}"
    return False, None


def main() -> int:
    seed, count = map(int, sys.argv[1:])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wrong, refused = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        for number in range(count):
            said, fault = one(number, seed, Path(directory) / "damaged")
            refused += said
            if fault is not None:
                wrong += 1
                print(fault)
    print(json.dumps({"wrong": wrong, "refused": refused, "read": count - refused,
                      "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before}))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
