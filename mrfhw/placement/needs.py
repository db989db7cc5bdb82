"""What a field needs of a machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.field.energy import doubleton_table
from mrfhw.field.problem import Problem
from mrfhw.machine.bits import bits_for, of_channel
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.numbers import DIFFERENCE_BITS
from mrfhw.machine.parameters import parameters

__all__ = ["needed_parameters"]


_MOST = {parameter.field: parameter.high for parameter in parameters(Config) if not parameter.choices}


def _width(data: np.ndarray | None) -> int:
    return 1 if data is None else bits_for(int(data.max(initial=0)) + 1)


def needed_parameters(problem: Problem, config: Config | None = None) -> dict[str, Any]:
    """The parameters, by name, in which a machine like `config`, by default the default one, must differ for its words and memories
    to hold `problem`. Widths only grow, as far as there are machines. Number of sites, energies, temperatures and what no machine
    holds are not looked at: `check_fits` says of those.
    """
    c = Derived.of(Config() if config is None else config)
    found: dict[str, Any] = {}

    def at_least(name: str, value: int, most: int | None = None) -> None:
        value = min(value, _MOST.get(name, value) if most is None else most)
        if value > getattr(c, name):
            found[name] = value

    at_least("shift_bits", int(problem.energy_shift).bit_length())
    at_least("label_bits", bits_for(problem.labels))
    kinds = {"hamming" if problem.channels[0].singleton == "hamming" else "difference"}
    if not kinds <= {"hamming" if kind == "hamming" else "difference" for kind in c.singletons}:
        found["distance"] = "both"
    for number in range(len(problem.channels)):
        data = [problem.singleton1, problem.singleton2, problem.constants, problem.unary]
        several = problem.singleton1 is not None and problem.singleton1.ndim == 3
        widths = [_width(one[..., number] if several and one is not None else one) for one in data]
        bits = of_channel("data_bits", number)
        # Only descriptors can have more.
        at_least(bits, max(widths), None if number or kinds == {"hamming"} else max(DIFFERENCE_BITS, c.data_bits))
    if found.get("data_bits", c.data_bits) > DIFFERENCE_BITS and c.distance != "hamming":
        found["distance"] = "hamming"
    if any(channel.most is not None for channel in problem.channels):
        at_least("singleton_cap", 1)
    if problem.vectors is not None and c.doubletons == "functions" and (c.vector_bits or problem.doubleton == "squared"):
        reach = max(-int(problem.vectors.min()), int(problem.vectors.max()) + 1)
        at_least("vector_bits", bits_for(reach) + 1)
    if c.doubletons == "table":
        at_least("pairwise_bits", _width(doubleton_table(problem)))
    elif problem.pairwise is not None:
        at_least("pairwise_bits", _width(problem.pairwise))
    if problem.edges is not None:
        at_least("edge_bits", _width(problem.edges))
    if problem.unary is not None:
        rows, cols = (min(size, -(-of // parts)) for size, of, parts in (
            (c.tile_rows, problem.shape[0], c.mesh_rows), (c.tile_cols, problem.shape[1], c.mesh_cols)))
        rows, cols = -(-rows // c.row_step) * c.row_step, -(-cols // c.col_step) * c.col_step
        words = min(rows * cols * c.label_slots(problem.labels) * c.lanes, _MOST["s2_words"])  # a larger field goes in windows
        if words > c.s2_capacity:
            found["s2_words"] = words
    return found
