"""The model of an SDRAM by itself: each rule of the data sheet with commands that keep it and break it by a clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mrfhw.gateware.board.sdram import SdramTiming
from sim.support.sdram_model import MASKED, Output, Pins, SdramModel

pytestmark = pytest.mark.claim("sdram model", "each rule of the data sheet passes at its limit and fails a clock before")

PERIOD = 10.0
SHEET = SdramTiming(power_up=100)
COMMANDS = {"activate": (0, 1, 1), "read": (1, 0, 1), "write": (1, 0, 0), "precharge": (0, 1, 0), "refresh": (0, 0, 1),
            "mode": (0, 0, 0), "stop": (1, 1, 0)}
ALL = 1 << 10
Step = tuple[int, str, dict[str, Any]]  # clocks after the step before, command, pins


class Memory:
    """A model and its clock."""

    def __init__(self, timing: SdramTiming = SHEET):
        self.model, self.now, self.dqm = SdramModel(timing, PERIOD, PERIOD / 2), 0.0, 3
        self.outputs: list[Output] = []
        self.tick(Pins(dqm=3))

    def tick(self, pins: Pins) -> None:
        output = self.model.edge(self.now, pins)
        self.now += PERIOD
        if output is not None:
            self.outputs.append(output)

    def give(self, after: int, command: str, **pins: Any) -> None:
        self.idle(after - 1)
        self.tick(Pins(**{"dqm": self.dqm, "cs_n": 0, **dict(zip(("ras_n", "cas_n", "we_n"), COMMANDS[command], strict=True)),
                          "dq_oe": int(command == "write"), **pins}))

    def idle(self, clocks: int) -> None:
        for _ in range(clocks):
            self.tick(Pins(dqm=self.dqm))

    def power_up(self) -> None:
        """As the data sheet has it; ends with the mode register."""
        self.give(11, "precharge", a=ALL)
        self.give(3, "refresh")
        for _ in range(7):
            self.give(7, "refresh")
        self.give(7, "mode", a=self.model.timing.cas_latency << 4)
        self.dqm = 0


# A rule: what is asked of the memory, steps, the pins of the last one and the clocks it waits for at least; the rule's message.
ROW: Step = (9, "activate", {"a": 5})
LIMITS: dict[str, tuple[dict[str, Any], list[Step], tuple[int, str, dict[str, Any]], str]] = {
    "tRCD": ({}, [ROW], (3, "read", {}), "tRCD: read after the activate"),
    "tRCD, write": ({}, [ROW], (3, "write", {}), "tRCD: write after the activate"),
    "tRP": ({}, [ROW, (9, "precharge", {})], (3, "activate", {}), "tRP: activate after a precharge"),
    "tRP, refresh": ({}, [ROW, (9, "precharge", {"a": ALL})], (3, "refresh", {}), "tRP: refresh after a precharge"),
    "tRP, mode": ({}, [ROW, (9, "precharge", {"a": ALL})], (3, "mode", {"a": 32}), "tRP: mode register after a precharge"),
    "tRAS": ({}, [ROW], (5, "precharge", {}), "tRAS: precharge after the activate"),
    "tRC": ({"tRC": 101}, [ROW, (5, "precharge", {})], (6, "activate", {}), "tRC: activate after an activate of the bank"),
    "tRFC": ({}, [(9, "refresh", {})], (7, "activate", {}), "tRFC: activate after a refresh"),
    "tRFC, refresh": ({}, [(9, "refresh", {})], (7, "refresh", {}), "tRFC: refresh after a refresh"),
    "tRRD": ({}, [ROW], (2, "activate", {"ba": 2}), "tRRD: activate after an activate of another bank"),
    "tWR": ({}, [ROW, (5, "write", {})], (2, "precharge", {}), "tWR: precharge after a write"),
    "tMRD": ({"tMRD": 25}, [], (3, "activate", {}), "tMRD: activate after the mode register after 20.000 ns"),
    "tMRD, clocks": ({"tMRD": 5}, [], (2, "refresh", {}), "tMRD: refresh 1 clocks after the mode register"),
    "read, precharge": ({"cas_latency": 3}, [ROW, (5, "read", {})], (2, "precharge", {}), "precharge 1 clocks after a read"),
    "read, write": ({}, [ROW, (5, "read", {})], (4, "write", {}), "dq bus: the controller drives from"),
    "read, write, CL3": ({"cas_latency": 3}, [ROW, (5, "read", {})], (5, "write", {}), "dq bus: the controller drives from"),
}


@pytest.mark.parametrize("rule", LIMITS)
def test_a_clock_too_early(rule: str) -> None:
    change, steps, (least, command, pins), says = LIMITS[rule]
    for early in (0, 1):
        memory = Memory(replace(SHEET, **change))
        memory.power_up()
        for after, name, its in steps:
            memory.give(after, name, **its)
        if early:
            with pytest.raises(AssertionError, match=says):
                memory.give(least - 1, command, **pins)
        else:
            memory.give(least, command, **pins)


@pytest.mark.parametrize(("steps", "says"), [
    ([ROW, (9, "activate", {"a": 6})], "of bank 0, which is open"),
    ([(9, "read", {})], "read at .* of bank 0, which is closed"),
    ([ROW, (9, "write", {"ba": 1})], "write at .* of bank 1, which is closed"),
    ([ROW, (9, "refresh", {})], "refresh at .* with bank 0 open"),
    ([ROW, (9, "mode", {"a": 32})], "mode register at .* with bank 0 open"),
    ([ROW, (9, "write", {"dq_oe": 0})], "write at .* without data"),
    ([ROW, (9, "read", {"a": ALL})], "auto precharge, which is not modelled"),
    ([ROW, (9, "read", {"a": 512})], "read at .* of column 512"),
    ([(9, "stop", {})], "burst stop"),
    ([(9, "activate", {"cke": 0})], "cke falls"),
    ([(9, "mode", {"a": 0x33})], "is not bursts of one"),
    ([(9, "mode", {"a": 0x30})], "CAS latency 3, not 2"),
    ([(9, "mode", {"a": 0x20, "ba": 1})], "ba is 1, reserved"),
    ([ROW, (9, "read", {}), (1, "write", {})], "dq bus: "),
    ([ROW, (10_001, "precharge", {})], "tREFI"),
])
def test_what_must_not_be(steps: list[Step], says: str) -> None:
    memory = Memory()
    memory.power_up()
    for after, command, pins in steps[:-1]:
        memory.give(after, command, **pins)
    with pytest.raises(AssertionError, match=says):
        memory.give(*steps[-1][:2], **steps[-1][2])


def test_power_up() -> None:
    memory = Memory()
    memory.power_up()
    with pytest.raises(AssertionError, match=r"power-up: precharge after 90.0 ns, not 100"):
        Memory().give(9, "precharge", a=ALL)
    memory = Memory()
    with pytest.raises(AssertionError, match=r"refresh at .* before a precharge of all banks"):
        memory.give(11, "refresh")
    memory = Memory()
    with pytest.raises(AssertionError, match=r"mode register at .* before a precharge of all banks"):
        memory.give(11, "mode", a=0x20)
    memory = Memory()
    memory.give(11, "precharge", a=ALL)
    with pytest.raises(AssertionError, match="tRP: refresh after a precharge"):
        memory.give(2, "refresh")
    memory = Memory()
    memory.give(11, "precharge", a=ALL)
    with pytest.raises(AssertionError, match=r"activate at .* before the mode register is set"):
        memory.give(9, "activate")
    memory.give(9, "mode", a=0x20)
    with pytest.raises(AssertionError, match="0 refreshes before the first activate, not 8"):
        memory.give(9, "activate")
    with pytest.raises(AssertionError, match=r"dqm is 0 at .* before the mode register is set"):
        Memory().tick(Pins())
    model = SdramModel(SHEET, PERIOD, 5)
    with pytest.raises(AssertionError, match="power-up: refresh at 0 ns, with cke low"):
        model.edge(0, Pins(cke=0, cs_n=0, ras_n=0, cas_n=0))
    with pytest.raises(AssertionError, match=r"tCK: a cycle of 7.5 ns; CAS latency 2 takes 10 ns"):
        SdramModel(SHEET, 7.5, 4)


def test_refreshes_are_due() -> None:
    """Eight may be late; a ninth may not, and a gap is no longer than those make; a row is not open for ever."""
    for postponed in (8, 1):
        memory = Memory()
        memory.model.postponed = postponed
        memory.power_up()
        since = memory.now
        with pytest.raises(AssertionError, match="tREFI: "):
            memory.idle(20_000)
        assert abs(memory.now - since - (postponed + 1) * SHEET.tREFI) < 200
    memory = Memory(replace(SHEET, tRAS_max=3000))
    memory.power_up()
    memory.give(9, "activate")
    with pytest.raises(AssertionError, match="tRAS_max: a row is open for"):
        memory.idle(302)


@pytest.mark.parametrize("latency", [2, 3])
def test_data(latency: int) -> None:
    """What is written is read, tAC after the clock before the latency's end; dqm masks the written at once, the read after two."""
    memory = Memory(replace(SHEET, cas_latency=latency))
    memory.power_up()
    memory.give(9, "activate", ba=1, a=77)
    memory.give(4, "write", ba=1, a=3, dq=0x1234)
    memory.give(1, "write", ba=1, a=4, dq=0xABCD, dqm=0)
    memory.give(1, "write", ba=1, a=3, dq=0xFFFF, dqm=2)
    memory.give(1, "read", ba=1, a=3)
    issued = memory.now - PERIOD
    memory.give(1, "read", ba=1, a=4)
    for mask in (1, 0, 0, 0, 0):
        memory.tick(Pins(dqm=mask))
    first, second = memory.outputs
    assert first.begin == issued + (latency - 1) * PERIOD
    assert first.valid == first.begin + memory.model.timing.tAC
    assert first.until == issued + latency * PERIOD + 2.5
    assert first.value == 0x12FF
    assert second.value == (0xABCD if latency == 2 else 0xAB00 | MASKED & 0xFF)
