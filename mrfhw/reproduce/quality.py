"""Figure 3.12: the quality of the answers, in float64 and with each sampler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mrfhw.reproduce.chains import SAMPLERS, float_labels, machine_for, machine_labels
from mrfhw.reproduce.context import Context
from mrfhw.reproduce.kernel import count_labels
from mrfhw.reproduce.report import Report, bars
from mrfhw.reproduce.scenes import Scene

__all__ = ["chain", "counted_sweeps", "figure_3_12", "mode_of"]

COUNTED = 1000  # the answer is the mode of the last so many iterations


def counted_sweeps(sweeps: int) -> int:
    """The last 1,000 sweeps, or the last two thirds of a chain shorter than 1,500."""
    return min(COUNTED, max(1, 2 * sweeps // 3))


def chain(scene: Scene, sampler: str, sweeps: int, seed: int) -> Iterator[np.ndarray]:
    """The labels after each sweep, by a sampler of `SAMPLERS`."""
    problem, machine = scene.problem(), SAMPLERS[sampler]
    if machine is None:
        return float_labels(problem, sweeps, seed)
    preset, changes = machine
    return machine_labels(machine_for(problem, preset, **changes), problem, sweeps, seed)


def mode_of(labels: Iterator[np.ndarray], count: int, sweeps: int, bar: Any) -> np.ndarray:
    """The most frequent label of the counted sweeps, the lowest on ties; uint8 (H, W)."""
    first = sweeps - counted_sweeps(sweeps)
    counts, shape = np.zeros((0, count), np.uint16), (0, 0)
    for sweep, drawn in enumerate(labels):
        if not counts.size:
            counts, shape = np.zeros((drawn.size, count), np.uint16), drawn.shape
        if sweep >= first:
            count_labels(np.ascontiguousarray(drawn).reshape(-1), counts)
        bar.update(1)
    return counts.argmax(1).astype(np.uint8).reshape(shape)


def figure_3_12(context: Context) -> Report:
    """End-point error (motion) and bad pixels (stereo) of the mode, several chains of each sampler."""
    rows: list[dict[str, Any]] = []
    total = sum(context.sweeps(scene) for scene in context.scenes) * len(SAMPLERS) * context.chains
    with context.bar(total, "quality") as bar:
        for scene in context.scenes:
            sweeps = context.sweeps(scene)
            for sampler in SAMPLERS:
                found = [scene.quality(mode_of(chain(scene, sampler, sweeps, context.seed + n), scene.labels, sweeps, bar))
                         for n in range(context.chains)]
                rows.append({"scene": scene.name, "data": scene.source, "iterations": sweeps, "metric": scene.metric,
                             "sampler": sampler, "chains": len(found), "mean": float(np.mean(found)),
                             "least": min(found), "most": max(found)})
    lines = []
    for scene in context.scenes:
        mine = {row["sampler"]: row for row in rows if row["scene"] == scene.name}
        lines.append(f"{scene.caption}, {scene.metric}: " + "; ".join(
            f"{name} {row['mean']:.3g} ({row['least']:.3g} to {row['most']:.3g})" for name, row in mine.items()))
    lines += ["published: no numbers in the text, only that the FPGA's, the GPU's and the floating-point results agree "
              "with prior work", "the spread is that of independent chains of the same length, from random labels",
              *context.provenance()]
    return Report(
        "figure-3.12", f"quality of the mode of the last {COUNTED:,} iterations, or two thirds of a shorter chain", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "iterations": "of each chain",
            "metric": "what is measured, over the pixels of known truth", "sampler": "float64, or that of the machine",
            "chains": "independent chains", "mean": "of the metric over the chains", "least": "of the chains",
            "most": "of the chains"},
        rows, lambda figure: _draw(figure, context, rows), lines, size=(10.0, 4.4))


def _draw(figure: Any, context: Context, rows: list[dict[str, Any]]) -> None:
    groups = [(a, [s for s in context.scenes if s.setting.application == a]) for a in ("motion", "stereo")]
    shown = [(application, scenes) for application, scenes in groups if scenes]
    for place, (application, scenes) in enumerate(shown):
        axes = figure.add_subplot(1, len(shown), place + 1)
        series, errors = {}, {}
        for sampler in SAMPLERS:
            mine = [r for s in scenes for r in rows if (r["scene"], r["sampler"]) == (s.name, sampler)]
            series[sampler] = [r["mean"] for r in mine]
            errors[sampler] = [[r["mean"] - r["least"] for r in mine], [r["most"] - r["mean"] for r in mine]]
        bars(axes, [scene.caption for scene in scenes], series, label=scenes[0].metric, errors=errors,
             form="%.2f" if application == "motion" else "%.1f")
        axes.set_title(f"{application}; bars: mean, whiskers: least and most of {rows[0]['chains']} chains", fontsize=9)
        axes.get_legend().remove()
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
