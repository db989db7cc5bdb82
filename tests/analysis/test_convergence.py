"""R-hat and effective sample sizes of traces that mix, that do not, and that stand still."""

import importlib.util
import math
import subprocess
import sys

import numpy as np
import pytest

from mrfhw.analysis import convergence
from mrfhw.analysis.convergence import converged, diagnose, doubtful, mixed, undiagnosed, verdict
from mrfhw.analysis.trace import Trace
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.machine.config import Config
from mrfhw.twin.machine import Machine

CONVERGENCE_ARVIZ_HAT = pytest.mark.claim(
    "uncertainty", "convergence is ArviZ's R-hat and effective sample size, and calibration is measured as defined")
FEW_LOOKS_CHAIN = pytest.mark.claim(
    "report", "few looks at a chain are not called unconverged for what chance does to R-hat; chains apart are, however few")

SCALE = LabelScale(values=np.arange(4.0)[:, None], name="x")
CLASSES = LabelScale(values=np.arange(4.0)[:, None], name="x", kind="classes")

needs_arviz = pytest.mark.skipif(importlib.util.find_spec("arviz_stats") is None, reason="ArviZ is not installed")


def trace(labels, energy=None, burn_in=0, step=1):
    """labels: (chains, n, m)."""
    labels = np.asarray(labels, np.uint8)
    _, n, m = labels.shape
    if energy is None:
        energy = labels.sum(2).astype(float)
    return Trace(sweeps=step * np.arange(1, n + 1), burn_in=burn_in, energy=energy, sites=np.zeros((m, 2), np.int64), labels=labels)


def independent(chains=2, n=400, m=10, seed=0):
    return np.random.default_rng(seed).integers(0, 4, (chains, n, m))


@needs_arviz
def test_independent_samples():
    found = diagnose(trace(independent()), SCALE)
    assert found["chains"] == 2
    assert found["looks"] == 400
    assert found["sweeps"] == 800
    assert abs(found["energy"]["rhat"] - 1) < 0.01
    assert 500 < found["energy"]["ess_bulk"] < 1200
    sites = found["sites"]
    assert sites["constant"] == 0
    assert abs(sites["rhat_median"] - 1) < 0.005
    assert sites["rhat_above_1.05"] == 0
    assert sites["ess_least"] <= sites["ess_median"]
    assert sites["ess_per_sweep"] == pytest.approx(sites["ess_median"] / 800)
    assert "has converged" in verdict(found)
    assert "All 10 watched sites have mixed: the chains agree on their labels." in verdict(found)


@needs_arviz
def test_sites_that_do_not_agree_are_said_where_they_are_few():
    labels = independent(m=100)
    labels[0, :, 0] //= 2
    found = diagnose(trace(labels), SCALE)
    assert found["sites"]["rhat_above_limit"] == 0.01
    assert found["sites"]["not_mixed"] == 0.01
    assert found["sites"]["not_mixed_at"] == [[0, 0]]
    said = "1 % of 100 watched sites have not mixed (R-hat of their labels 1.06 or more)"
    assert f"{said}: doubt what is said of these, one by one." in verdict(found)
    assert mixed(found) == said
    assert converged(found) is True
    assert doubtful(found) is None
    alone = diagnose(trace(independent(1)), SCALE)
    assert "All 10 watched sites have mixed: the halves of the chain agree on their labels." in verdict(alone)


@CONVERGENCE_ARVIZ_HAT
@needs_arviz
def test_the_numbers_are_those_of_arviz():
    from arviz_stats.base import array_stats

    labels = independent(3, 100, 2)
    labels[..., 1] = np.repeat(labels[:, ::4, 1], 4, axis=1)  # slow
    found = diagnose(trace(labels), SCALE)["sites"]
    series = [labels[..., k].astype(float) for k in range(2)]
    assert found["rhat_worst"] == max(float(array_stats.rhat(s, method="rank")) for s in series)
    assert found["ess_least"] == min(float(array_stats.ess(s, method="bulk")) for s in series)
    assert found["ess_tail_least"] == min(float(array_stats.ess(s, method="tail", prob=(0.05, 0.95))) for s in series)
    assert found["ess_least"] < 150


