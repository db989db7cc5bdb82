"""Fields that software solves, and nothing is said of a machine: their limits are those of arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.applications.options import COMMON, Common
from mrfhw.cli import main
from mrfhw.field.problem import Problem, ProblemError, Schedule
from mrfhw.jobs.job import Cooling
from mrfhw.jobs.options import Given
from mrfhw.jobs.registry import application
from mrfhw.machine.config import Config
from mrfhw.placement.fit import check_fits
from mrfhw.scenes import denoising_scene, stereo_scene, write_scene

RNG = np.random.default_rng(3)
LEFT, RIGHT = RNG.integers(0, 256, (2, 12, 20)).astype(np.uint8)


def stereo(backend: str, **options: Any) -> Any:
    return application("stereo").job_of({"left": LEFT, "right": RIGHT, "labels": 6, "sweeps": 6, **options}, backend)


@pytest.mark.parametrize(("options", "said"), [
    ({"alpha": 300}, "alpha is 300; the machine takes whole numbers from 0 to 255"),
    ({"temperature": 2000.0, "data": "grey"}, "temperature is 2000; this machine realizes"),
    ({"temperature": 0.001}, "temperature is 0.001; this machine realizes")])
@pytest.mark.parametrize("backend", ["cpu", "float", "events"])
def test_a_machines_limits_are_those_of_a_machine_alone(backend: str, options: dict[str, Any], said: str) -> None:
    job = stereo(backend, **options)
    assert job.config is None
    assert job.problem.alpha == options.get("alpha", 1)

    def beside_an_option_of_a_machine() -> None:
        made = stereo(backend, spus=1, **options)
        check_fits(made.machine, made.problem)

    with pytest.raises(ProblemError, match=said):
        beside_an_option_of_a_machine()


@pytest.mark.parametrize(("backend", "given", "none"), [
    ("cpu", set(), True), ("events?cutoff=4", set(), True), ("float", {"sweeps", "visit"}, True), ("model", set(), False),
    ("rtl", set(), False), ("serial:///dev/ttyUSB0", set(), False), ("cpu", {"spes"}, False), ("cpu", {"machine"}, False),
    ("float", {"preset"}, False)])
def test_which_jobs_have_no_machine(backend: str, given: set[str], none: bool) -> None:
    assert Given(frozenset(given), backend).no_machine == none


def test_fields_are_those_of_the_default_machine() -> None:
    """The widths of data, descriptors, limits and weights of edges."""
    for options in ({}, {"data": "grey"}, {"one_way": True}, {"anneal": True}):
        software, machine = (stereo(backend, **options) for backend in ("cpu", "model"))
        assert software.problem.digest == machine.problem.digest, options
    colour = RNG.integers(0, 256, (12, 20, 3)).astype(np.uint8)
    for given in ({"image": colour}, {"image": colour, "data": "grey"}):
        software, machine = (application("segment").job_of({**given, "sweeps": 6}, backend) for backend in ("cpu", "model"))
        assert software.problem.digest == machine.problem.digest


def test_annealing_ends_where_arithmetic_does() -> None:
    options = {**COMMON, "preset": "default", "sweeps": 100, "anneal": True, "temperature": None}
    for held, first, last in ((900.0, 1350.0, 90.0), (0.1, 0.15, 0.01)):
        schedule = Common.of(options, lambda widths: 0, given=Given(backend="cpu")).schedule(held, Cooling(1.5, 0.1))
        assert (schedule.start, schedule.limit) == pytest.approx((first, last))


def test_heavy_noise_is_not_cut_to_a_machines_weights() -> None:
    scene = denoising_scene(24, 32, 20.0, 0)
    software, machine = (application("denoise").job_of({"image": scene.noisy, "noise": 200.0, "sweeps": 4}, backend)
                         for backend in ("cpu", "model"))
    assert software.problem.schedule.start == pytest.approx(2 * 50.0**2)
    assert software.problem.beta == round(0.2 * software.problem.schedule.start) > 255 >= machine.problem.beta
    assert software.problem.energy_shift == 0 < machine.problem.energy_shift


def test_a_field_from_a_file() -> None:
    problem = Problem(labels=3, singleton1=np.zeros((4, 6), int), constants=np.arange(3) * 5000, alpha=1000,
                      schedule=Schedule.constant(1e6))
    field = application("problem")
    assert field.job_of({"file": problem}, "cpu").config is None
    with pytest.raises(ProblemError, match="alpha is 1000"):
        field.job_of({"file": problem}, "model")


@pytest.mark.parametrize("table", ["8,4,3.5", "8,8,8"])
def test_cooled_without_a_machine(table: str) -> None:
    assert stereo("cpu", cooling_table=table, burn_in=1).cooled == (table != "8,8,8")
    assert not stereo("cpu", cooling_table=table, burn_in=2).cooled


def test_a_report_has_no_machine(tmp_path: Path) -> None:
    write_scene(stereo_scene(16, 24, 4, 0), tmp_path)
    words = ["run", "stereo", str(tmp_path / "left.png"), str(tmp_path / "right.png"), "--labels", "4", "--sweeps", "6", "--alpha",
             "300", "--data", "grey"]
    done = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["backend"], report["config_digest"], report["settings"]["machine"]) == ("cpu", None, None)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h3>Machine</h3>" not in page
    assert "Digest of the machine" not in page
    done = CliRunner().invoke(main, [*words, "--spes", "4", "-o", str(tmp_path / "other")])
    assert done.exit_code == 2
    assert done.output.startswith("Error: alpha is 300; the machine takes whole numbers from 0 to 255")
    assert Config().data_bits == 6  # of which the greys were
