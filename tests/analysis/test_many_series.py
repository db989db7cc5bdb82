"""R-hat and effective sample sizes of many series at once are those that ArviZ has of one."""

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats

from mrfhw.analysis.convergence import TAILS, least_looks
from mrfhw.analysis.many_series import effective_sizes, rhats
from mrfhw.analysis.rhat import rhat_of

CONVERGENCE = pytest.mark.claim("model", "R-hat and effective sample sizes of many sites at once are ArviZ's")


def all_kinds(chains, looks, seed):
    """Series of numbers, of labels, of two values, that drift, that swing, that hardly move, that stand still in each half."""
    rng = np.random.default_rng(seed)
    shape = (chains, looks)
    walk = rng.normal(size=shape).cumsum(1)
    swings = np.cos(np.pi * np.arange(looks)) + rng.normal(size=shape) / 10
    once = np.zeros(shape)
    once[0, looks // 3] = 1
    steps = np.zeros(shape)
    steps[:, -(looks // 2):] = 1
    apart = np.repeat(np.arange(chains)[:, None], looks, 1) + (rng.random(shape) < 0.05)
    return np.stack([rng.normal(size=shape), rng.integers(0, 4, shape), rng.random(shape) < 0.2, walk, np.round(walk), swings, once,
                     steps, apart, walk > 0, rng.integers(0, 2, shape).cumsum(1) % 5]).astype(float)


@CONVERGENCE
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("chains", "looks"), [(chains, looks) for chains in (1, 2, 5) for looks in (8, 9, 10, 17, 40, 251)
                                               if looks >= least_looks(chains)])
def test_those_of_arviz(chains, looks, seed):
    series = all_kinds(chains, looks, seed)
    series = series[np.ptp(series, axis=(1, 2)) > 0]
    for ranks, method in ((True, "rank"), (False, "split")):
        wanted = [rhat_of(array_stats, one, method) for one in series]
        assert rhats(series, ranks) == pytest.approx(wanted, rel=1e-9)
    bulk, tail = effective_sizes(series, TAILS)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert bulk == pytest.approx([float(array_stats.ess(one, method="bulk")) for one in series], rel=1e-7)
        assert tail == pytest.approx([float(array_stats.ess(one, method="tail", prob=TAILS)) for one in series], rel=1e-7)


@CONVERGENCE
def test_series_that_stand_still():
    series = np.zeros((2, 2, 40))
    series[1, 1] = 3
    assert rhats(series).tolist() == [1, math.inf]


@CONVERGENCE
def test_no_series():
    assert rhats(np.empty((0, 2, 20))).shape == (0,)
    assert [size.shape for size in effective_sizes(np.empty((0, 2, 20)), TAILS)] == [(0,), (0,)]
