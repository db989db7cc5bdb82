"""Energies that annealed chains reach, by the label evaluations that they make: plain, by subsets of labels, and event-driven.

    python -m studies.annealing [--data DIR] [--scenes teddy,Venus-210x190] [--sweeps 25,50,100,200,400]

The field of `mrfhw run ... --anneal` with its defaults (stereo: 64 disparities from 0). The bit-exact model of 16 tiles of one lane
draws among all labels, and by subsets of six; `events?cutoff=C` as published. Of each way and length: the energy of the last
labels, and the label evaluations in sweeps that evaluate every label of every site; medians of three seeds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.runs.chains import sample
from mrfhw.runs.first import prepared
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.system.errors import ProblemError
from studies.scene_jobs import job_of
from studies.subsets import MACHINE, words_of

WAYS = {"plain": ("model", 0), "subsets of 6": ("model", 6), "events, C = 4": ("events?cutoff=4", 0),
        "events, C = 16": ("events?cutoff=16", 0)}


def reached(words: list[str], way: str, sweeps: int, seed: int) -> tuple[float, float]:
    """(energy of the last labels, label evaluations in plain sweeps) of a chain; words: after `mrfhw run`, the verb first."""
    backend, subset = WAYS[way]
    machine = [*MACHINE, "--subset-slots", str(subset)] if backend == "model" else []
    job = job_of(words[0], [*words[1:], *machine, "--anneal", "--sweeps", str(sweeps), "--seed", str(seed)])
    job = prepared(backend, job, None)
    found = sample(backend, job.config, job.problem, job.run, chains=1, traced=False).results[0]
    every = job.problem.unclamped_sites * job.problem.labels
    return FieldEnergy(job.problem)(found.last), found.label_evaluations / every


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Published scenes; without it, built-in ones.")
@click.option("--scenes", default="teddy,Venus-210x190", show_default=True)
@click.option("--sweeps", "lengths", default="25,50,100,200,400", show_default=True, help="Lengths of the chains.")
@click.option("--seeds", default=3, show_default=True)
def main(data: Path | None, scenes: str, lengths: str, seeds: int) -> None:
    """Energy and label evaluations of annealed chains."""
    if not all(word.isdecimal() and int(word) >= 4 for word in lengths.split(",")):
        raise ProblemError(f"sweeps is {lengths!r}; it is a list of lengths of 4 sweeps or more: give such as 50,100")
    with tempfile.TemporaryDirectory() as directory:
        given = {scene: words_of(scene, data, Path(directory)) for scene in scenes.split(",")}
        click.echo("scene,way,sweeps,energy,plain_sweeps_of_evaluations")
        for scene, way, sweeps in tqdm([(scene, way, int(sweeps)) for scene in given for way in WAYS for sweeps in
                                        lengths.split(",")], leave=False):
            energies, made = np.median([reached(given[scene], way, sweeps, seed) for seed in range(seeds)], 0)
            click.echo(f"{scene},{way},{sweeps},{energies:.0f},{made:.1f}")


if __name__ == "__main__":
    main()
