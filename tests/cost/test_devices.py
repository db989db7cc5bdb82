"""What a machine needs of an FPGA, estimated: beside synthesized machines, kept builds, and what the command says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import DEVICES, FAMILIES, device_named, device_of
from mrfhw.cost.logic import GROUPS, MODEL, logic_of
from mrfhw.field.problem import ProblemError
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.report import link_of
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf
from mrfhw.tuning.points import points_of
from studies.logic_fit import EXAMPLES, fit, machines, whole_boards
from studies.whole_boards import FAMILIES as FAMILIES_OF_BOARDS
from studies.whole_boards import Compared

DOES_FIT_FPGA = pytest.mark.claim("boards",
    "what does not fit an FPGA by count is refused before anything is written; the estimate's errors are those of synthesized "
    "machines")
LOGIC_KEPT_BUILDS = pytest.mark.claim("builds",
    "the logic of kept builds is that of the estimate and a link, as nextpnr packs it; what may not fit is said by estimate and "
    "build alike")

RESULTS = Path(__file__).parents[2] / "mrfhw" / "fpga" / "results"
DEVICE_OF = {"ecp5": "LFE5U-85F", "ice40": "iCE40UP5K", "gowin": "GW2AR-18C", "xilinx": "xc7a100t",
             "cyclone5": "5CSEBA6"}


@DOES_FIT_FPGA
def test_the_model_is_that_of_the_samples() -> None:
    assert json.loads(MODEL.read_text()) == json.loads(json.dumps(fit([*machines(), *whole_boards()])))
    assert json.loads(MODEL.read_text())["features"] == {name: list(of(EXAMPLES[name])) for name, of in GROUPS.items()}


@DOES_FIT_FPGA
@pytest.mark.parametrize("family", DEVICE_OF)
def test_blocks_are_near_to_those_of_synthesis(family: str) -> None:
    own = [one for one in machines() if one.family == family]
    found = [Cost.of(one.config, device=DEVICES[DEVICE_OF[family]]).needs for one in own]
    # Yosys has no true dual port of an M10K, and makes two of a table that two lanes read; narrow products it makes of logic there.
    limit = 5 if family == "cyclone5" else 3
    for kind in ("ram", "dsp"):
        errors = [abs(getattr(need, kind) - one.cells[kind]) for need, one in zip(found, own, strict=True)]
        assert np.mean(errors) < limit, (kind, errors)


@DOES_FIT_FPGA
@pytest.mark.parametrize("family", FAMILIES_OF_BOARDS)
def test_blocks_of_whole_boards_are_those_of_synthesis(family: str) -> None:
    """With their links, as Yosys maps them: multipliers of all, memories of most, and of the others within two."""
    own = [one for one in points_of(families=[family]) if one.board and one.truth == "synthesized" and not one.failure]
    found = [Compared.of(one, []) for one in own]
    assert len({str(one.parameters) for one in own}) >= 15
    assert all(one.multipliers[0] == one.multipliers[1] for one in found)
    assert sum(one.blocks[0] == one.blocks[1] for one in found) >= 0.85 * len(found)
    assert all(abs(one.blocks[0] - one.blocks[1]) <= 2 for one in found)


@DOES_FIT_FPGA
@pytest.mark.parametrize("record", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_kept_builds_fit_by_count(record: Path) -> None:
    held = json.loads(record.read_text())
    config, device = Config.from_dict(held["config"]), device_of(held["device"])
    assert device is not None
    board = BOARDS[held["board"]]
    cost = Cost.of(config, device=device, link=link_of(held))
    assert cost.too_much is None
    used = held["resources"]
    blocks = sum(cell["used"] for name, cell in used.items() if name in ("DP16KD", "ICESTORM_RAM", "BSRAM"))
    # Reader and writer of a log in SDRAM have four.
    assert -5 <= blocks - cost.needs.ram <= (4 if board.sdram else 0)


@LOGIC_KEPT_BUILDS
@pytest.mark.parametrize("record", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_the_logic_of_kept_builds_is_that_of_the_estimate_and_a_link(record: Path) -> None:
    """As nextpnr packs it. A link takes 600 to 7,500 cells: a UART on an iCE40, Ethernet."""
    held = json.loads(record.read_text())
    device = device_of(held["device"])
    assert device is not None
    found = Cost.of(Config.from_dict(held["config"]), device=device).needs
    used = next(held["resources"][name]["used"] for name in ("TRELLIS_COMB", "ICESTORM_LC", "LUT4") if name in held["resources"])
    estimated, margin = found.shares["lut"][0], 1 + found.logic.largest_error
    assert estimated / margin + 600 < used < estimated * margin + 7500


# Cells of the tools that place and route, by what they are called here.
AVAILABLE = {"DP16KD": "ram", "ICESTORM_RAM": "ram", "BSRAM": "ram", "MULT18X18D": "dsp", "ICESTORM_DSP": "dsp", "MULT18X18": "dsp",
             "TRELLIS_COMB": "lut", "ICESTORM_LC": "lut", "LUT4": "lut", "TRELLIS_FF": "ff", "DFF": "ff"}


@pytest.mark.parametrize("record", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_devices_have_what_the_tools_say(record: Path) -> None:
    held = json.loads(record.read_text())
    device = device_of(held["device"])
    said = {AVAILABLE[name]: cell["available"] for name, cell in held["resources"].items() if name in AVAILABLE}
    assert {"ram", "dsp", "lut"} <= set(said)
    assert {name: getattr(device, name) for name in said} == said


@LOGIC_KEPT_BUILDS
@pytest.mark.parametrize("family", FAMILIES)
def test_every_machine_has_its_logic(family: str) -> None:
    for preset in ("default", "paper-16x1", "census", "census-subsets"):
        found = logic_of(Config.preset(preset), family)
        assert found.cells["lut"] > 1000
        assert 0 < found.median_error < found.largest_error < 0.6


def test_arria_10_has_the_logic_of_cyclone_v() -> None:
    for config in (Config(), Config.preset("census")):
        assert logic_of(config, "arria10") == logic_of(config, "cyclone5")


def test_every_family_has_a_device_and_every_board_a_family() -> None:
    assert {device.family for device in DEVICES.values()} == set(FAMILIES)
    assert {board.family for board in BOARDS.values()} == set(FAMILIES)


def test_the_log_s_ring_is_counted() -> None:
    """Twelve tiles of eight lanes fit an ECP5-85F beside 16 KiB of log, and not beside the board's 32."""
    board = BOARDS["ecpix5-85f"]
    device = device_named(board.device)
    config = Config.preset("census", lanes=8, mesh_rows=12, mesh_cols=1, tile_rows=32)
    assert Cost.of(config, device=device, link=replace(board, log_bytes=1 << 14).link()).too_much is None
    assert Cost.of(config, device=device, link=board.link()).too_much == "215 memory blocks, and LFE5UM5G-85F has 208"


