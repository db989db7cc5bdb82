"""A family's cells as Verilog that is simulated: Yosys' models of them, and those here for what it has none of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mrfhw.field.problem import ProblemError

__all__ = ["FAMILIES", "Cell", "Family", "check_cells", "models_text"]

_HERE = Path(__file__).parent
_MODULE = re.compile(r"(?:^\(\*(?P<attributes>[^)]*)\*\)\s*)?^module (?P<name>\w+).*?^endmodule", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """What a model here stands for; a netlist with anything else is refused.

    parameters: those that may be given, with their values. anything: a pattern of those that may have any value. low: inputs that
    must be tied low; low_if: those that must be where a parameter has that value.
    """

    parameters: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    anything: str = "INIT.*"
    low: tuple[str, ...] = ()
    low_if: Mapping[tuple[str, int | str], tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """The models of a family's cells.

    shipped: Yosys', in its folder of data. before: what stands before them. instead: text of theirs that Verilator does not take,
    and what stands for it. own: files here, whose modules take the place of Yosys' of the same names. cells: what those stand for
    that do not stand for all that Yosys has by that name. zero: the cell that makes a constant zero, where one does.
    """

    shipped: tuple[str, ...]
    before: str = ""
    instead: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    cells: Mapping[str, Cell] = field(default_factory=dict)
    zero: str = ""


# Only port A writes. Nothing drives the global reset, so that GSR means nothing, nor how the ports' resets work where they are low.
_ECP5_RAM = Cell(
    {**{f"{name}_{port}": values for port in "AB" for name, values in (
        ("DATA_WIDTH", (1, 2, 4, 9, 18, 36)), ("WRITEMODE", ("READBEFOREWRITE",)), ("REGMODE", ("NOREG",)),
        ("CSDECODE", ("0b000",)))},
     "CLKAMUX": ("CLKA",), "CLKBMUX": ("CLKB",)},
    anything="INITVAL_..|GSR|RESETMODE|ASYNC_RESET_RELEASE",
    low=("WEB", "RSTA", "RSTB", "CSA0", "CSA1", "CSA2", "CSB0", "CSB1", "CSB2"))

_ONE_PORT = {"BLK_SEL": (0,), "READ_MODE": (0,), "WRITE_MODE": (1, 2), "RESET_MODE": ("SYNC", "ASYNC")}
_TWO_PORTS = {"BLK_SEL_0": (0,), "BLK_SEL_1": (0,), "RESET_MODE": ("SYNC", "ASYNC")}
_TWO_LOW = ("RESETA", "BLKSELA", "BLKSELB")
_READER_RESET: dict[tuple[str, int | str], tuple[str, ...]] = {("RESET_MODE", "ASYNC"): ("RESETB",)}
_GOWIN_CELLS = {
    "SP": Cell({**_ONE_PORT, "BIT_WIDTH": (1, 2, 4)}, low=("RESET", "BLKSEL")),
    "SPX9": Cell({**_ONE_PORT, "BIT_WIDTH": (9, 18, 36)}, low=("RESET", "BLKSEL")),
    "SDPX9B": Cell({**_TWO_PORTS, "BIT_WIDTH_0": (9, 18, 36), "BIT_WIDTH_1": (9, 18, 36), "READ_MODE": (0,)},
                   low=_TWO_LOW, low_if=_READER_RESET),
    "DPB": Cell({**_TWO_PORTS, "BIT_WIDTH_0": (1, 2, 4, 8, 16), "BIT_WIDTH_1": (1, 2, 4, 8, 16), "READ_MODE0": (0,),
                 "READ_MODE1": (0,), "WRITE_MODE0": (1,), "WRITE_MODE1": (1,)}, low=(*_TWO_LOW, "WREB"), low_if=_READER_RESET),
    "DPX9B": Cell({**_TWO_PORTS, "BIT_WIDTH_0": (9, 18), "BIT_WIDTH_1": (9, 18), "READ_MODE0": (0,), "READ_MODE1": (0,),
                   "WRITE_MODE0": (1,), "WRITE_MODE1": (1,)}, low=(*_TWO_LOW, "WREB"), low_if=_READER_RESET),
    "MULT9X9": Cell(low=("ASEL", "BSEL")),
    "MULT18X18": Cell(low=("ASEL", "BSEL")),
    "rPLL": Cell(anything=".*", low=("RESET", "RESET_P")),
}

FAMILIES = {
    # Inputs' defaults are left out, as all are connected but the pins' own; the pins' cells are no registers here.
    "ice40": Family(("ice40/cells_sim.v",), before="`define NO_ICE40_DEFAULT_ASSIGNMENTS\n",
                    instead={" || CLOCK_ENABLE === 1'bz": ""}, own=("ice40.v",),
                    cells={"SB_PLL40_PAD": Cell(anything=".*", low=("BYPASS",))}),
    # An input left open is zero here, and never z.
    "ecp5": Family(("ecp5/common_sim.vh", "ecp5/ccu2c_sim.vh"), before="`define NO_INCLUDES\n",
                   instead={"if (T === 1'bz) T_pd = 1'b0; else ": ""}, own=("block_ram.v", "ecp5.v"),
                   cells={"DP16KD": _ECP5_RAM, "MULT18X18D": Cell(low=("SOURCEA", "SOURCEB")), "EHXPLLL": Cell(anything=".*")}),
    "gowin": Family(("gowin/cells_sim.v",), own=("block_ram.v", "gowin.v"), cells=_GOWIN_CELLS, zero="GND"),
}


def models_text(family: Family, data: Path, version: str) -> str:
    """The family's models. data, version: of the Yosys whose they are. Raises ProblemError where it has others."""
    way_out = "install the version that pip install 'mrfhw[fpga]' brings"
    try:
        shipped = "".join((data / name).read_text() for name in family.shipped)
    except FileNotFoundError as error:
        raise ProblemError(f"{version} has no {error.filename}: {way_out}") from None
    for text, other in family.instead.items():
        if text not in shipped:
            raise ProblemError(f"the models of {version} do not say {text.strip()!r}: {way_out}")
        shipped = shipped.replace(text, other)
    own = _own_text(family)
    done = set(_names(own))
    kept = _MODULE.sub(lambda m: "" if m["name"] in done or "blackbox" in (m["attributes"] or "") else m[0], shipped)
    return "\n".join((family.before, own, kept))


