"""Names in the emitted Verilog: how many nets have none of their own, and that giving them names changes no circuit."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrfhw.generation.modules import component_verilog
from mrfhw.generation.readable import is_identifier, modules_of, readable, renamed_modules
from mrfhw.generation.verilog import verilog_text
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import SAMPLERS

GENERATED_FIT_OTHER = pytest.mark.claim("generator",
    "what is generated is fit for other designs: prefixes keep machines apart, registers have names, a testbench passes and finds "
    "mutations, and of random bits of literals the share that is documented (more cases: make long)")

NAME = r"(\\\S+ |[A-Za-z_]\w*)"
ANONYMOUS = re.compile(r"\\\$|_\d+_$")  # Yosys' own: of an expression, or of a memory's read port


def declared(text: str, kind: str) -> list[str]:
    """Nets of a kind ("wire", "reg", or both), a name for each module that has it."""
    return re.findall(rf"^  (?:{kind})(?: signed)? (?:\[\d+:\d+\] )?{NAME}(?: = .*)?;$", text, re.MULTILINE)


def registers(text: str) -> list[tuple[str, str]]:
    """(module, name) of each flip-flop: what a block at the clock's edge assigns, but for memories."""
    found = []
    for part in re.split(r"^(?=module )", text, flags=re.MULTILINE)[1:]:
        module, memories = modules_of(part)[0], set(re.findall(rf"^  reg \[\d+:\d+\] {NAME} ?\[", part, re.MULTILINE))
        names = re.findall(rf"^ +{NAME}(?:\[.*?\] ?)? ?<= ", part.replace("\\settled ", "\\settled"), re.MULTILINE)
        found += [(module, name) for name in dict.fromkeys(names) if name not in memories and "settled" not in name]
    return found


@pytest.fixture(scope="module", params=["race", "cdf"])
def text(request: pytest.FixtureRequest) -> str:
    return verilog_text(Config.preset("smallest", sampler=SAMPLERS[request.param]()))


@GENERATED_FIT_OTHER
def test_every_register_has_a_name(text: str):
    found = registers(text)
    assert len(found) > 200
    assert [place for place in found if ANONYMOUS.match(place[1])] == []
    assert sum("$" in name for _, name in found) == 0


def test_few_nets_are_without_a_name(text: str):
    """Wires of expressions that are read more than once, or where they cannot be written in place: fewer than one in eight."""
    nets = declared(text, "wire|reg")
    without = [name for name in nets if ANONYMOUS.match(name)]
    assert len(nets) > 1500
    assert len(without) <= len(nets) / 8, (len(without), len(nets))
    assert sum("$" in name for name in nets) == len(without)


def test_modules_and_ports_have_plain_names(text: str):
    assert all(is_identifier(name) for name in modules_of(text))
    for header in re.findall(r"^module .*?\((.*)\);$", text, re.MULTILINE):
        assert "$" not in header


def test_memories_of_zeros_are_loops(text: str):
    assert re.search(r"^    for \(i = 0; i < 256; i = i \+ 1\)\n      bank_0\[i\] = 30'h0+;$", text, re.MULTILINE)
    words = [line.split("=")[1] for line in re.findall(r"^    \S+ ?\[\d+\] = \S+;$", text, re.MULTILINE)]
    same = [a for a, b, c, d in zip(words, words[1:], words[2:], words[3:], strict=False) if a == b == c == d]
    assert same == []


