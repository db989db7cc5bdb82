"""The C driver on a machine of several clusters: a machine of its own for each, whose logs come as one."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfhw.driver.clusters import cluster_chip
from mrfhw.machine.cluster_registers import SWITCH_LABEL
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.machine.words import log_message
from mrfhw.placement.placement import place
from mrfhw.simulation.chip import CompiledChip
from mrfhw.twin.machine import solve
from support.boards import tiny_problem
from support.c_driver import ERRORS, LOG, PATIENCE, Machine, Stream, buffers, build, image_of

ONE = Config(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8, label_bits=3, data_bits=4, counter_bits=4, hub_depth=1,
             line_bits=64, temperature_table=4, sampler=Race(uniform_bits=8))


class Split(ctypes.Structure):
    _fields_ = (("log", LOG), ("log_context", ctypes.c_void_p), ("filled", ctypes.c_uint32), ("given", ctypes.c_uint32),
                ("cluster", ctypes.c_uint32), ("line", ctypes.c_uint8 * (ONE.line_bits // 8)))


class Cluster(ctypes.Structure):
    _fields_ = (("split", ctypes.POINTER(Split)), ("cluster", ctypes.c_uint32))


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.claim("C driver", "several clusters or contexts, each driven as a machine of its own, side by side: the model's bits")
@pytest.mark.parametrize("several", ["clusters", "contexts"])
def test_clusters_side_by_side(several: str, tmp_path: Path) -> None:
    config = ONE.changed(**{several: 2})
    library = build(tmp_path, config)
    with CompiledChip(config, quick=True) as chip:
        stream = Stream(chip)

        def log(_: object, out: Any, size: int) -> int:
            found = stream(size)
            ctypes.memmove(out, found, len(found))
            return len(found)

        split = Split(log=LOG(log))
        contexts = [Cluster(ctypes.pointer(split), k) for k in range(2)]
        machines = [Machine(library, cluster_chip(config, chip, k), stream) for k in range(2)]
        for machine, context in zip(machines, contexts, strict=True):
            machine.bus.log = ctypes.cast(library.mrfhw_cluster_log, LOG)
            machine.bus.log_context = ctypes.cast(ctypes.pointer(context), ctypes.c_void_p)
            assert (machine.open(), machine.settle()) == ("OK", "OK")
        for seed in range(0, 6, 2):
            placed = [place(config, *tiny_problem(seed + k)) for k in range(2)]
            held = [buffers(p) for p in placed]
            for machine, p, kept in zip(machines, placed, held, strict=True):
                assert machine.load(image_of(p), *kept) == "OK"
                assert machine.call("start") == "OK"
            ended = [False, False]
            for _ in range(100 * PATIENCE):
                for k, machine in enumerate(machines):
                    if not ended[k]:
                        error, ended[k] = machine.poll()
                        assert error == "OK"
                if all(ended):
                    break
            for machine, p, (counts, last) in zip(machines, placed, held, strict=True):
                assert machine.call("finish") == "OK"
                wanted = solve(ONE, p.problem, p.run)
                assert np.array_equal(last, wanted.last)
                assert np.array_equal(counts, wanted.counts)
        fields = log_message(Derived.of(config))
        stream.held += (SWITCH_LABEL << fields["label"].low | 3 << fields["address"].low).to_bytes(ONE.line_bits // 8, "little")
        out = (ctypes.c_uint8 * 8)()
        assert library.mrfhw_cluster_log(ctypes.byref(contexts[0]), out, 8) == -ERRORS.index("LOG"), "it has no cluster 3"
