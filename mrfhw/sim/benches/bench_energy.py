"""EnergyPipeline against Equation 3.1: each label's energy `Latency.energy` cycles after its operands.

Labels change every cycle, so that an energy that came a cycle early or late would meet another's.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.unit.energy import EnergyPipeline
from mrfhw.sim.support.fields import Bench
from mrfhw.sim.support.operands import Site, SiteSource, edge_parameters, random_parameters
from mrfhw.sim.support.references import site_energies
from mrfhw.sim.support.runner import bench_config


async def _table(bench: Bench, rng: np.random.Generator) -> np.ndarray | None:
    """Fill the doubleton table, where there is one."""
    config = bench_config()
    if not config.pairwise_bits:
        return None
    table = rng.integers(0, 1 << config.pairwise_bits, (config.max_labels, config.max_labels))
    for (first, second), value in np.ndenumerate(table):
        await bench.cycle(pairwise_write=1, pairwise_address=first << config.label_bits | second, pairwise_data=int(value))
    await bench.cycle(pairwise_write=0)
    return table


async def _run(bench: Bench, rng: np.random.Generator, parameters: dict[str, int], sites: list[Site],
               pairwise: np.ndarray | None) -> None:
    """Sites, mostly back to back, under parameters that hold."""
    config = bench_config()
    await bench.cycle(parameters=parameters)
    for site in sites:
        energies = site_energies(config, parameters, site.s1, site.s2, site.words, site.vectors, site.edges, pairwise)
        for label, operands in enumerate(site.labels()):
            await bench.cycle(**operands)
            bench.expect("energy", energies[label], after=config.latency.energy)
        if rng.random() < 0.3:
            await bench.idle(int(rng.integers(1, 4)))
    await bench.idle(config.latency.energy)


@cocotb.test()
async def edges(dut: Any) -> None:
    """Zero and greatest weights (saturation), shifts and truncations, every function, L = 2 and the most."""
    config, rng = bench_config(), np.random.default_rng(1)
    bench = Bench(dut, EnergyPipeline(config))
    await bench.start()
    pairwise = await _table(bench, rng)
    sets, source, most = edge_parameters(config), SiteSource(config, rng), config.max_labels
    for parameters in sets:
        await _run(bench, rng, parameters, [source.extreme(2), source.site(2), source.extreme(most), source.site(2)], pairwise)
    await bench.finish(len(sets) * (most + 6))


@cocotb.test()
async def random_sites(dut: Any) -> None:
    """Random parameters; sites of 2 to the most labels with random pauses."""
    config, rng = bench_config(), np.random.default_rng(2)
    bench = Bench(dut, EnergyPipeline(config))
    await bench.start()
    pairwise = await _table(bench, rng)
    for _ in range(20):
        source = SiteSource(config, rng)
        sites = [source.site(int(n)) for n in rng.integers(2, config.max_labels + 1, 4)]
        await _run(bench, rng, random_parameters(config, rng), sites, pairwise)
    await bench.finish(20 * 4 * 2)
