"""Control tree and log hub under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.mesh.tree import ControlNode, LineHub, LogHub
from mrfhw.machine.derived import Derived
from sim.support.runner import run_bench

pytestmark = pytest.mark.tools


def mesh(fan_in: int, depth: int = 2, rows: int = 2, cols: int = 4) -> Derived:
    return Derived(mesh_rows=rows, mesh_cols=cols, spus=1, tile_rows=4, tile_cols=4, hub_fan_in=fan_in, hub_depth=depth,
                  label_bits=3, counter_bits=2, line_bits=64)


@pytest.mark.claim("ControlNode", "exactly Latency.node_down and node_up cycles; decode, broadcast, merge, every fan-in")
@pytest.mark.parametrize("fan_in", [2, *(pytest.param(number, marks=pytest.mark.long) for number in (4, 8)), 16])
def test_control_node(fan_in: int) -> None:
    """Three levels, two, and one."""
    config = mesh(fan_in)
    assert config.tree_levels == {2: 3, 4: 2, 8: 1, 16: 1}[fan_in]
    run_bench(ControlNode(config), "control_node", "sim.benches.bench_control_node")


@pytest.mark.claim("LogHub", "nothing lost, doubled or reordered under idle and back-pressure; one end marker")
@pytest.mark.parametrize(("fan_in", "depth", "tile_bits", "present"), [
    (2, 1, 0, [0, 1]), (2, 2, 2, [0]), (4, 1, 0, [0, 1, 2]), (4, 4, 2, [0, 1, 2, 3]), (8, 2, 3, [0, 1, 2, 3, 4]),
    (16, 1, 0, list(range(16))),
])
def test_log_hub(fan_in: int, depth: int, tile_bits: int, present: list[int]) -> None:
    config = mesh(fan_in, depth)
    run_bench(LogHub(config, tile_bits), "log_hub", "sim.benches.bench_log_hub",
                      {"tile_bits": tile_bits, "present": present})


@pytest.mark.claim("LineHub",
    "hubs that pass lines: every message once, one tlast, cycles and stalls as the model has them; the root waits less than with "
    "messages (more cases: make long)")
@pytest.mark.parametrize(("fan_in", "depth", "present"), [(2, 1, [0, 1]), (4, 2, [0, 1, 2]), (4, 4, [0]), (8, 2, list(range(8)))])
def test_line_hub(fan_in: int, depth: int, present: list[int]) -> None:
    run_bench(LineHub(mesh(fan_in, depth)), "line_hub", "sim.benches.bench_line_hub", {"present": present})
