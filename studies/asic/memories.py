"""Memories in standard-cell technologies: area, time and energy by a model that is fitted to what CACTI computes.

    python -m studies.asic.memories --cacti DIR   # run CACTI 7.0, built in DIR, and keep what it says in memories.json (a minute)
    python -m studies.asic.memories               # fit, and print the errors

CACTI: Balasubramonian et al., "CACTI 7: New Tools for Interconnect Exploration in Innovative Off-Chip Memories", ACM TACO 14(2),
2017, which the published study takes too (Section 3.4.2). Memories of a port that reads and one that writes ("exclusive"), 300 K,
high-performance cells and periphery.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

from mrfhw.system.errors import ProblemError
from studies.asic.libraries import LIBRARIES, CellLibrary

__all__ = ["Memory", "errors", "memory_of"]

SAMPLES = Path(__file__).with_name("memories.json")
WORDS, BYTES, READS = (64, 128, 256, 512, 1024, 2048, 4096, 8192), (1, 2, 4, 8, 16, 32), (1, 2, 4)
_SAID = {
    "access_ns": r"Access time \(ns\): (\S+)", "cycle_ns": r"Cycle time \(ns\):\s+(\S+)",
    "read_nj": r"dynamic read energy per access \(nJ\): (\S+)", "write_nj": r"dynamic write energy per access \(nJ\): (\S+)",
    "leakage_mw": r"leakage power of a bank \(mW\): (\S+)", "height_mm": r"height x width \(mm\): (\S+) x", "width_mm":
    r"height x width \(mm\): \S+ x (\S+)"}
# What a run asks CACTI for; what is not said here is as in the cache.cfg that comes with it.
_ASKED = {
    "-associativity": "1", "-read-write port": "0", "-exclusive write port": "1", "-operating temperature (K)": "300",
    "-cache type": '"ram"',
    **{f"-{array} array {part} type -": '"itrs-hp"' for array in ("Data", "Tag") for part in ("cell", "peripheral")},
    "-design objective (weight delay, dynamic power, leakage power, cycle time, area)": "100:100:0:100:100",
    "-deviate (delay, dynamic power, leakage power, cycle time, area)": "50:100000:100000:100000:100000"}


@dataclass(frozen=True)
class Memory:
    """A memory macro. area: um^2. access, cycle: ns. read, write: pJ for one access of a port. leakage: mW."""

    area: float
    access: float
    cycle: float
    read: float
    write: float
    leakage: float


def _features(words: float, width: float, reads: float) -> np.ndarray:
    """What area, energy and leakage are linear in. Wires of a cell's ports lengthen it both ways."""
    return np.array([1, words, width, words * width, reads * width, reads * words, words * width * reads, words * width * reads**2,
                     np.sqrt(words * width) * width])


def _logarithms(words: float, width: float, reads: float) -> np.ndarray:
    """What the logarithm of a time is linear in."""
    a, b, c = np.log(words), np.log(width), np.log(reads)
    return np.array([1, a, b, c, a * a, b * b, a * b, a * c, b * c])


@cache
def _samples() -> list[dict[str, float]]:
    return list(json.loads(SAMPLES.read_text()))


def _of(sample: Mapping[str, float]) -> dict[str, float]:
    return {"area": sample["height_mm"] * sample["width_mm"] * 1e6, "access": sample["access_ns"], "cycle": sample["cycle_ns"],
            "read": sample["read_nj"] * 1e3, "write": sample["write_nj"] * 1e3, "leakage": sample["leakage_mw"]}


_TIMES = ("access", "cycle")


@cache
def _fit(micrometres: float, quantity: str, without: int | None = None) -> np.ndarray:
    """Coefficients of least squares of relative errors. without: a sample that is left out."""
    from scipy.optimize import nnls

    own = [s for s in _samples() if s["micrometres"] == micrometres]
    own = [s for n, s in enumerate(own) if n != without]
    values = np.array([_of(s)[quantity] for s in own])
    shapes = [(s["words"], s["width"], s["reads"]) for s in own]
    if quantity in _TIMES:
        return np.linalg.lstsq(np.array([_logarithms(*shape) for shape in shapes]), np.log(values), rcond=None)[0]
    rows = np.array([_features(*shape) for shape in shapes])
    scale = rows.max(0)
    return np.asarray(nnls(rows / scale / values[:, None], np.ones(len(values)), maxiter=10_000)[0] / scale)


