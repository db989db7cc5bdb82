"""Figures 4.9 (stereo) and 4.16 (motion), 4.15 (motion in a wider window): what event-driven Gibbs sampling skips, its quality."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from mrfhw.applications.motion import field as motion
from mrfhw.applications.options import schedule_from_options
from mrfhw.applications.stereo import field as stereo
from mrfhw.field.problem import Problem, Run
from mrfhw.jobs.job import Cooling
from mrfhw.samplers.events import EventChain, Skipping
from mrfhw.samplers.exact import FloatTables
from studies.report import Report, bars, span
from studies.reproduce.context import Context
from studies.reproduce.on_device import speedups
from studies.reproduce.scenes import Scene

__all__ = ["COLUMNS", "CUTOFFS", "REGIONS", "SWEEPS", "Skipped", "annealed", "cooled", "distances", "figure_4_9", "figure_4_15",
           "held", "skipped"]

CUTOFFS = (2, 4, 8, 16)  # Table 4.1
WIDE = 15  # rows and columns of the window of Figure 4.15
REGIONS = ((1, 1), (8, 8), (8, 32), (32, 32))  # rows and columns: single sites; the published best for stereo is the third
APPS: dict[str, ModuleType] = {"motion": motion, "stereo": stereo}


def held(scene: Scene) -> Problem:
    """The scene's field of grey by this project's defaults, at its constant temperature."""
    if scene.setting.application == "motion":
        return motion.motion_problem(scene.first, scene.second, rows=scene.window, cols=scene.window)
    return stereo.stereo_problem(scene.first, scene.second, labels=scene.labels, min_disparity=scene.least)


def cooled(problem: Problem, cooling: Cooling, sweeps: int) -> Problem:
    """The same field, cooled over so many sweeps as `--anneal` cools it."""
    start = problem.schedule.start
    return dataclasses.replace(problem, schedule=schedule_from_options(
        sweeps=sweeps, burn_in=0, temperature=cooling.first * start, final_temperature=cooling.last * start, anneal=True))


def annealed(scene: Scene, sweeps: int) -> Problem:
    """`held`, cooled over so many sweeps."""
    return cooled(held(scene), APPS[scene.setting.application].TUNED.cooling, sweeps)


@dataclass(frozen=True)
class Skipped:
    """What chains of one cut-off skip.

    cutoff: C of Equation 4.1, infinity of plain sampling. shares: updates skipped in percent, by region; of plain sampling those of
    single sites alone. changed: updates that change the label, in percent. labels: the last, (H, W); the same for every region.
    """

    cutoff: float
    shares: dict[tuple[int, int], float]
    changed: float
    labels: np.ndarray

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of a table, by name."""
        return {"cutoff": None if math.isinf(self.cutoff) else self.cutoff, "changed_percent": self.changed,
                **{f"skipped_{r}x{c}": self.shares.get((r, c)) for r, c in REGIONS}}


COLUMNS = {
    "cutoff": "C of Equation 4.1; empty: plain sampling",
    **{f"skipped_{r}x{c}": f"updates skipped in percent, regions of {r} rows and {c} columns; of plain sampling 1x1 alone"
       for r, c in REGIONS},
    "changed_percent": "label changes in percent of all updates, those that were skipped too",
}
SWEEPS = 1 + len(CUTOFFS) * len(REGIONS)  # of `skipped`, in sweeps of a chain


def skipped(problem: Problem, sweeps: int, seed: int, done: Callable[[], object]) -> list[Skipped]:
    """Chains of plain sampling, first, and of each cut-off and region. done: called at each of the `SWEEPS` * `sweeps` sweeps."""
    tables, found = FloatTables(problem), []
    for cutoff in (math.inf, *CUTOFFS):
        shares = {}
        for region in REGIONS[:1] if math.isinf(cutoff) else REGIONS:
            chain = EventChain(problem, Run(sweeps=sweeps, seed=seed, estimate="last"), skipping=Skipping(cutoff, region),
                               tables=tables)
            for _ in range(sweeps):
                chain.sweep()
                done()
            shares[region] = 100 * chain.skipped
        found.append(Skipped(cutoff, shares, 100 * chain.changes / (problem.sites * sweeps), chain.labels))
    return found


def _histogram(problem: Problem, sweeps: int, seed: int, cutoff: float, done: Callable[[], object]) -> np.ndarray:
    """Counts of the labels in the second half of a chain, (H W, L)."""
    counts = np.zeros((problem.sites, problem.labels), np.int32)
    chain = EventChain(problem, Run(sweeps=sweeps, seed=seed, estimate="last"), skipping=Skipping(cutoff))
    for sweep in range(sweeps):
        chain.sweep()
        if sweep >= sweeps // 2:
            counts[np.arange(problem.sites), chain.labels.ravel()] += 1
        done()
    return counts


def distances(problem: Problem, sweeps: int, seed: int, done: Callable[[], object]) -> list[float]:
    """Total variation to plain sampling's histogram of another plain chain, and of a chain of each cut-off.

    The mean over the sites, of labels in the second half of chains at `problem`'s temperatures; `done` is called at each of
    (2 + len(CUTOFFS)) * `sweeps` sweeps.
    """
    plain, *others = (_histogram(problem, sweeps, seed + (number > 0), cutoff, done)
                      for number, cutoff in enumerate((math.inf, math.inf, *CUTOFFS)))
    return [float(np.abs(other - plain).sum(1).mean() / (2 * plain[0].sum())) for other in others]


