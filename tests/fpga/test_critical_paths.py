"""What sets a clock: from nextpnr's reports, into records, and said."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.fpga.paths import critical_paths
from mrfhw.fpga.report import RESULTS, critical_path, kept_records, machine_path, seed_range
from support.nextpnr_reports import FAMILIES, RECORDED

CLOCK_SLOWEST_WAY = pytest.mark.claim("build records",
    "each clock's slowest way is nextpnr's, on each family, and takes the whole cycle of its fmax; report and document say the "
    "record's")

KEPT = sorted(RESULTS.glob("*.json"))
BOARDS = Path(__file__).parents[2] / "docs" / "boards.md"
SMALLEST = RESULTS / "icebreaker-1x1.json"


def recorded(family: str) -> dict:
    return json.loads((RECORDED / f"{family}.json").read_text())


@pytest.mark.tools
@CLOCK_SLOWEST_WAY
@pytest.mark.parametrize("family", FAMILIES)
def test_the_path_of_a_clock_takes_its_whole_cycle(family):
    """Each segment is of the path, and none of another: its time is that of the clock's fmax."""
    report = recorded(family)
    paths = critical_paths(report)
    assert len(paths) == len(report["fmax"]) == 1
    (path,), (clock,) = paths.values(), report["fmax"].values()
    assert path.ns == pytest.approx(1e3 / clock["achieved"], rel=1e-5)
    assert 0 < path.routing_ns < path.ns
    assert path.to_dict()["logic_ns"] == pytest.approx(path.ns - path.routing_ns, abs=1e-3)


@pytest.mark.tools
@CLOCK_SLOWEST_WAY
@pytest.mark.parametrize(("family", "clock", "start", "end", "routing", "steps"), [
    ("ecp5", "cd_sync.clk_buf.buf.buf0_O", "counter.count", "counter.wrapped", 1.864, 2),
    ("ice40", "cd_sync.clk", "cd_sync.timer", "cd_sync.timer", 6.553, 2),
    ("gowin", "cd_sync.clk", "counter.count", "counter.wrapped", 1.303, 2),
])
def test_ends_have_the_designs_names(family, clock, start, end, routing, steps):
    """Of the counter in `support.nextpnr_reports`, or of the board's reset, whose timer is Amaranth's; figures read by eye."""
    path = critical_paths(recorded(family))[clock]
    assert (path.start, path.end, path.steps) == (start, end, steps)
    assert path.routing_ns == pytest.approx(routing, abs=1e-3)


def _report(*segments: tuple[str, str, str, float], start: str = "posedge clk", end: str = "posedge clk") -> dict:
    wire = {"net": "a.net[3]"}
    return {"from": start, "to": end, "path": [
        {"type": kind, "from": {"cell": first}, "to": {"cell": last}, "delay": delay, **(wire if kind == "routing" else {})}
        for kind, first, last, delay in segments]}


@pytest.mark.tools
@pytest.mark.parametrize(("cell", "name"), [
    ("a.mesh.spe_7.write_1_TRELLIS_FF_Q_23", "a.mesh.spe_7.write_1"),
    ("a.reached_SB_DFFESR_Q_31_D_SB_LUT4_O_LC", "a.reached"),
    ("a.count_DFFR_Q_1", "a.count"),
    ("a.lmem.bank_0.0.0", "a.lmem.bank_0"),
    ("pins.clk$44.buf.buf0$IOL", "pins.clk$44.buf.buf0"),
    ("$nextpnr_ICESTORM_LC_49", "a.net"),
])
def test_names_of_tools_are_taken_off(cell, name):
    path = _report(("clk-to-q", cell, cell, 1), ("routing", cell, cell, 2), ("setup", cell, cell, 0.5))
    found = critical_paths({"fmax": {"clk": {}}, "critical_paths": [path]})["clk"]
    assert (found.start, found.end) == (name, name)


def test_paths_of_pins_and_between_clocks_are_left_out_and_the_longest_counts():
    ways = [_report(("clk-to-q", "a", "a", 1.0), ("routing", "a", "b", 8.0), start=start, end=end)
            for start, end in (("<async>", "posedge clk"), ("posedge clk", "<async>"), ("<async>", "<async>"),
                               ("posedge clk", "posedge other"))]
    short, long = (_report(("clk-to-q", "a", "a", 1.0), ("routing", "a", "b", delay), end="negedge clk") for delay in (2.0, 3.0))
    report = {"fmax": {"clk": {}, "other": {}}, "critical_paths": [*ways, short, long, short]}
    assert {name: path.ns for name, path in critical_paths(report).items()} == {"clk": 4.0}
    assert critical_paths({"fmax": {"clk": {}}}) == {}


