"""A log memory on an SDRAM, as a board has them together."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import wiring

from mrfhw.gateware.board.sdram import DATA_BITS, SdramController, SdramTiming
from mrfhw.gateware.log.log_memory import LogMemory

__all__ = ["LogInSdram"]


class LogInSdram(wiring.Component):
    """`LogMemory` with a ring of `size` bytes and its `SdramController`: lines, out and behind of the one, pins of the other."""

    def __init__(self, line_bits: int, timing: SdramTiming, clock_hz: int, size: int, burst_beats: int):
        self.log = LogMemory(line_bits, DATA_BITS, timing.address_bits, 0, size, burst_beats)
        self.controller = SdramController(timing, clock_hz)
        log, pins = self.log.signature.members, self.controller.signature.members
        super().__init__({name: log[name] for name in ("lines", "out", "behind")}
                         | {name: pins[name] for name in pins if name != "memory"})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.log, m.submodules.controller = self.log, self.controller
        wiring.connect(m, self.log.memory, self.controller.memory)
        wiring.connect(m, wiring.flipped(self.lines), self.log.lines)
        wiring.connect(m, self.log.out, wiring.flipped(self.out))
        m.d.comb += [self.behind.eq(self.log.behind), self.controller.dq_i.eq(self.dq_i)]
        for name in self.controller.signature.members:
            if name not in ("memory", "dq_i"):
                m.d.comb += getattr(self, name).eq(getattr(self.controller, name))
        return m
