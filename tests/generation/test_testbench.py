"""The generated testbench: it passes on machines as they are, and finds a change of any part."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.field.problem import ProblemError
from mrfhw.generate import command
from mrfhw.generation import testbench_problems
from mrfhw.generation.files import Top, generate
from mrfhw.generation.testbench_problems import close_problems, problems
from mrfhw.generation.testbench_text import RUN
from mrfhw.generation.verilog_paths import memory_paths
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import SAMPLERS, Race
from mrfhw.placement.placement import Placement, place
from mrfhw.placement.visit_order import COLOURS
from mrfhw.samplers.random import lane_states
from mrfhw.samplers.random_kernel import output, step
from mrfhw.twin.machine import Machine, complete
from sim.support.whole_nets import whole_nets
from support.long import cases

GENERATED_FIT_OTHER = pytest.mark.claim("generator",
    "what is generated is fit for other designs: prefixes keep machines apart, registers have names, a testbench passes and finds "
    "mutations, and of random bits of literals the share that is documented (more cases: make long)")
FUSESOC_PATH_LINTS = pytest.mark.claim("generator",
    "where fusesoc is on the path: it lints the core, fails where the testbench fails and, by make long, runs the testbench on "
    "Icarus and Verilator")

SMALLEST = Config.preset("smallest")
SHORT = Race(uniform_bits=8)  # a table of few entries, so that few runs read it
MACHINES = {
    "smallest": SMALLEST,
    "least": Config.preset("smallest", tile_rows=4, tile_cols=8, label_bits=2, vector_bits=0, sampler=SHORT),
    "cdf": Config.preset("smallest", sampler=SAMPLERS["cdf"]()),
    "2x2 tiles of 2": Config.preset("smallest", mesh_rows=2, mesh_cols=2, spus=2),
    "hubs that pass lines": Config.preset("smallest", mesh_rows=2, mesh_cols=3, hub_fan_in=2, line_levels=2),
    "lanes and a table alone": Config.preset("smallest", lanes=4, tile_cols=16, lmem_banks=4, label_bits=3, doubletons="table",
                                             pairwise_bits=2, vector_bits=0, shift_bits=0, sampler=SHORT),
    "subsets of the slots": Config.preset("smallest", lanes=2, tile_cols=16, lmem_banks=4, label_bits=4, subset_slots=3,
                                          mesh_cols=2),
    "tiles of few words": Config.preset("smallest", lanes=2, tile_rows=2, tile_cols=2),
    "all options": Config.preset("smallest", mesh_cols=2, spus=4, lmem_banks=4, distance="both", data_bits=4, data_bits_2=5,
                                 data_bits_3=3, singleton_cap=1, pairwise_bits=5, edge_bits=2, label_bits=3),
    "two clusters": Config.preset("smallest", clusters=2, label_bits=3, sampler=SHORT),
    "two contexts": Config.preset("smallest", contexts=2, label_bits=3, sampler=SHORT),
}
# Single changes of the smallest machine: what is found in its text once, and what stands there instead.
MUTATIONS = {
    "a bit of the random numbers": ("w ^ { 19'h00000, w[31:19] }", "w ^ { 19'h00001, w[31:19] }"),
    "the sum of the energies": ("= singleton_0_weighted + doubletons_weighted;", "= singleton_0_weighted - doubletons_weighted;"),
    "the neighbours": ("pair_0_next = doubleton_up + doubleton_down;", "pair_0_next = doubleton_up | doubleton_down;"),
    "which score wins": ("$signed(score_1) < $signed(best)", "$signed(score_1) > $signed(best)"),
    "the edge of a tile": ("wraps_first_next = unit >= units_1;", "wraps_first_next = unit > units_1;"),
    "which messages are sent": ("send = ((label == entry[5:0]) |", "send = ((label == entry[5:0]) &"),
    "the sum of a site's labels": ("= entry[29:8] + label;", "= entry[29:8] - label;"),
    "the temperature's limit": ("(scaled < limit) ? limit : scaled", "(scaled > limit) ? limit : scaled"),
    "a register that is read": ("words_from_16 = { 24'h000000, beta };", "words_from_16 = { 24'h000001, beta };"),
    "the lowest bit of 11 x 11": ("du_right_squared = 8'h79;", "du_right_squared = 8'h78;"),
    "the lowest bit of 10 x 10": ("dv_right_squared = 8'h64;", "dv_right_squared = 8'h65;"),
    "the lowest bit of a word of the noise": ("\\table [i] = 11'h7f4;", "\\table [i] = 11'h7f5;"),
    "when a run ends": ("enough_next[0] = following >= registers[77:46];", "enough_next[0] = following > registers[77:46];"),
}
# Of the bits that `test_bits_of_literals_are_found` changes, how many are found at least.
NOISE_FOUND = 203  # of 300 of the noise alone, by what is drawn
FOUND = {"noise": 4, "squares": 6, "logic": 10}
# Passed in every test run: the first as it is written, the other of several lanes with its nets driven as a whole.
AS_IT_IS, WHOLE = "least", "lanes and a table alone"
# One of each part: the data path and its tables, the label memory and the scheduler.
ALWAYS = ("the sum of the energies", "which messages are sent", "when a run ends", "the lowest bit of 11 x 11",
          "the lowest bit of a word of the noise")


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def simulated(files: dict[str, str], directory: Path, name: str, clean: bool = True,
              whole: bool = True) -> subprocess.CompletedProcess[str]:
    """The testbench of top `name`, in Icarus. clean: without a warning. whole: the machine as Icarus simulates it soonest."""
    machine = files[f"{name}.v"]
    (directory / f"{name}.v").write_text(whole_nets(machine) if whole else machine)
    (directory / f"{name}_tb.v").write_text(files[f"{name}_tb.v"])
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-s", f"{name}_tb", "-o", "tb", f"{name}_tb.v", f"{name}.v"],
                          cwd=directory, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") or (done.returncode == 0 and not clean), done.stderr[-500:]
    return subprocess.run(["vvp", "-n", "tb"], cwd=directory, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture(scope="module")
def smallest() -> dict[str, str]:
    return generate(SMALLEST, Top(prefix="tiny"), tested=True)


@GENERATED_FIT_OTHER
@pytest.mark.parametrize("changes", [
    {"label_bits": 1}, {"data_bits": 1}, {"label_bits": 1, "data_bits": 1, "weight_bits": 1},
    {"lanes": 2, "tile_rows": 2, "tile_cols": 2}, {"lanes": 4, "tile_rows": 4, "tile_cols": 4, "label_bits": 3},
    {"lanes": 2, "subset_slots": 2, "lmem_banks": 4, "tile_rows": 4, "tile_cols": 4}])
def test_the_least_machines_have_problems(changes: dict[str, int]) -> None:
    config = Config.preset("smallest", **changes)
    assert len([place(config, problem, run) for problem, run in problems(config)]) > 3  # which checks that they fit


@GENERATED_FIT_OTHER
@pytest.mark.parametrize(("words", "needed"), [(8, 24), (24, 192)])
def test_a_machine_of_too_few_words_has_no_testbench(words: int, needed: int) -> None:
    with pytest.raises(ProblemError, match=r"^this machine has no testbench, whose problems it does not hold \(the labels reach .* "
                                           rf"or s2_words = {needed} or more\): leave --testbench out, or give a machine "
                                           r"that does$"):
        generate(Config.preset("smallest", s2_words=words), tested=True)


def test_nor_has_one_that_does_not_hold_the_general_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbench_problems, "_REACHES", ((range(-9, 10), range(-9, 10)),))
    config = Config.preset("smallest", lanes=2, tile_rows=2, tile_cols=2)
    with pytest.raises(ProblemError, match=r"^this machine has no testbench, whose problems it does not hold"):
        problems(config)


@pytest.mark.tools
@GENERATED_FIT_OTHER
@pytest.mark.parametrize("machine", cases(MACHINES, lambda name: name not in (AS_IT_IS, WHOLE)))
def test_machines_pass_on_icarus(machine: str, tmp_path: Path):
    need("iverilog")
    done = simulated(generate(MACHINES[machine], tested=True), tmp_path, "mrfhw_top", whole=machine == WHOLE)
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize("made", ["smallest", "with_axi"])
def test_the_smallest_passes_on_verilator(made: str, request: pytest.FixtureRequest, tmp_path: Path):
    need("verilator")
    for name in ("tiny.v", "tiny_tb.v"):
        (tmp_path / name).write_text(request.getfixturevalue(made)[name])
    done = subprocess.run(["verilator", "--binary", "-Wno-fatal", "--top-module", "tiny_tb", "tiny_tb.v", "tiny.v", "-MAKEFLAGS",
                           "OPT_FAST=-O0 OPT_SLOW=-O0"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    done = subprocess.run(["obj_dir/Vtiny_tb"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


@pytest.mark.tools
@GENERATED_FIT_OTHER
@pytest.mark.parametrize("mutation", cases(MUTATIONS, lambda name: name not in ALWAYS))
def test_a_change_is_found(mutation: str, smallest: dict[str, str], tmp_path: Path):
    need("iverilog")
    old, new = MUTATIONS[mutation]
    text = smallest["tiny.v"]
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text: choose another change"
    done = simulated({**smallest, "tiny.v": text.replace(old, new)}, tmp_path, "tiny")
    assert done.returncode != 0
    said = "FAIL: the words of cluster.mesh.spe_0.spu_0.sampler.\\table are not" if "table [i]" in old else "FAIL: step "
    assert done.stdout.startswith(said), done.stdout[-500:]


def test_paths_of_memories():
    """Of the first instance of a module, and of the instances that are asked for."""
    text = """
