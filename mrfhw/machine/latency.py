"""Register stages of every part of the machine, and the cycles that follow from them.

The gateware builds its parts with these stages, or refuses them; the scheduler, the models and the benches take every sum from
here. No other file states how long a part takes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

__all__ = ["NEIGHBOURS", "SORTING", "WAY_BITS", "Latency", "LatencyError", "choice_stages", "near_most", "sort_levels"]

NEIGHBOURS = 4  # whose labels say which slots a subset has
WAY_BITS = 2  # of the number of one of them
# Slots that are compared, by how many are sorted and by level: the lesser one comes first.
SORTING = {0: (), 1: (), 2: (((0, 1),),), 3: (((0, 1),), ((1, 2),), ((0, 1),)),
           4: (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((1, 2),))}


def choice_stages(subset_slots: int) -> int:
    """Register stages of a `SubsetChoice`: two until the slots of the labels and a random number are known, the neighbours that
    count, levels that sort their slots, those without the others' twins, the site's own among the rest, two of a product, the rest
    of a rank, a stage for each slot that is no rest's, the slot."""
    return 9 + sort_levels(near_most(subset_slots)) + near_most(subset_slots) if subset_slots else 0


def sort_levels(count: int) -> int:
    """Levels of comparisons, in each of which a slot takes part once, that sort so many slots: none for one."""
    return len(SORTING[count])


