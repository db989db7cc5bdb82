"""The limits between a machine's parameters, each of which is within its own."""

from __future__ import annotations

from collections.abc import Callable

from mrfhw.machine.address_space import ADDRESS_LIMIT
from mrfhw.machine.address_widths import AddressWidths
from mrfhw.machine.bits import bits_for
from mrfhw.machine.fields import WORDS_MAX, Fields
from mrfhw.machine.numbers import DIFFERENCE_BITS, Numbers

__all__ = ["CONSTRAINTS", "first_broken"]


def _multiple(name: str, value: int, step: int, why: str) -> str | None:
    if value % step == 0:
        return None
    return f"{name} is {value}; with {why} it must be a multiple of {step}: give {value + -value % step}"


def tile_rows(c: Numbers) -> str | None:
    """A tile's rows fill the banks of the label memory."""
    return _multiple("tile_rows", c.tile_rows, c.row_step, f"lmem_banks = {c.lmem_banks}")


def tile_cols(c: Numbers) -> str | None:
    """A tile's columns fill groups of sites of one colour, and the banks of the label memory."""
    lanes = f", lanes = {c.lanes}" if c.lanes > 1 else ""
    return _multiple("tile_cols", c.tile_cols, c.col_step, f"spus = {c.spus}{lanes} and lmem_banks = {c.lmem_banks}")


def lanes(c: Numbers) -> str | None:
    """Lanes that share a site draw its label by race, in an SPE with one unit."""
    if c.lanes == 1:
        return None
    if c.sampler.name != "race":
        return (f"lanes is {c.lanes} and the sampler is {c.sampler.name}; it adds up one label after the other and has one lane: "
                "give lanes = 1, or the sampler race")
    if c.spus > 1:
        return f"lanes is {c.lanes} and spus is {c.spus}; an SPE whose lanes share a site has one unit: give spus = 1, or lanes = 1"
    if c.lanes > c.max_labels:
        return f"lanes is {c.lanes}; label_bits = {c.label_bits} has {c.max_labels} labels: give at most so many lanes"
    return None


def subset_slots(c: Numbers) -> str | None:
    """Subsets are drawn by race, in an SPE with one unit, which reads neighbours' labels and its site's own from four banks."""
    if not c.subset_slots:
        return None
    if c.sampler.name != "race":
        return (f"subset_slots is {c.subset_slots} and the sampler is {c.sampler.name}; it adds up one label after the other, "
                "all of them: give subset_slots = 0, or the sampler race")
    if c.spus > 1:
        return (f"subset_slots is {c.subset_slots} and spus is {c.spus}; an SPE chooses the slots of one unit: give spus = 1, or "
                "subset_slots = 0")
    if c.lmem_banks != 4:
        return (f"subset_slots is {c.subset_slots} and lmem_banks is {c.lmem_banks}; the labels that choose a subset are read in "
                "two cycles: give lmem_banks = 4, or subset_slots = 0")
    slots = c.max_labels // c.lanes
    most, fill = slots - 1, f"{c.max_labels} labels fill {slots} slots of {c.lanes} lane{'s' * (c.lanes > 1)}"
    if most < 2:
        return (f"subset_slots is {c.subset_slots}; {fill}, too few for a subset: give 0, more label_bits or fewer lanes")
    if c.subset_slots > most:
        return f"subset_slots is {c.subset_slots}; {fill}, and a subset has 2 to {most} of them: give 0, or 2 to {most}"
    return None


def contexts(c: Numbers) -> str | None:
    """Contexts take turns at the tiles of one cluster."""
    if c.contexts > 1 and c.clusters > 1:
        return (f"contexts is {c.contexts} and clusters is {c.clusters}; a machine holds several problems in one way or the other: "
                "give contexts = 1, or clusters = 1")
    return None


def tile_sites(c: Numbers) -> str | None:
    """A tile's memories have at most 2^16 sites."""
    if c.tile_sites > WORDS_MAX:
        return f"tile_rows x tile_cols is {c.tile_sites} sites; the limit is {WORDS_MAX}: use more SPEs"
    return None