module low(a);
  reg [3:0] \\table  [15:0];
  reg [3:0] table_2 [7:0];
  reg [3:0] other [7:0];
endmodule

module middle(a);
  reg [3:0] \\table  [31:0];
  low first (
  );
  low second (
  );
endmodule

module top(a);
  vendor_cell first (
  );
  middle one (
  );
  middle two (
  );
endmodule
"""
    assert memory_paths(text, "top", "first", r"table(_\d+)?") == {"one.first.\\table ": 16, "one.first.table_2": 8}
    assert memory_paths(text, "top", "one", "table") == {"one.\\table ": 32}
    assert memory_paths(text, "top", "first", "tab") == {}


@dataclass(frozen=True)
class Flip:
    """One bit of a literal of the Verilog: kind, its place in the text, and the literal with that bit changed."""

    kind: str
    start: int
    end: int
    literal: str

    def of(self, text: str) -> str:
        return text[:self.start] + self.literal + text[self.end:]

    def line(self, text: str) -> str:
        return text[text.rfind("\n", 0, self.start) + 1:text.find("\n", self.end)].strip()


def literals(text: str) -> dict[str, list[re.Match[str]]]:
    """Hexadecimal literals of the modules by kind: words of the sampler's table, squares, and all others.

    Left out by what stands around them, as no run depends on them: attributes; first values of registers and values at a reset,
    which a run's first steps overwrite; and the zeros that loops write into memories, which are loaded before they are
    read.
    """
    found: dict[str, list[re.Match[str]]] = {"noise": [], "squares": [], "logic": []}
    at, resets = 0, False
    for line in text.splitlines(keepends=True):
        code = line.strip()
        resets = code == "if (rst) begin" or (resets and code != "end")
        kind = ("noise" if re.match(r"\\table \[(\d+|i)\] = ", code) else "squares" if re.match(r"d[uv]_\w+_squared = ", code)
                else "" if resets or re.match(r"reg |initial |\(\*|\S+\s*\[i\] = ", code) else "logic")
        if kind:
            found[kind] += re.compile(r"(\d+)'(s?)h([0-9a-f]+)").finditer(text, at, at + len(line))
        at += len(line)
    return found


def flips(text: str, numbers: dict[str, int], seed: int) -> list[Flip]:
    """So many of each kind, drawn evenly among the literals and then among the bits of each."""
    found, of_kind = [], literals(text)
    for kind, number in numbers.items():
        draw = random.Random(f"{seed} {kind}")
        for match in draw.sample(of_kind[kind], number):
            width = int(match[1])
            word = int(match[3], 16) ^ 1 << draw.randrange(width)
            found.append(Flip(kind, match.start(), match.end(), f"{width}'{match[2]}h{word:x}"))
    return found


def is_found(flip: Flip, files: dict[str, str], directory: Path) -> bool:
    """By the testbench, not by a compiler's warning."""
    done = simulated({**files, "tiny.v": flip.of(files["tiny.v"])}, directory, "tiny", clean=False)
    assert (done.returncode == 0) == done.stdout.startswith("PASS")
    return done.returncode != 0