def test_every_board_of_ours_fits_its_device() -> None:
    for board in BOARDS.values():
        device = device_of(board.device)
        assert device is not None
        cost = Cost.of(Config.preset(board.preset), device=device, link=board.link())
        assert cost.too_much is None, board.name
        assert cost.refusal is None
        most = cost.largest
        assert most is not None
        assert most.mesh_rows * most.mesh_cols >= Config.preset(board.preset).mesh_rows * Config.preset(board.preset).mesh_cols


@pytest.mark.slow
@LOGIC_KEPT_BUILDS
def test_what_may_be_too_much_is_said(tmp_path: Path) -> None:
    """Small memories that are too many become logic, where there is room for it; both count the board's link."""
    board = ["--board", "tang-nano-20k", "--mesh", "1x3", "--tile-rows", "32"]
    said, words = CliRunner().invoke(main, ["estimate", *board]).stdout, "49 memory blocks, and GW2AR-18C has 46"
    assert "memory blocks            49 of      46" in said
    assert f"it may not fit: {words}\n" in said
    built = CliRunner().invoke(main, ["build", *board, "--no-build", "-o", str(tmp_path)])
    assert (built.exit_code, built.stderr) == (0, f"machine and link may not fit: {words}\n")


@LOGIC_KEPT_BUILDS
@pytest.mark.parametrize(("board", "words"), [
    (["icebreaker", "--mesh", "1x2"], r"about \d+ LUTs, and iCE40UP5K has 5280"),
    (["ecpix5-85f", "--lanes", "8", "--mesh", "12x1", "--tile-rows", "32"], "215 memory blocks, and LFE5UM5G-85F has 208")])
def test_what_is_too_much_is_refused_alike(board: list[str], words: str) -> None:
    said = CliRunner().invoke(main, ["estimate", "--board", *board]).stdout
    assert re.search(f"^it does not fit: {words}$", said, re.M), said
    built = CliRunner().invoke(main, ["build", "--board", *board, "--no-build", "-o", "never"])
    assert built.exit_code == 2
    assert re.search(f"^Error: machine and link take {words}; ", built.stderr), built.stderr


