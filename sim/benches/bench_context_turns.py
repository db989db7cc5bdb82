"""ContextTurns: each run begins once, alone, as soon as it may, and in turns; stops reach the run that they are for."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.mesh.contexts import ContextTurns
from sim.support.fields import Bench
from sim.support.runner import bench_parameters

CYCLES = 6000


@cocotb.test()
async def runs(dut: Any) -> None:
    """Registers that tell contexts to run at random times, and schedulers that are busy for random numbers of cycles."""
    n, rng = bench_parameters()["contexts"], np.random.default_rng(3)
    bench = Bench(dut, ContextTurns(n))
    for eager, longest in ((0.02, 40), (0.5, 12), (1.0, 1)):
        await bench.start()
        told: list[tuple[str, int] | None] = [None] * n  # the kind of a run that waits, and the cycle of its pulse
        stops, stop_next, ends = [False] * n, [False] * n, [0] * n
        last, free_since, begun = 0, 0, 0
        for now in range(CYCLES):
            drive = {f"{name}_{k}": 0 for name in ("start", "resume", "stop") for k in range(n)}
            busy = [now < end for end in ends]
            drive["idle"] = int(not any(busy))
            kinds: list[str | None] = [None] * n
            for k in range(n):
                if told[k] is None and not busy[k] and rng.random() < eager:
                    kinds[k] = str(rng.choice(["start", "resume"]))
                    drive[f"{kinds[k]}_{k}"] = 1
                drive[f"stop_{k}"] = int(rng.random() < 0.05)
            await bench.cycle(**drive)
            # The one behind the last is given the tiles, a cycle after they are free or two after its pulse.
            ready = [k for k in range(n) if (one := told[k]) is not None and one[1] + 2 <= now and free_since + 1 <= now]
            first = min(ready, key=lambda k: (k - last - 1) % n) if ready and not any(busy) else None
            for k in range(n):
                one = told[k]
                assert bench.read(f"waiting_{k}") == int(one is not None), (now, k)
                assert bench.read(f"fresh_{k}") == int(one is not None and one[0] == "start"), (now, k)
                for kind in ("start", "resume"):
                    assert bench.read(f"to_{kind}_{k}") == int(k == first and one is not None and one[0] == kind), (now, k, kind)
                at_once = drive[f"stop_{k}"] and one is None
                assert bench.read(f"to_stop_{k}") == int(at_once or stop_next[k]), (now, k)
                stop_next[k] = False
                stops[k] |= bool(drive[f"stop_{k}"] and one is not None)
            if first is not None:
                assert bench.read("context") == first
                told[first], last, ends[first] = None, first, now + 1 + int(rng.integers(1, longest + 1))
                free_since, begun = ends[first], begun + 1
                stop_next[first], stops[first] = stops[first], False
            for k, begins in enumerate(kinds):
                if begins is not None:
                    told[k] = begins, now
        assert begun > 100