def _predicted(micrometres: float, quantity: str, shape: tuple[float, float, float], without: int | None = None) -> float:
    found = _fit(micrometres, quantity, without)
    return float(np.exp(found @ _logarithms(*shape)) if quantity in _TIMES else found @ _features(*shape))


def memory_of(library: CellLibrary, words: int, width: int, reads: int) -> Memory:
    """A memory of one port that writes and `reads` that read, in a library's technology."""
    of = {quantity: _predicted(library.memory_micrometres, quantity, (words, width, reads)) for quantity in
          ("area", "access", "cycle", "read", "write", "leakage")}
    return Memory(of["area"] * library.area, of["access"] * library.time, of["cycle"] * library.time, of["read"] * library.energy,
                  of["write"] * library.energy, of["leakage"])


def errors(micrometres: float, quantity: str) -> tuple[float, float]:
    """Median and largest relative error of samples that the model was fitted without, one at a time."""
    own = [s for s in _samples() if s["micrometres"] == micrometres]
    found = [abs(_predicted(micrometres, quantity, (s["words"], s["width"], s["reads"]), n) / _of(s)[quantity] - 1)
             for n, s in enumerate(own)]
    return float(np.median(found)), max(found)


def _asked(folder: Path, words: int, bytes_: int, reads: int, micrometres: float) -> dict[str, float]:
    """What CACTI says of one memory."""
    text = (folder / "cache.cfg").read_text()
    asked = {**_ASKED, "-size (bytes)": words * bytes_, "-block size (bytes)": bytes_, "-output/input bus width": 8 * bytes_,
             "-exclusive read port": reads, "-technology (u)": micrometres}
    for key, value in asked.items():
        text, found = re.subn(rf"^{re.escape(key)}.*$", f"{key} {value}", text, flags=re.MULTILINE)
        if not found:
            raise ProblemError(f"{folder / 'cache.cfg'} has no line {key!r}: give the directory of CACTI 7.0")
    (folder / "memory.cfg").write_text(text)
    said = subprocess.run([str(folder / "cacti"), "-infile", "memory.cfg"], cwd=folder, capture_output=True, text=True, check=False)
    values = {name: re.search(pattern, said.stdout) for name, pattern in _SAID.items()}
    if None in values.values():
        raise ProblemError(f"CACTI says nothing of {words} words of {bytes_} bytes at {micrometres} um: "
                           f"{' '.join(said.stdout.split())[-200:]!r}; build CACTI 7.0 in {folder}")
    return {"micrometres": micrometres, "words": words, "width": 8 * bytes_, "reads": reads,
            **{name: float(value[1]) for name, value in values.items() if value is not None}}


@click.command()
@click.option("--cacti", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Run CACTI 7.0, which was built in DIR, and keep what it says.")
def main(cacti: Path | None) -> None:
    """Fit the model of memories to what CACTI said of them, and print its errors."""
    technologies = sorted({library.memory_micrometres for library in LIBRARIES.values()})
    if cacti is not None:
        # From 32 bytes a memory on: CACTI takes no smaller ones.
        shapes = [(t, w, b, r) for t in technologies for w in WORDS for b in BYTES for r in READS if w * b >= 64]
        found = [_asked(cacti, words, bytes_, reads, t) for t, words, bytes_, reads in tqdm(shapes, unit="memory", leave=False)]
        SAMPLES.write_text("[\n" + ",\n".join(json.dumps(one) for one in found) + "\n]\n")
        _samples.cache_clear()
        _fit.cache_clear()
    for technology in technologies:
        for quantity in ("area", "access", "cycle", "read", "write", "leakage"):
            median, largest = errors(technology, quantity)
            click.echo(f"{1000 * technology:g} nm, {quantity}, left out one by one: median error {median:.1%}, largest "
                       f"{largest:.1%}")


if __name__ == "__main__":
    main()