def test_more_than_there_is() -> None:
    config = Config(mesh_rows=2, mesh_cols=32)
    found = Cost.of(config, device=DEVICES["xc7a35t"]).too_much
    assert found is not None
    assert "and xc7a35t has" in found
    assert Cost.of(Config(tile_rows=256, tile_cols=256), device=DEVICES["iCE40UP5K"]).largest is None
    wide = Config.preset("icebreaker", mesh_cols=8, sampler=Cdf(uniform_bits=10), tile_rows=2, tile_cols=4, counter_bits=3)
    assert re.fullmatch(r"about \d+ LUTs, and iCE40UP5K has 5280", Cost.of(wide, device=DEVICES["iCE40UP5K"]).too_much or "")


@pytest.mark.parametrize("preset", ["paper-16x1", "paper-16x2", "tang-nano-9k"])
def test_what_no_larger_machine_can_have_ends_the_search(preset: str) -> None:
    most = Cost.of(Config.preset(preset), device=DEVICES["10AX115"]).largest
    assert most is not None


def test_a_board_is_estimated_with_its_own_machine() -> None:
    said = CliRunner().invoke(main, ["estimate", "--board", "icebreaker"]).stdout
    assert "it fits by count" in said
    assert said == CliRunner().invoke(main, ["estimate", "--preset", "icebreaker", "--board", "icebreaker"]).stdout


def test_the_command() -> None:
    said = CliRunner().invoke(main, ["estimate", "--device", "LFE5U-45F", "--mesh", "2x2"])
    assert said.exit_code == 0, said.output
    for part in ("LFE5U-45F, without a link:", "memory blocks", "of   43848", "wrong by", "largest mesh of these tiles"):
        assert part in said.stdout
    found = json.loads(CliRunner().invoke(main, ["estimate", "--board", "arty-a7-35", "--mesh", "2x32", "--json"]).stdout)["device"]
    assert found["name"] == "xc7a35t"
    assert found["too_much"]
    said = CliRunner().invoke(main, ["estimate", "--board", "de10-nano"]).stdout
    assert re.search(r"^  ALMs +~ +\d+ of   41910$", said, re.M), said


@DOES_FIT_FPGA
@pytest.mark.parametrize(("words", "message"), [
    (["estimate", "--device", "XCVU9P"], "device is 'XCVU9P'; those known are LFE5U-12F"),
    (["estimate", "--device", "LFE5U-45F", "--board", "icebreaker"], "drop one of them"),
    (["estimate", "--board", "nexys"], "board is 'nexys'"),
    (["build", "--board", "arty-a7-35", "--mesh", "2x32", "--no-build", "-o", "never"], "would fit by count: give fewer SPEs"),
    (["build", "--board", "icebreaker", "--preset", "default", "-o", "never"], "memory blocks, and iCE40UP5K has 30; no tile"),
])
def test_refusals(words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 2
    assert message in said.stderr
    assert said.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.tools
def test_a_project_has_its_manifest(tmp_path: Path) -> None:
    said = CliRunner().invoke(main, ["build", "--board", "arty-a7-35", "--no-build", "-o", str(tmp_path)])
    assert said.exit_code == 0, said.output
    assert "#define" in (tmp_path / "mrfhw_top.h").read_text()
    again = CliRunner().invoke(main, ["estimate", "--machine", str(tmp_path / "manifest.json")])
    assert again.stdout == CliRunner().invoke(main, ["estimate", "--preset", "arty-a7-35"]).stdout


def test_a_device_by_name() -> None:
    assert device_named("lfe5u-85f-6BG381C").name == "LFE5U-85F"
    with pytest.raises(ProblemError):
        device_named("")


@pytest.mark.parametrize("name", [board.name for board in BOARDS.values() if board.open_flow])
def test_the_largest_mesh_fits_by_count(name: str) -> None:
    """As `mrfhw estimate` says of the same mesh."""
    board = BOARDS[name]
    cost = Cost.of(Config.preset(board.preset), device=device_named(board.device), link=board.link())
    assert cost.largest is not None
    assert replace(cost, config=Derived.of(cost.largest)).perhaps_too_much is None


def test_seconds_of_a_run_on_a_board_go_with_the_delay() -> None:
    """Each request is there and back."""
    options = ["estimate", "--board", "icebreaker", "--labels", "8", "--sweeps", "200"]
    near, far = (json.loads(CliRunner().invoke(main, [*options, *more, "--json"]).stdout)["run_s"]
                 for more in ((), ("--delay", "4")))
    assert far["seconds"] == pytest.approx(near["seconds"] + 0.008 * far["requests"], rel=0.1)
    assert f"to the answer: {near['seconds']:.3g} s" in CliRunner().invoke(main, options).stdout
    refused = CliRunner().invoke(main, [*options, "--delay", "1001"])
    assert refused.exit_code == 2
    assert "delay is 1001; a byte is 0 to 1000 ms under way: give a number between them" in refused.output
