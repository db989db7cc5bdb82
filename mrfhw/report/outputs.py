"""The files of a run: pictures, arrays and report.json, all of them or none."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis, analyse
from mrfhw.analysis.solution import Solution
from mrfhw.jobs.application import Application
from mrfhw.jobs.job import Job
from mrfhw.jobs.registry import application
from mrfhw.report import html_report, pictures
from mrfhw.report.exchange import MEASURE_FILES, exchanged
from mrfhw.report.figures import MIXING, Figure, answer_drawings, draw, drawings, mixing_drawings
from mrfhw.report.numbers import plain, report
from mrfhw.report.targets import check_folder
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import staged, write_files
from mrfhw.system.large_arrays import as_type
from mrfhw.system.second_process import Begin, here

__all__ = ["FILES", "files_of", "may_write", "write_outputs", "write_received"]

# Of every run whose histogram is kept, and those of them that others have not; of ordered labels; where there is truth; where the
# sweeps were seen.
FILES = ("estimate.png", "entropy.png", "labels.npy", "last.npy", "entropy.npy", "histogram.npz", "report.json", "report.html")
HISTOGRAM_FILES = ("entropy.png", "entropy.npy", "histogram.npz")
PAGE_FILES = ("estimate.png", "entropy.png", "report.html")
ORDERED_FILES = ("std.png", "mean.npy", "std.npy", "interval.npy", "median.npy")
TRUTH_FILES = ("truth.png", "error.png", "sparsification.png")
TRACE_FILES = ("energy.png", MIXING, "energy.npz")


def files_of(app: Application, truth: bool = True) -> list[str]:
    """The names of all files that a run of an application may write, with or without a truth."""
    maps = [f"{name}.{end}" for name in app.maps for end in ("png", "npy")]
    return [*FILES, *ORDERED_FILES, *(TRUTH_FILES if truth else ()), *TRACE_FILES, *maps, *app.files, *MEASURE_FILES]


def may_write(job: Job) -> list[str]:
    """The names of all files that a run of a job may write."""
    return files_of(job.application, job.truth is not None)


def _left_over(directory: Path, former: set[str], app: Application) -> set[str]:
    """Of the files that an earlier run, perhaps of another application, left in a folder by its report, those of their names."""
    others: list[str] = []
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ProblemError):
        others = files_of(application(json.loads((directory / "report.json").read_bytes())["application"]))
    return former & {*files_of(app), *others}


def _arrays(solution: Solution, analysis: Analysis) -> dict[str, np.ndarray]:
    found = analysis.uncertainty
    of_histogram = {} if found is None else {"entropy.npy": found.entropy, "std.npy": found.std, "interval.npy": found.interval,
                                             "median.npy": found.median}
    arrays = {"labels.npy": analysis.labels, "last.npy": solution.all_last, "mean.npy": analysis.mean, **of_histogram,
              **{f"{name}.npy": array for name, array in analysis.maps.items()}}
    return {name: array for name, array in arrays.items() if array is not None}


def _energies(solution: Solution) -> dict[str, bytes]:
    """The file of the energies by sweep, where any was seen."""
    if solution.seen is None:
        return {}
    file, arrays = io.BytesIO(), {"sweeps": solution.seen.sweeps, "energy": solution.seen.energy}
    for number, one in enumerate(solution.beside, 2):
        if one.seen is not None:
            arrays |= {f"sweeps_{number}": one.seen.sweeps, f"energy_{number}": one.seen.energy}
    np.savez(file, **arrays)  # type: ignore[arg-type]  # of NumPy, which may name an option so
    return {"energy.npz": file.getvalue()}


def write_outputs(directory: Path, job: Job, solution: Solution, *, command: str | None = None, clock_hz: float | None = None,
                  page: bool = True, analysis: Analysis | None = None, begin: Begin = here) -> dict[str, Any]:
    """Write the files of a run into `directory`, all or none, and return the report.

    FILES are always written, but for HISTOGRAM_FILES of a run without a histogram, which has mean.npy where it has sums; the others
    of `files_of` where they mean something, and the report lists them; files of
    those names that the folder's report lists, and this run has no use for, are removed.
    labels.npy, last.npy: (H, W) uint8 label indices, the estimate (of a mean, the nearest label) and the last sample of the first
    chain. entropy.npy: (H, W) float64, bits. Of ordered labels mean.npy (H, W, D), std.npy
    (H, W), interval.npy (H, W, D, 2) and, of D = 1, median.npy (H, W) float64, see `Uncertainty`. histogram.npz: `counts`
    (H, W, L), all chains added, in the least unsigned type that holds them (uint8, uint16 or uint32). energy.npz: `sweeps` (n,) and
    `energy` (chains, n) of the `Trace`; of a job of several fields those of the first, then `sweeps_2`, `energy_2` and so on, and
    arrays have an axis of fields or components behind rows and columns. mixing.png: where sites have not mixed
    (`pictures.mixing`). The maps of the
    application: bool or whole numbers (H, W), each as .npy and as a picture of the same numbers, where these are at most 65535.
    Others: of `exchanged`.
    command: the command line, and clock_hz: the clock at which cycles are given as time, for report.html. page: whether there is
    report.html with its figures. analysis: of `analyse`, where it has been made already. begin: how diagnostics and figures are
    made, here or beside this process.
    Raises OSError where the directory cannot be written, ProblemError where a file of it is what the job was made of.
    """
    possible = may_write(job)
    former = _left_over(directory, check_folder(directory, possible, job.sources), job.application)
    # The other process draws inputs and diagnoses while this one makes the answer. Of the answer's figures each draws half, before
    # this one waits for the diagnostics.
    first = drawings(job, solution) if page else {}
    begun = [begin(draw, first)]
    analysis = analyse(job, solution, begin) if analysis is None else analysis
    later = answer_drawings(job, analysis) if page else {}
    others, own = ({name: later[name] for name in half} for half in (list(later)[::2], list(later)[1::2]))
    begun.append(begin(draw, others))
    figures = draw(own)
    what = report(job, solution, analysis)
    last = mixing_drawings(job, solution, analysis) if page else {}
    figures |= draw(last)
    arrays = _arrays(solution, analysis)
    maps = {f"{name}.png": pictures.numbers(array) for name, array in analysis.maps.items()}
    written = {**{name: picture for name, picture in maps.items() if picture is not None}, **exchanged(job, analysis),
               **_energies(solution)}
    counts = solution.all_counts
    always = [name for name in FILES if (page or name not in PAGE_FILES) and (counts is not None or name not in HISTOGRAM_FILES)]
    what["files"] = [name for name in possible if name in (*always, *written, *arrays, *first, *later, *last)]
    assert set(what["files"]) <= set(possible)
    kept = plain(what)
    written["report.json"] = (json.dumps(kept, indent=2, allow_nan=False) + "\n").encode()
    with staged(directory) as scratch:
        for name, array in arrays.items():
            np.save(scratch / name, array)
        if counts is not None:
            np.savez_compressed(scratch / "histogram.npz", counts=as_type(counts, np.min_scalar_type(int(counts.max(initial=0)))))
        for outcome in begun:
            figures |= outcome()
        for name, caption in job.application.maps.items():
            if page and caption and (shown := maps.get(f"{name}.png")) is not None:
                figures[f"{name}.png"] = Figure(shown, pictures.at_most(shown))
        written |= {name: figure.whole for name, figure in figures.items() if name in possible}
        if page:
            written["report.html"] = html_report.page(job, what, figures, analysis.uncertainty, command=command,
                                                      clock_hz=clock_hz).encode()
        for name, data in written.items():
            (scratch / name).write_bytes(data)
    _remove(directory, former - set(what["files"]))
    return dict(kept)


def _remove(directory: Path, names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):
            (directory / name).unlink()


def write_received(directory: Path, files: Mapping[str, bytes], app: Application, sources: Iterable[Path]) -> None:
    """Write the files of a run of an application that was done elsewhere into `directory`, as `write_outputs` would have.

    files: by name. sources: what the run was asked to read. Raises OSError and ProblemError as `write_outputs`.
    """
    former = _left_over(directory, check_folder(directory, files_of(app), sources), app)
    with staged(directory) as scratch:
        write_files(scratch, files)
    _remove(directory, former - set(files))
