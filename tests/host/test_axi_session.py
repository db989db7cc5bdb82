"""The log's ring on the host's side, and the examples of docs/integration.md, without a simulator."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mrfhw.driver.driver import ChipError, Driver
from mrfhw.driver.readout import read_result
from mrfhw.field.problem import Problem, Run
from mrfhw.host.axi_session import LogControl, RingLog, StreamLog
from mrfhw.machine.config import Config
from mrfhw.machine.log_registers import LOG_REGISTERS, LOG_STATUS_BITS, LogTarget
from mrfhw.machine.registers import REGISTERS, register
from mrfhw.placement.placement import Placement

LOG_RING_READ = pytest.mark.claim(
    "AXI session", "the log's ring is read once and in order over its end and over 2^32; rings that cannot be are one line")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
BLOCK = 64
NAMES = {entry.index: name for name, entry in {**REGISTERS, **LOG_REGISTERS}.items()}


class Ring:
    """The log registers as hardware has them, and memory that a log is written to."""

    def __init__(self, address_bits: int = 32):
        self.values = dict.fromkeys(NAMES.values(), 0) | {"log_block": BLOCK, "log_status": 1 << LOG_STATUS_BITS["empty"]}
        self.address_bits, self.place = address_bits, 0
        self.memory = np.zeros(0, np.uint8)

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        for name, word in zip((NAMES[int(a)] for a in addresses), map(int, data), strict=True):
            if name.startswith("log_base") or name == "log_size":
                self.values |= {"log_freed": 0, "log_written": 0}
                self.place = 0
            masks = {"log_base_low": (1 << min(32, self.address_bits)) - BLOCK,
                     "log_base_high": (1 << max(0, self.address_bits - 32)) - 1}
            self.values[name] = word & masks.get(name, 0xFFFFFFFF)

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return np.array([self.values[NAMES[int(a)]] for a in addresses], np.uint32)

    def log(self, data: bytes) -> None:
        """Some more log, as far as there is room."""
        for byte in data:
            self.memory[self.place % len(self.memory)] = byte
            self.place += 1
        self.values["log_written"] = (self.values["log_written"] + len(data)) % (1 << 32)


@LOG_RING_READ
def test_log_comes_once_and_in_order():
    """Whatever the pieces and the ring's size, and where positions pass 2^32."""
    rng = np.random.default_rng(1)
    for blocks, first in ((1, 0), (3, 0), (5, (1 << 32) - 192)):
        chip = Ring()
        chip.memory = np.zeros(blocks * BLOCK, np.uint8)
        ring = RingLog(chip, chip.memory, 0x1000, blocks * BLOCK)
        ring.open()
        assert [chip.values[n] for n in ("log_base_low", "log_size", "log_target")] == [0x1000, blocks * BLOCK, LogTarget.MEMORY]
        # As if so much had come before.
        ring.position = chip.place = first - first % (blocks * BLOCK)
        chip.values["log_written"] = chip.values["log_freed"] = ring.position
        sent, found = bytearray(), bytearray()
        for _ in range(200):
            piece = rng.bytes(int(rng.integers(blocks * BLOCK + 1)))
            chip.log(piece)
            sent += piece
            found += ring.take()
            assert chip.values["log_freed"] == chip.values["log_written"]
        assert found == sent
        assert ring.take() == b""


@LOG_RING_READ
def test_another_program_on_the_machine():
    chip = Ring()
    chip.memory = np.zeros(BLOCK, np.uint8)
    ring = RingLog(chip, chip.memory, 0, BLOCK)
    ring.open()
    chip.values["log_written"] = BLOCK + 8
    with pytest.raises(ChipError, match="another program uses the machine"):
        ring.take()
    chip.values["log_status"] = 1 << LOG_STATUS_BITS["error"]
    with pytest.raises(ChipError, match=r"^memory refused the log: give a ring, at 0x0 now, that the machine may write$"):
        ring.take()