@needs_arviz
def test_only_counted_looks_matter():
    labels = independent()
    labels[:, :200] = 0
    labels[0, :200] = 3
    assert diagnose(trace(labels), SCALE)["sites"]["rhat_above_1.05"] == 1
    found = diagnose(trace(labels, burn_in=200), SCALE)
    assert found["looks"] == 200
    assert found["sweeps"] == 400
    assert found["sites"]["rhat_above_1.05"] == 0


@needs_arviz
def test_looks_every_few_sweeps():
    found = diagnose(trace(independent(), burn_in=500, step=5), SCALE)
    assert found["looks"] == 300
    assert found["sweeps"] == 2 * 1500


@CONVERGENCE_ARVIZ_HAT
@needs_arviz
def test_chains_that_disagree():
    labels = independent(n=200)
    labels[0] = labels[0] // 2
    labels[1] = 2 + labels[1] // 2
    found = diagnose(trace(labels), SCALE)
    assert found["sites"]["rhat_median"] > 1.5
    assert found["energy"]["rhat"] > 1.5
    assert "has not converged" in verdict(found)
    assert "differ by chain" in verdict(found)


@needs_arviz
def test_sites_that_stand_still():
    labels = independent(m=4)
    labels[:, :, 0] = 2  # never moves
    labels[0, :, 1], labels[1, :, 1] = 0, 3  # each chain at a label of its own
    found = diagnose(trace(labels), SCALE)["sites"]
    assert found["sites"] == 4
    assert found["constant"] == 0.25
    assert found["rhat_infinite"] == pytest.approx(1 / 3)
    assert math.isinf(found["rhat_worst"])
    assert found["rhat_above_1.01"] == pytest.approx(1 / 3)
    assert not any(isinstance(value, float) and math.isnan(value) for value in found.values())


@needs_arviz
def test_nothing_moves():
    found = diagnose(trace(np.ones((2, 50, 3), int)), SCALE)
    assert found["energy"]["constant"]
    assert found["energy"]["rhat"] is None
    assert found["sites"]["constant"] == 1
    assert found["sites"]["rhat_median"] is None
    assert "No watched site moved" in verdict(found)


@needs_arviz
def test_no_site_is_watched():
    found = diagnose(trace(np.ones((2, 50, 0), int), np.random.default_rng(0).random((2, 50))), SCALE)
    assert found["sites"]["sites"] == 0
    assert found["sites"]["constant"] is None
    verdict(found)


@needs_arviz
def test_one_chain_is_diagnosed_by_its_halves():
    drift = np.sort(independent(1, 200, 3), axis=1)
    found = diagnose(trace(drift), SCALE)
    assert found["sites"]["rhat_median"] > 1.5
    assert "run several" in verdict(found)
    assert diagnose(trace(independent(1)), SCALE)["sites"]["rhat_above_1.05"] == 0


@needs_arviz
def test_classes_by_the_indicator_of_the_mode():
    rng = np.random.default_rng(0)
    # Label 2 half of the time; chains differ only in what they draw else, which the indicator does not see.
    at_mode = rng.random((2, 400, 5)) < 0.5
    labels = np.where(at_mode, 2, np.array([0, 3])[:, None, None])
    assert diagnose(trace(labels), CLASSES)["sites"]["rhat_above_1.05"] == 0
    assert diagnose(trace(labels), SCALE)["sites"]["rhat_above_1.05"] == 1


@needs_arviz
def test_of_two_components_the_worse_one_counts():
    values = np.array([(row, col) for row in (0, 1) for col in (0, 1)], float)
    flow = LabelScale(values=values, name="motion (pixels)", kind="flow")
    rng = np.random.default_rng(0)
    row, col = rng.integers(0, 2, (2, 2, 400, 4))
    col[0], col[1] = rng.random((2, 400, 4)) < np.array([0.05, 0.95])[:, None, None]
    found = diagnose(trace(2 * row + col), flow)["sites"]
    assert found["rhat_above_1.05"] == 1
    assert diagnose(trace(2 * row + rng.integers(0, 2, row.shape)), flow)["sites"]["rhat_above_1.05"] == 0


