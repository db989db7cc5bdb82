"""What synthesis makes of a board's own machine: its netlist, cell by cell, behind the unmodified driver, equals the model."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from mrfhw.config import Config
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.flow import Flow
from mrfhw.host.remote import RemoteSession
from mrfhw.problem import Problem, ProblemError, Run, Schedule
from mrfhw.sim import netlist
from mrfhw.sim.netlist import NetlistLink, compile_netlist
from support.boards import assert_equals_model

ICEBREAKER = BOARDS["icebreaker"]


def problems(config: Config) -> list[tuple[Problem, Run]]:
    """Data, labels and weights of full width; a datum for each label and a second image; all kinds of energy; hot and cold.

    Hot ones show the noise and the generator, weights of full width the products, the cold one the order of energies.
    """
    rng = np.random.default_rng(1)
    labels, levels, reach = config.max_labels, config.data_max + 1, 1 << config.vector_bits - 1
    rows, cols = 4, 10
    data, more = rng.integers(0, levels, (rows, cols)), rng.integers(0, levels, (rows, cols))
    far = rng.integers(-2, 3, (labels - 1, 2))
    return [
        (Problem(labels=labels, singleton1=data, constants=rng.integers(0, levels, labels), alpha=config.weight_max,
                 beta=config.weight_max - 10, energy_shift=5, schedule=Schedule.geometric(500.0, 0.7, 100.0)),
         Run(sweeps=8, burn_in=3, seed=1)),
        (Problem(labels=labels - 1, singleton1=data, singleton2=more, offsets=far, singleton="squared", doubleton="squared",
                 vectors=rng.integers(-reach, reach, (labels - 1, 2)), alpha=5, beta=config.weight_max, energy_shift=7,
                 out_of_range=1000, schedule=Schedule.constant(2000.0)), Run(sweeps=6, burn_in=1, seed=2)),
        (Problem(labels=3, singleton1=data, constants=np.array([0, levels // 3, levels - 1]), doubleton="potts", beta=9,
                 observed=rng.random((rows, cols)) < 0.7, clamped=rng.random((rows, cols)) < 0.2,
                 schedule=Schedule.constant(1.0)), Run(sweeps=6, burn_in=2, seed=3, initial="random")),
    ]


@pytest.fixture(scope="module")
def icebreaker(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    """Its own machine, synthesized."""
    flow = Flow(ICEBREAKER, Config.preset(ICEBREAKER.preset), ICEBREAKER.clock_hz, ICEBREAKER.baud,
                tmp_path_factory.mktemp("netlist"))
    flow.write()
    flow.synthesize()
    return flow


def test_the_netlist_equals_the_model(icebreaker: Flow) -> None:
    """Labels, histogram, LMem, messages and cycles, at the bitstream's own serial rate."""
    config = icebreaker.config
    with RemoteSession(config, lambda: NetlistLink(icebreaker)) as session:
        messages = 0
        for problem, run in problems(config):
            result = session.solve(problem, run)
            assert_equals_model(result, config, problem, run)
            assert result.extra["repeated_requests"] == result.extra["damaged_frames"] == 0
            messages += result.extra["messages_counted"]
        assert messages > 100


def test_other_pins_are_refused(icebreaker: Flow) -> None:
    path = icebreaker.directory / "top.json"
    text = path.read_text()
    design = json.loads(text)
    design["modules"]["top"]["ports"]["led_0__io"] = {"direction": "inout", "bits": [2]}
    path.write_text(json.dumps(design))
    try:
        message = ("the netlist's pins are clk12_0__io, led_0__io, uart_0__rx__io, uart_0__tx__io; only clk12_0__io, "
                   "uart_0__rx__io, uart_0__tx__io are driven here: choose a board without others")
        with pytest.raises(ProblemError, match=f"^{re.escape(message)}$"):
            compile_netlist(icebreaker)
    finally:
        path.write_text(text)


def test_other_models_are_refused(icebreaker: Flow, monkeypatch) -> None:
    monkeypatch.setitem(netlist._INSTEAD, "ice40", {" || CLOCK_ENABLE == 1'bz": ""})
    message = f"the models of {icebreaker.tool(0).version} do not say \"|| CLOCK_ENABLE == 1'bz\": install the version that"
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}"):
        compile_netlist(icebreaker)


def test_other_families_are_refused(tmp_path) -> None:
    board = BOARDS["tang-nano-9k"]
    flow = Flow(board, Config.preset(board.preset), board.clock_hz, board.baud, tmp_path)
    flow.write()
    message = "the netlist of a board with gowin cannot be simulated: its cells have no models here; choose one with ice40"
    with pytest.raises(ProblemError, match=f"^{re.escape(message)}$"):
        compile_netlist(flow)
