"""A board that a file outside the package describes: the page's example, and what is no board."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from amaranth.build import Clock, DiffPairs, Resource
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.fpga.boards import BOARDS, Board, board_named
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.own_board import checked
from mrfhw.fpga.vendor_boards import ArtyA7With35, De10Nano

FILE_BOARD_PLATFORM = pytest.mark.claim("boards",
    "a file's board that its platform contradicts, or that nothing can be built of, is refused in one line before anything is "
    "written")

PAGE = Path(__file__).parents[2] / "docs" / "boards.md"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "my_board.py"
    path.write_text(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])
    return path


@pytest.mark.claim(
    "boards", "a board may be a file outside the package, and is known by its digest where its machine was generated")
def test_the_example_is_a_project(example: Path, tmp_path: Path) -> None:
    said = CliRunner().invoke(main, ["build", "--board", str(example), "--no-build", "-o", str(tmp_path / "out")])
    assert said.exit_code == 0, said.output
    assert "wrote the project of 1x1 at 40 MHz" in said.output
    pins = (tmp_path / "out" / "top.lpf").read_text()
    assert 'SITE "P6"' in pins
    assert 'SITE "R13"' in pins
    assert "--25k" in (tmp_path / "out" / "build_top.sh").read_text()


def test_the_example_is_estimated(example: Path) -> None:
    said = CliRunner().invoke(main, ["estimate", "--board", str(example), "--preset", "smallest", "--json"])
    assert json.loads(said.stdout)["device"]["name"] == "LFE5U-25F"


@pytest.mark.parametrize(("text", "message"), [
    ("BOARD = 3", "has no BOARD that is a mrfhw.fpga.boards.Board"), ("x = 1", "has no BOARD"),
    ("1 / 0", "does not run (ZeroDivision"),
    ("raise SystemExit(3)", "does not run (SystemExit: 3"), ("def", "does not run (SyntaxError"),
    ("import no_such_module", "does not run (ModuleNotFoundError")])
def test_what_is_no_board_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "b.py"
    path.write_text(text)
    with pytest.raises(BuildError, match=re.escape(message)) as caught:
        board_named(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(BuildError, match="cannot be read"):
        board_named("no/such/board.py")


def test_a_board_of_another_family(example: Path) -> None:
    example.write_text(example.read_text().replace('family="ecp5"', 'family="spartan"'))
    with pytest.raises(BuildError, match="has family 'spartan'; those known are ecp5"):
        board_named(str(example))


def refusal(path: Path, *changes: tuple[str, str]) -> str:
    """What `mrfhw build` says of the example with these changes: one line, before anything is written."""
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)
    out = path.parent / "out"
    said = CliRunner().invoke(main, ["build", "--board", str(path), "--no-build", "-o", str(out)])
    assert said.exit_code == 2, (said.output, said.exception)
    assert said.output.startswith("Error: ")
    assert said.output.count("\n") == 1
    assert sorted(path.parent.iterdir()) == [path]
    return said.output.removeprefix("Error: ").replace(str(path), "x.py").rstrip("\n")


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize(("old", "new", "message"), [
    ("oscillator_hz=25_000_000", "oscillator_hz=12_000_000",
     "has oscillator_hz 12000000, and its platform's 'clk25' has Clock(25000000): give both what the board's oscillator has"),
    ("Clock(25e6)", "Clock(100e6)", "has oscillator_hz 25000000, and its platform's 'clk25' has Clock(100000000)"),
    ('family="ecp5"', 'family="gowin"', "has family 'gowin', and its platform MyPlatform is of family 'ecp5'"),
    ('device="LFE5U-25F"', 'device="LFE5U-85F"', "has device 'LFE5U-85F', and its platform MyPlatform is of a 'LFE5U-25F'"),
    ('device="LFE5U-25F"', 'device="LFE5U"', "has device 'LFE5U', and its platform MyPlatform is of a 'LFE5U-25F'")])
def test_a_board_that_its_platform_contradicts(example: Path, old: str, new: str, message: str) -> None:
    assert message in refusal(example, (old, new))


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize("name", ["../../evil", "", ".", "..", "a b", "a/b", "a\\n", "-a", "a" * 65])
def test_a_name_that_is_no_folder(example: Path, name: str) -> None:
    assert "its folder is called so" in refusal(example, ('name="my-board"', f'name="{name}"'))


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize(("old", "new", "message"), [
    ('Resource("uart"', 'Resource("serial"', "has a platform without the resource 'uart' 0"),
    ('Subsignal("rx"', 'Subsignal("rxd"', "has a platform whose resource 'uart' 0 has no 'rx'; it needs rx, tx"),
    ('Pins("R13", dir="i")', 'Pins("R13", dir="o")', "whose 'rx' of 'uart' 0 has dir='o': give dir='i'"),
    ('"R13"', '"R13 R12"', "whose 'rx' of 'uart' 0 has 2 pins; it must be 1"),
    ('"R13"', '"R14"', "has a platform whose resource 'uart' 0 cannot be used (ResourceError: "),
    ('"R13"', '"1", conn=("pmod", 0)', "has a platform whose resource 'uart' 0 cannot be used (NameError: "),
    ('Resource("uart", 0', 'Resource("uart", 1', "has a platform without the resource 'uart' 0"),
    ('default_clk = "clk25"', 'default_clk = "clk"', "has a platform without the resource 'clk' 0, which is its default_clk; "
                                                     "it has clk25 0, uart 0: give MyPlatform that resource"),
    ('default_clk = "clk25"', "default_rst = None", "has a platform with default_clk None"),
    ("Clock(25e6), ", "", "has a platform whose 'clk25' has no frequency: give it a Clock(25000000)"),
    ('Pins("P6", dir="i"), Clock(25e6)', 'Subsignal("p", Pins("P6", dir="i"), Clock(25e6))',
     "resource 'clk25' 0 has Subsignals; it must be pins"),
    ("preset=", "usb=True, preset=", "has a platform without the resource 'usb' 0"),
    ("preset=", "ethernet=Ethernet(), preset=", "has a platform without the resource 'eth_rgmii' 0"),
    ("preset=", "sdram=True, preset=", "has a platform without the resource 'sdram' 0")])
def test_a_platform_without_what_a_machine_needs(example: Path, old: str, new: str, message: str) -> None:
    import_ethernet = ("import Board\n", "import Board\nfrom mrfhw.generation.ethernet_core import Ethernet\n")
    assert message in refusal(example, import_ethernet, (old, new))


@FILE_BOARD_PLATFORM
def test_long_answers_are_cut_between_words(example: Path) -> None:
    assert refusal(example, ('"R13"', '"R14"')).endswith(
        "it is already used by resource component uart_0.rx that was...): see docs/boards.md")
    example.write_text(re.sub("name=\"my-board\"", f"name=\"{200 * 'a'}\"", example.read_text()))
    assert f"has name '{116 * 'a'}...; its folder" in refusal(example, ('"R14"', '"R13"'))


@pytest.mark.tools
@FILE_BOARD_PLATFORM
@pytest.mark.parametrize(("old", "new", "message"), [
    ("LFE5U-25F", "LFE5U-26F", "has a platform with the device 'LFE5U-26F'; nextpnr's are LFE5U-12F, LFE5U-25F, "),
    ("BG256", "BG257", "has a platform with the package 'BG257'; nextpnr's are BG256, "),
    ("LFE5U-25F", "GW1NR-9C", "has a platform that cannot be made (ValueError: Device 'GW1NR-9C' is not recognized)"),
    ("    connectors = []", "", "has a platform that cannot be made (TypeError: "),
    ("platform=MyPlatform", 'platform=("no_such_module", "Platform")', "that cannot be made (ModuleNotFoundError: "),
    ("platform=MyPlatform", "platform=dict", "has a platform that is {}; it must be one of Amaranth's"),
    ("platform=MyPlatform", "platform=lambda made=MyPlatform(): made", "has a platform that is the same each time"),
    ("platform=MyPlatform", 'platform=lambda: MyPlatform(toolchain="Diamond")', "has a platform with the tools 'Diamond'")])
def test_a_platform_that_nothing_can_be_made_of(example: Path, old: str, new: str, message: str) -> None:
    assert message in refusal(example, (old, new))


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize(("old", "new", "message"), [
    ("platform=MyPlatform", 'platform="MyPlatform"', "has platform 'MyPlatform'; it must be the platform's class itself, or "),
    ("platform=MyPlatform", "platform=MyPlatform()", "has platform <"),
    ("clock_hz=40_000_000", 'clock_hz="40"', "has clock_hz '40'; it must be a whole number"),
    ("clock_hz=40_000_000", "clock_hz=40e6 + 0.5", "has clock_hz 40000000.5; it must be a whole number"),
    ("clock_hz=40_000_000", "clock_hz=None", "has clock_hz None; it must be a whole number"),
    ("baud=1_000_000", "baud=True", "has baud True; it must be a whole number"),
    ('name="my-board"', "name=3", "has name 3; it must be a text"),
    ("preset=", "usb=1, preset=", "has usb 1; it must be True or False"),
    ("preset=", "ethernet=True, preset=", "has ethernet True; it must be an Ethernet, or None"),
    ("preset=", 'link_hz="20", preset=', "has link_hz '20'; it must be a whole number, or None"),
    ('"--compress"', "True", "has options {'ecppack_opts': True}; it must be a dictionary of texts"),
    ('"ecppack_opts"', '"ecpack_opts"', "has options with 'ecpack_opts'; MyPlatform takes add_preferences, ecppack_opts, "),
    ('"ecppack_opts"', '"script_after_synth"', "has options with 'script_after_synth'; MyPlatform takes add_preferences, "),
    ('preset="smallest"', 'preset="small"', "has preset 'small'; the presets are default, "),
    ("preset=", 'mapping="flow4", preset=', "has mapping 'flow4'; Yosys has flow, flow2 and flow3")])
def test_fields_of_another_type(example: Path, old: str, new: str, message: str) -> None:
    assert message in refusal(example, (old, new))


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize("name", ["oscillator_hz", "clock_hz", "link_hz"])
@pytest.mark.parametrize("hz", [-5, 0, 1, 60, 999_999, 1_000_000_001])
def test_clocks_beyond_the_limits(example: Path, name: str, hz: int) -> None:
    path = example
    path.write_text(re.sub(f"{name}=[0-9_]+, ", "", path.read_text()))
    assert refusal(path, ("preset=", f"{name}={hz}, preset=")) == (
        f"the board in x.py has {name} {hz}; a clock has 1000000 to 1000000000 Hz: give one between them")


def test_a_link_slower_than_the_plls_dividers(example: Path) -> None:
    assert refusal(example, ("preset=", "link_hz=3_000_000, preset=")) == (
        "link_hz is 3000000; beside the machine's 40 MHz this board's PLL makes 3125000 Hz or more: give as many")


def test_an_oscillator_that_the_pll_does_not_take(example: Path) -> None:
    assert refusal(example, ("oscillator_hz=25_000_000", "oscillator_hz=2_500_000"), ("25e6", "2.5e6")) == (
        "clock is 40 MHz; this board's PLL makes no such clock from 2.5 MHz: give another, such as the oscillator's")


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_the_boards_of_the_package_are_such(board: Board) -> None:
    assert checked(board, "x.py") == board


def test_what_agrees_in_another_spelling(example: Path) -> None:
    text = example.read_text()
    for old, new in (('device="LFE5U-25F"', 'device="lfe5u-25f-6bg256"'), ("clock_hz=40_000_000", "clock_hz=40e6"),
                     ("oscillator_hz=25_000_000", "oscillator_hz=33_333_333"), ("25e6", "100e6 / 3")):
        text = text.replace(old, new)
    example.write_text(text)
    board = board_named(str(example))
    assert (board.clock_hz, type(board.clock_hz)) == (40_000_000, int)
    arty = dataclasses.replace(BOARDS["arty-a7-35"], device="xc7a35t")
    assert checked(arty, "x.py") == arty


@FILE_BOARD_PLATFORM
@pytest.mark.parametrize(("board", "changes", "message"), [
    ("arty-a7-35", dict(open_flow=True), "has open_flow, and its family is 'xilinx'; open tools make bitstreams of ecp5, ice40, "),
    ("arty-a7-35", dict(device="xc7a100tcsg324-1"), "has device 'xc7a100tcsg324-1', and its platform ArtyA7With35"),
    ("arty-a7-35", dict(platform=De10Nano), "has family 'xilinx', and its platform De10Nano is of family 'cyclone5'"),
    ("de10-nano", dict(family="arria10"), "has family 'arria10', and its platform De10Nano is of family 'cyclone5'"),
    ("de10-nano", dict(platform=ArtyA7With35), "has family 'cyclone5', and its platform ArtyA7With35 is of family 'xilinx'"),
    ("de10-nano", dict(platform=type("Mine", (De10Nano,), {"family": "Cyclone 5"})),
     "has a platform of family 'Cyclone 5'; Quartus calls cyclone5 'Cyclone V'"),
    ("de10-nano", dict(platform=type("Mine", (De10Nano,), {"resources": [
        Resource("clk50", 0, DiffPairs("V11", "W11", dir="i"), Clock(50e6))]})),
     "has a platform whose resource 'clk50' 0 is a pair of pins; ecp5 and gowin have such here: give Pins"),
    ("tang-nano-9k", dict(device="GW1NR-9"), "has device 'GW1NR-9', and its platform TangNano9kPlatform is of a 'GW1NR-9C'"),
    ("icebreaker", dict(family="ecp5"), "has family 'ecp5', and its platform ICEBreakerPlatform is of family 'ice40'"),
    ("icebreaker", dict(device="iCE40HX8K"), "has device 'iCE40HX8K', and its platform ICEBreakerPlatform is of a 'iCE40UP5K'"),
    ("icebreaker", dict(link_hz=6_000_000), "has link_hz, and its family is 'ice40'; only an ecp5 has it here"),
    ("icebreaker", dict(usb=True), "has usb, and its family is 'ice40'; only an ecp5 has it here"),
    ("ecpix5-85f", dict(usb=True), "has ethernet and usb; a machine has one link")])
def test_boards_of_every_family(board: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(BuildError, match=re.escape(message)):
        checked(dataclasses.replace(BOARDS[board], **changes), "x.py")
