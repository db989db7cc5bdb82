"""Label memory, switch, write-back and neighbour fetch under Icarus."""

from __future__ import annotations

import dataclasses

import pytest

from mrfhw.gateware.tile.labels import LabelMemory, LabelSwitch, LabelUpdate, Prefetch
from mrfhw.machine.config import Config
from sim.support.runner import run_bench

pytestmark = pytest.mark.tools


@pytest.mark.claim("LabelUpdate",
    "Algorithm 1 exhaustively, and sums; messages plus what is left equal the counted labels, sums are exact to their last bit")
@pytest.mark.parametrize(("label_bits", "counter_bits", "stages"), [
    (2, 1, 1), (6, 8, 2), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((2, 2, 0), (6, 8, 0)))])
def test_label_update(label_bits: int, counter_bits: int, stages: int) -> None:
    config = Config.preset("smallest", label_bits=label_bits, counter_bits=counter_bits)
    config = config.with_latency(dataclasses.replace(config.latency, update=stages))
    assert run_bench(LabelUpdate(config), "label_update", "sim.benches.bench_label_update") == 4


@pytest.mark.claim(
    "LabelMemory", "every entry Latency.lmem_read cycles after its address in each bank, readable the cycle after its write")
@pytest.mark.parametrize("banks", [1, 4])
def test_label_memory(banks: int) -> None:
    config = Config.preset("smallest", lmem_banks=banks, tile_rows=12, tile_cols=8, spus=2)
    assert run_bench(LabelMemory(config), "label_memory", "sim.benches.bench_label_memory") == 2


@pytest.mark.claim("LabelSwitch", "every source, bank pair and crossing, and what each neighbour is given")
@pytest.mark.parametrize("banks", [1, 4])
def test_label_switch(banks: int) -> None:
    config = Config.preset("smallest", lmem_banks=banks)
    assert run_bench(LabelSwitch(config), "label_switch", "sim.benches.bench_label_switch") == 1


@pytest.mark.claim("Prefetch", "current changes only the cycle after a swap, to exactly what was fetched before it")
@pytest.mark.parametrize("banks", [1, 4])
@pytest.mark.parametrize("spus", [1, pytest.param(2, marks=pytest.mark.long), 4])
def test_prefetch(banks: int, spus: int) -> None:
    config = Config.preset("smallest", lmem_banks=banks, spus=spus, **({"edge_bits": 3, "data_bits_2": 4} if banks == 4 else {}))
    assert run_bench(Prefetch(config), "prefetch", "sim.benches.bench_prefetch") == 2
