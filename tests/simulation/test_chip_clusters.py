"""Several clusters of a compiled chip, each a machine of its own: whatever the others do, what it gives is the model's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from mrfhw.backends.backend import ActiveRun, Pauses, advance_together, at_once
from mrfhw.driver.clusters import SplitLog, cluster_chip
from mrfhw.driver.driver import ChipError
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.cluster_registers import LOG_TURN, TURN_LINES, switch_line
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Keeping
from mrfhw.simulation.chip import ChipBackend, CompiledChip
from mrfhw.twin.machine import solve
from support.tenants import Tenant, fields, same_but_stalls

pytestmark = [pytest.mark.tools, pytest.mark.slow]

ONE = Config(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8, label_bits=3, counter_bits=4, hub_depth=1, line_bits=64,
             temperature_table=4, sampler=Race(uniform_bits=8))
TENANTS = pytest.mark.claim("clusters",
    "each tenant's labels, LMem and log are those of a machine of its own, whatever the others run and whenever they start: 12 "
    "random mixes (make long: 1,000)")
SHARES = pytest.mark.claim("clusters",
    "beside a full log one that is nearly idle loses at most 1 % of its cycles; two full ones share within 5 % of their turns")
SIDE_BY_SIDE = pytest.mark.claim("clusters", "chains run side by side on a compiled chip's clusters, with the bits of one cluster")


@cache
def machine(clusters: int) -> Config:
    return ONE.changed(clusters=clusters)


@TENANTS
@pytest.mark.parametrize(("clusters", "first", "mixes"), [
    (2, 0, 6), (4, 100, 6), *(pytest.param(2 + 2 * (k % 2), 1000 + k, 102, marks=pytest.mark.long) for k in range(10))])
def test_random_mixes(clusters: int, first: int, mixes: int) -> None:
    """Logs that are always taken, or in one cycle of so many."""
    rng, config = np.random.default_rng(first), machine(clusters)
    for of_256 in rng.choice([256, 256, 32, 8], mixes // 3):
        with ChipBackend(CompiledChip(config, (int(of_256), int(rng.integers(1000))), quick=True)) as chip:
            for _ in range(3):
                for place in chip.places:
                    place.driver.chip.write(np.array([LOG_TURN], np.uint32), rng.integers(1, 40, 1).astype(np.uint32))
                advance_together([Tenant(place, ONE, fields(rng), rng) for place in chip.places])  # type: ignore[misc]


HOT = Problem(labels=8, singleton1=np.zeros((8, 16), int), constants=np.zeros(8, int), schedule=Schedule.constant(200.0))


def started(place: ChipBackend, turn: int) -> tuple[ActiveRun, Iterator[None]]:
    """A run whose log is full, and its further steps."""
    place.driver.chip.write(np.array([LOG_TURN], np.uint32), np.array([turn], np.uint32))
    run = place.prepare(HOT, Run(sweeps=1_000_000, burn_in=0))
    steps = iter(run.steps())
    next(steps)
    return run, steps


@SHARES
def test_an_idle_log_beside_a_full_one() -> None:
    """A field that changes labels seldom, in a log that is taken in one cycle of 16, of which it needs 1 or 2 %."""
    config, rng = machine(2), np.random.default_rng(1)
    config = config.changed(counter_bits=8)
    labels = rng.integers(0, 8, (8, 16))
    problem = Problem(labels=8, singleton1=9 * labels, constants=9 * np.arange(8), alpha=8, schedule=Schedule.constant(25.0))
    run, found = Run(sweeps=200, burn_in=0, seed=2), []
    for beside in (False, True):
        with ChipBackend(CompiledChip(config, (16, 7), quick=True)) as chip:
            if beside:
                started(chip.places[0], TURN_LINES)
            active = chip.places[1].prepare(problem, run)
            at_once(active.steps())
            found.append(active.result())
            same_but_stalls(found[-1], solve(config, problem, run))
            stalls = chip.places[0].driver.get("stall_cycles", "cycles")
            assert not beside or stalls[0] > 0.2 * stalls[1], "the other log is not full"
    assert found[0].stall_cycles == 0
    assert 0.01 < 16 * len(found[0].messages) / 5 / found[0].cycles < 0.05
    assert found[1].cycles < 1.01 * found[0].cycles
    assert found[1].simulated_cycles < 1.01 * found[0].simulated_cycles


@SHARES
@pytest.mark.parametrize("turns", [(16, 16), (24, 8)])
def test_shares_of_two_full_logs(turns: tuple[int, int]) -> None:
    with ChipBackend(CompiledChip(machine(2), (4, 7), quick=True)) as chip:
        for place, turn in zip(chip.places, turns, strict=True):
            started(place, turn)
        lines = []
        for _ in range(2):
            lines.append([place.driver.get("lines")[0] for place in chip.places])
            chip.chip.advance(400_000)
        first, second = (after - before for before, after in zip(*lines, strict=True))
        assert first + second > 5_000
        assert abs(first / (first + second) - turns[0] / sum(turns)) < 0.05 * turns[0] / sum(turns)


@SIDE_BY_SIDE
@pytest.mark.parametrize("clusters", [2, 4])
def test_chains_of_a_run(clusters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, which takes a machine of one cluster nearly as many times as long, and in windows."""
    took = list[int]()

    def closed(chip: ChipBackend) -> None:
        took.append(chip.chip.cycles)
        chip.chip.close()

    monkeypatch.setattr(ChipBackend, "close", closed)
    rng = np.random.default_rng(3)
    for shape, visit in (((8, 16), None), ((12, 21), 7)):
        problem = Problem(labels=5, singleton1=rng.integers(0, 64, shape), constants=rng.integers(0, 64, 5),
                          schedule=Schedule.constant(25.0))
        run = Run(sweeps=60, burn_in=4, seed=5)
        one, several = (sample("rtl", config, problem, run, chains=clusters, visit=visit) for config in (ONE, machine(clusters)))
        assert len(several.results) == clusters
        for found, wanted in zip(several.results, one.results, strict=True):
            assert found.cycles - found.stall_cycles == wanted.cycles - wanted.stall_cycles
            assert np.array_equal(found.last, wanted.last)
            assert np.array_equal(found.counts, wanted.counts)
    assert took[0] > 0.8 * clusters * took[1], took
    assert took[2] > 1.3 * took[3], took  # windows share the bus, over which each is loaded and read


