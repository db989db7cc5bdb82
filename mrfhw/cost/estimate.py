"""Memory and multipliers of a machine, and the cycles of a problem on it, estimated without synthesis."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from mrfhw.driver.driver import transfer_bytes, transfer_cycles, transfer_words
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import NEIGHBOURS
from mrfhw.machine.memory_words import SMALL_FACTOR_BITS, WRAPS, due_bits, written_group_fields
from mrfhw.machine.samplers import Race
from mrfhw.machine.words import LabelWord, label_entry
from mrfhw.placement.placement import Placement
from mrfhw.placement.visit_order import COLOURS

__all__ = ["Cycles", "Memory", "Multipliers", "memories", "multipliers"]

Multipliers = dict[str, tuple[int, int, int]]  # how many, bits of one factor, bits of the other, by use


@dataclass(frozen=True)
class Cycles:
    """Cycles of a placed problem on its machine, without stalls of the log, which can add to them.

    placement: the problem.
    sweep: what each further sweep takes.
    """

    placement: Placement
    sweep: int

    @classmethod
    def of(cls, config: Config, problem: Problem, run: Run) -> Cycles:
        """Of a problem that fits the machine whole; the data's values do not matter. Raises ProblemError for one that does not."""
        placement = Placement(config, problem, run)
        return cls(placement, len(COLOURS) * (cls._groups(placement) + (0 if placement.overlap else cls._ends(placement))))

    @staticmethod
    def _groups(p: Placement) -> int:
        """Of a colour's groups: each begins an interval after the last."""
        return p.order.turns * p.config.interval(p.slots)

    @staticmethod
    def _ends(p: Placement) -> int:
        """From a colour's last group to its last write-back, and the cycle after it."""
        c = p.config
        return 1 + max(c.interval(p.slots), c.commit_delay(p.slots) + c.spus + c.drain_cycles)

    @property
    def running(self) -> int:
        """From the run's start to its last write-back."""
        return self.of_sweeps(self.placement.run.sweeps)

    def of_sweeps(self, sweeps: int, flushed: bool = False) -> int:
        """The same of a run of so many sweeps. flushed: the pipeline is emptied after each colour (Section 3.3.3)."""
        p = self.placement
        if flushed:
            return sweeps * len(COLOURS) * (self._groups(p) + self._ends(p))
        return sweeps * self.sweep + (self._ends(p) if p.overlap else 0)

    @cached_property
    def _transfers(self) -> tuple[int, int]:
        return transfer_cycles(self.placement)

    @cached_property
    def _words(self) -> tuple[int, int]:
        return transfer_words(self.placement)

    @property
    def loaded_words(self) -> int:
        """Words over the bus to load the problem."""
        return self._words[0]

    @property
    def read_words(self) -> int:
        """Words over the bus to read the answer back."""
        return self._words[1]

    @cached_property
    def link_bytes(self) -> tuple[int, int]:
        """Bytes that a link carries to load the problem, and to read the answer back; those of heads of frames are not in it."""
        return transfer_bytes(self.placement)

    @property
    def loading(self) -> int:
        """Of the bus to load the problem."""
        return self._transfers[0]

    @property
    def reading(self) -> int:
        """Of the bus to read the answer, one access after the other."""
        return self._transfers[1]


@dataclass(frozen=True)
class Memory:
    """Memories for one use.

    use: what for.
    count: how many.
    depth: words of each.
    width: bits of a word.
    reads: at a time, beside writes.
    second: bits of a word that readers beyond the first take; None: all.
    constant: nothing writes it.
    """

    use: str
    count: int
    depth: int
    width: int
    reads: int = 1
    second: int | None = None
    constant: bool = False

    @property
    def bits(self) -> int:
        return self.count * self.depth * self.width


def memories(config: Config) -> list[Memory]:
    """Every memory of the machine, all copies of it, of all clusters."""
    return [dataclasses.replace(memory, count=config.clusters * memory.count) for memory in _of_cluster(config)]


