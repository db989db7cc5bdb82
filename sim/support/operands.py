"""Operands of a lane for the benches: sites with their labels' data, run-time parameters, edges first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.gateware.control.ops import parameters
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DOUBLETON_CODES
from mrfhw.placement.temperature import coefficient

__all__ = ["Site", "SiteSource", "edge_parameters", "random_parameters", "random_temperature"]


@dataclass
class Site:
    """What a lane is given for a site: its datum, one datum a label, the neighbours' label words, (L, 2) vectors.

    edges: the weights of the edges to them; None where the machine has none. vectored: it has ports for vectors.
    """

    s1: dict[str, int]
    s2: list[dict[str, int]]
    words: list[dict[str, int]]
    vectors: np.ndarray
    edges: list[int] | None = None
    vectored: bool = True

    def labels(self) -> Iterator[dict[str, Any]]:
        """The operand ports of EnergyPipeline, label by label."""
        neighbours = [{"word": word, **self._vector(word["label"])} for word in self.words]
        weights = {} if self.edges is None else {"edges": self.edges}
        for label, datum in enumerate(self.s2):
            yield {"s1": self.s1, "s2": datum, "label": label, **self._vector(label), "neighbours": neighbours, **weights}

    def slots(self, lanes: int) -> Iterator[dict[str, Any]]:
        """The operand ports of Spu, slot by slot; lanes without a label repeat the last one's."""
        labels = list(self.labels())
        for number, first in enumerate(range(0, len(labels), lanes)):
            mine = labels[first:first + lanes]
            padded = [*mine, *[mine[-1]] * (lanes - len(mine))]
            shared = {name: value for name, value in mine[0].items() if name not in ("s2", "vector")}
            several = {"used": (1 << len(mine)) - 1, "slot": number} if lanes > 1 else {}
            vectors = {"vectors": [one["vector"] for one in padded]} if self.vectored else {}
            yield {**shared, "s2": [one["s2"] for one in padded], **vectors, **several}

    def _vector(self, label: int) -> dict[str, Any]:
        u, v = self.vectors[label]
        return {"vector": {"u": int(u), "v": int(v)}} if self.vectored else {}


class SiteSource:
    """Random sites that meet the ends of every range often."""

    def __init__(self, config: Config, rng: np.random.Generator):
        config = Derived.of(config)
        self.config, self.rng = config, rng

    def _datum(self, flagged: float) -> dict[str, int]:
        value, low = 0, 0
        for bits in self.config.channel_bits:
            top = (1 << bits) - 1
            value |= int(self.rng.choice([0, top, *map(int, self.rng.integers(0, top + 1, 2))])) << low
            low += bits
        return {"value": value, "flag": int(self.rng.random() < flagged)}

    def site(self, labels: int) -> Site:
        rng, reach = self.rng, 1 << max(0, self.config.vector_bits - 1)
        vectors = rng.integers(-reach, reach, (labels, 2))
        extreme = rng.random(labels) < 0.2
        vectors[extreme] = rng.choice([-reach, reach - 1], (int(extreme.sum()), 2))
        present = rng.choice([0.0, 0.7, 1.0])
        words = [{"label": int(rng.choice([0, labels - 1, int(rng.integers(labels))])), "exists": int(rng.random() < present)}
                 for _ in range(4)]
        return Site(self._datum(0.85), [self._datum(0.7) for _ in range(labels)], words, vectors, self._edges(),
                    self.config.vector_bits > 0)

    def _edges(self) -> list[int] | None:
        most = (1 << self.config.edge_bits) - 1
        return [int(n) for n in self.rng.choice([0, 1, most, int(self.rng.integers(most + 1))], 4)] if most else None

    def extreme(self, labels: int) -> Site:
        """Label 0 has the greatest energy that the widths allow: all differences at their ends, four neighbours."""
        high = (1 << max(0, self.config.vector_bits - 1)) - 1
        low = -high - 1
        vectors = np.full((labels, 2), high)
        vectors[0] = low
        weights = [(1 << self.config.edge_bits) - 1] * 4 if self.config.edge_bits else None
        return Site({"value": 0, "flag": 1}, [{"value": (1 << self.config.datum_bits) - 1, "flag": 1}] * labels,
                    [{"label": labels - 1, "exists": 1}] * 4, vectors, weights, self.config.vector_bits > 0)


