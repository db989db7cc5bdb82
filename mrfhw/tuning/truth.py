"""Truth about a choice, the cheapest first: memories and multipliers, cells, clocks, and the run on the compiled board."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from functools import cache
from hashlib import sha256
from pathlib import Path

from mrfhw.cost.seconds import Delays
from mrfhw.fpga.board import Board
from mrfhw.fpga.cells import cells_of
from mrfhw.fpga.clocks import rates_for
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.flow import NAME, STATISTICS, Flow
from mrfhw.fpga.tools import Tool, find_tool, run_step
from mrfhw.gateware.link.bridge import Bridge
from mrfhw.gateware.link.window_bridge import WindowBridge
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.modules import component_verilog
from mrfhw.host.links import SimEthernetLink, SimLink
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import OUTSTANDING
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.simulation.board import CompiledBoard
from mrfhw.simulation.delayed_link import DelayedLink
from mrfhw.tuning.job import Job
from mrfhw.tuning.points import TRUTHS, Point
from mrfhw.tuning.space import Choice

__all__ = ["LEVELS", "USUAL_SECONDS", "check_tools", "gates", "link_digest", "matches", "of_present", "placed",
           "simulated", "synthesized"]

LEVELS = TRUTHS  # the cheapest first
USUAL_SECONDS = {"gates": 60.0, "synthesized": 240.0, "placed": 900.0, "simulated": 90.0}  # where nothing is known
PLACE_SECONDS = 1800.0  # of a seed at most
LOGIC = ("TRELLIS_COMB", "ICESTORM_LC", "LUT4")
# nextpnr's ways to say the cells that a device has, before anything is placed.
PACK = {"ecp5": ("nextpnr-ecp5", "TRELLIS_COMB"), "ice40": ("nextpnr-ice40", "ICESTORM_LC")}


def check_tools(board: Board, placed: bool = False) -> None:
    """Raise BuildError in one line where the tools of a board's family are missing, or there are none. placed: those of place and
    route as well."""
    if not board.open_flow:
        raise BuildError(f"board is {board.name}; open tools make no bitstream for its {board.device}, so that there are estimates "
                         "alone: give --budget 0h")
    find_tool("yosys")
    if placed or board.family in PACK:
        find_tool(f"nextpnr-{board.family}")


@cache
def link_digest(outstanding: int = OUTSTANDING) -> str:
    """Of the link's circuit, beside the machine's: of one of its sizes, with the same program."""
    bridge = Bridge(20, 32, 32, 256) if outstanding == 1 else WindowBridge(20, 32, 64, 256, outstanding=outstanding)
    return sha256(component_verilog(bridge, "link").encode()).hexdigest()[:16]


def of_present(point: Point, outstanding: int = OUTSTANDING) -> bool:
    """Whether a whole board's circuit is the present one, but for the parameters that it has."""
    return point.interface == INTERFACE_VERSION and point.options.get("link") == link_digest(outstanding)


def matches(point: Point, choice: Choice, board: Board, truth: str) -> bool:
    """Whether a point is of that choice on the board, by such a truth or a better one of the tools. Clock and serial rate decide
    dividers alone, and do not matter to cells."""
    if point.board != board.name or not of_present(point, choice.on(board).at_once):
        return False
    if point.truth not in ({"synthesized", "placed"} if truth == "synthesized" else {truth}):
        return False
    names = ("words", "log_bytes") if truth in ("gates", "synthesized") else tuple(choice.options)
    return (Config.from_dict(point.parameters) == choice.config
            and all(point.options.get(name) == choice.options[name] for name in names))


def _point(truth: str, choice: Choice, board: Board, **values: object) -> Point:
    outstanding = choice.on(board).at_once
    options = {**choice.options, "outstanding": outstanding, "link": link_digest(outstanding)}
    return Point(truth, board.family, choice.config.to_dict(), board.name, options,
                 circuit_digest(choice.config), INTERFACE_VERSION, **values)  # type: ignore[arg-type]


def _versions(*tools: Tool) -> dict[str, str]:
    return {tool.name: tool.version for tool in tools}


def _flow(choice: Choice, board: Board, folder: Path) -> Flow:
    flow = Flow(choice.on(board), choice.config, choice.clock_hz, choice.baud, folder)
    flow.write()
    return flow


