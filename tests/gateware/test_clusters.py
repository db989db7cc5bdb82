"""Several clusters or contexts behind one bus and one log: the parts under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.log.line_merger import LineMerger
from mrfhw.gateware.mesh.bus_fork import BusFork
from mrfhw.gateware.mesh.contexts import ContextTurns
from mrfhw.machine.derived import Derived
from sim.support.runner import run_bench

pytestmark = pytest.mark.tools


def machine(clusters: int) -> Derived:
    return Derived(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8, label_bits=3, counter_bits=2, line_bits=64,
                   clusters=clusters)


@pytest.mark.claim("BusFork", "every access reaches its cluster once; answers in order, a word a cycle to one cluster")
@pytest.mark.parametrize("clusters", [2, 4])
def test_bus_fork(clusters: int) -> None:
    run_bench(BusFork(machine(clusters)), "bus_fork", "sim.benches.bench_bus_fork")


@pytest.mark.claim("LineMerger", "each cluster's lines behind a line that names it, none lost; full logs share by their turns, and "
                   "nobody waits for who has nothing")
@pytest.mark.parametrize("clusters", [2, 4])
def test_line_merger(clusters: int) -> None:
    run_bench(LineMerger(machine(clusters)), "line_merger", "sim.benches.bench_line_merger")


@pytest.mark.claim("ContextTurns", "each run begins once, alone and in turns, as soon as it may; a stop reaches its "
                   "run, and waits with it")
@pytest.mark.parametrize("contexts", [2, 3])
def test_context_turns(contexts: int) -> None:
    run_bench(ContextTurns(contexts), "context_turns", "sim.benches.bench_context_turns", {"contexts": contexts})