@CLOCK_SLOWEST_WAY
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_records_say_what_sets_their_clocks(path):
    """Of each clock; the time from edge to edge is that of its fmax."""
    record = json.loads(path.read_text())
    assert record["critical_paths"].keys() == record["fmax_hz"].keys()
    for clock, way in record["critical_paths"].items():
        assert way["ns"] == pytest.approx(1e9 / record["fmax_hz"][clock], rel=1e-3)
        assert way["ns"] == pytest.approx(way["logic_ns"] + way["routing_ns"], abs=2e-3)
        assert way["from"][0] != "$" != way["to"][0]
    assert machine_path(record)["ns"] == pytest.approx(1e9 / record["machine_fmax_hz"], rel=1e-3)


def test_a_record_without_them_is_read_as_before(tmp_path):
    record = json.loads(SMALLEST.read_text())
    for name in ("critical_paths", "fmax_hz", "seeds"):
        record.pop(name)
    path = tmp_path / "build.json"
    path.write_text(json.dumps(record))
    result = CliRunner().invoke(main, ["report", str(path)])
    assert result.exit_code == 0
    assert len(result.output.split("\n\n")[0].splitlines()) == 5
    assert "machine clock" not in result.output  # the table and its pictures alone
    assert critical_path(record) is seed_range(record) is None


@pytest.mark.parametrize(("name", "value", "message"), [
    ("critical_paths", {"clk": {"from": 1}}, "its from is no text"),
    ("critical_paths", {"clk": []}, "its clk is no object"),
    ("critical_paths", {"clk": {"from": "a", "to": "b", "ns": 1.0, "routing_ns": "?"}}, "its routing_ns is no finite number"),
    ("seeds", {}, "its part of seeds is no object"),
    ("seeds", [1], "its part of seeds is no object"),
    ("seeds", [{"seed": 1, "machine_fmax_hz": "fast"}], "its machine_fmax_hz is no finite number"),
    ("fmax_hz", {"clk": None}, "its clk is no finite number"),
])
def test_parts_that_are_none_are_one_line(name, value, message, tmp_path):
    path = tmp_path / "build.json"
    path.write_text(json.dumps({**json.loads(SMALLEST.read_text()), name: value}))
    result = CliRunner().invoke(main, ["report", str(path)])
    assert result.exit_code == 2
    assert result.output == f"Error: {path} is no record of a build ({message}): give a build.json that mrfhw build wrote\n"


@CLOCK_SLOWEST_WAY
def test_the_report_says_it_below_the_table():
    lines = CliRunner().invoke(main, ["report"]).output.splitlines()
    for record in kept_records(KEPT):
        said = [line for line in lines if line.startswith(f"{record['board']} {record['design']}, {record['sites']} sites: ")]
        way = machine_path(record)
        assert (f"machine clock {record['machine_fmax_hz'] / 1e6:.1f} MHz: from {way['from']} to {way['to']}, {way['ns']:.1f} ns, "
                f"of which routing {way['routing_ns']:.1f}; {way['steps']} logic steps") in said[0]


@CLOCK_SLOWEST_WAY
def test_the_document_has_what_the_records_have():
    section = BOARDS.read_text().split("### What sets the clock\n")[1].split("\n#")[0]
    rows = [line for line in section.splitlines() if " MHz |" in line]
    assert len(rows) == len(KEPT)
    for record in kept_records(KEPT):
        way = machine_path(record)
        ends = " | ".join(f"`{way[end].removeprefix('board.')}`" for end in ("from", "to"))
        clock = f"{record['machine_fmax_hz'] / 1e6:.1f} MHz"
        said = f"| {clock} | {ends} | {way['ns']:.1f} | {way['routing_ns']:.1f} | {way['steps']} |"
        assert sum(said in row and f"`{record['board']}`" in row for row in rows) == 1, (record["board"], record["design"])
        if seeds := seed_range(record):
            assert seeds.split(": ")[1] in section.replace("\n", " ")


@pytest.mark.claim("build records",
    "a bitstream is that of the first seed that meets the clock, whether the other seeds are tried for their range or not")
def test_the_range_of_seeds_is_said():
    seeds = [{"seed": number, "machine_fmax_hz": hz} for number, hz in enumerate((30e6, 25e6, 27.5e6, 0.0))]
    assert seed_range({"seeds": seeds}) == ("machine clock with 3 seeds: lowest 25.0, median 27.5, highest 30.0 MHz; "
                                            "1 did not end")
    assert seed_range({"seeds": seeds[:1]}) is seed_range({"seeds": seeds[3:] * 2}) is seed_range({}) is None
    assert statistics.median((30, 25, 27.5)) == 27.5
