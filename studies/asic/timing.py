"""OpenSTA: the clock of a netlist and its power."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.tools import Tool, run_step
from studies.asic.activity import Activity
from studies.asic.synthesis import INSIDE, LIBERTY, MACROS, NETLIST, Netlist

__all__ = ["Path", "Power", "find_sta", "powers", "worst_path"]

_NAME = "sta"
_READ = """read_liberty {liberty}
read_liberty {macros}
read_verilog {netlist}
link_design {top}
create_clock -name clk -period {period:.4f} [get_ports clk]
set_driving_cell -lib_cell {driver} [get_ports {{{inputs}}}]
set_load {load:.4f} [all_outputs]
set_input_delay 0 -clock clk [get_ports {{{inputs}}}]
set_output_delay 0 -clock clk [all_outputs]
"""
_PERIOD = 1000.0  # ps, of a first look


@dataclass(frozen=True)
class Path:
    """The slowest path between two clock edges. picoseconds: with what the register at its end needs. begin, end: cells."""

    picoseconds: float
    begin: str
    end: str


@dataclass(frozen=True)
class Power:
    """Watts of a cell, or of many."""

    internal: float = 0.0
    switching: float = 0.0
    leakage: float = 0.0

    def __add__(self, other: Power) -> Power:
        return Power(self.internal + other.internal, self.switching + other.switching, self.leakage + other.leakage)

    @property
    def total(self) -> float:
        return self.internal + self.switching + self.leakage


def find_sta() -> Tool:
    """OpenSTA. Raises BuildError where it is not installed."""
    found = shutil.which("sta")
    if found is None:
        raise BuildError("sta is needed and not installed: install OpenSTA (Debian: apt-get install opensta)")
    return Tool(_NAME, found, "OpenSTA")


def _run(netlist: Netlist, picoseconds: float, commands: list[str]) -> str:
    """What OpenSTA says to the commands. Raises BuildError where it says that something is wrong."""
    library = netlist.library
    inputs = [f"{name}[{bit}]" if bits > 1 else name for name, (way, bits) in netlist.ports.items()
              if way == "input" and name != "clk" for bit in range(bits)]
    script = _READ.format(liberty=LIBERTY, macros=MACROS, netlist=NETLIST, top=INSIDE, period=picoseconds / library.picoseconds,
                          driver=library.driver[0], load=netlist.load, inputs=" ".join(inputs))
    (netlist.directory / "sta.tcl").write_text("\n".join((script, *commands, "exit", "")))
    run_step(find_sta(), ["-no_splash", "-exit", "sta.tcl"], netlist.directory)
    said = (netlist.directory / f"{_NAME}.log").read_text()
    wrong = re.search(r"^.*(?:Error|not found|syntax error).*$", said, re.MULTILINE)
    if wrong is not None:
        raise BuildError(f"sta: {wrong[0]} (all of it in {netlist.directory / f'{_NAME}.log'})")
    return said


def worst_path(netlist: Netlist) -> Path:
    """The path that sets the clock, by the library's tables, without wires and with a clock that is everywhere at once."""
    said = _run(netlist, _PERIOD, ["report_checks -path_delay max -format full -digits 4"])
    begin, end, slack = (re.search(pattern, said, re.MULTILINE) for pattern in (
        r"^Startpoint: (\S+)", r"^Endpoint: (\S+)", r"(-?[\d.]+)\s+slack"))
    if begin is None or end is None or slack is None:
        raise BuildError(f"sta found no path (all that it said is in {netlist.directory / f'{_NAME}.log'})")
    return Path(_PERIOD - float(slack[1]) * netlist.library.picoseconds, begin[1], end[1])


def powers(netlist: Netlist, activity: Activity, picoseconds: float) -> dict[str, Power]:
    """Watts of every cell of the library at a clock, by its path, with the toggles that were counted. Macros have none here."""
    macros = {macro.name for macro in netlist.macros}
    # What set_power_activity calls: Debian's version of 2019 has a mistake in the way there. It hands a driver's activity on to no
    # load that has been reckoned before, so that every pin is told.
    told = [f"sta::set_power_pin_activity [get_pins {{{pin}}}] {activity.toggles[net] / activity.cycles:.6f} "
            f"{activity.high[net] / activity.cycles:.4f}" for pin, net in netlist.pins() if net in activity.toggles]
    told += [f"report_power -instances [get_cells {{{name}}}] -digits 9" for name, cell in netlist.cells.items()
             if cell["type"] not in macros]
    said = _run(netlist, picoseconds, told)
    found = {}
    for match in re.finditer(r"^\s*(\S+) (\S+) (\S+) (\S+) (\S+)$", said, re.MULTILINE):
        if match[5] in netlist.cells:
            found[match[5]] = Power(*map(float, match.groups()[:3]))
    return found
