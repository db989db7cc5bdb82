"""Cycles of visits: those of the machine's model and driver, on each part of it."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.backends.plan import Plan, solve
from mrfhw.cost.cost import Cost
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.sharing.jobs import WHOLE, Part, Visit
from mrfhw.sharing.profile import Bus, chains_on, part_of, profile_of
from mrfhw.system.errors import ProblemError
from sim.support.recorder import Load
from studies.sharing import segments, stereo

SAME = pytest.mark.claim("sharing", "a job's cycles are those of the model's runs and the driver's words, of the machine that its "
                         "part is")

CONFIG = Config.preset("matching", mesh_rows=4, mesh_cols=2, tile_rows=16, tile_cols=16)


@SAME
@pytest.mark.parametrize("problem", [stereo(30, 30, 8), segments(20, 31, 4)])
def test_a_whole_field(problem: Problem) -> None:
    run = Run(sweeps=6)
    ((visit,),) = chains_on(CONFIG, problem, run, Bus.of())
    found = solve("model", CONFIG, problem, run)
    assert visit.run == found.cycles - found.stall_cycles
    assert (visit.load, visit.read) == (found.loading_cycles, found.reading_cycles)


@SAME
def test_windows() -> None:
    """A visit for each window of each round, in the order in which they are swept."""
    problem, run = segments(70, 40, 4), Run(sweeps=5)
    plan = Plan.of("model", CONFIG, problem, 2)
    assert plan.windows is not None
    count = len(plan.windows.windows)
    ((*visits,),) = chains_on(CONFIG, problem, run, Bus.of(), visit=2)
    assert len(visits) == 3 * count
    found = solve("model", CONFIG, problem, run, visit=2)
    assert sum(visit.run for visit in visits) == found.cycles - found.stall_cycles
    assert sum(visit.read for visit in visits) == found.reading_cycles
    assert sum(visit.load for visit in visits) >= found.loading_cycles  # a driver leaves out what the machine holds
    assert visits[:count] == visits[count:2 * count]
    assert visits[-1].run < visits[0].run


@SAME
def test_a_packed_bus() -> None:
    """Words of sites, data of both pictures, weights and label, make place for six bytes a site; the other words stay."""
    problem, run = stereo(30, 30, 8), Run(sweeps=6)
    ((today,),), ((packed,),) = (chains_on(CONFIG, problem, run, bus) for bus in (Bus.of(), Bus(1, 1, 6)))
    derived, placed = Derived.of(CONFIG), Cost.of(CONFIG, problem, run=run).cycles.placement
    load = Load(placed)
    sites = sum(region.name not in {"RANDOM", "VECTORS", "PAIRWISE"} for tile in range(derived.spes)
                for region, _, _ in load.tile(tile))
    words, read = Cost.of(CONFIG, problem, run=run).cycles.loaded_words, today.read + 1 - derived.bus_read_cycles()
    assert words - packed.load == sites - 30 * 30 * 6 // 4
    assert today.load > words
    assert packed.read == read
    assert packed.run == today.run


@SAME
def test_parts_of_a_machine() -> None:
    shapes = {part: (machine.mesh_rows, machine.mesh_cols, machine.tile_rows) for part in
              (WHOLE, Part(1, 2), Part(1, 4), Part(3, 4), Part(1, 1, 2), Part(1, 8, 2)) for machine in [part_of(CONFIG, part)]}
    assert shapes == {WHOLE: (4, 2, 16), Part(1, 2): (2, 2, 16), Part(1, 4): (1, 2, 16), Part(3, 4): (3, 2, 16),
                      Part(1, 1, 2): (4, 2, 8), Part(1, 8, 2): (1, 1, 8)}


@SAME
def test_a_field_that_a_part_cannot_hold_goes_in_windows() -> None:
    profile = profile_of(CONFIG, segments(60, 30, 4), Run(sweeps=4), Bus(), (WHOLE, Part(1, 2), Part(1, 1, 2)), chains=2)
    assert {part: (len(chains), len(chains[0]) > 1) for part, chains in profile.items()} == {
        WHOLE: (2, False), Part(1, 2): (2, True), Part(1, 1, 2): (2, True)}
    assert all(isinstance(visit, Visit) for chains in profile.values() for chain in chains for visit in chain)


@SAME
def test_values_do_not_matter() -> None:
    one, other = (segments(20, 31, 4, np.full((20, 31), grey, np.uint8)) for grey in (0, 60))
    assert chains_on(CONFIG, one, Run(sweeps=3), Bus()) == chains_on(CONFIG, other, Run(sweeps=3), Bus())


@pytest.mark.claim("sharing", "weights, parts and jobs that are none are one line")
@pytest.mark.parametrize(("part", "said"), [
    (Part(1, 3), "parts are 3; a mesh of 4x2 tiles does not divide into so many equal ones: give 1, or a number that divides it"),
    (Part(1, 16), "parts are 16; a mesh of 4x2 tiles does not divide into so many equal ones: give 1, or a number that divides it"),
    (Part(1, 1, 3), "contexts are 3; tiles of 16 rows do not divide into so many of an even number of rows: give 1, or a number "
     "that divides them"),
])
def test_parts_that_do_not_divide_the_machine(part: Part, said: str) -> None:
    with pytest.raises(ProblemError) as raised:
        part_of(CONFIG, part)
    assert str(raised.value) == said
