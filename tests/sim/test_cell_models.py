"""What stands for a family's cells in a simulated netlist: what it refuses, and the block RAM against its twin in Python."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mrfhw.field.problem import ProblemError
from sim.cells import models
from sim.cells.models import FAMILIES, check_cells, models_text


@pytest.mark.tools
def test_missing_models_are_refused(tmp_path: Path) -> None:
    message = f"yosys 0.9 has no {tmp_path}/gowin/cells_sim.v: install the version that"
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}"):
        models_text(FAMILIES["gowin"], tmp_path, "yosys 0.9")


@pytest.mark.parametrize(("family", "kind", "parameters", "connections", "what"), [
    ("ecp5", "ALU54B", {}, {}, "the netlist has ALU54B, without a model: build it otherwise, or add one to sim/cells"),
    ("ecp5", "DP16KD", {"REGMODE_B": "OUTREG"}, {}, "REGMODE_B = OUTREG, which is modelled NOREG"),
    ("ecp5", "DP16KD", {"DATA_WIDTH_A": f"{8:032b}"}, {}, "DATA_WIDTH_A = 8, which is modelled 1 or 2 or 4 or 9 or 18 or 36"),
    ("ecp5", "DP16KD", {"WRITEMODE_A": "READBEFOREWRITE"}, {"WEB": [7]}, "WEB in use, which is modelled tied low"),
    ("ecp5", "DP16KD", {"INITVAL_3F": "1x0", "GSR": "AUTO"}, {"WEB": ["0"], "RSTA": ["1"]},
     "RSTA in use, which is modelled tied low"),
    ("ecp5", "MULT18X18D", {"REG_OUTPUT_CLK": "CLK0"}, {}, "REG_OUTPUT_CLK = CLK0, which is modelled without it"),
    ("ecp5", "MULT18X18D", {}, {"P0": [5], "CLK0": [6]}, "CLK0 connected, which is not modelled"),
    ("ecp5", "EHXPLLL", {"CLKOP_DIV": "1"}, {"CLKOP": [5], "CLKOS": [6]}, "CLKOS connected, which is not modelled"),
    ("gowin", "SDPX9B", {"READ_MODE": "1"}, {}, "READ_MODE = 1, which is modelled 0"),
    ("gowin", "SDPX9B", {"RESET_MODE": "ASYNC"}, {"RESETA": [3], "RESETB": [9]}, "RESETB in use, which is modelled tied low"),
    ("gowin", "DPX9B", {"RESET_MODE": "SYNC"}, {"RESETB": [9], "BLKSELA": [3, 3, 9]}, "BLKSELA in use, which is modelled tied low"),
])
def test_cells_beyond_their_models_are_refused(family: str, kind: str, parameters: dict[str, str], connections: dict[str, Any],
                                               what: str) -> None:
    there = FAMILIES[family]
    names = "".join(f"module {name}();\nendmodule\n" for name in (*there.cells, "GND"))
    cells = {"a": {"type": kind, "parameters": parameters, "connections": connections},
             "b": {"type": "GND", "parameters": {}, "connections": {"G": [3]}}}
    message = what if what.startswith("the") else (
        f"the netlist has {kind} with {what}: build it otherwise, or add that to its model in sim/cells")
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}$"):
        check_cells(there, cells, names)


RAMS = [  # widths of ports A and B, what A reads where it writes, bits of a byte and of a pair of bytes in the initial contents
    (1, 36, "OLD", 9, 18), (2, 18, "NEW", 9, 18), (4, 9, "OPEN", 9, 20), (9, 4, "OLD", 9, 20), (18, 2, "NEW", 9, 18),
    (36, 1, "OPEN", 9, 20), (36, 36, "OLD", 9, 18), (18, 9, "OLD", 9, 20), (9, 9, "NEW", 9, 18), (4, 4, "OLD", 8, 16)]
RAM_BENCH = """
module bench;
  reg [14:0] a; reg [14:0] b; reg clk, write, reset; reg [35:0] data;
  reg [87:0] stimulus [0:{last}];
  integer n;
{rams}
  initial begin
    $readmemh("stimulus", stimulus);
    clk = 0;
    for (n = 0; n <= {last}; n = n + 1) begin
      {{reset, write, a, b, data}} = stimulus[n];
      #1 clk = 1;
      #1 clk = 0;
      #1 $display("{formats}", {outs});
    end
  end
