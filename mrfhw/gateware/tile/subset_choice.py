"""Which of its slots a visit to a site evaluates, in machines with subsets (`mrfhw.placement.subsets`)."""

from __future__ import annotations

import itertools

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.label_table import label_table_ports, word_memory
from mrfhw.gateware.control.ops import label_word
from mrfhw.gateware.unit.random import Random
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import NEIGHBOURS, LatencyError, choice_stages
from mrfhw.machine.words import LabelWord, label_entry

__all__ = ["SubsetChoice", "subset_sizes"]

_NUMBER = 6  # cycles from the start to the product with the random number


def subset_sizes(config: Config) -> data.StructLayout:
    """By the number of neighbours' slots: how many others there are, and the logarithm of their weight."""
    fields = label_entry(Derived.of(config))[LabelWord.SUBSET]
    return data.StructLayout({name: fields[name].bits for name in ("others", "weight")})


class SubsetChoice(wiring.Component):
    """Chooses a subset of a site's slots by its neighbours' labels, its own and a random number.

    start: neighbours, own are those of a site. slot, weight: `Latency.choice` cycles later the first slot of its subset and, for a
    slot that is no neighbour's, the logarithm of its weight; the others in the cycles after. Where the table has no others, 0, 1,
    2 and so on. A site in as many cycles as a subset has slots, or more.
    table_*: see `label_table_ports`. random_*: see Random; `random_word` its state.

    ::

        labels -> their slots -> sorted -> once each: M -> own among them? ranks -> x number -> window -> past M's slots -> slot
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._before = config.latency.beyond("choice", choice_stages(config.subset_slots), "the choice of a subset")
        if config.latency.random > _NUMBER:
            raise LatencyError(f"random is {config.latency.random}; a subset's number is wanted {_NUMBER} cycles after its site is "
                               f"known: declare {_NUMBER} or less")
        super().__init__({
            "start": In(1), "neighbours": In(data.ArrayLayout(label_word(config), NEIGHBOURS)), "own": In(config.label_bits),
            "slot": Out(config.label_bits), "weight": Out(config.subset_weight_bits),
            **label_table_ports(config),
            "random_load": In(1), "random_rotate": In(1), "random_data": In(32), "random_word": Out(32),
        })

    def _sorted(self, m: Module, slots: list[Value]) -> list[Value]:
        """The slots from the least to the largest, after three cycles."""
        for level, pairs in enumerate((((0, 1), (2, 3)), ((0, 2), (1, 3)), ((1, 2),))):
            found = [Signal(self.config.label_bits + 1, name=f"sorted_{level}_{n}", reset_less=True) for n in range(NEIGHBOURS)]
            for a, b in pairs:
                swap = Signal(name=f"swap_{level}_{a}")
                m.d.comb += swap.eq(slots[b] < slots[a])
                m.d.sync += [found[a].eq(Mux(swap, slots[b], slots[a])), found[b].eq(Mux(swap, slots[a], slots[b]))]
            for n in sorted(set(range(NEIGHBOURS)) - {n for pair in pairs for n in pair}):
                m.d.sync += found[n].eq(slots[n])
            slots = list(found)
        return slots

    def _near(self, m: Module, slots: list[Value], none: int) -> tuple[list[Signal], Signal]:
        """M, and how many slots it has: sorted slots without twins and without `none`, after a cycle."""
        c = self.config
        first = Cat((slots[n] != none) & (slots[n] != slots[n - 1] if n else 1) for n in range(NEIGHBOURS))
        before = [Signal(range(NEIGHBOURS + 1), name=f"before_{n}") for n in range(NEIGHBOURS + 1)]
        near = [Signal(c.label_bits + 1, name=f"near_{n}", reset_less=True) for n in range(c.near_slots)]
        count = Signal(range(c.near_slots + 1), name="near_count", reset_less=True)
        m.d.comb += [before[n + 1].eq(before[n] + first[n]) for n in range(NEIGHBOURS)]
        m.d.sync += count.eq(Mux(before[-1] < c.near_slots, before[-1], c.near_slots))
        for place, found in enumerate(near):
            m.d.sync += found.eq(none)
            for n in range(NEIGHBOURS):
                with m.If(first[n] & (before[n] == place)):
                    m.d.sync += found.eq(slots[n])
        return near, count

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        none = 1 << c.label_bits
        start = delayed(m, self.start, self._before, "start")
        neighbours = delayed(m, self.neighbours, self._before, "neighbours", reset_less=True)
        own = delayed(m, self.own, self._before, "own", reset_less=True)
        taps = [start]
        for cycle in range(1, 9):
            taps.append(delayed(m, taps[-1], 1, f"started_{cycle}"))

        # The slots of the labels.
        table = word_memory(m, "slots", self, LabelWord.SUBSET, c.label_bits)
        slots: list[Value] = []
        for n in range(NEIGHBOURS):
            read = table.read_port()
            m.d.comb += read.addr.eq(neighbours[n].label)
            exists = delayed(m, neighbours[n].exists, 1, f"exists_{n}", reset_less=True)
            slots.append(Mux(exists, read.data, none))
        read = table.read_port()
        m.d.comb += read.addr.eq(own)

        near, count = self._near(m, self._sorted(m, slots), none)
        own = delayed(m, read.data, 4, "own_slot", reset_less=True)

        # The site's own slot among them, or its rank among the others; how many these are.
        by_count, fields = subset_sizes(c), label_entry(c)[LabelWord.SUBSET]
        sizes = word_memory(m, "sizes", self, LabelWord.SUBSET, by_count, Cat(
            self.table_data[fields[name].low:fields[name].end] for name in by_count.members), c.near_slots + 1)
        read = sizes.read_port()
        m.d.comb += read.addr.eq(count)
        inside = Signal(reset_less=True)
        rank = Signal(c.label_bits, name="rank", reset_less=True)
        m.d.sync += [inside.eq(Cat(slot == own for slot in near).any()), rank.eq(own - sum((slot < own for slot in near), 0))]
        size = Signal(by_count)
        window = Signal(range(c.subset_slots + 1))
        held_count = delayed(m, count, 1, "near_count", reset_less=True)
        m.d.comb += [size.as_value().eq(data.View(by_count, read.data).as_value()), window.eq(c.subset_slots - held_count)]

        # The number, below the others or below the window's slots, two cycles later.
        m.submodules.random = random = Random(c.window_bits, c.latency)
        m.d.comb += [random.advance.eq(taps[_NUMBER - c.latency.random]), random.load.eq(self.random_load),
                     random.rotate.eq(self.random_rotate), random.load_data.eq(self.random_data), self.random_word.eq(random.word)]
        product = Signal(c.window_bits + c.label_bits + 1, reset_less=True)
        chosen = Signal(c.label_bits + 1, reset_less=True)
        m.d.sync += [product.eq(random.value * Mux(inside, size.others, window)), chosen.eq(product >> c.window_bits)]
        rank, inside, others, weight = (delayed(m, value, 2, name, reset_less=True) for value, name in (
            (rank, "own_rank"), (inside, "inside"), (size.others, "others"), (size.weight, "weights")))
        near = [delayed(m, slot, 3, f"near_{n}", reset_less=True) for n, slot in enumerate(near)]
        window = delayed(m, window, 2, "window", reset_less=True)
        self._emit(m, taps[8], inside, rank, chosen, others, weight, near, window)
        return m

    def _emit(self, m: Module, ready: Value, inside: Value, rank: Value, chosen: Signal, others: Value, weight: Value,
              near: list[Value], window: Value) -> None:
        """A slot a cycle: the window's others, then M."""
        c = self.config
        back = Signal(range(-c.max_labels, c.max_labels + 1))
        m.d.comb += back.eq(rank - chosen)
        at = Signal(c.label_bits + 1, reset_less=True)
        number = Signal(c.label_bits, reset_less=True)
        all_others, left, held_weight = (Signal.like(value, name=name, reset_less=True) for value, name in (
            (others, "all_others"), (window, "left"), (weight, "held_weight")))
        queue = [Signal(c.label_bits, name=f"queue_{n}", reset_less=True) for n in range(len(near))]
        past = [Signal(c.label_bits + 1, name=f"past_{n}", reset_less=True) for n in range(len(near))]
        in_window = Signal()
        m.d.comb += in_window.eq(left != 0)
        m.d.sync += [at.eq(Mux(at + 1 == all_others, 0, at + 1)), number.eq(number + 1)]
        with m.If(in_window):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += [one.eq(other) for one, other in itertools.pairwise(queue)]
        with m.If(ready):
            m.d.sync += [at.eq(Mux(inside, chosen, Mux(back < 0, back + others, back))), number.eq(0), all_others.eq(others),
                         left.eq(window), held_weight.eq(weight), *(one.eq(slot) for one, slot in zip(queue, near, strict=True)),
                         *(one.eq(slot) for one, slot in zip(past, near, strict=True))]
        # A rank passes the slots of M that are not above it.
        slot: Value = at
        for n in range(len(near)):
            passed = Signal(c.label_bits + 1, name=f"passed_{n}", reset_less=True)
            m.d.sync += passed.eq(slot + (slot >= past[0]))
            slot = passed
            past = [delayed(m, one, 1, f"past_{n}_{k}", reset_less=True) for k, one in enumerate(past[1:])]
        partial, other, first, count = (delayed(m, value, len(near), name, reset_less=True) for value, name in (
            (all_others != 0, "partial"), (in_window, "other"), (queue[0], "first"), (number, "count")))
        held_weight = delayed(m, held_weight, len(near), "weight", reset_less=True)
        m.d.sync += [self.slot.eq(Mux(~partial, count, Mux(other, slot, first))),
                     self.weight.eq(Mux(partial & other, held_weight, 0))]
