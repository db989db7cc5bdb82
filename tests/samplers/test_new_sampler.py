"""A sampler in software is a class and a line of the table; backends, states and results follow."""

import numpy as np
import pytest

from mrfhw.backends.backend import Pauses
from mrfhw.backends.software import SoftwareBackend
from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.samplers.chain import CHAINS
from mrfhw.samplers.field_chain import FieldChain


class Descent(FieldChain):
    """Each site takes the label of the least energy, the lowest on ties."""

    name = "descent"

    def sweep(self):
        of, flat = Energy(self.problem), self.labels.reshape(-1)
        for sites in self.tables.sites:
            for site in sites:
                flat[site] = of.of_site(self.labels, *divmod(int(site), self.problem.shape[1])).argmin()
        self.sweeps += 1

    def _own_state(self):
        return {}


PROBLEM = Problem(labels=4, unary=np.random.default_rng(2).integers(0, 40, (6, 7, 4)), beta=9,
                  clamped=np.random.default_rng(3).random((6, 7)) < 0.2)
RUN = Run(sweeps=7, seed=1, estimate="last")


@pytest.fixture
def descent(monkeypatch):
    monkeypatch.setitem(CHAINS, "descent", f"{__name__}:Descent")
    return SoftwareBackend("descent")


def test_it_is_a_backend(descent):
    seen = []
    result = descent.solve(PROBLEM, RUN, observe=lambda done, labels, energy: seen.append(Energy(PROBLEM)(labels)))
    assert (result.backend, result.label_evaluations) == ("descent", 7 * 4 * PROBLEM.unclamped_sites)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < Energy(PROBLEM)(result.initial)
    assert np.array_equal(result.last[PROBLEM.clamped], result.initial[PROBLEM.clamped])


def test_it_goes_on_from_its_state(descent):
    half = descent.begin(PROBLEM, RUN, pauses=Pauses(sweeps=1))
    assert (half.sweeps, half.finished) == (1, False)
    whole = descent.solve(PROBLEM, RUN)
    assert np.array_equal(descent.begin(PROBLEM, RUN, state=half.state()).result().last, whole.last)


def test_it_has_no_options(descent):
    with pytest.raises(ProblemError, match=r"backend is 'descent\?speed=2'; descent takes no options: give descent"):
        SoftwareBackend("descent?speed=2")
