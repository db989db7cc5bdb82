"""Command line -> Config -> Verilog, manifest and register map: `mrfhw generate`, `python -m mrfhw.generate`."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mrfhw import __version__
from mrfhw.commands.machine_options import OneLineCommand, machine_options
from mrfhw.files import check_writable, staged
from mrfhw.generation import register_map
from mrfhw.generation.generated import TOOLS
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.register_map import MemoryPort
from mrfhw.jobs.machine import config_from_options
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.progress import working

__all__ = ["Top", "command", "generate", "manifest"]

DERIVED = (
    "spes", "lanes", "sites", "tile_sites", "max_labels", "tree_levels", "control_nodes", "data_max", "energy_max",
    "singleton_bits", "doubleton_bits", "temperature_fraction_bits", "raster_bits", "offset_bits", "message_bits",
    "line_messages", "count_max", "s2_capacity", "s2_bank_depth", "s2_address_bits", "lmem_bank_depth", "lmem_rows",
    "lmem_address_bits", "site_rows", "site_address_bits", "commit_queue_depth", "log_reserve", "log_depth",
)


@dataclass(frozen=True)
class Top:
    """What stands around the machine.

    kind: "chip", the machine with its own bus and log, or "axi", `mrfhw.gateware.soc.axi_top.AxiTop` with a memory port of these
    widths. Raises ConfigError for another kind; its methods do for widths that the port cannot have.
    """

    kind: str = "chip"
    data_bits: int = 64
    memory_address_bits: int = 32

    def __post_init__(self) -> None:
        if self.kind not in TOPS:
            raise ConfigError(f"top is {self.kind!r}; give one of {', '.join(TOPS)}")

    @property
    def name(self) -> str:
        """Of the top module and its files."""
        from mrfhw.generation.verilog import AXI_TOP, TOP

        return {"chip": TOP, "axi": AXI_TOP}[self.kind]

    @property
    def suffix(self) -> str:
        """Of names of what is written: empty for the chip, with the port's widths where they are not the usual ones."""
        if self.kind == "chip":
            return ""
        usual = (self.data_bits, self.memory_address_bits) == (Top.data_bits, Top.memory_address_bits)
        return f"_{self.kind}" if usual else f"_{self.kind}_{self.data_bits}_{self.memory_address_bits}"

    def verilog(self, config: Config) -> str:
        from mrfhw.generation.verilog import axi_text, verilog_text

        if self.kind == "chip":
            return verilog_text(config)
        with _one_line():
            return axi_text(config, self.data_bits, self.memory_address_bits)

    def ports(self, config: Config) -> list[dict[str, Any]]:
        """The top module's ports: name, direction, width, protocol."""
        rows = [("clk", "input", 1, "clock"), ("rst", "input", 1, "synchronous reset, active high")]
        rows += self._chip_ports(config) if self.kind == "chip" else self._axi_ports(config)
        return [dict(zip(("name", "direction", "width", "protocol"), row, strict=True)) for row in rows]

    def _chip_ports(self, config: Config) -> list[tuple[str, str, int, str]]:
        address = AddressMap(config).address_bits
        return [(f"bus_{n}", d, w, "Wishbone B4 classic, word addresses") for n, d, w in (
            ("cyc", "input", 1), ("stb", "input", 1), ("we", "input", 1), ("adr", "input", address), ("dat_w", "input", 32),
            ("dat_r", "output", 32), ("ack", "output", 1), ("err", "output", 1))] + [
                (f"lines_{n}", d, w, "AXI4-Stream") for n, d, w in (
                    ("tdata", "output", config.line_bits), ("tvalid", "output", 1), ("tlast", "output", 1), ("tready", "input", 1))]

    def _axi_ports(self, config: Config) -> list[tuple[str, str, int, str]]:
        from amaranth import Shape
        from amaranth.lib.wiring import Flow

        from mrfhw.gateware.common.leaves import port_name
        from mrfhw.gateware.soc.axi_top import axi_signature

        with _one_line():
            signature = axi_signature(config, self.data_bits, self.memory_address_bits)
        return [(port_name(path), "input" if member.flow is Flow.In else "output", Shape.cast(member.shape).width,
                 AXI_PROTOCOLS[str(path[0])]) for path, member, _ in signature.flatten(signature.create())]

    def memory_port(self, config: Config) -> MemoryPort | None:
        """What the register map states of the memory port; None without one."""
        if self.kind == "chip":
            return None
        from mrfhw.gateware.soc.axi_top import block_bytes

        with _one_line():
            return MemoryPort(self.data_bits, self.memory_address_bits,
                              block_bytes(config, self.data_bits, self.memory_address_bits))


