"""Figure 3.12: the quality of the answers, in float64 and with each sampler."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from mrfhw.field.problem import Run
from mrfhw.system.processors import processors
from mrfhw.twin import machine, paired
from studies.report import Report, bars
from studies.reproduce.chains import SAMPLERS, machine_for
from studies.reproduce.context import Context
from studies.reproduce.scenes import Scene

__all__ = ["chain", "counted_sweeps", "figure_3_12"]

COUNTED = 1000  # the answer is the mode of the last so many iterations
FLOAT = "float64"
PAIRED = "race"  # the sampler whose uniforms float64 draws from


def counted_sweeps(sweeps: int) -> int:
    """The last 1,000 sweeps, or the last two thirds of a chain shorter than 1,500."""
    return min(COUNTED, max(1, 2 * sweeps // 3))


def chain(scene: Scene, sampler: str, sweeps: int, seed: int) -> np.ndarray:
    """The answer (H, W) uint8 of a chain by a sampler of `SAMPLERS`: the mode of the counted sweeps.

    float64 draws by race from the uniforms that the PAIRED machine draws from, at the temperature that it realizes,
    without shift, floor or cap: with one seed the two chains differ by quantization alone.
    """
    problem, run = scene.problem(), Run(sweeps=sweeps, burn_in=sweeps - counted_sweeps(sweeps), seed=seed)
    preset, changes = SAMPLERS[PAIRED if sampler == FLOAT else sampler]
    config = machine_for(problem, preset, **changes)
    if sampler == FLOAT:
        return paired.solve(problem, run, config=config, uniforms="hardware").mode
    return machine.solve(config, problem, run, threads=1).mode


def _answers(tasks: list[tuple[Scene, str, int, int]], bar: Any) -> Iterator[np.ndarray]:
    """`chain` of each task, in order, a process for each core."""
    cores = processors()
    with ProcessPoolExecutor(min(cores, len(tasks)), multiprocessing.get_context("spawn")) as pool:
        for task, found in zip(tasks, [pool.submit(chain, *task) for task in tasks], strict=True):
            yield found.result()
            bar.update(task[2])


def figure_3_12(context: Context) -> Report:
    """End-point error (motion) and bad pixels (stereo) of the mode, several chains of each sampler."""
    rows: list[dict[str, Any]] = []
    tasks = [(scene, sampler, context.sweeps(scene), context.seed + n)
             for scene in context.scenes for sampler in (FLOAT, *SAMPLERS) for n in range(context.chains)]
    with context.bar(sum(task[2] for task in tasks), "quality") as bar:
        found = [task[0].quality(answer) for task, answer in zip(tasks, _answers(tasks, bar), strict=True)]
    for first in range(0, len(tasks), context.chains):
        scene, sampler, sweeps, _ = tasks[first]
        each = found[first:first + context.chains]
        if sampler == FLOAT:
            exactly = each
        off = [a - b for a, b in zip(each, exactly, strict=True)]
        rows.append({"scene": scene.name, "data": scene.source, "iterations": sweeps, "metric": scene.metric,
                     "sampler": sampler, "chains": len(each), "mean": float(np.mean(each)), "least": min(each),
                     "most": max(each), "minus_float64": float(np.mean(off))})
    lines = []
    for scene in context.scenes:
        mine = {row["sampler"]: row for row in rows if row["scene"] == scene.name}
        lines.append(f"{scene.caption}, {scene.metric}: " + "; ".join(
            f"{name} {row['mean']:.4g} ({row['least']:.4g} to {row['most']:.4g}), {row['minus_float64']:+.3f} from float64"
            for name, row in mine.items()))
    lines += ["published: no numbers in the text, only that the FPGA's, the GPU's and the floating-point results agree "
              "with prior work", "the spread is that of independent chains of the same length, from random labels; float64 and "
              f"{PAIRED} draw from the same uniforms, the others from their own",
              *context.provenance()]
    return Report(
        "figure-3.12", f"quality of the mode of the last {COUNTED:,} iterations, or two thirds of a shorter chain", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "iterations": "of each chain",
            "metric": "what is measured, over the pixels of known truth", "sampler": "float64, or that of the machine",
            "chains": "independent chains", "mean": "of the metric over the chains", "least": "of the chains",
            "most": "of the chains", "minus_float64": "mean over the chains of the difference to float64 of the same seed"},
        rows, lambda figure: _draw(figure, context, rows), lines, size=(10.0, 4.4))


def _draw(figure: Any, context: Context, rows: list[dict[str, Any]]) -> None:
    groups = [(a, [s for s in context.scenes if s.setting.application == a]) for a in ("motion", "stereo")]
    shown = [(application, scenes) for application, scenes in groups if scenes]
    for place, (application, scenes) in enumerate(shown):
        axes = figure.add_subplot(1, len(shown), place + 1)
        series, errors = {}, {}
        for sampler in (FLOAT, *SAMPLERS):
            mine = [r for s in scenes for r in rows if (r["scene"], r["sampler"]) == (s.name, sampler)]
            series[sampler] = [r["mean"] for r in mine]
            errors[sampler] = [[r["mean"] - r["least"] for r in mine], [r["most"] - r["mean"] for r in mine]]
        bars(axes, [scene.caption for scene in scenes], series, label=scenes[0].metric, errors=errors,
             form="%.2f" if application == "motion" else "%.1f")
        axes.set_title(f"{application}; bars: mean, whiskers: least and most of {rows[0]['chains']} chains", fontsize=9)
        axes.get_legend().remove()
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
