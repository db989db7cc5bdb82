"""Backend gpu on a device, beside backend cpu on this computer's cores and thrml: a field's run, and label evaluations a second.

    python -m studies.gpu_peers PROBLEM [--backend gpu] [--chains 1,8,64] [--seconds 3] [--thrml]

PROBLEM: of `mrfhw run ... --save-problem`; thrml takes it where it is symmetric and has no clamped sites, at the temperature of its
first sweep. All sweeps after burn-in are counted in histograms.

s: wall time of a run of two chains, tables included but thrml's; of the second of two runs, as kernels are compiled in the first.
tv: mean total variation of the histograms to those of cpu, beside that of two other chains of cpu: the law is the same where these
are alike. labels/s: label evaluations of chains side by side, of as many sweeps as take `--seconds`, histograms included; in place
of: those that as many visits to sites would need without a subset (gpu?subset=8). W: the card's own count of
energy over these seconds (NVML), of the whole card and not of its host; nJ: of it, a label evaluation.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, load_problem
from mrfhw.field.result import Result
from mrfhw.fpga.report import markdown
from mrfhw.runs.chains import sample
from mrfhw.samplers.chain import chain_type
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.samplers.gpu.chain import Choice
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.fields import Fields, Sweep
from mrfhw.samplers.gpu.tables import GpuTables
from mrfhw.samplers.gpu.tuning import tuned
from studies.cards import Card, card_of
from studies.gpu import numbers
from studies.scene_jobs import CHAINS

__all__ = ["choice_of", "field_of", "rate", "variation"]

AT_ONCE = 32  # sweeps that a device is asked for


def variation(one: np.ndarray, other: np.ndarray) -> float:
    """Mean over sites of the total variation of two histograms (H, W, L)."""
    shares = [counts / counts.sum(-1, keepdims=True) for counts in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum(-1).mean() / 2)


def field_of(path: Path) -> tuple[Problem, Run]:
    """What is sampled. Raises ProblemError for a file without a run."""
    problem, run = load_problem(path)
    if run is None:
        raise ProblemError(f"{path} cannot be sampled here (it has no run): give another file of mrfhw run ... --save-problem")
    return problem, replace(run, estimate="mode")


def choice_of(backend: str) -> Choice:
    """What stands behind gpu's question mark. Raises ProblemError for another backend."""
    if backend.partition("?")[0] != "gpu":
        raise ProblemError(f"backend is {backend!r}; it is measured beside cpu: give gpu, or such as gpu?device=0")
    found: Choice = chain_type(backend)[1]["choice"]
    if found.skipping is not None:
        raise ProblemError(f"backend is {backend!r}; event-driven sampling has no histograms: leave cutoff and region out")
    return found


def whole(backend: str, problem: Problem, run: Run) -> tuple[np.ndarray, list[np.ndarray], float]:
    """(counts of all chains, last labels of each, seconds) of the second of two runs."""
    found: Sequence[Result] = []
    for _ in range(2):
        began = time.perf_counter()
        found = sample(backend, None, problem, run, chains=CHAINS, traced=False).results
        seconds = time.perf_counter() - began
    counts = np.sum([one.counts for one in found if one.counts is not None], 0, dtype=np.int64)
    return np.asarray(counts), [one.last for one in found], seconds


def rate(choice: Choice, problem: Problem, chains: int, seconds: float, card: Card | None) -> tuple[float, float | None]:
    """(sites drawn a second, W) of as many counted sweeps as take `seconds`."""
    device, tables = of_name(choice.device), GpuTables(problem)
    variant = tuned(device, tables, choice.tune, choice.memory) if choice.tune else choice.variant
    runs = [Run(sweeps=1 << 17, burn_in=0, seed=seed) for seed in range(chains)]
    fields = Fields(device, [tables] * chains, runs, [initial_labels(problem, run) for run in runs], variant, choice.memory,
                    subset=choice.subset)
    temperature, begun = next(problem.schedule.temperatures()), 0

    def took(times: int) -> float:
        nonlocal begun
        began = time.perf_counter()
        for _ in range(times):
            fields.sweep([[Sweep(begun + number, temperature, True)] * chains for number in range(AT_ONCE)])
            begun += AT_ONCE
        device.wait()
        return time.perf_counter() - began

    took(2)
    times = max(1, round(seconds / took(1)))
    took(max(1, times // 4))  # until clocks and power are those of work
    before = card.joules() if card is not None else 0.0
    needed = took(times)
    watts = (card.joules() - before) / needed if card is not None else None
    return chains * problem.unclamped_sites * times * AT_ONCE / needed, watts


@click.command(cls=OneLineCommand)
@click.argument("path", metavar="PROBLEM", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--backend", default="gpu", show_default=True, help="gpu with its options, such as gpu?device=0&tune=5.")
@click.option("--chains", callback=numbers, default="1,8,64", show_default=True, metavar="N,...", help="Chains side by side.")
@click.option("--seconds", type=click.FloatRange(0.1, 600), default=3.0, show_default=True, help="Of each measurement.")
@click.option("--thrml", "beside", is_flag=True, help="thrml as well.")
def main(path: Path, backend: str, chains: list[int], seconds: float, beside: bool) -> None:
    """Print two tables."""
    choice, (problem, run) = choice_of(backend), field_of(path)
    if beside and importlib.util.find_spec("thrml") is None:
        raise ProblemError("thrml is not installed: pip install thrml, or leave --thrml out")
    if beside and not (problem.symmetric and problem.clamped is None):
        raise ProblemError(f"{path} is not symmetric, or has clamped sites; thrml takes neither here: leave --thrml out")
    device, energy = of_name(choice.device), FieldEnergy(problem)
    click.echo(f"{device.name}; {problem.shape[1]}x{problem.shape[0]} sites, {problem.labels} labels, {run.sweeps} sweeps, "
               f"{run.burn_in} of burn-in, {CHAINS} chains")
    wanted, *of_cpu = whole("cpu", problem, run)
    again = whole("cpu", problem, replace(run, seed=run.seed + 100))[0]
    rows = [("cpu", variation(wanted, again), *of_cpu)]
    counts, last, wall = whole(backend, problem, run)
    rows.append((backend, variation(counts, wanted), last, wall))
    if beside:
        counts, one, (wall, _) = importlib.import_module("studies.peer_thrml").sampled(problem, run, CHAINS)
        rows.append(("thrml", variation(counts, wanted), [one], wall))
    click.echo(markdown([("sampler", "s", "energy of last labels", "tv")] + [
        (name, f"{wall:.3f}", f"{np.mean([energy(labels) for labels in last]):.0f}", f"{difference:.4f}")
        for name, difference, last, wall in rows]))
    found, card = [("chains side by side", "labels/s", "in place of", "W", "nJ a label")], card_of(device.name)
    for number in chains:
        visits, watts = rate(choice, problem, number, seconds, card)
        labels = visits * (choice.subset or problem.labels)
        power = ("-", "-") if watts is None else (f"{watts:.0f}", f"{1e9 * watts / labels:.3f}")
        found.append((str(number), _scaled(labels), _scaled(visits * problem.labels) if choice.subset else "-", *power))
    click.echo(markdown(found))


def _scaled(value: float) -> str:
    thousands = int(math.log10(value) / 3)
    return f"{value / 1000 ** thousands:.3g} {('', 'k', 'M', 'G', 'T')[thousands]}"


if __name__ == "__main__":
    main()
