"""The cycles of a job's visits on each part of a machine, from what the machine costs and from a bus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mrfhw.backends.plan import Plan
from mrfhw.cost.cost import Cost
from mrfhw.driver.driver import Driver, NoChip
from mrfhw.field.given import whole_number
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.numbers import BUS_BITS
from mrfhw.machine.registers import Region
from mrfhw.placement.placement import Placement
from mrfhw.sharing.jobs import WHOLE, Chains, Part, Visit
from mrfhw.system.errors import ProblemError

__all__ = ["Bus", "chains_on", "part_of", "profile_of"]

WORD_BYTES = BUS_BITS // 8
_SITES = [Region.S1, Region.S2, Region.LMEM, Region.EDGES, Region.S2_ROW, Region.LMEM_ROW, Region.SITE]  # memories of sites


@dataclass(frozen=True)
class Bus:
    """What a machine's bus takes to load and read.

    write, read: cycles of a word. load_bytes: of a site of the field, data, weights and label together, packed into words;
    None: the words that the driver writes. Registers, tables and states of generators are words of their own either way, and so is
    what is read, an entry of LMem for each site of the tiles.
    """

    write: int = 1
    read: int = 1
    load_bytes: int | None = 6

    def __post_init__(self) -> None:
        for name in ("write", "read"):
            whole_number(name, getattr(self, name), 1, 1024, "give one of them")
        if self.load_bytes is not None:
            whole_number("load_bytes", self.load_bytes, 1, 1024, "give one of them")

    @classmethod
    def of(cls) -> Bus:
        """The machine's own bus and the driver's words."""
        return cls(load_bytes=None)

    def cycles(self, cost: Cost) -> tuple[int, int]:
        """(loading, reading) of the problem of a cost, the bus's latency included where the words are the driver's."""
        cycles, placement = cost.cycles, cost.cycles.placement
        if self.load_bytes is None:
            return cycles.loading * self.write, cycles.reading * self.read
        packed = -site_words(placement) - (-placement.problem.sites * self.load_bytes // WORD_BYTES)
        return (cycles.loaded_words + packed) * self.write, cycles.read_words * self.read


class _OfSites(NoChip):
    """Counts the words of sites: data, weights of edges and labels."""

    def __init__(self, config: Config):
        self._map, self.words = AddressMap(config), 0

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        m = self._map
        region = addresses.astype(np.int64) >> m.offset_bits & (1 << m.region_bits) - 1
        self.words += int((np.isin(region, _SITES) & (addresses >> m.tiles_bit != 0)).sum())


def site_words(placement: Placement) -> int:
    """Words that a driver writes for the sites of all tiles, padding included: data, weights of edges and labels."""
    counting = _OfSites(placement.config)
    Driver(placement.config, counting).load(placement)
    return counting.words


def part_of(config: Config, part: Part) -> Config:
    """The machine that a part is: a cluster with fewer tiles, tiles with smaller memories.

    A mesh in 2, 4, 8, ... parts is cut across its longer side again and again; other parts are cut from its rows. A context holds
    fewer rows of sites. Raises ProblemError where the mesh or the tiles do not divide so.
    """
    rows, cols, left = config.mesh_rows, config.mesh_cols, part.of
    if part.units == 1:
        while left % 2 == 0 and (rows % 2 == 0 or cols % 2 == 0):
            rows, cols = (rows // 2, cols) if rows % 2 == 0 and (rows >= cols or cols % 2) else (rows, cols // 2)
            left //= 2
    if rows % left:
        raise ProblemError(f"parts are {part.of}; a mesh of {config.mesh_rows}x{config.mesh_cols} tiles does not divide into so "
                           "many equal ones: give 1, or a number that divides it")
    rows = rows // left * part.units
    if config.tile_rows % (2 * part.contexts):
        raise ProblemError(f"contexts are {part.contexts}; tiles of {config.tile_rows} rows do not divide into so many of an even "
                           "number of rows: give 1, or a number that divides them")
    if part == WHOLE:
        return config
    try:
        return config.changed(mesh_rows=rows, mesh_cols=cols, tile_rows=config.tile_rows // part.contexts,
                              s2_words=config.s2_words // part.contexts)
    except ConfigError as error:
        raise ProblemError(f"{part} is no machine: {error}") from None


def chains_on(config: Config, problem: Problem, run: Run, bus: Bus, chains: int = 1, visit: int | None = None) -> Chains:
    """Visits of so many chains of a problem on a machine, whole or window by window with `visit` sweeps each.

    Each visit is loaded whole and read whole; a log that the machine waits for is not counted. Raises ProblemError for a field that
    the machine does not take.
    """
    plan = Plan.of("model", config, problem, visit)
    problems = [problem] if plan.windows is None else [placed.problem for placed in plan.windows.placements]
    pieces = [run.sweeps]
    if plan.windows is not None:
        whole, rest = divmod(run.sweeps, plan.visit)
        pieces = [plan.visit] * whole + [rest] * (rest > 0)

    of_shape = {one.shape: number for number, one in enumerate(problems)}
    costs = {number: Cost.of(config, problems[number], run=run) for number in of_shape.values()}
    transfers = {number: bus.cycles(cost) for number, cost in costs.items()}
    visits = []
    for sweeps in pieces:
        for one in problems:
            number = of_shape[one.shape]
            load, read = transfers[number]
            visits.append(Visit(load, costs[number].cycles.of_sweeps(sweeps), read))
    return (tuple(visits),) * whole_number("chains", chains, 1, 1024, "give one of them")


def profile_of(config: Config, problem: Problem, run: Run, bus: Bus, parts: Iterable[Part], chains: int = 1,
               visit: int | None = None) -> dict[Part, Chains]:
    """`chains_on` of each part of a machine. Raises ProblemError where there is no such part, or it does not take the field."""
    return {part: chains_on(part_of(config, part), problem, run, bus, chains, visit) for part in parts}
