"""References of the components for the benches, in NumPy or plain Python.

Where `mrfhw.model` or `mrfhw.field.problem` states a function, it is called; what is stated here once more
(draws from given uniforms, Algorithm 1) is there to be compared with the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mrfhw.field.energy import doubleton_table, limited, singleton_energies, summed
from mrfhw.field.problem import Problem
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DOUBLETON_CODES
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.model.kernel import draw_cdf, draw_race, output, step

__all__ = ["Twin", "algorithm_1", "cdf_label", "cdf_sums", "draw", "race_label", "site_energies"]

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


def site_energies(config: Config, parameters: dict[str, int], s1: dict[str, int], s2: Sequence[dict[str, int]],
                  neighbours: Sequence[dict[str, int]], vectors: np.ndarray) -> list[int]:
    """E(l) of every label of a site (Equation 3.1).

    parameters: fields of `ops.parameters`. s1: the site's datum; s2: one datum a label; neighbours: label
    words. vectors: (L, 2), each label's.
    """
    config = Derived.of(config)
    p, labels = parameters, len(s2)
    problem = Problem(
        labels=labels, singleton1=np.array([[s1["value"]]]), constants=np.array([word["value"] for word in s2]),
        singleton="squared" if p["squared"] else "absolute", doubleton=_DOUBLETON_NAMES[p["doubleton"]], vectors=vectors,
        tau=p["tau"])
    single = singleton_energies(problem)[0, 0]
    inside = np.array([word["flag"] or p["constant"] for word in s2], bool)
    single = np.where(inside, single, p["out_of_range"]) * s1["flag"]
    energy = summed(p["alpha"] * single, p["beta"] * doubleton_table(problem),
                    (np.array(word["label"]) for word in neighbours if word["exists"]))
    return [int(e) for e in limited(energy, p["shift"], config.energy_max)]


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
