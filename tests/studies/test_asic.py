"""`python -m studies.asic`: a tile in standard cells equals the model, and its record says what tools and memories say."""

from __future__ import annotations

import csv
import json
import lzma
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mrfhw.machine.config import Config
from studies.asic import memories, study
from studies.asic.command import command as main
from studies.asic.libraries import LIBRARIES, liberty_text
from studies.asic.macros import Macro, liberty_of, take_macros, verilog_of
from studies.asic.report import PUBLISHED, RESULTS, kept, name_of

TILE_SYNTHESIZED_CELL = pytest.mark.claim("standard cells",
    "a tile synthesized with a cell library equals the model in every bit; its clock, area and energy are what the tools say (make"
    " long)")
LARGE_MEMORIES_BECOME = pytest.mark.claim("standard cells",
    "large memories become macros whose area, time and energy follow a model fitted to CACTI, with its errors; libraries' files "
    "become one (make long: what a tool said stays where it failed)")

DATA = Path(os.environ.get("MRFHW_DATA", "")) / "liberty"


def asic(*arguments: str) -> Any:
    return CliRunner().invoke(main, [*arguments])


@TILE_SYNTHESIZED_CELL
def test_kept_records_beside_the_published(tmp_path: Path) -> None:
    """Every record that is kept; areas and powers of the parts add up to the tile's."""
    result = asic("-o", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    with (tmp_path / "out" / "asic.csv").open() as file:
        found = list(csv.DictReader(file))
    assert len(found) == len(kept()) + len(PUBLISHED) == len(list(RESULTS.glob("*.json"))) + 2
    assert (tmp_path / "out" / "asic.png").read_bytes().startswith(b"\x89PNG")
    for record in kept():
        areas = {part: area for part, area in record["areas_um2"].items() if part != "control"}
        watts = {part: sum(power.values()) for part, power in record["powers_w"].items() if part != "control"}
        assert sum(areas.values()) == pytest.approx(record["tile_um2"])
        assert 0 < record["memory_um2"] < record["tile_um2"]
        assert sum(watts.values()) == pytest.approx(record["tile_w"])
        assert record["joules_per_label"] == pytest.approx(record["tile_w"] / record["labels_per_s"])
        assert 0.9 < record["labels_per_s"] / record["clock_hz"] / record["lanes"] <= 1
        assert Config.from_dict(record["config"]).mesh_rows == 1


def row_of(record: dict[str, Any]) -> str:
    """A row of the table in docs/scaling.md."""
    memory = record.get("memory_um2")
    return (f"| {name_of(record)}, {record['nanometres']} nm | {record['lanes']} | {record['tile_um2']:,.0f} | "
            f"{'-' if memory is None else format(100 * memory / record['tile_um2'], '.0f') + ' %'} | "
            f"{record['tile_um2'] / record['lanes']:,.0f} | {record['clock_hz'] / 1e9:.3g} GHz | {1e3 * record['tile_w']:.3g} | "
            f"{1e12 * record['joules_per_label']:.3g} |")


def test_the_document_has_every_record() -> None:
    text = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()
    for record in (*kept(), *PUBLISHED):
        assert row_of(record) in text


@TILE_SYNTHESIZED_CELL
def test_the_published_tiles_are_as_printed() -> None:
    """24.4k um^2 and 13.2 pJ a label of the tile of two SPUs (Figures 3.15 and 3.16, 3 GHz)."""
    two = PUBLISHED[1]
    assert two["tile_um2"] / two["lanes"] == pytest.approx(24.4e3, rel=0.01)
    assert two["joules_per_label"] == pytest.approx(13.2e-12, rel=0.01)


@LARGE_MEMORIES_BECOME
@pytest.mark.parametrize("micrometres", sorted({library.memory_micrometres for library in LIBRARIES.values()}))
def test_the_model_of_memories(micrometres: float) -> None:
    """Of memories that it was not fitted to, at most 15 % off in the median."""
    for quantity in ("area", "access", "cycle", "read", "write", "leakage"):
        median, largest = memories.errors(micrometres, quantity)
        assert median < 0.15, quantity
        assert largest < 1.0, quantity
    small, large = (memories.memory_of(LIBRARIES["asap7"], words, 16, 1) for words in (256, 4096))
    assert small.area < large.area
    assert small.access < large.access
    assert small.read < large.read


def memory_cell(**changes: Any) -> dict[str, Any]:
    """A memory of 128 words of 16 bits as Yosys' JSON has it, with two ports that read."""
    bit = iter(range(2, 10_000))
    wires = {name: [next(bit) for _ in range(count)] for name, count in {
        "RD_ADDR": 14, "RD_DATA": 32, "WR_ADDR": 7, "WR_DATA": 16}.items()}
    cell = {"type": "$mem_v2", "parameters": {
        "SIZE": f"{128:b}", "WIDTH": f"{16:b}", "RD_PORTS": "10", "WR_PORTS": "1", "ABITS": "111", "INIT": "x" * 16,
        "RD_CLK_ENABLE": "11", "RD_TRANSPARENCY_MASK": "00"},
        "connections": {**wires, "RD_CLK": [1, 1], "WR_CLK": [1], "WR_EN": [0] * 16, "RD_EN": ["1", "1"], "RD_ARST": ["0", "0"],
                        "RD_SRST": ["0", "0"]}}
    for name, value in changes.items():
        cell["parameters" if name in cell["parameters"] else "connections"][name] = value  # type: ignore[index]
    return cell


@LARGE_MEMORIES_BECOME
def test_a_memory_becomes_a_macro() -> None:
    """Each port's wires are its own; whatever a macro has not remains a memory."""
    design = {"modules": {"m": {"cells": {"words": memory_cell()}}}}
    assert take_macros(design) == {Macro(128, 16, 2)}
    cell, before = design["modules"]["m"]["cells"]["words"], memory_cell()["connections"]
    wires = cell["connections"]
    assert wires["RA1"] == before["RD_ADDR"][7:]
    assert wires["RD0"] == before["RD_DATA"][:16]
    assert wires["WE"] == [0]
    for changes in ({"INIT": "1" + "0" * 15}, {"RD_CLK_ENABLE": "10"}, {"RD_TRANSPARENCY_MASK": "01"}, {"WR_PORTS": "10"},
                    {"SIZE": f"{32:b}"}, {"WR_EN": [0] * 8 + [1] * 8}, {"RD_CLK": [1, 2]}, {"RD_SRST": ["0", 7]}):
        design = {"modules": {"m": {"cells": {"words": memory_cell(**changes)}}}}
        assert not take_macros(design), changes
        assert design["modules"]["m"]["cells"]["words"]["type"] == "$mem_v2"


@LARGE_MEMORIES_BECOME
def test_macros_are_the_model_s() -> None:
    """Area, access and pins in Liberty and Verilog."""
    macro, library = Macro(128, 16, 2), LIBRARIES["asap7"]
    text, memory = liberty_of([macro], library, 1.0), macro.memory(library)
    assert f"area : {memory.area:.3f}" in text
    assert f'cell_rise (scalar) {{ values ("{1000 * memory.access:.1f}")' in text
    assert set(re.findall(r"^    (?:pin|bus) \((\w+)\)", text, re.MULTILINE)) == {
        "CLK", "WE", "WA", "WD", "RE0", "RA0", "RD0", "RE1", "RA1", "RD1"} == set(
            re.findall(r"(?:input|output reg|input CLK)\s*(?:\[[^]]*\] )?(\w+)(?=[,)])", verilog_of([macro])))


def library_files(folder: Path, cells: str) -> None:
    """A library by the names of asap7's files, of these cells."""
    folder.mkdir(exist_ok=True)
    head = "library (one) {\n  lu_table_template (t) {\n    variable_1 : a;\n  }\n"
    (folder / "asap7sc7p5t_SIMPLE_RVT_TT_nldm.lib").write_text(head + cells + "}\n")
    (folder / "asap7sc7p5t_SEQ_RVT_TT_nldm.lib.xz").write_bytes(lzma.compress(
        b"library (two) {\n  lu_table_template (u) {\n    variable_1 : a;\n  }\n"
        b"  cell (DFFHQNx1_ASAP7_75t_R) {\n    area : 1;\n  }\n"
        b"  cell (ICGx1_ASAP7_75t_R) {\n    area : 1;\n  }\n}\n"))


CELLS = "".join(f"  cell ({name}) {{\n    area : 1;\n    pin (A) {{ capacitance : 1; }}\n  }}\n" for name in (
    "NAND2xp5_ASAP7_75t_R", "BUFx2_ASAP7_75t_R", "BUFx4_ASAP7_75t_R"))


@LARGE_MEMORIES_BECOME
def test_liberty_files_become_one(tmp_path: Path) -> None:
    """Cells of all files but those that are left alone, and each kind of table once; from the folder or the one above it."""
    library_files(tmp_path / "asap7", CELLS)
    for folder in (tmp_path, tmp_path / "asap7"):
        text = liberty_text(LIBRARIES["asap7"], folder)
        assert re.findall(r"cell \((\w+?)_", text) == ["DFFHQNx1", "NAND2xp5", "BUFx2", "BUFx4"]
        assert sorted(re.findall(r"lu_table_template \((\w)\)", text)) == ["t", "u"]
        assert text.count("{") == text.count("}")


@LARGE_MEMORIES_BECOME
def test_mistakes_are_one_line(tmp_path: Path) -> None:
    """Files of another library, without cells or of too few, records that are none, and numbers out of their limits."""
    library_files(tmp_path / "few", CELLS.replace("BUFx4", "BUFx9"))
    library_files(tmp_path / "none", "")
    (tmp_path / "no.json").write_text("{}")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "config.json").write_text(json.dumps({**kept()[0], "config": []}))
    (tmp_path / "bits.json").write_text(json.dumps({**kept()[0], "config": {"label_bits": 99}}))
    numbers = {"text": {"tile_um2": "wide"}, "below": {"labels_per_s": -1}, "nan": {"clock_hz": float("nan")},
               "memory": {"memory_um2": []}, "areas": {"areas_um2": {"spu_0": -1.0, "lmem": 3.0}}, "powers": {"powers_w": [1]},
               "part": {"powers_w": {**kept()[0]["powers_w"], "spu_0": {"leakage": None}}}}
    for name, changes in numbers.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({**kept()[0], **changes}))
    for arguments, message in (
            (("--liberty", str(tmp_path)), f"liberty is {tmp_path}; it has no asap7sc7p5t_*_RVT_TT_*.lib*"),
            (("--liberty", str(tmp_path / "few")), "have no cell BUFx4_ASAP7_75t_R: give all files of it"),
            (("--liberty", str(tmp_path / "none")), "it has no cells: give a Liberty file"),
            (("--library", "gf180"), "library is 'gf180'; the libraries are asap7, sky130hd: choose one"),
            (("--goal", "0"), "goal is 0 MHz; the limits are 1 to 10000: give a number between them"),
            (("--spes", "99999"), "--spes is given, but no --liberty, and records are shown as they are: give --liberty DIR, or "
                                  "leave it out"),
            (("--machine", "missing.json"), "--machine is given, but no --liberty"),
            (("--label-bits", "4", "--preset", "none"), "--label-bits is given, but no --liberty"),
            (("--goal", "500", "--labels", "32"), "--goal is given, but no --liberty"),
            (("--library", "asap7"), "--library is given, but no --liberty"),
            (("--liberty", str(tmp_path), "--labels", "65"), "labels is 65; the limits are 2 to 64: give a number between them"),
            ((str(tmp_path / "no.json"),), "no.json is no record of a machine in cells (it has no config): give an asic.json"),
            ((str(tmp_path / "list.json"),), "list.json is no record of a machine in cells (it is no JSON object): give an"),
            ((str(tmp_path / "text.json"),), "(its tile_um2 is 'wide', and no number above 0): give an asic.json"),
            ((str(tmp_path / "below.json"),), "(its labels_per_s is -1, and no number above 0): give an asic.json"),
            ((str(tmp_path / "nan.json"),), "(its clock_hz is nan, and no number above 0): give an asic.json"),
            ((str(tmp_path / "memory.json"),), "(its memory_um2 is [], and no number): give an asic.json"),
            ((str(tmp_path / "areas.json"),), "(its areas_um2 has no numbers by part): give an asic.json"),
            ((str(tmp_path / "powers.json"),), "(its powers_w has no numbers by part): give an asic.json"),
            ((str(tmp_path / "part.json"),), "(its spu_0 has no numbers by part): give an asic.json"),
            ((str(tmp_path / "config.json"),), "(its config has parameters of no machine): give an asic.json"),
            ((str(tmp_path / "bits.json"),), "(label_bits is 99; the limits are 1 to 8: give a value between them): give an")):
        result = asic(*arguments, "-o", str(tmp_path / "out"))
        assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
        assert message in result.output
        assert not (tmp_path / "out").exists()


