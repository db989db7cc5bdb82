"""Denoised and filled pictures beside total variation, non-local means and Telea's inpainting: PSNR and intervals.

    python -m studies.denoised FOLDER [--pictures NAME,NAME] [--noise 15 --noise 25 --noise 50] [--size 160x128] [--sweeps N]

FOLDER has clean pictures; their middle is taken, and normal noise of each deviation is added and rounded to 0 to 255, from a fixed
seed. Nothing is told of the noise. Each is done in grey and, where it has colours, in colour; and three eighths of the pixels of
the grey one, in lines as of scratches, are hidden and filled without noise.

Total variation (scikit-image, Chambolle) and non-local means (OpenCV) have for each picture that weight or strength of several
which is nearest to the clean one: better than who uses them can choose. BM3D (package bm3d, for research alone by its licence) is
told the true deviation. Without one of these libraries its rows are left out, which is said in one line.

psnr: dB, peak 255; of filled pictures of the hidden pixels alone. held_50, held_90: percent of the pixels in these intervals, of
colours of all channels. seconds: by the clock, of peers for one of their weights, compiling included where it is the first.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import click
import numpy as np
from PIL import Image, UnidentifiedImageError

import mrfhw
from mrfhw.applications.denoising.field import psnr
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.system.errors import ProblemError
from studies.colours import middle
from studies.eight_paths import opencv

COLUMNS = ("picture", "kind", "deviation", "method", "psnr", "held_50", "held_90", "seconds")
WEIGHTS = (0.02, 0.04, 0.06, 0.08, 0.11, 0.15, 0.2, 0.27, 0.35)  # of total variation, of greys from 0 to 1
STRENGTHS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.5)  # of non-local means, times the true deviation
SCRATCHES = 3  # lines hidden of eight


@dataclass(frozen=True)
class Row:
    """held: percent of the pixels in the 50 % and the 90 % intervals, None of what has none."""

    kind: str
    deviation: int
    method: str
    psnr: float
    held: tuple[float | None, float | None]
    seconds: float

    def text(self, picture: str) -> str:
        held = ",".join("" if one is None else f"{one:.1f}" for one in self.held)
        return f"{picture},{self.kind},{self.deviation},{self.method},{self.psnr:.2f},{held},{self.seconds:.1f}"


def _decibels(found: np.ndarray, clean: np.ndarray) -> float:
    number = psnr(found, clean)
    return np.inf if number is None else number


def _scikit() -> ModuleType | None:
    return importlib.import_module("skimage.restoration") if importlib.util.find_spec("skimage") is not None else None


def _bm3d() -> ModuleType | None:
    return importlib.import_module("bm3d") if importlib.util.find_spec("bm3d") is not None else None


def _best(peer: Callable[[float], np.ndarray], numbers: tuple[float, ...], clean: np.ndarray) -> tuple[float, float]:
    """Best PSNR by any of the numbers, and the median seconds of one."""
    found, seconds = [], []
    for number in numbers:
        began = time.perf_counter()
        found.append(_decibels(peer(number), clean))
        seconds.append(time.perf_counter() - began)
    return max(found), float(np.median(seconds))


def ours(noisy: np.ndarray, clean: np.ndarray, sweeps: int | None, hidden: np.ndarray | None = None,
         ) -> Iterator[tuple[str, float, tuple[float | None, float | None], float]]:
    """(method, psnr, held, seconds) of the answer and of its samples' mean. hidden: (H, W) bool, judged alone."""
    began = time.perf_counter()
    answer = mrfhw.denoise(noisy, truth=clean, sweeps=sweeps, mask=None if hidden is None else ~hidden)
    image, mean = answer.image, answer.mean
    seconds = time.perf_counter() - began
    where = np.ones(clean.shape[:2], bool) if hidden is None else hidden
    found = answer.report["calibration"]
    # Of filled pictures the intervals of what is seen would hold nearly all.
    held = tuple(None if hidden is not None or share is None else 100 * float(np.mean(share))
                 for share in (found.get("inner_coverage"), found["coverage"]))
    yield "mrfhw", _decibels(image[where], clean[where]), (held[0], held[1]), seconds
    yield '"mrfhw, posterior mean"', _decibels(mean.reshape(clean.shape)[where], clean[where]), (None, None), seconds


