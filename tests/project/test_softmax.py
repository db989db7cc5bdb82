"""docs/softmax.md: a segmentation from a classifier's probabilities, on the float reference, the model and the hardware."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main

DOCUMENT = Path(__file__).parents[2] / "docs" / "softmax.md"


@pytest.mark.claim(
    "applications", "a classifier's probabilities become a segmentation: contrast weights better than none, RTL equals model")
def test_contrast_is_better_than_none_and_hardware_is_the_model(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text()
    exec(compile(text.split("```python\n")[1].split("```")[0], "softmax.md", "exec"), {})
    said = capsys.readouterr().out
    wrong = {name: float(share) for name, share in re.findall(r"(\w+)(?: weights)?: ([\d.]+) % wrong", said)}
    assert wrong["contrast"] < wrong["equal"] < 0.5 * wrong["classifier"]
    for command in re.findall(r"^    (mrfhw .*)$", text, re.MULTILINE):
        words = shlex.split(command)[1:]
        result = CliRunner().invoke(main, [*words, *(["-o", "out", "--sweeps", "20"] if words[0] == "run" else [])])
        assert result.exit_code == 0, result.output
    assert "equal: rtl and model have the same labels" in result.output
