"""What synthesis makes of boards' machines: the netlists, cell by cell, behind the unmodified driver, equal the model."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.flow import Flow
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from sim.cells.models import FAMILIES
from sim.cells.netlist import NetlistLink, compile_netlist
from support.boards import assert_equals_model
from support.random_fields import random_field
from support.random_lanes import lane_placement
from support.synthesized import synthesize

# Of each family: a board, and a small machine on it. The ULX3S is without its SDRAM; its machine has the memories and widths of the
# board's own, but one tile of one lane.
BOARD_MACHINES = {
    "ice40": (BOARDS["icebreaker"], Config.preset("smallest")),
    "ecp5": (dataclasses.replace(BOARDS["ulx3s-85f"], sdram=False), Config.preset("smallest", tile_rows=64, tile_cols=64)),
    "gowin": (BOARDS["tang-nano-9k"], Config.preset("smallest")),
}


def flow_for(family: str, directory: Path) -> Flow:
    board, config = BOARD_MACHINES[family]
    return Flow(board, config, board.clock_hz, board.baud, directory)


def problems(config: Config) -> list[tuple[Problem, Run]]:
    """Data, labels and weights of full width; a datum for each label and a second image; all kinds of energy; hot and cold.

    Hot ones show the noise and the generator, weights of full width the products, the cold one the order of energies.
    """
    config, rng = Derived.of(config), np.random.default_rng(1)
    labels, levels, reach = config.max_labels, config.data_max + 1, 1 << config.vector_bits - 1
    rows, cols = 4, 10
    # A machine of few bits of weights and temperatures has all of it at a smaller scale.
    hot, alpha, beta = (2000.0, config.weight_max, config.weight_max - 10) if config.shift_max >= 7 else (30.0, 3, 2)
    data, more = rng.integers(0, levels, (rows, cols)), rng.integers(0, levels, (rows, cols))
    far = rng.integers(-2, 3, (labels - 1, 2))
    return [
        (Problem(labels=labels, singleton1=data, constants=rng.integers(0, levels, labels), alpha=alpha,
                 beta=beta, energy_shift=min(5, config.shift_max), schedule=Schedule.geometric(hot, 0.9, hot / 4)),
         Run(sweeps=16, burn_in=3, seed=1)),
        (Problem(labels=labels - 1, singleton1=data, singleton2=more, offsets=far, singleton="squared", doubleton="squared",
                 vectors=rng.integers(-reach, reach, (labels - 1, 2)), alpha=5, beta=config.weight_max,
                 energy_shift=min(7, config.shift_max), out_of_range=1000, schedule=Schedule.constant(hot)),
         Run(sweeps=6, burn_in=1, seed=2, estimate="mean")),
        (Problem(labels=3, singleton1=data, constants=np.array([0, levels // 3, levels - 1]), doubleton="potts", beta=9,
                 observed=rng.random((rows, cols)) < 0.7, clamped=rng.random((rows, cols)) < 0.2,
                 schedule=Schedule.constant(1.0)), Run(sweeps=6, burn_in=2, seed=3, initial="random")),
    ]


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize("family", BOARD_MACHINES)
def test_the_netlist_equals_the_model(family: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory,
                                      request: pytest.FixtureRequest) -> None:
    if family != "ice40" and not request.config.getoption("--own-machines"):
        pytest.skip("long: --own-machines has it")
    flow = flow_for(family, tmp_path)
    if family == "ice40":
        synthesize(tmp_path_factory, "icebreaker", tmp_path)
        flow.write()
    else:
        flow.write()
        flow.synthesize()
    equals_the_model(flow)


@pytest.mark.tools
@pytest.mark.parametrize("name", [board.name for board in BOARDS.values() if board.open_flow and not board.usb])
def test_the_own_machine_s_netlist_equals_the_model(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--own-machines"):
        pytest.skip("long: --own-machines has it")
    board = dataclasses.replace(BOARDS[name], sdram=False)
    config, rng = Config.preset(board.preset), np.random.default_rng(9)
    flow = Flow(board, config, board.clock_hz, board.baud, tmp_path)
    flow.write()
    flow.synthesize()
    placed = [lane_placement(rng, config) for _ in range(3)] if config.lanes > 1 else []
    equals_the_model(flow, [(p.problem, p.run) for p in placed] or None)


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize("family", BOARD_MACHINES)
def test_the_netlist_of_a_machine_for_any_field_equals_the_model(family: str, tmp_path: Path) -> None:
    """Unlike bits and differences, two channels, limits, costs, a doubleton table and weights of edges."""
    board, rng = BOARD_MACHINES[family][0], np.random.default_rng(7)
    config = Config.preset("smallest", tile_rows=8, tile_cols=8, label_bits=3, data_bits=4, data_bits_2=3, distance="both",
                           singleton_cap=1, edge_bits=2, pairwise_bits=3, s2_words=256, counter_bits=2)
    flow = Flow(board, config, board.clock_hz, board.baud, tmp_path)
    flow.write()
    flow.synthesize()
    placed = [random_field(rng, config) for _ in range(24)]
    assert {(p.problem.channels[0].singleton, len(p.problem.channels)) for p in placed} >= {
        ("hamming", 1), ("hamming", 2), ("absolute", 2)}
    assert {kind for p in placed for kind in (p.problem.unary is None, p.problem.edges is None, p.problem.doubleton)} >= {
        True, False, "table", "potts"}
    equals_the_model(flow, [(p.problem, p.run) for p in placed])


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize("changes", [{"lanes": 8}, {"lanes": 4, "subset_slots": 2}, {"subset_slots": 6},
                                     {"lanes": 2, "subset_slots": 4, "mesh_cols": 2}], ids=["lanes", "subsets", "lane", "tiles"])
@pytest.mark.parametrize("family", BOARD_MACHINES)
def test_the_netlist_of_tiles_that_hold_their_reach_equals_the_model(family: str, changes: dict[str, int], tmp_path: Path) -> None:
    """Several lanes: words of as many pixels, label groups, a Gumbel table in segments, products without multipliers; with subsets
    of the slots; and tiles of which one is synthesized for all (ECP5)."""
    board, rng = BOARD_MACHINES[family][0], np.random.default_rng(8)
    config = Config.preset("smallest", **changes, tile_rows=8, tile_cols=16, lmem_banks=4, label_bits=4, data_bits=4, edge_bits=2,
                           weight_bits=4, s2_words=2048, counter_bits=2, pairwise_bits=3, sampler=Race(uniform_bits=14, segments=8))
    flow = Flow(board, config, board.clock_hz, board.baud, tmp_path)
    flow.write()
    flow.synthesize()
    placed = [lane_placement(rng, config) for _ in range(24)]
    assert config.lanes == 1 or {p.label_groups.mirrored for p in placed} == {False, True}
    assert {p.problem.unary is None for p in placed} == {False, True}
    assert not config.subset_slots or any(p.slots < p.label_groups.slots for p in placed)
    equals_the_model(flow, [(p.problem, p.run) for p in placed])


@pytest.mark.tools
@pytest.mark.long
def test_the_netlist_of_a_machine_without_a_reset_equals_the_model(tmp_path: Path) -> None:
    """With a clock of its own the machine begins with that, and no register of a tile has a reset; two tiles, synthesized once."""
    board, rng = BOARD_MACHINES["ecp5"][0], np.random.default_rng(10)
    config = Config.preset("smallest", lanes=4, mesh_rows=2, tile_rows=8, tile_cols=16, lmem_banks=4, label_bits=4, data_bits=4,
                           edge_bits=2, weight_bits=4, s2_words=2048, counter_bits=2, pairwise_bits=3,
                           sampler=Race(uniform_bits=14, segments=8))
    flow = Flow(board, config, 75_000_000, board.baud, tmp_path)
    flow.write()
    flow.synthesize()
    resets = resets_in_tiles(flow)
    assert not any("rst" in name for name in resets), resets
    equals_the_model(flow, [(p.problem, p.run) for p in (lane_placement(rng, config) for _ in range(8))])


def resets_in_tiles(flow: Flow) -> set[str]:
    """Names of the wires that reset registers of tiles."""
    module = json.loads((flow.directory / "top.json").read_text())["modules"]["top"]
    names: dict[int, set[str]] = {}
    for name, net in module["netnames"].items():
        for bit in net["bits"]:
            names.setdefault(bit, set()).add(name)
    wires = [cell["connections"] for cell in module["cells"].values() if cell["type"] == "TRELLIS_FF"]
    of_tiles = [wire for wire in wires if any(".spe_" in name for name in names[wire["Q"][0]])]
    assert len(of_tiles) > 1000
    return {name for wire in of_tiles for bit in wire.get("LSR", []) if isinstance(bit, int) for name in names[bit]}


def equals_the_model(flow: Flow, given: list[tuple[Problem, Run]] | None = None) -> None:
    """Labels, histogram, LMem, messages and cycles of what is synthesized, at the bitstream's own serial rate."""
    with RemoteBackend(flow.config, lambda: NetlistLink(flow)) as session:
        messages = 0
        for problem, run in problems(flow.config) if given is None else given:
            result = session.solve(problem, run)
            assert_equals_model(result, flow.config, problem, run)
            assert result.repeated_requests == result.damaged_frames == 0
            messages += result.messages_counted
        assert messages > 20


