"""Chains that share a device's launches have the bits and the looks of chains one after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mrfhw
from mrfhw.backends.backend import Pauses
from mrfhw.backends.plan import Plan
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.runs.chains import Chains, sample
from mrfhw.runs.checkpoint import Keeping
from mrfhw.samplers.gpu.fields import Fields

pytestmark = pytest.mark.claim("gpu", "chains side by side in a device's launches have the bits of each alone, whole, kept, "
                                      "resumed and looked at")
RNG = np.random.default_rng(3)
PROBLEM = Problem(labels=6, unary=RNG.integers(0, 40, (9, 8, 6)), beta=6, tau=2, clamped=RNG.random((9, 8)) < 0.1,
                  schedule=Schedule.geometric(20.0, 0.9, 4.0))
ALONE, TOGETHER = "gpu?device=0&together=1", "gpu?device=0&together=2"


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_side_by_side_as_alone(traced, estimate):
    run = Run(sweeps=75, burn_in=9, seed=4, estimate=estimate)
    one, other = (sample(backend, None, PROBLEM, run, chains=3, traced=traced) for backend in (ALONE, TOGETHER))
    for a, b in zip(one.results, other.results, strict=True):
        assert a == b
    assert (one.trace is None) == (not traced)
    if one.trace is not None and other.trace is not None:
        assert np.array_equal(one.trace.energy, other.trace.energy)
        assert np.array_equal(one.trace.labels, other.trace.labels)


def test_they_are_drawn_in_the_same_launches(monkeypatch):
    seen, draws = [], Fields.sweep

    def counted(self, steps):
        seen.append(len(steps[0]))
        draws(self, steps)

    monkeypatch.setattr(Fields, "sweep", counted)
    sample(TOGETHER, None, PROBLEM, Run(sweeps=20, seed=4), chains=3)
    assert seen == [2] * 20 + [1] * 20
    seen.clear()
    sample(TOGETHER, None, PROBLEM, Run(sweeps=70, seed=4), chains=2, traced=False)
    assert seen == [2] * 3  # of 32, 32 and 6 sweeps


def test_a_kept_run_goes_on(tmp_path: Path):
    run, path = Run(sweeps=40, burn_in=5, seed=2), tmp_path / "state"
    whole = sample(ALONE, None, PROBLEM, run, chains=3)
    plan = Plan.of(TOGETHER, None, PROBLEM, None)
    with Chains(plan, run, 3, keeping=Keeping(path=path)) as begun:
        begun.step(13)
        begun.state().save(path)
    for backend in (TOGETHER, ALONE, "gpu?device=0&group=4x2"):
        ended = sample(backend, None, PROBLEM, run, chains=3, keeping=Keeping(resume=path))
        assert [result.counts.tolist() for result in ended.results] == [result.counts.tolist() for result in whole.results]


def test_looked_at_side_by_side():
    run, looks = Run(sweeps=12, burn_in=2, seed=2), []
    with Chains(Plan.of(TOGETHER, None, PROBLEM, None), run, 3) as chains:
        chains.finish(4, lambda look: looks.append((look.chain, look.sweeps, int(look.energy))))
        found = chains.solution()
    assert [look[:2] for look in looks] == [(chain, sweeps) for sweeps in (4, 8, 12) for chain in range(3)]
    whole = sample(ALONE, None, PROBLEM, run, chains=3)
    assert [result.counts.tolist() for result in found.results] == [result.counts.tolist() for result in whole.results]


def test_a_list_of_requests():
    answers = [mrfhw.solve(PROBLEM, sweeps=20, chains=2, seed=seed, backend=TOGETHER) for seed in (1, 2)]
    for seed, answer in zip((1, 2), answers, strict=True):
        assert np.array_equal(answer.counts, mrfhw.solve(PROBLEM, sweeps=20, chains=2, seed=seed, backend=ALONE).counts)


def test_a_device_that_is_lost_is_one_line_and_the_checkpoint_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """No driver here loses its device: what PyOpenCL raises then is raised in place of the 30th launch."""
    import pyopencl

    from mrfhw.samplers.gpu.device import of_name

    run, path, opened = Run(sweeps=40, burn_in=5, seed=2), tmp_path / "state", of_name("0")
    whole, launches = sample(ALONE, None, PROBLEM, run, chains=2), []
    kernel_of = opened.kernel

    class Lost:
        def __init__(self, kernel):
            self._kernel = kernel

        def __call__(self, *values):
            launches.append(values)
            if len(launches) == 60:
                raise pyopencl.RuntimeError("clEnqueueNDRangeKernel failed: OUT_OF_RESOURCES")
            self._kernel(*values)

    monkeypatch.setattr(opened, "kernel", lambda text, name: Lost(kernel_of(text, name)))
    line = r"failed when it drew: .*OUT_OF_RESOURCES.*: give another device \(gpu\?device=\), go on from a checkpoint, or give "
    with pytest.raises(ProblemError, match=line):
        sample(TOGETHER, None, PROBLEM, run, chains=2, keeping=Keeping(path=path, pauses=Pauses(sweeps=7)))
    monkeypatch.undo()
    ended = sample(TOGETHER, None, PROBLEM, run, chains=2, keeping=Keeping(resume=path))
    assert [result.counts.tolist() for result in ended.results] == [result.counts.tolist() for result in whole.results]