endmodule
"""


class BlockRam:
    """A block RAM's twin. `cycle` returns what the ports give, and which of the bits may be any."""

    def __init__(self, width_a: int, width_b: int, writing: str, byte: int, pair: int, contents: int):
        self.widths, self.writing = (width_a, width_b), writing
        self.bits = [[contents >> n // 2 * pair + n % 2 * byte + bit & 1 for bit in range(9)] for n in range(2048)]
        self.given = [(0, 0), (0, 0)]

    @staticmethod
    def places(width: int, address: int) -> list[tuple[int, int]]:
        """The byte and the bit of each bit of a port's word."""
        if width < 9:
            return [(address >> 3, address % 8 // width * width + bit) for bit in range(width)]
        first = (address >> 3) // (width // 9) * (width // 9)
        return [(first + bit // 9, bit % 9) for bit in range(width)]

    def cycle(self, a: tuple[int, int, int, int], b: tuple[int, int, int]) -> list[tuple[int, int]]:
        """a: enable, write, address and data; b: enable, reset and address."""
        (enable, write, address, data), (enable_b, reset_b, address_b) = a, b
        spots, spots_b = self.places(self.widths[0], address), self.places(self.widths[1], address_b)
        lanes = [bit for bit in range(self.widths[0]) if self.widths[0] < 18 or address >> bit // 9 & 1]
        written = {spots[bit]: data >> bit & 1 for bit in lanes} if enable and write else {}
        old, old_b = self.word(spots), self.word(spots_b)
        new = sum(written.get(spot, 0) << bit for bit, spot in enumerate(spots))
        left = sum(1 << bit for bit, spot in enumerate(spots) if spot not in written)
        if enable:
            every = (1 << self.widths[0]) - 1
            self.given[0] = (old, 0) if not write else {"OLD": (old, 0), "NEW": (new, left), "OPEN": (old, every)}[self.writing]
        if reset_b:
            self.given[1] = (0, 0)
        elif enable_b:
            # A word is all of the wider port's: bytes that a write leaves out of it are not safe from it.
            met = written and ({spot[0] for spot in spots} >= {spot[0] for spot in spots_b}
                               or {spot[0] for spot in spots} <= {spot[0] for spot in spots_b})
            if met and max(self.widths) < 9:
                met = not set(spots).isdisjoint(spots_b)
            self.given[1] = (old_b, (1 << self.widths[1]) - 1 if met else 0)
        for (byte, bit), value in written.items():
            self.bits[byte][bit] = value
        return list(self.given)

    def word(self, spots: list[tuple[int, int]]) -> int:
        return sum(self.bits[byte][bit] << number for number, (byte, bit) in enumerate(spots))


def run_rams(stimulus: list[int], contents: int, directory: Path) -> list[list[int]]:
    """What the ports of all RAMS give after each cycle, by Icarus Verilog."""
    rams, outs = "", []
    for number, (width_a, width_b, writing, byte, pair) in enumerate(RAMS):
        rams += (f"  wire [35:0] a{number}, b{number};\n"
                 f"  block_ram #(.WIDTH_A({width_a}), .WIDTH_B({width_b}), .WRITING(\"{writing}\"), .BYTE({byte}), .PAIR({pair}), "
                 f".INIT(20480'h{contents:x}))\n"
                 f"    ram{number}(clk, a[14], write, a[13:0], data, a{number}, clk, b[14], reset, b[13:0], b{number});\n")
        outs += [f"a{number}", f"b{number}"]
    bench = RAM_BENCH.format(last=len(stimulus) - 1, rams=rams, formats="%h " * len(outs), outs=", ".join(outs))
    (directory / "bench.v").write_text((Path(models.__file__).parent / "block_ram.v").read_text() + bench)
    (directory / "stimulus").write_text("".join(f"{word:x}\n" for word in stimulus))
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "bench", "bench.v"], cwd=directory, check=True)
    done = subprocess.run(["vvp", "-n", "bench"], cwd=directory, check=True, capture_output=True, text=True)
    return [[int(word, 16) for word in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.tools
def test_the_block_ram(tmp_path: Path) -> None:
    """Every width at either port, old and new words, partial writes; what is open is neither old nor new for good."""
    if shutil.which("iverilog") is None:
        pytest.skip("iverilog is not installed")
    rng = random.Random(1)
    contents = rng.getrandbits(20480)
    cycles = [((rng.randrange(4) > 0, rng.randrange(2), rng.randrange(128), rng.getrandbits(36)),
               (rng.randrange(4) > 0, rng.randrange(8) == 0, rng.randrange(128))) for _ in range(4000)]
    stimulus = [reset << 67 | write << 66 | enable << 65 | at << 51 | enable_b << 50 | at_b << 36 | data
                for (enable, write, at, data), (enable_b, reset, at_b) in cycles]
    found = run_rams(stimulus, contents, tmp_path)
    for number, ram in enumerate(RAMS):
        known, wrong, right = BlockRam(*ram, contents), [0, 0], [0, 0]
        for row, cycle in zip(found, cycles, strict=True):
            for port, (word, any_) in enumerate(known.cycle(*cycle)):
                difference = (row[2 * number + port] ^ word) & (1 << ram[port]) - 1
                assert not difference & ~any_, (ram, port, cycle)
                wrong[port] += (difference & any_).bit_count()
                right[port] += (~difference & any_).bit_count()
        shares = [w / (w + r) for w, r in zip(wrong, right, strict=True) if w + r]
        assert shares, ram
        assert all(0.4 < share < 0.6 for share in shares), (ram, wrong, right)
