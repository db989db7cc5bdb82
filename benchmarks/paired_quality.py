"""Quality of the bit-exact model beside float64 from equal uniforms, on the scenes of Table 3.2.

    python benchmarks/paired_quality.py [--data DIR] [--scene NAME ...] [--chains N] [--iterations N] -o FILE.csv

Each chain is run four times: by the default machine's race and integer cdf, by the published widths (8-bit power-of-two
cdf), and in float64, which draws by race from the very uniforms that the race machine's lanes draw. Float64 has the
temperature that the race machine realizes, and no shift, floor or cap. The answer is the mode of the last 1,000
iterations. Quality: bad pixels (> 1, %) or end-point error (pixels). A process for each core.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm

from mrfhw.model import exact, machine
from mrfhw.problem import Run
from mrfhw.reproduce.chains import SAMPLERS, machine_for
from mrfhw.reproduce.quality import counted_sweeps
from mrfhw.reproduce.scenes import chosen_settings, load_scene

PAIRED = "float64"


def chain(name: str, data: Path | None, sampler: str, sweeps: int | None, seed: int) -> dict[str, Any]:
    """One chain's quality."""
    scene = load_scene(chosen_settings([name])[0], data)
    sweeps = sweeps or scene.setting.iterations
    problem, run = scene.problem(), Run(sweeps=sweeps, burn_in=sweeps - counted_sweeps(sweeps), seed=seed)
    kind = SAMPLERS["race" if sampler == PAIRED else sampler]
    assert kind is not None
    config = machine_for(problem, kind[0], **kind[1])
    if sampler == PAIRED:
        result = exact.solve(problem, run, config=config, uniforms="hardware")
    else:
        result = machine.solve(config, problem, run, threads=1)
    return {"scene": name, "data": scene.source, "columns": problem.shape[1], "rows": problem.shape[0], "labels": problem.labels,
            "least_label": scene.least, "iterations": sweeps, "seed": seed, "sampler": sampler, "metric": scene.metric,
            "quality": scene.quality(result.mode), "seconds": result.wall_seconds}


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Directory of the published scenes.")
@click.option("--scene", "names", multiple=True, help="Scenes of Table 3.2; all of them where none is given.")
@click.option("--chains", default=2, show_default=True)
@click.option("--iterations", type=int, help="In place of Table 3.2's.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE")
def main(data: Path | None, names: tuple[str, ...], chains: int, iterations: int | None, output: Path) -> None:
    """Write each chain's quality and print means, spreads and paired differences."""
    work = [(setting.name, data, sampler, iterations, seed) for seed in range(chains) for setting in chosen_settings(names)
            for sampler in SAMPLERS]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool, tqdm(total=len(work), unit="chain") as bar:
        for done in as_completed([pool.submit(chain, *task) for task in work]):
            rows.append(done.result())
            bar.update()
            with open(output, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(sorted(rows, key=lambda row: (row["scene"], row["sampler"], row["seed"])))
    found: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        found[row["scene"]][row["sampler"]][row["seed"]] = row["quality"]
    for scene, samplers in found.items():
        print(f"{scene}, {next(row['metric'] for row in rows if row['scene'] == scene)}")
        for sampler, values in samplers.items():
            off = [values[seed] - samplers[PAIRED][seed] for seed in sorted(values)]
            each = [values[seed] for seed in sorted(values)]
            print(f"  {sampler:32} {np.mean(each):7.3f} ({', '.join(f'{v:.3f}' for v in each)}), minus float64 "
                  f"{np.mean(off):+.3f} ({', '.join(f'{v:+.3f}' for v in off)})")


if __name__ == "__main__":
    main()
