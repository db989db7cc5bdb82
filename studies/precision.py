"""What each width of the samplers costs in quality: the sweep from which the default machine was chosen.

    python -m studies.precision [--data DIR] -o DIR

For every machine: mean and largest total variation to the exact distribution (as `python -m studies.statistics`, at T = 4); on a
stereo pair, beside float64: bad pixels of the mode, the mean total variation of the sites' histograms to those of
float64, R-hat and ESS of the energy and of a sample of sites, and whether the run has converged by both. The pair's weights are
eight times the application's default, so that narrow energies have to cap or to shift.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

from mrfhw.analysis.convergence import converged, diagnose
from mrfhw.analysis.solution import Solution
from mrfhw.applications.stereo.field import bad_pixels, disparity_scale, stereo_problem
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.pictures.images import load_disparity, load_grey
from mrfhw.runs.chains import sample
from mrfhw.scenes import stereo_scene
from studies.statistics import chains, conditionals

SCALE = 8
TEMPERATURE = 4.0  # of the total variations
DRAWS = 20


def machines() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """(what, energy_shift, changes to the default machine)."""
    for uniform, fraction in ((8, 4), (10, 4), (10, 6), (12, 4), (12, 6), (12, 7), (12, 8), (14, 6), (14, 8)):
        yield "race", 0, dict(gumbel_uniform_bits=uniform, gumbel_fraction_bits=fraction)
    for bits, shift in ((8, 0), (8, 3), (9, 0), (10, 0), (10, 1), (16, 0)):
        yield "race, energy", shift, dict(sampler="race", energy_bits=bits)
    for bits in (4, 8, 10, 12, 14, 16):
        yield "cdf integer", 0, dict(sampler="cdf", probability_floor="integer", probability_bits=bits)
    for fraction in (2, 4, 8):
        yield "cdf integer, fraction", 0, dict(sampler="cdf", exponent_fraction_bits=fraction)
    for uniform in (8, 12, 24):
        yield "cdf integer, uniform", 0, dict(sampler="cdf", uniform_bits=uniform)
    for bits, shift in ((8, 0), (8, 3), (9, 0), (10, 0), (16, 0)):
        yield "cdf integer, energy", shift, dict(sampler="cdf", energy_bits=bits)
    for bits in (4, 8, 12):
        yield "cdf power of two", 0, dict(sampler="cdf", probability_floor="power_of_two", probability_bits=bits)
    paper = Config.preset("paper-16x2")
    own = {p.name: getattr(paper.sampler, p.field) for p in Config.space() if p.sampler == paper.sampler.name}
    others = {name: value for name, value in paper.to_dict().items() if "tile" not in name}
    yield "published widths", 3, {**others, **own, "sampler": paper.sampler.name}


@dataclasses.dataclass(frozen=True)
class Pair:
    """A stereo problem with its truth."""

    problem: Problem
    truth: np.ndarray
    least: int


def pair(data: Path | None) -> Pair:
    """teddy, or the built-in scene."""
    if data is None:
        scene = stereo_scene(192, 256, 24, 0)
        first, second, truth, labels, least = scene.left >> 2, scene.right >> 2, scene.disparity, 24, 0
    else:
        folder = data / "stereo" / "teddy"
        first, second = load_grey(folder / "left.png"), load_grey(folder / "right.png")
        truth, labels, least = load_disparity(folder / "disp_left.png", 4), 42, 12
    base = stereo_problem(first, second, labels=labels, min_disparity=least)
    return Pair(stereo_problem(
        first, second, labels=labels, min_disparity=least, alpha=SCALE * base.alpha, beta=SCALE * base.beta, tau=base.tau,
        out_of_range=base.out_of_range, temperature=SCALE * base.schedule.start), truth, least)


def judged(scene: Pair, solution: Solution, reference: np.ndarray) -> dict[str, Any]:
    """Quality of a solution. reference: (H, W, L) float64, the sites' label frequencies in float64."""
    assert solution.trace is not None
    assert solution.counts is not None
    share = solution.counts / solution.counts.sum(-1, keepdims=True)
    found = diagnose(solution.trace, disparity_scale(scene.problem.labels, scene.least))
    return {
        **{f"bad_{k}": bad_pixels(solution.counts.argmax(-1), scene.least, scene.truth, k) for k in (1, 2)},
        "histogram_tv": float(np.abs(share - reference).sum(-1).mean() / 2),
        "energy_rhat": found["energy"]["rhat"], "energy_ess": found["energy"]["ess_bulk"],
        "sites_rhat_median": found["sites"]["rhat_median"], "sites_ess_median": found["sites"]["ess_median"],
        "sites_not_mixed": found["sites"]["not_mixed"], "converged": converged(found),
        "energy_mean": float(solution.trace.energy[:, solution.trace.counted].mean()),
    }


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
@click.option("--sweeps", default=600, show_default=True)
@click.option("--chains", "count", default=4, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
def main(data: Path | None, sweeps: int, count: int, output: Path) -> None:
    """Write precision.csv and print it."""
    scene = pair(data)
    run, again = Run(sweeps=sweeps, burn_in=sweeps // 2, seed=100), Run(sweeps=sweeps, burn_in=sweeps // 2, seed=200)
    default = Config(tile_rows=128, tile_cols=128, s2_words=1 << 16)
    exact = sample("float", default, scene.problem, run, chains=count)
    reference = exact.counts / exact.counts.sum(-1, keepdims=True)
    rows = [{"what": "float64", **judged(scene, sample("float", default, scene.problem, again, chains=count), reference)}]
    for what, shift, changes in tqdm(list(machines()), unit="machine"):
        config = default.changed(**changes)
        problem = dataclasses.replace(scene.problem, energy_shift=shift)
        alone = conditionals(config, shift, TEMPERATURE * (1 << shift), DRAWS, 0)
        joint = chains(config, shift, TEMPERATURE * (1 << shift), DRAWS, 0) if shift == 0 else [float("nan")]
        rows.append({
            "what": what, "energy_shift": shift, **{k: v for k, v in changes.items() if "bits" in k},
            "conditional_tv": float(np.mean(alone)), "joint_tv": float(np.mean(joint)),
            **judged(scene, sample("model", config, problem, run, chains=count), reference)})
    output.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(output / "precision.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    print((output / "precision.csv").read_text())


if __name__ == "__main__":
    main()
