"""Table 3.2, the settings and their data, and Figure 3.10, links and crossbars (Equations 3.6 to 3.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mrfhw.report.pictures import flow_colours, wheel_legend
from studies.report import Report
from studies.reproduce.context import Context
from studies.reproduce.scenes import BUILT_IN, READINGS, Scene

__all__ = ["DIMENSIONS", "figure_3_10", "mesh_crossbars", "mesh_links", "our_crossbars", "our_links", "published_crossbars",
           "published_links", "table_3_2"]

# The text names no dimensions; these are the FPGA's 16 SPEs, the ASIC's 1,024, and one between.
DIMENSIONS = (4, 16, 32)
SPUS = 2


def published_links(d: int, s: int) -> int:
    """Equation 3.6: links of the published topology of d x d SPEs with s SPUs."""
    return 2 * (2 * (d - 1) * d * (s + 1) + 2 * (d - 1) ** 2 * s)


def published_crossbars(d: int, s: int) -> int:
    """Equation 3.7, a crossbar I:O counted as I x O."""
    return d * d * (2 * (4 * 8) + s * 9 * s + 8 * (2 * s) + 9 * s * s)


def mesh_links(d: int, s: int) -> int:
    """Equation 3.8: links of a 2-D mesh NoC."""
    return 2 * (2 * (d - 1) * d * (s + 1))


def mesh_crossbars(d: int, s: int) -> int:
    """Equation 3.9, a crossbar I:O counted as I x O."""
    return d * d * (2 * (4 * 8) + s * 5 * s + 8 * (2 * s) + 5 * s * 5 * s)


def our_links(d: int, s: int) -> int:
    """Links of this project's mesh: a label word and s singleton-2 words each way between neighbours, no diagonals."""
    return mesh_links(d, s)


def our_crossbars(d: int, s: int, lmem_banks: int = 4) -> int:
    """Crossbars of this project's tile, counted as Equation 3.7 counts.

    Labels: with four banks, s sites one after the other, 4:4 to the four kinds of neighbour and 2:1 for each kind
    (own tile or next); with one bank 5:1. Singleton 2: the banks' words turned to their lanes, s:s, then 3:1 by
    column and 3:1 by row in each lane.
    """
    labels = 4 * 4 + 4 * (2 * 1) if lmem_banks == 4 else 5 * 1
    return d * d * (labels + s * s + s * (3 * 1 + 3 * 1))


def figure_3_10(context: Context) -> Report:
    """Links and crossbars of the published topology, a 2-D mesh NoC and this project's mesh."""
    kinds = {"2-D mesh NoC": (mesh_links, mesh_crossbars), "published topology": (published_links, published_crossbars),
             "this project": (our_links, our_crossbars)}
    rows: list[dict[str, Any]] = []
    for d in DIMENSIONS:
        for name, (links, crossbars) in kinds.items():
            rows.append({"dimension": d, "spes": d * d, "spus_per_spe": SPUS, "topology": name, "links": links(d, SPUS),
                         "crossbars": crossbars(d, SPUS), "sum": links(d, SPUS) + crossbars(d, SPUS)})
    total = {(row["dimension"], row["topology"]): row["sum"] for row in rows}
    lines = [f"{d} x {d} SPEs: " + ", ".join(f"{name} {total[d, name]}" for name in kinds)
             + f"; published / NoC {total[d, 'published topology'] / total[d, '2-D mesh NoC']:.3f}, "
             f"ours / NoC {total[d, 'this project'] / total[d, '2-D mesh NoC']:.3f}" for d in DIMENSIONS]
    lines += ["published: the proposed topology takes less than the NoC at three dimensions that the text does not name; "
              "4, 16 and 32 here: 16 SPEs (FPGA), 1,024 (ASIC) and one between",
              "ours is less because diagonal words pass the row's link and two 3:1 multiplexers take the place of a 9:1, and "
              "because one site's labels are fetched at a time, not eight ports' worth"]

    def draw(figure: Any) -> None:
        for place, d in enumerate(DIMENSIONS):
            axes = figure.add_subplot(1, len(DIMENSIONS), place + 1)
            mine = [row for row in rows if row["dimension"] == d]
            links, crossbars = [row["links"] for row in mine], [row["crossbars"] for row in mine]
            drawn = [axes.bar(range(3), links, 0.7, label="links", color="#E69F00"),
                     axes.bar(range(3), crossbars, 0.7, bottom=links, label="crossbars (inputs x outputs)", color="#0072B2")]
            axes.bar_label(drawn[1], [str(row["sum"]) for row in mine], fontsize=8, padding=2)
            axes.set_xticks(range(3), ["2-D mesh\nNoC", "published\ntopology", "this\nproject"], fontsize=8)
            axes.set_title(f"{d} x {d} SPEs of {SPUS} SPUs", fontsize=9)
            axes.margins(y=0.12)
            axes.spines[["top", "right"]].set_visible(False)
            if place == 0:
                axes.set_ylabel("links + inputs x outputs of crossbars")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)

    return Report("figure-3.10", "links and crossbars by topology (Equations 3.6 to 3.9)", {
        "dimension": "SPEs on a side", "spes": "SPEs", "spus_per_spe": "S of the equations", "topology": "what connects them",
        "links": "word links, both directions", "crossbars": "sum of inputs x outputs", "sum": "links + crossbars"},
        rows, draw, lines, size=(8.6, 4.0))


