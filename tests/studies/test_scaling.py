"""`python -m studies.scaling`: its records are of the machines it names, its cycles those of the RTL, its tables what they say."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.field.problem import Run
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.tools import find_tool
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin import machine as model
from studies.cells import RESOURCES, occupied
from studies.scaling import command, cycles, logic, tables
from studies.scaling.command import command as main
from studies.scaling.families import FAMILIES
from studies.scaling.machines import LANES, machine

RECORD_MACHINES = pytest.mark.claim("python -m studies.scaling",
    "the record is of the machines that the program would synthesize, and its cells still are what synthesis makes (make long)")
TILE_SYNTHESIZED_ONCE = pytest.mark.claim("python -m studies.scaling",
    "a tile synthesized once counts as often as there are tiles, within 5 % of tiles one by one; memories are block RAM, products "
    "multipliers")
CYCLES_STALLS_THOSE = pytest.mark.claim("python -m studies.scaling",
    "cycles and stalls are those of the RTL on meshes of 1 and 4 tiles (12: make long); lanes are idle only where sites pad the "
    "tiles")

FOUND, YOSYS = logic.read_logic(command.RESULTS / command.LOGIC)
LOG = cycles.read_log(command.RESULTS / command.LOG)


@RECORD_MACHINES
def test_the_record_has_every_design() -> None:
    assert [one.design for one in FOUND] == list(logic.ALL)
    assert YOSYS


@RECORD_MACHINES
def test_a_machine_of_other_parameters_or_scripts_is_another_record(monkeypatch: pytest.MonkeyPatch) -> None:
    held = json.loads((command.RESULTS / command.LOGIC).read_text())
    assert {**held, **logic.header()} == held
    assert {**Config.preset("census").to_dict(), **held["parameters"]} == Config.preset("census").to_dict()
    monkeypatch.setattr(logic, "machine", lambda lanes, side: machine(lanes, side).changed(counter_bits=9))
    with pytest.raises(BuildError, match="it is of other machines or scripts"):
        logic.read_logic(command.RESULTS / command.LOGIC)


@TILE_SYNTHESIZED_ONCE
@pytest.mark.parametrize("family", FAMILIES)
def test_memories_are_block_ram_and_products_multipliers(family: str) -> None:
    """Every family has blocks for each tile's memories and a multiplier for each lane, and no memory became flip-flops: those of
    sites would be tens of thousands."""
    for one in FOUND:
        if one.design.family == family and not one.design.flat:
            tile, lanes = occupied(one.tile, family), one.design.lanes
            bits = 4096 * (8 + 9) + 4 * 1024 * 30 + 4096 * 9
            assert tile["ram"] * {"ecp5": 18_432, "cyclone5": 10_240, "ultrascale": 18_432}[family] >= bits
            assert lanes <= tile["dsp"] <= 7 * lanes
            assert tile["ff"] < 1500 + 700 * lanes
            assert one.occupied()["ram"] >= one.design.side**2 * tile["ram"]


@TILE_SYNTHESIZED_ONCE
def test_one_tile_for_all_is_near_to_every_tile_by_itself() -> None:
    for one in FOUND:
        if one.design.flat:
            once = next(other for other in FOUND if other.design == dataclasses.replace(one.design, flat=False))
            flat, shared = one.occupied(), once.occupied()
            for kind in RESOURCES:
                assert flat[kind] == pytest.approx(shared[kind], rel=0.05), (one.design.name, kind)
    assert len(tables.flat_lines(FOUND)) == len(FAMILIES)


@pytest.mark.tools
@RECORD_MACHINES
@pytest.mark.long
def test_the_smallest_machine_is_as_it_was_recorded(tmp_path: Path) -> None:
    """Within the tolerance of studies/baselines.json; where it grew:
    `python -m studies.scaling --measure DIR`, and say why in the commit."""
    one = next(one for one in FOUND if one.design == logic.Design("ecp5", 1, 1))
    again = logic.synthesize(one.design, tmp_path).occupied()
    for kind, before in one.occupied().items():
        assert again[kind] == pytest.approx(before, rel=0.05), kind


@pytest.mark.tools
@RECORD_MACHINES
def test_measuring_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a record lacks is synthesized, and the record is whole after each."""
    made: list[logic.Design] = []

    def synthesize(design: logic.Design, directory: Path) -> logic.Synthesis:
        made.append(design)
        if len(made) == 3:
            raise BuildError("yosys failed")
        return next(one for one in FOUND if one.design == design)

    monkeypatch.setattr(logic, "synthesize", synthesize)
    path = tmp_path / "below" / "logic.json"
    with pytest.raises(BuildError, match="yosys failed"):
        logic.measure_logic(path, logic.ALL[:4])
    assert [one.design for one in logic.read_logic(path)[0]] == list(logic.ALL[:2])
    logic.measure_logic(path)
    assert made[3:] == list(logic.ALL[2:])
    assert logic.read_logic(path) == (FOUND, find_tool("yosys").version)
    logic.write_logic(path, FOUND, "Yosys 1")
    with pytest.raises(BuildError, match="was made by Yosys 1 and this is"):
        logic.measure_logic(path)


