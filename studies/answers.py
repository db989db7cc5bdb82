"""Answers of stereo beside the truth, and beside what OpenCV has: a table of errors, ranks and intervals.

    python -m studies.answers [--data DIR --scenes art,art-348x278,1 [--held-back poster,teddy,2]]

A whole number is the built-in scene of that seed, of 288x384 pixels. Each is solved as `mrfhw run stereo` does, with the range of
the truth. Rows are the answer, the answer of the pixels' own samples (--alone) and, where OpenCV is installed, semi-global matching
of eight paths; with opencv-contrib-python-headless, which is no part of an extra, filtered by weighted least squares, which has a
confidence.

bad_0.5, bad_1, bad_2: percent of the pixels off by more, first of those of known truth, then (seen_) of those of them that both
pictures show, by the matches of both ways. error: mean, pixels. auroc, ause: how well confidence (of own samples the entropy) ranks
errors above 1 pixel, and all errors (`mrfhw.analysis.calibration`). held_50, held_90: percent of the pixels of known truth in the
intervals; hidden_bad_1, hidden_held_90: the same of the pixels that the right picture does not show. seconds: by the clock,
compiling included where it is the first.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from mrfhw.analysis.answer import answered, quantified
from mrfhw.analysis.calibration import auroc, coverage, sparsification
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.jobs.job import Job
from studies.eight_paths import eight_paths, opencv
from studies.scene_jobs import choice_options, chosen_on_and_held_back, job_of, solved

LIMITS = (0.5, 1, 2)  # pixels
SIZE = (288, 384)  # rows and columns of built-in scenes
COLUMNS = ("scene", "part", "method", *(f"{where}bad_{limit}" for where in ("", "seen_") for limit in LIMITS), "error", "auroc",
           "ause", "held_50", "held_90", "hidden_bad_1", "hidden_held_90", "seconds")


@dataclass(frozen=True)
class Row:
    """disparity: (H, W). doubt: (H, W), larger where it is less sure, or None. intervals: (H, W, 2) of 50 and 90 %, or None."""

    method: str
    disparity: np.ndarray
    doubt: np.ndarray | None
    intervals: Sequence[np.ndarray | None]
    seconds: float

    def numbers(self, truth: np.ndarray, seen: np.ndarray, values: np.ndarray) -> list[float | None]:
        """Those of COLUMNS. truth: (H, W), NaN where unknown. seen: (H, W) bool. values: (L,)."""
        known = np.isfinite(truth)
        error = np.abs(self.disparity - truth)
        bad = [100 * float(np.mean(error[where] > limit)) for where in (known, known & seen) for limit in LIMITS]
        curve = None if self.doubt is None else sparsification(self.doubt[known], error[known])
        ranks = [None if self.doubt is None else auroc(self.doubt[known], error[known] > 1), None if curve is None else curve.ause]
        hidden = known & ~seen
        held = [None if interval is None or not where.any() else coverage(interval[where], truth[where], values, between=True)
                for interval, where in (*((interval, known) for interval in self.intervals), (self.intervals[-1], hidden))]
        of_hidden = 100 * float(np.mean(error[hidden] > 1)) if hidden.any() else None
        shares = [None if share is None else 100 * share for share in held]
        return [*bad, float(error[known].mean()), *ranks, *shares[:-1], of_hidden, shares[-1], self.seconds]


def rows_of(words: list[str], backend: str) -> Iterator[tuple[Row, np.ndarray, np.ndarray, np.ndarray]]:
    """Rows of a scene, each with `Row.numbers`' arguments. words: after `mrfhw run stereo`."""
    began = time.perf_counter()
    job, solution = solved(job_of("stereo", words), backend=backend, to_agree=True)
    sampled = time.perf_counter() - began
    assert job.truth is not None
    truth, values = job.truth.picture[..., 0], job.scale.values[:, 0]
    hidden = job.maps.get("occluded")
    seen = np.ones(truth.shape, bool) if hidden is None else ~hidden
    for name, one in (("mrfhw", job), ("mrfhw, alone", dataclasses.replace(job, shared=None))):
        yield _ours(name, one, solution.counts, solution.last, sampled), truth, seen, values
    cv2 = opencv()
    if cv2 is not None:
        left, right = (cv2.imread(path) for path in words[:2])
        began = time.perf_counter()
        name, found, confidence = eight_paths(cv2, left, right, len(values), int(values[0]))
        doubt = None if confidence is None else -confidence
        yield Row(name, found, doubt, (None, None), time.perf_counter() - began), truth, seen, values


def _ours(name: str, job: Job, counts: np.ndarray | None, last: np.ndarray, sampled: float) -> Row:
    assert counts is not None
    began = time.perf_counter()
    found, finer = quantified(job, counts, last)
    disparity, _ = answered(job, job.scale.at(found.mode), found, finer)
    doubt = found.entropy if found.between is None or found.confidence is None else -found.confidence
    intervals = [None if ends is None else ends[:, :, 0] for ends in (found.inner, found.interval)]
    return Row(name, disparity[..., 0], doubt, intervals, sampled + time.perf_counter() - began)


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


@click.command(cls=OneLineCommand)
@choice_options
def main(data: Path | None, scenes: str, held_back: str, backend: str) -> None:
    """Compare answers with the truth."""
    every: dict[tuple[str, str], list[list[float | None]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        parts = chosen_on_and_held_back("stereo", data, scenes, held_back, Path(directory), SIZE)
        click.echo(",".join(COLUMNS))
        for part, words in parts.items():
            for name, given in words.items():
                for row, *truth in rows_of(given, backend):
                    numbers = row.numbers(*truth)
                    every.setdefault((part, row.method), []).append(numbers)
                    click.echo(",".join([name, part, f'"{row.method}"', *map(_text, numbers)]))
    for (part, method), several in every.items():
        means = [None if None in column else float(np.mean(column)) for column in zip(*several, strict=True)]
        click.echo(",".join(["mean", part, f'"{method}"', *map(_text, means)]))


if __name__ == "__main__":
    main()
