"""What a driver keeps of one problem after another: windows that come again are not worked out again."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.driver import driver as module
from mrfhw.driver.driver import Driver, NoChip
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement

CONFIG = Config.preset("smallest")


class Recorded(NoChip):
    """Keeps what is written, and what each word holds."""

    def __init__(self) -> None:
        self.words, self.holds = 0, {}

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.words += len(addresses)
        self.holds |= dict(zip(addresses.tolist(), data.tolist(), strict=True))


def placement(seed: int) -> Placement:
    rng = np.random.default_rng(seed)
    shape = (CONFIG.mesh_rows * CONFIG.tile_rows, CONFIG.mesh_cols * CONFIG.tile_cols)
    problem = Problem(labels=3, singleton1=rng.integers(0, 4, shape), constants=np.arange(3), beta=1)
    return Placement(CONFIG, problem, Run(sweeps=2, burn_in=0, seed=seed))


@pytest.mark.claim("driver", "changes from one problem to another that comes again are kept, no more of them than their limit, and "
                   "what is written is the same")
def test_changes_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = placement(1), placement(2)
    found = []
    for limit in (module.KEPT_BYTES, 0):
        monkeypatch.setattr(module, "KEPT_BYTES", limit)
        chip = Recorded()
        driver, words = Driver(CONFIG, chip), []
        for each in (one, other) * 3:
            before = chip.words
            driver.load(each, generators=False)
            words.append(chip.words - before)
        assert bool(driver._changes) == (limit > 0)
        found.append((words, chip.holds))
    assert found[0] == found[1]


def test_windows_of_a_large_picture_fit() -> None:
    """A hundred windows of 128 x 128 sites, each with a word a site and some."""
    assert module.KEPT_BYTES >= 100 * 128 * 128 * 8
