"""The files of a run: pictures, arrays and report.json, all of them or none."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw import __version__
from mrfhw.analysis.calibration import Calibration, calibrate
from mrfhw.analysis.convergence import diagnose, undiagnosed
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.uncertainty import Uncertainty, entropy, quantify
from mrfhw.apps.job import Job
from mrfhw.field.result import Result, added, numbers
from mrfhw.files import check_writable, staged
from mrfhw.machine.derived import Derived
from mrfhw.report import html_report, pictures

__all__ = ["ALL_FILES", "FILES", "entropy", "plain", "report", "write_outputs"]

# Of every run; of ordered labels; where there is truth; where the sweeps were seen.
FILES = ("estimate.png", "entropy.png", "labels.npy", "last.npy", "entropy.npy", "histogram.npz", "report.json", "report.html")
ORDERED_FILES = ("std.png", "mean.npy", "std.npy", "interval.npy", "median.npy")
TRUTH_FILES = ("truth.png", "error.png", "sparsification.png")
TRACE_FILES = ("energy.png",)
MAP_FILES = tuple(f"{name}.{end}" for name in ("occluded", "segments") for end in ("png", "npy"))  # of some applications
ALL_FILES = (*FILES, *ORDERED_FILES, *TRUTH_FILES, *TRACE_FILES, *MAP_FILES)


def plain(value: Any) -> Any:
    """`value` for JSON: no NumPy types; None for what is no number, "inf" and "-inf" as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


@dataclass(frozen=True, kw_only=True)
class _Analysis:
    """What is made of a solution. labels: (H, W) uint8, the estimate. error: (H, W) float64 or None. convergence: of `diagnose`.
    maps: as `Job.maps`.
    """

    labels: np.ndarray
    uncertainty: Uncertainty
    error: np.ndarray | None
    metrics: dict[str, float | None]
    calibration: Calibration | None
    convergence: dict[str, Any] | None
    maps: dict[str, np.ndarray]


def _analyse(job: Job, solution: Solution) -> _Analysis:
    uncertainty = quantify(solution.counts, solution.last, job.scale, doubt=job.doubt,
                           within=None if job.truth is None else job.truth.wrong_above)
    labels = solution.last if job.annealing else uncertainty.mode
    truth, trace = job.truth, solution.trace
    convergence = None
    if trace is not None and len(trace.sweeps):
        convergence = (undiagnosed(trace, "No convergence diagnostics: chains whose temperature changes while labels are counted "
                                          "have no stationary distribution.") if job.cooled else diagnose(trace, job.scale))
    return _Analysis(
        labels=labels, uncertainty=uncertainty, error=None if truth is None else truth.error(labels),
        metrics={} if truth is None else truth.metrics(labels, uncertainty.mean, uncertainty.median),
        calibration=None if truth is None else calibrate(uncertainty, labels, truth, job.scale), convergence=convergence,
        maps=job.maps | ({} if job.drawn_from is None else job.drawn_from(labels)))


HEADED = ("cycles", "label_evaluations", "stall_cycles", "gap_cycles", "lanes", "wall_seconds")  # entries of their own


