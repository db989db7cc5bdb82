"""`mrfhw plan`: the stages of a request, what the plan says of boards, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import mrfhw
from mrfhw.cli import main
from mrfhw.cost.links import BoardLink
from mrfhw.machine.config import Config
from mrfhw.planning.graph import Resources
from mrfhw.planning.pipeline import PROCESSOR, graph_of, link_of, planned
from mrfhw.planning.predicted import Board, OnBoard, on_board
from mrfhw.planning.profile import Profile, once
from mrfhw.runs.request import Request
from mrfhw.scenes import stereo_scene, write_scene

STAGES = pytest.mark.claim("planning", "mrfhw plan times the stages of a request, predicts those of boards, and says which bound "
                           "decides and why a board is idle")

PROFILE = Profile({"read": 0.5, "first": 2.0, "sample": 6.0, "analyse": 1.0, "write": 0.5}, 100, 4, 2, 0.25)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    write_scene(stereo_scene(16, 24, 4), tmp_path)
    return ["stereo", "left.png", "right.png", "--labels", "4", "--sweeps", "8", "--no-report"]


def plan(*words: str) -> Result:
    return CliRunner().invoke(main, ["plan", *words], prog_name="mrfhw")


@STAGES
def test_a_board_that_helps_and_one_whose_link_is_slow() -> None:
    quick = {"sample": OnBoard(1.0, 0.5, 0.25, 0.1), "first": OnBoard(0.5, 0.25, 0.125, 0.05)}
    far = {"sample": OnBoard(0.1, 60.0, 60.0, 0.1), "first": OnBoard(0.1, 0.2, 0.2, 0.1)}
    graph = graph_of(PROFILE, {"near": quick, "far": far})
    resources = Resources({PROCESSOR: 2, "near": 1, "far": 1}, {link_of("near"): 1, link_of("far"): 1})
    found = planned(graph, resources)
    assert found.best.where == dict.fromkeys(PROFILE.seconds, PROCESSOR) | {"first": "near", "sample": "near"}
    # Two processors share 2 s of stages, what packs fields twice, and the end of what comes first.
    assert found.best.bounds[PROCESSOR] == pytest.approx((2.0 + 0.05 + 0.1 + 0.25) / 2)
    assert found.best.bounds[link_of("near")] == pytest.approx(0.25 + 0.125 + 0.5 + 0.25)
    # A board is laid out, loaded, sampled on and read one after the other, of both.
    assert found.best.bounds["near"] == pytest.approx(1.0 + 0.5 + 0.25 + 0.1 + (1.0 + 0.5 + 0.25 + 0.1) / 2)
    assert found.best.decides == "near"
    assert found.shared.interval == pytest.approx(2.775)
    assert found.baselines["all on processors"] == pytest.approx(5.0)
    assert list(found.idle) == ["far"]
    assert found.idle["far"] == ("with sample there a picture would come every 121 s, which far decides, and without every 2.78 s")
    slow = planned(graph_of(PROFILE, {"far": {"sample": OnBoard(0.1, 60.0, 60.0, 0.1)}}),
                   Resources({PROCESSOR: 2, "far": 1}, {link_of("far"): 1}))
    assert slow.shared.interval == slow.best.interval == 5.0
    assert [unit["sample"] for unit in slow.shared.placed[PROCESSOR]] == [1] * slow.shared.repeat
    assert json.loads(json.dumps(slow.record))["decides"] == PROCESSOR


@STAGES
def test_the_stages_of_a_run(pair: list[str]) -> None:
    found = once((Request("stereo", backend="cpu", left="left.png", right="right.png", sweeps=8), False, True))
    assert set(found.seconds) == {"read", "range", "first", "then", "sample", "analyse", "write"}
    assert min(found.seconds.values()) > 0
    assert found.seconds["then"] < found.seconds["first"]
    assert found.sweeps >= 8
    given = once((Request("stereo", backend="cpu", left="left.png", right="right.png", labels=4, one_way=True, sweeps=8), False,
                   True))
    assert set(given.seconds) == {"read", "sample", "analyse", "write"}


@STAGES
@pytest.mark.parametrize(("rows", "estimate"), [(16, "mode"), (16, "mean"), (40, "mode")])
def test_predicted_cycles_are_those_of_the_model(rows: int, estimate: str) -> None:
    """Whole and in windows, to the stalls of the log and what is drained at the ends."""
    config = Config(tile_rows=16, tile_cols=16, mesh_rows=1, mesh_cols=1)
    problem = mrfhw.Problem(labels=4, singleton1=np.arange(rows * 16).reshape(rows, 16) % 64, constants=np.array([8, 24, 40, 56]))
    options = dict(sweeps=40, burn_in=20, seed=3, most_sweeps=40, estimate=estimate, chains=2)
    job = Request("problem", file=problem, machine=config, backend="model", **options).job()
    board = Board("one", config, 1e6, BoardLink("ethernet"))
    found = on_board(board, job, 2, 40, 20)["sample"]
    answer = mrfhw.solve(problem, machine=config, backend="model", visit=20 if rows > 16 else None, **options)
    assert found.running == pytest.approx(answer.report["cycles"] / 1e6, rel=0.02)
    assert found.loading > 0
    assert found.packing > 0
    assert found.reading == pytest.approx(2 * on_board(board, job, 1, 40, 20)["sample"].reading)


@STAGES
@pytest.mark.slow
def test_the_command(pair: list[str]) -> None:
    found = plan(*pair, "--board", "ecpix5-85f", "--board", "icebreaker", "--json", "plan.json", "--pictures", "7")
    assert found.exit_code == 0, found.output
    assert "profiled on this computer" in found.output
    assert "ecpix5-85f: predicted, cycles at" in found.output
    assert "7 pictures: " in found.output
    assert "icebreaker stays idle: " in found.output
    record = json.loads(Path("plan.json").read_text())
    assert [stage["name"] for stage in record["stages"]] == ["read", "first", "sample", "analyse", "write"]
    assert record["interval_seconds"] >= record["bound_seconds"] * (1 - 1e-6)
    assert record["interval_seconds"] <= min(one["interval_seconds"] for one in record["baselines"].values()) * 1.01
    assert record["bounds_seconds"][record["decides"]] == record["bound_seconds"]
    assert record["rests_on"]["ecpix5-85f"].startswith("predicted")
    assert sorted(path.name for path in Path().iterdir()) == ["disparity.png", "left.png", "plan.json", "right.png"]


@pytest.mark.parametrize(("words", "said"), [
    (["--pictures", "0"], "pictures is 0; the limits are 1 to"),
    (["--board", "none"], "board is 'none'; the boards are"),
    (["--board", "sim://"], "what such a link carries in a second is not known"),
    (["--board", "serial:///dev/none"], "clock is not given; the board at serial:///dev/none does not tell it"),
    (["--clock", "50"], "clock is 50 MHz; it is a machine's"),
    (["--clock", "0", "--board", "icebreaker"], "clock is 0 MHz; a machine has"),
    (["--machine", "census"], "clock is not given; a machine's cycles are no seconds"),
    (["--visit", "3"], "visit is 3; it is of windows on a machine"),
    (["--json", "left.png"], "json is left.png, a file that this plan reads"),
    (["--labels", "1"], "labels is 1"), (["--chains", "0"], "chains is 0")])
def test_wrong_words_are_one_line(pair: list[str], words: list[str], said: str) -> None:
    found = plan(*pair, *words)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert said in found.stderr
