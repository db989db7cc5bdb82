"""The float64 chain beside a machine: with its temperatures, and with its uniform numbers."""

import numpy as np
import pytest
from test_model_speed_paths import stereo

import mrfhw
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.placement.temperature import realized_limits
from mrfhw.samplers import exact
from mrfhw.twin import paired
from mrfhw.twin.machine import Machine

GENEROUS = {"mesh_rows": 2, "mesh_cols": 2, "tile_rows": 12, "tile_cols": 16, "data_bits": 8, "energy_bits": 20,
            "temperature_bits": 24}
GENEROUS_SAMPLERS = {"race": Race(uniform_bits=8, fraction_bits=8),
                     "cdf": Cdf(probability_bits=16, exponent_fraction_bits=8, uniform_bits=16)}


@pytest.mark.claim("model", "float64 draws from the uniforms that the machine draws from")
@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_float_chain_on_the_hardware_s_uniforms(sampler):
    """Generous widths: the float chain and the machine's are one. Default widths: most draws still agree."""
    def agreement(config, sweeps, **changes):
        problem = stereo(clamped=np.random.default_rng(1).random((21, 30)) < 0.1, **changes)
        run, seen = Run(sweeps=sweeps, seed=2), []
        paired.solve(problem, run, config=config, uniforms="hardware", observe=lambda n, labels, _: seen.append(labels))
        model = Machine(config, problem, run)
        shares = []
        for labels in seen:
            model.sweep()
            shares.append(np.mean(model.image(model.labels) == labels))
        return shares

    assert agreement(Config(sampler=GENEROUS_SAMPLERS[sampler], **GENEROUS), 3, labels=3) == [1, 1, 1]
    assert agreement(Config(sampler=sampler), 1)[0] > 0.95


def test_hardware_uniforms_need_a_machine():
    with pytest.raises(ProblemError, match="uniforms is 'hardware'"):
        paired.solve(stereo(), Run(sweeps=1), uniforms="hardware")


def of_two_labels(temperature):
    return Problem(labels=2, singleton1=np.arange(24).reshape(4, 6) % 3, constants=np.array([0, 1]),
                   schedule=Schedule.constant(temperature))


@pytest.mark.parametrize("sampler", ["cdf", "race"])
def test_a_machine_gives_its_realized_temperatures(sampler):
    config, run = Config(sampler=sampler, temperature_bits=12), Run(sweeps=30, seed=1)
    found = next(paired.PairedChain(of_two_labels(0.33), run, config=config).temperatures())
    assert found != 0.33
    assert found == pytest.approx(0.33, rel=0.02)
    counts = paired.solve(of_two_labels(0.33), run, config=config).counts
    assert np.array_equal(counts, exact.solve(of_two_labels(found), run).counts)


def test_a_machine_refuses_what_does_not_fit():
    config = Config(label_bits=1)
    with pytest.raises(ProblemError, match="label_bits = 1"):
        paired.solve(stereo(), Run(sweeps=1), config=config)
    cold = of_two_labels(realized_limits(config, 0)[0] / 2)
    with pytest.raises(ProblemError, match="temperature is"):
        paired.solve(cold, Run(sweeps=1), config=config)
    assert paired.solve(cold, Run(sweeps=1)) == exact.solve(cold, Run(sweeps=1))


def test_a_chain_goes_on_from_its_state():
    problem, run = stereo(schedule=Schedule.geometric(30.0, 0.7, 4.0)), Run(sweeps=6, seed=3)
    whole, part, rest = (paired.PairedChain(problem, run, config=Config()) for _ in range(3))
    for _ in range(6):
        whole.sweep()
    for _ in range(2):
        part.sweep()
    rest.restore(part.state())
    for _ in range(4):
        rest.sweep()
    assert np.array_equal(rest.labels, whole.labels)
    assert np.array_equal(rest.counts, whole.counts)


def test_its_former_name():
    """Programs that give a machine go on."""
    import mrfhw.model.exact as former

    assert former.solve is paired.solve
    assert mrfhw.__version__
