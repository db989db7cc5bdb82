"""From a board and a machine to a bitstream, with the open tools."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.hdl import Elaboratable

from mrfhw.fpga.board import FLOW_OPTION, Board
from mrfhw.fpga.clocks import rates_for
from mrfhw.fpga.design import BoardDesign
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.floorplan import fix
from mrfhw.fpga.paths import CriticalPath, clock_name, critical_paths
from mrfhw.fpga.tools import OutOfTime, Step, Tool, find_tool, run_step
from mrfhw.gateware.link.bridge import check_link
from mrfhw.gateware.link.usb_core import check_core
from mrfhw.gateware.mesh.mesh import TILE
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.system.files import staged, write_files

__all__ = ["BITSTREAMS", "STATISTICS", "Attempt", "Flow", "Placed"]

NAME = "top"
REPORT = f"{NAME}.report.json"
STATISTICS = f"{NAME}.cells.json"  # of synthesis
_SAME = 0.005  # of a clock's frequency, that a report may round it by
BITSTREAMS = {"ecp5": f"{NAME}.bit", "ice40": f"{NAME}.bin", "gowin": f"{NAME}.fs"}


@dataclass(frozen=True)
class Attempt:
    """One seed of place and route.

    seed: of the tool.
    fmax_hz: of each clock, none where it was given up.
    met: every clock reaches what it has.
    machine_hz: the fastest clock of the machine.
    link_met: the link's clocks, where they are others, reach what they have.
    paths: the slowest way of each clock.
    """

    seed: int
    fmax_hz: dict[str, float]
    met: bool
    machine_hz: float = 0.0
    link_met: bool = True
    paths: dict[str, CriticalPath] = field(default_factory=dict)


@dataclass(frozen=True)
class Placed:
    """What place and route came to.

    best: the attempt that is packed.
    attempts: all of them.
    used: cells by kind.
    available: cells of the device, likewise.
    steps: the tools' runs.
    tools: with their versions.
    bitstream: in the folder of the flow.
    """

    best: Attempt
    attempts: list[Attempt]
    used: dict[str, int]
    available: dict[str, int]
    steps: list[Step]
    tools: list[Tool]
    bitstream: Path


class Flow:
    """A board's project in a folder: `write` makes its files, `run` the bitstream.

    Raises BuildError for a clock, serial rate or link that the board cannot have, and for tools that are missing or fail.
    """

    def __init__(self, board: Board, config: Config, clock_hz: int, baud: int, directory: Path):
        config = Derived.of(config)
        self.board, self.config, self.directory = board, config, directory
        self.platform = board.make_platform()
        self.rates = rates_for(board, clock_hz, baud)
        try:
            if board.usb:
                check_core()
            check_link(config.line_bits, board.words, board.log_bytes, board.response_words, board.ethernet is not None,
                       board.at_once)
        except ValueError as error:
            raise BuildError(str(error)) from None
        self.commands: list[list[str]] = []

    def files(self) -> dict[str, str | bytes]:
        """The project's files by name."""
        with _no_environment(), warnings.catch_warnings():
            plan = self.platform.prepare(self.design(), NAME, emit_src=False, **self._options())
        if self.board.open_flow:
            self.commands = [self._adapted(command) for command in json.loads(plan.files[f"build_{NAME}.json"])["commands"]]
        return dict(sorted(plan.files.items()))

    def write(self) -> dict[str, str | bytes]:
        """Write the project's files, all or none; returns them by name."""
        files = self.files()
        with staged(self.directory) as scratch:
            write_files(scratch, files)
        return files

    def design(self) -> Elaboratable:
        """What is built: the machine and its link. A subclass may build something else with the board's tools."""
        return BoardDesign(self.board, self.config, self.rates)

    def _options(self) -> dict[str, str]:
        """The templates' parts that Amaranth's plan leaves to us."""
        options = dict(self.board.options)
        if not self.board.open_flow:
            return options
        if script := self.board.script(self.config.lanes):
            options["script_after_read"] = script
        after = [f"tee -q -o {STATISTICS} stat -json"]
        if self.board.family == "ecp5" and Derived.of(self.config).spes > 1:
            # Tiles are alike, so that one is synthesized and the others are copies: time and memory of one.
            options["script_after_read"] = (f"setattr -mod -set keep_hierarchy 1 {TILE}\n{options.get('script_after_read', '')}\n"
                                            f"{self._of_all_tiles()}")
            after = [f"setattr -mod -unset keep_hierarchy {TILE}", "flatten", "opt_clean", *self._merged(), *after]
        return {**options, FLOW_OPTION: "\n".join(after)}

    def _of_all_tiles(self) -> str:
        """What Yosys does to know in a tile what is so of each of them: with a clock of their own, that they are never reset."""
        return "opt_hier" if self.rates.link_post else ""

    def _merged(self) -> list[str]:
        """Yosys' commands by which equal cells of several tiles become one: all of the link's clock. A machine with a faster clock
        of its own keeps what its tiles have of a signal, as near to them as that is. Registers of pads stay each with its own."""
        return [] if self.rates.link_post else ["opt_merge -share_all t:TRELLIS_FF a:syn_useioff %d t:LUT4 t:CCU2C", "opt_clean"]

    def tool(self, number: int) -> Tool:
        """The program of the flow's first, second or third command."""
        return find_tool(self.commands[number][0])

    def _adapted(self, command: list[str]) -> list[str]:
        """A command of Amaranth's plan for the program that is run."""
        tool, *rest = command
        if tool.startswith("nextpnr"):
            rest = ["--report", REPORT, "--timing-allow-fail", *(word for word in rest if word != "--quiet")]
        if tool == "nextpnr-gowin":
            # nextpnr-himbaechel has these as options of its architecture; a clock's constraint is not in the .cst file.
            values = dict(itertools.pairwise(rest))
            chip = values["--family"].replace("GW2AR", "GW2A")
            rest = [word for word in rest if word not in ("--family", values["--family"], "--cst", values["--cst"])]
            rest += ["--vopt", f"family={chip}", "--vopt", f"cst={values['--cst']}", "--freq", f"{self.rates.hz / 1e6:g}"]
        if tool == "gowin_pack":
            rest = [word.replace("GW2AR", "GW2A") for word in rest]
        return [tool, *rest]

    def run(self, seeds: int, seconds: float, say: Callable[[str], object], every: bool = False) -> Placed:
        """Synthesize, place and route seed after seed from the board's on, until one meets its clocks, and pack the best one.

        seconds: after which a seed is given up. say: is told of each step. every: the other seeds are tried, too, for what they
        come to. The best is the first that meets its clocks, so that the bitstream is the same with `every` and without; where
        none does, the one whose machine is fastest, of those whose link keeps its clock, if any does.
        """
        place, pack = self.commands[1:]
        tools = [self.tool(number) for number in range(len(self.commands))]
        say(f"synthesis by {tools[0].version}")
        steps, attempts = [self.synthesize()], []
        if fixed := fix(self.directory / f"{NAME}.json", self.board.device):
            say(f"{fixed} block RAMs and multipliers lie with their tiles")
        for seed in range(self.board.seed, self.board.seed + seeds):
            say(f"place and route, seed {seed}, by {tools[1].version}")
            try:
                steps.append(run_step(tools[1], [*place[1:], "--seed", str(seed)], self.directory, seconds))
            except OutOfTime as error:
                say(str(error))
                steps.append(error.step)
                attempts.append(Attempt(seed, {}, False))
                continue
            attempts.append(self._attempt(seed))
            self._keep(place, attempts)
            if attempts[-1].met and not every:
                break
        if not any(attempt.fmax_hz for attempt in attempts):
            raise BuildError(f"place and route of {Derived.of(self.config).size} has not ended within {seconds / 60:g} minutes "
                             f"with any of {seeds} seeds: give more --minutes or --seeds, or a smaller machine")
        best = self._restore(place, attempts)
        steps.append(run_step(tools[2], pack[1:], self.directory))
        used, available = self._cells()
        return Placed(best, attempts, used, available, steps, tools, self.directory / BITSTREAMS[self.board.family])

    def synthesize(self) -> Step:
        """Run the synthesis alone. Raises BuildError where Yosys left logic out, of which it only warns."""
        step = run_step(self.tool(0), self.commands[0][1:], self.directory)
        log = self.directory / f"{NAME}.rpt"
        if "Driver-driver conflict" in log.read_text(errors="replace"):
            raise BuildError(f"yosys found two drivers of a signal and dropped one (see {log}): the design would be "
                             "wrong; give other widths, such as --temperature-bits 16, or another version of yosys")
        return step

    def _attempt(self, seed: int) -> Attempt:
        report = json.loads((self.directory / REPORT).read_text())
        clocks = report["fmax"]
        if not clocks:
            raise BuildError(f"place and route says nothing of the clock (all of it in {self.directory / 'top.tim'})")
        fmax = {clock_name(name): 1e6 * clock["achieved"] for name, clock in clocks.items()}
        # The machine's clocks are those that have its constraint: all of them where the link has no other.
        others = self.rates.link_post or not self.board.serial
        of_machine = {name for name, clock in clocks.items()
                      if not others or abs(1e6 * clock["constraint"] / self.rates.hz - 1) < _SAME}
        met = {name: clock["achieved"] >= clock["constraint"] for name, clock in clocks.items()}
        return Attempt(seed, fmax, all(met.values()), min(1e6 * clocks[name]["achieved"] for name in of_machine),
                       all(met[name] for name in met.keys() - of_machine), critical_paths(report))

    def _outputs(self, place: list[str]) -> list[Path]:
        output = place[1 + max(place.index(word) for word in ("--textcfg", "--asc", "--write") if word in place)]
        return [self.directory / output, self.directory / REPORT]

    def _keep(self, place: list[str], attempts: list[Attempt]) -> None:
        if _best(attempts) is attempts[-1]:
            for path in self._outputs(place):
                shutil.copyfile(path, path.with_name(path.name + ".best"))

    def _restore(self, place: list[str], attempts: list[Attempt]) -> Attempt:
        for path in self._outputs(place):
            path.with_name(path.name + ".best").replace(path)
        return _best(attempts)

    def _cells(self) -> tuple[dict[str, int], dict[str, int]]:
        cells: dict[str, Any] = json.loads((self.directory / REPORT).read_text())["utilization"]
        there = {name: cell for name, cell in cells.items() if cell["used"] and cell["available"]}
        return {n: int(c["used"]) for n, c in there.items()}, {n: int(c["available"]) for n, c in there.items()}


def _best(attempts: list[Attempt]) -> Attempt:
    # max keeps the first of those that meet their clocks, to which a faster machine is no use.
    return max(attempts, key=lambda attempt: (attempt.met, not attempt.met and attempt.link_met,
                                              0.0 if attempt.met else attempt.machine_hz))


@contextlib.contextmanager
def _no_environment() -> Iterator[None]:
    """Without the environment's variables that change Amaranth's plans, and with its own Yosys for Verilog."""
    import os

    saved = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("AMARANTH_")}
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"
    try:
        yield
    finally:
        del os.environ["AMARANTH_USE_YOSYS"]
        os.environ.update(saved)
