"""Figures 4.9 (stereo), 4.15 and 4.16 (motion): updates that event-driven Gibbs sampling skips, and its quality."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from mrfhw.apps import motion, stereo
from mrfhw.field.problem import Problem, Run
from mrfhw.jobs.options import schedule_from_options
from mrfhw.model.events import EventChain, Skipping
from mrfhw.model.exact import FloatTables
from mrfhw.reproduce.context import Context
from mrfhw.reproduce.report import Report, bars
from mrfhw.reproduce.scenes import Scene

__all__ = ["CUTOFFS", "REGIONS", "annealed", "figure_4_9"]

CUTOFFS = (2, 4, 8, 16)  # Table 4.1
REGIONS = ((1, 1), (8, 8), (8, 32), (32, 32))  # rows and columns: single sites; the published best for stereo is the third
APPS: dict[str, ModuleType] = {"motion": motion, "stereo": stereo}


def annealed(scene: Scene, sweeps: int) -> Problem:
    """The scene's field of grey by this project's defaults, cooled over so many sweeps as `--anneal` cools it."""
    app = APPS[scene.setting.application]

    def problem(**more: Any) -> Problem:
        if app is motion:
            return motion.motion_problem(scene.first, scene.second, rows=7, cols=7, **more)
        return stereo.stereo_problem(scene.first, scene.second, labels=scene.labels, min_disparity=scene.least, **more)

    held, cooling = problem().schedule.start, app.COOLING
    return problem(schedule=schedule_from_options(sweeps=sweeps, burn_in=0, temperature=cooling.first * held,
                                                  final_temperature=cooling.last * held, anneal=True))


def _chains(context: Context, scene: Scene) -> list[dict[str, Any]]:
    """A row of the table for each cut-off, of plain sampling first."""
    app = APPS[scene.setting.application]
    sweeps = context.iterations or app.SWEEPS
    problem = annealed(scene, sweeps)
    tables, rows = FloatTables(problem), []
    with context.bar((1 + len(CUTOFFS) * len(REGIONS)) * sweeps, scene.name) as bar:
        for cutoff in (math.inf, *CUTOFFS):
            row: dict[str, Any] = {"scene": scene.name, "data": scene.source, "application": scene.setting.application,
                                   "iterations": sweeps, "cutoff": None if math.isinf(cutoff) else cutoff}
            for region in REGIONS:
                name = f"skipped_{region[0]}x{region[1]}"
                if math.isinf(cutoff) and region != REGIONS[0]:
                    row[name] = None
                    continue
                run = Run(sweeps=sweeps, seed=context.seed, estimate="last")
                chain = EventChain(problem, run, skipping=Skipping(cutoff, region), tables=tables)
                for _ in range(sweeps):
                    chain.sweep()
                    bar.update()
                row[name] = 100 * chain.skipped
            row |= {"changed_percent": 100 * chain.changes / (problem.sites * sweeps), "quality": scene.quality(chain.labels)}
            rows.append(row)
    return rows


def figure_4_9(context: Context) -> Report:
    """Skipped updates by cut-off and region, and quality, of annealed chains."""
    rows = [row for scene in context.scenes for row in _chains(context, scene)]
    lines = []
    for scene in context.scenes:
        own = [row for row in rows if row["scene"] == scene.name]
        lines.append(f"{scene.caption}, plain: {scene.metric} {own[0]['quality']:.3g}, "
                     f"{own[0]['changed_percent']:.1f} % of the updates change the label")
        for row in own[1:]:
            shares = ", ".join(f"{row[f'skipped_{r}x{c}']:.1f} % ({r}x{c})" for r, c in REGIONS)
            lines.append(f"{scene.caption}, C = {row['cutoff']}: skipped {shares}; {scene.metric} {row['quality']:.3g}")
    gains = [row["skipped_1x1"] - row["skipped_8x32"] for row in rows
             if row["application"] == "stereo" and row["cutoff"] is not None]
    if gains:
        lines.append(f"stereo, single sites over regions 32 wide and 8 high: {min(gains):.1f} to {max(gains):.1f} points more; "
                     "published: 52.5 to 82.2 %, which we read as points")
    lines += ["published: EDGS-2 30.3 % faster on a GPU with a loss of quality, EDGS-4 16.4 % with less than 3 % loss (stereo)",
              "a region draws the labels that single sites draw: what is skipped could not have changed",
              "cooled as --anneal cools the field of grey; the published schedule is not printed", *context.provenance()]
    captions = [f"{row['scene']}, C = {row['cutoff']}" for row in rows if row["cutoff"] is not None]

    def draw(figure: Any) -> None:
        bars(figure.add_subplot(), captions, {f"regions of {r}x{c}" if r * c > 1 else "single sites": [
            row[f"skipped_{r}x{c}"] for row in rows if row["cutoff"] is not None] for r, c in REGIONS},
            label="updates skipped (%)", form="%.0f")

    return Report(
        "figure-4.9", "updates skipped by event-driven Gibbs sampling", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "application": "motion or stereo",
            "iterations": "of each chain", "cutoff": "C of Equation 4.1; empty: plain sampling",
            **{f"skipped_{r}x{c}": f"updates skipped in percent, regions of {r} rows and {c} columns; of plain sampling 1x1 alone"
               for r, c in REGIONS},
            "changed_percent": "label changes in percent of the updates of plain sampling",
            "quality": "of the last labels: bad pixels above 1 in percent (stereo), end-point error in pixels (motion)"},
        rows, draw, lines, size=(max(8.0, 1.1 * len(captions)), 4.6))
