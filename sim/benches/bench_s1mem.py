"""S1Mem: the word at an address `Latency.s1_read` cycles after the address; an address a cycle, writes in between."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.singleton import S1Mem
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from sim.support.fields import Bench
from sim.support.runner import bench_config


def _addresses(config: Config) -> list[int]:
    """Every address that a site has: black ones from 0, white ones from the top bit."""
    config = Derived.of(config)
    half = config.tile_sites // 2
    return [*range(half), *range(1 << (config.site_address_bits - 1), config.site_rows)]


def _word(config: Config, rng: np.random.Generator) -> dict[str, int]:
    config = Derived.of(config)
    return {"value": int(rng.integers(config.data_max + 1)), "flag": int(rng.integers(2))}


@cocotb.test()
async def every_site(dut: Any) -> None:
    """Every site written in random order, then read in another, one a cycle."""
    config, rng = bench_config(), np.random.default_rng(1)
    bench = Bench(dut, S1Mem(config))
    await bench.start()
    sites = _addresses(config)
    assert len(sites) == config.tile_sites
    held = {a: _word(config, rng) for a in sites}
    held[sites[0]], held[sites[-1]] = {"value": config.data_max, "flag": 0}, {"value": 0, "flag": 1}
    for a in rng.permutation(sites):
        await bench.cycle(address=a, write=1, write_data=held[int(a)])
    for a in rng.permutation(sites):
        await bench.cycle(address=a, write=0, write_data=_word(config, rng))
        bench.expect("word", held[int(a)], after=config.latency.s1_read)
    await bench.finish(len(sites))


@cocotb.test()
async def mixed(dut: Any) -> None:
    """Reads and writes at random; a word is there in the cycle after its write."""
    config, rng = bench_config(), np.random.default_rng(2)
    bench = Bench(dut, S1Mem(config))
    await bench.start()
    sites, held = _addresses(config), {}
    for _ in range(600):
        a = int(rng.choice(sites[:4] + sites[-4:] + [int(rng.choice(sites))]))
        write, word = int(rng.integers(2)), _word(config, rng)
        await bench.cycle(address=a, write=write, write_data=word)
        if write:
            held[a] = word
        elif a in held:
            bench.expect("word", held[a], after=config.latency.s1_read)
    await bench.finish(100)
