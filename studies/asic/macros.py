"""Memory macros in a netlist: which memories become one, and each as a model to simulate and as a cell of a Liberty file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from studies.asic.libraries import CellLibrary
from studies.asic.memories import Memory, memory_of

__all__ = ["Macro", "liberty_of", "take_macros", "verilog_of"]

LEAST_BITS = 1024  # of a macro; smaller memories are flip-flops
_EDGE = 0.02  # ns: the slew that a macro's outputs have, and what its inputs have to be stable before the clock


@dataclass(frozen=True)
class Macro:
    """A memory with one port that writes whole words and `reads` ports that read, all of one clock."""

    words: int
    width: int
    reads: int

    @property
    def name(self) -> str:
        return f"mrfhw_memory_{self.words}x{self.width}_{self.reads}r"

    @property
    def address_bits(self) -> int:
        return max(1, (self.words - 1).bit_length())

    @property
    def inputs(self) -> dict[str, int]:
        """Widths of the ports that are read at the clock, by name."""
        return {"WE": 1, "WA": self.address_bits, "WD": self.width,
                **{f"{name}{n}": bits for n in range(self.reads) for name, bits in (("RE", 1), ("RA", self.address_bits))}}

    def memory(self, library: CellLibrary) -> Memory:
        return memory_of(library, self.words, self.width, self.reads)


def take_macros(design: dict[str, Any]) -> set[Macro]:
    """Replace the memories of a design, as Yosys' JSON has it, that a macro can be by that; returns which macros there are.

    A macro has no initial contents but zero, which a model needs and a machine does not; no reset, and no word that is read while
    it is written. Constants and small memories remain.
    """
    taken = set()
    for module in design["modules"].values():
        for cell in module["cells"].values():
            if cell["type"] == "$mem_v2" and (macro := _macro_of(cell)) is not None:
                _replace(cell, macro)
                taken.add(macro)
    return taken


def _macro_of(cell: dict[str, Any]) -> Macro | None:
    given, wires = cell["parameters"], cell["connections"]
    number = {name: int(given[name], 2) for name in ("SIZE", "WIDTH", "RD_PORTS", "WR_PORTS")}
    fits = (number["WR_PORTS"] == 1 and number["RD_PORTS"] > 0 and number["SIZE"] * number["WIDTH"] >= LEAST_BITS
            and "1" not in given["INIT"] and "0" not in given["RD_CLK_ENABLE"] and "1" not in given["RD_TRANSPARENCY_MASK"]
            and len({*map(str, wires["WR_EN"])}) == 1 and len({*map(str, wires["RD_CLK"] + wires["WR_CLK"])}) == 1
            and not {*wires["RD_ARST"], *wires["RD_SRST"]} - {"0"})
    return Macro(number["SIZE"], number["WIDTH"], number["RD_PORTS"]) if fits else None


def _replace(cell: dict[str, Any], macro: Macro) -> None:
    wires, bits, width = cell["connections"], int(cell["parameters"]["ABITS"], 2), macro.width
    ports: dict[str, list[Any]] = {"CLK": wires["WR_CLK"], "WE": wires["WR_EN"][:1], "WA": wires["WR_ADDR"][:macro.address_bits],
                                   "WD": wires["WR_DATA"]}
    for n in range(macro.reads):
        ports |= {f"RE{n}": wires["RD_EN"][n:n + 1], f"RA{n}": wires["RD_ADDR"][n * bits:][:macro.address_bits],
                  f"RD{n}": wires["RD_DATA"][n * width:][:width]}
    cell.update(type=macro.name, parameters={}, connections=ports, port_directions={
        name: "output" if name.startswith("RD") else "input" for name in ports})


def verilog_of(macros: Iterable[Macro]) -> str:
    """Models that count their accesses: each has two registers `reads` and `writes`."""
    return "\n".join(map(_model, sorted(macros, key=lambda macro: macro.name)))


def _model(macro: Macro) -> str:
    ports = [f"input [{bits - 1}:0] {name}" for name, bits in macro.inputs.items()]
    ports += [f"output reg [{macro.width - 1}:0] RD{n}" for n in range(macro.reads)]
    reading = "\n".join(f"    if (RE{n}) RD{n} <= words[RA{n}];" for n in range(macro.reads))
    enables = " + ".join(f"{{31'd0, RE{n}}}" for n in range(macro.reads))
    return f"""module {macro.name}(input CLK, {', '.join(ports)});
  reg [{macro.width - 1}:0] words [0:{macro.words - 1}];
  reg [31:0] reads = 0, writes = 0;
  integer n;
  initial for (n = 0; n < {macro.words}; n = n + 1) words[n] = 0;
  always @(posedge CLK) begin
{reading}
    if (WE) words[WA] <= WD;
    reads <= reads + {enables};
    writes <= writes + {{31'd0, WE}};
  end
endmodule
"""


def liberty_of(macros: Iterable[Macro], library: CellLibrary, capacitance: float) -> str:
    """The macros as a Liberty file in the library's units. capacitance: of an input, fF."""
    cells = "".join(_cell(macro, library, capacitance) for macro in sorted(macros, key=lambda macro: macro.name))
    types = {bits for macro in macros for bits in (*macro.inputs.values(), macro.width) if bits > 1}
    buses = "".join(f"  type (bus_{bits}) {{ base_type : array; data_type : bit; bit_width : {bits}; bit_from : {bits - 1}; "
                    "bit_to : 0; downto : true; }\n" for bits in sorted(types))
    return f"""library (mrfhw_memories) {{
  delay_model : table_lookup;
  time_unit : "1ps";
  voltage_unit : "1V";
  current_unit : "1mA";
  leakage_power_unit : "1pW";
  capacitive_load_unit (1,ff);
  pulling_resistance_unit : "1kohm";
  nom_process : 1; nom_temperature : 25; nom_voltage : {library.volts};
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50; output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 10; slew_upper_threshold_pct_rise : 90;
  slew_lower_threshold_pct_fall : 10; slew_upper_threshold_pct_fall : 90;
  default_max_transition : 1000;
{buses}{cells}}}
"""


def _cell(macro: Macro, library: CellLibrary, capacitance: float) -> str:
    memory = macro.memory(library)
    edge, access = 1000 * _EDGE * library.time, 1000 * memory.access
    constraints = "".join(
        f'      timing () {{ related_pin : "CLK"; timing_type : {kind}_rising; '
        + " ".join(f'{way}_constraint (scalar) {{ values ("{value:.1f}"); }}' for way in ("rise", "fall")) + " }\n"
        for kind, value in (("setup", edge), ("hold", 0)))
    delays = "".join(f'{edge_}_{what} (scalar) {{ values ("{value:.1f}"); }} ' for what, edge_, value in (
        ("rise", "cell", access), ("fall", "cell", access), ("transition", "rise", edge), ("transition", "fall", edge)))
    arc = f'      timing () {{ related_pin : "CLK"; timing_type : rising_edge; {delays}}}\n'
    inputs = "".join(_port(name, bits, f"direction : input; capacitance : {capacitance:.4f};", constraints)
                     for name, bits in macro.inputs.items())
    outputs = "".join(_port(f"RD{n}", macro.width, "direction : output; max_capacitance : 1000;", arc) for n in range(macro.reads))
    return (f"  cell ({macro.name}) {{\n    area : {memory.area:.3f};\n    interface_timing : true;\n"
            f"    cell_leakage_power : {1e9 * memory.leakage:.1f};\n"
            f"    pin (CLK) {{ direction : input; clock : true; capacitance : {2 * capacitance:.4f}; "
            f"min_period : {1000 * memory.cycle:.1f}; }}\n{inputs}{outputs}  }}\n")


def _port(name: str, bits: int, attributes: str, timing: str) -> str:
    if bits == 1:
        return f"    pin ({name}) {{ {attributes}\n{timing}    }}\n"
    return f"    bus ({name}) {{ bus_type : bus_{bits}; {attributes}\n{timing}    }}\n"


def instances(design: dict[str, Any], top: str, macros: Iterable[Macro]) -> Iterator[tuple[str, Macro]]:
    """Each macro of a hierarchical design by its path from the top, names joined with '/'."""
    of = {macro.name: macro for macro in macros}

    def below(module: str, path: str) -> Iterator[tuple[str, Macro]]:
        for name, cell in design["modules"][module]["cells"].items():
            if cell["type"] in of:
                yield path + name, of[cell["type"]]
            elif cell["type"] in design["modules"]:
                yield from below(cell["type"], f"{path}{name}/")

    yield from below(top, "")
