"""The driver in C on a machine with AXI ports, between third-party masters and slaves under Icarus; a cocotb bench."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import cocotb
import numpy as np

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from sim.benches.bench_axi_top import MEMORY, System
from sim.support.blocking import blocking
from sim.support.runner import bench_config, bench_parameters
from support.c_driver import ERRORS, LOG, PATIENCE, Machine, Ring, buffers, image_of

__all__ = ["through_axi_ports"]


def axi_problem(seed: int, sweeps: int) -> Placement:
    """Hot, with counters of one bit, so that there is much log."""
    problem = Problem(labels=8, singleton1=np.arange(28).reshape(4, 7), constants=np.arange(8), schedule=Schedule.constant(60.0))
    return Placement(bench_config(), problem, Run(sweeps=sweeps, burn_in=1, seed=seed))


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def through_axi_ports(dut: Any) -> None:
    system = System(dut, 1)
    await system.start()
    library = ctypes.CDLL(bench_parameters()["driver"])
    library.machine_bytes.restype = ctypes.c_size_t
    await blocking(rings, system, Machine(library, system.chip, lambda size: b""))


def rings(system: Any, machine: Machine) -> None:
    """Rings of one block and more, some that cannot be, memory that refuses, a run left behind."""
    ring, block, library = Ring(), system.block, machine.library
    # One memory of the process, for the simulated slave and for the driver.
    held = mmap.mmap(-1, MEMORY)
    for interface in (system.ram.write_if, system.ram.read_if):
        interface.mem = held
    memory = ctypes.addressof((ctypes.c_uint8 * MEMORY).from_buffer(held))
    machine.bus.log, machine.bus.log_context = ctypes.cast(library.mrfhw_ring_log, LOG), ctypes.addressof(ring)

    def open_ring(base: int, size: int) -> str:
        return ERRORS[library.mrfhw_ring_open(
            ctypes.byref(ring), ctypes.byref(machine.bus), ctypes.c_void_p(memory + base), ctypes.c_uint64(base),
            ctypes.c_uint32(size), ctypes.c_uint32(PATIENCE))]

    def solved(p: Placement, base: int, blocks: int) -> int:
        """Runs of a problem through a ring; returns the bytes of the log. Stalls are the simulated memory's."""
        assert (open_ring(base, blocks * block), machine.settle()) == ("OK", "OK")
        counts, last = buffers(p)
        found = machine.load(image_of(p), counts, last), machine.run()
        assert found == ("OK", "OK"), found
        wanted = solve(p.config, p, p.run)
        np.testing.assert_array_equal(last, wanted.last)
        np.testing.assert_array_equal(counts, wanted.counts)
        assert machine.counters().messages == wanted.log_messages
        return int(ring.position)

    assert machine.open() == "OK"
    for base, size in ((1, block), (0, 0), (0, block + 1), (1 << 32, block), ((1 << 32) - block, 2 * block), (1 << 40, block)):
        assert open_ring(base, size) == "RING", (base, size)
    assert solved(axi_problem(2, 9), 3 * block, 1) > 3 * block, "the ring did not wrap"
    # A run is left behind, with another ring that is full.
    p = axi_problem(3, 1000)
    assert open_ring(block, block) == "OK"
    assert (machine.load(image_of(p), *buffers(p)), machine.call("start")) == ("OK", "OK")
    assert machine.poll() == ("OK", False)
    assert solved(axi_problem(4, 3), 0, 3) > 0
    # Somebody else's position.
    ring.position += 1
    p = axi_problem(5, 3)
    assert (machine.load(image_of(p), *buffers(p)), machine.run()) == ("OK", "RING")
    ram: Any = system.ram.write_if
    allowed = ram._write

    async def refuse(address: int, data: bytes) -> None:
        raise ValueError

    ram._write = refuse
    assert (open_ring(0, block), machine.settle(), machine.load(image_of(p), *buffers(p)), machine.run()) == (
        "OK", "OK", "OK", "MEMORY")
    ram._write = allowed
    assert solved(p, 0, 64) > 0
