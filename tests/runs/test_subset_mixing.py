"""How fast a machine with subsets of labels mixes is predicted before a run, and said where it is slow."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.placement.label_groups import LabelGroups
from mrfhw.placement.subsets import Subsets
from mrfhw.runs.request import Request
from mrfhw.runs.subset_mixing import _visits, mixing_note, predicted_mixing
from mrfhw.scenes import stereo_scene
from studies.subset_mixing import effective, machine, pairs, potts

pytestmark = pytest.mark.claim("runtime", "how many effective samples a visit of subsets gives is predicted from the field, and "
                               "said before a run where it is less than half of all labels'")
RUN = Run(sweeps=400, burn_in=100)


@pytest.mark.slow
@pytest.mark.parametrize("made", [potts, pairs])
@pytest.mark.parametrize("slots", [4, 8])
def test_it_is_what_the_model_gives(made, slots: int) -> None:
    """Seeded, so that it fails always or never; both are medians of hundreds of sites."""
    problem = made(np.random.default_rng(3))
    wanted = effective(machine(2, slots), problem, 800, 1) / effective(machine(1, 0), problem, 800, 1)
    assert predicted_mixing(machine(2, slots), problem, RUN) == pytest.approx(wanted, abs=0.08)


def test_the_visits_have_the_labels_law() -> None:
    """Of sites with and without neighbours, 300 visits of each of 400 sites: within five standard deviations of a sixth as many
    independent draws."""
    config = machine(2, 4)
    subsets = Subsets.of(config, dataclasses.replace(LabelGroups.filled(40, 2), subset=4))
    law = np.random.default_rng(1).random(40) ** 3
    near = np.tile([[-1, -1, -1, -1], [0, 5, -1, 5], [1, 2, 3, 4], [19, -1, 19, -1]], (100, 1))
    labels = _visits(np.tile(law, (len(near), 1)), near, subsets, np.random.default_rng(2)).astype(int)
    law /= law.sum()
    for kind in range(4):
        shares = np.bincount(labels[kind::4].ravel(), minlength=40) / labels[kind::4].size
        assert (np.abs(shares - law) < 5 * np.sqrt(law / (labels[kind::4].size / 6)) + 1e-4).all()


def test_it_is_said_before_a_run() -> None:
    hot = potts(np.random.default_rng(1))
    config = machine(2, 4)
    note = mixing_note(config, hot, RUN)
    assert note is not None
    assert note.startswith("Note: a visit of this machine evaluates 4 of a site's 32 slots of labels; chains of this field mix "
                           "about 0.3")
    assert note in Request("problem", file=hot, backend="model", machine=config, sweeps=5).job().notes
    assert mixing_note(config, hot, RUN) == note  # the same each time
    assert mixing_note(machine(1, 0), hot, RUN) is None
    assert mixing_note(None, hot, RUN) is None
    few = Problem(labels=8, unary=hot.unary[..., :8], beta=1, schedule=Schedule.constant(16.0))
    assert predicted_mixing(config, few, RUN) == 1.0


def test_a_scene_and_what_cannot_move_are_not() -> None:
    scene = stereo_scene(rows=24, cols=96, labels=24)
    request = Request("stereo", left=scene.left, right=scene.right, labels=24, backend="model", sweeps=20,
                      machine=Config.preset("census-subsets"))
    assert not any("mix about" in note for note in request.job().notes)
    still = dataclasses.replace(potts(np.random.default_rng(1)), clamped=np.ones((24, 24), bool))
    assert predicted_mixing(machine(2, 4), still, RUN) is None
    one = Problem(labels=64, unary=np.random.default_rng(2).integers(0, 64, (1, 1, 64)), schedule=Schedule.constant(9.0))
    assert predicted_mixing(machine(2, 4), one, RUN) is not None
    cooling = dataclasses.replace(potts(np.random.default_rng(1)), schedule=Schedule.geometric(40.0, 0.9, 1.0))
    assert predicted_mixing(machine(2, 4), cooling, RUN) != predicted_mixing(machine(2, 4), potts(np.random.default_rng(1)), RUN)


def test_the_command_says_it_before_it_samples(tmp_path: Path) -> None:
    potts(np.random.default_rng(1)).save(tmp_path / "hot.npz")
    words = ["run", "problem", str(tmp_path / "hot.npz"), "--mesh", "1x1", "--lanes", "2", "--spus", "1", "--sweeps", "5",
             "--no-report", "-o", str(tmp_path / "out")]
    for name in ("subset_slots=4", "lmem_banks=4", "tile_rows=32", "tile_cols=32", "vector_bits=0", "doubletons=table",
                 "pairwise_bits=4"):
        words += ["--set", name]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    assert found.stderr.count("chains of this field mix about") == 1
    assert found.output.index("chains of this field mix about") < found.output.index("label evaluations")
