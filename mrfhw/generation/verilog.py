"""Verilog of a configured machine, or of any part of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from amaranth import ClockDomain, Fragment, Signal
from amaranth.back import rtlil
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._xfrm import DomainCollector
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Flow

from mrfhw import __version__
from mrfhw.gateware.common.leaves import Leaves, port_name
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.gateware.mesh.mesh import TILE
from mrfhw.generation.identity import circuit, circuit_digest
from mrfhw.generation.readable import readable, renamed_modules
from mrfhw.generation.yosys import run_yosys
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.ports import AXI_TOP, TOP
from mrfhw.machine.registers import DIGITS
from mrfhw.system.collector import paused

# Yosys wakes combinational blocks at the start by a variable of its own, which has its value too early for that.
_WAKE_YOSYS = re.compile(r"^ *(reg \S*dump_module\S* += 0;|if \(\S*dump_module\S* \) begin end)\n", re.MULTILINE)
_BLOCK = re.compile(r"^  always @\*", re.MULTILINE)
_WAKE = "\\settled "
# As `amaranth.back.verilog` has it.
_ATTRIBUTES = " ".join(f"-remove {name}" for name in ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding"))
_TO_VERILOG = ("proc -nomux -norom", "memory_collect", f"attrmap {_ATTRIBUTES}", f"attrmap -modattr {_ATTRIBUTES}",
               "write_verilog -norename")

__all__ = [
    "AXI_TOP", "LINT_EXPLAINED", "TILE", "TOP", "axi_text", "board_text", "circuit_text", "component_verilog",
    "ethernet_board_text", "file_text", "usb_board_text", "verilog_text", "with_prefix",
]

# Warnings of Verilator's lint that stand, see docs/machine.md. Later versions have LITENDIAN as a name of ASCRANGE.
LINT_EXPLAINED = ("WIDTH", "CASEINCOMPLETE", "CMPCONST", "LITENDIAN")


def component_verilog(component: wiring.Component, name: str) -> str:
    """Verilog of one component and what it contains; the same text for the same component."""
    return _converted([(component, name)])[0]


@paused()
def _converted(parts: Iterable[tuple[wiring.Component, str]]) -> list[str]:
    """Verilog of each component, whose name begins its modules'; one run of Yosys."""
    script, names = [], []
    for component, name in parts:
        names.append(name)
        ports = {}
        for path, member, value in component.signature.flatten(component):
            direction = PortDirection.Input if member.flow is Flow.In else PortDirection.Output
            ports[port_name(path)] = (value.as_value() if isinstance(value, data.View) else value, direction)
        fragment = Fragment.get(component, None)
        for wire in _clocks(fragment):
            ports[wire.name] = wire, PortDirection.Input
        text = rtlil.convert(fragment, name=name, ports=ports, emit_src=False)
        script.append(f"read_rtlil <<rtlil\n{text}\nrtlil")
    written = run_yosys("\n".join([*script, *_TO_VERILOG]))
    head, *modules = re.split(r"^(?=module )", _WAKE_YOSYS.sub("", written), flags=re.MULTILINE)
    texts = []
    for name in names:
        own = re.compile(rf"module \\?{name}[.( ]")
        text = "".join(module for module in modules if own.match(module))
        texts.append(_settle(readable(f"{head}{text.rstrip()}\n")))
    return texts


def _clocks(fragment: Fragment) -> list[Signal]:
    """Clock and reset of each domain, where there are several: Amaranth makes one by itself, and several in any order."""
    collector = DomainCollector()
    collector(fragment)
    names = sorted(collector.used_domains - collector.defined_domains)
    domains = [ClockDomain(name) for name in names] if len(names) > 1 else []
    fragment.add_domains(*domains)
    return [wire for domain in domains for wire in (domain.clk, domain.rst)]


def _settle(text: str) -> str:
    """Have every combinational block evaluated at time 0 in event-driven simulators.

    A block waits for a change of what it reads; where nothing changes, its outputs would stay undefined
    in a simulation although the hardware has them. A variable of each module, read by all of its
    blocks, changes once, after all of them wait.
    """
    modules = re.split(r"^(?=module )", text, flags=re.MULTILINE)
    return "".join(_settle_module(module) if _BLOCK.search(module) else module for module in modules)