def gates(choice: Choice, board: Board) -> Point:
    """Memories and multipliers as Yosys maps them, without the gates, which take most of its time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flow = _flow(choice, board, folder)
        script = folder / f"{NAME}.ys"
        text = script.read_text()
        last = list(re.finditer(r"^synth_\w+ .*$", text, re.M))[-1]
        script.write_text(f"{text[:last.end()]} -run :map_gates\ntee -q -o {STATISTICS} stat -json\n")
        began = time.monotonic()
        try:
            flow.synthesize()
        except BuildError as error:
            return _point("gates", choice, board, seconds=_since(began), tools=_versions(flow.tool(0)), failure=_line(error))
        cells = cells_of(folder / STATISTICS)
        return _point("gates", choice, board, seconds=_since(began), tools=_versions(flow.tool(0)),
                      cells={kind: cells[kind] for kind in ("ram", "dsp")})


def synthesized(choice: Choice, board: Board) -> Point:
    """Cells of the whole board, with its link, as the device packs them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flow = _flow(choice, board, folder)
        began, tools = time.monotonic(), [flow.tool(0)]
        try:
            flow.synthesize()
            cells = cells_of(folder / STATISTICS)
            if board.family in PACK:
                tools.append(flow.tool(1))
                cells["logic"] = _packed(flow, tools[1], folder)
            elif board.family == "gowin":
                cells["logic"] = cells["lut"] + cells["carry"]
        except BuildError as error:
            return _point("synthesized", choice, board, seconds=_since(began), tools=_versions(*tools), failure=_line(error))
        return _point("synthesized", choice, board, seconds=_since(began), tools=_versions(*tools), cells=cells)


def _packed(flow: Flow, tool: Tool, folder: Path) -> int:
    """Cells of the device's logic as nextpnr packs them. It may say that they are too many, which is an answer too."""
    words = [word for word in flow.commands[1][1:] if word != "--timing-allow-fail"]
    with contextlib.suppress(BuildError):
        run_step(tool, [*words, "--pack-only"], folder)
    said = re.findall(rf"{PACK[flow.board.family][1]}:\s+(\d+)/", (folder / f"{tool.name}.log").read_text())
    if not said:
        raise BuildError(f"{tool.name} does not say how many cells there are: see its version")
    return int(said[-1])


def placed(choice: Choice, board: Board, seeds: int) -> Point:
    """The clock that place and route reaches with the first of `seeds` seeds that meets it, or the best of them."""
    with tempfile.TemporaryDirectory() as name:
        flow = _flow(choice, board, Path(name))
        began = time.monotonic()
        tools = _versions(*(flow.tool(number) for number in range(len(flow.commands))))
        try:
            found = flow.run(seeds, PLACE_SECONDS, lambda said: None)
        except BuildError as error:
            return _point("placed", choice, board, seconds=_since(began), tools=tools, failure=_line(error))
        logic = next(found.used[kind] for kind in LOGIC if kind in found.used)
        reached = f"the clock is {choice.clock_hz / 1e6:g} MHz, and it reaches {found.best.machine_hz / 1e6:.4g}"
        failure = None if found.best.met else reached
        return _point("placed", choice, board, seconds=_since(began), tools=tools, seed=found.best.seed,
                      cells={**cells_of(Path(name) / STATISTICS), "logic": logic}, clock_hz=found.best.machine_hz, failure=failure)


def simulated(choice: Choice, board: Board, job: Job, delays: Delays) -> Point:
    """The seconds of the job on the compiled board with that clock, serial rate and memories."""
    rates = rates_for(choice.on(board), choice.clock_hz, choice.baud)
    began = time.monotonic()
    if board.ethernet:
        link: SimLink | SimEthernetLink = SimEthernetLink(choice.config, log_bytes=choice.log_bytes, rate=round(rates.link_hz),
                                                          words=(choice.words, choice.words), outstanding=choice.on(board).at_once)
    else:
        link = _Serial(choice, rates.divisor, round(rates.link_hz), choice.on(board).at_once)
    with RemoteBackend(Derived.of(choice.config), lambda: DelayedLink(link, delays.seconds)) as session:
        start = link.clock()
        session.solve(job.problem, job.run)
        seconds = link.clock() - start
    point = _point("simulated", choice, board, seconds=_since(began))
    point.options.update({"job": job.said, "delay": delays.seconds, "run_s": round(seconds, 6)})
    return point


class _Serial(SimLink):
    """The compiled board with a choice's divisor and memories."""

    def __init__(self, choice: Choice, divisor: int, rate: int, outstanding: int):
        self.rate = rate
        self.board = CompiledBoard(choice.config, divisor, choice.words, choice.log_bytes, outstanding=outstanding)


def _since(began: float) -> float:
    return round(time.monotonic() - began, 1)


def _line(error: Exception) -> str:
    """In one line, without the name of a log that is not kept."""
    return json.dumps(re.sub(r" \(all of it in [^)]*\)$", "", str(error).split("\n")[0])[:300])[1:-1]