TOPS = ("chip", "axi")
AXI_PROTOCOLS = {"s_axi": "AXI4-Lite slave, byte addresses", "m_axi": "AXI4 master, write bursts", "m_axis": "AXI4-Stream master"}


@contextmanager
def _one_line() -> Iterator[None]:
    """What the gateware refuses, as the command line says it."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(str(error)) from None


def manifest(config: Config, files: dict[str, str], top: Top | None = None) -> dict[str, Any]:
    """What was generated: parameters, derived numbers, digests of circuit and parameters, SHA-256 of `files` by name, tool
    versions, ports."""
    config = Derived.of(config)
    from mrfhw.gateware.mesh.tree import control_node_bits

    top = top or Top()
    port = top.memory_port(config)
    return {
        "name": config.name, "top": top.name, "mrfhw": __version__, "interface": INTERFACE_VERSION,
        "digest": circuit_digest(config), "parameters_digest": config.digest, "parameters": config.to_dict(),
        "derived": {**{name: int(getattr(config, name)) for name in DERIVED}, **config.sampler.derived(config.label_bits),
                    "control_node_bits": control_node_bits(config)},
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(files.items())},
        "tools": {name: importlib.metadata.version(name) for name in TOOLS}, "ports": top.ports(config),
        **({} if port is None else {"memory_port": dataclasses.asdict(port)}),
    }


def _core(config: Config, top: Top) -> str:
    """FuseSoC description."""
    config = Derived.of(config)
    from mrfhw.generation.verilog import LINT_EXPLAINED

    options = ", ".join(f"-Wno-{name}" for name in LINT_EXPLAINED)
    return f"""CAPI=2:
name: ::{config.name}{top.suffix}:{__version__}
description: Markov-random-field inference accelerator, {config.spes} SPEs x {config.spus} SPUs, {config.sampler.name} sampler
filesets:
  rtl:
    files: [{top.name}.v]
    file_type: verilogSource
  header:
    files: [{top.name}.h: {{is_include_file: true}}]
    file_type: user
targets:
  default:
    filesets: [rtl, header]
    toplevel: {top.name}
  lint:
    default_tool: verilator
    filesets: [rtl]
    tools: {{verilator: {{mode: lint-only, verilator_options: [{options}]}}}}
    toplevel: {top.name}
"""


def generate(config: Config, top: Top | None = None) -> dict[str, str]:
    """Every generated file's text by name; the same for the same configuration, top and tools."""
    top = top or Top()
    port = top.memory_port(config)
    files = {
        f"{top.name}.v": top.verilog(config), f"{top.name}.h": register_map.c_header(config, port),
        f"{top.name}.core": _core(config, top), "registers.md": register_map.markdown(config, port),
        "registers.json": register_map.as_json(config, port),
    }
    return {**files, "manifest.json": json.dumps(manifest(config, files, top), indent=1) + "\n"}


def _top(kind: str, **widths: int | None) -> Top:
    """The top that the options describe. Raises ConfigError in one line."""
    given = {name: value for name, value in widths.items() if value is not None}
    if given and kind == "chip":
        option = {"data_bits": "--axi-data-bits", "memory_address_bits": "--axi-address-bits"}[next(iter(given))]
        raise ConfigError(f"{option} is given, and top is chip, which has no AXI memory port: give --top axi, or leave it out")
    return Top(kind, **given)


@click.command("generate", cls=OneLineCommand)
@machine_options
@click.option("--top", "kind", default="chip", show_default=True, metavar="|".join(TOPS),
              help="chip: the machine with its own bus and log. axi: with AXI ports, for a system on chip (docs/integration.md).")
@click.option("--axi-data-bits", type=int, default=None, metavar="N",
              help="With --top axi: width of the memory port.  [default: 64]")
@click.option("--axi-address-bits", type=int, default=None, metavar="N",
              help="With --top axi: width of the memory port's addresses.  [default: 32]")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="Directory for the files.  [default: rtl_out/NAME, another for each machine]")
def command(output: Path | None, kind: str, axi_data_bits: int | None, axi_address_bits: int | None, **options: Any) -> None:
    """Write a machine's Verilog, manifest and register map."""
    config = Derived.of(config_from_options(**options))
    top = _top(kind, data_bits=axi_data_bits, memory_address_bits=axi_address_bits)
    directory = output or Path("rtl_out") / f"{config.name}{top.suffix}"
    check_writable(directory)
    with working("generating"):
        files = generate(config, top)
    with staged(directory) as scratch:
        for name, text in files.items():
            (scratch / name).write_text(text)
    click.echo(f"wrote {', '.join(sorted(files))} to {directory}\n{config.lanes} lanes, {config.sites} sites, "
               f"circuit {circuit_digest(config)[:16]}")


if __name__ == "__main__":
    command()
