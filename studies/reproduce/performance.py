"""Figure 3.17, the 1,024 x 2 machine against the GPU, and the throughput of Table 3.3."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.cost.cost import Cost
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import Machine
from studies.report import Report, bars, span
from studies.reproduce.chains import machine_for, tiles_for
from studies.reproduce.context import Context
from studies.reproduce.on_device import seconds_of
from studies.reproduce.scenes import Scene, Setting

__all__ = ["CLOCK", "SIDE", "figure_3_17", "ideal_cycles", "log_of", "printed_problem", "quiet_cycles", "stall_of_log", "table_3_3"]

CLOCK = 3e9  # Hz, the ASIC in 15 nm
SIDE = 32  # 1,024 SPEs of two SPUs
LINE_LEVELS = 2  # of the log's tree that pass lines, where they do
SPEEDUPS = {"motion": 135.0, "stereo": 158.0}  # as printed
BOARDS = {"paper-16x1": (185e6, 2.96e9), "paper-16x2": (146e6, 4.672e9)}  # Table 3.3: clock in Hz, labels/s
# Sweeps before the log and with it where its stalls are measured. The later half of the logged ones is a round of the
# 6-bit counters, because those of pixels that keep their label all began together and saturate together.
WARM, LOGGED = 300, 126
TIMED = 60  # sweeps of Table 3.3's utilization, half of them logged


def asic(lmem_banks: int, line_levels: int = 0) -> Config:
    """The machine of 1,024 SPEs of two SPUs with the published widths. line_levels: of its log's tree (`Config`)."""
    return Config.preset("paper-16x2", mesh_rows=SIDE, mesh_cols=SIDE, tile_rows=32, tile_cols=32, lmem_banks=lmem_banks,
                         line_levels=line_levels)


def printed_problem(setting: Setting) -> Problem:
    """A problem of the printed size and labels; the data are 0, which cycles do not depend on."""
    empty = np.zeros((setting.rows, setting.cols), np.uint8)
    if setting.application == "motion":
        return motion_problem(empty, empty, rows=7, cols=7)
    return stereo_problem(empty, empty, labels=setting.labels)


def ideal_cycles(setting: Setting, lanes: int, iterations: int) -> float:
    """Label evaluations of the printed setting over the lanes: no padding, no gap, no stall."""
    return setting.labels * setting.rows * setting.cols * iterations / lanes


def quiet_cycles(config: Config, problem: Problem, iterations: int, flushed: bool = False) -> int:
    """Cycles of a run whose log is empty; flushed: the pipeline is emptied after each colour (Section 3.3.3)."""
    return Cost.of(config, problem, run=Run(sweeps=1)).cycles.of_sweeps(iterations, flushed)


@dataclasses.dataclass(frozen=True)
class LogStall:
    """The log of the 1,024 x 2 machine on a scene's own data: cycles a sweep without it, stalls a sweep and messages."""

    quiet: float
    stalled: float
    messages: float


def log_of(config: Config, problem: Problem, warm: int, logged: int, seed: int, quiet: int, bar: Any) -> LogStall:
    """Runs the model for `warm` sweeps and `logged` more, and measures the later half of those. quiet: sweeps of the run without a
    log whose cycles are divided by them."""
    machine = Machine(config, problem, Run(sweeps=warm + logged, burn_in=warm, seed=seed))
    marks = (0, 0)
    for sweep in range(warm + logged):
        if sweep == warm + logged // 2:
            marks = (machine.timing.stall_cycles, machine.log_messages)
        machine.sweep()
        bar.update(1)
    counted = logged - logged // 2
    return LogStall(quiet_cycles(config, problem, quiet) / quiet, (machine.timing.stall_cycles - marks[0]) / counted,
                    (machine.log_messages - marks[1]) / counted)


