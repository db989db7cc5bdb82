"""Kept builds, and the table beside the published prototype."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.commands.build import stereo_workload
from mrfhw.cost.cost import Cost
from mrfhw.cost.links import BoardLink
from mrfhw.cost.picture import PICTURE, PictureTime
from mrfhw.cost.rates import Workload
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.records import interface_of
from mrfhw.fpga.report import PUBLISHED, RESULTS, kept_clock, kept_records, link_of, picture_of
from mrfhw.generation.generated import Verilog
from mrfhw.generation.modules import circuit_text
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.machine.samplers import Race
from mrfhw.twin import machine
from studies.bench.rows import built

BOARD_OWN_MACHINE = pytest.mark.claim("build records",
    "each board's own machine was built, and what the documents say of it is the record's (the present circuit: make long)")
PICTURES = pytest.mark.claim("build records",
    "seconds of a whole picture are those of the bitstream's own clock, with all that goes over the link")
RATE_MACHINE_LOG = pytest.mark.claim(
    "build records", "the rate of a machine's log counts every message, those of a long run as well")


def report(*arguments: str):
    return CliRunner().invoke(main, ["report", *arguments])


def test_every_kept_record_is_of_a_machine_that_can_be_built():
    for record in kept_records():
        config = Derived.from_dict(record["config"])
        assert record["board"] in BOARDS
        assert record["lanes"] == config.clusters * config.all_lanes
        assert record["design"] == config.size
        assert record["timing_met"] or record["clock_hz"] > record["machine_fmax_hz"]
        assert record["labels_per_s"] == pytest.approx(record["lanes"] * record["machine_fmax_hz"] * record["utilization"])


@BOARD_OWN_MACHINE
def test_each_board_s_own_machine_was_built():
    kept = {(record["board"], Derived.from_dict(record["config"])) for record in kept_records()}
    assert kept >= {(board.name, Derived.preset(board.preset)) for board in BOARDS.values() if board.open_flow}


@BOARD_OWN_MACHINE
@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_rates_of_kept_builds_follow_from_clock_and_workload(path):
    record = json.loads(path.read_text())
    board, config, log = BOARDS[record["board"]], Derived.from_dict(record["config"]), record["log"]
    assert kept_clock(board.name, config) == record["clock_hz"]
    work = Workload(0, 0, 1, record["utilization"], log["bytes_per_label_evaluation"], 1)
    memory_hz = record["machine_fmax_hz" if record["link_clock_hz"] == record["clock_hz"] else "link_clock_hz"]
    link = board.link(record["baud"], memory_hz)
    rate = Cost.of(config, link=link, clock_hz=record["machine_fmax_hz"], work=work).rate
    assert rate.labels_per_s == pytest.approx(record["labels_per_s"])
    assert (rate.logged, rate.binds) == (pytest.approx(log["labels_per_s"]), log["binds"])
    assert link.bytes_per_s == pytest.approx(log["link_bytes_per_s"])
    assert (rate.memory is None) == (log["memory"] is None)
    if rate.memory:
        assert dataclasses.asdict(rate.memory) == pytest.approx(log["memory"])


def test_no_clock_of_a_machine_that_was_not_built():
    assert kept_clock("icebreaker", Config()) is None


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_records_are_of_the_present_circuit(path):
    record = json.loads(path.read_text())
    if interface_of(record) != INTERFACE_VERSION:
        pytest.skip(f"placed and routed with interface {interface_of(record)}")
    config = Config.from_dict(record["config"])
    assert Verilog(lambda: circuit_text(config)).digest == record["digest"]


@BOARD_OWN_MACHINE
def test_the_documents_have_what_the_records_have():
    text = (Path(__file__).parents[2] / "docs" / "boards.md").read_text()
    rows = [line for line in text.splitlines() if " MHz |" in line]
    for record in kept_records():
        used = {kind: cell["used"] for kind, cell in record["resources"].items()}
        logic = next(used[kind] for kind in ("TRELLIS_COMB", "ICESTORM_LC", "LUT4") if kind in used)
        fmax = record["machine_fmax_hz"] / 1e6
        found = [row for row in rows if f"`{record['board']}`" in row and f"{logic:,} " in row and f"| {fmax:.1f} MHz |" in row]
        assert len(found) == 1, (record["board"], record["sites"])
        assert f"{record['sites']:,} sites, {record['labels']} labels" in found[0]
        picture = picture_of(record)
        assert found[0].endswith("| does not fit |" if isinstance(picture, str) else f"| {picture.seconds:.3g} s |")


@BOARD_OWN_MACHINE
def test_the_readme_has_the_seconds_of_a_picture_that_the_records_have():
    text = (Path(__file__).parents[2] / "README.md").read_text()
    kept = {(record["board"], record["design"]): picture_of(record) for record in kept_records()}
    assert f"take {kept['ecpix5-85f', '12x1x8'].seconds:.1f} s on an ECPIX-5" in text
    assert f"and {kept['ulx3s-85f', '8x2'].seconds:.0f} s on a ULX3S" in text


def test_json_is_a_list_with_the_published_rows():
    records = json.loads(report("--json").output)
    assert [r["design"] for r in records[-2:]] == ["16x1", "16x2"]
    assert len(records) == len(list(RESULTS.glob("*.json"))) + 2


def test_published_lanes_are_those_of_their_designs():
    assert [r["lanes"] for r in PUBLISHED] == [16, 32]


def test_table_has_a_row_each():
    lines = report().output.split("\n\n")[0].splitlines()
    assert len(lines) == 2 + len(kept_records()) + 2
    assert len({line.count("|") for line in lines}) == 1


@PICTURES
def test_a_picture_is_at_the_clock_of_the_bitstream_and_over_its_link():
    """In report, estimate and bench alike; none where the picture does not fit, with the reason below the table."""
    said = report().output
    records = json.loads(report("--json").output)
    assert [record["picture_s"] for record in records[-2:]] == [None, None]
    for record in records[:-2]:
        config, found = Derived.from_dict(record["config"]), record["picture"]
        named = f"{record['board']} {record['design']}, {record['sites']} sites"
        if record["picture_s"] is None:
            assert f"{named}, no picture: {found['why_none']}" in said
            assert built(record).picture_s is None
            continue
        log, link, link_hz = record["log"]["bytes_per_label_evaluation"], link_of(record), record.get("link_clock_hz")
        assert link.bytes_per_s == pytest.approx(record["log"]["link_bytes_per_s"])
        assert record["picture_s"] == PictureTime.of(config, record["clock_hz"], link, log, link_hz=link_hz).seconds
        assert record["picture_s"] == built(record).picture_s
        fastest = PictureTime.of(config, record["machine_fmax_hz"], link, log, link_hz=link_hz)
        assert record["picture"]["machine_s"] > fastest.machine_s
        assert record["picture_s"] > 0.98 * fastest.seconds  # the host's looks at a run do not go with the clock
        assert f" {record['clock_hz'] / 1e6:g} " in said
        assert f"| {record['picture_s']:.3g} " in said
    assert sum(record["picture_s"] is not None for record in records) >= 4


@PICTURES
def test_estimate_has_the_picture_of_a_kept_build():
    kept = next(record for record in kept_records() if (record["board"], record["design"]) == ("ulx3s-85f", "8x2"))
    found = picture_of(kept)
    assert json.loads(CliRunner().invoke(main, ["estimate", "--board", "ulx3s-85f", "--json"]).stdout)["picture_s"] == found.seconds
    assert found.said(45e6) in CliRunner().invoke(main, ["estimate", "--board", "ulx3s-85f"]).stdout
    other = CliRunner().invoke(main, ["estimate", "--board", "ulx3s-85f", "--mesh", "1x10"]).stdout
    assert re.search(r"sweeps of .* s at 45 MHz \(.*the log of a histogram not counted\)", other), other
    small = CliRunner().invoke(main, ["estimate", "--board", "icebreaker"]).stdout
    assert f"no picture of {PICTURE}: labels is 64; a machine with label_bits = 5 takes 32" in small
    assert json.loads(CliRunner().invoke(main, ["estimate", "--json"]).stdout)["picture_s"] is None


@PICTURES
@pytest.mark.parametrize(("changed", "why"), [
    ({"config": {"label_bits": 99}}, "its machine cannot be read"), ({"clock_hz": 0.0}, "its clock or its link has no rate"),
    ({"log": None}, "its record does not say what its link carries")])
def test_a_record_without_a_picture(tmp_path, changed, why):
    path = tmp_path / "build.json"
    path.write_text(json.dumps({**json.loads(next(RESULTS.glob("*.json")).read_text()), **changed}))
    result = report(str(path))
    assert result.exit_code == 0, result.output
    assert f"no picture: {why}" in result.output


def test_no_record_is_one_line(tmp_path):
    path = tmp_path / "build.json"
    for text, why in (("[]", "it has no labels_per_s"), ("{", "Expecting property name")):
        path.write_text(text)
        result = report(str(path))
        assert result.exit_code == 2
        assert result.output.count("\n") == 1
        assert f"{path} is no record of a build ({why}" in result.output
    assert f"{tmp_path}/none cannot be read (No such file or directory): give a build.json" in report(str(tmp_path / "none")).output


def test_link_carries_less_than_its_baud_rate():
    assert 0.9 * 300_000 < BoardLink(baud=3_000_000).bytes_per_s < 0.96 * 300_000
    assert 0.9 * 19 * 64_000 < BoardLink("usb").bytes_per_s < 0.96 * 19 * 64_000


@RATE_MACHINE_LOG
def test_workload_is_the_machine_s():
    work = stereo_workload(Derived.preset("smallest", tile_rows=16, tile_cols=32))
    assert (work.rows, work.cols, work.labels) == (16, 32, 8)
    assert 0.9 < work.utilization <= 1
    assert 0 < work.log_bytes_per_evaluation < 0.2


@pytest.mark.parametrize("least", [
    {"label_bits": 1}, {"data_bits": 1, "weight_bits": 1, "energy_bits": 4}, {"tile_rows": 2, "tile_cols": 4},
    {"tile_rows": 2, "tile_cols": 4, "label_bits": 1, "data_bits": 1, "weight_bits": 1, "energy_bits": 4, "temperature_bits": 12}])
def test_a_small_machine_has_a_workload_too(least):
    """It is needed for a build's record, at the end of long work."""
    config = Config.preset("smallest", sampler=Race(uniform_bits=8, fraction_bits=2), **least)
    work = stereo_workload(config)
    assert (work.rows, work.cols) == (config.tile_rows, config.tile_cols)
    assert work.labels <= 1 << config.label_bits
    assert 0.1 < work.utilization <= 1


@RATE_MACHINE_LOG
def test_workload_has_the_messages_that_are_not_kept(monkeypatch):
    """A long run's are folded into the histogram; the link carries them all the same."""
    config = Config.preset("smallest", tile_rows=16, tile_cols=32)
    kept = stereo_workload(config)
    monkeypatch.setattr(machine, "_KEPT", 100)
    assert stereo_workload(config) == kept
