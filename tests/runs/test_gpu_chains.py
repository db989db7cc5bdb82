"""Chains that share a device's launches have the bits and the looks of chains one after the other."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import mrfhw
from mrfhw.backends.backend import Pauses
from mrfhw.backends.plan import Plan
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.runs.chains import Chains, Watch, sample
from mrfhw.runs.checkpoint import Keeping
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner
from mrfhw.samplers.gpu.fields import Fields
from mrfhw.scenes import stereo_scene

pytestmark = pytest.mark.claim("gpu", "chains side by side in a device's launches, of one request or of a list, have the bits of "
                                      "each alone, whole, kept, resumed and looked at")
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


def a_list(backend: str) -> list[Request]:
    """Unlike ones: fields of unlike sizes and sweeps, one of them matched both ways, with what comes first."""
    scene = stereo_scene(rows=24, cols=32, labels=6)
    other = Problem(labels=4, unary=RNG_OF_LIST.integers(0, 30, (6, 11, 4)), beta=5, tau=1, schedule=Schedule.constant(9.0))
    return [Request("problem", file=PROBLEM, sweeps=40, chains=2, seed=1, backend=backend),
            Request("stereo", left=scene.left, right=scene.right, labels=6, sweeps=30, first_sweeps=4, chains=2, backend=backend),
            Request("problem", file=other, sweeps=25, chains=1, seed=2, backend=backend, estimate="mean"),
            Request("problem", file=PROBLEM, sweeps=40, chains=3, seed=5, backend=backend)]


RNG_OF_LIST = np.random.default_rng(8)


def test_a_list_of_requests(monkeypatch):
    """Several at once, as many as there are places for: each as alone, in fewer launches."""
    seen, draws = [], Fields.sweep

    def counted(self, steps):
        seen.append(len(steps[0]))
        draws(self, steps)

    monkeypatch.setattr(Fields, "sweep", counted)
    requests = a_list("gpu?device=0&together=6")
    answers = mrfhw.run(requests)
    assert max(seen) >= 5  # chains of the first three
    launches = len(seen)
    seen.clear()
    alone = [mrfhw.run(request) for request in requests]
    assert max(seen) <= 3
    assert launches < 0.8 * len(seen)
    for number, (one, other) in enumerate(zip(answers, alone, strict=True)):
        assert np.array_equal(one.labels, other.labels)
        assert np.array_equal(one.mean, other.mean) if number == 2 else np.array_equal(one.counts, other.counts)
        assert one.converged == other.converged


def test_progress_of_several_is_one_sum():
    told = []
    watch = Watch()
    watch.sweeps = lambda done, total: told.append((done, total))
    with Runner(a_list("gpu?device=0&together=6")[::2], watch=watch) as runner:
        assert [one.job.run.sweeps for one in runner.result()] == [40, 25]
    assert {total for _, total in told[1:]} <= {2 * 40 + 25, 2 * 2 * 40}  # until the second is known as many as of the first
    assert all(before[0] <= after[0] for before, after in itertools.pairwise(told))


def test_one_that_fails_ends_the_list():
    requests = a_list("gpu?device=0&together=6")
    requests.insert(1, Request("problem", file=Problem(labels=2, unary=np.full((2, 2, 2), 1 << 30), alpha=9), sweeps=5,
                               backend="gpu?device=0&together=6"))
    with pytest.raises(ProblemError, match=r"energies go up to .*; backend gpu takes them below 2\^31"):
        mrfhw.run(requests)


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
