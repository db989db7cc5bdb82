"""Energies that annealed Gibbs sampling reaches, and in what time, beside graph cuts (gco) on the same problem.

    python -m studies.energy [--data DIR]

Without --data the built-in scenes stand in. Stereo has a metric doubleton (alpha-expansion); motion has a truncated
squared distance, which only alpha-beta swaps take. The annealed chain runs on the bit-exact model with all its threads
and its default machine's widths; gco runs on one core. Times leave out making the problem and the first compile. Where gco is not
installed, one line says so and the annealed chains stand alone.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends.plan import solve
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.pictures.images import load_grey
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.scenes import stereo_scene

LENGTHS = (50, 100, 200, 400, 800, 1600)
HOT, COLD = 4.0, 1.0


def problems(data: Path | None) -> Iterator[tuple[str, Problem]]:
    """(name, problem) with the applications' default energies."""
    if data is None:
        scene = stereo_scene(288, 384, 32, 0)
        yield "built-in stereo", stereo_problem(scene.left >> 2, scene.right >> 2, labels=32)
        return
    for name, labels, least in (("teddy", 42, 12), ("poster", 18, 3)):
        left, right = (load_grey(data / "stereo" / name / f"{side}.png") for side in ("left", "right"))
        yield name, stereo_problem(left, right, labels=labels, min_disparity=least)
    first, second = (load_grey(data / "flow" / "Venus-210x190" / f"frame{n}.png") for n in (10, 11))
    yield "venus 210x190", motion_problem(first, second)


def graph_cut(problem: Problem, algorithm: str) -> tuple[int, float]:
    """(energy, seconds) of gco until no move lowers the energy."""
    gco = importlib.import_module("gco")
    unary = singleton_energies(problem).astype(np.int32)
    pairwise = (problem.beta * doubleton_table(problem)).astype(np.int32)
    began = time.perf_counter()
    labels = gco.cut_grid_graph_simple(unary, pairwise, n_iter=-1, algorithm=algorithm)
    seconds = time.perf_counter() - began
    return FieldEnergy(problem)(labels.reshape(problem.shape).astype(np.uint8)), seconds


def annealed(problem: Problem, sweeps: int, seed: int) -> tuple[int, float]:
    """(energy, seconds) of the last sample of a chain cooled from HOT to COLD."""
    ratio = (COLD / HOT) ** (1 / sweeps)
    cooled = dataclasses.replace(problem, schedule=Schedule.geometric(HOT, ratio, COLD))
    config = Config(tile_rows=128, tile_cols=128, s2_words=1 << 16)
    result = solve("model", config, cooled, Run(sweeps=sweeps, burn_in=sweeps - 1, seed=seed))
    return FieldEnergy(problem)(result.last), result.wall_seconds


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
def main(data: Path | None) -> None:
    """Print energy and time of graph cuts and of annealed chains of several lengths."""
    cuts = importlib.util.find_spec("gco") is not None
    if not cuts:
        print("gco is skipped, as it is not installed: pip install gco-wrapper")
    for name, problem in problems(data):
        rows, cols = problem.shape
        algorithm = "expansion" if problem.doubleton != "squared" else "swap"
        energy, seconds = graph_cut(problem, algorithm) if cuts else (0, 0.0)
        print(f"{name} {cols}x{rows}, {problem.labels} labels"
              + (f": alpha-{'expansion' if algorithm == 'expansion' else 'beta swap'} {energy} in {seconds:.2f} s" if cuts else ""),
              flush=True)
        annealed(problem, 2, 0)  # compiles
        for sweeps in LENGTHS:
            runs = [annealed(problem, sweeps, seed) for seed in range(3)]
            reached, took = (float(np.median([run[i] for run in runs])) for i in (0, 1))
            beside = (f" ({100 * (reached / energy - 1):+.2f} %)", f", {took / seconds:.3f} of its time") if cuts else ("", "")
            print(f"  annealed {sweeps:4d} sweeps: {reached:.0f}{beside[0]} in {took:.2f} s{beside[1]}", flush=True)


if __name__ == "__main__":
    main()
