"""`mrfhw generate`, `python -m mrfhw.generate`: a machine's Verilog and what belongs to it, into files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand, is_given, machine_options
from mrfhw.generation.files import TOPS, WIDTHS, Top, check_folder, generate, left_by_another, stated_top
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.known import remember
from mrfhw.machine.manifest import config_from_options
from mrfhw.system.files import check_writable, staged, write_files
from mrfhw.system.progress import working

__all__ = ["command"]


def _top(kind: str, prefix: str | None, manifest: str | None, **widths: int | None) -> Top:
    """The top that the options describe, or the machine's manifest where they leave it open. Raises ConfigError in one line."""
    if manifest is not None:
        stated = stated_top(manifest)
        kind, prefix = kind if is_given("kind") else stated.kind, stated.prefix if prefix is None else prefix
        if kind == stated.kind == "axi":
            widths = {name: getattr(stated, name) if value is None else value for name, value in widths.items()}
    given = {name: value for name, value in widths.items() if value is not None}
    if given and kind == "chip":
        option = WIDTHS[next(iter(given))].replace("_", "-")
        raise ConfigError(f"--{option} is given, and top is chip, which has no AXI memory port: give --top axi, or leave it out")
    return Top(kind, **given, prefix=prefix)


@click.command("generate", cls=OneLineCommand)
@machine_options
@click.option("--top", "kind", default="chip", show_default=True, metavar="|".join(TOPS),
              help="chip: the machine with its own bus and log. axi: with AXI ports, for a system on chip (docs/integration.md).")
@click.option("--axi-data-bits", type=int, default=None, metavar="N",
              help="With --top axi: width of the memory port.  [default: 64]")
@click.option("--axi-address-bits", type=int, default=None, metavar="N",
              help="With --top axi: width of the memory port's addresses.  [default: 32]")
@click.option("--name", default=None, metavar="PREFIX",
              help="Name of the top module and the files, and before every other module's and macro's.  [default: mrfhw_top]")
@click.option("--testbench", is_flag=True,
              help="Write a self-checking testbench too: small problems, and what the bit-exact model says of them.")
@click.option("-o", "--output", type=Folder(), metavar="DIR",
              help="Directory for the files.  [default: rtl_out/NAME, another for each machine]")
def command(output: Path | None, kind: str, axi_data_bits: int | None, axi_address_bits: int | None, name: str | None,
            testbench: bool, **options: Any) -> None:
    """Write a machine's Verilog, manifest and register map.

    With --machine the top is the manifest's too, where the options do not say another.
    """
    config = Derived.of(config_from_options(**options))
    top = _top(kind, name, options["machine"], data_bits=axi_data_bits, memory_address_bits=axi_address_bits)
    directory = output or Path("rtl_out") / f"{config.name}{top.suffix}{f'-{top.prefix}' if top.prefix else ''}"
    check_writable(directory)
    with working("generating"):
        files = generate(config, top, testbench)
    check_folder(directory, files)
    former = left_by_another(directory, files)
    with staged(directory) as scratch:
        write_files(scratch, files)
    for path in former:
        path.unlink(missing_ok=True)
    remember(config, circuit_digest(config))
    several = f"{config.clusters} clusters of " if config.clusters > 1 else ""
    click.echo(f"wrote {', '.join(sorted(files))} to {directory}\n{several}{config.all_lanes} lane{'s' * (config.all_lanes > 1)}, "
               f"{config.sites} sites, circuit {circuit_digest(config)[:16]}")


if __name__ == "__main__":
    command()
