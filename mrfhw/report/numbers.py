"""The numbers of a run: what report.json holds, and what of it is worth a warning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mrfhw import __version__
from mrfhw.analysis.answer import Analysis
from mrfhw.analysis.convergence import NO_ARVIZ, doubtful
from mrfhw.analysis.solution import Solution
from mrfhw.field.energy import least_energies
from mrfhw.field.problem import Problem
from mrfhw.field.result import Result, added, numbers
from mrfhw.jobs.job import Job, energy_settings
from mrfhw.machine.derived import Derived
from mrfhw.samplers.data import energy_bound

__all__ = ["SHARED", "plain", "report"]

SHARED = ("answer", "mean", "median", "standard deviation", "intervals", "entropy", "confidence")  # what like pixels share

MANY_AT_AN_END = 0.2  # of the pixels
NEVER = 16.0  # energy in units of T, above the least, with which a label is drawn once in ten million times


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


def report(job: Job, solution: Solution, analysis: Analysis) -> dict[str, Any]:
    """What report.json holds. Quantities that there are none of are None (null), never NaN.

    cycles, stall_cycles, gap_cycles, label_evaluations, log_messages, wall_seconds: of all chains added; "chains" has
    those of each. first: the same of what was sampled before (`Job.first`), which is not in these. metrics: those of the
    application's truth, else empty. metrics_of_labels: those of whole labels, where the answer has others. fields: of a job of
    several, what is each one's own, and "field" names it in chains; convergence is then that of the least agreement.
    uncertainty, convergence, calibration: `Uncertainty.summary`, `diagnose`,
    `Calibration.summary`; None where there is no histogram, trace or truth. answer: what files and pictures hold between labels, in
    words, where that is another than the estimate. at_an_end: share of the pixels whose label is at an
    end of its range (`Job.ends`). warnings: what makes the answer doubtful, one line each. notes: what is to be said of the
    inputs. speed: label evaluations, and for `rtl` also cycles, a second of wall-clock time.
    """
    run, results = job.run, solution.everything
    names = [""] if job.fields is None else job.fields.names
    at_an_end = None if job.ends is None else float(np.isin(analysis.labels, job.ends[0]).mean())
    chains = [{
        "seed": run.of_chain(number).seed, "cycles": r.cycles, "stall_cycles": r.stall_cycles, "gap_cycles": r.gap_cycles,
        "label_evaluations": r.label_evaluations, "utilization": r.utilization, "log_messages": r.log_messages,
        "wall_seconds": r.wall_seconds, "extra": _others(numbers(r)), **({} if job.fields is None else {"field": name}),
    } for name, one in zip(names, solution.every, strict=True) for number, r in enumerate(one.results)]
    return {
        "version": __version__, "application": job.application.verb, "backend": results[0].backend,
        "config_digest": None if job.config is None else Derived.of(job.config).digest, **_hardware(results), "first": _first(job),
        "metrics": analysis.metrics, "metrics_of_labels": analysis.metrics_of_labels,
        "uncertainty": None if analysis.uncertainty is None else analysis.uncertainty.summary(),
        "convergence": analysis.convergence,
        "calibration": None if analysis.calibration is None else analysis.calibration.summary(),
        "at_an_end": at_an_end, "warnings": _warnings(job, solution, analysis, at_an_end),
        "notes": list(job.notes),
        "shared": None if analysis.uncertainty is None or analysis.uncertainty.between is None else list(SHARED),
        "estimate": "last sample" if run.estimate == "last" else run.estimate, "answer": analysis.between or None,
        "rows": job.problem.shape[0], "columns": job.problem.shape[1],
        "labels": job.problem.labels, "sweeps": run.sweeps, "burn_in": run.burn_in,
        "sweeps_asked": None if solution.given_up else solution.asked,
        "settings": {**job.settings, "machine": None if job.config is None else job.config.to_dict()}, "chains": chains,
        **({} if job.fields is None else {"fields": _fields(job, solution, analysis)}),
    }


def _fields(job: Job, solution: Solution, analysis: Analysis) -> list[dict[str, Any]]:
    """What is each field's own, where a job has several."""
    assert job.fields is not None
    return [{"name": name, **energy_settings(problem), "sweeps": run.sweeps, "burn_in": run.burn_in, "convergence": convergence}
            for name, problem, run, convergence in zip(
                job.fields.names, job.problems, (one.done or job.run for one in solution.every), analysis.convergences,
                strict=True)]


def _warnings(job: Job, solution: Solution, analysis: Analysis, at_an_end: float | None) -> list[str]:
    """What of a run makes its answer doubtful, one line each."""
    lines, convergence = [], analysis.convergence
    if solution.given_up:
        lines.append(f"stopped in a longer run of {solution.asked} sweeps: this is the answer of the {job.run.sweeps} before, "
                     "which were too few by R-hat")
    elif solution.asked is not None:
        counted = [one.sums if one.counts is None else one.counts for one in (solution, *solution.beside)]
        nothing = all(array is not None and not array.any() for array in counted)
        lines.append(f"stopped after {job.run.sweeps} of {solution.asked} sweeps"
                     + (", before the temperature was at its end" if job.annealing else "")
                     + (", within the burn-in: nothing was counted, and entropy, deviation and intervals mean nothing" if nothing
                        and solution.counts is not None else ", within the burn-in: nothing was counted" if nothing else ""))
    if job.problem.unclamped_sites < job.problem.sites and isinstance(job.run.initial, str) and job.run.initial == "random":
        lines.append("the clamped sites keep the labels that they begin with, which are random, and others in each chain: give "
                     "initial, the labels to be kept")
    if job.ends is not None and job.ends[1] and at_an_end is not None and at_an_end > MANY_AT_AN_END:
        lines.append(f"{100 * at_an_end:.0f} % of the pixels are at an end of the range, which may be too small: {job.ends[1]}")
    if convergence is not None and convergence["note"] == NO_ARVIZ:
        lines.append(NO_ARVIZ)
    lines += job.doubts
    # More sweeps are no way out of what the inputs make doubtful.
    for doubt in (job.application.doubt(analysis.metrics), None if job.doubts else doubtful(convergence),
                  *_all_saturated(job, solution)):
        if doubt is not None:
            lines.append(doubt)
    return lines


def _all_saturated(job: Job, solution: Solution) -> list[str | None]:
    """`_saturated` of each field that a machine sampled."""
    return [_saturated(job, problem, one.last) for problem, one in zip(job.problems, solution.every, strict=True)
            if one.results[0].cycles is not None]


def _saturated(job: Job, problem: Problem, labels: np.ndarray) -> str | None:
    """Said of a machine that cuts off energies which labels are drawn with now and then, with other labels around at `labels`."""
    machine = Derived.of(job.machine)
    most, bound, temperature = machine.energy_max << problem.energy_shift, energy_bound(problem), problem.schedule.coldest
    if bound <= most:
        return None
    # What is cut off is never drawn where some label's energy is far enough below.
    near = least_energies(problem, labels) + NEVER * temperature > most
    if problem.clamped is not None:
        near &= ~problem.clamped
    if not near.any():
        return None
    share = 100 * near.mean()
    return (f"the machine takes energies above {most} for that, and this field has up to {bound} at T = {temperature:g}: at "
            f"{'less than 0.1' if share < 0.1 else f'{share:.1f}'} % of the sites, labels of large energy are drawn too often. "
            "Give more energy_bits, or scale alpha, beta and T down")