def stall_of_log(scene: Scene, config: Config, iterations: int, seed: int, bar: Any) -> LogStall:
    """Of the machine of `config`, with tiles of any size."""
    problem = scene.problem()
    warm, logged = min(WARM, iterations // 2), min(LOGGED, max(2, iterations // 2))
    return log_of(tiles_for(config, problem), problem, warm, logged, seed, 200, bar)


def own_gpu_ms(context: Context, scene: Scene) -> float | None:
    """Milliseconds of the printed iterations, labels and size by backend gpu, as long as our scene's for each label evaluation."""
    if context.gpu is None:
        return None
    s, problem, sweeps = scene.setting, scene.problem(), context.sweeps(scene)
    ours = problem.sites * problem.labels * sweeps
    printed = s.rows * s.cols * s.labels * s.iterations
    return 1e3 * seconds_of(context.gpu, problem, sweeps, context.seed) * printed / ours


def _speed(context: Context, scene: Scene, bar: Any) -> dict[str, Any]:
    s = scene.setting
    problem, iterations = printed_problem(s), s.iterations
    ours, theirs = (Derived.of(tiles_for(asic(banks), problem)) for banks in (1, 4))
    placed, published = (Placement(config, problem, Run(sweeps=1)) for config in (ours, theirs))
    quiet, blocks = quiet_cycles(ours, problem, iterations), quiet_cycles(theirs, problem, iterations)
    flushed = quiet_cycles(theirs, problem, iterations, flushed=True)
    stall = stall_of_log(scene, asic(1), context.sweeps(scene), context.seed, bar)
    in_lines = stall_of_log(scene, asic(1, LINE_LEVELS), context.sweeps(scene), context.seed, bar)
    # Where the log is the limit, the messages count, not the labels: theirs are as many at any number of labels.
    bound = (stall.quiet + stall.stalled) * (s.rows * s.cols / scene.sites) * iterations if stall.stalled > 1 else 0.0
    ideal = ideal_cycles(s, ours.all_lanes, iterations)
    times = {"ideal": ideal, "blocks": float(blocks), "flushed": float(flushed), "ours": float(quiet),
             "ours_logged": max(float(quiet), bound), "ours_lines": quiet * (1 + in_lines.stalled / in_lines.quiet)}
    return {
        "scene": s.name, "data": scene.source, "application": s.application, "labels": s.labels, "size": f"{s.cols}x{s.rows}",
        "iterations": iterations, "gpu_ms": s.gpu_ms, "own_gpu_ms": own_gpu_ms(context, scene),
        "padded": "{1}x{0}".format(*placed.padded_shape), "blocks_padded": "{1}x{0}".format(*published.padded_shape),
        "singleton2_copies": placed.replication, **{f"{name}_cycles": value for name, value in times.items()},
        **{f"{name}_speedup": s.gpu_ms * 1e-3 * CLOCK / value for name, value in times.items()},
        "messages_per_cycle": stall.messages / stall.quiet, "stall_per_sweep": stall.stalled, "quiet_per_sweep": stall.quiet,
        "stall_per_sweep_lines": in_lines.stalled}


SPEED_COLUMNS = {
    "scene": "as in Table 3.2", "data": "pictures from which the log's stalls are measured", "application": "motion or stereo",
    "labels": "printed", "size": "printed, columns x rows", "iterations": "printed", "gpu_ms": "RTX 2080 Ti, printed",
    "own_gpu_ms": "backend gpu on the device of --gpu, of the printed size",
    "padded": "sites with ours, columns x rows", "blocks_padded": "sites with tiles of whole 4 x 4 blocks (four LMem banks)",
    "singleton2_copies": "patches of singleton-2 data in each tile, ours",
    "ideal_cycles": "label evaluations / 2,048", "blocks_cycles": "four LMem banks, log empty",
    "flushed_cycles": "the same, the pipeline emptied after each colour",
    "ours_cycles": "one LMem bank, log empty", "ours_logged_cycles": "the same with every iteration logged",
    "ours_lines_cycles": f"likewise, and the upper {LINE_LEVELS} levels of the log's tree pass lines",
    "ideal_speedup": "gpu_ms / time at 3 GHz", "blocks_speedup": "likewise", "flushed_speedup": "likewise",
    "ours_speedup": "likewise",
    "ours_logged_speedup": "likewise", "ours_lines_speedup": "likewise",
    "messages_per_cycle": "sent, were there no stall; the log's tree takes one, or a line",
    "stall_per_sweep": "cycles, measured on the scene's data", "quiet_per_sweep": "cycles of a sweep of that run without log",
    "stall_per_sweep_lines": "cycles, where upper levels pass lines"}


def figure_3_17(context: Context) -> Report:
    """Speedup of 1,024 SPEs of two SPUs at 3 GHz over the GPU times printed."""
    total = 2 * sum(min(WARM, n // 2) + min(LOGGED, max(2, n // 2)) for n in map(context.sweeps, context.scenes))
    with context.bar(total, "1024x2 machine") as bar:
        rows = [_speed(context, scene, bar) for scene in context.scenes]
    kinds = {"ideal": "label evaluations / 2,048", "blocks": "tiles of 4 x 4 blocks",
             "flushed": "tiles of 4 x 4 blocks, pipeline emptied", "ours": "this project, log empty",
             "ours_logged": "this project, every iteration logged",
             "ours_lines": "the same, upper hubs pass lines"}
    lines = [f"{r['scene']}: " + ", ".join(f"{text} {r[f'{kind}_speedup']:.0f}x" for kind, text in kinds.items())
             + f" (padded {r['blocks_padded']} and {r['padded']} from {r['size']})" for r in rows]
    for application, goal in SPEEDUPS.items():
        mine = [r for r in rows if r["application"] == application]
        if mine:
            lines.append(f"{application}, average: " + ", ".join(
                f"{text} {np.mean([r[f'{kind}_speedup'] for r in mine]):.0f}x" for kind, text in kinds.items())
                + f"; published {goal:g}x")
    lines += [f"{r['scene']}: backend gpu {r['own_gpu_ms']:.3g} ms, where an RTX 2080 Ti took {r['gpu_ms']:g}"
              for r in rows if r["own_gpu_ms"] is not None]
    lines += ["tiles padded to whole 4 x 4 blocks, which four LMem banks need, give the published average of motion, and that of "
              "stereo within 3 %: our inference, the text does not say how it pads; ours pads rows to 2 with one bank, enough "
              "for 10 labels or more; emptying our cdf sampler's pipeline (3 L cycles) after each colour would give less",
              "log: one message a cycle passes the root of our tree (a 512-bit line takes 16); on average "
              f"{span((r['messages_per_cycle'] for r in rows), '.2f')} a cycle come, "
              "more where counters saturate together, and the machine waits; measured on our data (art: 38 labels)",
              f"with hubs that pass lines in the upper {LINE_LEVELS} levels (line_levels) it waits "
              f"{span((r['stall_per_sweep_lines'] / r['quiet_per_sweep'] for r in rows), '.1%')} of the time",
              *context.provenance()]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        means = [a for a in SPEEDUPS if any(r["application"] == a for r in rows)]
        series = {text: [r[f"{kind}_speedup"] for r in rows]
                  + [float(np.mean([r[f"{kind}_speedup"] for r in rows if r["application"] == a])) for a in means]
                  for kind, text in kinds.items() if kind != "flushed"}
        bars(axes, [scene.setting.name for scene in context.scenes] + [f"{a}, average" for a in means], series,
             label="speedup over an RTX 2080 Ti at 3 GHz", form="%.0f")
        for place, application in enumerate(means):
            at = len(rows) + place
            axes.plot([at - 0.45, at + 0.45], [SPEEDUPS[application]] * 2, color="black", linestyle="--", linewidth=1.2,
                      label="published average" if place == 0 else None)
            axes.annotate(f"{SPEEDUPS[application]:g}", (at + 0.47, SPEEDUPS[application]), fontsize=7, va="center")
        axes.legend(fontsize=8, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.1), frameon=False)

    return Report("figure-3.17", "speedup of 1,024 SPEs of two SPUs over the GPU", SPEED_COLUMNS, rows, draw, lines,
                  size=(12.0, 5.0))


def _throughput(context: Context, scene: Scene, preset: str, bar: Any) -> dict[str, Any]:
    problem = scene.problem()
    sweeps = min(TIMED, context.sweeps(scene))
    config = Derived.of(machine_for(problem, preset))
    machine = Machine(config, problem, Run(sweeps=sweeps, burn_in=sweeps // 2, seed=context.seed))
    for _ in range(sweeps):
        machine.sweep()
        bar.update(1)
    machine.timing.finish()
    clock, printed = BOARDS[preset]
    evaluations = problem.labels * problem.sites * sweeps
    used = evaluations / (config.all_lanes * machine.timing.cycles)
    return {"design": config.size, "scene": scene.name, "data": scene.source, "clock_hz": clock,
            "lanes": config.all_lanes, "printed_labels_per_s": printed, "utilization": used,
            "labels_per_s": config.all_lanes * clock * used, "cycles": machine.timing.cycles, "sweeps": sweeps}


def table_3_3(context: Context) -> Report:
    """Throughput of the FPGA designs: lanes x clock, and with the utilization of our machine."""
    total = len(BOARDS) * sum(min(TIMED, context.sweeps(scene)) for scene in context.scenes)
    with context.bar(total, "throughput") as bar:
        rows = [_throughput(context, scene, preset, bar) for preset in BOARDS for scene in context.scenes]
    lines = []
    for preset, (clock, printed) in BOARDS.items():
        mine = [r for r in rows if r["clock_hz"] == clock]
        rate, used = np.mean([r["labels_per_s"] for r in mine]), [r["utilization"] for r in mine]
        lines.append(f"{preset}: lanes x clock {mine[0]['lanes'] * clock / 1e9:.3f} G labels/s, published {printed / 1e9:g} G; "
                     f"ours at the published {clock / 1e6:g} MHz {rate / 1e9:.3f} G on average, utilization "
                     f"{span(used, '.3f')}")
    lines += ["the published figure is lanes x clock: no padding and no pipeline between colours; ours lacks what the tiles' "
              "padding takes", "our clock on a board is not known yet: nothing has run on one", *context.provenance()]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        series = {}
        for preset, (clock, printed) in BOARDS.items():
            mine = [r["labels_per_s"] / 1e9 for r in rows if r["clock_hz"] == clock]
            series[f"{preset} at {clock / 1e6:g} MHz"] = mine
            axes.axhline(printed / 1e9, color="#444444", linestyle="--", linewidth=1)
            axes.annotate(f"published {printed / 1e9:g}\n(lanes x clock)", (1.01, printed / 1e9),
                          xycoords=("axes fraction", "data"), va="center", fontsize=8, color="#444444")
        bars(axes, [scene.caption for scene in context.scenes], series, label="throughput (10$^9$ labels/s)", form="%.2f",
             inside=True)

    return Report("table-3.3", "throughput of the FPGA designs", {
        "design": "SPEs x SPUs", "scene": "as in Table 3.2", "data": "folder of the pictures, or built-in scene",
        "clock_hz": "the published design's", "lanes": "SPUs", "printed_labels_per_s": "published",
        "utilization": "label evaluations / (lanes x cycles) of the model, padding included",
        "labels_per_s": "lanes x clock x utilization", "cycles": "of the run measured", "sweeps": "of that run, half logged"},
        rows, draw, lines)
