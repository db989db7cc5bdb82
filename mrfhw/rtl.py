"""Verilog of a configured machine, or of any part of it."""

from __future__ import annotations

import os
import re

from amaranth.back import verilog
from amaranth.hdl._ir import PortDirection
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Flow

from mrfhw import __version__
from mrfhw.config import Config
from mrfhw.gateware.accelerator import TILE, Accelerator
from mrfhw.gateware.leaves import Leaves, port_name

# Yosys wakes combinational blocks at the start by a variable of its own, which has its value too early for that.
_WAKE_YOSYS = re.compile(r"^ *(reg \S*dump_module\S* += 0;|if \(\S*dump_module\S* \) begin end)\n", re.MULTILINE)
_BLOCK = re.compile(r"^  always @\*", re.MULTILINE)
_WAKE = "\\settled "

__all__ = ["AXI_TOP", "LINT_EXPLAINED", "TILE", "TOP", "axi_text", "board_text", "component_verilog", "file_text", "verilog_text"]

TOP = "mrfhw_top"
AXI_TOP = "mrfhw_axi_top"

# Warnings of Verilator's lint that stand, see docs/machine.md.
LINT_EXPLAINED = ("WIDTH", "CASEINCOMPLETE")


def component_verilog(component: wiring.Component, name: str) -> str:
    """Verilog of one component and what it contains; the same text for the same component."""
    # The wheel's Yosys and no other: the text depends on its version.
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    ports = {}
    for path, member, value in component.signature.flatten(component):
        direction = PortDirection.Input if member.flow is Flow.In else PortDirection.Output
        ports[port_name(path)] = (value.as_value() if isinstance(value, data.View) else value, direction)
    return _settle(verilog.convert(component, name=name, ports=ports, emit_src=False, strip_internal_attrs=True))


def _settle(text: str) -> str:
    """Have every combinational block evaluated at time 0 in event-driven simulators.

    A block waits for a change of what it reads; where nothing changes, its outputs would stay undefined
    in a simulation although the hardware has them. A variable of each module, read by all of its
    blocks, changes once, after all of them wait.
    """
    modules = re.split(r"^(?=module )", _WAKE_YOSYS.sub("", text), flags=re.MULTILINE)
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


def verilog_text(config: Config) -> str:
    """One file with the top module `TOP` and everything below it; identical tiles are one module."""
    leaves = Leaves(shared=True)
    return file_text(config, Accelerator(config, leaves), leaves)


def board_text(config: Config, divisor: int, words: int = 512, log_bytes: int = 2048) -> str:
    """The same with the link and a UART around it: `TOP` is a `mrfhw.gateware.board_top.BoardTop`."""
    from mrfhw.gateware.board_top import BoardTop

    leaves = Leaves(shared=True)
    return file_text(config, BoardTop(config, divisor, words, log_bytes, leaves), leaves)


def axi_text(config: Config, data_bits: int = 64, memory_address_bits: int = 32) -> str:
    """The same for a system on chip: `AXI_TOP` is a `mrfhw.gateware.axi_top.AxiTop`. Raises ValueError as that does."""
    from mrfhw.gateware.axi_top import AxiTop

    leaves = Leaves(shared=True)
    return file_text(config, AxiTop(config, data_bits, memory_address_bits, leaves), leaves, AXI_TOP)


def file_text(config: Config, top: wiring.Component, leaves: Leaves, name: str = TOP) -> str:
    """One file with `top` as module `name` and everything that it takes from `leaves`."""
    parts = [component_verilog(top, name)]
    parts += [component_verilog(component, name) for name, component in sorted(leaves.modules.items())]
    head = (f"// mrfhw {__version__}: {config.spes} SPEs x {config.spus} SPUs, sampler {config.sampler}\n"
            f"// configuration {config.digest}\n// SPDX-License-Identifier: BSD-2-Clause\n`default_nettype none\n\n")
    return head + "\n".join(parts) + "\n`default_nettype wire\n"


