"""`mrfhw export`: a saved problem and a driver in C, for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrfhw.applications.field.job import APPLICATION, SWEEPS
from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand, given_options, machine_options
from mrfhw.driver.c_files import EXAMPLE, driver_files, with_prefix
from mrfhw.driver.image import c_array, load_image
from mrfhw.field.problem import ESTIMATES
from mrfhw.generation.files import Top, stated_top
from mrfhw.generation.identity import circuit_digest
from mrfhw.jobs.options import Given
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import stated_digest
from mrfhw.system.files import check_writable, staged, write_files
from mrfhw.system.progress import working

__all__ = ["command"]


@click.command("export", cls=OneLineCommand)
@click.argument("file", metavar="FIELD")
@click.option("--sweeps", type=int, metavar="N", help=f"Sweeps, burn-in included.  [default: the file's, or {SWEEPS}]")
@click.option("--burn-in", type=int, metavar="N",
              help="First sweeps, which are not counted.  [default: half of --sweeps; without that, the file's]")
@click.option("--seed", type=int, metavar="N", help="Seed of all random numbers.  [default: the file's, or 0]")
@click.option("--initial", metavar="NAME", help="Labels to start from: random or minimum.  [default: the file's, or random]")
@click.option("--estimate", type=click.Choice(ESTIMATES),
              help="What is kept of the samples: mode, mean or last.  [default: the file's, or mode]")
@click.option("-o", "--output", type=Folder(), metavar="DIR", default=Path("mrfhw_export"), show_default=True,
              help="Directory for the files.")
@machine_options
def command(file: str, sweeps: int | None, burn_in: int | None, seed: int | None, initial: str | None,
            estimate: str | None, output: Path, **options: Any) -> None:
    """Write the field in FIELD as a load image, and a driver in C that runs it on a machine.

    With the manifest of a machine with AXI ports (--machine) the driver takes the log from a ring in memory. Of a machine with a
    name of its own the files and all that they define begin with it.
    """
    check_writable(output)
    task = APPLICATION.job(APPLICATION, file=file, sweeps=sweeps, burn_in=burn_in, most_sweeps=None, seed=seed, initial=initial,
                           estimate=estimate, given=Given(given_options()), **options)
    manifest = options["machine"]
    top = Top() if manifest is None else stated_top(manifest)
    port, prefix = top.memory_port(task.machine), top.prefix
    with working("generating"):
        digest = stated_digest(task.machine) or circuit_digest(task.machine)
        image = load_image(task.machine, digest, task.problem, task.run)
        texts = {**driver_files(task.machine, digest, port, prefix), **with_prefix({"mrfhw_image.h": c_array(image)}, prefix)}
    files: dict[str, str | bytes] = {**texts, f"{prefix or 'mrfhw'}_image.bin": image}
    # The example is there to be changed, for the addresses of a system.
    mine, example = files[EXAMPLE], output / EXAMPLE
    kept = example.is_file() and example.read_text(errors="replace") != mine
    if kept:
        del files[EXAMPLE]
    with staged(output) as scratch:
        write_files(scratch, files)
    config, (rows, cols) = Derived.of(task.machine), task.problem.shape
    if kept:
        click.echo(f"kept {example}, which is another than this export's: move it away for a new one", err=True)
    click.echo(f"wrote {', '.join(sorted(files))} to {output}\n"
               f"{cols}x{rows} sites, {task.problem.labels} labels, {task.run.sweeps} sweeps, image of {len(image)} bytes, "
               f"for {config.name}")
