"""The flip-flop between a Wishbone classic master and the machine's bus, as docs/integration.md has it, under Icarus."""

from __future__ import annotations

import pytest
from amaranth.lib import wiring

from sim.benches.bench_wishbone_classic import PORTS
from sim.support.runner import run_bench
from support.pages import ROOT, blocks


@pytest.mark.tools
@pytest.mark.claim("RegisterFile", "a master of Wishbone classic behind a flip-flop has each access carried out once")
def test_the_flip_flop_of_the_page() -> None:
    text, = (block.text for block in blocks(ROOT / "docs" / "integration.md") if block.language == "verilog")
    ports = wiring.PureInterface(wiring.Signature(PORTS))
    run_bench(ports, "wishbone_classic", "sim.benches.bench_wishbone_classic", verilog=text)  # type: ignore[arg-type]
