"""What is written of a machine, as texts by the names of files: Verilog, header, register map, core, manifest, testbench."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrfhw import __version__
from mrfhw.driver import register_map
from mrfhw.generation.generated import TOOLS
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.readable import is_identifier
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import MANIFEST_HINT, read_manifest
from mrfhw.machine.ports import AXI_TOP, TOP, MemoryPort
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.system.files import check_writable

__all__ = ["TOPS", "WIDTHS", "Top", "beside", "check_folder", "generate", "left_by_another", "manifest", "stated_top", "vlnv"]

MANIFEST = "manifest.json"
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
    widths. prefix: the top module's name, before those of all other modules and of the header's macros, so that several machines
    fit into one design; None for the usual names. Raises ConfigError for another kind and for a prefix that is no name; its methods
    do for widths that the port cannot have, and `verilog` for a prefix that is one of the module's ports.
    """

    kind: str = "chip"
    data_bits: int = 64
    memory_address_bits: int = 32
    prefix: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in TOPS:
            raise ConfigError(f"top is {self.kind!r}; give one of {', '.join(TOPS)}")
        if self.prefix is not None and not is_identifier(self.prefix):
            raise ConfigError(f"name is {self.prefix!r:.60}; a module's name has letters, digits and _, no digit first, and is no "
                              "keyword of Verilog or SystemVerilog: give another")

    @property
    def name(self) -> str:
        """Of the top module and its files."""
        return self.prefix or self._usual_name

    @property
    def _usual_name(self) -> str:
        return {"chip": TOP, "axi": AXI_TOP}[self.kind]

    @property
    def macros(self) -> str:
        """What the names of the header's macros begin with."""
        return "MRFHW" if self.prefix is None else self.prefix.upper()

    @property
    def suffix(self) -> str:
        """Of names of what is written: empty for the chip, with the port's widths where they are not the usual ones."""
        if self.kind == "chip":
            return ""
        usual = (self.data_bits, self.memory_address_bits) == (Top.data_bits, Top.memory_address_bits)
        return f"_{self.kind}" if usual else f"_{self.kind}_{self.data_bits}_{self.memory_address_bits}"

    def verilog(self, config: Config) -> str:
        """The file's text."""
        from mrfhw.generation.verilog import axi_text, verilog_text, with_prefix

        # Verilator refuses a module with a port of its own name.
        if self.prefix in {port["name"] for port in self.ports(config)}:
            raise ConfigError(f"name is {self.prefix!r}; the top module has a port of that name: give another")
        with _one_line():
            text = verilog_text(config) if self.kind == "chip" else axi_text(config, self.data_bits, self.memory_address_bits)
        return text if self.prefix is None else with_prefix(text, self._usual_name, self.prefix)

    def ports(self, config: Config) -> list[dict[str, Any]]:
        """The top module's ports: name, direction, width, protocol."""
        rows = [("clk", "input", 1, "clock"), ("rst", "input", 1, "synchronous reset, active high")]
        rows += self._chip_ports(config) if self.kind == "chip" else self._axi_ports(config)
        return [dict(zip(("name", "direction", "width", "protocol"), row, strict=True)) for row in rows]

    def _chip_ports(self, config: Config) -> list[tuple[str, str, int, str]]:
        address = AddressMap(config).bus_bits
        return [(f"bus_{n}", d, w, "Wishbone B4 pipelined, word addresses") for n, d, w in (
            ("cyc", "input", 1), ("stb", "input", 1), ("we", "input", 1), ("adr", "input", address), ("dat_w", "input", 32),
            ("stall", "output", 1), ("dat_r", "output", 32), ("ack", "output", 1), ("err", "output", 1))] + [
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
# The command line's names of the memory port's widths; a machine has data_bits, too.
WIDTHS = {"data_bits": "axi_data_bits", "memory_address_bits": "axi_address_bits"}
AXI_PROTOCOLS = {"s_axi": "AXI4-Lite slave, byte addresses", "m_axi": "AXI4 master, write bursts", "m_axis": "AXI4-Stream master"}


@contextmanager
def _one_line() -> Iterator[None]:
    """What the gateware refuses, as the command line says it."""
    try:
        yield
    except ValueError as error:
        name, verb, rest = str(error).partition(" is ")
        raise ConfigError(f"{WIDTHS.get(name, name)}{verb}{rest}") from None


def manifest(config: Config, files: Mapping[str, str | bytes], top: Top | None = None) -> dict[str, Any]:
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
        "files": {name: hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()
                  for name, text in sorted(files.items())},
        "tools": {name: importlib.metadata.version(name) for name in TOOLS}, "ports": top.ports(config),
        **({} if port is None else {"memory_port": dataclasses.asdict(port)}),
    }


def _stated_port(path: str | Path) -> MemoryPort | None:
    """The memory port that the manifest in a file states; None where that is of a chip. Raises ConfigError."""
    held = read_manifest(path).get("memory_port")
    names = ("data_bits", "address_bits", "block_bytes")
    if held is None:
        return None
    if not isinstance(held, dict) or sorted(held) != sorted(names) or not all(type(value) is int for value in held.values()):
        raise ConfigError(f"{path} has a memory port of no machine: {MANIFEST_HINT}")
    return MemoryPort(**held)