def near_most(subset_slots: int) -> int:
    """Neighbours whose labels' slots are in a subset, at most: half of its slots, and two fewer than it has. A label moves by way
    of the others, of which one is its own: with no more than that one it would move to neighbours' slots alone."""
    return min(NEIGHBOURS, subset_slots // 2, subset_slots - 2)


_SWITCH = ("s2_columns", "s2_rows")  # of a part that tiles do without which hold all words that they read


class LatencyError(ValueError):
    """Register stages that a part cannot be built with. The message names the part, what is declared and what it has."""


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Registers, and so cycles, between a part's inputs and its outputs.

    A slot is a cycle of the scheduler; cycle 0 of a slot is the first one in which a tile takes one of its operations. What a
    part does with a stage more is its own business: most add a register, some refuse (`exactly`).
    """

    # Scheduler and control tree.
    scheduler: int = 3  # a slot -> its operations of cycle 0 at the scheduler's outputs
    next_row: int = 3  # the issue of a row's last group -> the row after the next is known
    label_group: int = 1  # a slot -> its labels, where a unit has several lanes
    label_data: int = 1  # a label -> its vector and constant from the label table
    tables: int = 0  # a write of a table at the scheduler -> at the table
    coefficient: int = 2  # the last cycle before a sweep's coefficient is due -> the coefficient
    node_down: int = 1  # a node of the control tree, towards the tiles
    node_up: int = 1  # the same, from the tiles

    # Singletons in a tile.
    choice: int = 0  # SubsetChoice: swap -> the first of a site's slots; 0 in machines without subsets
    slot_address: int = 4  # SlotAddress in a tile, of machines with subsets: a slot -> its singleton-2 addresses
    s1_read: int = 1  # S1Mem: address -> word
    s2_read: int = 1  # S2Mem: address -> the banks' words
    s2_lanes: int = 1  # S2Mem: the banks' words -> the lanes' words
    s2_columns: int = 1  # S2Switch: the lanes' words of a row of tiles -> those chosen by column; 0 without a switch
    s2_rows: int = 1  # S2Switch: those of a column of tiles -> the words at the SPUs; 0 without a switch

    # Labels in a tile.
    lmem_read: int = 1  # LMem: address -> entry
    label_switch: int = 1  # entry -> label word at the switch between tiles
    vector_read: int = 1  # label word at Prefetch -> the word with its vector enters the chain
    swap: int = 1  # Prefetch: swap -> the collected neighbours at the SPUs
    update: int = 0  # entry and drawn label -> compared
    write_back: int = 1  # these -> LMem's write port
    log_entry: int = 1  # these -> message at the log FIFO's input
    log_fifo: int = 1  # a message's write into a FIFO of the log -> its place in the level, and at the output
    stall: int = 1  # level of the log FIFO -> wish to stall
    tile_bus: int = 0  # a bus access at a tile -> at its memories
    tile_answer: int = 2  # word of a tile's memory -> read data at the tile's output

    # Sampling unit.
    random: int = 2  # step of the generator -> its value
    random_word: int = 1  # rotation of the generator -> the word moved
    parameters: int = 0  # a run's parameters at a unit -> at its energy pipelines
    energy: int = 9  # operands -> E(l)
    gumbel_read: int = 1  # race: uniform -> G(u)
    race_factors: int = 0  # race: G(u) and T -> at their multiplier
    race_product: int = 2  # race: G(u) and T at the multiplier -> T G(u)
    race_score: int = 1  # race: E(l) and T G(u) -> their difference
    race_level: int = 1  # race: a level of the tree that compares the lanes' differences
    race_weight: int = 0  # race: the least of the lanes' differences -> the same with its slot's weight in a subset
    race_compare: int = 1  # race: difference -> the least so far
    race_result: int = 1  # race: the least of a site -> its label
    cdf_start: int = 1  # cdf: the last E(l) -> pass 2 begins
    cdf_energy_read: int = 1  # cdf: address -> E(l) kept from pass 1
    cdf_scale: int = 1  # cdf: E(l) -> E(l) - E_min
    cdf_product: int = 2  # cdf: E(l) - E_min -> exponent
    cdf_power: int = 1  # cdf: exponent -> fraction of an octave raised, and octaves
    cdf_shift: int = 1  # cdf: these -> P(l)
    cdf_sum: int = 1  # cdf: P(l) -> running sum
    cdf_threshold: int = 3  # cdf: total and uniform -> threshold
    cdf_sum_read: int = 1  # cdf: address -> running sum kept from pass 2
    cdf_count: int = 1  # cdf: running sum and threshold -> labels counted
    cdf_result: int = 1  # cdf: labels counted -> label

    # Bus.
    bus_request: int = 1  # a request on the bus -> its carrying out
    bus_answer: int = 1  # a request carried out, or read data -> answer on the bus

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            least = 0 if field.default == 0 or field.name in _SWITCH else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise LatencyError(f"{field.name} is {value!r}; a part has a whole number of register stages, {least} or more: "
                                   f"give {field.default}")

    @classmethod
    def of_lanes(cls, lanes: int, subset_slots: int = 0) -> Latency:
        """The gateware's own, for units of so many lanes, with subsets of so many slots or without.

        Tiles with several lanes or with subsets hold all singleton-2 words that they read and have no switch for those of other
        tiles. They pay for a clock that block memories' outputs do not limit: a register stands behind each, in front of what lies
        far from the rest, and in the register file's answer.
        """
        return cls() if lanes == 1 and not subset_slots else cls(
            choice=choice_stages(subset_slots), race_weight=min(1, subset_slots), scheduler=4, s1_read=2, s2_read=2, s2_lanes=2,
            s2_columns=0, s2_rows=0, lmem_read=2, update=1, write_back=2, gumbel_read=2, race_factors=1, parameters=1,
            tables=1, node_down=2, tile_bus=1, bus_answer=2)

    def beyond(self, name: str, has: int, part: str) -> int:
        """Registers to add to a part that has `has` of the stages `name`. Raises LatencyError where it has more than declared."""
        declared: int = getattr(self, name)
        if declared < has:
            raise LatencyError(f"{name} is {declared}; {part} has {has} register stage{'s' * (has > 1)} and cannot have fewer: "
                               f"declare {has} or more")
        return declared - has

    def exactly(self, name: str, has: int, part: str) -> None:
        """Raises LatencyError unless the part's `has` stages are those declared as `name`."""
        declared: int = getattr(self, name)
        if declared != has:
            raise LatencyError(f"{name} is {declared}; {part} has {has} register stage{'s' * (has > 1)} and no other number: "
                               f"declare {has}")

    # -- cycles of a slot in which a tile takes each operation

    @property
    def _singleton_2(self) -> int:
        """From the singleton-2 addresses to the words at the SPUs."""
        return self.s2_read + self.s2_lanes + self.s2_columns + self.s2_rows

    @property
    def _neighbours(self) -> int:
        """From an LMem address to the neighbour's entry into the chain."""
        return self.lmem_read + self.label_switch + self.vector_read

    @cached_property
    def swap_cycle(self) -> int:
        """Fetched neighbours become current: words of earlier slots have entered, none of a later one has."""
        return max(0 if self.choice else self._singleton_2 - self.swap, self._neighbours, self.s1_read)

    @property
    def current(self) -> int:
        """From the swap to the collected neighbours at the SPUs, with the words of the slots that they have chosen."""
        return self.swap + (self.choice and self.choice - 1 + self.slot_address + self._singleton_2)

    @property
    def choice_cycle(self) -> int:
        """The collected neighbours at the choice of their site's slots."""
        return self.swap_cycle + self.swap - 1

    @property
    def slot_cycle(self) -> int:
        """A slot that was chosen, and the place of its site."""
        return self.choice_cycle + self.choice

    @cached_property
    def label_cycle(self) -> int:
        """The label at the SPUs, with its neighbours and its singleton-2 word."""
        return self.swap_cycle + self.current

    @property
    def singleton_cycle(self) -> int:
        """Singleton-2 addresses."""
        return self.label_cycle - self._singleton_2

    @property
    def columns_cycle(self) -> int:
        """Singleton-2 directions by column: the lanes' words are there."""
        return self.singleton_cycle + self.s2_read + self.s2_lanes

    @property
    def rows_cycle(self) -> int:
        """Singleton-2 directions by row."""
        return self.columns_cycle + self.s2_columns

    @property
    def lmem_cycle(self) -> int:
        """LMem addresses, of a fetch or of a write-back."""
        return self.swap_cycle - self._neighbours

    @cached_property
    def write_back_cycle(self) -> int:
        """A write-back: its entry is read and its label drawn."""
        return self.lmem_cycle + self.lmem_read

    @property
    def fetch_cycle(self) -> int:
        """A neighbour's word is at the switch."""
        return self.write_back_cycle + self.label_switch

    @property
    def s1_cycle(self) -> int:
        """S1Mem address; its word enters the chain with the neighbours of its slot."""
        return self.swap_cycle - self.s1_read

    # -- sampling unit

    @property
    def race_lead(self) -> int:
        """From a step of the generator to the cycle in which its T G(u) meets an energy."""
        return self.random + self.gumbel_read + self.race_factors + self.race_product

    @property
    def cdf_total(self) -> int:
        """From the last E(l) of a site to the running sum of its first label."""
        return (self.cdf_start + self.cdf_energy_read + self.cdf_scale + self.cdf_product + self.cdf_power + self.cdf_shift
                + self.cdf_sum)

    def draw(self, sampler: str, slots: int, levels: int = 0) -> int:
        """From the last E(l) of a site to its label. levels: of the tree that compares lanes."""
        if sampler == "race":
            return self.race_score + levels * self.race_level + self.race_weight + self.race_compare + self.race_result
        return 2 * (slots - 1) + self.cdf_total + self.cdf_threshold + self.cdf_count + self.cdf_result

    def spu(self, sampler: str, slots: int, levels: int = 0) -> int:
        """From the operands of a site's first slot to its label."""
        return self.energy + slots - 1 + self.draw(sampler, slots, levels)

    def coefficient_use(self, sampler: str, slots: int) -> int:
        """From the operands of a site's first slot to the first cycle in which the sampler uses the coefficient."""
        if sampler == "race":
            return self.energy - self.race_factors - self.race_product
        return self.energy + slots - 1 + self.cdf_start + self.cdf_energy_read + self.cdf_scale

    # -- slots

    def write_back_delay(self, sampler: str, slots: int, levels: int = 0) -> int:
        """From a group's first label slot to its first write-back slot."""
        return self.label_cycle + self.spu(sampler, slots, levels) - self.write_back_cycle

    def coefficient_delay(self, sampler: str, slots: int) -> int:
        """From a sweep's first label slot, as a tile takes it, to the sweep's coefficient at the SPUs."""
        return self.label_cycle + self.coefficient_use(sampler, slots)

    @property
    def written(self) -> int:
        """From a write-back slot to the first slot that reads its label from LMem."""
        return self.lmem_read + self.update + self.write_back + 1

    @property
    def least_interval(self) -> int:
        """Fewest slots from the issue of a group to that of the next: the next row must be known."""
        return self.next_row + 1

    # -- across the control tree, of so many levels

    def down(self, levels: int) -> int:
        """From the root of the control tree to the tiles."""
        return levels * self.node_down

    def up(self, levels: int) -> int:
        """From the tiles to the root of the control tree."""
        return levels * self.node_up

    def slot_to_tile(self, levels: int) -> int:
        """From a slot to its cycle 0 at the tiles."""
        return self.scheduler + self.down(levels)

    def settled(self, levels: int) -> int:
        """From a write-back slot to the first cycle in which its label is in LMem for whatever reads it."""
        return self.slot_to_tile(levels) + self.lmem_cycle + self.written

    def logged(self, levels: int) -> int:
        """From a write-back slot to its message at the log FIFO's input."""
        return self.slot_to_tile(levels) + self.write_back_cycle + self.update + self.log_entry

    def stall_seen(self, levels: int) -> int:
        """From a level of the log FIFO to the scheduler's sight of the wish to stall."""
        return self.stall + self.up(levels)

    def stall_blind(self, levels: int) -> int:
        """From a write-back slot to the first group that its message can hold back; the cycle before has decided."""
        return self.logged(levels) + self.log_fifo + self.stall_seen(levels) + 1

    # -- bus

    @property
    def tile_read(self) -> int:
        """From a bus access at a tile to its read data at the tile's output, whichever memory it is of."""
        return self.tile_bus + max(self.s1_read, self.s2_read, self.lmem_read, self.random_word) + self.tile_answer

    def tile_access(self, levels: int) -> int:
        """From a read's way into the control tree to its data's way out."""
        return self.down(levels) + self.tile_read + self.up(levels)

    @property
    def bus_write(self) -> int:
        """From a write, or the read of a register, to its answer."""
        return self.bus_request + self.bus_answer

    def bus_read(self, levels: int) -> int:
        """From a read from a tile to its answer."""
        return self.bus_request + self.tile_access(levels) + self.bus_answer
