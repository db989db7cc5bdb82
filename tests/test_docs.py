"""Numbers and names that the documents state are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.config import Config
from mrfhw.gateware.tree import control_node_bits
from mrfhw.rtl import LINT_EXPLAINED

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_cost_of_the_control_tree():
    config = Config(mesh_rows=32, mesh_cols=32)
    nodes, bits = config.control_nodes, control_node_bits(config)
    text = " ".join((ROOT / "docs" / "machine.md").read_text().split())
    assert f"1024x2 (fan-in 4): {nodes} nodes of {bits} bits, {round(nodes * bits / 1024)} flip-flops a tile" in text
    assert config.tree_levels == 5
    assert "five cycles each way" in text


def test_lint_explanations_stand():
    text = (ROOT / "docs" / "machine.md").read_text()
    assert all(name in text for name in LINT_EXPLAINED)


def test_links_and_files_exist():
    for document in DOCUMENTS:
        text = document.read_text()
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (document.parent / link).exists(), (document.name, link)
        for name in re.findall(r"`((?:tests|docs|benchmarks|sim|mrfhw|rtl_out)/[\w/.]+)`", text):
            assert (ROOT / name).exists(), (document.name, name)


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
    for arguments in ([], ["run", "stereo"], ["verify", "stereo"], ["generate"], ["statistics"], ["demo-scene"]):
        result = runner.invoke(main, [*arguments, "--help"])
        assert result.exit_code == 0
        assert "Usage:" in result.output