def with_flip(flip: Flip, text: str, entries: np.ndarray, bits: int) -> np.ndarray:
    """The sampler's table with the flip of a word, or of the word of several entries that a loop writes."""
    before = text[text.rfind("\n", 0, text.rfind("\n", 0, flip.start)) + 1:flip.start]
    one, several = re.search(r"\[(\d+)\] = $", before), re.search(r"for \(i = (\d+); i < (\d+);", before)
    where = slice(int(one[1]), int(one[1]) + 1) if one else slice(*map(int, several.groups())) if several else slice(0)
    word = int(flip.literal.split("h")[1], 16)
    changed = entries.copy()
    assert len(changed[where])
    changed[where] = word - (word >> bits - 1 << bits)
    return changed


@GENERATED_FIT_OTHER
@pytest.mark.long
def test_bits_of_the_noise_change_a_label(smallest: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    """By the bit-exact model, which has time for more of them: the share of docs/integration.md."""
    c, text, number = Derived.of(SMALLEST), smallest["tiny.v"], 300
    race = c.sampler
    assert isinstance(race, Race)
    placements = [place(c, problem, run) for problem, run in problems(c)]

    def outcome(p: Placement) -> tuple[bytes, ...]:
        machine = Machine(c, p, p.run, threads=1)
        complete(machine)
        return machine.labels.tobytes(), machine.messages.tobytes(), machine.lmem.tobytes()

    expected, entries, found = [outcome(p) for p in placements], race.gumbel_entries, 0
    for flip in flips(text, {"noise": number}, 7):
        with monkeypatch.context() as patch:
            patch.setitem(race.__dict__, "gumbel_entries", with_flip(flip, text, entries, race.gumbel_bits))
            patch.delitem(race.__dict__, "gumbel_table", raising=False)
            found += any(outcome(p) != was for p, was in zip(placements, expected, strict=True))
            race.__dict__.pop("gumbel_table", None)
    print(f"found {found} of {number} bits of the noise")
    assert found >= NOISE_FOUND


@pytest.mark.tools
@GENERATED_FIT_OTHER
@pytest.mark.long
def test_bits_of_literals_are_found(smallest: dict[str, str], tmp_path: Path):
    """The share of docs/integration.md, of each kind."""
    need("iverilog")
    numbers = {"noise": 4, "squares": 6, "logic": 12}
    found = dict.fromkeys(numbers, 0)
    for flip in flips(smallest["tiny.v"], numbers, 7):
        hit = is_found(flip, smallest, tmp_path)
        found[flip.kind] += hit
        print("found " if hit else "missed", flip.kind, flip.literal, "in", flip.line(smallest["tiny.v"]), flush=True)
    print(f"found {found} of {numbers}")
    assert all(found[kind] >= least for kind, least in FOUND.items()), found


@pytest.mark.tools
def test_another_machine_is_found(smallest: dict[str, str], tmp_path: Path):
    """The digest: a circuit of other parameters fails at its registers."""
    need("iverilog")
    other = generate(Config.preset("smallest", counter_bits=7), Top(prefix="tiny"))
    done = simulated({**smallest, "tiny.v": other["tiny.v"]}, tmp_path, "tiny")
    assert done.returncode != 0
    assert "FAIL: step 2: address 00000002 reads" in done.stdout


def test_problems_use_the_whole_grid_of_what_is_placed():
    """Without padding, whose labels the model does not state."""
    for config in MACHINES.values():
        for problem, run in problems(config):
            p = place(config, problem, run)
            assert p.padded_shape == problem.shape


@GENERATED_FIT_OTHER
def test_problems_read_nearly_all_of_the_noise():
    """Of the smallest machine's table: a word that no draw reads may be any."""
    c = Derived.of(SMALLEST)
    assert isinstance(c.sampler, Race)
    read = np.zeros(len(c.sampler.gumbel_entries), bool)
    for problem, run in problems(c):
        p = place(c, problem, run)
        state = lane_states(run.seed, c.generators)
        for _ in range(len(COLOURS) * p.order.turns * run.sweeps * p.slots):
            step(state, 0)
            read[output(state, 0, c.sampler.uniform_bits)] = True
        machine = Machine(c, p, run, threads=1)
        complete(machine)
        assert (state == machine.random).all()
    assert read.mean() > 0.96


@GENERATED_FIT_OTHER
@pytest.mark.parametrize("bits", [2, 4, 6])
def test_vectors_differ_by_every_number(bits: int):
    """In both components. One of a site's two labels is unlike that of any neighbour, so that all four have the square."""
    cold, _ = close_problems(Config.preset("smallest", vector_bits=bits))
    found = [abs(problem.vectors[0] - problem.vectors[1]) for problem, _ in cold if problem.vectors is not None]
    for component in np.transpose(found):
        assert set(component.tolist()) == set(range(1 << bits))


def test_the_same_bytes_again(smallest: dict[str, str]):
    assert generate(SMALLEST, Top(prefix="tiny"), tested=True) == smallest


def test_core_has_the_target(smallest: dict[str, str], tmp_path: Path):
    core = smallest["tiny.core"]
    assert "    files: [tiny_tb.v]\n" in core
    assert "  sim:\n    default_tool: icarus\n    filesets: [rtl, testbench]\n" in core
    assert core.endswith("    toplevel: tiny_tb\n")
    assert "sim:" not in generate(SMALLEST)["mrfhw_top.core"]
    result = CliRunner().invoke(command, ["--preset", "smallest", "--testbench", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "mrfhw_top_tb.v" in {path.name for path in tmp_path.iterdir()}


def fusesoc(files: dict[str, str], directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """FuseSoC's run of a target of the one core among the files, as docs/integration.md calls it."""
    for name, text in files.items():
        (directory / name).write_text(text)
    core, = re.findall(r"^name: (\S+)$", files["tiny.core"], re.M)
    return subprocess.run(["fusesoc", "--cores-root", ".", "run", *options, core], cwd=directory,
                          env={**os.environ, "HOME": str(directory)},  # nobody's own libraries and settings
                          capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.tools
@FUSESOC_PATH_LINTS
@pytest.mark.long
@pytest.mark.parametrize("made", ["smallest", "with_axi"])
@pytest.mark.parametrize("tool", ["icarus", "verilator"])
def test_fusesoc_runs_the_testbench(tool: str, made: str, request: pytest.FixtureRequest, tmp_path: Path):
    need("fusesoc")
    need({"icarus": "iverilog"}.get(tool, tool))
    done = fusesoc(request.getfixturevalue(made), tmp_path, "--target", "sim", "--tool", tool)
    assert done.returncode == 0, done.stderr[-500:]
    assert re.search(r"^PASS: \d+ steps$", done.stdout, re.M), done.stdout[-500:]


@pytest.mark.tools
@FUSESOC_PATH_LINTS
def test_fusesoc_fails_where_the_testbench_does(smallest: dict[str, str], tmp_path: Path):
    """By its exit status, which is all that a build that calls it looks at. Icarus is the target's own tool."""
    need("fusesoc")
    need("iverilog")
    old, new = MUTATIONS["when a run ends"]
    done = fusesoc({**smallest, "tiny.v": smallest["tiny.v"].replace(old, new)}, tmp_path, "--target", "sim")
    assert done.returncode != 0
    assert re.search(r"^FAIL: step ", done.stdout, re.M), done.stdout[-500:] + done.stderr[-500:]


@pytest.mark.tools
@FUSESOC_PATH_LINTS
def test_fusesoc_runs_lint(smallest: dict[str, str], tmp_path: Path):
    """Without a warning that is not explained: Verilator's warnings are errors, but for those that the core names."""
    need("fusesoc")
    need("verilator")
    done = fusesoc(smallest, tmp_path, "--target", "lint")
    assert done.returncode == 0, done.stderr[-500:]


AXI = Top("axi", prefix="tiny")
AXI_MUTATIONS = {
    "the ring's end": ("== size[31:7]) ?", "== size[31:8]) ?"),
    "whether a block is free": ("!= size[31:7];", "== size[31:7];"),
    "the target of a run": ("assign stream__tvalid = lines__tvalid & target;", "assign stream__tvalid = lines__tvalid & ~target;"),
    "a word's address": ("bus__adr_next = aw_address[15:2];", "bus__adr_next = aw_address[15:2] | 14'h0001;"),
}


@pytest.fixture(scope="module")
def with_axi() -> dict[str, str]:
    return generate(Config.preset("smallest", sampler=SHORT), AXI, tested=True)


@pytest.mark.tools
@GENERATED_FIT_OTHER
def test_axi_ports_pass_on_icarus(with_axi: dict[str, str], tmp_path: Path):
    """A log to memory, over the end of a ring that is small, and one to the stream."""
    need("iverilog")
    done = simulated(with_axi, tmp_path, "tiny")
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


@GENERATED_FIT_OTHER
@pytest.mark.parametrize("top", [
    Top("axi", 8, 12), Top("axi", prefix="tiny"), pytest.param(Top("axi", 1024, 64), marks=pytest.mark.long)],
    ids=lambda top: top.suffix)
def test_logs_are_longer_than_the_ring(top: Top):
    """At every width of the memory port, so that addresses pass the ring's end."""
    files = generate(Config.preset("smallest", line_bits=max(SMALLEST.line_bits, top.data_bits)), top, tested=True)
    text, = (text for name, text in files.items() if name.endswith("_tb.v"))
    size, = (int(found) for found in re.findall(r"if \(position == (\d+)\) position = 0;", text))
    steps = [int(step, 16) for step in re.findall(r"= 67'h([0-9a-f]+);", text)]
    logged = [step & 0xffffffff for step in steps if step >> 64 == RUN]
    assert max(logged) > size > 0
    assert 0 in logged  # and one goes to the stream


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize("top", [Top("axi", 8, 12), Top("axi", 32, 32), Top("axi", 1024, 64)], ids=lambda top: top.suffix)
def test_other_axi_ports_pass_on_icarus(top: Top, tmp_path: Path):
    need("iverilog")
    done = simulated(generate(Config.preset("smallest", line_bits=1024), top, tested=True), tmp_path, "mrfhw_axi_top")
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


@pytest.mark.tools
@GENERATED_FIT_OTHER
@pytest.mark.parametrize("mutation", cases(AXI_MUTATIONS, lambda name: name != "the ring's end"))
def test_a_change_of_axi_ports_is_found(mutation: str, with_axi: dict[str, str], tmp_path: Path):
    need("iverilog")
    old, new = AXI_MUTATIONS[mutation]
    text = with_axi["tiny.v"]
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text: choose another change"
    done = simulated({**with_axi, "tiny.v": text.replace(old, new)}, tmp_path, "tiny")
    assert done.returncode != 0
    assert done.stdout.startswith("FAIL: step "), done.stdout[-500:]