def _own_text(family: Family) -> str:
    return "\n".join((_HERE / name).read_text() for name in family.own)


def _names(text: str) -> Iterator[str]:
    return (match["name"] for match in _MODULE.finditer(text))


def check_cells(family: Family, cells: Mapping[str, Any], models: str) -> None:
    """Raises ProblemError for cells of a netlist, as Yosys' JSON has them, that the models do not stand for."""
    there = set(_names(models))
    kinds = {cell["type"] for cell in cells.values() if not cell["type"].startswith("$")}
    if missing := kinds - there:
        raise ProblemError(f"the netlist has {', '.join(sorted(missing))}, without a model: build it otherwise, or add one "
                           "to sim/cells")
    headers = {match["name"]: set(re.findall(r"\w+", match[0].partition(");")[0])) for match in _MODULE.finditer(_own_text(family))}
    zeros = {"0"} | {bit for cell in cells.values() if cell["type"] == family.zero
                     for bits in cell["connections"].values() for bit in bits}
    for cell in cells.values():
        if cell["type"] in family.cells:
            for what in _strange(family.cells[cell["type"]], headers[cell["type"]], cell, zeros):
                raise ProblemError(f"the netlist has {cell['type']} with {what}: build it otherwise, or add that to its "
                                   "model in sim/cells")


def _strange(known: Cell, pins: set[str], cell: Mapping[str, Any], zeros: set[Any]) -> Iterator[str]:
    """What the model of a cell does not stand for."""
    values = {name: _value(text) for name, text in cell["parameters"].items()}
    low = set(known.low)
    for name, value in values.items():
        if not re.fullmatch(known.anything, name) and value not in known.parameters.get(name, ()):
            limit = " or ".join(map(str, known.parameters[name])) if name in known.parameters else "without it"
            yield f"{name} = {value}, which is modelled {limit}"
        low.update(known.low_if.get((name, value), ()))
    for pin, bits in cell["connections"].items():
        if bits and pin not in pins:
            yield f"{pin} connected, which is not modelled"
        if pin in low and not zeros.issuperset(bits):
            yield f"{pin} in use, which is modelled tied low"


def _value(text: str) -> int | str:
    """A parameter as it was: numbers are bits in Yosys' JSON, and words that look like bits end with a space."""
    if re.fullmatch("[01]+", text):
        return int(text, 2)
    return text[:-1] if re.fullmatch("[01xz]* +", text) else text