def without_cells(family: str, directory: Path, ports: tuple[str, ...]) -> Flow:
    """A flow that has left a netlist of pins alone."""
    flow = flow_for(family, directory)
    flow.write()
    (directory / "top.json").write_text(json.dumps({"modules": {"top": {"ports": {port: {} for port in ports}, "cells": {}}}}))
    return flow


def test_other_pins_are_refused(tmp_path: Path) -> None:
    flow = without_cells("ice40", tmp_path, ("clk12_0__io", "led_0__io", "uart_0__rx__io", "uart_0__tx__io"))
    message = ("the netlist's pins are clk12_0__io, led_0__io, uart_0__rx__io, uart_0__tx__io; only clk12_0__io, "
               "uart_0__rx__io, uart_0__tx__io are driven here: choose a board without others")
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}$"):
        compile_netlist(flow)


@pytest.mark.tools
def test_other_models_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = without_cells("ice40", tmp_path, ("clk12_0__io", "uart_0__rx__io", "uart_0__tx__io"))
    changed = dataclasses.replace(FAMILIES["ice40"], instead={" || CLOCK_ENABLE == 1'bz": ""})
    monkeypatch.setitem(FAMILIES, "ice40", changed)
    message = f"the models of {flow.tool(0).version} do not say \"|| CLOCK_ENABLE == 1'bz\": install the version that"
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}"):
        compile_netlist(flow)


@pytest.mark.tools
def test_other_families_are_refused(tmp_path: Path) -> None:
    board = BOARDS["arty-a7-35"]
    flow = Flow(board, Config.preset(board.preset), board.clock_hz, board.baud, tmp_path)
    flow.write()
    message = ("the netlist of a board with xilinx cannot be simulated: its cells have no models here; choose one with ice40 or "
               "ecp5 or gowin")
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}$"):
        compile_netlist(flow)
