"""The numbers that follow from a machine's parameters: every width, depth and latency; nothing else states one of them.

`mrfhw.machine.derived.Derived` has them of a machine, an object of `Numbers` of parameters that may be none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from mrfhw.machine.bits import bits_for
from mrfhw.machine.fields import WORDS_MAX, Fields
from mrfhw.machine.latency import near_most

__all__ = ["BUS_BITS", "COUNTER_BITS", "DIFFERENCE_BITS", "Numbers"]

DIFFERENCE_BITS = 8  # of data whose difference is squared
BUS_BITS = 32
COUNTER_BITS = 48  # of the counters of cycles and messages: a month at 100 MHz


class Numbers(Fields):
    """Parameters with every number that follows from them."""

    @classmethod
    def unchecked(cls, values: Mapping[str, Any]) -> Self:
        """The numbers of parameters, by field, that may break limits between them (`mrfhw.machine.constraints`)."""
        numbers = object.__new__(cls)
        numbers.__dict__.update(values)
        return numbers

    # -- shape

    @property
    def spes(self) -> int:
        """Tiles of a cluster's mesh."""
        return self.mesh_rows * self.mesh_cols

    @property
    def units(self) -> int:
        """Sampling units of a cluster."""
        return self.spes * self.spus

    @property
    def all_lanes(self) -> int:
        """Lanes of a cluster: labels that it evaluates a cycle."""
        return self.units * self.lanes

    @property
    def holds_reach(self) -> bool:
        """Whether a tile holds all singleton-2 words that its sites reach, and reads none of another tile's: where lanes share a
        site, whose words lie side by side, and where tiles choose their slots, so that no two read the same one."""
        return self.lanes > 1 or self.subset_slots > 0

    @property
    def lane_bits(self) -> int:
        """Bits of a lane's number in its unit."""
        return (self.lanes - 1).bit_length()

    @property
    def numbers_a_step(self) -> int:
        """Uniform numbers that a step of a generator gives: one for each of two lanes, or of the only one."""
        return min(2, self.lanes)

    @property
    def lane_generators(self) -> int:
        """Generators of a sampling unit's lanes."""
        return self.lanes // self.numbers_a_step

    @property
    def unit_generators(self) -> int:
        """Generators of a sampling unit: its lanes', and one behind them that draws subsets."""
        return self.lane_generators + min(1, self.subset_slots)

    @property
    def tile_generators(self) -> int:
        """Generators of an SPE."""
        return self.spus * self.unit_generators

    @property
    def generators(self) -> int:
        """Generators of a cluster."""
        return self.spes * self.tile_generators

    @property
    def row_step(self) -> int:
        """A tile's rows are a multiple of this."""
        return 4 if self.lmem_banks == 4 else 2

    @property
    def col_step(self) -> int:
        """A tile's columns are a multiple of this."""
        return max(2 * self.spus, self.lanes, 4 if self.lmem_banks == 4 else 2)

    @property
    def group_bits(self) -> int:
        """Width of a group's index in its row, and of the number of groups of a row."""
        return bits_for(self.tile_cols // (2 * self.spus) + 1)

    @property
    def tile_sites(self) -> int:
        return self.tile_rows * self.tile_cols

    @property
    def sites(self) -> int:
        """Sites that a cluster holds."""
        return self.spes * self.tile_sites

    @property
    def max_labels(self) -> int:
        return 1 << self.label_bits

    @property
    def sum_bits(self) -> int:
        """Bits of an LMem entry that hold a sum of labels in place of two counts and a label."""
        return 2 * self.counter_bits + self.label_bits

    def sum_sweeps(self, labels: int) -> int:
        """Counted sweeps of a field of so many labels whose sums an LMem entry holds."""
        return ((1 << self.sum_bits) - 1) // (labels - 1)

    @property
    def min_slots(self) -> int:
        """Fewest slots of a site: those of two labels."""
        return self.slots(2)

    def label_slots(self, labels: int) -> int:
        """Fewest slots that so many labels fill: `lanes` of them a slot. Offsets of the second image may take more."""
        return -(-labels // self.lanes)

    def slots(self, labels: int) -> int:
        """Fewest slots of a visit to a site of so many labels: all that they fill, or those of a subset."""
        return min(self.label_slots(labels), self.subset_slots or self.max_labels)

    @property
    def near_slots(self) -> int:
        """Slots of neighbours' labels in a subset, at most."""
        return near_most(self.subset_slots) if self.subset_slots else 0

    @property
    def other_bits(self) -> int:
        """Bits of the number that draws one of a subset's other slots."""
        return 16

    @property
    def place_bits(self) -> int:
        """Bits of the number that says which of a subset's other slots is the site's own."""
        return 8

    @property
    def subset_weight_bits(self) -> int:
        """Width of a logarithm of F / r (`mrfhw.placement.subsets`): of all other slots for one, in units of a Gumbel number."""
        return bits_for(math.ceil(math.log(self.max_labels) * (1 << getattr(self.sampler, "fraction_bits", 0))) + 1)

    @property
    def pairwise_slot_bits(self) -> int:
        """Bits of a slot's number in the doubleton tables: of twice as many slots as all labels fill."""
        return self.label_bits if self.lanes == 1 else min(self.label_bits, self.label_bits - self.lane_bits + 1)

    @property
    def pairwise_lanes(self) -> int:
        """Lanes whose entries of the doubleton table are in a word of the bus, a power of two."""
        return min(self.lanes, 1 << (BUS_BITS // max(1, self.pairwise_bits)).bit_length() - 1)

    @property
    def tree_levels(self) -> int:
        """Register levels of the control tree and of the hub tree; 0 for one tile."""
        levels = 0
        while self.hub_fan_in ** levels < self.spes:
            levels += 1
        return levels

    @property
    def message_levels(self) -> int:
        """Levels of hubs below the line packers, that pass a message a cycle."""
        return self.tree_levels - self.line_levels

    @property
    def packer_tiles(self) -> int:
        """Tiles whose messages a line packer packs, at most."""
        return min(self.spes, self.hub_fan_in ** self.message_levels)

    @property
    def tile_bases(self) -> int:
        """Entries of a line packer's table; of several contexts each has as many as a tile's number has values."""
        return max(2, self.packer_tiles) if self.contexts == 1 else self.contexts << bits_for(self.packer_tiles)

    @property
    def packers(self) -> int:
        """Line packers: one at the root, or several with hubs above them that pass lines."""
        return -(-self.spes // self.packer_tiles)

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
    def channel_bits(self) -> tuple[int, ...]:
        """Width of each channel of a datum."""
        return tuple(bits for bits in (self.data_bits, self.data_bits_2, self.data_bits_3) if bits)

    @property
    def datum_bits(self) -> int:
        """Width of a datum: its channels side by side, the first one lowest."""
        return sum(self.channel_bits)

    @property
    def data_max(self) -> int:
        """The largest datum of the first channel."""
        return (1 << self.data_bits) - 1

    @property
    def energy_max(self) -> int:
        return (1 << self.energy_bits) - 1

    @property
    def weight_max(self) -> int:
        return (1 << self.weight_bits) - 1

    @property
    def singleton_bits(self) -> int:
        """Width of E_singleton of the first channel."""
        return self.channel_singleton_bits(0)

    def channel_singleton_bits(self, channel: int) -> int:
        """Width of E_singleton of a channel: the squared difference of two data, or the number of their unlike bits."""
        bits = self.channel_bits[channel]
        return bits_for(bits + 1) if channel == 0 and self.distance == "hamming" else 2 * bits

    @property
    def singletons(self) -> tuple[str, ...]:
        """How the first channel's data can be compared."""
        return self.channel_singletons(0)

    def channel_singletons(self, channel: int) -> tuple[str, ...]:
        """How a channel's data can be compared; all but the first by their difference."""
        return {"difference": ("absolute", "squared"), "hamming": ("hamming",),
                "both": ("absolute", "squared", "hamming")}["difference" if channel else self.distance]

    @property
    def doubleton_bits(self) -> int:
        """Width of one E_doubleton: a label distance, the squared distance of two vectors, or an entry of the table."""
        if self.doubletons == "table":
            return self.pairwise_bits
        widest = 2 * ((1 << self.vector_bits) - 1) ** 2 if self.vector_bits else 0
        return max(self.label_bits, bits_for(widest + 1), self.pairwise_bits)

    @property
    def doubleton_max(self) -> int:
        """The largest E_doubleton."""
        return (1 << self.doubleton_bits) - 1

    @property
    def doubleton_kinds(self) -> tuple[str, ...]:
        """The functions of two labels that the machine can have."""
        lacking = {"squared": not self.vector_bits, "table": not self.pairwise_bits}
        return tuple(kind for kind in ("absolute", "squared", "potts", "table")
                     if self.doubletons == "table" or not lacking.get(kind, False))

    @property
    def shift_max(self) -> int:
        """Largest energy_shift."""
        return (1 << self.shift_bits) - 1

    @property
    def temperature_fraction_bits(self) -> int:
        """Fraction bits of the temperature coefficient (T, race; log2(e)/T, cdf)."""
        return self.sampler.temperature_fraction_bits(self.temperature_bits)

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
        """Singleton-2 words a tile holds: its sites' own, or as many again where it holds what lies around them."""
        return self.s2_words or min(WORDS_MAX, self.tile_sites * (2 if self.holds_reach else 1))

    @property
    def s2_banks(self) -> int:
        """Singleton-2 words that a tile reads a cycle, each from a bank: one a lane."""
        return self.spus * self.lanes

    @property
    def s2_step(self) -> int:
        """Columns of the second image between the words that two neighbouring lanes read."""
        return 1 if self.holds_reach else 2

    @property
    def s2_bank_depth(self) -> int:
        return -(-self.s2_capacity // self.s2_banks)

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
        """Cycles in which LMem is read or written back for the S sites of a group: neighbours, a subset's own label, write-back."""
        return self.spus * ((4 if self.lmem_banks == 1 else 1) + min(1, self.subset_slots) + 1)

    def interval(self, slots: int) -> int:
        """Initiation interval of a group of S sites: its slots, or what the LMem port and the scheduler need."""
        return max(slots, self.fetch_slots, self.latency.least_interval)

    def spu_latency(self, slots: int) -> int:
        """Cycles from the first slot's operands at the SPU to the drawn label."""
        return self.latency.spu(self.sampler.name, slots, self.lane_bits)

    def commit_delay(self, slots: int) -> int:
        """Cycles from a group's first label slot to its first write-back slot."""
        return self.latency.write_back_delay(self.sampler.name, slots, self.lane_bits)

    def temperature_delay(self, slots: int) -> int:
        """Cycles from the first label slot of a sweep until its temperature must reach the SPUs."""
        return self.latency.coefficient_delay(self.sampler.name, slots)

    @property
    def slot_to_tile(self) -> int:
        """Cycles from a scheduler slot to the tiles' inputs."""
        return self.latency.slot_to_tile(self.tree_levels)

    @property
    def drain_cycles(self) -> int:
        """Idle slots after the last write-back slot before its label may be read."""
        return self.latency.settled(self.tree_levels)

    @property
    def s2_row_words(self) -> int:
        """Banks of S2Mem whose words lie side by side in a bus word (`Region.S2_ROW`); 1: there is no such region."""
        return max(1, min(self.s2_banks, BUS_BITS // (self.datum_bits + 1)))

    @property
    def lmem_row_bits(self) -> int:
        """Bits of an entry there: label, exists, clamped."""
        return self.label_bits + 2

    @property
    def lmem_row_entries(self) -> int:
        """Banks of LMem of which labels lie side by side in a bus word (`Region.LMEM_ROW`); 1: there is no such region."""
        return min(self.lmem_banks, 1 << (BUS_BITS // self.lmem_row_bits).bit_length() - 1)

    @property
    def lmem_row_reads(self) -> bool:
        """Whether a whole entry is read there as a word."""
        return self.lmem_row_entries > 1 and 2 * (self.label_bits + self.counter_bits) + 2 <= BUS_BITS

    @property
    def s1_has_edges(self) -> bool:
        """Whether a word of `Region.SITE` holds a site's word of singleton 1 and the weights of its edges above that."""
        return 0 < 4 * self.edge_bits <= BUS_BITS - self.datum_bits - 1

    def bus_write_cycles(self, words: int = 1) -> int:
        """Cycles of so many bus writes, or reads of registers, in a row: from the first request to the last answer."""
        return words + self.latency.bus_write

    def bus_read_cycles(self, words: int = 1) -> int:
        """Cycles of so many reads from tiles in a row: down the control tree and back."""
        return words + self.latency.bus_read(self.tree_levels)

    def overlaps(self, tile_rows: int, groups_per_row: int, slots: int) -> bool:
        """Whether a colour may start while the last groups of the other are in flight, in tiles of so many rows and groups a row.

        Each colour starts one row below the last one, so the rows that it reads first are the ones
        written longest ago; true when (rows - 3) x groups a row x interval covers the write-back.
        """
        slack = (tile_rows - 3) * groups_per_row * self.interval(slots)
        return slack >= self.commit_delay(slots) + self.spus - 1 + self.latency.written

    def in_flight(self, slots: int, cycles: int) -> int:
        """Most groups that can start within a span of `cycles`, both ends included."""
        return cycles // self.interval(slots) + 1

    @property
    def all_slots(self) -> range:
        """Every number of slots that a site may have."""
        return range(self.min_slots, (self.subset_slots or self.max_labels) + 1)

    @cached_property
    def commit_queue_depth(self) -> int:
        """Groups between their first label and their write-back, at most, over all numbers of slots."""
        return max(self.in_flight(n, self.commit_delay(n) + self.spus) for n in self.all_slots) + 1

    @cached_property
    def log_reserve(self) -> int:
        """Messages that a tile can still produce after it has asked for a stall."""
        blind = self.latency.stall_blind(self.tree_levels) + self.spus
        return self.spus * max(self.in_flight(n, self.commit_delay(n) + blind) + 1 for n in self.all_slots)

    @property
    def label_contexts(self) -> int:
        """Contexts of a label table: those of the tiles are as many as the machine's, and each scheduler has one of its own."""
        return self.contexts if self.subset_slots else 1

    @property
    def log_depth(self) -> int:
        """Messages that a tile's log FIFO holds."""
        return self.log_reserve + max(4, 2 * self.spus)

    # -- size in words

    @property
    def size(self) -> str:
        """SPEs x SPUs of each, and x lanes of each SPU where that has several; behind s, the slots of a subset; behind c, the
        contexts, and before of, the clusters, where there are several."""
        lanes = f"x{self.lanes}" if self.lanes > 1 else ""
        several = f"{self.clusters}of" if self.clusters > 1 else ""
        subsets = f"s{self.subset_slots}" if self.subset_slots else ""
        return f"{several}{self.spes}x{self.spus}{lanes}{subsets}" + (f"c{self.contexts}" if self.contexts > 1 else "")

    @property
    def size_in_words(self) -> str:
        lanes = f" of {self.lanes} lanes" if self.lanes > 1 else ""
        subsets = f", subsets of {self.subset_slots} slots" if self.subset_slots else ""
        several = f"{self.clusters} clusters of " if self.clusters > 1 else ""
        contexts = f", {self.contexts} contexts" if self.contexts > 1 else ""
        return f"{several}{self.spes} SPEs x {self.spus} SPUs{lanes}{subsets}{contexts}"
