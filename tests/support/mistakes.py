"""The files that docs/errors.md speaks of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.apps.flow import write_flow
from mrfhw.scenes import stereo_scene, write_scene

__all__ = ["write_mistaken_files"]


def write_mistaken_files(directory: Path) -> None:
    """left.png and right.png of `mrfhw demo-scene`, and files that do not go with them."""
    write_scene(stereo_scene(), directory)
    with Image.open(directory / "left.png") as left:
        left.resize((450, 375)).save(directory / "wide.png")
    (directory / "cut.png").write_bytes((directory / "left.png").read_bytes()[:3000])
    (directory / "text.png").write_text("not a picture")
    for name, grey in (("flat.png", 90), ("black.png", 0)):
        Image.new("L", (192, 144), grey).save(directory / name)
    Image.new("RGB", (192, 144)).save(directory / "colour.png")
    write_flow(directory / "wide.flo", np.zeros((375, 450, 2)))
    (directory / "cut.flo").write_bytes((directory / "wide.flo").read_bytes()[:3000])
