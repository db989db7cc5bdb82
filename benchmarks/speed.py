"""Speed of the compiled 16x2 chip (cycles/s) and of the bit-exact model (label evaluations/s): medians of five runs."""

from __future__ import annotations

import dataclasses
import os
import platform
import statistics

from mrfhw.apps.stereo import stereo_problem
from mrfhw.config import Config
from mrfhw.model import machine
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run
from mrfhw.scenes import stereo_scene
from mrfhw.sim.chip import CompiledChip, run_placed

REPEATS = 5


def problem(labels: int) -> Problem:
    """The built-in scene, 256 x 192 sites."""
    scene = stereo_scene(192, 256, labels, 0)
    return stereo_problem(scene.left >> 2, scene.right >> 2, labels=labels)


def chip_speed(sampler: str) -> float:
    config = Config(sampler=sampler)
    placement = Placement(config, problem(24), Run(sweeps=10, burn_in=5))
    speeds = []
    with CompiledChip(config) as chip:
        for _ in range(REPEATS):
            result = run_placed(chip, placement)
            speeds.append(result.extra["simulated_cycles"] / result.wall_seconds)
    return statistics.median(speeds)


def model_speed(sampler: str, labels: int) -> float:
    config = Config(sampler=sampler)
    if sampler == "cdf":
        config = dataclasses.replace(config, probability_floor="power_of_two")
    speeds = []
    for _ in range(REPEATS + 1):
        result = machine.solve(config, problem(labels), Run(sweeps=10, burn_in=5))
        speeds.append(result.label_evaluations / result.wall_seconds)
    return statistics.median(speeds[1:])  # the first compiles


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for sampler in ("race", "cdf"):
        print(f"chip 16x2 {sampler}: {chip_speed(sampler) / 1e3:.0f} k cycles/s", flush=True)
        for labels in (24, 56):
            print(f"model {sampler} L={labels}: {model_speed(sampler, labels) / 1e6:.0f} M label evaluations/s", flush=True)


if __name__ == "__main__":
    main()
