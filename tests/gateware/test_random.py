"""The lanes' generator under Icarus, and its constructor."""

from __future__ import annotations

import gc

import pytest

from mrfhw.gateware.unit.random import Random
from sim.support.runner import run_bench


@pytest.mark.tools
@pytest.mark.claim(
    "Random", "value and word equal the twin every cycle, under pauses, loads and rotations; published values; jumps")
@pytest.mark.parametrize("bits", [1, pytest.param(12, marks=pytest.mark.long), 32])
def test_random(bits: int) -> None:
    assert run_bench(Random(bits), "random_generator", "sim.benches.bench_random", {"bits": bits}) == 3


@pytest.mark.parametrize("bits", [0, 33])
def test_random_refuses(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Amaranth warns of a component that is never used, this one too; let it go before warnings count again.
    monkeypatch.setattr(Random, "_MustUse__silence", True)
    with pytest.raises(ValueError, match=f"bits is {bits}; a step gives 1 to 32"):
        Random(bits)
    gc.collect()
