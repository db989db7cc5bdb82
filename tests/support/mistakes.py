"""The files that docs/errors.md speaks of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from mrfhw.field.problem import Problem, Run, load_problem
from mrfhw.machine.config import Config
from mrfhw.pictures.flow import write_flow
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Keeping, pauses_of
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
    steps = np.linspace(0, 1, 192 * 144).reshape(144, 192)
    Image.fromarray((1.2 * steps).astype(np.float32)).save(directory / "floats.tiff")
    Image.fromarray((4095 * steps).astype(np.uint16)).save(directory / "twelve.png")
    Image.new("LA", (192, 144), (90, 128)).save(directory / "clear.png")
    Image.fromarray((70000 * steps).astype(np.int32)).save(directory / "deep.tiff")
    Image.new("RGB", (192, 144), (90, 60, 40)).save(directory / "colour.png")
    strokes = np.zeros((144, 192), np.uint8)
    strokes[20, 20:60], strokes[100, 20:60] = 1, 3
    for name, kept in (("one-stroke.png", strokes == 1), ("no-second-stroke.png", strokes > 0)):
        Image.fromarray(np.where(kept, strokes, 0).astype(np.uint8)).save(directory / name)
    write_flow(directory / "wide.flo", np.zeros((375, 450, 2)))
    grey = np.arange(48 * 64).reshape(48, 64) % 64
    Problem(labels=4, singleton1=grey, constants=np.array([8, 24, 40, 56])).save(directory / "field.npz", Run(sweeps=8, burn_in=4))
    run = Run(sweeps=8, burn_in=4)
    keeping = Keeping(directory / "kept.ckpt", pauses_of("4"))
    sample("model", Config(), load_problem(directory / "field.npz")[0], run, keeping=keeping)
    (directory / "cut.npz").write_bytes((directory / "field.npz").read_bytes()[:3000])
    for name, version, arrays in (("newer.npz", 2, {"singleton1": grey}), ("lacking.npz", 1, {})):
        text = json.dumps({"format": "mrfhw problem", "version": version, "labels": 4})
        np.savez(directory / name, json=np.array(text), constants=np.arange(4), **arrays)
    (directory / "cut.flo").write_bytes((directory / "wide.flo").read_bytes()[:3000])
