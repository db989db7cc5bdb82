"""The generated testbench: it passes on machines as they are, and finds a change of any part."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.generate import command
from mrfhw.generation.files import Top, generate
from mrfhw.generation.testbench_problems import problems
from mrfhw.generation.testbench_text import RUN
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import SAMPLERS
from mrfhw.placement.placement import place
from mrfhw.sessions.driver import Driver

SMALLEST = Config.preset("smallest")
MACHINES = {
    "smallest": SMALLEST,
    "cdf": Config.preset("smallest", sampler=SAMPLERS["cdf"]()),
    "2x2 tiles of 2": Config.preset("smallest", mesh_rows=2, mesh_cols=2, spus=2),
    "hubs that pass lines": Config.preset("smallest", mesh_rows=2, mesh_cols=3, hub_fan_in=2, line_levels=2),
    "lanes and a table alone": Config.preset("smallest", lanes=4, tile_cols=16, lmem_banks=4, label_bits=3, doubletons="table",
                                             pairwise_bits=2, vector_bits=0, shift_bits=0),
    "subsets of the slots": Config.preset("smallest", lanes=2, tile_cols=16, lmem_banks=4, label_bits=4, subset_slots=3,
                                          mesh_cols=2),
    "all options": Config.preset("smallest", mesh_cols=2, spus=4, lmem_banks=4, distance="both", data_bits=4, data_bits_2=5,
                                 data_bits_3=3, singleton_cap=1, pairwise_bits=5, edge_bits=2, label_bits=3),
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
    "when a run ends": ("enough_next[0] = following >= registers[77:46];", "enough_next[0] = following > registers[77:46];"),
}
# One of each part: the data path, the label memory and the scheduler.
ALWAYS = ("the sum of the energies", "which messages are sent", "when a run ends")


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def simulated(files: dict[str, str], directory: Path, name: str) -> subprocess.CompletedProcess[str]:
    """The testbench of top `name`, in Icarus."""
    for end in (".v", "_tb.v"):
        (directory / f"{name}{end}").write_text(files[f"{name}{end}"])
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-s", f"{name}_tb", "-o", "tb", f"{name}_tb.v", f"{name}.v"],
                          cwd=directory, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return subprocess.run(["vvp", "-n", "tb"], cwd=directory, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def smallest() -> dict[str, str]:
    return generate(SMALLEST, Top(prefix="tiny"), driver=Driver)


@pytest.mark.parametrize("machine", [
    pytest.param(name, marks=[pytest.mark.long] * (name != "lanes and a table alone")) for name in MACHINES])
def test_machines_pass_on_icarus(machine: str, tmp_path: Path):
    need("iverilog")
    done = simulated(generate(MACHINES[machine], driver=Driver), tmp_path, "mrfhw_top")
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


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


@pytest.mark.parametrize("mutation", [
    pytest.param(name, marks=[pytest.mark.long] * (name not in ALWAYS)) for name in MUTATIONS])
def test_a_change_is_found(mutation: str, smallest: dict[str, str], tmp_path: Path):
    need("iverilog")
    old, new = MUTATIONS[mutation]
    text = smallest["tiny.v"]
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text: choose another change"
    done = simulated({**smallest, "tiny.v": text.replace(old, new)}, tmp_path, "tiny")
    assert done.returncode != 0
    assert done.stdout.startswith("FAIL: step "), done.stdout[-500:]


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


def test_the_same_bytes_again(smallest: dict[str, str]):
    assert generate(SMALLEST, Top(prefix="tiny"), driver=Driver) == smallest


def test_core_has_the_target(smallest: dict[str, str], tmp_path: Path):
    core = smallest["tiny.core"]
    assert "    files: [tiny_tb.v]\n" in core
    assert "  sim:\n    default_tool: icarus\n    filesets: [rtl, testbench]\n" in core
    assert core.endswith("    toplevel: tiny_tb\n")
    assert "sim:" not in generate(SMALLEST)["mrfhw_top.core"]
    result = CliRunner().invoke(command, ["--preset", "smallest", "--testbench", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "mrfhw_top_tb.v" in {path.name for path in tmp_path.iterdir()}


AXI = Top("axi", prefix="tiny")
AXI_MUTATIONS = {
    "the ring's end": ("== size[31:7]) ?", "== size[31:8]) ?"),
    "whether a block is free": ("!= size[31:7];", "== size[31:7];"),
    "the target of a run": ("assign stream__tvalid = lines__tvalid & target;", "assign stream__tvalid = lines__tvalid & ~target;"),
    "a word's address": ("bus__adr_next = aw_address[15:2];", "bus__adr_next = aw_address[15:2] | 14'h0001;"),
}


@pytest.fixture(scope="module")
def with_axi() -> dict[str, str]:
    return generate(SMALLEST, AXI, driver=Driver)


def test_axi_ports_pass_on_icarus(with_axi: dict[str, str], tmp_path: Path):
    """A log to memory, over the end of a ring that is small, and one to the stream."""
    need("iverilog")
    done = simulated(with_axi, tmp_path, "tiny")
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


@pytest.mark.parametrize("top", [Top("axi", 8, 12), Top("axi", prefix="tiny"), Top("axi", 1024, 64)], ids=lambda top: top.suffix)
def test_logs_are_longer_than_the_ring(top: Top):
    """At every width of the memory port, so that addresses pass the ring's end."""
    files = generate(Config.preset("smallest", line_bits=max(SMALLEST.line_bits, top.data_bits)), top, driver=Driver)
    text, = (text for name, text in files.items() if name.endswith("_tb.v"))
    size, = (int(found) for found in re.findall(r"if \(position == (\d+)\) position = 0;", text))
    steps = [int(step, 16) for step in re.findall(r"= 67'h([0-9a-f]+);", text)]
    logged = [step & 0xffffffff for step in steps if step >> 64 == RUN]
    assert max(logged) > size > 0
    assert 0 in logged  # and one goes to the stream


@pytest.mark.long
@pytest.mark.parametrize("top", [Top("axi", 8, 12), Top("axi", 32, 32), Top("axi", 1024, 64)], ids=lambda top: top.suffix)
def test_other_axi_ports_pass_on_icarus(top: Top, tmp_path: Path):
    need("iverilog")
    done = simulated(generate(Config.preset("smallest", line_bits=1024), top, driver=Driver), tmp_path, "mrfhw_axi_top")
    assert (done.returncode, done.stdout[:4]) == (0, "PASS"), done.stdout[-500:]


@pytest.mark.parametrize("mutation", [
    pytest.param(name, marks=[pytest.mark.long] * (name != "the ring's end")) for name in AXI_MUTATIONS])
def test_a_change_of_axi_ports_is_found(mutation: str, with_axi: dict[str, str], tmp_path: Path):
    need("iverilog")
    old, new = AXI_MUTATIONS[mutation]
    text = with_axi["tiny.v"]
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text: choose another change"
    done = simulated({**with_axi, "tiny.v": text.replace(old, new)}, tmp_path, "tiny")
    assert done.returncode != 0
    assert done.stdout.startswith("FAIL: step "), done.stdout[-500:]
