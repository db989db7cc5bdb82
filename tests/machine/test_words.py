"""Words of bus, memories and log: their fields lie apart, and gateware and readers have them alike."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth import Shape

from mrfhw.gateware.control.ops import parameters
from mrfhw.gateware.control.run import problem_registers
from mrfhw.gateware.tile.labels import entry_layout, entry_name
from mrfhw.machine import link_pace
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.entry_sums import entries_of_sums, sums_of_entries
from mrfhw.machine.registers import MODE, REGISTERS, mode_fields, register_bits
from mrfhw.machine.words import SUM, entry_words, label_entry, log_message

MACHINES = [*map(Derived.preset, PRESETS),
            Derived(data_bits_2=3, data_bits_3=2, singleton_cap=1, distance="both", edge_bits=2, label_bits=8, counter_bits=16),
            Derived(doubletons="table", pairwise_bits=2, vector_bits=0, shift_bits=0)]


@pytest.mark.parametrize("c", MACHINES)
def test_fields_lie_apart(c: Derived) -> None:
    words = [log_message(c), *entry_words(c), *label_entry(c).values(), mode_fields(c)]
    for word in words:
        places = np.zeros(64, np.int64)
        for field in word.values():
            places[field.low:field.end] += 1
        assert places.max() <= 1
    assert all(field.end <= 32 for word in words[1:] for field in word.values())
    assert max(field.end for field in log_message(c).values()) == c.message_bits


@pytest.mark.parametrize("c", MACHINES)
def test_a_sum_lies_side_by_side_in_the_memory(c: Derived) -> None:
    layout, low = entry_layout(c), []
    for word, name in SUM:
        low.append(layout[entry_name(word, name)].offset)
    widths = [entry_words(c)[word][name].bits for word, name in SUM]
    assert low == [low[0] + sum(widths[:n]) for n in range(len(SUM))]
    assert sum(widths) == c.sum_bits
    assert low[-1] + widths[-1] == layout.size


def test_sums_go_through_entries() -> None:
    c = Derived(counter_bits=3, label_bits=2)
    sums = np.arange(1 << c.sum_bits).reshape(16, -1)
    entries = entries_of_sums(c, np.full_like(sums, 3), sums)
    np.testing.assert_array_equal(sums_of_entries(c, entries), sums)
    assert (entries[..., 0] == 3).all()
    assert entries[..., 1:].max(axis=(0, 1)).tolist() == [7, 3, 7]


@pytest.mark.parametrize("c", MACHINES)
def test_the_gateware_has_the_registers(c: Config) -> None:
    """Each that can be written in one of its layouts, with the table's width; the others are those that the machine lacks."""
    rows = {name for name, register in REGISTERS.items() if register.access == "rw"}
    held = {**problem_registers(c).members, **parameters(c).members}
    found = {"energy_shift" if name == "shift" else name: Shape.cast(shape).width for name, shape in held.items()
             if name not in MODE}
    found["mode"] = max(field.end for field in mode_fields(Derived.of(c)).values())
    assert register_bits(Derived.of(c), *rows) == found
    assert {name for name in held if name in MODE} == {*mode_fields(Derived.of(c))}
    assert max(found.values()) <= 32


@pytest.mark.claim("host", "times between looks at a run are positive, and grow")
def test_times_between_looks() -> None:
    assert 0 < link_pace.SHORT < link_pace.LONG < 1
    assert 0 < link_pace.QUIET < link_pace.PAUSE < 1
