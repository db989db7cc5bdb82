"""Kept builds, and the table beside the published prototype."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.commands.build import stereo_workload
from mrfhw.cost.cost import Cost
from mrfhw.cost.links import BoardLink
from mrfhw.cost.rates import Workload
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.report import PUBLISHED, RESULTS, kept_clock, kept_records
from mrfhw.generation.generated import Verilog
from mrfhw.generation.modules import circuit_text
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.twin import machine

BOARD_OWN_MACHINE = pytest.mark.claim("build records",
    "each board's own machine was built, and what the documents say of it is the record's (the present circuit: make long)")
RATE_MACHINE_LOG = pytest.mark.claim(
    "build records", "the rate of a machine's log counts every message, those of a long run as well")


def report(*arguments: str):
    return CliRunner().invoke(main, ["report", *arguments])


def test_every_kept_record_is_of_a_machine_that_can_be_built():
    for record in kept_records():
        config = Derived.from_dict(record["config"])
        assert record["board"] in BOARDS
        assert record["lanes"] == config.all_lanes
        assert record["design"] == config.size
        assert record["timing_met"] or record["clock_hz"] > record["machine_fmax_hz"]
        assert record["labels_per_s"] == pytest.approx(config.all_lanes * record["machine_fmax_hz"] * record["utilization"])


@BOARD_OWN_MACHINE
def test_each_board_s_own_machine_was_built():
    kept = {(record["board"], Derived.from_dict(record["config"])) for record in kept_records()}
    assert kept >= {(board.name, Derived.preset(board.preset)) for board in BOARDS.values() if board.open_flow}


@BOARD_OWN_MACHINE
@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_rates_of_kept_builds_follow_from_clock_and_workload(path):
    record = json.loads(path.read_text())
    board, config, log = BOARDS[record["board"]], Derived.from_dict(record["config"]), record["log"]
    assert kept_clock(board.name, config) >= record["machine_fmax_hz"]
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
