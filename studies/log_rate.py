"""The log of labels at rest: messages an update, by the width of a histogram counter, beside a log of raw labels.

    python -m studies.log_rate [--data DIR] [--scenes teddy,poster,RubberWhale] [--counter-bits 1,2,4,6,8]
        [--options WORDS]

The field of `mrfhw run` with its defaults, one chain by the bit-exact model of 16 tiles. A site holds its last two labels, each
with the number of sweeps that it was drawn in, and sends one of them when a third label comes or a counter is full: a site at rest
sends one message in 2^bits - 1 updates. Of each scene and width: messages an update of the counted sweeps; bytes an update, of
messages as they fill lines, and of the entries that are read back at the end; and how many times as much raw labels of a byte take.
"""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import click
from tqdm import tqdm

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.machine.derived import Derived
from mrfhw.machine.numbers import BUS_BITS
from mrfhw.machine.words import LMEM_WORDS
from mrfhw.runs.chains import sample
from mrfhw.runs.first import prepared
from studies.scene_jobs import job_of
from studies.subsets import MACHINE, SCENES, words_of

ENTRY_BYTES = LMEM_WORDS * BUS_BITS // 8


class Widths(click.ParamType):
    """Whole numbers by commas."""

    name = "N,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Any other text ends in one line."""
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # converted already
        words = value.split(",")
        if not all(word.isdecimal() for word in words):
            self.fail(f"{value!r} is no list of widths: give such as 1,4,8", param, ctx)
        return [int(word) for word in words]


@click.command(cls=OneLineCommand)
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Published scenes; without it, built-in ones.")
@click.option("--scenes", default=SCENES, show_default=True)
@click.option("--counter-bits", "widths", type=Widths(), default="1,2,4,6,8", show_default=True)
@click.option("--options", default="", help="More options of the machine, as `mrfhw run` takes them.")
@click.option("--sweeps", type=click.IntRange(min=4), help="Of every chain, half of them counted; the application's by default.")
def main(data: Path | None, scenes: str, widths: list[int], options: str, sweeps: int | None) -> None:
    """Messages and bytes an update, by the width of a histogram counter."""
    with tempfile.TemporaryDirectory() as directory:
        given = {scene: words_of(scene, data, Path(directory)) for scene in scenes.split(",")}
        click.echo("scene,counter_bits,messages_an_update,bytes_an_update,read_back_bytes_an_update,raw_over_all")
        for scene, width in tqdm([(scene, width) for scene in given for width in widths], leave=False):
            verb, *words = given[scene]
            machine = [*MACHINE, "--counter-bits", str(width), *shlex.split(options)]
            run = ["--sweeps", str(sweeps)] if sweeps is not None else []
            job = prepared("model", job_of(verb, [*words, *machine, *run]), None)
            found = sample("model", job.config, job.problem, job.run, chains=1, traced=False).results[0]
            config, counted = Derived.of(job.config), job.run.sweeps - job.run.burn_in
            assert found.log_messages is not None  # the model counts them
            messages = found.log_messages / (job.problem.unclamped_sites * counted)
            log, rest = messages * config.line_bits / 8 / config.line_messages, ENTRY_BYTES / counted
            click.echo(f"{scene},{width},{messages:.4f},{log:.3f},{rest:.3f},{1 / (log + rest):.2f}")


if __name__ == "__main__":
    main()
