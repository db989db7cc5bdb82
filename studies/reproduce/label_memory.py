"""Figure 3.8, the label memory's size against the log's bandwidth, and Figure 3.13, the log's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.report import COLOURS, Report, bars, published
from studies.reproduce.context import ALGORITHM_1, Context
from studies.reproduce.scenes import Scene
from studies.reproduce.traces import POLICIES, WAYS, Trace

__all__ = ["break_even", "equation_3_5", "figure_3_8", "figure_3_13", "memory_of_log", "memory_without_log"]

# Table 3.1; the numbers of labels are those of `scenes.SETTINGS`.
SPUS, MESSAGE_BITS, BANDWIDTH = 2048, 32, 512
AT_TWO_PAIRS = 0.6  # of the bandwidth at most, as printed
SAVED = 71.0  # percent of the memory on average, as printed

LABEL_BITS = 6
STORED_BITS = 8  # a raw label is a byte of its own in the off-chip memory: 6 bits would cross words
ENTRY_BITS = 32  # an LMem entry of two pairs is 24 bits, in a 32-bit word (Figure 3.9)
HEAT = 2.0


def equation_3_5(rate: float, labels: int) -> float:
    """Share of the off-chip bandwidth that messages take; rate: messages an update (Equation 3.5, Table 3.1)."""
    return SPUS / labels * rate * MESSAGE_BITS / BANDWIDTH


def memory_without_log(sites: int, iterations: int, bits: int = STORED_BITS) -> float:
    """Bytes of every label of every iteration."""
    return sites * iterations * bits / 8


def memory_of_log(sites: int, messages: int) -> float:
    """Bytes of the log and of the label memory on the chip."""
    return (messages * MESSAGE_BITS + sites * ENTRY_BITS) / 8


def break_even(iterations: int, bits: int = STORED_BITS) -> float:
    """Messages an update above which the raw labels take less memory."""
    return bits / MESSAGE_BITS - ENTRY_BITS / (MESSAGE_BITS * iterations)


def _demand(scene: Scene, trace: Trace) -> list[dict[str, Any]]:
    found = []
    for policy in POLICIES:
        for ways in WAYS:
            rate = trace.messages[policy, ways] / trace.sites
            found.append({
                "scene": scene.name, "data": scene.source, "iterations": trace.sweeps, "labels": scene.setting.labels,
                "policy": policy, "pairs": ways, "largest_rate": float(rate.max()), "mean_rate": float(rate.mean()),
                "share": equation_3_5(float(rate.max()), scene.setting.labels),
                "share_second_half": equation_3_5(float(rate[trace.sweeps // 2:].max()), scene.setting.labels),
                "mean_share": equation_3_5(float(rate.mean()), scene.setting.labels)})
    return found


def _by_own_labels(scene: Scene, row: dict[str, Any]) -> float:
    """Equation 3.5 in the second half by the number of labels that the scene runs with, not the printed one."""
    return float(row["share_second_half"] * scene.setting.labels / scene.labels)


def figure_3_8(context: Context) -> Report:
    """The largest value of Equation 3.5 over the iterations, by size and replacement of the label memory."""
    rows = [row for scene in context.scenes for row in _demand(scene, context.trace(scene))]
    at_two = {row["scene"]: row for row in rows if (row["policy"], row["pairs"]) == ALGORITHM_1}
    lines = [f"{name}: two pairs (LRP) take at most {row['share']:.2f} of the bandwidth, {row['share_second_half']:.2f} in the "
             f"second half, {row['mean_share']:.2f} on average" for name, row in at_two.items()]
    half = max(row["share_second_half"] for row in at_two.values())
    lines += [f"at two pairs, at most {max(row['share'] for row in at_two.values()):.2f} of all iterations and {half:.2f} of the "
              f"second half; published: never above {AT_TWO_PAIRS:g}",
              "the largest values are those of the first iterations from random labels, which a log begun after the warm-up "
              "does not see; afterwards counters of 6 bits that began together saturate together, which no more pairs change",
              *(f"{scene.name} runs with {scene.labels} labels: by those, {_by_own_labels(scene, at_two[scene.name]):.2f} in the "
                "second half" for scene in context.scenes if scene.labels != scene.setting.labels),
              *context.provenance()]
    pictures = [(application, [s for s in context.scenes if s.setting.application == application])
                for application in ("stereo", "motion")]

    def draw(figure: Any) -> None:
        shown = [(application, scenes) for application, scenes in pictures if scenes]
        for place, (application, scenes) in enumerate(shown):
            axes = figure.add_subplot(1, len(shown), place + 1)
            for colour, scene in zip(COLOURS, scenes, strict=False):
                for policy, style in (("LRP", "o-"), ("LFP", "x:")):
                    mine = [r for r in rows if r["scene"] == scene.name and r["policy"] == policy]
                    axes.plot(WAYS, [r["share"] for r in mine], style, color=colour, markersize=4,
                              label=f"{scene.caption}, {policy}")
                mine = [r for r in rows if r["scene"] == scene.name and r["policy"] == "LRP"]
                axes.plot(WAYS, [r["share_second_half"] for r in mine], "-", color=colour, linewidth=0.8, alpha=0.7,
                          label=f"{scene.caption}, LRP, second half")
            published(axes, AT_TWO_PAIRS, f"published at two pairs: at most {AT_TWO_PAIRS:g}")
            axes.set_title(f"{application}, largest over the iterations", fontsize=9)
            axes.set_yscale("log")
            axes.set_xlabel("label and counter pairs a pixel")
            axes.set_ylabel("Equation 3.5 (share of the bandwidth)")
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(fontsize=6.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)

    return Report(
        "figure-3.8", "off-chip bandwidth of the log by size of the label memory", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "iterations": "of the chain",
            "labels": "of Equation 3.5 (Table 3.1)",
            "policy": "LRP: the least recently picked pair is replaced, LFP: the least frequently picked",
            "pairs": "label and counter pairs a pixel", "largest_rate": "messages an update in the iteration that sends most",
            "mean_rate": "messages an update, all iterations", "share": "Equation 3.5 of largest_rate",
            "share_second_half": "Equation 3.5 of the largest rate in the second half of the iterations",
            "mean_share": "Equation 3.5 of mean_rate"},
        rows, draw, lines, size=(9.0, 6.2))


def _memory(scene: Scene, trace: Trace, heat: float) -> dict[str, Any]:
    messages = int(trace.messages[ALGORITHM_1].sum())
    raw, log = memory_without_log(trace.sites, trace.sweeps), memory_of_log(trace.sites, messages)
    packed = memory_without_log(trace.sites, trace.sweeps, LABEL_BITS)
    return {"scene": scene.name, "data": scene.source, "iterations": trace.sweeps, "heat": heat,
            "no_log_bytes": raw, "log_bytes": log, "saved_percent": 100 * (1 - log / raw),
            "no_log_packed_bytes": packed, "saved_percent_packed": 100 * (1 - log / packed),
            "messages_per_update": trace.rate(*ALGORITHM_1), "break_even": break_even(trace.sweeps),
            "break_even_packed": break_even(trace.sweeps, LABEL_BITS)}


def figure_3_13(context: Context) -> Report:
    """Memory for the histograms: every label written out, against the log and the label memory."""
    rows = [_memory(scene, context.trace(scene, heat), heat) for heat in (1.0, HEAT) for scene in context.scenes]
    lines = [f"{r['scene']}{'' if r['heat'] == 1 else ', T doubled'}: {r['no_log_bytes'] / 1e6:.1f} MB without log, "
             f"{r['log_bytes'] / 1e6:.1f} MB with it, {r['saved_percent']:.0f} % saved ({r['saved_percent_packed']:.0f} % of "
             f"6-bit labels), {r['messages_per_update']:.3f} messages an update" for r in rows]
    mean = {heat: float(np.mean([r["saved_percent"] for r in rows if r["heat"] == heat])) for heat in (1.0, HEAT)}
    lines += [f"{mean[1.0]:.0f} % saved on average; published: {SAVED:g} %",
              f"raw labels take less above {rows[0]['break_even']:.3f} messages an update (a byte a label), "
              f"{rows[0]['break_even_packed']:.4f} (6 bits a label); above the former here: " + (", ".join(
                  f"{r['scene']} at T x {r['heat']:g}" for r in rows if r["messages_per_update"] > r["break_even"]) or "none"),
              f"with T doubled, {mean[HEAT]:.0f} % on average",
              "assumed: a byte a raw label, as 6 bits cross words; 32-bit messages; a 32-bit word a pixel on the chip "
              "(Figure 3.9); every iteration logged", *context.provenance()]

    def draw(figure: Any) -> None:
        for place, heat in enumerate((1.0, HEAT)):
            axes = figure.add_subplot(1, 2, place + 1)
            mine = [r for r in rows if r["heat"] == heat]
            bars(axes, [scene.caption for scene in context.scenes], {
                "No Log (a byte a label)": [r["no_log_bytes"] / 1e6 for r in mine],
                "Histogram Log (log and label memory)": [r["log_bytes"] / 1e6 for r in mine]},
                label="memory (MB)")
            known = f", published {SAVED:g} %" if heat == 1 else ""
            axes.set_title(f"T of Table 3.2{'' if heat == 1 else ', doubled'}: {mean[heat]:.0f} % saved on average{known}",
                           fontsize=9)

    return Report(
        "figure-3.13", "memory for the histograms of the labels", {
            "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene", "iterations": "all of them logged",
            "heat": "factor of Table 3.2's T", "no_log_bytes": "every label of every iteration, a byte each",
            "log_bytes": "messages of 32 bits and the label memory of 32 bits a pixel",
            "saved_percent": "of no_log_bytes", "no_log_packed_bytes": "every label of every iteration, 6 bits each",
            "saved_percent_packed": "of no_log_packed_bytes", "messages_per_update": "two pairs, Algorithm 1",
            "break_even": "messages an update above which raw labels of a byte take less",
            "break_even_packed": "the same for raw labels of 6 bits"},
        rows, draw, lines, size=(11.0, 4.4))
