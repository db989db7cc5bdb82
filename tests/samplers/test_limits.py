"""What samplers in software refuse: what their own arithmetic does not hold, in one line, and nothing of a machine."""

import dataclasses

import numpy as np
import pytest

from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.samplers.chain import CHAINS, advance, chain_type

RUN = Run(sweeps=2, estimate="last")
SMALL = Problem(labels=3, unary=np.arange(36).reshape(3, 4, 3), alpha=2, beta=3, schedule=Schedule.constant(5.0))


def run(backend, **changes):
    kind, options = chain_type(backend)
    chain = kind(dataclasses.replace(SMALL, **changes), RUN, **options)
    advance(chain)
    return chain


@pytest.mark.parametrize("backend", CHAINS)
@pytest.mark.parametrize("changes", [
    {"alpha": 300}, {"alpha": 50_000}, {"beta": 100_000}, {"schedule": Schedule.constant(2000.0)}, {"energy_shift": 40},
    {"schedule": Schedule.constant(2e7)}, {"schedule": Schedule.constant(1e-300)}, {"tau": 10**9, "doubleton": "absolute"},
    {"schedule": Schedule.geometric(900.0, 0.01, 0.5)}, {"schedule": Schedule.of_table(np.linspace(90, 1, 5000))}])
def test_what_machines_refuse_is_sampled(backend, changes):
    assert run(backend, **changes).sweeps == 2


MOST = (1 << 31) - 1
HUGE = "energies go up to .*; the limit is 2^62: give smaller data, alpha or beta"
COLD = "temperature is 1e-301; samplers in software take 1e-300 and above: give that or more"


@pytest.mark.claim("model", "samplers in software refuse what their own arithmetic does not hold, and nothing of a machine")
@pytest.mark.parametrize(("backends", "changes", "message"), [
    (CHAINS, {"unary": np.full((3, 4, 3), MOST), "alpha": MOST, "beta": MOST}, HUGE),
    (CHAINS, {"schedule": Schedule.constant(1e-301)}, COLD), (CHAINS, {"schedule": Schedule.of_table((5.0, 1e-301))}, COLD),
    (["cpu"], {"alpha": 1 << 26}, "energies go up to 2.35e.09, temperatures to 5; backend cpu takes energies . 64 temperatures up "
                                  "to 2^31: give smaller ones, or backend float"),
    (["cpu"], {"schedule": Schedule.constant(4e7)}, "energies go up to 94, temperatures to 4e.07; backend cpu takes .*")])
def test_one_line_each(backends, changes, message):
    for backend in backends:
        with pytest.raises(ProblemError, match=f"^{message.replace('^', chr(92) + '^')}$"):
            run(backend, **changes)
