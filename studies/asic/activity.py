"""What toggles in a machine in cells while it draws labels: its netlist, simulated with the library's functions of its cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mrfhw.backends.backend import Pauses, Progress, Steps
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import first_difference
from mrfhw.generation.verilog import TOP
from mrfhw.simulation.chip import CellsChip, ChipBackend
from mrfhw.simulation.compiled import compile_cells
from mrfhw.system.errors import ProblemError
from mrfhw.twin import machine
from studies.asic.macros import verilog_of
from studies.asic.synthesis import CELLS, INSIDE, NETLIST, Netlist

__all__ = ["CYCLES", "Activity", "count_activity"]

CYCLES = 4000  # that are followed
_FOLLOWED = "values.vcd"
_MODULE = re.compile(r"^module (\w+).*?^endmodule\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Activity:
    """Of `cycles` cycles of a run that evaluates so many labels a cycle.

    toggles: of each net, by its path ('instance/n12'). high: likewise, cycles in which it was 1.
    accesses: of each macro, by its path: reads of all its ports, and writes.
    """

    cycles: int
    labels_a_cycle: float
    toggles: dict[str, int]
    high: dict[str, int]
    accesses: dict[str, tuple[int, int]]


class _FollowedSession(ChipBackend):
    """Follows the nets for `CYCLES` cycles, from `after` cycles of drawing labels on."""

    def __init__(self, chip: CellsChip, path: Path, after: int):
        super().__init__(chip)
        self._cells, self._path, self._after = chip, path, after

    def run_out(self, before: int, progress: Progress | None, pauses: Pauses | None) -> Steps[tuple[bytes, int | None]]:
        with self._cells.following(self._path, self._after, CYCLES):
            return (yield from super().run_out(before, progress, pauses))


def count_activity(netlist: Netlist, problem: Problem, run: Run) -> Activity:
    """Run a problem on the netlist and follow it near the run's end.

    Raises ProblemError where the result is not the model's in every bit, and for a run that is too short.

    A net's value is taken once a cycle, so that glitches are not counted.
    """
    wired = (netlist.directory / NETLIST).read_text() + verilog_of(netlist.macros) + _top(netlist)
    library = compile_cells(_models(netlist), wired)
    path, model = netlist.directory / _FOLLOWED, machine.solve(netlist.config, problem, run)
    assert model.cycles is not None
    if model.cycles < 2 * CYCLES:
        raise ProblemError(f"the run takes {model.cycles} cycles; {2 * CYCLES} are the least: give more sweeps")
    with _FollowedSession(CellsChip(netlist.config, library), path, model.cycles - CYCLES - CYCLES // 2) as session:
        difference = first_difference(session.solve(problem, run), model)
    if difference is not None:
        raise ProblemError(f"the netlist of {netlist.library.name} is not what the model is ({difference}): this is a mistake of "
                           "synthesis or of this program; report it with the machine's options")
    cycles, counts = _counted(path)
    path.unlink()
    of = {macro.name for macro in netlist.macros}
    accesses = {name: (counts[f"{name}/reads"][2], counts[f"{name}/writes"][2])
                for name, cell in netlist.cells.items() if cell["type"] in of}
    nets = {net for _, net in netlist.pins()} & set(counts)
    toggles, high = ({net: counts[net][which] for net in nets} for which in (0, 1))
    return Activity(cycles, model.label_evaluations / model.cycles, toggles, high, accesses)


def _models(netlist: Netlist) -> str:
    """The functions of the cells that the netlist has, from the library."""
    there = {cell["type"] for cell in netlist.cells.values()}
    text = (netlist.directory / CELLS).read_text()
    return "".join(match[0] for match in _MODULE.finditer(text) if match[1] in there)


def _top(netlist: Netlist) -> str:
    """The machine's own ports around the netlist's single bits."""
    declared = ", ".join(f"{way} [{bits - 1}:0] {name}" if bits > 1 else f"{way} {name}"
                         for name, (way, bits) in netlist.ports.items())
    joined = ", ".join(f".\\{name}[{bit}] ({name}[{bit}])" if bits > 1 else f".{name}({name})"
                       for name, (_, bits) in netlist.ports.items() for bit in range(bits))
    return f"module {TOP}({declared});\n  {INSIDE} {INSIDE}({joined});\nendmodule\n"


def _counted(path: Path) -> tuple[int, dict[str, tuple[int, int, int]]]:
    """Cycles of a VCD file, and of each signal by its path below the netlist: changes, cycles at 1, and its growth."""
    names: dict[str, list[str]] = {}
    scope: list[str] = []
    first = now = -1
    state: dict[str, list[int]] = {}  # changes, cycles at 1, value, since when, first value
    with path.open() as file:
        for line in map(str.strip, file):
            if line.startswith("$var"):
                _, _, _, code, name, *_ = line.split()
                names.setdefault(code, []).append("/".join((*scope, name)))
            elif line.startswith("$scope"):
                scope.append(line.split()[2])
            elif line.startswith("$upscope"):
                scope.pop()
            elif line.startswith("#"):
                now = int(line[1:])
                first = now if first < 0 else first
            elif line[:1] in ("0", "1", "b"):
                value, code = (int(line[1:].split()[0], 2), line.split()[1]) if line[0] == "b" else (int(line[0]), line[1:])
                held = state.get(code)
                if held is None:
                    state[code] = [0, 0, value, now, value]
                    continue
                held[0] += 1
                held[1] += (now - held[3]) * (held[2] & 1)
                held[2:4] = value, now
    found = {}
    for code, (changes, high, value, since, began) in state.items():
        for name in names[code]:
            below = name.split(f"/{INSIDE}/", 1)[-1]
            found[below] = (changes, high + (now - since) * (value & 1), value - began)
    return now - first, found
