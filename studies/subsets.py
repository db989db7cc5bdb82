"""Subsets of a site's slots beside all of them: cycles, and the quality of the same sweeps.

    python -m studies.subsets [--data DIR] [--scenes teddy,poster,RubberWhale] [--machines 4:4,16:0] [--options WORDS]
        [--cpu]

The field of `mrfhw run` with its defaults (stereo: 64 disparities from 0), by the bit-exact model of 16 tiles. A machine is
LANES:SLOTS, with 0 slots for all of them. Of each scene and machine: slots of a site, and evaluated; cycles a sweep, and how
often as many one lane a tile takes; mean energy of the counted sweeps of each chain; the mode's error, the share of pixels
whose 90 % interval holds the truth, the effective samples a sweep of the middle one of the sites that are watched, the percent of
these that have not mixed, and whether the run has converged. Two chains and three seeds. With --cpu the same of backend `cpu`,
which has no cycles: in place of the slots that are evaluated, the share of the counted visits in which it weighs the labels, as a
neighbour has changed.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

from mrfhw.analysis.convergence import converged, diagnose
from mrfhw.analysis.solution import Solution
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Job
from mrfhw.placement.placement import Placement
from mrfhw.samplers.cpu import CpuChain
from mrfhw.system.errors import ProblemError
from studies.lanes_and_slots import LanesAndSlots
from studies.scene_jobs import Judged, built_in, job_of, judged, published, solved

SCENES = "teddy,poster,art,RubberWhale,Dimetrodon,Venus-210x190"
STEREO = ("teddy", "poster", "art")
MACHINE = ["--preset", "matching", "--spes", "16", "--spus", "1", "--lmem-banks", "4", "--tile-rows", "128", "--tile-cols", "160",
           "--s2-words", "65536"]
ERRORS = ("bad_1px_percent", "bad_1px_mode_percent", "endpoint_error_px", "mean_endpoint_error_px")


def words_of(scene: str, data: Path | None, directory: Path) -> list[str]:
    """The words after `mrfhw run`, the verb first. Raises ProblemError for a scene that is not there."""
    verb = "stereo" if scene in STEREO else "motion"
    if data is None:
        if scene not in SCENES.split(","):
            raise ProblemError(f"scenes has {scene!r}; a built-in scene stands in for {SCENES}: choose of them, or give --data")
        return [verb, *built_in(verb, directory, 1), *(() if verb == "stereo" else ("--vectors", "7x7"))]
    words = published(verb, data, scene)
    if verb == "stereo":  # the range of labels is not given
        at = words.index("--labels")
        words = words[:at] + words[at + 4:]
    return [verb, *words]


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Published scenes; without it, built-in ones.")
@click.option("--scenes", default=SCENES, show_default=True)
@click.option("--machines", type=LanesAndSlots(), default="4:0,4:4,2:4", show_default=True, help="Slots: 0 for all.")
@click.option("--options", default="", help="More options of the machines, as `mrfhw run` takes them.")
@click.option("--cpu", is_flag=True, help="The backend cpu, too.")
@click.option("--seeds", default=3, show_default=True)
def main(data: Path | None, scenes: str, machines: list[tuple[int, int]], options: str, cpu: bool, seeds: int) -> None:
    """Cycles and quality of machines that evaluate subsets of a site's slots."""
    with tempfile.TemporaryDirectory() as directory:
        given = {scene: words_of(scene, data, Path(directory)) for scene in scenes.split(",")}
        runs = [(scene, machine) for scene in given for machine in [*machines, *([None] if cpu else [])]]
        click.echo("scene,lanes,subset_slots,slots,visited,cycles_a_sweep,times_one_lane,energies,errors,coverage_percent,ess_a_sweep,"
                   "not_mixed_percent,converged")
        for scene, machine in tqdm(runs, leave=False):
            words, found = given[scene], []
            lanes, subset = machine or (1, 0)
            of_machine = [*MACHINE, "--lanes", str(lanes), "--subset-slots", str(subset), *shlex.split(options)] if machine else []
            for seed in range(seeds):
                job, solution = solved(job_of(words[0], [*words[1:], *of_machine, "--seed", str(10 * seed)]),
                                       backend="model" if machine else "cpu")
                found.append((job, solution, judged(job, sum(result.counts for result in solution.results),
                                                    solution.results[-1].last)))
            click.echo(",".join((scene, *_cycles(*found[0][:2], machine), *_quality(found))))


def _cycles(job: Job, solution: Solution, machine: tuple[int, int] | None) -> tuple[str, ...]:
    """Lanes, slots of a subset, of a site and visited, cycles a sweep, and how often as many one lane takes."""
    if machine is None:
        return "cpu", "", "", f"{_weighed(job):.2f}", "", ""
    placed = Placement(job.config, job.problem, job.run)
    cycles = np.mean([result.cycles for result in solution.results]) / job.run.sweeps
    alone = placed.order.turns * 2 * job.problem.labels
    return *map(str, machine), str(placed.label_groups.slots), str(placed.slots), f"{cycles:.0f}", f"{alone / cycles:.2f}"


def _weighed(job: Job) -> float:
    """Share of the counted visits of a chain in which the backend cpu weighs all labels."""
    chain, drawn = CpuChain(job.problem, job.run), 0
    for sweep in range(job.run.sweeps):
        drawn = chain.drawn if sweep == job.run.burn_in else drawn
        chain.sweep()
    return (chain.drawn - drawn) / (job.problem.unclamped_sites * (job.run.sweeps - job.run.burn_in))


def _quality(found: list[tuple[Job, Solution, Judged]]) -> tuple[str, ...]:
    """Energies of all chains, and of each seed the error, coverage, effective samples a sweep, and what is said of convergence."""
    name = next((n for n in ERRORS if n in found[0][2].metrics), None) or next(iter(found[0][2].metrics))
    diagnosed = [diagnose(one.trace, job.scale) for job, one, _ in found]
    energies = [f"{np.mean(chain):.0f}" for _, one, _ in found for chain in one.trace.energy[:, one.trace.counted]]
    return (" ".join(energies), " ".join(f"{one.metrics[name]:.3f}" for *_, one in found),
            " ".join(f"{one.coverage:.1f}" for *_, one in found),
            " ".join(f"{one['sites']['ess_per_sweep']:.4f}" for one in diagnosed),
            " ".join(f"{100 * one['sites']['not_mixed']:.1f}" for one in diagnosed),
            " ".join({True: "yes", False: "no", None: "untold"}[converged(one)] for one in diagnosed))


if __name__ == "__main__":
    main()