@LOG_RING_READ
@pytest.mark.parametrize(("bits", "base", "size", "message"), [
    (32, 1, BLOCK, "base is 0x1; this machine's log ring has 0x40 to 0xffffffc0 bytes below 0x100000000, and begins and ends at "
                   "multiples of 0x40: give another base"),
    (32, 0, 0, "size is 0x0; "), (32, 0, 100, "size is 0x64; "), (32, (1 << 32) - BLOCK, 2 * BLOCK, "base is 0xffffffc0; "),
    (40, 1 << 40, BLOCK, "base is 0x10000000000; "), (40, 0, 1 << 32, "size is 0x100000000; "),
    (12, 1 << 12, BLOCK, "base is 0x1000; "),
])
def test_rings_that_cannot_be(bits: int, base: int, size: int, message: str):
    chip = Ring(bits)
    with pytest.raises(ChipError, match=f"^{message}"):
        RingLog(chip, np.zeros(size % (1 << 20), np.uint8), base, size).open()
    assert chip.values["log_size"] == 0


def test_arrays_that_are_not_the_ring():
    for array in (np.zeros(BLOCK, np.int8), np.zeros(2 * BLOCK, np.uint8), np.zeros((8, 8), np.uint8)):
        with pytest.raises(ChipError, match=r"^memory is .*; the ring is 64 bytes: give a uint8 array of that size$"):
            RingLog(Ring(), array, 0, BLOCK).open()


def test_stream_drops_what_was_left():
    pieces = [b"old", b"new", b""]
    chip = Ring()
    log = StreamLog(chip, lambda: pieces.pop(0))
    log.open()
    assert LogControl(chip).get("log_target") == [LogTarget.STREAM]
    assert (log.take(), log.take()) == (b"new", b"")


@LOG_RING_READ
def test_a_log_that_is_not_whole():
    config = Config.preset("smallest")
    placement = Placement(config, Problem(labels=2, singleton1=np.zeros((4, 4), np.int64), constants=np.arange(2)), Run(sweeps=1))
    chip = Ring()
    cycles = 2 * placement.tile_rows * placement.order.groups_per_row * placement.interval
    chip.values |= {"messages_low": 1, "lines": 1, "label_cycles_low": 32, "cycles_low": cycles}
    for log in (b"", bytes(3), bytes(8), bytes(16)):
        with pytest.raises(ChipError, match=r"^the chip sent 1 messages in 1 lines; 0 in .* solve the problem again$"):
            read_result(Driver(config, chip).counters(), placement, log, np.zeros((4, 4, 4), np.int32), wall=1)
    # Counters that do not agree.
    chip.values["lines"] = 2
    with pytest.raises(ChipError, match=r"^the chip counts 2 lines, not 1: reset it, then solve again$"):
        read_result(Driver(config, chip).counters(), placement, bytes(16), np.zeros((4, 4, 4), np.int32), wall=1)
    chip.values["lines"] = 1
    # A message of a label that the problem does not have.
    line = (1 | 9 << config.counter_bits).to_bytes(8, "little")
    with pytest.raises(ChipError, match=r"^the log names site 0 and label 9; the problem has 16 sites and 2 labels: build"):
        read_result(Driver(config, chip).counters(), placement, line, np.zeros((4, 4, 4), np.int32), wall=1)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_chip_over_mmio():
    """Each word once, in order, at its byte address."""
    accesses = []

    class Mmio:
        def write(self, offset: int, value: int) -> None:
            assert type(offset) is type(value) is int  # numpy's numbers are not what pynq takes
            accesses.append((offset, value))

        def read(self, offset: int) -> int:
            return offset + 1

    chip = example("pynq_run").MmioChip(Mmio())
    Driver(Config(), chip).set(slots=5, control=1)
    chip.write(np.full(3, 7, np.uint32), np.array([1, 2, 0xFFFFFFFF], np.uint32))
    assert accesses == [(4 * register("slots"), 5), (4 * register("control"), 1), (28, 1), (28, 2), (28, 0xFFFFFFFF)]
    found = chip.read(np.array([3, 0], np.uint32))
    assert (found.dtype, found.tolist()) == (np.uint32, [13, 1])


def test_examples_compile():
    for path in EXAMPLES.glob("*.py"):
        compile(path.read_text(), str(path), "exec")
    script = (EXAMPLES / "zynq_block_design.tcl").read_text()
    assert script.count("{") == script.count("}")
    assert script.count("[") == script.count("]")
