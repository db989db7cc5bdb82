"""References of the components for the benches, in NumPy or plain Python.

Where `mrfhw.twin`, `mrfhw.samplers` or `mrfhw.field.problem` states a function, it is called; what is stated here once more
(draws from given uniforms, Algorithm 1) is there to be compared with the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mrfhw.field.energy import doubleton_table, limited, singleton_energies
from mrfhw.field.problem import Problem
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DOUBLETON_CODES
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.samplers.random_kernel import output, step
from mrfhw.twin.kernel import draw_cdf, draw_race

__all__ = ["Twin", "UnitTwin", "added_label", "algorithm_1", "cdf_label", "cdf_sums", "draw", "race_label", "site_energies"]

_DOUBLETON_NAMES = {code: name for name, code in DOUBLETON_CODES.items()}


class Twin:
    """The twin of one lane's generator. state: the words x, y, z, w."""

    def __init__(self, state: Sequence[int]):
        self.state = np.array([state], np.uint32)

    @property
    def words(self) -> list[int]:
        return [int(w) for w in self.state[0]]

    def step(self) -> None:
        step(self.state, 0)

    def value(self, bits: int) -> int:
        """The output that goes with the state."""
        return int(output(self.state, 0, bits))

    def next(self, bits: int) -> int:
        self.step()
        return self.value(bits)


class UnitTwin:
    """The twins of a unit's generators. states: (generators of a unit, 4)."""

    def __init__(self, config: Config, states: Sequence[Sequence[int]]):
        self.config = Derived.of(config)
        self.generators = [Twin(state) for state in states]

    def slot(self) -> list[int]:
        """The uniform number of each lane in the next slot: the first of two lanes has the top bits."""
        c = self.config
        bits, parts = c.sampler.uniform_bits, c.numbers_a_step
        words = [generator.next(parts * bits) for generator in self.generators]
        return [word >> (parts - 1 - part) * bits & (1 << bits) - 1 for word in words for part in range(parts)]

    def race(self, energies: Sequence[int], temperature: int) -> int:
        """The label drawn for a site whose labels fill the slots."""
        c = self.config
        uniforms = [u for _ in range(c.slots(len(energies))) for u in self.slot()]
        return race_label(c, energies, temperature, uniforms[:len(energies)])


def site_energies(config: Config, parameters: dict[str, int], s1: dict[str, int], s2: Sequence[dict[str, int]],
                  neighbours: Sequence[dict[str, int]], vectors: np.ndarray, edges: Sequence[int] | None = None,
                  pairwise: np.ndarray | None = None) -> list[int]:
    """E(l) of every label of a site (Equation 3.1).

    parameters: fields of `ops.parameters`. s1: the site's datum; s2: one datum a label; neighbours: label
    words, up, down, left and right, edges: their weights. vectors: (L, 2), each label's. pairwise: the doubleton table.
    """
    config = Derived.of(config)
    p, labels = parameters, len(s2)
    table = _DOUBLETON_NAMES[p["doubleton"]] == "table"
    problem = Problem(
        labels=labels, singleton1=np.array([[_channels(config, s1["value"])]]),
        constants=np.array([_channels(config, word["value"]) for word in s2]), **_compared(config, p),
        doubleton=_DOUBLETON_NAMES[p["doubleton"]], vectors=vectors, tau=p["tau"],
        pairwise=None if pairwise is None or not table else pairwise[:labels, :labels])
    single = singleton_energies(problem)[0, 0]
    inside = np.array([word["flag"] or p["constant"] for word in s2], bool)
    energy = np.where(inside, single, p["alpha"] * p["out_of_range"]) * s1["flag"]
    doubles = p["beta"] * doubleton_table(problem)
    for number, word in enumerate(neighbours):
        if word["exists"]:
            weight = 1 if edges is None else edges[number]
            # The labels above and to the left come first.
            energy = energy + weight * (doubles[word["label"]] if number in (0, 2) else doubles[:, word["label"]])
    return [int(e) for e in limited(energy, p["shift"], config.energy_max)]


def _channels(config: Derived, value: int) -> list[int]:
    """The channels of a datum."""
    found = []
    for bits in config.channel_bits:
        found.append(value & ((1 << bits) - 1))
        value >>= bits
    return found


def _compared(config: Derived, p: dict[str, int]) -> dict[str, Any]:
    """How a problem compares data, weighs and limits them, from fields of `ops.parameters`."""
    kinds, alphas, most = [], [], []
    for number in range(len(config.channel_bits)):
        end = f"_{number + 1}" if number else ""
        kind = "squared" if p[f"squared{end}"] else "absolute"
        kinds.append("hamming" if number == 0 and (config.distance == "hamming" or p.get("hamming")) else kind)
        alphas.append(p[f"alpha{end}"])
        most.append(p.get(f"singleton_max{end}"))
    return {"singleton": kinds, "alpha": alphas, "singleton_max": most}


