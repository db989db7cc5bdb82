"""Numbers and names that the documents state are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.field.problem import DATA, INITIAL, MASKS, PROBLEM, SCHEDULE
from mrfhw.gateware.mesh.tree import control_node_bits
from mrfhw.gateware.soc.axi_registers import BRIDGE_CYCLES
from mrfhw.generation.verilog import LINT_EXPLAINED
from mrfhw.machine.derived import Derived
from support import parameter_table, rooms

NUMBERS_COMMANDS_LINKS = pytest.mark.claim(
    "documents", "numbers, commands, links and files of the documents are those of the project")

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@NUMBERS_COMMANDS_LINKS
def test_cost_of_the_control_tree():
    config = Derived(mesh_rows=32, mesh_cols=32)
    nodes, bits = config.control_nodes, control_node_bits(config)
    text = " ".join((ROOT / "docs" / "machine.md").read_text().split())
    assert f"1024x2 (fan-in 4): {nodes} nodes of {bits} bits, {round(nodes * bits / 1024)} flip-flops a tile" in text
    stages, words = config.latency, ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    assert stages.down(config.tree_levels) == stages.up(config.tree_levels)
    assert f"{words[stages.down(config.tree_levels)]} cycles each way" in text


def test_slots_of_a_group():
    text = " ".join((ROOT / "docs" / "machine.md").read_text().split())
    slots = {banks: [Derived(spus=spus, lmem_banks=banks).fetch_slots / spus for spus in (1, 2, 4)] for banks in (1, 4)}
    assert [len(set(each)) for each in slots.values()] == [1, 1]
    assert (f"max(slots, {slots[1][0]:.0f} S) with one LMem bank, max(slots, {slots[4][0]:.0f} S) with four, "
            f"at least {Derived().latency.least_interval}.") in text


def test_cycles_over_axi():
    """Those of the machine's bus, of machines with one lane and with several, and those of the bridge around them."""
    machine, system = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("machine", "integration"))
    lanes = {"spus": 1, "lanes": 2}
    one, several = Derived(mesh_rows=1, mesh_cols=1), Derived(mesh_rows=1, mesh_cols=1, **lanes)
    trees = Derived(), Derived(**lanes)
    levels = [(tree.bus_read_cycles() - alone.bus_read_cycles()) // tree.tree_levels
              for tree, alone in zip(trees, (one, several), strict=True)]
    # The bus's counts include the cycle of the answer.
    for text, around in ((machine, -1), (system, BRIDGE_CYCLES - 1)):
        assert (f"| register read, any write | {one.bus_write_cycles() + around} | {several.bus_write_cycles() + around} |") in text
        assert (f"| read from a tile memory, one tile | {one.bus_read_cycles() + around} | {several.bus_read_cycles() + around} |"
                ) in text
        assert f"| for each level of the control tree | {levels[0]} more | {levels[1]} more |" in text


def test_lint_explanations_stand():
    text = (ROOT / "docs" / "machine.md").read_text()
    assert all(name in text for name in LINT_EXPLAINED)


@NUMBERS_COMMANDS_LINKS
def test_links_and_files_exist():
    for document in DOCUMENTS:
        text = document.read_text()
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (document.parent / link).exists(), (document.name, link)
        for name in re.findall(r"`((?:tests|docs|studies|sim|mrfhw|rtl_out)/[\w/.]+)`", text):
            assert (ROOT / name).exists(), (document.name, name)


@NUMBERS_COMMANDS_LINKS
def test_commands_and_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for document in DOCUMENTS:
        text = document.read_text()
        for target in re.findall(r"(?:^    |`)make (\w+)", text, re.M):
            assert re.search(rf"^{target}:", makefile, re.M), (document.name, target)
        for verb in re.findall(r"(?:^    |`)mrfhw ([a-z-]+)", text, re.M):
            assert verb in main.list_commands(None), (document.name, verb)  # type: ignore[arg-type]


def test_every_command_has_help():
    runner = CliRunner()
    for arguments in ([], ["run", "stereo"], ["verify", "stereo"], ["generate"], ["demo-scene"]):
        result = runner.invoke(main, [*arguments, "--help"])
        assert result.exit_code == 0
        assert "Usage:" in result.output


def test_own_fields_names_every_entry():
    text = (ROOT / "docs" / "own-fields.md").read_text()
    for name in (*PROBLEM, *DATA, *MASKS, *SCHEDULE, INITIAL):
        assert f"`{name}`" in text or f'"{name}"' in text, name


@pytest.mark.claim("Config",
    "each parameter states its limits, points of the space are machines or refused in one line, the document's table is the code's")
def test_the_table_of_parameters_is_that_of_the_code():
    """Made by: python -m support.parameter_table ../docs/parameters.md"""
    assert (ROOT / "docs" / "parameters.md").read_text() == parameter_table.markdown()
def test_rooms_are_drawn_as_they_are():
    assert rooms.DOCUMENT.read_text() == rooms.document()
    assert not rooms.circles()
    # Folders of applications are all alike.
    said = {room: text for room, text in rooms.rooms().items() if not room.startswith("applications.")}
    assert all(". " in text.splitlines()[0] for text in said.values()), "what does not belong there is not said"