def _rows(context: Context, scene: Scene) -> list[dict[str, Any]]:
    """A row of the table for each cut-off, of plain sampling first."""
    sweeps = context.iterations or APPS[scene.setting.application].TUNED.sweeps
    with context.bar((SWEEPS + 2 + len(CUTOFFS)) * sweeps, scene.name) as bar:
        found = skipped(annealed(scene, sweeps), sweeps, context.seed, bar.update)
        apart = distances(held(scene), sweeps, context.seed, bar.update)
    sooner = {} if context.gpu is None else speedups(context.gpu, annealed(scene, sweeps), sweeps, context.seed, CUTOFFS, REGIONS)
    return [{"scene": scene.name, "data": scene.source, "application": scene.setting.application, "iterations": sweeps,
             "quality": scene.quality(each.labels), "total_variation": distance, **each.columns,
             **{f"speedup_{r}x{c}": sooner.get(each.cutoff, {}).get((r, c)) for r, c in REGIONS}}
            for each, distance in zip(found, apart, strict=True)]


def figure_4_9(context: Context) -> Report:
    """Skipped updates by cut-off and region, and quality, of annealed chains."""
    rows = [row for scene in context.scenes for row in _rows(context, scene)]
    gains = [row["skipped_1x1"] - row["skipped_8x32"] for row in rows
             if row["application"] == "stereo" and row["cutoff"] is not None]
    lines = []
    if gains:
        lines.append(f"stereo, single sites over regions 32 wide and 8 high: {span(gains, '.1f')} points more; "
                     "published: 52.5 to 82.2 %, which we read as points")
    lines.append("published: EDGS-2 30.3 % faster on a GPU with a loss of quality, EDGS-4 16.4 % with less than 3 % loss (stereo)")
    return _report(context, "figure-4.9", "updates skipped by event-driven Gibbs sampling", context.scenes, rows, lines)


def figure_4_15(context: Context) -> Report:
    """The same of motion among WIDE x WIDE vectors."""
    scenes = [dataclasses.replace(scene, window=WIDE) for scene in context.of("motion")]
    rows = [row for scene in scenes for row in _rows(context, scene)]
    best = [(row["skipped_1x1"], max(row[f"skipped_{r}x{c}"] for r, c in REGIONS[1:])) for row in rows if row["cutoff"] is not None]
    regions, gains = [region for _, region in best], [single - region for single, region in best]
    lines = [f"the best of the regions skips {span(regions, '.1f')} %; published: at most 4.5 %",
             f"single sites {span(gains, '.1f')} points more; published: 17.8 to 55.3 %",
             "published: slower than plain sampling; the harder the cut-off, the smaller the end-point error"]
    return _report(context, "figure-4.15", f"updates skipped by event-driven Gibbs sampling, motion among {WIDE}x{WIDE} vectors",
                   scenes, rows, lines)


def _report(context: Context, name: str, title: str, scenes: Sequence[Scene], rows: list[dict[str, Any]],
            compared: list[str]) -> Report:
    """Table, bars and lines of `rows`; compared: lines beside the published numbers."""
    lines = []
    for scene in scenes:
        own = [row for row in rows if row["scene"] == scene.name]
        lines.append(f"{scene.caption}, plain: {scene.metric} {own[0]['quality']:.3g}, "
                     f"{own[0]['changed_percent']:.1f} % of the updates change the label; histograms of two chains at the constant "
                     f"temperature: total variation {own[0]['total_variation']:.2f}")
        for row in own[1:]:
            shares = ", ".join(f"{row[f'skipped_{r}x{c}']:.1f} % ({r}x{c})" for r, c in REGIONS)
            lines.append(f"{scene.caption}, C = {row['cutoff']}: skipped {shares}; {scene.metric} {row['quality']:.3g}; "
                         f"histograms: total variation {row['total_variation']:.2f}")
            if row["speedup_1x1"] is not None:
                times = ", ".join(f"{row[f'speedup_{r}x{c}']:.2f} ({r}x{c})" for r, c in REGIONS)
                lines.append(f"{scene.caption}, C = {row['cutoff']}: times as fast on the device as plain sampling: {times}")
    lines += [*compared, "a region draws the labels that single sites draw: what is skipped could not have changed",
              "cooled as --anneal cools the field of grey; the published schedule is not printed", *context.provenance()]
    captions = [f"{row['scene']}, C = {row['cutoff']}" for row in rows if row["cutoff"] is not None]

    def draw(figure: Any) -> None:
        bars(figure.add_subplot(), captions, {f"regions of {r}x{c}" if r * c > 1 else "single sites": [
            row[f"skipped_{r}x{c}"] for row in rows if row["cutoff"] is not None] for r, c in REGIONS},
            label="updates skipped (%)", form="%.0f")

    return Report(
        name, title, {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "application": "motion or stereo",
            "iterations": "of each chain", **COLUMNS,
            **{f"speedup_{r}x{c}": f"of backend gpu over its plain sampling, regions of {r} rows and {c} columns; with --gpu alone"
               for r, c in REGIONS},
            "quality": "of the last labels: bad pixels above 1 in percent (stereo), end-point error in pixels (motion)",
            "total_variation": "of the labels' histograms in the second half of chains at the constant temperature, to a plain "
                               "chain's; mean over the sites; of plain sampling that of another plain chain"},
        rows, draw, lines, size=(max(8.0, 1.1 * len(captions)), 4.6))
