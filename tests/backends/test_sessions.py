"""Every backend is a session of one kind, found by its name or its address and imported when it is asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

from mrfhw.backends import registry
from mrfhw.backends.backend import Backend, Pauses
from mrfhw.backends.registry import BACKENDS, SCHEMES, backend_type
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.machine.config import Config

EVERY_BACKEND_SESSION = pytest.mark.claim(
    "sessions", "every backend is a session of one kind; numbers of visits and chains add up by one stated rule")

CONFIG = Config(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8)
PROBLEM = Problem(labels=3, singleton1=np.arange(48).reshape(6, 8), constants=np.array([5, 20, 40]))


def kinds() -> list[type[Backend]]:
    from mrfhw.host.axi_session import AxiSession

    return [*(backend_type(name) for name in (*BACKENDS, *(f"{scheme}://x" for scheme in SCHEMES))), AxiSession]


@EVERY_BACKEND_SESSION
@pytest.mark.parametrize("kind", kinds())
def test_one_signature(kind):
    """prepare takes the same everywhere, and what a session can do is stated, not found out."""
    wanted = inspect.signature(Backend.prepare).replace(return_annotation=None)
    assert inspect.signature(kind.prepare).replace(return_annotation=None) == wanted
    assert {type(getattr(kind, name)) for name in ("shows_sweeps", "keeps_generators", "software")} == {bool}
    assert isinstance(kind.backend, str)


@pytest.mark.slow
@EVERY_BACKEND_SESSION
def test_the_sessions_import_no_chip_and_no_board():
    code = ("import sys, mrfhw.backends.plan, mrfhw.runs.chains\n"
            "rooms = 'mrfhw.host', 'mrfhw.simulation', 'mrfhw.gateware', 'amaranth'\n"
            "print(sorted(name for name in sys.modules if name.startswith(rooms)))")
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_unknown_ones_are_refused():
    with pytest.raises(ProblemError, match=r"^backend is 'abacus'; it must be auto, or one of cpu, float, events, gpu, model, rtl: "
                                           r"choose one$"):
        backend_type("abacus")
    assert registry.backend_type("nothing://x") is backend_type("tcp://x")  # which words the refusal


@pytest.mark.parametrize("name", ["cpu", "float", "gpu?device=0", "model"])
def test_a_session_runs_problem_after_problem(name):
    kind = backend_type(name)
    with kind.open(name, CONFIG, 0) as session:
        first, again = (session.solve(PROBLEM, Run(sweeps=6, seed=2)) for _ in range(2))
        assert first == again
        seen: list[int] = []
        pauses = Pauses(sweeps=4)
        active = session.begin(PROBLEM, Run(sweeps=6, seed=2), pauses=pauses,
                               observe=lambda done, labels, energy: seen.append(done))
        assert (active.sweeps, active.finished, seen) == (4, False, [1, 2, 3, 4])
        assert active.state().sweeps == 4
        pauses.restart(active.sweeps)
        active.advance()
        assert (active.sweeps, active.finished) == (6, True)
        assert active.result() == first
        assert np.array_equal(active.last, first.last)


def test_generators_go_on_from_run_to_run():
    with backend_type("model").open("model", CONFIG, 0) as session:
        session.solve(PROBLEM, Run(sweeps=3))
        states = session.begin(PROBLEM, Run(sweeps=3)).state().generators
        on = session.solve(PROBLEM, Run(sweeps=3), fresh=False)
        given = session.begin(PROBLEM, Run(sweeps=3), fresh=states).result()
        assert np.array_equal(on.last, given.last)
        assert np.array_equal(on.counts, given.counts)
        assert not np.array_equal(on.counts, session.solve(PROBLEM, Run(sweeps=3)).counts)
