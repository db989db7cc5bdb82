"""Noise taken from pictures in colour: how the planes of `mrfhw.pictures.opponents` and the weight of their prior were chosen.

python -m studies.colours PICTURE ... [--noise 10 --noise 25 ...] [--size 128x96] [--sweeps 60]

Of the middle of each picture, with noise of each deviation added, are printed the PSNR over all channels of what came, of
red, green and blue as a field each, and of `mrfhw run denoise`, then how much of the truth its 90 % intervals hold, and at last the
means of all pictures.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from PIL import Image

import mrfhw
from mrfhw.applications.denoising.field import psnr
from mrfhw.commands.machine_options import OneLineCommand


def middle(path: Path, cols: int, rows: int) -> np.ndarray:
    """uint8 (H, W, 3): the middle of a picture, at most so large."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    top, left = (max(0, (have - want) // 2) for have, want in zip(pixels.shape, (rows, cols), strict=False))
    return pixels[top:top + rows, left:left + cols]


def compared(clean: np.ndarray, deviation: int, sweeps: int) -> list[float]:
    """PSNR of what came, of a field for each channel and of `mrfhw.denoise`, in dB, and percent that its intervals hold."""
    noise = np.random.default_rng(deviation).normal(0, deviation, clean.shape)
    noisy = np.rint(clean + noise).clip(0, 255).astype(np.uint8)
    channels = [mrfhw.denoise(noisy[..., channel], sweeps=sweeps).mean for channel in range(3)]
    answer = mrfhw.denoise(noisy, truth=clean, sweeps=sweeps)
    one_by_one = psnr(np.concatenate([channel for channel in channels if channel is not None], -1), clean)
    held = np.mean(answer.report["calibration"]["coverage"])
    return [float(number or np.inf) for number in (psnr(noisy, clean), one_by_one, answer.metrics["psnr"], 100 * held)]


@click.command(cls=OneLineCommand)
@click.argument("pictures", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--noise", multiple=True, type=int, default=(10, 25, 50), show_default=True, help="Deviation, of 8-bit grey.")
@click.option("--size", default="128x96", show_default=True, help="Columns and rows of the middle that is taken.")
@click.option("--sweeps", default=60, show_default=True, help="Sweeps of a chain.")
def main(pictures: tuple[Path, ...], noise: tuple[int, ...], size: str, sweeps: int) -> None:
    """Compare ways to take noise from pictures in colour."""
    cols, rows = map(int, size.split("x"))
    click.echo("picture,deviation,input,channels,denoise,held")
    for deviation in noise:
        found = []
        for path in pictures:
            found.append(compared(middle(path, cols, rows), deviation, sweeps))
            click.echo(f"{path.parent.name}/{path.stem},{deviation}," + ",".join(f"{number:.2f}" for number in found[-1]))
        click.echo(f"mean,{deviation}," + ",".join(f"{number:.2f}" for number in np.mean(found, 0)))


if __name__ == "__main__":
    main()
