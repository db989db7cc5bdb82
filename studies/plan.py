"""How near the interval that `mrfhw plan` predicts comes to that of as many runs in warm processes, as `mrfhw batch` does them.

python -m studies.plan [--rows 32 --cols 40 --labels 8 --sweeps 40 --pictures 12 --rounds 3]

Each round profiles, runs the pictures and profiles again, of a built-in stereo scene without pages. Measured is the time from the
end of the first run of every process to the last end, for each run that began after those. Other work on the computer changes both.
"""

from __future__ import annotations

import contextlib
import io
import statistics
import tempfile
import time
from pathlib import Path

import click

from mrfhw.commands.applications import run
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.planning.graph import Resources
from mrfhw.planning.pipeline import PROCESSOR, graph_of, planned
from mrfhw.planning.profile import profiled
from mrfhw.runs.request import Request
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.system.processors import processors
from mrfhw.system.workers import in_workers


def perform(words: list[str]) -> float:
    """One `mrfhw run` in this process; the time when it ended."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run.main(words, standalone_mode=False)
    return time.monotonic()


def measured(words: list[str], folder: Path, pictures: int, workers: int) -> float:
    """Seconds from one picture to the next."""
    jobs = [["stereo", *words, "--backend", "cpu", "--no-report", "-o", str(folder / str(number))]
            for number in range(pictures + workers)]
    from studies.plan import perform as importable  # by the processes, which have another __main__

    ends = []
    for _, outcome in in_workers(importable, jobs, workers):
        if isinstance(outcome, BaseException):
            raise outcome
        ends.append(outcome)
    ends.sort()
    return (ends[-1] - ends[workers - 1]) / pictures


@click.command(cls=OneLineCommand)
@click.option("--rows", type=int, default=32, show_default=True, help="Of the scene.")
@click.option("--cols", type=int, default=40, show_default=True, help="Of the scene.")
@click.option("--labels", type=int, default=8, show_default=True, help="Of the scene.")
@click.option("--sweeps", type=int, default=40, show_default=True, help="Of each chain.")
@click.option("--pictures", type=int, default=12, show_default=True, help="That are run in a round.")
@click.option("--rounds", type=int, default=3, show_default=True)
def main(rows: int, cols: int, labels: int, sweeps: int, pictures: int, rounds: int) -> None:
    """Compare predicted and measured intervals."""
    workers = processors()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_scene(stereo_scene(rows, cols, labels), folder)
        left, right = (str(folder / f"{side}.png") for side in ("left", "right"))
        request = Request("stereo", backend="cpu", left=left, right=right, labels=labels, sweeps=sweeps)
        words = [left, right, "--labels", str(labels), "--sweeps", str(sweeps)]

        def predicted() -> float:
            profile = profiled(request, workers, 2, page=False)
            return planned(graph_of(profile, {}), Resources({PROCESSOR: workers})).shared.interval

        click.echo("round,predicted_s,predicted_after_s,measured_s,error_percent")
        errors = []
        for number in range(rounds):
            before, found, after = predicted(), measured(words, folder / f"round{number}", pictures, workers), predicted()
            errors.append(100 * ((before + after) / 2 / found - 1))
            click.echo(f"{number},{before:.4f},{after:.4f},{found:.4f},{errors[-1]:.1f}")
    click.echo(f"median error {statistics.median(errors):.1f} %, {workers} processors")


if __name__ == "__main__":
    main()
