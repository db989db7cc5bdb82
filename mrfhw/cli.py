"""The command line: `mrfhw run`, `verify`, `generate`, `statistics` and `demo-scene`."""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw import __version__
from mrfhw.apps.stereo import bad_pixels, stereo_problem
from mrfhw.config import Config
from mrfhw.images import crop, load_disparity, load_grey, parse_window
from mrfhw.machine_options import F, OneLineCommand, OneLineGroup, config_from_options, machine_options, split_options
from mrfhw.problem import Problem, ProblemError, Run, Schedule
from mrfhw.result import Result, first_difference
from mrfhw.runtime import backends, outputs

__all__ = ["main"]


# Commands imported when they are asked for, because they bring the gateware or much arithmetic with them.
LAZY = {"generate": "mrfhw.generate", "statistics": "mrfhw.statistics_table"}


class MainGroup(OneLineGroup):
    """The top group, with the commands of LAZY."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *LAZY])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in LAZY:
            command: click.Command = importlib.import_module(LAZY[cmd_name]).command
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=MainGroup)
@click.version_option(__version__, prog_name="mrfhw")
def main() -> None:
    """Markov random fields by Gibbs sampling, on hardware that this program generates."""


@main.group(cls=OneLineGroup)
def run() -> None:
    """Solve a problem and write the answer, its uncertainty and a report."""


@main.group(cls=OneLineGroup)
def verify() -> None:
    """Solve a problem by the generated hardware and by its model, and compare every bit."""


STEREO_OPTIONS = (
    click.argument("left"),
    click.argument("right"),
    click.option("--labels", type=int, required=True, metavar="N", help="Disparities told apart, 2 to 64."),
    click.option("--min-disparity", type=int, default=0, show_default=True, help="Disparity of label 0, in pixels."),
    click.option("--window", metavar="X,Y,W,H", help="Part of every input: first column, first row, columns, rows."),
    click.option("--sweeps", type=int, default=200, show_default=True, help="Sweeps, burn-in included."),
    click.option("--burn-in", type=int, default=100, show_default=True, help="First sweeps, which are not counted."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of all random numbers."),
    click.option("--initial", default="random", show_default=True, help="Labels to start from: random or minimum."),
    click.option("--alpha", type=int, default=1, show_default=True, help="Weight of the singleton."),
    click.option("--beta", type=int, default=4, show_default=True, help="Weight of the doubletons."),
    click.option("--tau", type=int, default=2, show_default=True, help="Each doubleton is at most this."),
    click.option("--singleton", default="absolute", show_default=True, help="absolute or squared difference of data."),
    click.option("--doubleton", default="absolute", show_default=True,
                 help="absolute or squared difference of labels, or potts."),
    click.option("--out-of-range", type=int, default=10, show_default=True,
                 help="Singleton where the right picture has no pixel."),
    click.option("--energy-shift", type=int, default=0, show_default=True, help="Low bits dropped from an energy."),
    click.option("--temperature", type=float, default=3.5, show_default=True, help="T, in units of energy."),
    click.option("--final-temperature", type=float, help="Cool down to this T, by the end of the burn-in."),
    click.option("--cooling-ratio", type=float, help="Cool by this ratio a sweep, to the final temperature."),
    click.option("--cooling-table", metavar="T,T,...", help="Temperatures instead, one after the other."),
    click.option("--cooling-stride", type=int, default=1, show_default=True, help="Sweeps of each of the table's."),
    click.option("--truth", metavar="DISPARITY", help="True disparities, a grey image; 0 where unknown."),
    click.option("--truth-scale", type=float, default=1.0, show_default=True,
                 help="Grey value of one pixel of true disparity."),
)


def stereo_options(function: F) -> F:
    """Add the arguments and options of a stereo problem, and those of the machine."""
    function = machine_options(function)
    for option in reversed(STEREO_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True, kw_only=True)
class StereoJob:
    """A checked stereo problem. truth: float64 (H, W) or None. settings: every option, for the report."""

    config: Config
    problem: Problem
    run: Run
    min_disparity: int
    truth: np.ndarray | None
    settings: dict[str, Any]

    def metrics(self, result: Result) -> dict[str, float | None]:
        """`bad_1` and `bad_2` in percent; empty without truth, None where the window has none."""
        if self.truth is None:
            return {}
        return {f"bad_{k}": bad_pixels(result.mode, self.min_disparity, self.truth, k) for k in (1, 2)}


def schedule_from_options(sweeps: int, burn_in: int, temperature: float, final_temperature: float | None,
                          cooling_ratio: float | None, cooling_table: str | None, cooling_stride: int) -> Schedule:
    """The temperatures that the options describe. A final temperature without a ratio is reached with the burn-in."""
    if cooling_table is not None:
        if final_temperature is not None or cooling_ratio is not None:
            raise ProblemError("cooling-table comes with final-temperature or cooling-ratio; only one of the two "
                               "schedules can hold: drop one")
        try:
            return Schedule.of_table(tuple(float(part) for part in cooling_table.split(",")), cooling_stride)
        except ValueError as error:
            if isinstance(error, ProblemError):
                raise
            raise ProblemError(f"cooling-table is {cooling_table!r}; it must be numbers with commas between them: "
                               "give such as 8,4,2") from None
    start = Schedule.constant(temperature)
    if final_temperature is None:
        if cooling_ratio is not None:
            raise ProblemError(f"cooling-ratio is {cooling_ratio}; cooling must end somewhere: give final-temperature")
        return start
    Schedule.constant(final_temperature)  # refuses what is no temperature before it enters a quotient
    if cooling_ratio is None:
        steps = burn_in if burn_in > 0 else max(1, sweeps - 1)
        cooling_ratio = min(1.0, (final_temperature / temperature) ** (1 / steps))
    return Schedule.geometric(temperature, cooling_ratio, final_temperature)


def _pictures(left: str, right: str, window: str | None, truth: str | None, truth_scale: float,
              data_bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The two pictures and the truth, of one size, cut to the window."""
    area = parse_window(window) if window is not None else None
    images = {"left image": load_grey(left, data_bits), "right image": load_grey(right, data_bits)}
    if truth is not None:
        images["truth image"] = load_disparity(truth, truth_scale)
    rows, cols = images["left image"].shape
    for name, image in images.items():
        if image.shape != (rows, cols):
            raise ProblemError(f"the {name} is {image.shape[1]}x{image.shape[0]}; the left image is {cols}x{rows}: "
                               "give images of one size")
    cut = [crop(image, area, name) for name, image in images.items()]
    return cut[0], cut[1], cut[2] if truth is not None else None


