"""Two contexts of a compiled chip, whose runs follow one another: each gives the model's while the other is loaded and read."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.backends.backend import advance_together
from mrfhw.driver.driver import ChipError, Driver
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.registers import CONTROL_BITS, REGISTERS
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from mrfhw.runs.chains import sample
from mrfhw.simulation.chip import ChipBackend, CompiledChip
from mrfhw.twin.machine import solve
from support.differential import KINDS, drawn_machine, drawn_problem
from support.tenants import Tenant, fields

pytestmark = [pytest.mark.tools, pytest.mark.slow, pytest.mark.claim("ContextCluster",
    "each context's labels, LMem and log are those of a machine of its own, whatever is loaded, run and read in the other and "
    "whenever; machines of every feature (more: make long)")]

ONE = Config(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8, label_bits=3, counter_bits=4, hub_depth=1, line_bits=64,
             temperature_table=4, sampler=Race(uniform_bits=8))
TWO = ONE.changed(contexts=2)
HOT = Problem(labels=8, singleton1=np.zeros((8, 16), int), constants=np.zeros(8, int), schedule=Schedule.constant(200.0))


def mixed(one: Config, chip: ChipBackend, rng: np.random.Generator, kind: str) -> None:
    """Runs of random problems in both contexts, at random times."""
    found = [[drawn_problem(rng, kind, one) for _ in range(rng.integers(1, 4))] for _ in chip.places]
    advance_together([Tenant(place, one, [(p.problem, p.run) for p in problems if p is not None], rng)  # type: ignore[misc]
                      for place, problems in zip(chip.places, found, strict=True)])


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(100 + k, marks=pytest.mark.long) for k in range(100))])
def test_random_machines(seed: int) -> None:
    rng = np.random.default_rng((51, seed))
    while True:
        kind, one = drawn_machine(rng)
        if seed >= 100 or kind == KINDS[seed % len(KINDS)]:
            break
    with ChipBackend(CompiledChip(one.changed(contexts=2), (256, 0) if seed % 2 else (64, seed), quick=True)) as chip:
        for _ in range(3):
            mixed(one, chip, rng, kind)


def test_tables_of_their_own() -> None:
    """Labels' vectors, constants and offsets, and tables of doubletons, unlike in the two contexts."""
    one = ONE.changed(vector_bits=4, pairwise_bits=3, edge_bits=2)
    rng = np.random.default_rng(8)

    def problems(doubleton: str) -> list[tuple[Problem, Run]]:
        found = []
        for labels in (8, 7, 6):
            drawn = {"vectors": rng.integers(-7, 8, (labels, 2))} if doubleton == "squared" else {
                "pairwise": rng.integers(0, 8, (labels, labels))}
            found.append((Problem(labels=labels, singleton1=rng.integers(0, 64, (8, 16)), constants=rng.integers(0, 64, labels),
                                  doubleton=doubleton, beta=4, edges=rng.integers(0, 4, (8, 16, 2)),
                                  schedule=Schedule.constant(60.0), **drawn), Run(sweeps=60, burn_in=5, seed=labels)))
        return found

    with ChipBackend(CompiledChip(one.changed(contexts=2), quick=True)) as chip:
        for first, second in (("squared", "squared"), ("table", "table"), ("squared", "table")):
            advance_together([Tenant(place, one, problems(doubleton), rng)  # type: ignore[misc]
                              for place, doubleton in zip(chip.places, (first, second), strict=True)])


def test_subsets_of_their_own() -> None:
    """A subset leaves labels out in one context and none in the other, which draws no numbers for it."""
    one = ONE.changed(lmem_banks=4, subset_slots=2)
    rng = np.random.default_rng(9)

    def placed(labels: int, sweeps: int) -> Placement:
        problem = Problem(labels=labels, singleton1=rng.integers(0, 64, (8, 16)), constants=rng.integers(0, 64, labels),
                          schedule=Schedule.constant(60.0))
        return Placement(one, problem, Run(sweeps=sweeps, burn_in=0, seed=labels))

    with ChipBackend(CompiledChip(one.changed(contexts=2), quick=True)) as chip:
        places = [place.driver for place in chip.places]
        for running, beside in (places, places[::-1]):
            long, short = placed(8, 400), placed(2, 30)
            running.load(long)
            running.start()
            beside.load(short)
            assert running.get("sweep") == [0]
            beside.start()
            for driver, p in ((running, long), (beside, short)):
                while driver.busy:
                    chip.chip.advance(100)
                assert np.array_equal(driver.lmem(p)[..., 0], solve(one, p.problem, p.run).last)