def _narrow(rows: int, cols: int, lanes: int) -> Config:
    """The preset with tiles and widths that are soon compiled, and a log whose root takes a line of one message in two cycles."""
    return Config.preset("census", mesh_rows=rows, mesh_cols=cols, lanes=lanes, tile_rows=4, tile_cols=8, s2_words=128,
                         label_bits=2, data_bits=2, energy_bits=6, weight_bits=2, temperature_bits=12, temperature_table=2,
                         counter_bits=1, hub_depth=1, line_bits=32, sampler=Race(uniform_bits=8, fraction_bits=2))


@pytest.mark.tools
@CYCLES_STALLS_THOSE
@pytest.mark.parametrize(("rows", "cols", "lanes"), [(1, 1, 2), (2, 2, 1), *(
    pytest.param(*shape, marks=pytest.mark.long) for shape in ((1, 1, 1), (2, 2, 2), (3, 4, 1), (3, 4, 2), (3, 4, 4)))])
def test_the_rtl_takes_the_cycles_and_stalls_of_the_model(rows: int, cols: int, lanes: int) -> None:
    """With a log that stalls it, where there are several tiles; without one, the cycles are those of the table's own function."""
    config = _narrow(rows, cols, lanes)
    problem = dataclasses.replace(cycles.field(4 * rows, 8 * cols), labels=4, offsets=np.array([(0, -d) for d in range(4)]))
    quiet = cycles.quiet_cycles(config, problem, 8)
    with CompiledChip(config, quick=True) as chip:
        for burn_in in (0, 7):
            placement = Placement(config, problem, Run(sweeps=8, burn_in=burn_in, seed=3))
            rtl, own = run_placed(chip, placement), model.solve(config, problem, placement.run)
            assert (rtl.cycles, rtl.stall_cycles, rtl.gap_cycles) == (own.cycles, own.stall_cycles, own.gap_cycles)
            assert own.cycles - own.stall_cycles == quiet
            assert own.stall_cycles > 0 or burn_in or rows * cols == 1


@CYCLES_STALLS_THOSE
def test_cycles_over_tiles() -> None:
    """Tiles of one size take the same cycles, whatever their number; a picture over four times the tiles a quarter of them; lanes
    are idle only where sites pad the tiles."""
    found = {(one.work, one.lanes, one.side): one for one in cycles.sweeps()}
    assert len(found) == len(LANES) * (6 + 6 + 3)
    for (work, lanes, side), one in found.items():
        rows, cols = one.tile
        padded = rows * cols * one.tiles / one.sites
        assert one.utilization * padded == pytest.approx(1, abs=0.01), (work, lanes, side)
        if work == cycles.WEAK:
            assert one.cycles == pytest.approx(64 * 64 * cycles.LABELS / lanes, rel=1e-3)
    assert cycles.sweep("1920x1080 sites", 1, 4) is None  # 129,600 sites a tile, of 65,536


