"""Verilog of a machine's circuit, or of any component: modules alone, without a file's head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from amaranth import ClockDomain, Fragment, Signal
from amaranth.back import rtlil
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._xfrm import DomainCollector
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Flow

from mrfhw.gateware.common.leaves import Leaves, port_name
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.generation.readable import readable
from mrfhw.generation.yosys import run_yosys
from mrfhw.machine.config import Config
from mrfhw.machine.ports import TOP
from mrfhw.system.collector import paused

__all__ = ["circuit_text", "component_verilog", "modules_text"]

# Yosys wakes combinational blocks at the start by a variable of its own, which has its value too early for that.
_WAKE_YOSYS = re.compile(r"^ *(reg \S*dump_module\S* += 0;|if \(\S*dump_module\S* \) begin end)\n", re.MULTILINE)
_BLOCK = re.compile(r"^  always @\*", re.MULTILINE)
_WAKE = "\\settled "
# As `amaranth.back.verilog` has it.
_ATTRIBUTES = " ".join(f"-remove {name}" for name in ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding"))
_TO_VERILOG = ("proc -nomux -norom", "memory_collect", f"attrmap {_ATTRIBUTES}", f"attrmap -modattr {_ATTRIBUTES}",
               "write_verilog -norename")


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
    return modules_text(Accelerator(config, leaves), leaves, TOP)


def modules_text(top: wiring.Component, leaves: Leaves, name: str) -> str:
    """Verilog of `top`, as module `name`, and of everything that it takes from `leaves`."""
    def parts() -> Iterator[tuple[wiring.Component, str]]:
        yield top, name  # which fills the leaves
        done: set[str] = set()
        while left := sorted(leaves.modules.keys() - done):  # a leaf may have leaves
            yield from ((leaves.modules[module], module) for module in left)
            done.update(left)

    return "\n".join(_converted(parts()))