def _others(found: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that are no entries of their own, where there are any."""
    return {name: value for name, value in found.items() if name not in HEADED and value is not None}


def _hardware(results: list[Result]) -> dict[str, Any]:
    """Numbers of all chains, added up as `mrfhw.field.result.Adding` says; those that a backend does not have are None."""
    total = added(map(numbers, results))
    evaluations, seconds, cycles, lanes = (total[name] for name in ("label_evaluations", "wall_seconds", "cycles", "lanes"))
    sent = [r.log_messages for r in results]
    speed = {"label_evaluations_per_second": evaluations / seconds if seconds > 0 else None}
    if results[0].backend == "rtl":
        speed["cycles_per_second"] = cycles / seconds if seconds > 0 and cycles is not None else None
    return {
        **{name: total[name] for name in HEADED}, "log_messages": None if None in sent else sum(n for n in sent if n is not None),
        "utilization": evaluations / (lanes * cycles) if lanes and cycles else None, "speed": speed, "extra": _others(total),
    }


def _first(job: Job) -> dict[str, Any] | None:
    """Numbers of what was sampled before the field itself, all runs added; None where nothing was."""
    if not job.prior:
        return None
    total = added(map(numbers, job.prior))
    return {name: total[name] for name in HEADED}


def report(job: Job, solution: Solution, analysis: _Analysis) -> dict[str, Any]:
    """What report.json holds. Quantities that there are none of are None (null), never NaN.

    cycles, stall_cycles, gap_cycles, label_evaluations, log_messages, wall_seconds: of all chains added; "chains" has
    those of each. first: the same of what was sampled before (`Job.first`), which is not in these. metrics: those of the
    application's truth, else empty. uncertainty, convergence, calibration: `Uncertainty.summary`, `diagnose`,
    `Calibration.summary`; None where there is no trace or truth. at_an_end: share of the pixels whose label is at an end of
    its range (`Job.ends`). speed: label evaluations, and for `rtl` also cycles, a second of wall-clock time.
    """
    run, results = job.run, solution.results
    chains = [{
        "seed": (run.seed + number) % (1 << 64), "cycles": r.cycles, "stall_cycles": r.stall_cycles, "gap_cycles": r.gap_cycles,
        "label_evaluations": r.label_evaluations, "utilization": r.utilization, "log_messages": r.log_messages,
        "wall_seconds": r.wall_seconds, "extra": _others(numbers(r)),
    } for number, r in enumerate(results)]
    return {
        "version": __version__, "application": job.application, "backend": results[0].backend,
        "config_digest": Derived.of(job.config).digest, **_hardware(results), "first": _first(job),
        "metrics": analysis.metrics,
        "uncertainty": analysis.uncertainty.summary(), "convergence": analysis.convergence,
        "calibration": None if analysis.calibration is None else analysis.calibration.summary(),
        "at_an_end": None if job.ends is None else float(np.isin(analysis.labels, job.ends[0]).mean()),
        "estimate": "last sample" if job.annealing else "mode", "rows": job.problem.shape[0],
        "columns": job.problem.shape[1], "labels": job.problem.labels, "sweeps": run.sweeps, "burn_in": run.burn_in,
        "settings": {**job.settings, "machine": job.config.to_dict()}, "chains": chains,
    }


def _draw(job: Job, solution: Solution, analysis: _Analysis) -> dict[str, bytes]:
    """PNG files by name."""
    scale, found = job.scale, analysis.uncertainty
    name = f"{job.application}, {job.problem.shape[1]}x{job.problem.shape[0]}"
    estimate = scale.values[analysis.labels]
    drawn = {"estimate.png": pictures.labelled({f"{name}: estimate": estimate}, scale),
             "entropy.png": pictures.measure(found.entropy, f"{name}: entropy", "entropy (bits)",
                                             high=float(np.log2(job.problem.labels)))}
    if found.std is not None:
        drawn["std.png"] = pictures.measure(found.std, f"{name}: standard deviation", f"standard deviation of {scale.name}",
                                            colours="viridis")
    if job.truth is not None and analysis.error is not None:
        drawn["truth.png"] = pictures.labelled({"truth": job.truth.picture, "estimate": estimate}, scale)
        drawn["error.png"] = pictures.errors(analysis.error, f"{name}: error", job.truth.error_name, job.truth.wrong_above)
        drawn["sparsification.png"] = pictures.sparsification(
            {} if analysis.calibration is None else analysis.calibration.sparsification, job.truth.error_name)
    if solution.trace is not None and len(solution.trace.sweeps):
        drawn["energy.png"] = pictures.energy_by_sweep(solution.trace)
    return drawn | {f"{name}.png": pictures.numbers(array) for name, array in analysis.maps.items()}


def _arrays(solution: Solution, analysis: _Analysis) -> dict[str, np.ndarray]:
    found = analysis.uncertainty
    arrays = {"labels.npy": analysis.labels, "last.npy": solution.last, "entropy.npy": found.entropy, "mean.npy": found.mean,
              "std.npy": found.std, "interval.npy": found.interval, "median.npy": found.median,
              **{f"{name}.npy": array for name, array in analysis.maps.items()}}
    return {name: array for name, array in arrays.items() if array is not None}


def write_outputs(directory: Path, job: Job, solution: Solution, *, command: str | None = None,
                  clock_hz: float | None = None) -> dict[str, Any]:
    """Write the files of a run into `directory`, all or none, and return the report.

    FILES are always written, the others of ALL_FILES where they mean something, and the report lists them; files of
    those names from an earlier run that this one has no use for are removed.
    labels.npy, last.npy: (H, W) uint8 label indices, the estimate (the mode, of annealing the last sample) and the
    last sample of the first chain. entropy.npy: (H, W) float64, bits. Of ordered labels mean.npy (H, W, D), std.npy
    (H, W), interval.npy (H, W, D, 2) and, of D = 1, median.npy (H, W) float64, see `Uncertainty`. histogram.npz: `counts`
    (H, W, L), all chains added, in the least unsigned type that holds them (uint8, uint16 or uint32). occluded: bool (H, W),
    segments: int32 (H, W), each as .npy and as a picture of the same numbers.
    command: the command line, and clock_hz: the clock at which cycles are given as time, for report.html.
    Raises OSError where the directory cannot be written.
    """
    check_writable(directory)
    analysis = _analyse(job, solution)
    what = report(job, solution, analysis)
    drawn, arrays = _draw(job, solution, analysis), _arrays(solution, analysis)
    what["files"] = [name for name in ALL_FILES if name in FILES or name in drawn or name in arrays]
    page = html_report.page(job, what, drawn, analysis.uncertainty, command=command, clock_hz=clock_hz)
    kept = plain(what)
    with staged(directory) as scratch:
        for name, picture in drawn.items():
            (scratch / name).write_bytes(picture)
        for name, array in arrays.items():
            np.save(scratch / name, array)
        counts = solution.counts
        np.savez_compressed(scratch / "histogram.npz", counts=counts.astype(np.min_scalar_type(int(counts.max(initial=0)))))
        (scratch / "report.html").write_text(page, encoding="utf-8")
        (scratch / "report.json").write_text(json.dumps(kept, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    for name in ALL_FILES:
        if name not in what["files"]:
            with contextlib.suppress(OSError):
                (directory / name).unlink()
    return dict(kept)