def stereo_job(*, left: str, right: str, labels: int, min_disparity: int, window: str | None, sweeps: int, burn_in: int,
               seed: int, initial: str, temperature: float, final_temperature: float | None,
               cooling_ratio: float | None, cooling_table: str | None, cooling_stride: int, truth: str | None,
               truth_scale: float, **others: Any) -> StereoJob:
    """Check every option and read every file of a stereo problem. Raises ProblemError or ConfigError."""
    machine, energy = split_options(others)
    config = config_from_options(**machine)
    length = Run(sweeps=sweeps, burn_in=burn_in, seed=seed, initial=initial)
    schedule = schedule_from_options(sweeps, burn_in, temperature, final_temperature, cooling_ratio, cooling_table,
                                     cooling_stride)
    left_data, right_data, true = _pictures(left, right, window, truth, truth_scale, config.data_bits)
    problem = stereo_problem(left_data, right_data, labels=labels, min_disparity=min_disparity, schedule=schedule,
                             **energy)
    settings = {
        "problem": "stereo", "left": left, "right": right, "window": window, "labels": labels,
        "min_disparity": min_disparity, **energy, "schedule": dataclasses.asdict(schedule), "sweeps": sweeps,
        "burn_in": burn_in, "seed": seed, "initial": initial, "truth": truth, "truth_scale": truth_scale,
        "preset": machine["preset"], "rows": problem.shape[0], "columns": problem.shape[1],
    }
    return StereoJob(config=config, problem=problem, run=length, min_disparity=min_disparity, truth=true,
                     settings=settings)


def solve_with_bar(backend: str, job: StereoJob) -> Result:
    """The job's result, with a progress bar on stderr from the second second on."""
    with tqdm(total=job.run.sweeps, desc=backend, unit="sweep", delay=2, mininterval=0.5, leave=False) as bar:
        return backends.solve(backend, job.config, job.problem, job.run, lambda done: bar.update(done - bar.n))


