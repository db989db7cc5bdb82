"""What samplers in software refuse: what their own arithmetic does not hold, in one line, and nothing of a machine."""

import dataclasses

import numpy as np
import pytest

from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.samplers.chain import CHAINS, advance, chain_type

ALL = [f"{name}?device=0" if name == "gpu" else name for name in CHAINS]  # of OpenCL any device
RUN = Run(sweeps=2, estimate="last")
SMALL = Problem(labels=3, unary=np.arange(36).reshape(3, 4, 3), alpha=2, beta=3, schedule=Schedule.constant(5.0))


def drawn(backend, problem, of):
    kind, options = chain_type(backend)
    chain = kind(problem, of, **options)
    advance(chain)
    return chain


def run(backend, **changes):
    return drawn(backend, dataclasses.replace(SMALL, **changes), RUN)


@pytest.mark.parametrize("backend", ALL)
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
    (ALL, {"unary": np.full((3, 4, 3), MOST), "alpha": MOST, "beta": MOST}, HUGE),
    (ALL, {"schedule": Schedule.constant(1e-301)}, COLD), (ALL, {"schedule": Schedule.of_table((5.0, 1e-301))}, COLD),
    (["cpu"], {"alpha": 1 << 26}, "energies go up to 2.35e.09, temperatures to 5; backend cpu takes energies . 64 temperatures up "
                                  "to 2^31: give smaller ones, or backend float"),
    (["cpu"], {"schedule": Schedule.constant(4e7)}, "energies go up to 94, temperatures to 4e.07; backend cpu takes .*"),
    (["events"], {"alpha": 3000, "schedule": Schedule.constant(2000.0)}, "temperature is 2000 and energies go up to 1.05e.05; "
     "backend events takes temperatures up to 1638.4 for energies above 65536: give smaller ones, or backend float")])
def test_one_line_each(backends, changes, message):
    for backend in backends:
        with pytest.raises(ProblemError, match=f"^{message.replace('^', chr(92) + '^')}$"):
            run(backend, **changes)


@pytest.mark.claim("model", "samplers in software draw by exp(-E / T) at energies and temperatures that no machine takes")
@pytest.mark.parametrize("backend", ["cpu", "float", "gpu?device=0"])  # events keeps no histogram
@pytest.mark.parametrize(("energies", "temperature", "alpha"), [
    ((0, 1, 3), 500.0, 300), ((0, 2, 1), 2000.0, 1), ((0, 1500, 900), 2000.0, 1), ((0, 50_000, 20_000), 20_000.0, 1),
    ((0, 40, 90), 2e7, 1), ((7, 7, 8), 1e-300, 1)])
def test_the_law_holds_there(backend, energies, temperature, alpha):
    """Sites are alone, so that each of 81,920 draws is by its energies; chi-square of two degrees is above 27.6 once in 10^6."""
    problem = Problem(labels=3, unary=np.broadcast_to(np.array(energies), (64, 64, 3)), alpha=alpha, beta=0,
                      schedule=Schedule.constant(temperature))
    found = drawn(backend, problem, Run(sweeps=20)).counts.sum((0, 1), dtype=np.int64)
    law = np.exp((min(energies) - np.array(energies)) * alpha / temperature)
    expected = law / law.sum() * found.sum()
    assert found.sum() == 64 * 64 * 20
    assert not found[expected == 0].any()
    assert ((found - expected)[expected > 0] ** 2 / expected[expected > 0]).sum() < 27.6
