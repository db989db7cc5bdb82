"""Cells of the energy's functions, measured by synthesis."""

from __future__ import annotations

from mrfhw.machine.config import Config
from studies.functions import FUNCTIONS, measure


def test_every_function_is_of_a_machine():
    for changes in FUNCTIONS.values():
        Config(**changes)


def test_a_function_costs_cells(tmp_path):
    plain, more = (measure(Config(**FUNCTIONS[name]), "ecp5", tmp_path)
                   for name in ("default: differences of 6 bits", "a second channel of 6 bits"))
    assert (plain["dsp"], more["dsp"]) == (3, 5)  # a square and a product
    assert more["ff"] > plain["ff"] > 300