class Contents(wiring.Component):
    """A memory with single words, runs, and more equal words than a loop may have iterations."""

    words = (*[7] * 4, 1, 2, 3, *[5] * 3, *[0] * 5000, 6)

    def __init__(self):
        super().__init__({"address": In(13), "word": Out(3)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = Memory(shape=3, depth=len(self.words), init=self.words)
        read = table.read_port()
        m.d.comb += [read.addr.eq(self.address), self.word.eq(read.data)]
        return m


def test_loops_hold_the_same_words():
    text = component_verilog(Contents(), "contents")
    found: dict[int, int] = {}
    for first, last, run, place, word in re.findall(
            r"^    for \(i = (\d+); i < (\d+); i = i \+ 1\)\n      \S+ ?\[i\] = 3'h(\d);$|^    \S+ ?\[(\d+)\] = 3'h(\d);$", text,
            re.MULTILINE):
        places = range(int(first), int(last)) if first else [int(place)]
        assert len(places) <= 4096
        assert not found.keys() & set(places)
        found |= dict.fromkeys(places, int(run or word))
    assert [found[place] for place in range(len(Contents.words))] == list(Contents.words)
    assert text.count(" for (") == 3


class Widths(wiring.Component):
    """Expressions that are put where they are used once, or must not be: inverted bits in wider ones, carries, signs."""

    def __init__(self):
        super().__init__({"a": In(4), "b": In(4), "c": In(1), "d": In(1), "out": Out(24)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, c, d = self.a, self.b, self.c, self.d
        held = Signal(4)
        with m.If((~c & d) | ~(a == b)):
            m.d.comb += held.eq(a - b)
        m.d.comb += self.out.eq(Cat(
            (a + b) == 17, a | ~c, ~c == a, (~c).as_signed() == a, ~(c & ~d), (a + b)[:4] - (~c & d), Mux(~c, a, b + 1),
            a.as_signed() < (b - a), held))
        return m

    @staticmethod
    def value(a: int, b: int, c: int, d: int) -> int:
        """What `out` is, computed with whole numbers."""
        def signed(value: int) -> int:
            return value - 16 if value & 8 else value

        found, place = 0, 0
        for value, bits in (
                (a + b == 17, 1), (a | (1 - c), 4), (1 - c == a, 1), (c - 1 == a, 1), (not (c and not d), 1),
                ((a + b) % 16 - ((1 - c) & d), 5), (b + 1 if c else a, 5), (signed(a) < b - a, 1),
                ((a - b if (1 - c) & d or a != b else 0), 4)):
            found |= (int(value) & ((1 << bits) - 1)) << place
            place += bits
        return found & 0xffffff


@pytest.mark.tools
@GENERATED_FIT_OTHER
def test_values_stay_where_wires_are_put_in_place(tmp_path: Path):
    """Every input of a circuit, in Icarus."""
    if shutil.which("iverilog") is None:
        pytest.skip("iverilog is not installed")
    text = component_verilog(Widths(), "widths")
    assert text.count("(~ c)") + text.count("~ c") > 0
    bench = """
module bench;
  reg [9:0] in;
  wire [23:0] out;
  integer i;
  widths dut(.a(in[3:0]), .b(in[7:4]), .c(in[8]), .d(in[9]), .out(out));
  initial begin
    for (i = 0; i < 1024; i = i + 1) begin
      in = i;
      #1 $display("%0d", out);
    end
  end
endmodule
"""
    (tmp_path / "bench.v").write_text(text + bench)
    subprocess.run(["iverilog", "-g2005", "-s", "bench", "-o", "bench", "bench.v"], cwd=tmp_path, check=True)
    said = subprocess.run(["vvp", "bench"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    wanted = [Widths.value(i & 15, i >> 4 & 15, i >> 8 & 1, i >> 9 & 1) for i in range(1024)]
    assert list(map(int, said)) == wanted


def test_a_text_that_has_no_numbers_stays():
    text = "module a(x, y);\n  input x;\n  wire x;\n  output y;\n  wire y;\n  assign y = ~ x;\nendmodule\n"
    assert readable(text) == text


def test_modules_cannot_get_one_name():
    with pytest.raises(ValueError, match="the same name"):
        renamed_modules("module a(x);\nendmodule\nmodule b(x);\nendmodule\n", lambda name: "c")


@pytest.mark.parametrize(("name", "fits"), [("left", True), ("_a1", True), ("1a", False), ("a-b", False), ("wire", False),
                                            ("logic", False), ("a$", False), ("", False), ("ä", False), ("a\n", False)])
def test_identifiers(name: str, fits: bool):
    assert is_identifier(name) == fits
