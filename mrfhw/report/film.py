"""A film of a video's answers: frames, estimates and entropy side by side, in colours that are the same in all frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from mrfhw.analysis.answer import Analysis
from mrfhw.jobs.job import Job
from mrfhw.report.pictures import in_colours, mapped
from mrfhw.system.files import replaced

__all__ = ["frame_picture", "write_film"]

WIDEST = 480  # pixels of each of the three
LINE = 14  # rows of a title
FRAMES_MAX = 3000  # of a film, which a viewer holds as a whole


def frame_picture(job: Job, analysis: Analysis) -> Image.Image:
    """What a film shows of a frame."""
    scale = job.scale
    name, pixels = next(iter(job.inputs.items()))
    panels = {name: pixels, f"estimate: {scale.name}": in_colours(analysis.answer, scale)}
    if analysis.uncertainty is not None:
        most = float(np.log2(job.problem.labels))
        panels[f"entropy: 0 to {most:.3g} bits"] = mapped(analysis.uncertainty.site_entropy, "magma", low=0.0, high=most)
    return _side_by_side(panels)


def _side_by_side(panels: dict[str, np.ndarray]) -> Image.Image:
    pictures = [Image.fromarray(pixels).convert("RGB") for pixels in panels.values()]
    share = min(1.0, WIDEST / pictures[0].width)
    size = max(1, round(share * pictures[0].width)), max(1, round(share * pictures[0].height))
    whole = Image.new("RGB", (len(pictures) * (size[0] + 4) - 4, size[1] + LINE), "white")
    pen = ImageDraw.Draw(whole)
    for place, (title, picture) in enumerate(zip(panels, pictures, strict=True)):
        at = place * (size[0] + 4)
        whole.paste(picture.resize(size, Image.Resampling.BOX) if share < 1 else picture, (at, LINE))
        pen.text((at + 2, 1), title[: max(4, size[0] // 6)], fill="black")
    return whole


def write_film(frames: Sequence[Path], rate: float, path: Path) -> int:
    """Write the pictures of frames as an animated WebP; how many of them, which is at most FRAMES_MAX, evenly left out.

    rate: frames a second.
    """
    kept = [frames[number] for number in np.linspace(0, len(frames) - 1, min(len(frames), FRAMES_MAX)).astype(int)]
    with Image.open(kept[0]) as first, replaced(path) as file:
        first.save(file, format="WEBP", save_all=True, append_images=(_read(one) for one in kept[1:]), loop=0, quality=80, method=2,
                   duration=round(1000 / rate * len(frames) / len(kept)))
    return len(kept)


def _read(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("RGB")