@SIDE_BY_SIDE
def test_chains_are_kept_and_gone_on_with(tmp_path) -> None:
    """Five chains, two at a time, paused at unlike sweeps of a run that is interrupted."""
    rng = np.random.default_rng(4)
    problem = Problem(labels=5, singleton1=rng.integers(0, 64, (8, 16)), constants=rng.integers(0, 64, 5),
                      schedule=Schedule.geometric(60.0, 0.9, 10.0))
    run, config = Run(sweeps=23, burn_in=4, seed=5), machine(2)
    wanted = sample("model", ONE, problem, run, chains=5)

    class Interrupted(Exception):
        pass

    path = tmp_path / "kept.npz"
    for stop in (2, 5, 9, None):
        saves = 0

        def saved(self, path=path, stop=stop) -> None:
            nonlocal saves
            saves += 1
            self.state().save(path)
            if saves == stop:
                raise Interrupted

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mrfhw.runs.chains.Chains._save", saved)
            keeping = Keeping(path=path, pauses=Pauses(sweeps=5), resume=path if path.exists() else None)
            try:
                found = sample("rtl", config, problem, run, chains=5, keeping=keeping)
            except Interrupted:
                continue
    for one, other in zip(found.results, wanted.results, strict=True):
        assert np.array_equal(one.last, other.last)
        assert np.array_equal(one.counts, other.counts)


def test_a_cluster_has_words_of_its_own() -> None:
    """Registers and memories of one do not show in another, and what is no cluster's is refused."""
    config = machine(4)
    with CompiledChip(config, quick=True) as chip:
        places = [cluster_chip(config, chip, k) for k in range(4)]
        turn = np.array([LOG_TURN], np.uint32)
        assert [int(place.read(turn)[0]) for place in places] == [TURN_LINES] * 4
        for number, place in enumerate(places):
            place.write(turn, np.array([number + 1], np.uint32))
        assert [int(place.read(turn)[0]) for place in places] == [1, 2, 3, 4]
        with pytest.raises(ChipError, match="refused a write"):
            places[2].write(turn, np.array([256], np.uint32))
        assert int(places[2].read(turn)[0]) == 3


@pytest.mark.claim("clusters", "a log is taken apart by the lines that name clusters; one that cannot be a machine's is refused")
def test_split_log() -> None:
    config, line = machine(4), ONE.line_bits // 8
    lines = {k: switch_line(SplitLog(config).config, k).to_bytes(line, "little") for k in range(4)}
    log = SplitLog(config)
    own = [bytes([0x11 * (k + 1) | 1] * line) for k in range(4)]  # with a count
    assert log.feed(lines[2] + own[0] + own[1]).tolist() == [-1, 2, 2]
    assert log.feed(own[2] + lines[0] + own[3] + bytes(line) + lines[2] + own[0]).tolist() == [2, -1, 0, 0, -1, 2]
    assert log.feed(b"").tolist() == []
    assert log.take(2) == own[0] + own[1] + own[2] + own[0]
    assert log.take(0, line) == own[3]
    assert log.take(0) == bytes(line)
    with pytest.raises(ChipError, match=r"^the log names cluster 5 of 4: "):
        log.feed(switch_line(log.config, 5).to_bytes(line, "little"))
    log.begin()
    with pytest.raises(ChipError, match=r"^the log begins without the line that names a cluster: "):
        log.feed(own[0])
