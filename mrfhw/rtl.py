"""Verilog of a configured machine, or of any part of it."""

from __future__ import annotations

import os

from amaranth.back import verilog
from amaranth.hdl._ir import PortDirection
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Flow

from mrfhw import __version__
from mrfhw.config import Config
from mrfhw.gateware.accelerator import TILE, Accelerator
from mrfhw.gateware.leaves import Leaves, port_name

__all__ = ["TILE", "TOP", "component_verilog", "verilog_text"]

TOP = "mrfhw_top"


def component_verilog(component: wiring.Component, name: str) -> str:
    """Verilog of one component and what it contains; the same text for the same component."""
    # The wheel's Yosys and no other: the text depends on its version.
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    ports = {}
    for path, member, value in component.signature.flatten(component):
        direction = PortDirection.Input if member.flow is Flow.In else PortDirection.Output
        ports[port_name(path)] = (value.as_value() if isinstance(value, data.View) else value, direction)
    return verilog.convert(component, name=name, ports=ports, emit_src=False, strip_internal_attrs=True)


def verilog_text(config: Config) -> str:
    """One file with the top module `TOP` and everything below it; identical tiles are one module."""
    leaves = Leaves(shared=True)
    parts = [component_verilog(Accelerator(config, leaves), TOP)]
    parts += [component_verilog(component, name) for name, component in sorted(leaves.modules.items())]
    head = (f"// mrfhw {__version__}: {config.spes} SPEs x {config.spus} SPUs, sampler {config.sampler}\n"
            f"// configuration {config.digest}\n// SPDX-License-Identifier: BSD-2-Clause\n`default_nettype none\n\n")
    return head + "\n".join(parts) + "\n`default_nettype wire\n"