@pytest.mark.slow
@FEW_LOOKS_CHAIN
@needs_arviz
@pytest.mark.parametrize(("chains", "looks"), [(2, 8), (2, 10), (1, 20), (5, 20)])
def test_few_independent_looks_are_seldom_called_unconverged(chains, looks):
    """One in a hundred by the limit; more than 22 of 500 have a chance of 1e-6."""
    rng = np.random.default_rng(chains + looks)
    found = [diagnose(trace(np.ones((chains, looks, 0)), rng.normal(size=(chains, looks))), SCALE) for _ in range(500)]
    assert sum(converged(one) is False for one in found) <= 22
    assert sum(converged(one) is None for one in found) > 20
    one = next(one for one in found if converged(one) is None)
    assert f"cannot be told from {looks} looks" in doubtful(one)
    assert f"with {looks} looks at each chain" in verdict(one)


@FEW_LOOKS_CHAIN
@needs_arviz
@pytest.mark.parametrize("looks", [8, 10, 100])
def test_chains_apart_are_called_unconverged_whatever_the_number_of_looks(looks):
    energy = np.random.default_rng(looks).normal(size=(2, looks)) + np.array([[0], [8]])
    found = diagnose(trace(np.ones((2, looks, 0)), energy), SCALE)
    assert converged(found) is False
    assert "not converged" in doubtful(found)
    assert "has not converged" in verdict(found)


@needs_arviz
def test_many_looks_have_the_limit_of_1_05():
    found = diagnose(trace(independent()), SCALE)
    assert found["rhat_limit"] == 1.05
    assert converged(found) is True
    assert doubtful(found) is None


def test_nothing_is_said_of_convergence_that_nobody_looked_at():
    assert converged(None) is doubtful(None) is converged(undiagnosed(trace(independent()), "x")) is None


@pytest.mark.parametrize(("chains", "n"), [(2, 7), (1, 15), (2, 0)])
def test_too_few_looks(chains, n):
    found = diagnose(trace(np.ones((chains, n, 2), int), np.zeros((chains, n))), SCALE)
    assert "run more sweeps" in found["note"]
    assert found["energy"] is None
    assert verdict(found) == found["note"]


def test_without_arviz(monkeypatch):
    monkeypatch.setattr(convergence, "_arviz", lambda: None)
    found = diagnose(trace(independent()), SCALE)
    assert 'pip install "mrfhw[apps]"' in verdict(found)
    assert found["sites"] is None


def test_a_package_that_cannot_be_imported_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats.base", None)
    assert convergence._arviz() is None


@pytest.mark.slow
@needs_arviz
def test_its_import_warns_of_nothing_and_is_small():
    command = ("import sys; from mrfhw.analysis.convergence import _arviz; assert _arviz()\n"
               "assert not {'xarray', 'pandas', 'matplotlib'} & set(sys.modules)")
    subprocess.run([sys.executable, "-W", "error", "-c", command], check=True, timeout=120)


def test_no_diagnosis_with_a_reason():
    found = undiagnosed(trace(independent()), "because")
    assert found["note"] == verdict(found) == "because"
    assert found["looks"] == 400


@needs_arviz
def test_the_model_machine_mixes_on_a_small_grid():
    rng = np.random.default_rng(3)
    grey = rng.integers(0, 20, (16, 16))
    problem = Problem(labels=4, singleton1=grey, constants=np.array([0, 6, 12, 18]), schedule=Schedule.constant(6.0))
    config = Config.preset("smallest")
    chains = []
    for seed in (0, 1):
        machine = Machine(config, problem, Run(sweeps=120, burn_in=20, seed=seed))
        seen = []
        for _ in range(120):
            machine.sweep()
            seen.append(machine.image(machine.labels)[::2, ::2].ravel().copy())
        chains.append(seen)
    found = diagnose(trace(chains, burn_in=20), SCALE)
    assert found["looks"] == 100
    assert found["energy"]["rhat"] < 1.2
    assert found["sites"]["rhat_median"] < 1.05
    assert found["sites"]["ess_median"] > 50