def _codes(config: Config) -> list[int]:
    """The doubletons that the machine's gateware has."""
    if config.doubletons == "table":
        return [DOUBLETON_CODES["table"]]
    return [DOUBLETON_CODES[name] for name in Derived.of(config).doubleton_kinds]


def _more(config: Derived, rng: np.random.Generator) -> dict[str, int]:
    """Parameters that only some machines have."""
    found = {}
    for name, field in parameters(config):
        if name.startswith(("alpha_", "squared_", "hamming")):
            found[str(name)] = int(rng.integers(1 << field.width))
        elif name.startswith("singleton_max"):
            found[str(name)] = int(rng.choice([(1 << field.width) - 1, int(rng.integers(1 << field.width)), 0]))
    return found


def _tau(config: Derived, tau: int) -> int:
    """A truncation; a machine whose doubletons are a table truncates none."""
    return (1 << config.doubleton_bits) - 1 if config.doubletons == "table" else tau


def random_parameters(config: Config, rng: np.random.Generator) -> dict[str, int]:
    """Parameters of the energy; the temperature is 0, to be set by whoever needs it."""
    config = Derived.of(config)
    def weight() -> int:
        return int(rng.integers(config.weight_max + 1) >> rng.integers(config.weight_bits + 1))

    return {
        "alpha": weight(), "beta": weight(), "tau": _tau(config, int(rng.integers(1 << config.doubleton_bits) >> rng.integers(6))),
        "shift": min(config.shift_max, int(rng.choice([0, 0, 1, 2, 4, config.shift_max]))),
        "out_of_range": int(rng.integers(1 << config.singleton_bits)), "squared": int(rng.integers(2)),
        "constant": int(rng.integers(2)), "doubleton": int(rng.choice(_codes(config))), "temperature": 0,
        "sums": int(rng.integers(2)), **_more(config, rng),
    }


def edge_parameters(config: Config) -> list[dict[str, int]]:
    """Every function with the ends of weights, shift, truncation and out-of-range energy."""
    config = Derived.of(config)
    tau_max, out_max = (1 << config.doubleton_bits) - 1, (1 << config.singleton_bits) - 1
    most = config.weight_max
    ends = [
        {"alpha": 0, "beta": 0, "tau": tau_max, "shift": 0, "out_of_range": out_max},
        {"alpha": most, "beta": most, "tau": tau_max, "shift": 0, "out_of_range": out_max},
        {"alpha": most, "beta": most, "tau": tau_max, "shift": config.shift_max, "out_of_range": 0},
        {"alpha": 1, "beta": 0, "tau": tau_max, "shift": 0, "out_of_range": 1},
        {"alpha": 0, "beta": 1, "tau": tau_max, "shift": 0, "out_of_range": out_max},
        {"alpha": 0, "beta": most, "tau": 0, "shift": 0, "out_of_range": 0},
        {"alpha": 1, "beta": 1, "tau": 1, "shift": 1, "out_of_range": 2},
    ]
    rng = np.random.default_rng(0)
    return [{**end, "tau": _tau(config, end["tau"]), "shift": min(config.shift_max, end["shift"]),
             "squared": squared, "constant": i % 2, "doubleton": code, "temperature": 0, "sums": i % 2,
             **_more(config, rng)}
            for code in _codes(config) for squared in (0, 1) for i, end in enumerate(ends)]


def random_temperature(config: Config, rng: np.random.Generator, energies: Sequence[int]) -> int:
    """A coefficient: mostly of a temperature near the spread of the energies, where each bit counts; else any."""
    top = (1 << config.temperature_bits) - 1
    if rng.random() < 0.2:
        return int(rng.integers(top + 1) >> rng.integers(config.temperature_bits))
    spread = max(energies) - min(energies) + 1
    return min(top, coefficient(config, float(spread * np.exp(rng.uniform(-2, 0.5))), 0))
