"""The line packer under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.log.line_packer import LinePacker
from mrfhw.machine.derived import Derived
from sim.support.runner import run_bench

pytestmark = [pytest.mark.tools, pytest.mark.claim("LinePacker", "addresses, padding, tlast, counts, back-pressure")]


@pytest.mark.parametrize(("mesh", "line_bits"), [((1, 1), 32), ((2, 3), 64), ((4, 4), 512)])
def test_line_packer(mesh: tuple[int, int], line_bits: int) -> None:
    """Lines of two messages, three and many; the last bits of a line may be of no message."""
    config = Derived(mesh_rows=mesh[0], mesh_cols=mesh[1], spus=1, tile_rows=8, tile_cols=8, label_bits=4, counter_bits=3,
                     address_bits=0 if line_bits < 512 else 20, line_bits=line_bits)
    assert config.line_messages > 1
    run_bench(LinePacker(config), "line_packer", "sim.benches.bench_line_packer")


def test_line_of_one_message() -> None:
    config = Derived(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8, label_bits=6, counter_bits=16, line_bits=32,
                     address_bits=9)
    assert config.line_messages == 1
    run_bench(LinePacker(config), "line_packer", "sim.benches.bench_line_packer")