@CYCLES_STALLS_THOSE
def test_the_log_s_runs_are_what_the_root_lets_through() -> None:
    """A message a cycle at most; where whole lines pass, as many as a line holds."""
    assert [(run.lanes, run.side, run.line_levels) for run in LOG.runs] == list(cycles.LOGGED)
    for run in LOG.runs:
        config = Derived.of(cycles.tiles_for(machine(run.lanes, run.side), cycles.field(*cycles.LOG_SHAPE)))
        assert run.cycles == cycles.quiet_cycles(config, cycles.field(*cycles.LOG_SHAPE), cycles.SWEEPS) / cycles.SWEEPS
        passed = config.line_messages if run.line_levels else 1
        assert run.cycles + run.stalls >= 0.99 * run.messages / passed
        assert run.messages == pytest.approx(LOG.messages_a_site * 192 * 256, rel=0.05)


@TILE_SYNTHESIZED_ONCE
def test_fits_are_counted_as_they_are_said() -> None:
    made = {(fit.family, fit.lanes): fit for fit in tables.fits(FOUND)}
    assert set(made) == {(family, lanes) for family in FAMILIES for lanes in LANES}
    for (family, lanes), fit in made.items():
        for one in FOUND:  # its own cells say the same
            if (one.design.family, one.design.lanes) == (family, lanes) and not one.design.flat:
                fits = all(one.occupied()[kind] <= FAMILIES[family].has[kind] for kind in RESOURCES)
                assert fits == (fit.tiles >= one.design.side**2), one.design.name
        assert fit.first in RESOURCES


def test_a_record_that_is_not_whole_yet_has_fewer_fits() -> None:
    assert tables.fits([]) == []
    assert [(fit.family, fit.lanes) for fit in tables.fits([one for one in FOUND if (one.design.lanes, one.design.side) in (
        (1, 2), (1, 4), (2, 4), (4, 2))])] == [(family, 1) for family in FAMILIES]


@CYCLES_STALLS_THOSE
def test_tables_and_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "synthesized with Yosys, not placed or routed" in result.output
    with (out / "scaling.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(FOUND)
    for row, one in zip(rows, FOUND, strict=True):
        assert {kind: int(row[kind]) for kind in RESOURCES} == one.occupied()
        assert float(row["logic_a_lane"]) == pytest.approx(one.occupied()["logic"] / one.lanes, rel=1e-4)
    with (out / "scaling-cycles.csv").open() as file:
        swept = list(csv.DictReader(file))
    assert len(swept) == len(list(cycles.sweeps()))
    assert (out / "scaling.png").read_bytes().startswith(b"\x89PNG")
    assert "not placed or routed" in (out / "scaling.txt").read_text()


@CYCLES_STALLS_THOSE
def test_the_document_has_the_command_s_tables() -> None:
    text = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()
    rows = tables.cycles_rows(cycles.sweeps(), LOG)
    for table in (tables.logic_table(FOUND), tables.fits_table(tables.fits(FOUND)), tables.log_table(LOG),
                  tables.cycles_table(rows, "utilization", ".1%"), *tables.flat_lines(FOUND)):
        assert table in text
    assert round(1 / LOG.messages_a_site * cycles.LABELS, -2) == 800  # lanes


@RECORD_MACHINES
@pytest.mark.parametrize(("name", "text", "line"), [
    (command.LOGIC, "{", "is no record of synthesized machines ("), (command.LOGIC, "[]", "is no record of synthesized machines ("),
    (command.LOGIC, None, "it is of other machines or scripts"), (command.LOG, "{}", "is no record of the log ('runs')"),
])
def test_wrong_records_are_one_line(tmp_path: Path, name: str, text: str | None, line: str) -> None:
    for kept in command.RESULTS.iterdir():
        (tmp_path / kept.name).write_bytes(kept.read_bytes())
    if text is None:
        text = json.dumps({**json.loads((tmp_path / name).read_text()), "preset": "matching"})
    (tmp_path / name).write_text(text)
    result = CliRunner().invoke(main, ["--measure", str(tmp_path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert line in result.output.splitlines()[-1]
    assert not (tmp_path / "out").exists()
