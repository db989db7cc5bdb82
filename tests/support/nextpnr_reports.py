"""`python -m support.nextpnr_reports`, from `tests/`: nextpnr's reports of a small circuit, one of each family, recorded.

They are what the tests of critical paths read (`tests/fpga/test_critical_paths.py`); place and route takes seconds each.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.flow import REPORT, Flow
from mrfhw.fpga.tools import run_step
from mrfhw.machine.config import Config

RECORDED = Path(__file__).parent.parent / "recorded" / "nextpnr"
FAMILIES = {"ecp5": "ulx3s-85f", "ice40": "icebreaker", "gowin": "tang-nano-9k"}


class Counter(Elaboratable):
    """`wrapped` is high for a cycle after `count` was 200."""

    def __init__(self) -> None:
        self.count = Signal(8)
        self.wrapped = Signal()

    def elaborate(self, platform: object) -> Module:
        """A carry chain and a comparison, to one register."""
        m = Module()
        m.d.sync += [self.count.eq(self.count + 1), self.wrapped.eq(self.count == 200)]
        return m


class Small(Elaboratable):
    """A counter, whose end toggles a lamp of the board."""

    def elaborate(self, platform: Any) -> Module:
        """The board's own clock, and one lamp."""
        m = Module()
        m.submodules.counter = counter = Counter()
        lamp = Signal()
        with m.If(counter.wrapped):
            m.d.sync += lamp.eq(~lamp)
        m.d.comb += platform.request("led", 0).o.eq(lamp)
        return m


class SmallFlow(Flow):
    """The board's tools with the small circuit."""

    def design(self) -> Elaboratable:
        """The small circuit in place of the board's machine."""
        return Small()


def main() -> None:
    """Record all of them anew."""
    RECORDED.mkdir(exist_ok=True)
    for family, name in FAMILIES.items():
        board = BOARDS[name]
        with tempfile.TemporaryDirectory() as folder:
            flow = SmallFlow(board, Config.preset("smallest"), board.clock_hz, board.baud, Path(folder))
            flow.write()
            flow.synthesize()
            run_step(flow.tool(1), [*flow.commands[1][1:], "--seed", "1"], Path(folder))
            shutil.copyfile(Path(folder) / REPORT, RECORDED / f"{family}.json")


if __name__ == "__main__":
    main()
