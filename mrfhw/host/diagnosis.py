"""Tests of a board over its link, part by part: what `mrfhw diagnose` prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mrfhw.driver.driver import ChipError
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.field.result import Result, first_difference
from mrfhw.host.links import LinkError
from mrfhw.host.remote import RemoteBackend, connect
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import REGISTERS, Region, register, register_bits
from mrfhw.machine.words import EDGES, entry_words
from mrfhw.samplers.random import lane_states
from mrfhw.twin.machine import Machine, complete

__all__ = ["Check", "check_every", "diagnose"]

SEED = 20


@dataclass(frozen=True)
class Check:
    """A tested part of a board, whether it works, and what was found."""

    part: str
    passed: bool
    text: str


def check_every(every: int) -> None:
    """Raises ProblemError."""
    if every < 1:
        raise ProblemError(f"every is {every}; each so many words are tested: give 1 or more")


def diagnose(address: str, config: Config, every: int = 1) -> Iterator[Check]:
    """Yields one check after the other. every: 1 tests every word of the memories, n every n-th word.

    Raises LinkError where the link breaks or no board is there, ProblemError for a wrong `every`.
    """
    check_every(every)
    try:
        session = connect(address, config)
    except LinkError:
        raise
    except ChipError as error:
        yield Check("identity", False, str(error))
        return
    with session:
        yield Check("identity", True, f"interface and circuit {session.driver.digest}")
        session.settle()
        for number, place in enumerate(session.places):
            of_cluster = f"cluster {number}: " if config.seats > 1 else ""
            for check in _parts(place, every):
                yield dataclasses.replace(check, part=of_cluster + check.part)


def _parts(session: RemoteBackend, every: int) -> Iterator[Check]:
    """The parts of a machine, or of a cluster of it."""
    yield _registers(session)
    more = (Region.EDGES,) if session.config.edge_bits else ()
    for region in (Region.S1, *more, Region.S2, Region.LMEM):
        yield _memory(session, region, every)
    yield _generators(session)
    yield from _field(session)


def _register_widths(config: Config) -> dict[str, int]:
    """Bits of each register that can be written and read."""
    return register_bits(Derived.of(config), *(name for name, one in REGISTERS.items() if one.access == "rw"))


def _registers(session: RemoteBackend) -> Check:
    """All ones, all zeros and a pattern of its own in each register, the others holding theirs."""
    chip = session.driver.chip
    widths = _register_widths(session.config)
    addresses = np.array([register(name) for name in widths], np.uint32)
    masks = np.array([(1 << bits) - 1 for bits in widths.values()], np.uint32)
    for pattern in (np.full(len(masks), 0xFFFFFFFF, np.uint32), _pattern(addresses), ~_pattern(addresses), np.zeros_like(masks)):
        chip.write(addresses, pattern)
        found = chip.read(addresses)
        wrong = np.flatnonzero(found != pattern & masks)
        if len(wrong):
            at = int(wrong[0])
            return Check("registers", False, f"{list(widths)[at]} reads {int(found[at]):#x}, not {int(pattern[at] & masks[at]):#x}")
    return Check("registers", True, f"{len(widths)} hold what is written")


def _pattern(addresses: np.ndarray) -> np.ndarray:
    """A word that tells each address from the others."""
    mixed = addresses.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(29)
    return (mixed & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _words(config: Config, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """(offset, mask) of each word of a tile's memory, in the order in which they may be written."""
    config = Derived.of(config)
    half = np.arange(config.tile_sites // 2)
    datum = (1 << config.datum_bits + 1) - 1
    if region in (Region.S1, Region.EDGES):
        offsets = np.concatenate([half, half + (1 << config.site_address_bits - 1)])
        return offsets, np.full(len(offsets), datum if region is Region.S1 else (1 << len(EDGES) * config.edge_bits) - 1, np.uint32)
    if region is Region.S2:
        bank, word = np.divmod(np.arange(config.s2_banks * config.s2_bank_depth), config.s2_bank_depth)
        return (bank << config.s2_address_bits) + word, np.full(len(bank), datum, np.uint32)
    depth = np.arange(config.lmem_bank_depth // 2)
    entry = np.concatenate([depth, depth + (1 << config.lmem_address_bits - 1)])
    bank = np.arange(config.lmem_banks)[:, None]
    entry = ((bank << config.lmem_address_bits) + entry).ravel()
    current, before = (sum(field.mask << field.low for field in word.values()) for word in entry_words(config))
    # The second word is held until the first is written.
    return (np.stack([2 * entry + 1, 2 * entry], 1).ravel(),
            np.tile(np.array([before, current], np.uint32), len(entry)))


def _memory(session: RemoteBackend, region: Region, every: int) -> Check:
    """March test: write and read a word of each address's own upwards, then write and read its complement downwards."""
    config, chip, amap = Derived.of(session.config), session.driver.chip, AddressMap(session.config)
    part, (offsets, masks) = f"{region.name.lower()} memories", _words(config, region)
    pairs = 2 if region is Region.LMEM else 1
    chosen = (np.arange(0, len(offsets) // pairs, every)[:, None] * pairs + np.arange(pairs)).ravel()
    tiles = np.array([amap.tile(tile, region) for tile in range(config.spes)], np.int64)
    addresses = (tiles[:, None] + offsets[chosen]).astype(np.uint32).reshape(-1, pairs)
    wanted_bits = np.tile(masks[chosen], config.spes).reshape(-1, pairs)
    for pattern, order in ((_pattern(addresses), 1), (~_pattern(addresses), -1)):
        where = addresses[::order].ravel()
        chip.write(where, pattern[::order].ravel())
        found, wanted = chip.read(where), (pattern & wanted_bits)[::order].ravel()
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            at = int(wrong[0])
            tile = int(np.searchsorted(tiles, int(where[at]), "right")) - 1
            return Check(part, False, f"{len(wrong)} of {len(where)} words are wrong, first of tile {tile} at "
                         f"{int(where[at]):#x}: {int(found[at]):#x}, not {int(wanted[at]):#x}")
    return Check(part, True, f"{addresses.size} words of {config.spes} tiles hold their own and its complement")


def _generators(session: RemoteBackend) -> Check:
    config, amap = Derived.of(session.config), AddressMap(session.config)
    wanted = lane_states(SEED, config.generators)
    session.driver.chip.write(np.repeat(amap.generators(), 4).astype(np.uint32), wanted.ravel())
    for _ in range(2):  # the first reading must have left them as they were
        wrong = np.flatnonzero((session.driver.generators() != wanted).any(1))
        if len(wrong):
            return Check("generators", False,
                         f"{len(wrong)} of {config.generators} do not hold their states, first number {wrong[0]}")
    return Check("generators", True, f"{config.generators} hold their states")


def _small_problem(config: Config) -> Problem:
    """A few sites in every tile, with a second image that reaches into the next."""
    config = Derived.of(config)
    rows, cols = config.mesh_rows * min(config.tile_rows, 4), config.mesh_cols * min(config.tile_cols, max(4, config.col_step))
    rng = np.random.default_rng(SEED)
    labels = min(max(4, config.lanes * (config.subset_slots + 1)) if config.subset_slots else 4, config.max_labels)
    images = np.stack([rng.integers(0, 1 << bits, (2, rows, cols)) for bits in config.channel_bits], -1)
    kinds = (config.singletons[0], *("absolute" for _ in config.channel_bits[1:]))
    edges = rng.integers(0, 1 << config.edge_bits, (rows, cols, 2)) if config.edge_bits else None
    return Problem(labels=labels, singleton1=images[0], singleton2=images[1], offsets=np.array([(0, -n) for n in range(labels)]),
                   singleton=kinds, edges=edges, tau=config.doubleton_max, schedule=Schedule.constant(8.0))


def _field(session: RemoteBackend) -> Iterator[Check]:
    """The whole machine on a small field, compared with the model, and the number of steps of its generators."""
    config = Derived.of(session.config)
    problem, run = _small_problem(config), Run(sweeps=20, burn_in=5, seed=SEED)
    model = Machine(config, problem, run)
    wanted = complete(model, None, None)
    found: Result | ChipError
    try:
        found = session.solve(problem, run)
    except LinkError:
        raise
    except ChipError as error:
        found = error
    states = session.driver.generators()
    yield Check("random numbers", bool(np.array_equal(states, model.random)),
                f"after the field below {(states == model.random).all(1).sum()} of {config.generators} streams equal the model's")
    if isinstance(found, ChipError):
        yield Check("field", False, str(found))
        return
    unstalled = [(r.cycles or 0) - (r.stall_cycles or 0) for r in (found, wanted)]
    # The link takes the log when it can, so the stalls are its own.
    found.cycles, found.stall_cycles = wanted.cycles, wanted.stall_cycles
    difference = first_difference(found, wanted)
    if difference is None and unstalled[0] != unstalled[1]:
        difference = f"{unstalled[0]} cycles without stalls, the model {unstalled[1]}"
    rows, cols = problem.shape
    yield Check("field", difference is None,
                difference or f"{cols}x{rows} sites, {run.sweeps} sweeps, {wanted.log_messages} log messages: labels, histogram, "
                "LMem, messages and cycles are the model's")
    yield _sums(session, problem, dataclasses.replace(run, estimate="mean"))


def _sums(session: RemoteBackend, problem: Problem, run: Run) -> Check:
    """The same field for its mean, which LMem holds in another way and of which nothing is logged."""
    wanted = complete(Machine(session.config, problem, run), None, None)
    try:
        difference = first_difference(session.solve(problem, run), wanted)
    except LinkError:
        raise
    except ChipError as error:
        return Check("sums", False, str(error))
    return Check("sums", difference is None, difference or f"of {run.counted} labels of each site, without a log: the model's")