def stated_top(path: str | Path) -> Top:
    """The top that the manifest in a file states. Raises ConfigError."""
    port = _stated_port(path)
    top = Top() if port is None else Top("axi", port.data_bits, port.address_bits)
    name = read_manifest(path).get("top", top.name)
    if not isinstance(name, str) or not is_identifier(name):
        raise ConfigError(f"{path} has a top of no machine: {MANIFEST_HINT}")
    return top if name == top.name else dataclasses.replace(top, prefix=name)


def check_folder(directory: Path, files: Iterable[str]) -> None:
    """Raise ConfigError for a folder with a file of these names that no manifest there lists, and OSError where it cannot be
    written."""
    check_writable(directory)
    listed = _listed(directory)
    for name in files:
        if os.path.lexists(directory / name) and name not in listed and (name != MANIFEST or not listed):
            raise ConfigError(f"output is {directory}, which has a {name} that neither generate nor build wrote there: give "
                              "another folder")


def _listed(directory: Path) -> dict[str, str]:
    """The files that a folder's manifest lists, and their digests; none without such a manifest."""
    try:
        listed = json.loads((directory / MANIFEST).read_bytes())["files"]
        return {str(name): str(digest) for name, digest in listed.items() if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def left_by_another(directory: Path, files: Iterable[str]) -> list[Path]:
    """The files in a folder that its manifest lists, that nobody has changed since, and that are not among `files`."""
    known = set(files)
    return [directory / name for name, digest in _listed(directory).items() if name not in known and (directory / name).is_file()
            and hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest]


def vlnv(config: Config, top: Top) -> str:
    """FuseSoC's name of a machine: another for other parameters, another top or another prefix, which is the library."""
    return f":{top.prefix or ''}:{Derived.of(config).name}{top.suffix}:{__version__}"


def _core(config: Config, top: Top, tested: bool) -> str:
    """FuseSoC description. tested: with the testbench. The top's name is quoted, since YAML takes such as off for no text."""
    config = Derived.of(config)
    files, target = (_SIM_FILES, _SIM_TARGET) if tested else ("", "")
    return f"""CAPI=2:
name: {vlnv(config, top)}
description: Markov-random-field inference accelerator, {config.size_in_words}, {config.sampler.name} sampler
filesets:
  rtl:
    files: [{top.name}.v]
    file_type: verilogSource
  header:
    files: [{top.name}.h: {{is_include_file: true}}]
    file_type: user
{files.format(top=top.name)}targets:
  default:
    filesets: [rtl, header]
    toplevel: "{top.name}"
  lint:
    default_tool: verilator
    filesets: [rtl]
    tools: {{verilator: {{mode: lint-only}}}}
    toplevel: "{top.name}"
{target.format(top=top.name)}"""


_SIM_FILES = """\
  testbench:
    files: [{top}_tb.v]
    file_type: verilogSource
"""
_SIM_TARGET = """\
  sim:
    default_tool: icarus
    filesets: [rtl, testbench]
    tools:
      icarus: {{iverilog_options: [-g2005]}}
      verilator: {{mode: binary, verilator_options: [--timing, -Wno-fatal, -Wno-lint]}}
    toplevel: {top}_tb
"""


def generate(config: Config, top: Top | None = None, tested: bool = False) -> dict[str, str]:
    """Every generated file's text by name; the same for the same configuration, top and tools.

    tested: with a testbench, which takes some seconds more.
    """
    top = top or Top()
    port, verilog = top.memory_port(config), top.verilog(config)
    files = {f"{top.name}.v": verilog, f"{top.name}.core": _core(config, top, tested), **_map(config, top, port)}
    if tested:
        # With the model behind it, whose import takes longer than the Verilog of a small machine.
        from mrfhw.generation.testbench import testbench

        files[f"{top.name}_tb.v"] = testbench(config, top.name, port, verilog)
    return {**files, MANIFEST: json.dumps(manifest(config, files, top), indent=1) + "\n"}


def _map(config: Config, top: Top, port: MemoryPort | None) -> dict[str, str]:
    """Header and register map."""
    digest = circuit_digest(config)
    return {f"{top.name}.h": register_map.c_header(config, digest, port, top.macros),
            "registers.md": register_map.markdown(config, digest, port, top.ports(config)),
            "registers.json": register_map.as_json(config, digest, port)}


def beside(config: Config, project: Mapping[str, str | bytes] | None = None) -> dict[str, str]:
    """The chip's manifest, and its header and register map, without its Verilog: what a host needs of a machine in a bitstream.

    project: other files that the manifest lists.
    """
    top = Top()
    files = _map(config, top, None)
    return {**files, MANIFEST: json.dumps(manifest(config, {**files, **(project or {})}, top), indent=1) + "\n"}