def race_label(config: Config, energies: Sequence[int], temperature: int, uniforms: Sequence[int]) -> int:
    """Gumbel-max from given uniforms, one a label."""
    config = Derived.of(config)
    assert isinstance(config.sampler, Race)
    noise = (config.sampler.gumbel_table[np.asarray(uniforms)] * temperature) >> config.temperature_fraction_bits
    return int(np.argmin((np.asarray(energies, np.int64) << config.sampler.fraction_bits) - noise))


def cdf_sums(config: Config, energies: Sequence[int], temperature: int) -> np.ndarray:
    """The running sum of the probabilities (Equations 3.2-3.4)."""
    config = Derived.of(config)
    cdf = config.sampler
    assert isinstance(cdf, Cdf)
    scaled = np.asarray(energies, np.int64) - min(energies)
    exponent = (scaled * temperature) >> (config.temperature_fraction_bits - cdf.exponent_fraction_bits)
    octaves = np.minimum(exponent >> cdf.exponent_fraction_bits, 62)
    p = cdf.exponent_table[exponent & ((1 << cdf.exponent_fraction_bits) - 1)] >> octaves
    if cdf.floor == "power_of_two":
        p = np.array([1 << int(v).bit_length() - 1 if v else 0 for v in p], np.int64)
    return np.cumsum(p)


def cdf_label(config: Config, energies: Sequence[int], temperature: int, uniform: int) -> int:
    """Inverse transform from a given uniform."""
    sums = cdf_sums(config, energies, temperature)
    return int(np.searchsorted(sums, (uniform * int(sums[-1])) >> config.sampler.uniform_bits, side="right"))


def draw(config: Config, energies: Sequence[int], temperature: int, twin: Twin) -> int:
    """The model's draw of the configured sampler; steps the twin."""
    config = Derived.of(config)
    sampler, energy, t_fraction = config.sampler, np.asarray(energies, np.int64), config.temperature_fraction_bits
    if isinstance(sampler, Race):
        return int(draw_race(energy, len(energy), temperature, twin.state, 0, sampler.uniform_bits,
                              sampler.gumbel_table, sampler.fraction_bits, t_fraction))
    return int(draw_cdf(energy, len(energy), temperature, twin.state, 0, sampler.uniform_bits, sampler.exponent_table,
                         sampler.exponent_fraction_bits, t_fraction,
                         np.empty(len(energy), np.int64)))


def algorithm_1(entry: dict[str, Any], new: int, counted: bool, max_value: int) -> tuple[dict[str, Any], tuple[int, int] | None]:
    """(entry, message) after a write of label `new`, line by line as the paper's Algorithm 1 has it.

    Beside it: a site that does not exist or is clamped stays; in the burn-in only the label moves; an
    empty pair is never sent.
    """
    mrp_lbl, mrp_cnt, lrp_lbl, lrp_cnt = (entry[k] for k in ("mrp_label", "mrp_count", "lrp_label", "lrp_count"))
    if entry["clamped"] or not entry["exists"]:
        return dict(entry), None
    if not counted:
        return {**entry, "mrp_label": new}, None
    message: tuple[int, int] | None = None
    if new == mrp_lbl:
        if mrp_cnt == max_value:
            message = (mrp_lbl, max_value)
            memory = (mrp_lbl, 1, lrp_lbl, lrp_cnt)
        else:
            memory = (mrp_lbl, mrp_cnt + 1, lrp_lbl, lrp_cnt)
    elif new == lrp_lbl:
        if lrp_cnt == max_value:
            message = (lrp_lbl, max_value)
            memory = (lrp_lbl, 1, mrp_lbl, mrp_cnt)
        else:
            memory = (lrp_lbl, lrp_cnt + 1, mrp_lbl, mrp_cnt)
    else:
        message = (lrp_lbl, lrp_cnt) if lrp_cnt else None
        memory = (new, 1, mrp_lbl, mrp_cnt)
    after = dict(zip(("mrp_label", "mrp_count", "lrp_label", "lrp_count"), memory, strict=True))
    return {**entry, **after}, message


def added_label(entry: dict[str, Any], new: int, counted: bool, label_bits: int, counter_bits: int) -> dict[str, Any]:
    """The entry of a run of sums after a write of label `new`: its sum, by its bits from the lowest on, is larger by the label."""
    if entry["clamped"] or not entry["exists"]:
        return dict(entry)
    widths = {"mrp_count": counter_bits, "lrp_label": label_bits, "lrp_count": counter_bits}
    bits = "".join(f"{entry[name]:0{width}b}" for name, width in reversed(widths.items()))
    left = f"{int(bits, 2) + new * counted:0{len(bits)}b}"[-len(bits):]
    found = {}
    for name, width in widths.items():
        left, found[name] = left[:-width], int(left[-width:], 2)
    return {**entry, **found, "mrp_label": new}
