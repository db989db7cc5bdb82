"""The runner: one request or several, in steps, kept, gone on with, stopped: the bits of a run at once."""

from __future__ import annotations

import numpy as np
import pytest

import mrfhw
from mrfhw.backends.backend import Backend
from mrfhw.backends.registry import backend_type
from mrfhw.field.problem import ProblemError
from mrfhw.runs.chains import Look
from mrfhw.runs.checkpoint import Keeping, pauses_of
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner
from support.slow_chains import MOST, RUN, SLOW
from support.watching import Told
from support.windowed import SMALL


def slow(**more) -> Request:
    """Chains that do not agree after their sweeps, and go on."""
    return Request("problem", **{"file": SLOW, "sweeps": RUN.sweeps, "burn_in": RUN.burn_in, "seed": RUN.seed, "most_sweeps": MOST,
                                 "chains": 2, "backend": "cpu"} | more)


def assert_same(found, wanted) -> None:
    assert np.array_equal(found.counts, wanted.counts)
    assert np.array_equal(found.last, wanted.last)
    assert found.trace.sweeps.tolist() == wanted.trace.sweeps.tolist()
    assert np.array_equal(found.trace.energy, wanted.trace.energy)


@pytest.mark.parametrize("add_up", [False, True])
@pytest.mark.parametrize("sweeps", [1, 7, None])
@pytest.mark.parametrize("backend", ["cpu", "model"])
def test_in_steps_or_at_once(backend, sweeps, add_up):
    """Also of a run that goes on."""
    machine = SMALL if backend == "model" else None
    wanted, = Runner(slow(backend=backend, machine=machine)).result()
    assert wanted.solution.longer is not None
    runner = Runner(slow(backend=backend, machine=machine), add_up=add_up)
    steps = 0
    while runner.step(sweeps):
        steps += 1
    found, = runner.result()
    assert steps >= (0 if sweeps is None else 2)
    assert found.job.run == wanted.job.run
    assert_same(found.solution, wanted.solution)


def test_nothing_is_sampled_before_it_is_stepped(monkeypatch):
    """Nor does `prepare`, nor a backend's own."""
    monkeypatch.setattr(Backend, "open", lambda *given: pytest.fail("it was opened"))
    runner = Runner(slow())
    assert runner.prepare().run.sweeps == RUN.sweeps
    monkeypatch.undo()
    with backend_type("cpu").open("cpu", None, 0) as opened:
        seen: list[int] = []
        active = opened.prepare(SLOW, RUN, progress=seen.append)
        assert (active.sweeps, seen) == (0, [])


def test_a_list_is_one_after_the_other():
    requests = [slow(seed=seed, most_sweeps=None) for seed in (1, 2, 3)]
    done: list[int] = []
    runner = Runner(requests, watch=Told(done.append))
    numbers = []
    while runner.step():
        numbers.append(runner.number)
    assert numbers == [1, 2]
    for request_, found in zip(requests, runner.result(), strict=True):
        wanted, = Runner(request_).result()
        assert found.request is request_
        assert_same(found.solution, wanted.solution)
    answers = mrfhw.run(requests)
    assert [answer.labels.tolist() for answer in answers] == [mrfhw.run(one).labels.tolist() for one in requests]
    assert done[-1] == 2 * RUN.sweeps


@pytest.mark.parametrize("callback", [None, lambda look: None], ids=["alone", "looked at"])
def test_what_is_kept_is_gone_on_with(callback, tmp_path):
    """Killed at each of its checkpoints in turn, chains one after the other; also where a callback looks at them."""
    wanted, = Runner(slow()).result()

    class Killed(Exception):
        pass

    def looks(look: Look) -> None:
        nonlocal seen
        seen += 1
        if seen == stop:
            raise Killed

    for stop in (2, 5, 9, 14):
        seen, path = 0, tmp_path / f"kept{stop}"
        with pytest.raises(Killed):
            Runner(slow(), keeping=Keeping(path, pauses_of("10")), callback=looks, every=10).result()
        found, = Runner(slow(), keeping=Keeping(resume=path), callback=callback, every=10).result()
        assert_same(found.solution, wanted.solution)


def test_chains_that_stand_side_by_side_are_kept(tmp_path):
    """Looked at by a callback, each under way: their state, saved and gone on from."""
    wanted, = Runner(slow(most_sweeps=None)).result()
    states = []

    def looks(look: Look) -> None:
        if look.sweeps == 10 and look.chain == 1:
            states.append(runner.state())

    runner = Runner(slow(most_sweeps=None), callback=looks, every=10)
    assert_same(runner.result()[0].solution, wanted.solution)
    (state,) = states
    assert state.state.sweeps == 10
    assert [one.sweeps for one in state.beside] == [10]
    state.save(tmp_path / "kept")
    found, = Runner(slow(most_sweeps=None), keeping=Keeping(resume=tmp_path / "kept")).result()
    assert_same(found.solution, wanted.solution)


def test_a_callback_ends_the_request_under_way_and_not_the_others():
    ended = [slow(seed=1, most_sweeps=None), slow(seed=2, most_sweeps=None)]
    runner = Runner(ended, callback=lambda look: look.sweeps >= 10, every=10)
    first, second = runner.result()
    assert first.job.run.sweeps == second.job.run.sweeps == 10
    assert first.solution.asked == RUN.sweeps


def test_wrong_ones_are_one_line():
    with pytest.raises(ProblemError, match=r"^callback is 3; it is a function of a Look: give one, or None$"):
        Runner(slow(), callback=3)
    with pytest.raises(ProblemError, match=r"^every is 0;"):
        Runner(slow(), every=0)
