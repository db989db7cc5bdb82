"""Seconds of a whole picture: cycles and words of all windows, by a machine's clock and its link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mrfhw.backends.plan import solve
from mrfhw.cost.links import BoardLink, LogMemory
from mrfhw.cost.picture import CHAINS, EFFECTIVE_A_SWEEP, EFFECTIVE_SHARES, RUN, PictureTime, Visits, stereo_field
from mrfhw.cost.seconds import Delays
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.fields import Fields
from mrfhw.placement.windows import WindowPlan

WHOLE = pytest.mark.claim("costs", "the time of a picture is that of all its loads, sweeps and answers at a clock and over a link")
TIME = PictureTime(windows=3, visits=60, machine_s=5.0, waiting_s=3.0, log_s=7.0, loading_s=2.0, reading_s=1.0, buffered=False,
                   machine=Fields(), effective=0.5)


@WHOLE
@pytest.mark.parametrize("rows", [16, 40])
def test_cycles_of_visits_are_those_of_the_model(rows: int) -> None:
    """Whole and in windows; the log of labels that keep their place is next to nothing."""
    config = Config(tile_rows=16, tile_cols=16, mesh_rows=1, mesh_cols=1)
    problem = Problem(labels=4, singleton1=np.arange(rows * 16).reshape(rows, 16) % 64, constants=np.array([8, 24, 40, 56]))
    run = Run(sweeps=41, burn_in=20)
    found = Visits.of(WindowPlan(config, problem), run, 20)
    result = solve("model", config, problem, run, visit=20)
    assert result.windows == (None if rows == 16 else found.windows)
    assert result.visits == (None if rows == 16 else found.windows * found.visits)
    stalls = result.stall_cycles
    assert stalls is not None
    assert result.cycles == pytest.approx(found.cycles + stalls, rel=0.005)
    assert found.evaluations == rows * 16 * 4
    loaded, read = result.loading_cycles, result.reading_cycles
    assert loaded is not None
    assert read is not None
    # A driver leaves out words that the machine holds, and loads the generators once.
    words = found.visits * sum(count * cycles.loaded_words for cycles, count in found.shapes)
    assert 0.3 * words < loaded <= 1.1 * words
    assert found.loaded < 4 * words
    # Of an entry's two words a link carries 16 bits each, and the first alone where nothing is counted.
    assert 2 * read * 0.9 < found.read <= 2 * read


@WHOLE
def test_seconds_are_added_by_hand() -> None:
    assert TIME.seconds == 2 + 5 + 3 + 1
    assert replace(TIME, log_s=None).seconds == 2 + 5 + 3 + 1
    # A memory holds the log, which then comes beside all but the answers.
    assert replace(TIME, buffered=True).seconds == 2 + 5 + 3 + 1
    assert replace(TIME, buffered=True, log_s=13.0).seconds == 13 + 1
    # A chain on each cluster; the bus is that of both.
    assert replace(TIME, machine=Fields(clusters=2)).seconds == 11 / 2
    assert replace(TIME, machine=Fields(clusters=2), loading_s=40.0).seconds == 40 + 1
    # Contexts sweep one after the other, and one is loaded and read meanwhile.
    assert replace(TIME, machine=Fields(contexts=2)).seconds == 5 + 3
    assert replace(TIME, machine=Fields(contexts=2), loading_s=40.0).seconds == 40 + 1
    assert TIME.effective_per_s == 0.5 * CHAINS * RUN.sweeps / 11
    assert replace(TIME, effective=None).effective_per_s is None


@WHOLE
def test_a_picture_goes_with_clock_and_link() -> None:
    config, link = Config.preset("ulx3s-85f"), BoardLink(memory=LogMemory(1 << 25, 1e8))
    one, slower, thin = (PictureTime.of(config, hz, replace(link, baud=baud), 0.01) for hz, baud in (
        (45e6, 2_000_000), (22.5e6, 2_000_000), (45e6, 1_000_000)))
    assert slower.machine_s == pytest.approx(2 * one.machine_s)
    assert slower.log_s == one.log_s
    assert one.loading_s < slower.loading_s < 1.01 * one.loading_s  # the bus's cycles are few beside the bytes
    for name in ("loading_s", "reading_s", "log_s"):
        assert getattr(thin, name) == pytest.approx(2 * getattr(one, name), rel=0.01)
    assert one.log_s == CHAINS * 250 * 375 * 450 * 64 * 0.01 / replace(link, baud=2_000_000).bytes_per_s
    assert one.effective == EFFECTIVE_A_SWEEP
    # At least the lanes' cycles for every label of every site that is drawn.
    assert one.machine_s > CHAINS * 500 * 375 * 450 * 64 / (Derived.of(config).all_lanes * 45e6)
    # Without a memory the machine waits for the log; with round trips each request takes longer.
    waits = PictureTime.of(config, 45e6, BoardLink(baud=2_000_000), 0.01)
    assert waits.waiting_s > 0.9 * (one.log_s or 0) - waits.machine_s > one.waiting_s
    far = PictureTime.of(config, 45e6, replace(link, baud=2_000_000), 0.01, Delays(0.001))
    assert far.loading_s > one.loading_s + 0.002 * far.visits


@WHOLE
def test_a_picture_that_does_not_fit() -> None:
    with pytest.raises(ProblemError, match="labels is 64; a machine with label_bits = 5 takes 32"):
        PictureTime.of(Config.preset("icebreaker"), 12e6, BoardLink(), None)
    with pytest.raises(ProblemError, match="a window of this problem has 2 rows and 64 columns around what is drawn"):
        PictureTime.of(Config.preset("tang-nano-20k"), 27e6, BoardLink(), None)


@pytest.mark.parametrize("preset", ["default", "census", "census-subsets", "paper-16x1"])
def test_machines_of_each_kind_take_the_field(preset: str) -> None:
    config = Config.preset(preset)
    field = stereo_field(config)
    assert (field.shape, field.labels) == ((375, 450), 64)
    found = PictureTime.of(config.changed(mesh_rows=4, mesh_cols=4), 1e8, BoardLink("ethernet", words=256), None)
    assert found.seconds > 0
    assert found.effective == EFFECTIVE_A_SWEEP * (EFFECTIVE_SHARES[2, 4] if config.subset_slots else 1)