def _write(directory: Path, job: StereoJob, result: Result) -> dict[str, Any]:
    rows, cols = job.problem.shape
    title = f"{cols}x{rows}, {job.problem.labels} labels, {job.run.sweeps} sweeps, {result.backend}"
    return outputs.write_outputs(directory, result, job.config, title=title, settings=job.settings,
                                 metrics=job.metrics(result), first_value=job.min_disparity,
                                 value_name="disparity (pixels)")


def _summary(report: dict[str, Any], directory: Path) -> str:
    seconds = f"{report['wall_seconds']:.2f} s by {report['backend']}"
    lines = [f"{report['label_evaluations']} label evaluations in {seconds}"]
    if report["cycles"] is not None:
        lines.append(f"{report['cycles']} cycles, utilization {report['utilization']:.4f}, "
                     f"{report['stall_cycles']} stall cycles, {report['log_messages']} log messages")
    for name, value in report["metrics"].items():
        if value is not None:
            lines.append(f"{name.replace('_', ' ')} px: {value:.2f} % of the pixels of known truth")
    return "\n".join([*lines, f"wrote {', '.join(outputs.FILES)} to {directory}"])


OUTPUT = click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR",
                      help="Directory for the files; made where it is missing.")


@run.command("stereo", cls=OneLineCommand)
@stereo_options
@click.option("--backend", default="model", show_default=True, help=f"Who solves it: {', '.join(backends.BACKENDS)}.")
@OUTPUT
def run_stereo(backend: str, output: Path, **options: Any) -> None:
    """Match LEFT with RIGHT: a disparity for each pixel of LEFT, and how sure it is."""
    job = stereo_job(**options)
    outputs.check_writable(output)
    report = _write(output, job, solve_with_bar(backend, job))
    click.echo(_summary(report, output))


@verify.command("stereo", cls=OneLineCommand)
@stereo_options
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="Where to write the hardware's answer, should it be kept.")
@click.pass_context
def verify_stereo(ctx: click.Context, output: Path | None, **options: Any) -> None:
    """Match LEFT with RIGHT by rtl and by model; exit code 1 where they differ."""
    job = stereo_job(**options)
    if output is not None:
        outputs.check_writable(output)
    rtl, model = (solve_with_bar(backend, job) for backend in ("rtl", "model"))
    difference = first_difference(rtl, model)
    if difference is None:
        messages = "no" if rtl.messages is None else len(rtl.messages)
        click.echo(f"equal: rtl and model have the same labels at {job.problem.sites} sites, the same histogram of "
                   f"{int(rtl.counts.sum())} samples, the same LMem, {messages} log messages and {rtl.cycles} cycles")
        unclamped = job.problem.unclamped_sites
        whole = int((rtl.counts.sum(-1) == job.run.counted).sum())
        click.echo(f"utilization {rtl.utilization or 0:.4f}, {rtl.stall_cycles} stall cycles; the histogram of {whole} of "
                   f"{unclamped} unclamped sites sums to the {job.run.counted} counted sweeps")
    else:
        click.echo(f"different: {difference}")
    if output is not None:
        click.echo(_summary(_write(output, job, rtl), output))
    ctx.exit(0 if difference is None else 1)


@main.command("demo-scene", cls=OneLineCommand)
@click.option("--rows", type=int, default=144, show_default=True, help="Rows of the pictures.")
@click.option("--cols", type=int, default=192, show_default=True, help="Columns of the pictures.")
@click.option("--labels", type=int, default=24, show_default=True, help="Disparities run from 0 to one less.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the scene.")
@OUTPUT
def demo_scene(rows: int, cols: int, labels: int, seed: int, output: Path) -> None:
    """Write a stereo scene of known truth: left.png, right.png and disparity.png."""
    from mrfhw.scenes import stereo_scene, write_scene

    scene = stereo_scene(rows, cols, labels, seed)
    with outputs.staged(output) as scratch:
        names = [path.name for path in write_scene(scene, scratch)]
    click.echo(f"wrote {', '.join(names)} to {output}\nsolve it: mrfhw run stereo {output}/left.png {output}/right.png "
               f"--labels {labels} --truth {output}/disparity.png --truth-scale {scene.truth_scale} -o DIR")
