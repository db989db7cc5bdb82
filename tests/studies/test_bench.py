"""`python -m studies.bench`: its rows say what the records and the publications say, and its samplers sample what they should."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cost.seconds import RUN_SWEEPS
from mrfhw.fpga.report import RESULTS, kept_records
from mrfhw.machine.config import Config
from studies.asic.report import kept
from studies.bench import rows, software
from studies.bench.command import command as main
from studies.bench.numpy_sampler import NumpySampler
from studies.bench.tables_sampler import TablesSampler

ROWS_THOSE_RECORDS = pytest.mark.claim("python -m studies.bench",
    "its rows are those of the records and of the publications; its samplers draw from the field's distribution")


def bench(*arguments: str):
    return CliRunner().invoke(main, [*arguments])


@ROWS_THOSE_RECORDS
@pytest.mark.parametrize(("sampler", "sweeps"), [(TablesSampler, 20000), (NumpySampler, 5000)])
def test_a_peer_samples_what_it_should(sampler: type, sweeps: int) -> None:
    """Two sites with their neighbours' say; of nine cells each, beyond 8 sigma once in 1e14 runs, were sweeps independent."""
    single, double, heat = np.array([[0, 3, 5], [4, 1, 2]]), 2 * (1 - np.eye(3, dtype=int)), 2.0
    chain, pairs = sampler(single[:, None], double, heat), np.zeros((3, 3))
    for _ in range(sweeps):
        chain.sweep()
        pairs[chain.labels[0, 0], chain.labels[1, 0]] += 1
    wanted = np.exp(-(single[0][:, None] + single[1] + double) / heat)
    wanted /= wanted.sum()
    assert (np.abs(pairs / sweeps - wanted) < 8 * np.sqrt(wanted / sweeps)).all()  # sweeps are correlated


@ROWS_THOSE_RECORDS
def test_table_and_files(tmp_path: Path) -> None:
    """Every build that is kept, the published machines; labels/s a cell and a multiplier as the records give them."""
    out = tmp_path / "out"
    result = bench("--no-measure", "-o", str(out))
    assert result.exit_code == 0, result.output
    with (out / "bench.csv").open() as file:
        found = list(csv.DictReader(file))
    assert len(found) == len(kept_records()) + len(kept()) + 4
    per_watt = sorted(float(row["per_watt"]) for row in found if row["name"].startswith("a tile"))
    assert per_watt == pytest.approx(sorted(1 / one["joules_per_label"] for one in kept()), rel=1e-5)
    assert [float(row["labels_per_s"]) for row in found] == sorted((float(row["labels_per_s"]) for row in found), reverse=True)
    paper = next(row for row in found if row["name"] == "published prototype, 16x2")
    assert float(paper["per_logic"]) == pytest.approx(18.9e3, rel=0.01)
    assert (out / "bench.png").read_bytes().startswith(b"\x89PNG")
    for record in kept_records():
        row = rows.built(record)
        cells = {name: cell["used"] for name, cell in record["resources"].items()}
        assert row.per_logic in [pytest.approx(record["labels_per_s"] / used) for used in cells.values()]
        assert (row.labels_per_s, row.logged) == (record["labels_per_s"], record["log"]["labels_per_s"])
        replaced = record.get("labels_per_s_of_all_slots")
        assert row.replaced == replaced
        assert (replaced is None) == (Config.from_dict(record["config"]).subset_slots == 0)
        made = RUN_SWEEPS * record["sites"] * record["labels"] * (record["labels_per_s"] / replaced if replaced else 1)
        # Not faster than the machine and the answer's 32 bits a site through the link.
        reading = record["sites"] * 4 / record["log"]["link_bytes_per_s"]
        assert made / row.read_out > made / record["labels_per_s"] * 0.98 + reading
        assert f"| {row.name}" in result.output


@ROWS_THOSE_RECORDS
def test_software_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small scene; a given record alone beside it."""
    monkeypatch.setattr(software, "SHAPE", (24, 32))
    record = sorted(RESULTS.glob("*.json"))[0]
    result = bench(str(record), "--labels", "8", "--repeats", "1", "-o", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert result.output.count(f"weighs the labels in {software.cpu_weighed(8):.0%} of the visits") == 2
    assert 0.1 < software.cpu_weighed(8) < 1
    assert result.output.count("measured here") == len(rows.measurements(8, 1))
    assert result.output.count("placed and routed") == 1
    assert "8 labels, median of 1" in result.output


@pytest.mark.parametrize(("arguments", "line"), [
    (("--labels", "1"), "labels is 1; a scene 256 wide has 4 to 64 disparities: give a number between them"),
    (("--repeats", "0"), "repeats is 0; the limits are 1 to 50: give a number between them"),
    (("none.json",), "none.json"),
])
def test_wrong_arguments(arguments: tuple[str, ...], line: str, tmp_path: Path) -> None:
    result = bench(*arguments, "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert line in result.output.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_record_of_before_is_refused_in_one_line(tmp_path: Path) -> None:
    record = json.loads(sorted(RESULTS.glob("*.json"))[0].read_text())
    del record["machine_fmax_hz"]
    (tmp_path / "old.json").write_text(json.dumps(record))
    result = bench(str(tmp_path / "old.json"), "--no-measure", "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "it has no machine_fmax_hz" in result.output.splitlines()[-1]
