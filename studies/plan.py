"""How near the interval that `mrfhw plan` predicts comes to that of as many runs in warm processes, as `mrfhw batch` does them.

python -m studies.plan [--rows 32 --cols 40 --labels 8 --sweeps 40 --pictures 12 --rounds 3]

Each round profiles, runs the pictures and profiles again, of a built-in stereo scene without pages. Measured is the time from the
end of the first run of every process to the last end, for each run that began after those. Other work on the computer changes both;
processor seconds, of a run by the number of processors, tell what it changes less.
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


def perform(words: list[str]) -> tuple[float, float]:
    """One `mrfhw run` in this process; the time when it ended, and its processor seconds."""
    busy = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run.main(words, standalone_mode=False)
    return time.monotonic(), time.process_time() - busy


def measured(words: list[str], folder: Path, pictures: int, workers: int) -> tuple[float, float]:
    """Seconds from one picture to the next, and the same of processors that do nothing else."""
    jobs = [["stereo", *words, "--backend", "cpu", "--no-report", "-o", str(folder / str(number))]
            for number in range(pictures + workers)]
    from studies.plan import perform as importable  # by the processes, which have another __main__

    ends = []
    for _, outcome in in_workers(importable, jobs, workers):
        if isinstance(outcome, BaseException):
            raise outcome
        ends.append(outcome)
    ends.sort()
    return (ends[-1][0] - ends[workers - 1][0]) / pictures, statistics.median(busy for _, busy in ends[workers:]) / workers


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

        def predicted() -> tuple[float, float]:
            profile = profiled(request, workers, 2, page=False)
            return planned(graph_of(profile, {}), Resources({PROCESSOR: workers})).shared.interval, profile.busy / workers

        click.echo("round,predicted_s,predicted_after_s,measured_s,error_percent,predicted_busy_s,measured_busy_s,error_busy_percent")
        errors: list[tuple[float, float]] = []
        for number in range(rounds):
            before, found, after = predicted(), measured(words, folder / f"round{number}", pictures, workers), predicted()
            one, other = (100 * ((before[which] + after[which]) / 2 / found[which] - 1) for which in (0, 1))
            errors.append((one, other))
            click.echo(f"{number},{before[0]:.4f},{after[0]:.4f},{found[0]:.4f},{one:.1f},{(before[1] + after[1]) / 2:.4f},"
                       f"{found[1]:.4f},{other:.1f}")
    middle, busy = (statistics.median(abs(error[which]) for error in errors) for which in (0, 1))
    click.echo(f"median error {middle:.1f} %, of processor seconds {busy:.1f} %; {workers} processors")


if __name__ == "__main__":
    main()
