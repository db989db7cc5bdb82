"""Figure 3.2, how many labels a pixel takes, and Figure 4.1, how often it changes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.report import COLOURS, Report, bars, published, span
from studies.reproduce.context import Context

__all__ = ["figure_3_2", "figure_4_1", "shares"]

MORE_THAN_TWO = 14.7  # percent of the pixels at most, as printed
CHANGES = (22.0, 46.0)  # percent of the updates, as printed
SHOWN = 8  # labels on the axis


def shares(unique: np.ndarray, labels: int) -> np.ndarray:
    """Percent of the pixels with 1, 2, ... labels; float64 (labels,); unique: numbers of labels, 1 or more."""
    return np.asarray(100 * np.bincount(unique, minlength=labels + 1)[1:] / unique.size)


def figure_3_2(context: Context) -> Report:
    """Share of pixels by number of unique labels in the second half of the iterations, for motion."""
    scenes = context.of("motion")
    rows: list[dict[str, Any]] = []
    lines, curves = [], {}
    for scene in scenes:
        trace = context.trace(scene)
        share = shares(trace.unique, scene.labels)
        running = np.cumsum(share)
        curves[scene.caption] = running
        rows += [{"scene": scene.name, "data": scene.source, "iterations": trace.sweeps, "unique_labels": n + 1,
                  "percent": float(share[n]), "cumulative_percent": float(running[n])} for n in range(scene.labels)]
        lines.append(f"{scene.caption}: {100 - running[1]:.1f} % of the pixels take more than two labels "
                     f"(one: {share[0]:.1f} %, two: {share[1]:.1f} %)")
    most = max(100 - running[1] for running in curves.values())
    lines += [f"at most {most:.1f} %; published: at most {MORE_THAN_TWO} %",
              "the share depends on the scale between 6-bit data and T, which is our reading (table-3.2)",
              *context.provenance()]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        for colour, (name, running) in zip(COLOURS, curves.items(), strict=False):
            axes.plot(range(1, SHOWN + 1), running[:SHOWN], "o-", label=name, color=colour, markersize=4)
        published(axes, 100 - MORE_THAN_TWO, f"published: at least {100 - MORE_THAN_TWO:.1f} % take one or two")
        axes.set_xlabel("unique labels of a pixel in the second half of the iterations, at most")
        axes.set_ylabel("pixels (%)")
        axes.set_ylim(None, 101.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, loc="lower right")

    return Report(
        "figure-3.2", "pixels by their number of unique labels, motion estimation", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "iterations": "of the chain",
            "unique_labels": "labels that a pixel took in the second half of the iterations",
            "percent": "of the pixels", "cumulative_percent": "of the pixels, with so many labels or fewer"},
        rows, draw, lines, size=(6.6, 4.2))


def figure_4_1(context: Context) -> Report:
    """Updates that change the label, of all updates."""
    rows: list[dict[str, Any]] = []
    for scene in context.scenes:
        trace = context.trace(scene)
        half = trace.sweeps // 2
        rows.append({"scene": scene.name, "data": scene.source, "application": scene.setting.application,
                     "iterations": trace.sweeps, "changed_percent": float(100 * trace.changes.mean() / trace.sites),
                     "changed_percent_second_half": float(100 * trace.changes[half:].mean() / trace.sites)})
    lines = [f"{row['scene']}: {row['changed_percent']:.1f} % of the updates change the label "
             f"({row['changed_percent_second_half']:.1f} % in the second half)" for row in rows]
    found = [row["changed_percent"] for row in rows]
    lines += [f"{span(found, '.1f')} %; published: {CHANGES[0]:g} to {CHANGES[1]:g} %",
              "the published chains of this figure are cooled from T = 80 (motion) and 10 (stereo) with weights 1 and 8 or 2, "
              "over 1,000 iterations (Table 4.2, schedule not printed); ours are Table 3.2's at one temperature",
              *context.provenance()]
    captions = [scene.caption for scene in context.scenes]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        bars(axes, captions, {"all iterations": found, "second half": [row["changed_percent_second_half"] for row in rows]},
             label="updates that change the label (%)", form="%.1f")
        axes.axhspan(*CHANGES, color="#999999", alpha=0.2, zorder=0)
        axes.annotate(f"published: {CHANGES[0]:g} to {CHANGES[1]:g} %", (0.99, CHANGES[1]),
                      xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8, color="#444444")

    return Report(
        "figure-4.1", "updates that change the label", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "application": "motion or stereo",
            "iterations": "of the chain", "changed_percent": "label changes in percent of the updates",
            "changed_percent_second_half": "the same of the second half of the iterations"},
        rows, draw, lines)
