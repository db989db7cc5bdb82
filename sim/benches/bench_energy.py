"""EnergyPipeline against Equation 3.1: each label's energy `Latency.energy` cycles after its operands.

Labels change every cycle, so that an energy that came a cycle early or late would meet another's.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.control.ops import KINDS
from mrfhw.gateware.control.ops import parameters as layout
from mrfhw.gateware.unit.energy import EnergyPipeline
from sim.support.fields import Bench
from sim.support.operands import Site, SiteSource, edge_parameters, random_parameters
from sim.support.references import site_energies
from sim.support.runner import bench_config


def _table(rng: np.random.Generator) -> np.ndarray | None:
    """A doubleton table, where there is one."""
    config = bench_config()
    if not config.pairwise_bits:
        return None
    return rng.integers(0, 1 << config.pairwise_bits, (config.max_labels, config.max_labels))


def _entries(table: np.ndarray, label: int, site: Site) -> list[int]:
    """The table's entries of a label and the neighbours'; those to the left and above come first."""
    return [int(table[word["label"], label] if kind in ("up", "left") else table[label, word["label"]])
            for kind, word in zip(KINDS, site.words, strict=True)]


async def _run(bench: Bench, rng: np.random.Generator, parameters: dict[str, int], sites: list[Site],
               pairwise: np.ndarray | None) -> None:
    """Sites, mostly back to back, under parameters that hold."""
    config = bench_config()
    await bench.cycle(parameters={name: parameters[str(name)] for name, _ in layout(config)})
    late: dict[str, Any] = {}
    for site in sites:
        energies = site_energies(config, parameters, site.s1, site.s2, site.words, site.vectors, site.edges, pairwise)
        for label, operands in enumerate(site.labels()):
            await bench.cycle(**operands, **late)
            late = {} if pairwise is None else {"entries": _entries(pairwise, label, site)}
            bench.expect("energy", energies[label], after=config.latency.energy)
        if rng.random() < 0.3:
            await bench.cycle(**late)
            late = {}
            await bench.idle(int(rng.integers(1, 4)))
    await bench.cycle(**late)
    await bench.idle(config.latency.energy)


@cocotb.test()
async def edges(dut: Any) -> None:
    """Zero and greatest weights (saturation), shifts and truncations, every function, L = 2 and the most."""
    config, rng = bench_config(), np.random.default_rng(1)
    bench = Bench(dut, EnergyPipeline(config))
    await bench.start()
    pairwise = _table(rng)
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
    pairwise = _table(rng)
    for _ in range(20):
        source = SiteSource(config, rng)
        sites = [source.site(int(n)) for n in rng.integers(2, config.max_labels + 1, 4)]
        await _run(bench, rng, random_parameters(config, rng), sites, pairwise)
    await bench.finish(20 * 4 * 2)