@pytest.mark.parametrize("seed", [0, 1])
def test_random_mixes(seed: int) -> None:
    """Many, of one machine."""
    rng = np.random.default_rng(seed)
    with ChipBackend(CompiledChip(TWO, (256, 0) if seed else (16, 3), quick=True)) as chip:
        for _ in range(10):
            advance_together([Tenant(place, ONE, fields(rng), rng) for place in chip.places])  # type: ignore[misc]


def test_a_run_waits_for_the_tiles() -> None:
    """It is busy, counts no cycles, and its tiles refuse to be accessed; the other context is loaded and read meanwhile.

    A stop ends a run after its sweep, and one that waits after its first.
    """
    control, stop = np.array([REGISTERS["control"].index], np.uint32), np.array([1 << CONTROL_BITS["stop"]], np.uint32)
    placed = [Placement(ONE, HOT, Run(sweeps=sweeps, burn_in=0, seed=sweeps)) for sweeps in (30, 20_000, 40)]
    with ChipBackend(CompiledChip(TWO, quick=True)) as chip:
        first, second = (place.driver for place in chip.places)

        def labels(driver: Driver, p: Placement) -> np.ndarray:
            return driver.lmem(p)[..., 0]

        for driver in (first, second):
            driver.load(placed[0])
        states, entries = first.generators(), first.lmem(placed[0])
        assert len(np.unique(states)) == states.size
        first.load(placed[1])
        first.start()
        assert np.array_equal(second.generators(), states)
        assert np.array_equal(second.lmem(placed[0]), entries)
        second.start()
        for _ in range(20):
            assert second.get("status", "cycles", "sweep") == [3, 0, 0]
        assert first.get("status")[0] == 3
        for driver in (first, second):
            with pytest.raises(ChipError, match="refused"):
                driver.generators()
        second.chip.write(control, stop)
        first.chip.write(control, stop)
        while first.busy:
            chip.chip.advance(100)
        stopped = dataclasses.replace(placed[1].run, sweeps=first.get("sweep")[0])
        assert np.array_equal(labels(first, placed[1]), solve(ONE, HOT, stopped).last)
        while second.busy:
            chip.chip.advance(100)
        assert second.get("sweep") == [1]
        assert np.array_equal(labels(second, placed[0]), solve(ONE, HOT, dataclasses.replace(placed[0].run, sweeps=1)).last)
        # One is loaded while the other runs: nothing is written into what runs. Sweeps are counted from the start that waits.
        first.load(placed[1])
        first.start()
        second.load(placed[2])
        assert first.busy
        second.start()
        assert second.get("status", "sweep") == [3, 0]
        second.chip.write(control, stop)  # while it waits; it goes on with the sweeps that are left
        first.chip.write(control, stop)
        while second.busy:
            chip.chip.advance(100)
        assert second.get("sweep") == [1]
        second.start(resume=True)
        while second.busy:
            chip.chip.advance(100)
        assert np.array_equal(labels(second, placed[2]), solve(ONE, HOT, placed[2].run).last)


def test_chains_of_a_run() -> None:
    """Whole and in windows: the same bits, and a window is loaded while another is swept."""
    rng = np.random.default_rng(3)
    for shape, visit in (((8, 16), None), ((12, 21), 7)):
        problem = Problem(labels=5, singleton1=rng.integers(0, 64, shape), constants=rng.integers(0, 64, 5),
                          schedule=Schedule.constant(25.0))
        run = Run(sweeps=60, burn_in=4, seed=5)
        one, several = (sample("rtl", config, problem, run, chains=3, visit=visit) for config in (ONE, TWO))
        for found, wanted in zip(several.results, one.results, strict=True):
            assert found.cycles - found.stall_cycles == wanted.cycles - wanted.stall_cycles
            assert np.array_equal(found.last, wanted.last)
            assert np.array_equal(found.counts, wanted.counts)


def test_contexts_and_clusters_are_two_ways() -> None:
    with pytest.raises(ConfigError, match=r"^contexts is 2 and clusters is 4; .*: give contexts = 1, or clusters = 1$"):
        ONE.changed(contexts=2, clusters=4)
    assert "contexts" not in ONE.to_dict()
    assert TWO.cluster == ONE