def _difference(scene: Scene) -> str:
    """What of a scene differs from the printed setting; empty where nothing does."""
    s = scene.setting
    rows, cols = scene.first.shape
    found = [f"{cols}x{rows}"] if (rows, cols) != (s.rows, s.cols) else []
    if scene.labels != s.labels:
        found.append(f"{scene.labels} labels from {scene.least}")
    return ", ".join(found)


def _picture_and_truth(figure: Any, scene: Scene, parts: Sequence[Any]) -> None:
    """The first picture above the truth above what its colours mean, in three places of a grid."""
    s = scene.setting
    above, below, legend = (figure.add_subplot(part) for part in parts)
    above.imshow(scene.first, cmap="gray", vmin=0, vmax=63, interpolation="nearest")
    above.set_title(f"{scene.name}{chr(10) + BUILT_IN if scene.built_in else ''}\n{scene.first.shape[1]}x{scene.first.shape[0]}, "
                    f"{scene.labels} labels\nT {s.temperature:g}, {s.iterations} iterations", fontsize=8)
    if s.application == "motion":
        largest = float(np.nanmax(np.hypot(scene.truth[..., 0], scene.truth[..., 1])))
        below.imshow(flow_colours(scene.truth, largest), interpolation="nearest")
        below.set_title("true motion; grey: unknown", fontsize=7)
        wheel_legend(legend, largest, "motion (pixels)")
    else:
        shown = below.imshow(np.where(scene.truth > 0, scene.truth, np.nan), cmap="turbo", interpolation="nearest",
                             vmin=scene.least, vmax=scene.least + scene.labels - 1)
        below.set_title("true disparity; white: unknown", fontsize=7)
        legend.set_axis_off()
        bar = figure.colorbar(shown, cax=legend.inset_axes((0, 0.85, 1, 0.12)), orientation="horizontal")
        bar.set_label("pixels", fontsize=8)
        bar.ax.tick_params(labelsize=8)
    for axes in (above, below):
        axes.set_axis_off()


def table_3_2(context: Context) -> Report:
    """The settings of each scene as printed, the data that stand for it, and our reading of the energies."""
    rows: list[dict[str, Any]] = []
    for scene in context.scenes:
        s, (height, width) = scene.setting, scene.first.shape
        rows.append({
            "scene": s.name, "application": s.application, "alpha": s.alpha, "beta": s.beta, "T": s.temperature,
            "labels": s.labels, "size": f"{s.cols}x{s.rows}", "iterations": s.iterations, "data": scene.source,
            "our_labels": scene.labels, "first_disparity": scene.least if s.application == "stereo" else None,
            "our_size": f"{width}x{height}", "outside_percent": scene.outside(), "singleton": s.reading.singleton,
            "doubleton": s.reading.doubleton, "energy_shift": s.reading.energy_shift,
            "out_of_range": s.reading.out_of_range})
    lines = [f"{row['scene']}: alpha {row['alpha']}, beta {row['beta']}, T {row['T']:g}, {row['labels']} labels, {row['size']}, "
             f"{row['iterations']} iterations; ours: {_difference(scene) or 'the same'}, {row['outside_percent']:.1f} % of the "
             "truth outside the labels" for row, scene in zip(rows, context.scenes, strict=True)]
    for name, r in READINGS.items():
        lines.append(f"our reading, {name}: {r.singleton} singleton, {r.doubleton} doubleton, not truncated, {r.energy_shift} "
                     f"bit(s) dropped from the sum, singleton {r.out_of_range} where the second picture has no pixel, "
                     "T in units of the 8-bit energy; the text does not give these")
    lines.append("the motion window is 7x7 about no motion (Figure 3.1); art's truth spans 37 disparities in our copy, more than "
                 "the printed 28 labels")
    if any(scene.source == BUILT_IN for scene in context.scenes):
        lines += [line for line in context.provenance() if BUILT_IN in line]

    def draw(figure: Any) -> None:
        grid = figure.add_gridspec(3, len(context.scenes), height_ratios=(1, 1, 0.6))
        for place, scene in enumerate(context.scenes):
            _picture_and_truth(figure, scene, [grid[row, place] for row in range(3)])

    return Report("table-3.2", "settings of the scenes", {
        "scene": "name", "application": "motion or stereo", "alpha": "weight of the singleton", "beta": "of the doubletons",
        "T": "temperature, units of 8-bit energy", "labels": "printed", "size": "printed, columns x rows",
        "iterations": "printed", "data": "folder of the pictures, or built-in scene", "our_labels": "labels used here",
        "first_disparity": "pixels, of label 0 (stereo)", "our_size": "of the pictures used here, columns x rows",
        "outside_percent": "of the known truth that no label is within half a pixel of", "singleton": "our reading",
        "doubleton": "our reading", "energy_shift": "our reading: bits dropped from the weighted sum",
        "out_of_range": "our reading: singleton where the second picture has no pixel"}, rows, draw, lines,
        size=(2.3 * len(context.scenes) + 0.6, 5.6))
