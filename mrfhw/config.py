"""The one description of a machine, from which every width, depth, address and latency follows.

Gateware, models, placement, driver and documents read `Config`; nothing else states a number twice.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["PRESETS", "Config", "ConfigError", "mesh_shape"]


class ConfigError(ValueError):
    """A parameter that no machine can have. The message names the value, the limit and a way out."""


MESH_SIDE = 64  # rows or columns of a mesh at most


def bits_for(n: int) -> int:
    """Bits that hold the values 0..n-1, at least 1."""
    return max(1, (n - 1).bit_length())


def mesh_shape(spes: int) -> tuple[int, int]:
    """The (rows, columns) nearest to a square whose product is `spes`, rows <= columns."""
    if not 1 <= spes <= MESH_SIDE**2:
        raise ConfigError(f"spes is {spes}; the limits are 1 to {MESH_SIDE**2}: give a number between them")
    rows = next(r for r in range(math.isqrt(spes), 0, -1) if spes % r == 0)
    if spes // rows > MESH_SIDE:
        raise ConfigError(f"spes is {spes}; no mesh of at most {MESH_SIDE} rows and columns has so many: give a number with "
                          "smaller factors")
    return rows, spes // rows


# Register stages of the parts of a tile; the tests assert them and Config adds them up.
SCHEDULER_LATENCY = 3  # slot -> the scheduler's output registers
S2_LATENCY = 4  # S2 address at the tile -> singleton-2 word at the SPU
MIN_INTERVAL = 4  # the scheduler prepares the next row in three cycles
ENERGY_LATENCY = 9  # operands -> E(l)
RACE_TAIL = 3  # E of the last label -> label
CDF_TAIL = 11  # E of the last label -> label, without the two passes of L cycles
COUNTER_BITS = 48  # of the counters of cycles and messages: a month at 100 MHz
LMEM_WRITE = 2  # LMem read address -> write address of the read-modify-write


@dataclass(frozen=True, kw_only=True)
class Config:
    """Parameters of one accelerator. Every argument is checked; `ConfigError` says what to change.

    mesh_rows, mesh_cols: SPE tiles. spus: sampling units (lanes) a tile, 1, 2 or 4.
    tile_rows, tile_cols: sites a tile holds at most; a problem may use fewer.
    label_bits, data_bits: width of labels and of singleton data.
    energy_bits: width of E(l), saturating (Equation 3.1). weight_bits: alpha, beta.
    vector_bits: signed components of a label's 2-D vector (squared doubleton).
    sampler: "cdf" (Equations 3.2-3.4) or "race" (Gumbel-max).
    probability_bits, probability_floor, exponent_fraction_bits, uniform_bits: the cdf sampler.
    gumbel_uniform_bits, gumbel_fraction_bits: the race sampler's table.
    temperature_bits: width of the coefficient T (race) or log2(e)/T (cdf).
    counter_bits: each histogram counter of an LMem entry. address_bits: site address of a message
    (0: as many as the sites need).
    lmem_banks: 1 or 4. s2_words: singleton-2 words a tile holds (0: one for each site).
    hub_fan_in, hub_depth: log hubs and, with the same shape, the control tree.
    line_bits: width of a packed log line.
    """

    mesh_rows: int = 4
    mesh_cols: int = 4
    spus: int = 2
    tile_rows: int = 64
    tile_cols: int = 64
    label_bits: int = 6
    data_bits: int = 6
    energy_bits: int = 12
    weight_bits: int = 8
    vector_bits: int = 4
    sampler: str = "race"
    probability_bits: int = 12
    probability_floor: str = "integer"
    exponent_fraction_bits: int = 6
    uniform_bits: int = 18
    gumbel_uniform_bits: int = 12
    gumbel_fraction_bits: int = 6
    temperature_bits: int = 18
    temperature_table: int = 256
    counter_bits: int = 8
    address_bits: int = 0
    lmem_banks: int = 1
    s2_words: int = 0
    hub_fan_in: int = 4
    hub_depth: int = 4
    line_bits: int = 512

    def __post_init__(self) -> None:
        def whole(name: str, low: int, high: int) -> None:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise ConfigError(f"{name} is {value!r}; it must be a whole number: give {low} to {high}")
            if not low <= value <= high:
                raise ConfigError(f"{name} is {value}; the limits are {low} to {high}: give a value between them")
            object.__setattr__(self, name, int(value))

        def choice(name: str, allowed: tuple[Any, ...]) -> None:
            value = getattr(self, name)
            if isinstance(value, bool) or value not in allowed:
                raise ConfigError(f"{name} is {value!r}; it must be one of {', '.join(map(str, allowed))}: choose one")
            object.__setattr__(self, name, allowed[allowed.index(value)])

        for name, low, high in (
            ("mesh_rows", 1, MESH_SIDE), ("mesh_cols", 1, MESH_SIDE), ("tile_rows", 2, 1024), ("tile_cols", 2, 1024),
            ("label_bits", 1, 6), ("data_bits", 1, 8), ("energy_bits", 4, 20), ("weight_bits", 1, 12),
            ("vector_bits", 2, 6), ("probability_bits", 2, 16), ("exponent_fraction_bits", 1, 8),
            ("uniform_bits", 8, 24), ("gumbel_uniform_bits", 8, 14), ("gumbel_fraction_bits", 2, 8),
            ("temperature_bits", 12, 24), ("temperature_table", 2, 1024), ("counter_bits", 1, 16),
            ("address_bits", 0, 32), ("s2_words", 0, 1 << 16), ("hub_depth", 1, 64), ("line_bits", 32, 4096),
        ):
            whole(name, low, high)
        choice("spus", (1, 2, 4))
        choice("sampler", ("cdf", "race"))
        choice("probability_floor", ("power_of_two", "integer"))
        choice("lmem_banks", (1, 4))
        choice("hub_fan_in", (2, 4, 8, 16))
        for name, step, why in (
            ("tile_rows", self.row_step, f"lmem_banks = {self.lmem_banks}"),
            ("tile_cols", self.col_step, f"spus = {self.spus} and lmem_banks = {self.lmem_banks}"),
        ):
            value = getattr(self, name)
            if value % step:
                raise ConfigError(f"{name} is {value}; with {why} it must be a multiple of {step}: "
                                  f"give {value + -value % step}")
        if self.tile_sites > 1 << 16:
            raise ConfigError(f"tile_rows x tile_cols is {self.tile_sites} sites; the limit is 65536: use more SPEs")
        if self.address_bits and self.sites > 1 << self.address_bits:
            raise ConfigError(f"address_bits is {self.address_bits}; {self.sites} sites need "
                              f"{bits_for(self.sites)}: give that, or 0 to have it chosen")
        if self.line_bits % 8:
            raise ConfigError(f"line_bits is {self.line_bits}; a line is whole bytes: give {self.line_bits + -self.line_bits % 8}")
        self._check_addresses()
        if self.message_bits > self.line_bits:
            raise ConfigError(f"line_bits is {self.line_bits}; a message has {self.message_bits} bits: "
                              "give a wider line")

    def _check_addresses(self) -> None:
        from mrfhw.registers import ADDRESS_LIMIT, AddressMap

        needed = AddressMap(self).address_bits
        if needed > ADDRESS_LIMIT:
            raise ConfigError(f"the machine needs bus addresses of {needed} bits; the limit is {ADDRESS_LIMIT}: use fewer "
                              "SPEs, smaller tiles or a smaller hub_fan_in")

    # -- shape

    @property
    def spes(self) -> int:
        """Tiles of the mesh."""
        return self.mesh_rows * self.mesh_cols

    @property
    def lanes(self) -> int:
        """Sampling units of the machine."""
        return self.spes * self.spus

    @property
    def row_step(self) -> int:
        """A tile's rows are a multiple of this."""
        return 4 if self.lmem_banks == 4 else 2

    @property
    def col_step(self) -> int:
        """A tile's columns are a multiple of this."""
        return max(2 * self.spus, 4 if self.lmem_banks == 4 else 2)

    @property
    def tile_sites(self) -> int:
        return self.tile_rows * self.tile_cols

    @property
    def sites(self) -> int:
        return self.spes * self.tile_sites

    @property
    def max_labels(self) -> int:
        return 1 << self.label_bits

    @property
    def tree_levels(self) -> int:
        """Register levels of the control tree and of the hub tree; 0 for one tile."""
        levels = 0
        while self.hub_fan_in ** levels < self.spes:
            levels += 1
        return levels

    @property
    def control_nodes(self) -> int:
        """Nodes of the control tree; the log has as many hubs."""
        nodes, width = 0, self.spes
        while width > 1:
            width = -(-width // self.hub_fan_in)
            nodes += width
        return nodes

    # -- widths

    @property
    def data_max(self) -> int:
        return (1 << self.data_bits) - 1

    @property
    def energy_max(self) -> int:
        return (1 << self.energy_bits) - 1

    @property
    def weight_max(self) -> int:
        return (1 << self.weight_bits) - 1

    @property
    def singleton_bits(self) -> int:
        """Width of E_singleton: the squared difference of two data words."""
        return 2 * self.data_bits

    @property
    def doubleton_bits(self) -> int:
        """Width of one E_doubleton: a label distance or the squared distance of two vectors."""
        widest = 2 * ((1 << self.vector_bits) - 1) ** 2
        return max(self.label_bits, bits_for(widest + 1))

    @property
    def shift_max(self) -> int:
        """Largest energy_shift."""
        return 15

    @property
    def probability_max(self) -> int:
        return (1 << self.probability_bits) - 1

    @property
    def total_bits(self) -> int:
        """Width of the cdf's running sum."""
        return self.probability_bits + self.label_bits

    @property
    def temperature_fraction_bits(self) -> int:
        """Fraction bits of the temperature coefficient (T, race; log2(e)/T, cdf)."""
        return 8 if self.sampler == "race" else self.temperature_bits - 4

    @property
    def ratio_fraction_bits(self) -> int:
        """Fraction bits of the geometric schedule's ratio."""
        return 24

    @property
    def ratio_bits(self) -> int:
        """Width of the geometric schedule's ratio."""
        return self.ratio_fraction_bits + 2

    @property
    def temperature_guard_bits(self) -> int:
        """Bits kept below the coefficient between steps of the geometric schedule."""
        return 14

    @cached_property
    def gumbel_table(self) -> np.ndarray:
        """G(u) = -log(-log u) at u = (k + 1/2) / 2^gumbel_uniform_bits, in units of 2^-fraction; int64."""
        u = (np.arange(1 << self.gumbel_uniform_bits) + 0.5) / (1 << self.gumbel_uniform_bits)
        return np.rint(-np.log(-np.log(u)) * (1 << self.gumbel_fraction_bits)).astype(np.int64)

    @property
    def gumbel_bits(self) -> int:
        """Signed width of a Gumbel table entry."""
        return int(max(self.gumbel_table.max() + 1, -self.gumbel_table.min())).bit_length() + 1

    @cached_property
    def exponent_table(self) -> np.ndarray:
        """floor((2^P - 1) 2^-f) for each fraction f of an octave (Equation 3.3); int64.

        With the power-of-two floor (Equation 3.4) its highest bit alone: shifted right by whole octaves, that
        is the highest bit of the shifted value too.
        """
        f = np.arange(1 << self.exponent_fraction_bits) / (1 << self.exponent_fraction_bits)
        table = np.floor(self.probability_max * np.exp2(-f)).astype(np.int64)
        return table if self.probability_floor == "integer" else 1 << np.log2(table).astype(np.int64)

    @property
    def raster_bits(self) -> int:
        """Width of a global raster index, and of a message's address."""
        return self.address_bits or bits_for(self.sites)

    @property
    def offset_bits(self) -> int:
        """Width of a site's raster offset from its tile's first site."""
        return bits_for((self.tile_rows - 1) * self.mesh_cols * self.tile_cols + self.tile_cols)

    @property
    def message_bits(self) -> int:
        """A log message: address, label, count (Figure 3.9b)."""
        return self.raster_bits + self.label_bits + self.counter_bits

    @property
    def line_messages(self) -> int:
        return self.line_bits // self.message_bits

    @property
    def count_max(self) -> int:
        return (1 << self.counter_bits) - 1

    # -- memories

    @property
    def s2_capacity(self) -> int:
        """Singleton-2 words a tile holds."""
        return self.s2_words or self.tile_sites

    @property
    def s2_bank_depth(self) -> int:
        return -(-self.s2_capacity // self.spus)

    @property
    def s2_address_bits(self) -> int:
        return bits_for(self.s2_bank_depth)

    @property
    def lmem_bank_depth(self) -> int:
        return self.tile_sites // self.lmem_banks

    @property
    def lmem_address_bits(self) -> int:
        """Address within an LMem bank; the top bit is the colour."""
        return bits_for(self.lmem_bank_depth // 2) + 1

    @property
    def lmem_rows(self) -> int:
        """Rows of an LMem bank: white sites start at the top address bit."""
        return (1 << (self.lmem_address_bits - 1)) + self.lmem_bank_depth // 2

    @property
    def site_address_bits(self) -> int:
        """Address of a site in S1Mem; the top bit is the colour."""
        return bits_for(self.tile_sites // 2) + 1

    @property
    def site_rows(self) -> int:
        """Rows of S1Mem."""
        return (1 << (self.site_address_bits - 1)) + self.tile_sites // 2


    # -- cycles

    @property
    def fetch_slots(self) -> int:
        """Cycles in which LMem is read or written back for the S sites of a group."""
        return self.spus * (4 if self.lmem_banks == 1 else 1) + self.spus

    def interval(self, labels: int) -> int:
        """Initiation interval of a group of S sites: L, or what the LMem port and the scheduler need."""
        return max(labels, self.fetch_slots, MIN_INTERVAL)

    def spu_latency(self, labels: int) -> int:
        """Cycles from the first label's operands at the SPU to the drawn label."""
        tail = labels - 1 + RACE_TAIL if self.sampler == "race" else 3 * labels - 1 + CDF_TAIL
        return ENERGY_LATENCY + tail

    def commit_delay(self, labels: int) -> int:
        """Cycles from a group's first label slot to its first write-back slot."""
        return S2_LATENCY - 1 + self.spu_latency(labels)

    def temperature_delay(self, labels: int) -> int:
        """Cycles from the first label slot of a sweep until its temperature must reach the SPUs."""
        use = 7 if self.sampler == "race" else ENERGY_LATENCY + labels + 2
        return S2_LATENCY + use

    @property
    def slot_to_tile(self) -> int:
        """Cycles from a scheduler slot to the tiles' inputs."""
        return SCHEDULER_LATENCY + self.tree_levels

    @property
    def drain_cycles(self) -> int:
        """Idle slots after the last write-back slot before its label may be read."""
        return self.slot_to_tile + LMEM_WRITE + 1

    @property
    def bus_write_cycles(self) -> int:
        """Cycles of a bus write, or of a register's read, one after the other."""
        return 3

    @property
    def bus_read_cycles(self) -> int:
        """Cycles of a read from a tile: down the control tree and back."""
        return 6 + 2 * self.tree_levels

    def overlaps(self, tile_rows: int, tile_cols: int, labels: int) -> bool:
        """Whether a colour may start while the last groups of the other are in flight.

        Each colour starts one row below the last one, so the rows that it reads first are the ones
        written longest ago; true when (rows - 3) x groups a row x interval covers the write-back.
        """
        groups_per_row = tile_cols // (2 * self.spus)
        slack = (tile_rows - 3) * groups_per_row * self.interval(labels)
        return slack >= self.commit_delay(labels) + self.spus + LMEM_WRITE

    def in_flight(self, labels: int, cycles: int) -> int:
        """Most groups that can start within a span of `cycles`, both ends included."""
        return cycles // self.interval(labels) + 1

    @cached_property
    def commit_queue_depth(self) -> int:
        """Groups between their first label and their write-back, at most, over all label counts."""
        return max(self.in_flight(n, self.commit_delay(n) + self.spus) for n in range(2, self.max_labels + 1)) + 1

    @cached_property
    def log_reserve(self) -> int:
        """Messages that a tile can still produce after it has asked for a stall."""
        blind = self.slot_to_tile + LMEM_WRITE + 1 + self.tree_levels + 2 + self.spus
        return self.spus * max(self.in_flight(n, self.commit_delay(n) + blind) + 1
                               for n in range(2, self.max_labels + 1))

    @property
    def log_depth(self) -> int:
        """Messages that a tile's log FIFO holds."""
        return self.log_reserve + max(4, 2 * self.spus)

    # -- identity

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Config:
        known = {f.name for f in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise ConfigError(f"{name} is not a parameter; the parameters are {', '.join(sorted(known))}")
        return cls(**values)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the parameters, hexadecimal; its first 128 bits can be read from the chip."""
        from mrfhw import __version__

        text = json.dumps({"mrfhw": __version__, **self.to_dict()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """Short name: spes x spus and sampler."""
        return f"mrfhw_{self.spes}x{self.spus}_{self.sampler}"

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Config:
        """A named machine, with `changes` applied over it."""
        if name not in PRESETS:
            raise ConfigError(f"preset is {name!r}; the presets are {', '.join(PRESETS)}: choose one")
        return cls(**{**PRESETS[name], **changes})


# The seed's widths: 8-bit energies, power-of-two cdf, 32-bit messages, 256K sites.
_PAPER: dict[str, Any] = dict(
    mesh_rows=4, mesh_cols=4, tile_rows=128, tile_cols=128, energy_bits=8, sampler="cdf", probability_bits=8,
    probability_floor="power_of_two", counter_bits=6, address_bits=20, lmem_banks=4,
)

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper-16x1": {**_PAPER, "spus": 1},
    "paper-16x2": {**_PAPER, "spus": 2},
    "smallest": dict(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=16, tile_cols=16, line_bits=64, hub_depth=1,
                     temperature_table=2),
    # The machines of boards (`mrfhw build --board`).
    "ulx3s-85f": dict(mesh_rows=2, mesh_cols=4, tile_rows=64, tile_cols=64, line_bits=128),
    "icebreaker": dict(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=16, tile_cols=32, label_bits=5, energy_bits=8, weight_bits=5,
                       vector_bits=2, gumbel_uniform_bits=8, gumbel_fraction_bits=4, temperature_bits=12, temperature_table=2,
                       counter_bits=4, hub_depth=1, line_bits=32),
    "tang-nano-9k": dict(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=32, tile_cols=32, gumbel_uniform_bits=10,
                         temperature_table=2, hub_depth=1, line_bits=32),
    "tang-nano-20k": dict(mesh_rows=1, mesh_cols=2, tile_rows=64, tile_cols=32, line_bits=128),
    "arty-a7-35": dict(mesh_rows=2, mesh_cols=2, tile_rows=64, tile_cols=64, line_bits=128),
    "arty-a7-100": dict(mesh_rows=3, mesh_cols=4),
}