def test_a_tool_that_is_missing_is_said_before_the_synthesis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes minutes."""
    library_files(tmp_path / "cells", CELLS)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(study, "synthesize", lambda *arguments: pytest.fail("it is synthesized"))
    result = asic("--liberty", str(tmp_path / "cells"), "--preset", "smallest", "-o", str(tmp_path / "out"))
    assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
    assert "sta is needed and not installed: install OpenSTA (Debian: apt-get install opensta)" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.tools
@LARGE_MEMORIES_BECOME
@pytest.mark.long
@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")
def test_what_a_tool_said_is_still_there(tmp_path: Path) -> None:
    """Of a library without functions, which Yosys does not take."""
    library_files(tmp_path / "cells", CELLS)
    result = asic("--liberty", str(tmp_path / "cells"), "--preset", "smallest", "--labels", "8", "-o", str(tmp_path / "out"))
    assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
    said = re.search(r"\(all of it in (.*)\)", result.output)
    assert said is not None, result.output
    path = Path(said[1])
    assert "yosys" in path.read_text().lower()
    shutil.rmtree(path.parent)
    assert not (tmp_path / "out").exists()


@TILE_SYNTHESIZED_CELL
@pytest.mark.long
@pytest.mark.skipif(not DATA.is_dir(), reason="MRFHW_DATA has no liberty/")
@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_tile_in_cells_equals_the_model(library: str, tmp_path: Path) -> None:
    """The smallest machine, synthesized, timed and simulated; the command refuses what is not the model's."""
    result = asic("--liberty", str(DATA), "--library", library, "--preset", "smallest", "--labels", "8", "-o",
                  str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "out" / "asic.json").read_text())
    assert record["clock_hz"] > (1e8 if library == "sky130hd" else 5e8)
    assert record["powers_w"]["spu_0"]["internal"] > 0
    assert 0.01 < record["toggles_a_net_and_cycle"] < 0.5
    assert "module netlist" in (tmp_path / "out" / "netlist.v").read_text()
