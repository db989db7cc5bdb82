"""The study of videos: a table of few sweeps and many, of the command line's runs."""

import csv

from click.testing import CliRunner

from studies import video


def test_a_row_for_each_way(monkeypatch):
    monkeypatch.setattr(video, "SIZE", (48, 112))
    monkeypatch.setattr(video, "MANY", 60)
    found = CliRunner().invoke(video.main, ["--frames", "2", "--workers", "1"])
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(found.output.splitlines()))
    assert [row["sweeps"] for row in rows] == ["40", "60", "60"]
    assert [row["starts from"] for row in rows] == ["frame before", "frame before", "itself"]
    for row in rows:
        assert 0 < float(row["bad_1 %"]) < 50
        assert 50 < float(row["coverage %"]) <= 100
