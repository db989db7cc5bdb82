"""Types of what `mrfhw.stereo` and the other calls take beside their own arguments, for editors and type checkers.

Written by `python -m support.typed_options` (from tests/) from the tables of options; a test compares it with them.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = ["CommonOptions", "DenoiseOptions", "MachineOptions", "MotionOptions", "SegmentOptions", "StereoOptions"]


class MachineOptions(TypedDict, total=False):
    """Of a machine (`mrfhw help machine`)."""

    preset: str
    spes: int
    mesh: tuple[int, int]
    spus: Literal[1, 2, 4]
    lanes: Literal[1, 2, 4, 8, 16]
    subset_slots: Literal[0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    tile_rows: int
    tile_cols: int
    label_bits: int
    data_bits: int
    data_bits_2: int
    data_bits_3: int
    distance: Literal["difference", "hamming", "both"]
    singleton_cap: Literal[0, 1]
    doubletons: Literal["functions", "table"]
    pairwise_bits: int
    edge_bits: int
    energy_bits: int
    weight_bits: int
    vector_bits: int
    shift_bits: int
    sampler: Literal["cdf", "race"]
    probability_bits: int
    probability_floor: Literal["power_of_two", "integer"]
    exponent_fraction_bits: int
    uniform_bits: int
    gumbel_uniform_bits: int
    gumbel_fraction_bits: int
    gumbel_segments: Literal[1, 4, 8]
    temperature_bits: int
    temperature_table: int
    counter_bits: int
    address_bits: int
    lmem_banks: Literal[1, 4]
    s2_words: int
    hub_fan_in: Literal[2, 4, 8, 16]
    hub_depth: int
    line_levels: int
    line_bits: int
    clusters: Literal[1, 2, 4]
    contexts: Literal[1, 2]


class CommonOptions(MachineOptions, total=False):
    """Of every application."""

    depth: int | None
    stretch: bool
    window: Any
    burn_in: int | None
    most_sweeps: int | None
    initial: Any
    beta: int | None
    tau: int | None
    singleton: Any
    doubleton: Any
    temperature: float | None
    estimate: Literal["mode", "mean", "last"] | None
    anneal: bool
    cooling: Any


class StereoOptions(CommonOptions, total=False):
    """Of `mrfhw.stereo` (`mrfhw run stereo --help`)."""

    data: Literal["census", "grey"] | None
    one_way: bool
    first_sweeps: int | None
    before: Any
    alone: bool
    calib: Any
    focal: float | None
    baseline: float | None
    truth_scale: float
    alpha: int
    out_of_range: int | None
    energy_shift: int


class MotionOptions(CommonOptions, total=False):
    """Of `mrfhw.motion` (`mrfhw run motion --help`)."""

    data: Literal["census", "grey"] | None
    one_way: bool
    before: Any
    alpha: int | None
    out_of_range: int | None
    energy_shift: int


class SegmentOptions(CommonOptions, total=False):
    """Of `mrfhw.segment` (`mrfhw run segment --help`)."""

    data: Literal["colour", "grey"] | None
    means: Any
    alpha: int
    energy_shift: int


class DenoiseOptions(CommonOptions, total=False):
    """Of `mrfhw.denoise` (`mrfhw run denoise --help`)."""

    alone: bool
    alpha: int | None
    energy_shift: int | None
