"""LinePacker: every message once and in order, with its global address; lines, padding, end."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.driver.driver import unpack_lines
from mrfhw.gateware.log.line_packer import LinePacker
from mrfhw.machine.address_map import AddressMap
from sim.support.fields import Bench
from sim.support.runner import bench_config
from sim.support.streams import Rhythm

LATENCY = 2  # from a line's last message to tvalid


class Packer:
    """A packer with a table of bases; sends messages and takes lines."""

    def __init__(self, dut: Any, rng: np.random.Generator):
        self.config, self.rng = bench_config(), rng
        self.bench = Bench(dut, LinePacker(self.config))
        self.has_tiles = AddressMap(self.config).tile_bits > 0
        self.bases = [int(b) for b in rng.integers(0, 1 << self.config.raster_bits, self.config.spes)]
        self.lines: list[tuple[int, bool]] = []
        self.pulses = {"message": 0, "done": 0}
        self._held: tuple[int, int] | None = None

    async def start(self) -> None:
        await self.bench.start()
        for tile, base in enumerate(self.bases):
            await self.bench.cycle(table_write=1, table_address=tile, table_data=base)
        await self.bench.cycle(table_write=0)

    def messages(self, count: int) -> list[dict[str, int]]:
        c, rng = self.config, self.rng
        found = [{"count": int(rng.integers(1, c.count_max + 1)), "label": int(rng.integers(c.max_labels)),
                  "offset": int(rng.integers(1 << c.offset_bits)), "tile": int(rng.integers(c.spes))}
                 for _ in range(count)]
        return found if self.has_tiles else [{k: v for k, v in m.items() if k != "tile"} for m in found]

    def wanted(self, messages: list[dict[str, int]]) -> list[tuple[int, int, int]]:
        return [((self.bases[m.get("tile", 0)] + m["offset"]) % (1 << self.config.raster_bits), m["label"], m["count"])
                for m in messages]

    async def cycle(self, message: dict[str, int] | None, ready: bool) -> bool:
        """One cycle; returns whether the message was taken. Checks what AXI4-Stream asks of a source."""
        bench = self.bench
        drive: dict[str, Any] = {"log_valid": int(message is not None), "lines_tready": int(ready)}
        if message is not None:
            drive["log_payload"] = message
        await bench.cycle(**drive)
        valid, last = bench.read("lines_tvalid"), bench.read("lines_tlast")
        if self._held is not None:
            assert (valid, bench.bits("lines_tdata"), last) == (1, *self._held), "a line changed before it was taken"
        taken = bool(valid and ready)
        if taken:
            self.lines.append((bench.bits("lines_tdata"), bool(last)))
        self._held = (bench.bits("lines_tdata"), last) if valid and not ready else None
        self.pulses["done"] += int(taken and last)
        self.pulses["message"] += bench.read("message")
        return bool(message is not None and bench.read("log_ready"))

    async def run(self, count: int, offer: Rhythm, ready: Rhythm) -> None:
        """`count` messages and the end marker, until the last line is out; then all checks."""
        sent = self.messages(count)
        marker = {**self.messages(1)[0], "count": 0}
        self.lines, self.pulses = [], {"message": 0, "done": 0}
        queue, offered = [*sent, marker], False
        while not self.pulses["done"]:
            offered = bool(queue) and (offered or offer())
            if await self.cycle(queue[0] if offered else None, ready()):
                queue.pop(0)
                offered = False
            assert self.bench.now < 100_000, "the last line does not come"
        for _ in range(4):
            await self.cycle(None, True)
        self.check(sent)

    def check(self, sent: list[dict[str, int]]) -> None:
        c = self.config
        lines = np.array([list(line.to_bytes(c.line_bits // 8, "little")) for line, _ in self.lines], np.uint8)
        assert [tuple(m) for m in unpack_lines(c, lines)] == self.wanted(sent)
        assert [last for _, last in self.lines] == [False] * (len(self.lines) - 1) + [True]
        # All lines but the last are full, and the last one holds what is left, be it nothing.
        assert len(self.lines) == len(sent) // c.line_messages + 1
        assert self.pulses == {"message": len(sent), "done": 1}
        for number, (line, _) in enumerate(self.lines):
            held = min(c.line_messages, len(sent) - number * c.line_messages)
            assert line >> (held * c.message_bits) == 0, "padding is zero"


async def _run(dut: Any, offer: float, ready: float, burst: int = 1) -> None:
    """Runs one after the other: empty, a line less one, exactly full, one more, and many."""
    packer = Packer(dut, np.random.default_rng(8))
    await packer.start()
    n = packer.config.line_messages
    for count in (0, 1, n - 1, n, n + 1, 2 * n, 0, 100):
        await packer.run(count, Rhythm(packer.rng, offer, burst), Rhythm(packer.rng, ready, burst))


@cocotb.test()
async def latency_and_rate(dut: Any) -> None:
    """A message a cycle; a full line stands two cycles after its last message was offered."""
    packer = Packer(dut, np.random.default_rng(9))
    await packer.start()
    n = packer.config.line_messages
    sent = packer.messages(5 * n)
    valid = []
    for cycle in range(5 * n + LATENCY):
        message = sent[cycle] if cycle < len(sent) else None
        assert await packer.cycle(message, True) == (message is not None), "a message a cycle"
        valid.append(packer.bench.read("lines_tvalid"))
    assert [cycle for cycle, v in enumerate(valid) if v] == [(line + 1) * n - 1 + LATENCY for line in range(5)]
    assert packer.pulses["message"] == 5 * n


@cocotb.test()
async def no_idle(dut: Any) -> None:
    await _run(dut, 1, 1)


@cocotb.test()
async def random_idle(dut: Any) -> None:
    await _run(dut, 0.3, 1, 3)


@cocotb.test()
async def random_back_pressure(dut: Any) -> None:
    await _run(dut, 1, 0.2, 3)


@cocotb.test()
async def stress(dut: Any) -> None:
    await _run(dut, 0.6, 0.4, 8)
