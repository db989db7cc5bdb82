"""LineHub: every line leaves once, in each child's order, and tlast with the last of all alone."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.mesh.tree import LineHub
from sim.support.fields import Bench
from sim.support.runner import bench_config, bench_parameters
from sim.support.streams import Rhythm


async def _run(dut: Any, offer: float, ready: float, seed: int) -> None:
    """Runs one after the other; each child's last line has tlast. A child that offers goes on until it is taken."""
    config, present = bench_config(), bench_parameters()["present"]
    rng, bench = np.random.default_rng(seed), Bench(dut, LineHub(config))
    await bench.start()
    children = range(config.hub_fan_in)
    for _ in range(4):
        sent = [[int.from_bytes(rng.bytes(config.line_bits // 8), "little") >> 8 << 8 | k for _ in range(rng.integers(1, 25))]
                if k in present else [] for k in children]
        queues, offered, out = [list(lines) for lines in sent], [False] * len(children), []
        offers, readies = Rhythm(rng, offer, 3), Rhythm(rng, ready, 3)
        for _ in range(5000):
            drive: dict[str, Any] = {"present": sum(1 << k for k in present)}
            for k, queue in enumerate(queues):
                offered[k] = bool(queue) and (offered[k] or offers())
                drive |= {f"child_{k}_tvalid": int(offered[k]), f"child_{k}_tdata": queue[0] if queue else 0,
                          f"child_{k}_tlast": int(len(queue) == 1)}
            taking = readies()
            await bench.cycle(**drive, lines_tready=int(taking))
            taken = [k for k in children if bench.read(f"child_{k}_tready")]
            assert len(taken) <= 1, "more than one line in a cycle"
            if taking and bench.read("lines_tvalid"):
                out.append((bench.bits("lines_tdata"), bench.read("lines_tlast")))
            for k in taken:
                assert offered[k], "ready to a child without a line"
                queues[k].pop(0)
                offered[k] = False
            if out and out[-1][1]:
                break
        assert [last for _, last in out] == [0] * (len(out) - 1) + [1]
        assert [[line for line, _ in out if line & 0xFF == k] for k in children] == sent


@cocotb.test()
async def lines_in_turn(dut: Any) -> None:
    """Sparse and dense children, a slow sink and one that is always ready."""
    for seed, (offer, ready) in enumerate(((1.0, 1.0), (0.3, 1.0), (1.0, 0.3), (0.5, 0.5))):
        await _run(dut, offer, ready, seed)


@cocotb.test()
async def every_run_begins_with_the_same_child(dut: Any) -> None:
    """Whoever ended the run before: a run's cycles are its own."""
    config, present = bench_config(), bench_parameters()["present"]
    in_turn = sorted(present, key=lambda k: (k - 1) % config.hub_fan_in)  # the first one after child 0
    bench = Bench(dut, LineHub(config))
    await bench.start()
    for longest in (*present, present[0]):
        left, taken = {k: 9 if k == longest else 2 for k in present}, []
        while any(left.values()):
            drive: dict[str, Any] = {"present": sum(1 << k for k in present), "lines_tready": 1}
            for k in present:
                drive |= {f"child_{k}_tvalid": int(left[k] > 0), f"child_{k}_tlast": int(left[k] == 1)}
            await bench.cycle(**drive)
            for k in present:
                if bench.read(f"child_{k}_tready"):
                    left[k] -= 1
                    taken.append(k)
        assert taken[:2 * len(in_turn)] == in_turn * 2
        assert taken[-1] == longest
        await bench.cycle(**{f"child_{k}_tvalid": 0 for k in present})


@cocotb.test()
async def a_line_a_cycle(dut: Any) -> None:
    """With lines at every child one leaves in each cycle, from the second on, of the children in turn."""
    config, present = bench_config(), bench_parameters()["present"]
    bench = Bench(dut, LineHub(config))
    await bench.start()
    drive = {"present": sum(1 << k for k in present), "lines_tready": 1}
    for k in present:
        drive |= {f"child_{k}_tvalid": 1, f"child_{k}_tdata": k + 1}
    await bench.cycle(**drive)
    came = []
    for _ in range(4 * len(present)):
        await bench.cycle()
        if bench.read("lines_tvalid"):
            came.append(bench.bits("lines_tdata") - 1)
    every = 1 if config.hub_depth > 1 else 2
    assert len(came) >= 4 * len(present) // every - 1
    for first, second in itertools.pairwise(came):
        assert present.index(second) == (present.index(first) + 1) % len(present)
