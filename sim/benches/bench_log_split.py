"""LogSplit: a run's lines go where its first one did, each once and in order, whenever the target changes."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.soc.axi_top import LogSplit
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm


async def _run(dut: Any, seed: int, offer: float, ready: float, change: float, hold: float) -> None:
    line_bits = bench_parameters()["line_bits"]
    bench, rng = Bench(dut, LogSplit(line_bits)), np.random.default_rng(seed)
    await bench.start()
    offers, changes, holds = Rhythm(rng, offer, 3), Rhythm(rng, change), Rhythm(rng, hold, 4)
    readies = {"memory": Rhythm(rng, ready, 3), "stream": Rhythm(rng, ready, 3)}
    found: dict[str, list[tuple[int, int]]] = {"memory": [], "stream": []}
    sent: list[tuple[int, int]] = []
    line: tuple[int, int] | None = None
    shown: tuple[int, int] | None = None
    ends = {"memory": 1, "stream": 1}
    target, taken, restarted = 0, 0, 0
    for _ in range(3000):
        if line is None and offers():
            line = int.from_bytes(rng.bytes(line_bits // 8), "little"), int(rng.random() < 0.2)
        target ^= int(changes())
        held = holds()
        restart = int(held and rng.random() < 0.2)
        drive = {f"{name}_tready": int(go()) for name, go in readies.items()}
        data, last = line or (int(rng.integers(256)), int(rng.integers(2)))
        await bench.cycle(lines_tvalid=int(line is not None), lines_tdata=data, lines_tlast=last, to_stream=target, hold=int(held),
                          restart=restart, **drive)
        assert bench.read("taken") == taken % (1 << 32)
        valid = {name: bench.read(f"{name}_tvalid") for name in found}
        assert sum(valid.values()) <= int(line is not None)
        assert not (held and valid["memory"]), "a line was offered to memory that must wait"
        if shown is not None:
            assert valid["stream"], "a line was taken back from the stream"
            assert (bench.read("stream_tdata"), bench.read("stream_tlast")) == shown, "a line changed before it was taken"
        shown = line if valid["stream"] and not drive["stream_tready"] else None
        moved = [name for name in found if valid[name] and drive[f"{name}_tready"]]
        assert bench.read("lines_tready") == len(moved) or line is None
        for name in moved:
            assert line is not None
            assert (bench.read(f"{name}_tdata"), bench.read(f"{name}_tlast")) == line
            other = "memory" if name == "stream" else "stream"
            assert ends[other], "a run's lines went to both"
            ends[name] = line[1]
            found[name].append(line)
            sent.append(line)
            line = None
        taken = 0 if restart else taken + (line_bits // 8) * ("memory" in moved)
        restarted += restart
    assert len(sent) > 200
    assert all(len(lines) > 40 for lines in found.values())
    assert restarted or not hold


@cocotb.test()
async def no_idle(dut: Any) -> None:
    await _run(dut, 1, 1, 1, 0.02, 0)


@cocotb.test()
async def random_idle(dut: Any) -> None:
    await _run(dut, 2, 0.3, 1, 0.1, 0.1)


@cocotb.test()
async def random_back_pressure(dut: Any) -> None:
    await _run(dut, 3, 1, 0.3, 0.1, 0.1)


@cocotb.test()
async def stress(dut: Any) -> None:
    await _run(dut, 4, 0.6, 0.4, 0.5, 0.3)


@cocotb.test()
async def change_while_a_line_stands(dut: Any) -> None:
    """A first line that memory does not take goes to the stream once the target is that; one that stands there stays."""
    bench = Bench(dut, LogSplit(bench_parameters()["line_bits"]))
    await bench.start()
    await bench.cycle(lines_tvalid=1, lines_tdata=1, lines_tlast=1, hold=1)
    await bench.cycle(to_stream=1)
    await bench.cycle()
    assert bench.read("stream_tvalid") == 1
    for _ in range(3):
        await bench.cycle(to_stream=0, hold=0, memory_tready=1)
        assert (bench.read("stream_tvalid"), bench.read("memory_tvalid"), bench.read("lines_tready")) == (1, 0, 0)
    await bench.cycle(stream_tready=1)
    assert bench.read("lines_tready") == 1
    await bench.cycle(stream_tready=0)
    assert (bench.read("stream_tvalid"), bench.read("memory_tvalid")) == (0, 1)
