"""Which of its slots a visit to a site evaluates, in machines with subsets (`mrfhw.placement.subsets`)."""

from __future__ import annotations

import itertools

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import chosen, join_contexts, name_of, of_context
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.common.products import product
from mrfhw.gateware.control.label_table import at_context, label_table_ports, word_memory, written
from mrfhw.gateware.control.ops import label_word
from mrfhw.gateware.unit.random import Random
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import NEIGHBOURS, SORTING, WAY_BITS, choice_stages, sort_levels
from mrfhw.machine.words import LabelWord, label_entry

__all__ = ["SubsetChoice", "subset_sizes"]

_KNOWN = 2  # cycles from the start to the slots of the labels and the first number


def subset_sizes(config: Config) -> data.StructLayout:
    """By the number of neighbours' slots: how many others there are, and the logarithm of their weight."""
    fields = label_entry(Derived.of(config))[LabelWord.SUBSET]
    return data.StructLayout({name: fields[name].bits for name in ("others", "weight")})


class SubsetChoice(wiring.Component):
    """Chooses a subset of a site's slots by some of its neighbours' labels, its own and random numbers.

    start: neighbours, own are those of a site. slot, weight: `Latency.choice` cycles later the first slot of its subset and, for a
    slot that is no neighbour's, the logarithm of its weight; the others in the cycles after. Where the table has no others, 0, 1,
    2 and so on, and no number is drawn. A site in as many cycles as it has slots in its subset, or more.
    table_*: see `label_table_ports`. random_*: see Random; `random_word` its state.

    ::

        number -> neighbours from a random one on -> their slots sorted -> once each: M -> own among them? its rank
           |                                                                                                    |
           +----> ranks of the others, one a cycle --------------------------------> its place or theirs <------+
                                                                                       |
                                                                                     past M -> slot
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._levels = sort_levels(config.near_slots)
        self._early = config.latency.random - _KNOWN  # cycles by which a number's step comes before its site's labels
        late = max(0, self._early)
        self._before = late + config.latency.beyond("choice", choice_stages(config.subset_slots) + late, "the choice of a subset")
        super().__init__({
            "start": In(1), "neighbours": In(data.ArrayLayout(label_word(config), NEIGHBOURS)), "own": In(config.label_bits),
            "slot": Out(config.label_bits), "weight": Out(config.subset_weight_bits),
            **label_table_ports(config),
            "random_load": In(1), "random_rotate": In(1), "random_data": In(32), "random_word": Out(32),
        })

    def _sorted(self, m: Module, slots: list[Value]) -> list[Value]:
        """The slots from the least to the largest, after `sort_levels` cycles."""
        for level, pairs in enumerate(SORTING[len(slots)]):
            found = [Signal(self.config.label_bits + 1, name=f"sorted_{level}_{n}", reset_less=True) for n in range(len(slots))]
            for a, b in pairs:
                swap = Signal(name=f"swap_{level}_{a}")
                m.d.comb += swap.eq(slots[b] < slots[a])
                m.d.sync += [found[a].eq(Mux(swap, slots[b], slots[a])), found[b].eq(Mux(swap, slots[a], slots[b]))]
            for n in sorted(set(range(len(slots))) - {n for pair in pairs for n in pair}):
                m.d.sync += found[n].eq(slots[n])
            slots = list(found)
        return slots

    def _near(self, m: Module, slots: list[Value], none: int) -> tuple[list[Signal], Signal]:
        """M, and how many slots it has: sorted slots without twins and without `none`, after a cycle."""
        c = self.config
        first = Cat((slots[n] != none) & (slots[n] != slots[n - 1] if n else 1) for n in range(len(slots)))
        before = [Signal(range(len(slots) + 1), name=f"before_{n}") for n in range(len(slots) + 1)]
        near = [Signal(c.label_bits + 1, name=f"near_{n}", reset_less=True) for n in range(len(slots))]
        count = Signal(range(c.near_slots + 1), name="near_count", reset_less=True)
        m.d.comb += [before[n + 1].eq(before[n] + first[n]) for n in range(len(slots))]
        m.d.sync += count.eq(before[-1])
        for place, found in enumerate(near):
            m.d.sync += found.eq(none)
            for n in range(place, len(slots)):
                with m.If(first[n] & (before[n] == place)):
                    m.d.sync += found.eq(slots[n])
        return near, count

    def _numbers(self, m: Module, start: Value) -> tuple[Value, Value, Value]:
        """The numbers of a subset's slots, one a cycle; the way and the own slot's place that come with the first."""
        c = self.config
        m.submodules.random = random = Random(c.other_bits + WAY_BITS + c.place_bits, c.latency, c.contexts)
        if c.contexts > 1:
            join_contexts(m, random, self.context, self.bus_context)
        # Numbers are drawn for problems of which a subset leaves slots out alone.
        fields = label_entry(c)[LabelWord.SUBSET]["others"]
        left_out = [Signal(name=name_of("some_are_left_out", k, c.contexts)) for k in range(c.contexts)]
        more = Signal(range(c.subset_slots), name="numbers_left")
        entry, here = written(self, LabelWord.SUBSET)
        for k, one in enumerate(left_out):
            with m.If((here if c.contexts == 1 else of_context(here, self.bus_context, k, c.contexts)) & (entry == 0)):
                m.d.sync += one.eq(self.table_data[fields.low:fields.end] != 0)
        some = left_out[0] if c.contexts == 1 else chosen(left_out, self.context)
        with m.If(start):
            m.d.sync += more.eq(c.subset_slots - 1)
        with m.Elif(more != 0):
            m.d.sync += more.eq(more - 1)
        m.d.comb += [random.advance.eq(some & (start | (more != 0))), random.load.eq(self.random_load),
                     random.rotate.eq(self.random_rotate), random.load_data.eq(self.random_data), self.random_word.eq(random.word)]
        place_end = c.place_bits + WAY_BITS
        return random.value[place_end:], random.value[c.place_bits:place_end], random.value[:c.place_bits]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        none = 1 << c.label_bits
        start = delayed(m, self.start, self._before, "start")
        number, way, own_place = self._numbers(m, delayed(m, self.start, self._before - self._early, "numbers_start"))
        taps = [start]
        for cycle in range(1, _KNOWN + 6 + self._levels):
            taps.append(delayed(m, taps[-1], 1, f"started_{cycle}"))

        # The slots of the labels: the neighbours' from `way` on, as many as count.
        wait = self._before + _KNOWN - 1
        table = word_memory(m, "slots", self, LabelWord.SUBSET, c.label_bits)
        slots: list[Value] = []
        for n in range(NEIGHBOURS):
            read, neighbour = table.read_port(), delayed(m, self.neighbours[n], wait, f"neighbour_{n}", reset_less=True)
            m.d.comb += read.addr.eq(at_context(self, neighbour.label, c.max_labels))
            exists = delayed(m, neighbour.exists, 1, f"exists_{n}", reset_less=True)
            slots.append(Mux(exists, read.data, none))
        read = table.read_port()
        m.d.comb += read.addr.eq(at_context(self, delayed(m, self.own, wait, "own", reset_less=True), c.max_labels))
        counting: list[Value] = []
        for n in range(c.near_slots):
            one = Signal(c.label_bits + 1, name=f"counting_{n}", reset_less=True)
            m.d.sync += one.eq(Array(slots[n:] + slots[:n])[way])
            counting.append(one)
        near, count = self._near(m, self._sorted(m, counting), none)
        own = delayed(m, read.data, 2 + self._levels, "own_slot", reset_less=True)

        # The site's own slot among them, or its rank among the others; how many these are. Cycle `_KNOWN` + 3 + levels.
        by_count, fields = subset_sizes(c), label_entry(c)[LabelWord.SUBSET]
        sizes = word_memory(m, "sizes", self, LabelWord.SUBSET, by_count, Cat(
            self.table_data[fields[name].low:fields[name].end] for name in by_count.members), c.near_slots + 1)
        read = sizes.read_port()
        m.d.comb += read.addr.eq(at_context(self, count, c.near_slots + 1))
        inside = Signal(reset_less=True)
        rank = Signal(c.label_bits, name="rank", reset_less=True)
        m.d.sync += [inside.eq(Cat(slot == own for slot in near).any()), rank.eq(own - sum((slot < own for slot in near), 0))]
        size = Signal(by_count)
        drawn = Signal(range(c.subset_slots + 1))
        held_count = delayed(m, count, 1, "near_count", reset_less=True)
        m.d.comb += [size.as_value().eq(data.View(by_count, read.data).as_value()), drawn.eq(c.subset_slots - held_count)]
        chosen = self._ranks(m, taps[_KNOWN + 3 + self._levels:], delayed(m, number, 4 + self._levels, "number", reset_less=True),
                             delayed(m, own_place, 3 + self._levels, "own_place", reset_less=True), inside, rank, size, drawn)
        others, weight, drawn = (delayed(m, value, 2, name, reset_less=True) for value, name in (
            (size.others, "others"), (size.weight, "weights"), (drawn, "drawn")))
        near = [delayed(m, slot, 3, f"near_{n}", reset_less=True) for n, slot in enumerate(near)]
        self._emit(m, taps[_KNOWN + 5 + self._levels], chosen, others, weight, near, drawn)
        return m

    def _ranks(self, m: Module, taps: list[Value], number: Value, own_place: Value, inside: Value, rank: Value, size: data.View,
               drawn: Value) -> Signal:
        """Ranks of the subset's others, one a cycle from three cycles after taps[0] on.

        inside, rank, size, drawn, own_place: of a site, at taps[0]. number: from a cycle after it on.
        """
        c = self.config
        others, turn = Signal.like(size.others, name="others_held", reset_less=True), Signal(range(c.subset_slots + 1))
        of_own, held_rank = Signal.like(turn, name="of_own", reset_less=True), Signal.like(rank, name="held_rank", reset_less=True)
        none = c.subset_slots
        with m.If(taps[0]):
            m.d.sync += others.eq(size.others)
        place = Signal.like(turn, name="place", reset_less=True)
        last = Signal(range(c.subset_slots), name="last_drawn")
        m.d.comb += last.eq(drawn - 1)
        m.d.sync += place.eq(Mux(inside, none, (product(own_place, last, spare=True) + own_place) >> c.place_bits))
        rank = delayed(m, rank, 1, "own_rank", reset_less=True)
        m.d.sync += turn.eq(turn + (turn != none))
        with m.If(taps[1]):
            m.d.sync += [of_own.eq(place), held_rank.eq(rank), turn.eq(0)]
        scaled = Signal(c.other_bits + len(size.others), reset_less=True)
        chosen = Signal(c.label_bits, name="chosen", reset_less=True)
        m.d.sync += [scaled.eq(number * others), chosen.eq(Mux(turn == of_own, held_rank, scaled >> c.other_bits))]
        return chosen

    def _emit(self, m: Module, ready: Value, at: Value, others: Value, weight: Value, near: list[Value], drawn: Value) -> None:
        """A slot a cycle: the others that were drawn, whose ranks are `at` from the cycle after `ready` on, then M."""
        c = self.config
        number = Signal(c.label_bits, reset_less=True)
        all_others, left, held_weight = (Signal.like(value, name=name, reset_less=True) for value, name in (
            (others, "all_others"), (drawn, "left"), (weight, "held_weight")))
        queue = [Signal(c.label_bits, name=f"queue_{n}", reset_less=True) for n in range(len(near))]
        past = [Signal(c.label_bits + 1, name=f"past_{n}", reset_less=True) for n in range(len(near))]
        in_window = Signal()
        m.d.comb += in_window.eq(left != 0)
        m.d.sync += number.eq(number + 1)
        with m.If(in_window):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += [one.eq(other) for one, other in itertools.pairwise(queue)]
        with m.If(ready):
            m.d.sync += [number.eq(0), all_others.eq(others), left.eq(drawn), held_weight.eq(weight),
                         *(one.eq(slot) for one, slot in zip(queue, near, strict=True)),
                         *(one.eq(slot) for one, slot in zip(past, near, strict=True))]
        # A rank passes the slots of M that are not above it.
        slot: Value = at
        for n in range(len(near)):
            passed = Signal(c.label_bits + 1, name=f"passed_{n}", reset_less=True)
            m.d.sync += passed.eq(slot + (slot >= past[0]))
            slot = passed
            past = [delayed(m, one, 1, f"past_{n}_{k}", reset_less=True) for k, one in enumerate(past[1:])]
        partial, other, first, count = (delayed(m, value, len(near), name, reset_less=True) for value, name in (
            (all_others != 0, "partial"), (in_window, "other"), (queue[0] if queue else 0, "first"), (number, "count")))
        held_weight = delayed(m, held_weight, len(near), "weight", reset_less=True)
        m.d.sync += [self.slot.eq(Mux(~partial, count, Mux(other, slot, first))),
                     self.weight.eq(Mux(partial & other, held_weight, 0))]
