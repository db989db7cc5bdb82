"""The collector of garbage, which rests while a machine becomes Verilog."""

from __future__ import annotations

import gc

import pytest

from mrfhw.generation import modules
from mrfhw.machine.config import PRESETS, Config
from mrfhw.system.collector import paused


def test_it_rests_and_goes_on_as_it_did():
    assert gc.isenabled()
    with paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), paused():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
def test_it_rests_while_a_machine_becomes_verilog(monkeypatch):
    seen = []
    run = modules.run_yosys
    monkeypatch.setattr(modules, "run_yosys", lambda script: [seen.append(gc.isenabled()), run(script)][1])
    modules.circuit_text(Config(**PRESETS["smallest"]))
    assert seen == [False]
    assert gc.isenabled()
