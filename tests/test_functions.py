"""Cells of the energy's functions, measured by synthesis."""

from __future__ import annotations

from mrfhw.fpga.functions import FUNCTIONS, measure
from mrfhw.machine.config import Config


def test_every_function_is_of_a_machine():
    for changes in FUNCTIONS.values():
        Config(**changes)


def test_a_function_costs_cells(tmp_path):
    plain, limited = (measure(Config(**FUNCTIONS[name]), "ecp5", tmp_path)
                      for name in ("default: differences of 6 bits", "a limit of the singleton"))
    assert plain["dsp"] == limited["dsp"] == 3
    assert 0 < limited["lut"] - plain["lut"] < 60
