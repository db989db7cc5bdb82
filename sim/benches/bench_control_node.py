"""ControlNode: both directions, every cycle, on random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from amaranth import Shape

from mrfhw.gateware.control.ops import downlink, uplink
from mrfhw.gateware.mesh.tree import ControlNode
from mrfhw.machine.bits import bits_for
from sim.support.fields import Bench, unpack
from sim.support.runner import bench_config


def _random(rng: np.random.Generator, shape: Any) -> Any:
    return unpack(shape, int.from_bytes(rng.bytes(-(-Shape.cast(shape).width // 8)), "little") % (1 << Shape.cast(shape).width))


@cocotb.test()
async def broadcast_decode_and_merge(dut: Any) -> None:
    config, rng = bench_config(), np.random.default_rng(1)
    fan_in, digit = config.hub_fan_in, bits_for(config.hub_fan_in)
    bench = Bench(dut, ControlNode(config))
    await bench.start()
    down, ups = None, []
    path_bits = downlink(config)["bus"].shape["path"].width
    strobes = [0] * fan_in
    for _ in range(600):
        now, answers = _random(rng, downlink(config)), [_random(rng, uplink(config)) for _ in range(fan_in)]
        now["bus"]["broadcast"] = int(rng.random() < 0.2)
        await bench.cycle(down=now, **{f"child_up_{k}": up for k, up in enumerate(answers)})
        if down is not None:
            bus = down["bus"]
            child = bus["path"] >> path_bits - digit
            path = bus["path"] << digit & ((1 << path_bits) - 1)
            for k in range(fan_in):
                strobe = int(bus["strobe"] and (bus["broadcast"] or child == k))
                strobes[k] += strobe
                assert bench.read(f"child_down_{k}") == {**down, "bus": {**bus, "path": path, "strobe": strobe}}, k
            assert bench.read("up") == {"data": int(np.bitwise_or.reduce([up["data"] for up in ups])),
                                        "stall": max(up["stall"] for up in ups)}
        down, ups = now, answers
    assert min(strobes) > 0


@cocotb.test()
async def silent_after_reset(dut: Any) -> None:
    """No operation reaches a tile before the first one is given."""
    bench = Bench(dut, ControlNode(bench_config()))
    await bench.start()
    await bench.cycle()
    for k in range(bench_config().hub_fan_in):
        assert bench.bits(f"child_down_{k}") == 0
    assert bench.bits("up") == 0