def site_address(c: Numbers) -> str | None:
    """A message's address reaches every site."""
    if c.address_bits and c.sites > 1 << c.address_bits:
        return (f"address_bits is {c.address_bits}; {c.sites} sites need {bits_for(c.sites)}: give that, or 0 to have it "
                "chosen")
    return None


def difference(c: Numbers) -> str | None:
    """A difference of data is squared."""
    if c.distance != "hamming" and c.data_bits > DIFFERENCE_BITS:
        return (f"data_bits is {c.data_bits}; a machine that takes differences of data (distance = {c.distance}) has at most "
                f"{DIFFERENCE_BITS}: give distance = hamming, or fewer bits")
    return None


def channels(c: Numbers) -> str | None:
    """Channels follow one another, and a datum is one word of the bus."""
    if c.data_bits_3 and not c.data_bits_2:
        return f"data_bits_3 is {c.data_bits_3} and data_bits_2 is 0; the third channel follows the second: give data_bits_2"
    if c.datum_bits > 31:
        return (f"data_bits + data_bits_2 + data_bits_3 is {c.datum_bits}; the limit is 31, so that a datum and its flag are one "
                "word of the bus: give fewer")
    return None


def vectors(c: Numbers) -> str | None:
    """A vector's components have a sign, and serve a function of the gateware's."""
    if c.vector_bits and c.doubletons == "table":
        return (f"vector_bits is {c.vector_bits} and doubletons is table; what the squared distance of vectors comes to is in the "
                "table: give vector_bits = 0")
    if c.vector_bits == 1:
        return "vector_bits is 1; a signed component has 2 bits or more: give 2 or more, or 0 for no vectors"
    return None


def doubleton_table(c: Numbers) -> str | None:
    """A machine whose doubletons are a table has one."""
    if c.doubletons == "table" and not c.pairwise_bits:
        return "doubletons is table and pairwise_bits is 0; the table's entries have a width: give pairwise_bits = 1 or more"
    return None


def line_bytes(c: Numbers) -> str | None:
    """A line is whole bytes."""
    if c.line_bits % 8:
        return f"line_bits is {c.line_bits}; a line is whole bytes: give {c.line_bits + -c.line_bits % 8}"
    return None


def bus_address(c: Numbers) -> str | None:
    """A byte address of the bus has at most 32 bits."""
    needed = AddressWidths(c).bus_bits
    if needed > ADDRESS_LIMIT:
        fewer = next((f"fewer {what} or SPEs" for what in ("clusters", "contexts") if getattr(c, what) > 1), "fewer SPEs")
        return (f"the machine needs bus addresses of {needed} bits; the limit is {ADDRESS_LIMIT}: use {fewer}, smaller "
                "tiles or a smaller hub_fan_in")
    return None


def line_message(c: Numbers) -> str | None:
    """A line holds at least one message."""
    if c.message_bits > c.line_bits:
        return f"line_bits is {c.line_bits}; a message has {c.message_bits} bits: give a wider line"
    return None


def line_levels(c: Numbers) -> str | None:
    """The log's tree has the levels that pass lines."""
    if c.line_levels > c.tree_levels:
        return (f"line_levels is {c.line_levels}; the tree of {c.spes} SPEs with hub_fan_in = {c.hub_fan_in} has {c.tree_levels} "
                f"levels: give {f'{c.tree_levels} or less' if c.tree_levels else 0}")
    return None


# Each takes the numbers of parameters and returns the line of what is wrong, None where nothing is; the first broken one is said.
CONSTRAINTS: tuple[Callable[[Numbers], str | None], ...] = (
    lanes, subset_slots, contexts, tile_rows, tile_cols, tile_sites, difference, channels, doubleton_table, vectors, site_address,
    line_bytes, bus_address, line_message, line_levels)


def first_broken(fields: Fields) -> str | None:
    """The line of the first limit that parameters, each within its own, break; None where they are a machine's."""
    numbers = Numbers.unchecked(vars(fields))
    return next((line for constraint in CONSTRAINTS if (line := constraint(numbers)) is not None), None)
