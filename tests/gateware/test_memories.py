"""Memories whose reads may meet a write: whole machines do not care what such a read gives."""

from __future__ import annotations

import re

import numpy as np
import pytest
from amaranth.sim import Simulator

from mrfhw.gateware.common.memories import Queue, UnguardedMemory
from mrfhw.gateware.common.poison import poisoned
from mrfhw.gateware.control.singleton_address import SingletonAddress, offset_table
from mrfhw.generation.identity import circuit, circuit_digest
from mrfhw.generation.modules import component_verilog
from mrfhw.generation.verilog import board_text
from mrfhw.machine.config import Config
from mrfhw.simulation.chip import CompiledChip
from support.comparing import compare
from support.random_lanes import lane_placement, random_subset_machine
from support.random_problems import random_config, random_placement
from support.refusals import assert_refused

READ_MEETS_WRITE = pytest.mark.claim("UnguardedMemory",
    "what a read gives that meets a write of the same address reaches no result; without it, memories are as they were")
WORDS_COME_OUT = pytest.mark.claim(
    "Queue", "words come out in order, a stated number of cycles after they went in; level and readiness in every cycle")

# One bank and four, both samplers, S of 1, 2 and 4.
SEEDS = (2, 12, 21)


def simulate(component, process) -> None:
    """Run `process` on a component whose clock has a period of one microsecond."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


@pytest.mark.tools
@READ_MEETS_WRITE
@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS[1:])])
def test_machines_with_poisoned_collisions_equal_the_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    with poisoned(), CompiledChip(config, quick=True) as chip:
        for _ in range(20):
            compare(chip, random_placement(rng, config))


@pytest.mark.tools
@pytest.mark.long
def test_a_machine_with_subsets_and_poisoned_collisions_equals_the_model() -> None:
    rng = np.random.default_rng(7)
    config = random_subset_machine(rng, 2)
    overlaps = 0
    with poisoned(), CompiledChip(config, quick=True) as chip:
        for _ in range(20):
            placement = lane_placement(rng, config)
            compare(chip, placement)
            overlaps += placement.overlap and placement.slots < placement.label_groups.slots
    assert overlaps > 3


@READ_MEETS_WRITE
def test_poison_is_never_in_what_is_generated() -> None:
    config = Config.preset("smallest")
    plain = board_text(config, 16, 16, 16)
    assert "no_rw_check" in plain
    assert "met_0" not in plain
    with poisoned():
        assert "met_0" in board_text(config, 16, 16, 16)
    assert board_text(config, 16, 16, 16) == plain


@READ_MEETS_WRITE
def test_every_memory_that_is_written_states_what_a_collision_gives() -> None:
    """None has synthesis build guards unasked but the queues, which hand words on."""
    text = board_text(Config.preset("smallest"), 16, 16, 16)
    for module in re.split(r"^(?=module )", text, flags=re.M):
        for attribute, name in re.findall(r"(\(\* no_rw_check = 32'd1 \*\)\n)?  reg \[\d+:0\] (\S+) \[\d+:0\];", module):
            written = re.search(rf"^ +{re.escape(name)}\[\S+\] <=", module, re.M)
            assert attribute or not written or "log_fifo" in module.split("(")[0], module.split("(")[0]


@READ_MEETS_WRITE
@pytest.mark.parametrize("poison", [False, True])
def test_a_collision(poison: bool) -> None:
    """Without poison the old word in simulation; with it the inverse, until the next read. Other reads are what was written."""
    memory = UnguardedMemory(shape=8, depth=4, init=[0x11, 0x22, 0x33, 0x44], unused="a test")
    write, read = memory.write_port(), memory.read_port()

    async def process(context) -> None:
        async def cycle(**inputs: int) -> int:
            for name, value in {"w": 0, "r": 0, "wa": 0, "ra": 0, "d": 0, **inputs}.items():
                port = {"w": write.en, "r": read.en, "wa": write.addr, "ra": read.addr, "d": write.data}[name]
                context.set(port, value)
            await context.tick()
            return context.get(read.data)

        assert await cycle(r=1, ra=1) == 0x22
        assert await cycle(r=1, ra=1, w=1, wa=2, d=0x55) == 0x22
        collided = 0xDD if poison else 0x22
        assert await cycle(r=1, ra=1, w=1, wa=1, d=0x66) == collided
        assert await cycle(ra=1, w=1, wa=1, d=0x77) == collided
        assert await cycle(r=1, ra=1) == 0x77
        assert await cycle(r=1, ra=2) == 0x55

    if poison:
        with poisoned():
            simulate(memory, process)
    else:
        simulate(memory, process)


def test_a_poisoned_memory_is_written_by_parts() -> None:
    memory = UnguardedMemory(shape=8, depth=2, init=[0x12, 0x34], unused="a test")
    write, read = memory.write_port(granularity=4), memory.read_port()

    async def process(context) -> None:
        for address, parts, collided in ((0, 0b01, 0xED), (0, 0b10, 0xE0), (1, 0b00, 0x34)):
            for signal, value in ((write.addr, address), (read.addr, address), (write.en, parts), (write.data, 0xFF), (read.en, 1)):
                context.set(signal, value)
            await context.tick()
            assert context.get(read.data) == collided
        context.set(read.addr, 0)
        await context.tick()
        assert context.get(read.data) == 0xFF

    with poisoned():
        simulate(memory, process)


def test_a_poisoned_circuit_has_a_digest_of_its_own(tmp_path, monkeypatch) -> None:
    """Or its library would be taken for the plain one's, or the plain one's for it, by a test or by a later process."""
    monkeypatch.setenv("MRFHW_CACHE", str(tmp_path))
    config = Config.preset("smallest", label_bits=3)
    plain = circuit_digest(config)
    with poisoned():
        assert circuit_digest(config) != plain
        assert circuit_digest(config) == circuit(config)[1]
    assert circuit_digest(config) == plain
    assert len(list(tmp_path.glob("verilog-*.digest"))) == 2


@WORDS_COME_OUT
@pytest.mark.parametrize("latency", [1, 2])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 11])
@pytest.mark.parametrize("fill", [0.2, 0.5, 0.9])
def test_queue(latency: int, depth: int, fill: float) -> None:
    """Against a list, in every cycle of a random rhythm; collisions are poisoned."""
    queue, rng = Queue(8, depth, latency), np.random.default_rng(depth)

    async def process(context) -> None:
        words: list[tuple[int, int]] = []  # word, the cycle from which it can be read
        for cycle in range(400):
            word, put, get = int(rng.integers(256)), bool(rng.random() < fill), bool(rng.random() < 0.5)
            for signal, value in ((queue.w_data, word), (queue.w_en, put), (queue.r_en, get)):
                context.set(signal, int(value))
            ready = bool(words) and words[0][1] <= cycle
            assert context.get(queue.level) == len(words)
            assert context.get(queue.w_rdy) == (len(words) < depth)
            assert context.get(queue.r_rdy) == ready
            if ready:
                assert context.get(queue.r_data) == words[0][0]
            room = len(words) < depth
            await context.tick()
            if ready and get:
                words.pop(0)
            if put and room:
                words.append((word, cycle + latency))

    with poisoned():
        simulate(queue, process)


@pytest.mark.tools
@WORDS_COME_OUT
@pytest.mark.parametrize(("make", "message"), [
    (lambda: UnguardedMemory(shape=8, depth=4, unused=""), "unused is ''; a memory without guards needs a reason"),
    (lambda: Queue(0, 4), "width is 0; a queue has a width of 1 or more"),
    (lambda: Queue(4, 0), "depth is 0; a queue has a depth of 1 or more"),
    (lambda: Queue(4, True), "depth is True; a queue has a depth of 1 or more"),
    (lambda: Queue(4, 4, 3), "latency is 3; a queue's word comes after 1 or 2 cycles"),
])
def test_wrong_arguments(make, message) -> None:
    assert_refused(make, message)


@READ_MEETS_WRITE
def test_the_attribute_reaches_the_verilog() -> None:
    text = component_verilog(SingletonAddress(Config.preset("smallest")), "singleton_address")
    assert len(re.findall(r"\(\* no_rw_check = 32'd1 \*\)\n  reg \[", text)) == len(offset_table(Config.preset("smallest"))) == 4