def _of_cluster(config: Config) -> list[Memory]:
    c = Derived.of(config)
    datum, vector, message = c.datum_bits + 1, 2 * c.vector_bits, c.offset_bits + c.label_bits + c.counter_bits + 1
    found = [
        Memory("lmem", c.contexts * c.spes * c.lmem_banks, c.lmem_rows, c.label_bits + 2 + c.sum_bits),
        Memory("s1", c.contexts * c.spes, c.site_rows, datum),
        Memory("s2", c.contexts * c.spes * c.spus, c.s2_bank_depth, c.lanes * datum, reads=min(2, c.lanes),
               second=(c.lanes - 1) * datum or None),
        *([Memory("vectors", c.spes, c.contexts * c.max_labels, vector, reads=c.lmem_banks)] if vector else [])]
    if c.edge_bits:
        found.append(Memory("edges", c.contexts * c.spes, c.site_rows, NEIGHBOURS * c.edge_bits))
    if c.pairwise_bits:
        found.append(Memory("doubleton tables", c.contexts * c.units * NEIGHBOURS // 2, 1 << c.label_bits + c.pairwise_slot_bits,
                            c.lanes * c.pairwise_bits, reads=2))
    if isinstance(c.sampler, Race):
        found.append(Memory("gumbel tables", c.units * c.lane_generators, len(c.sampler.gumbel_entries), c.sampler.gumbel_bits,
                            reads=c.lanes // c.lane_generators, constant=True))
    else:
        found += [Memory("energies and sums", c.units, 2 * c.max_labels, width)
                  for width in (c.energy_bits, c.sampler.total_bits(c.label_bits))]
    found.append(Memory("log fifos", c.spes, c.log_depth, message))
    nodes = c.spes
    for level in range(1, c.tree_levels + 1):
        nodes = -(-nodes // c.hub_fan_in)
        width = c.line_bits + 1 if level > c.message_levels else message + level * bits_for(c.hub_fan_in)
        found.append(Memory("hubs", nodes, c.hub_depth, width))
    # Where a slot's word lies: in tiles that hold their reach by column and word, else by wrap, addresses and directions.
    words = {word: sum(field.bits for field in fields.values()) for word, fields in label_entry(c).items()}
    offsets = [words[LabelWord.WRAP], words[LabelWord.DELTA]]
    if not c.holds_reach:
        offsets += [words[LabelWord.DELTA]] * (WRAPS - 1) + [words[LabelWord.DIRECTION]]
    copies, entries = c.spes if c.subset_slots else c.contexts, c.label_contexts * c.max_labels
    found += [Memory("label table", copies * count, entries, width) for count, width in (
        *((1, width) for width in offsets), *([(c.lanes, vector)] if vector else []),
        *([(1, words[LabelWord.GROUP])] if c.lanes > 1 else []))]
    if c.subset_slots:
        found += [Memory("subsets", c.spes, entries, c.label_bits),
                  Memory("subsets", c.spes, c.label_contexts * (c.near_slots + 1), words[LabelWord.SUBSET] - c.label_bits)]
    return [*found, Memory("label table", copies, entries >> c.lane_bits, c.lanes * c.datum_bits),
            Memory("temperature table", c.contexts, c.temperature_table, c.temperature_bits),
            Memory("tile bases", c.packers, c.tile_bases, c.raster_bits),
            Memory("groups in flight", c.contexts, c.commit_queue_depth, due_bits(c) + sum(written_group_fields(c).values()))]


def multipliers(config: Config) -> Multipliers:
    """(how many, bits of one factor, bits of the other) by use. What a device makes of them depends on its blocks."""
    c = Derived.of(config)
    units, n = c.clusters * c.units, c.clusters * c.all_lanes
    sampler = c.sampler
    drawing = {"noise": (n, sampler.gumbel_bits, c.temperature_bits)} if isinstance(sampler, Race) else {
        "exponent": (n, c.energy_bits, c.temperature_bits),
        "threshold": (n, sampler.total_bits(c.label_bits), sampler.uniform_bits)}
    singles: dict[str, tuple[int, int, int]] = {}
    for number, bits in enumerate(c.channel_bits):
        end = f", channel {number + 1}" if number else ""
        if number or c.distance != "hamming":
            singles[f"squared singleton{end}"] = (n, bits, bits)
        singles[f"weight of the singleton{end}"] = (n, c.channel_singleton_bits(number), c.weight_bits)
    # Where lanes share a site, products with a small factor are sums of shifted terms.
    least = SMALL_FACTOR_BITS if c.lanes > 1 else 0
    edge = {"weight of an edge": (n * NEIGHBOURS, c.doubleton_bits, c.edge_bits)} if c.edge_bits else {}
    if c.subset_slots:
        drawing |= {"weight of a slot": (units, c.subset_weight_bits, c.temperature_bits),
                    "slot of a subset": (units, c.other_bits, c.label_bits + 1)}
    found = {**singles, **edge, "weight of the doubletons": (n, c.doubleton_bits + c.edge_bits + 2, c.weight_bits), **drawing}
    return {use: factors for use, factors in found.items() if min(factors[1:]) > least}