def _settle_module(text: str) -> str:
    header, body = text.split(";\n", 1)
    lines = []
    statement = False  # the next line is a block of one statement
    for line in body.split("\n"):
        if line in ("  always @*", "  always @* begin"):
            lines += ["  always @* begin", f"    if ({_WAKE}) begin end"]
            statement = line == "  always @*"
            continue
        lines.append(line)
        if statement:
            lines.append("  end")
            statement = False
    wake = ["  /* verilator lint_off INITIALDLY */", f"  reg {_WAKE};", f"  initial {_WAKE} <= 1'h1;",
            "  /* verilator lint_on INITIALDLY */"]
    return ";\n".join((header, "\n".join([*wake, *lines])))


def circuit_text(config: Config) -> str:
    """Verilog of the machine alone, modules without the file's head; its digest's registers are as they are without one."""
    leaves = Leaves(shared=True)
    return _modules(Accelerator(config, leaves), leaves, TOP)


def verilog_text(config: Config) -> str:
    """One file with the top module `TOP` and everything below it; identical tiles are one module."""
    text, digest = circuit(config)
    for i in range(0, DIGITS, 8):
        found, placed = (f"32'd{int(words[i:i + 8], 16)};" for words in (PLACEHOLDER, digest))
        if text.count(found) != 1:
            raise AssertionError(f"the circuit has {text.count(found)} places for word {i // 8} of its digest; it must have one")
        text = text.replace(found, placed)
    return _head(config, digest) + text + _TAIL


def board_text(config: Config, divisor: int, words: int = 512, log_bytes: int = 2048, two_clocks: bool = False) -> str:
    """The same with the link and a UART around it: `TOP` is a `mrfhw.gateware.board.board_top.BoardTop`."""
    from mrfhw.gateware.board.board_top import BoardTop

    leaves = Leaves(shared=True)
    top = BoardTop(config, divisor, words, log_bytes, leaves, digest=circuit_digest(config), two_clocks=two_clocks)
    return file_text(config, top, leaves)


def ethernet_board_text(config: Config, log_bytes: int, two_clocks: bool = False) -> str:
    """The same as an `mrfhw.gateware.board.ethernet_top.EthernetTop`, without the Ethernet core."""
    from mrfhw.gateware.board.ethernet_top import EthernetTop

    leaves = Leaves(shared=True)
    top = EthernetTop(config, log_bytes=log_bytes, leaves=leaves, digest=circuit_digest(config), two_clocks=two_clocks)
    return file_text(config, top, leaves)


def usb_board_text(config: Config, words: int = 512, log_bytes: int = 2048, two_clocks: bool = False) -> str:
    """The same as an `mrfhw.gateware.board.usb_top.UsbTop`."""
    from mrfhw.gateware.board.usb_top import UsbTop

    leaves = Leaves(shared=True)
    top = UsbTop(config, words, log_bytes, leaves, digest=circuit_digest(config), two_clocks=two_clocks)
    return file_text(config, top, leaves)


def axi_text(config: Config, data_bits: int = 64, memory_address_bits: int = 32) -> str:
    """The same for a system on chip: `AXI_TOP` is a `mrfhw.gateware.soc.axi_top.AxiTop`. Raises ValueError as that does."""
    from mrfhw.gateware.soc.axi_top import AxiTop

    leaves = Leaves(shared=True)
    top = AxiTop(config, data_bits, memory_address_bits, leaves, circuit_digest(config))
    return file_text(config, top, leaves, AXI_TOP)


def file_text(config: Config, top: wiring.Component, leaves: Leaves, name: str = TOP) -> str:
    """One file with `top`, around a machine with its digest, as module `name` and everything that it takes from `leaves`."""
    return _head(config, circuit_digest(config)) + _modules(top, leaves, name) + _TAIL


def with_prefix(text: str, top: str, prefix: str) -> str:
    """A machine's file with `prefix` as the name of its module `top` and before every other module's.

    Raises ValueError where two modules would have the same name.
    """
    common = TOP.partition("_")[0] + "_"

    def other(name: str) -> str:
        if name == top or name.startswith(f"{top}_"):
            return prefix + name.removeprefix(top)
        return f"{prefix}_{name.removeprefix(common)}"

    return renamed_modules(text, other)


def _modules(top: wiring.Component, leaves: Leaves, name: str) -> str:
    def parts() -> Iterator[tuple[wiring.Component, str]]:
        yield top, name  # which fills the leaves
        yield from ((component, module) for module, component in sorted(leaves.modules.items()))

    return "\n".join(_converted(parts()))


def _head(config: Config, digest: str) -> str:
    config = Derived.of(config)
    return (f"// mrfhw {__version__}: {config.size_in_words}, sampler {config.sampler.name}\n"
            f"// circuit {digest}\n// SPDX-License-Identifier: BSD-2-Clause\n`default_nettype none\n\n")


_TAIL = "\n`default_nettype wire\n"
