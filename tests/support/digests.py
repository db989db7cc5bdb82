"""Runs whose every bit is recorded: random machines with random problems, and built-in scenes through the whole runtime.

    python -m support.digests FILE     # from tests/: write the digests of the code at hand

The recorded ones were made at 655b77a, when modules had other names, by this file with the names of then; those of KINDS at the
commit that the file names.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mrfhw.applications.denoising.field import denoising_problem, grey_levels
from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.segmentation.field import segmentation_problem
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends import plan as backends
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.machine.config import Config
from mrfhw.scenes import denoising_scene, motion_scene, segmentation_scene, stereo_scene
from mrfhw.twin import machine
from support.random_fields import random_field, random_field_machine
from support.random_lanes import lane_placement, random_lane_machine, random_subset_machine
from support.random_problems import random_config, random_placement

__all__ = ["KINDS", "MACHINES", "PROBLEMS", "RECORDED", "kind_digests", "machine_digests", "result_digest", "scene_digests"]

RECORDED = Path(__file__).parents[1] / "recorded" / "digests.json"
MACHINES, PROBLEMS = 110, 20  # random machines, and random problems on each
KINDS, OF_A_KIND = ("fields", "lanes", "subsets"), 8  # of which so many machines, with as many problems each


def result_digest(result: Result) -> str:
    """SHA-256, 16 digits, of labels, histogram, LMem, sorted messages and cycles."""
    hashed = hashlib.sha256()
    messages = result.messages
    if messages is not None:
        messages = messages[np.lexsort(messages.T[::-1])]
    for array in (result.initial, result.last, result.counts, result.lmem, messages):
        hashed.update(b"-" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array, np.int64).tobytes())
    hashed.update(repr([result.cycles, result.stall_cycles, result.gap_cycles, result.log_messages]).encode())
    return hashed.hexdigest()[:16]


def machine_digests(number: int, problems: int = PROBLEMS) -> list[str]:
    """The digests of random machine `number` with its random problems."""
    rng = np.random.default_rng([number, 1])
    config = random_config(rng)
    digests = []
    for _ in range(problems):
        placement = random_placement(rng, config)
        digests.append(result_digest(machine.solve(config, placement.problem, placement.run)))
    return digests


def kind_digests(kind: str) -> list[list[str]]:
    """Of random machines for any field, with lanes that share a site, or with subsets of slots; each with its random problems."""
    found = []
    for number in range(OF_A_KIND):
        rng = np.random.default_rng([number, KINDS.index(kind), 7])
        lanes = int(rng.choice([2, 4, 8]))
        if kind == "fields":
            config = random_field_machine(rng)
        else:
            config = random_lane_machine(rng, lanes) if kind == "lanes" else random_subset_machine(rng, lanes if number % 3 else 1)
        placements = [(random_field if kind == "fields" else lane_placement)(rng, config) for _ in range(OF_A_KIND)]
        found.append([result_digest(machine.solve(config, one.problem, one.run)) for one in placements])
    return found


def _scenes() -> Iterator[tuple[str, Problem]]:
    def grey(picture: np.ndarray) -> np.ndarray:
        return picture.astype(np.int64) >> 2

    stereo = stereo_scene(72, 96)
    pair = grey(stereo.left), grey(stereo.right)
    yield "stereo", stereo_problem(*pair, labels=24)
    yield "stereo cooling", stereo_problem(*pair, labels=24, schedule=Schedule.geometric(20, 0.97, 2))
    motion = motion_scene(64, 80)
    yield "motion", motion_problem(grey(motion.first), grey(motion.second))
    yield "segmentation", segmentation_problem(grey(segmentation_scene(64, 80).image), np.array([15, 26, 37, 49]))
    noisy = denoising_scene(64, 64)
    yield "denoising", denoising_problem(grey(noisy.noisy), grey_levels(32, 6), observed=noisy.observed)


def scene_digests() -> dict[str, str]:
    """The digests of built-in scenes, whole and in windows, on machines of both samplers, by name."""
    machines = {
        "16x2": Config(), "windows": Config(mesh_rows=2, mesh_cols=2, tile_rows=16, tile_cols=32, spus=2),
        "cdf": Config(sampler="cdf"), "paper windows": Config.preset("paper-16x2", tile_rows=16, tile_cols=16, address_bits=0),
    }
    digests = {}
    for scene, problem in _scenes():
        for name, config in machines.items():
            try:
                result = backends.solve("model", config, problem, Run(sweeps=30, burn_in=12, seed=5), visit=4)
                digests[f"{scene}, {name}"] = result_digest(result)
            except ValueError as error:
                digests[f"{scene}, {name}"] = f"refused: {type(error).__name__}"
    return digests


def main(path: Path) -> None:
    scenes = ",\n".join(f"   {json.dumps(name)}: {json.dumps(digest)}" for name, digest in scene_digests().items())
    machines = ",\n".join(f"  {json.dumps(machine_digests(number))}" for number in range(MACHINES))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    kinds = ",\n".join(f"  {json.dumps(kind)}: {json.dumps(kind_digests(kind))}" for kind in KINDS)
    path.write_text(f'{{\n "recorded at": "{commit}",\n "scenes": {{\n{scenes}\n }},\n "machines": [\n{machines}\n ],\n'
                    f' "kinds recorded at": "{commit}",\n "kinds": {{\n{kinds}\n }}\n}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
