"""A device beside others: its variants and their points, whole runs and their law, energy, and the figures whose baseline it is."""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.field.problem import Problem, Run, Schedule, save_problem
from mrfhw.samplers.gpu.points import KernelPoint, kept_points
from studies import gpu_learned, gpu_peers
from studies.bench.command import command as bench
from studies.cards import card_of
from studies.gpu import main
from studies.reproduce.command import command as reproduce

FIELD = Problem(labels=5, unary=np.random.default_rng(3).integers(0, 40, (11, 14, 5)), beta=6, tau=2,
                schedule=Schedule.constant(20.0))


def test_variants_and_chains_of_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which nothing is known."""
    monkeypatch.setattr("mrfhw.samplers.gpu.points._known", list)
    found = CliRunner().invoke(main, ["--device", "0", "--rows", "12", "--cols", "9", "--labels", "5", "--chains", "1,3",
                                      "--points", str(tmp_path / "points")])
    assert found.exit_code == 0, found.output
    assert "| the soonest, 3 chains a launch" in found.output
    points = kept_points(tmp_path / "points")
    assert len(points) == 11
    assert {(point.rows, point.cols, point.labels, point.energy_bits) for point in points} == {(12, 9, 5, 16)}
    assert all(point.sweep_s > 0 and point.driver and point.device for point in points)


def test_wrong_chains_are_one_line() -> None:
    found = CliRunner().invoke(main, ["--chains", "1,x"])
    assert found.exit_code == 2
    assert "'1,x' has chains such as 1,8" in found.output


# -- beside cpu


def peers(path: Path, *words: str):
    return CliRunner().invoke(gpu_peers.main, [str(path), *words])


def test_whole_runs_have_one_law(tmp_path: Path) -> None:
    """Total variation of histograms to those of cpu is as that of other chains of cpu: of 4,000 sweeps near .015, the mean of 154
    sites, which no run in 1e6 doubles."""
    save_problem(tmp_path / "field", FIELD, Run(sweeps=2500, burn_in=500, seed=2))
    found = peers(tmp_path / "field", "--backend", "gpu?device=0", "--chains", "1,3", "--seconds", "0.1")
    assert found.exit_code == 0, found.output
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in found.output.splitlines() if line.startswith("|")]
    rows = {row[0]: row[1:] for row in cells}
    assert 0 < float(rows["cpu"][2]) < 0.03
    assert 0 < float(rows["gpu?device=0"][2]) < 0.03
    assert all(rows[chains][0][-1] in "kMG" and rows[chains][1:] == ["-", "-", "-"] for chains in ("1", "3"))


@pytest.mark.parametrize(("words", "says"), [
    (("--backend", "cpu"), "backend is 'cpu'; it is measured beside cpu: give gpu, or such as gpu?device=0"),
    (("--backend", "gpu?cutoff=4"), "event-driven sampling has no histograms: leave cutoff and region out"),
    (("--chains", "1,x"), "'1,x' has chains such as 1,8"),
    (("--seconds", "0"), "0.0 is not in the range 0.1<=x<=600"),
    (("--backend", "gpu?device=abacus"), "device is 'abacus'; there are these: ")])
def test_what_is_not_measured_is_one_line(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    save_problem(tmp_path / "field", FIELD, Run(sweeps=2))
    found = peers(tmp_path / "field", *words)
    assert found.exit_code == 2
    assert says in found.stderr
    assert len(found.stderr.splitlines()) == 1
    save_problem(tmp_path / "alone", FIELD)
    assert "it has no run" in peers(tmp_path / "alone").stderr


def test_energy_is_that_of_the_card_of_the_device_s_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert card_of("NVIDIA H200") is None
    names = ["NVIDIA T4", "NVIDIA H200"]
    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace(
        nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: 2, nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetName=names.__getitem__, nvmlDeviceGetTotalEnergyConsumption=lambda number: 2500 * (number + 1)))
    card = card_of("NVIDIA H200")
    assert card is not None
    assert (card.name, card.joules()) == ("NVIDIA H200", 5.0)
    assert card_of("a processor") is None


# -- figures


def test_figures_have_the_device_s_times(tmp_path: Path) -> None:
    for figure, columns in (("figure-3.17", ["own_gpu_ms"]), ("figure-4.9", ["speedup_1x1", "speedup_32x32"])):
        words = [figure, "--scene", "teddy", "--iterations", "4", "--gpu", "device=0", "-o", str(tmp_path)]
        found = CliRunner().invoke(reproduce, words)
        assert found.exit_code == 0, found.output
        with (tmp_path / f"{figure}.csv").open() as file:
            rows = list(csv.DictReader(file))
        for column in columns:
            assert [row[column] != "" for row in rows] == [row.get("cutoff") != "" for row in rows]
            assert all(float(row[column]) > 0 for row in rows if row[column])
    assert "times as fast on the device as plain sampling" in found.output


def test_the_bench_has_a_row_of_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.bench.software.SHAPE", (16, 16))
    found = CliRunner().invoke(bench, ["--labels", "4", "--repeats", "1", "--gpu", "device=0", "-o", str(tmp_path)])
    assert found.exit_code == 0, found.output
    with (tmp_path / "bench.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["name"].endswith("(gpu)")]
    assert len(rows) == 1
    assert float(rows[0]["labels_per_s"]) > 0


# -- what is learned of points


def a_device(fields: int) -> list[KernelPoint]:
    """A device on which local labels cost a fifth, local doubletons save a third where there are 16 labels or more."""
    rng, found = random.Random(1), list[KernelPoint]()
    for _ in range(fields):
        labels, rows = rng.randint(4, 100), rng.randint(20, 99)
        for variant in gpu_learned.ways(rng):
            seconds = labels * rows * (1.2 if variant.local_labels else 1) * (1 if variant.keep else 1.5)
            if variant.local_doubles:
                seconds *= 2 / 3 if labels > 15 else 4 / 3
            found.append(KernelPoint("a device", "1", rows, 30, labels, labels * (labels + 1), False, 16, variant.group,
                                     variant.keep, variant.local_doubles, variant.local_labels, variant.fixed, seconds))
    return found


def test_trees_learn_what_pays() -> None:
    points = a_device(50)
    accuracy = gpu_learned.forest_of(points, 1)
    assert accuracy.count > 0.8
    assert accuracy.count <= accuracy.penalty <= 1
    found = gpu_learned.reached(points, 20, 1)
    assert found["boosted trees"] > 0.95 > found["the plain variant"]


def test_a_folder_without_points_is_one_line(tmp_path: Path) -> None:
    found = CliRunner().invoke(gpu_learned.main, ["--points", str(tmp_path / "none")])
    assert found.exit_code == 2
    assert found.stderr == f"Error: {tmp_path / 'none'} has no points of a device: give --measure N, or another --points\n"


def test_points_of_a_device_are_measured_and_kept(tmp_path: Path) -> None:
    found = CliRunner().invoke(gpu_learned.main, ["--measure", "1", "--device", "0", "--points", str(tmp_path / "kept")])
    assert found.exit_code == 2
    assert len(found.stderr.splitlines()[-1:]) == 1
    assert "1 fields are known of " in found.stderr
    assert len(kept_points(tmp_path / "kept")) == 17