def denoised(clean: np.ndarray, deviation: int, sweeps: int | None) -> Iterator[Row]:
    """clean: uint8 (H, W) or (H, W, 3)."""
    kind = "grey" if clean.ndim == 2 else "colour"
    noise = np.random.default_rng(deviation).normal(0, deviation, clean.shape)
    noisy = np.rint(clean + noise).clip(0, 255).astype(np.uint8)
    yield Row(kind, deviation, "input", _decibels(noisy, clean), (None, None), 0)
    for method, number, held, seconds in ours(noisy, clean, sweeps):
        yield Row(kind, deviation, method, number, held, seconds)
    scikit, cv2 = _scikit(), opencv()
    if scikit is not None:
        number, seconds = _best(lambda weight: 255 * scikit.denoise_tv_chambolle(
            noisy / 255, weight=weight, channel_axis=None if clean.ndim == 2 else -1), WEIGHTS, clean)
        yield Row(kind, deviation, "total variation", number, (None, None), seconds)
    if cv2 is not None:
        def means(times: float) -> np.ndarray:
            if clean.ndim == 2:
                return np.asarray(cv2.fastNlMeansDenoising(noisy, None, times * deviation, 7, 21))
            turned = np.ascontiguousarray(noisy[..., ::-1])  # OpenCV's order of colours
            return np.asarray(cv2.fastNlMeansDenoisingColored(turned, None, times * deviation, times * deviation, 7, 21))[..., ::-1]

        number, seconds = _best(means, STRENGTHS, clean)
        yield Row(kind, deviation, "non-local means", number, (None, None), seconds)
    bm3d = _bm3d()
    if bm3d is not None:
        of = bm3d.bm3d if clean.ndim == 2 else bm3d.bm3d_rgb
        number, seconds = _best(lambda told: np.asarray(of(noisy / 255.0, told / 255)) * 255, (float(deviation),), clean)
        yield Row(kind, deviation, "BM3D", number, (None, None), seconds)


def filled(clean: np.ndarray, sweeps: int | None) -> Iterator[Row]:
    """clean: uint8 (H, W)."""
    rows, cols = np.indices(clean.shape)
    hidden = np.asarray((rows + cols) % 8 < SCRATCHES)
    broken = np.where(hidden, 0, clean).astype(np.uint8)
    for method, number, held, seconds in ours(broken, clean, sweeps, hidden):
        yield Row("filled", 0, method, number, held, seconds)
    cv2 = opencv()
    if cv2 is not None:
        number, seconds = _best(lambda radius: np.asarray(cv2.inpaint(broken, hidden.astype(np.uint8), radius, cv2.INPAINT_TELEA))[
            hidden], (3.0, 5.0), clean[hidden])
        yield Row("filled", 0, "Telea", number, (None, None), seconds)


def pictures_of(folder: Path, names: str, size: tuple[int, int]) -> dict[str, np.ndarray]:
    """uint8 (H, W, 3) by name, the middle of each. size: columns and rows. Raises ProblemError."""
    there = {path.stem: path for path in sorted(folder.iterdir()) if path.is_file()} if folder.is_dir() else {}
    wanted = [name for name in names.split(",") if name] or list(there)
    found = {}
    for name in wanted:
        if name not in there:
            raise ProblemError(f"{folder / name} is not there: give a folder of clean pictures, and --pictures by their names "
                               "without endings")
        try:
            found[name] = middle(there[name], *size)
        except UnidentifiedImageError:
            raise ProblemError(f"{there[name]} is no picture: give --pictures, names of those that are") from None
    if not found:
        raise ProblemError(f"{folder} has no pictures: give a folder of clean pictures")
    return found


@click.command(cls=OneLineCommand)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--pictures", default="", metavar="NAMES", help="Names without endings, with commas.  [default: all]")
@click.option("--noise", multiple=True, type=click.IntRange(1, 255), default=(15, 25, 50), show_default=True,
              help="Deviation, of 8-bit grey.")
@click.option("--size", default="160x128", show_default=True, help="Columns and rows of the middle that is taken.")
@click.option("--sweeps", type=int, help="Of each chain.  [default: the application's]")
def main(folder: Path, pictures: str, noise: tuple[int, ...], size: str, sweeps: int | None) -> None:
    """Compare denoised and filled pictures with clean ones."""
    sides = size.split("x")
    if len(sides) != 2 or not all(side.isdigit() and int(side) >= 16 for side in sides):
        raise ProblemError(f"size is {size}: give columns and rows of at least 16, as 160x128")
    clean = pictures_of(folder, pictures, (int(sides[0]), int(sides[1])))
    for library, package, found in (("scikit-image", "scikit-image", _scikit()), ("OpenCV", "opencv-python-headless", opencv()),
                                    ("BM3D", "bm3d", _bm3d())):
        if found is None:
            click.echo(f"{library} is not installed: its rows are left out (pip install {package})", err=True)
    every: dict[tuple[str, int, str], list[Row]] = {}
    click.echo(",".join(COLUMNS))
    for name, picture in clean.items():
        grey = np.asarray(Image.fromarray(picture).convert("L"))
        kinds = [grey] if (picture == picture[..., :1]).all() else [grey, picture]
        for rows in (*(denoised(one, deviation, sweeps) for one in kinds for deviation in noise), filled(grey, sweeps)):
            for row in rows:
                every.setdefault((row.kind, row.deviation, row.method), []).append(row)
                click.echo(row.text(name))
    for (kind, deviation, method), several in every.items():
        held = [None if None in column else float(np.mean(column)) for column in zip(*(row.held for row in several), strict=True)]
        click.echo(Row(kind, deviation, method, float(np.mean([row.psnr for row in several])), (held[0], held[1]),
                       float(np.mean([row.seconds for row in several]))).text(f"mean of {len(several)}"))


if __name__ == "__main__":
    main()
