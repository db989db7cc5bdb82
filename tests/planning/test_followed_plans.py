"""Batches and videos that follow a plan: the bits of `mrfhw run` on processors and on boards, boards that are lost, plans that are
none."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main
from mrfhw.cost.links import BoardLink
from mrfhw.host.links import LinkError
from mrfhw.machine.config import Config
from mrfhw.planning.graph import Resources
from mrfhw.planning.lanes import Lanes, Turns
from mrfhw.planning.made import Made, kinds_of
from mrfhw.planning.orders import Measured, Orders
from mrfhw.planning.pipeline import PROCESSOR, graph_of, link_of, planned
from mrfhw.planning.predicted import Board, OnBoard
from mrfhw.planning.profile import Profile
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.processors import processors
from support.boards import board as simulated
from support.plugs import Plug

SAME = pytest.mark.claim("planning", "batches and videos that follow a plan have the bits of mrfhw run: of cpu where processors "
                         "sample, of the model of their machine where boards do, also where one of them is lost")
MACHINE = ("--preset", "matching", "--mesh", "1x1", "--spus", "1", "--tile-rows", "16", "--tile-cols", "24", "--line-bits", "64")
CONFIG = Config.preset("matching", mesh_rows=1, mesh_cols=1, spus=1, tile_rows=16, tile_cols=24, line_bits=64)
QUICK = OnBoard(0.1, 0.1, 0.1, 0.1)
NAMES = "abcde"
PICTURE_BYTES = 45_500  # from its board, of 200 sweeps


def invoked(*words: str | Path, code: int = 0) -> str:
    found = CliRunner().invoke(main, [*map(str, words)])
    assert found.exit_code == code, found.output
    return found.output


def record(application: str, boards: list[str], board: OnBoard = QUICK, first: bool = False) -> dict[str, Any]:
    """A plan's record, of pictures that processors sample in 6 s, with these boards."""
    profile = Profile({"read": 0.5, **({"first": 2.0} if first else {}), "sample": 6.0, "analyse": 1.0, "write": 0.5}, 100, 4, 2)
    kinds = kinds_of([Board(name, CONFIG, 1e6, BoardLink()) for name in boards])
    found = {name: {"sample": board, **({"first": board} if first else {})} for name in kinds}
    resources = Resources({PROCESSOR: processors(), **{name: len(kind.units) for name, kind in kinds.items()}},
                          {link_of(name): len(kind.units) for name, kind in kinds.items()})
    plan = planned(graph_of(profile, found), resources)
    alone = sum(stage.times[plan.best.where[stage.name]] for stage in plan.graph.stages)
    return Made(Request(application), plan, profile, kinds, alone).record


def written(name: str, held: Any) -> str:
    Path(name).write_text(json.dumps(held))
    return name


@pytest.fixture
def fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Five fields, and the file of jobs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name in NAMES:
        mrfhw.Problem(labels=3, singleton1=rng.integers(0, 16, (12, 16)), constants=np.array([1, 8, 14]),
                      schedule=mrfhw.Schedule.constant(8.0)).save(f"{name}.npz")
    Path("jobs").write_text("".join(f"problem {name}.npz --sweeps 20 --seed 3\n" for name in NAMES))
    return [f"{name}.npz" for name in NAMES]


@pytest.fixture(scope="module")
def boards() -> Iterator[list[str]]:
    with simulated("pty", *MACHINE) as one, simulated("pty", *MACHINE) as other:
        yield [one.address, other.address]


def alone(name: str, backend: str) -> Any:
    """What `mrfhw run` answers."""
    machine = CONFIG if backend == "model" else None
    return mrfhw.run(Request("problem", file=name, sweeps=20, seed=3, backend=backend, machine=machine))


def assert_bits(backend: str, folder: str = "out") -> None:
    for number, name in enumerate(NAMES, 1):
        want = alone(f"{name}.npz", backend)
        assert np.array_equal(np.load(f"{folder}/{number:04}-{name}/labels.npy"), want.labels)
        assert np.array_equal(np.load(f"{folder}/{number:04}-{name}/entropy.npy"), want.entropy)


@SAME
@pytest.mark.slow
@pytest.mark.tools
def test_boards_sample_a_batch(boards: list[str], fields: list[str]) -> None:
    plan = written("plan.json", record("problem", boards))
    said = invoked("batch", "jobs", "--plan", plan, "--no-report", "-o", "out")
    assert f"under way at once, sampled on {' and '.join(boards)}\n" in said
    assert "5 of 5 jobs are done" in said
    assert "plan said " in said
    assert_bits("model")
    assert "5 of 5 jobs are done" in invoked("batch", "jobs", "--plan", plan, "--no-report", "-o", "out", "--resume")
    # The same jobs have other bits without boards, and are not taken for done.
    invoked("batch", "jobs", "--plan", written("alone.json", record("problem", [])), "--no-report", "-o", "out", "--resume")
    assert_bits("cpu")


@SAME
@pytest.mark.slow
@pytest.mark.tools
def test_a_plan_that_is_made_for_the_first_picture(boards: list[str], fields: list[str]) -> None:
    """Whatever it says is done; the board it leaves idle is named with the reason."""
    said = invoked("batch", "jobs", "--no-report", "-o", "out", "--plan", "--board", boards[0], "--clock", "50")
    idle = f"{boards[0]} stays idle: with sample there" in said
    assert idle or f"sampled on {boards[0]}\n" in said
    assert_bits("cpu" if idle else "model")


@SAME
@pytest.mark.slow
@pytest.mark.tools
def test_a_board_that_the_plan_leaves_idle(boards: list[str], fields: list[str]) -> None:
    plan = written("plan.json", record("problem", boards[:1], OnBoard(9.0, 9.0, 9.0, 0.1)))
    said = invoked("batch", "jobs", "--plan", plan, "--board", boards[0], "--no-report", "-o", "out")
    assert f"{processors()} under way at once, whole on a processor each\n" in said
    assert f"{boards[0]} stays idle: with sample there a picture would come every " in said
    assert_bits("cpu")
    assert not Path("out/machine.json").exists()


@SAME
@pytest.mark.slow
@pytest.mark.tools
def test_requests_by_a_plan(boards: list[str], fields: list[str]) -> None:
    plan = written("plan.json", record("problem", boards))
    requests = [Request("problem", file=name, sweeps=20, seed=3) for name in (*fields, "none.npz")]
    found = dict(mrfhw.batch(requests, plan=plan))
    assert str(found[5]).startswith("none.npz cannot be read")
    for number, name in enumerate(fields):
        want = alone(name, "model")
        assert np.array_equal(found[number].labels, want.labels)
        assert np.array_equal(found[number].counts, want.counts)
    for wrong, said in ((Request("problem", file=fields[0], backend="model"), "request 0 is for model; a plan says who samples"),
                        (Request("segment", image=np.zeros((4, 4))), "request 0 is segment, and the plan is for problem")):
        with pytest.raises(ProblemError, match=said):
            mrfhw.batch([wrong], plan=plan)


@SAME
@pytest.mark.slow
@pytest.mark.tools
def test_frames_of_a_video_are_sampled_on_a_board(boards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes first, too, and from the labels of the frame before."""
    monkeypatch.chdir(tmp_path)
    invoked("demo-scene", "video", "--rows", "16", "--cols", "24", "--labels", "4", "--frames", "3", "-o", "scene")
    plan = written("plan.json", record("stereo", boards, first=True))
    few = {"labels": 4, "sweeps": 12, "first_sweeps": 6, "seed": 3}
    words = [word for name, value in few.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    said = invoked("video", "stereo", "scene/left", "scene/right", *words, "--plan", plan, "-o", "out")
    assert "3 of 3 frames are done" in said
    assert f"sampled on {' and '.join(boards)}\n" in said
    before: dict[str, Any] = {}
    for number in (1, 2, 3):
        pair = {side: f"scene/{side}/{number:04}.png" for side in ("left", "right")}
        answer = mrfhw.run(Request("stereo", backend="model", machine=CONFIG, **pair, **few, **before))
        assert np.array_equal(np.load(f"out/{number:04}/labels.npy"), answer.labels)
        before = {"before": f"out/{number:04}/labels.npy"}


@SAME
@pytest.mark.slow
@pytest.mark.tools
@pytest.mark.parametrize("left", [1, 0])
def test_a_board_that_is_lost(boards: list[str], fields: list[str], tmp_path: Path, left: int) -> None:
    """In the middle of its second picture: that one and the others go to the board that is left, or are one line each."""
    Path("jobs").write_text("".join(f"problem {name}.npz --sweeps 200 --seed 3\n" for name in NAMES[:3]))
    in_the_second = (3 * PICTURE_BYTES // 2, 1e6)
    with simulated("tcp://127.0.0.1:0", *MACHINE) as lost, Plug(lost.address, tmp_path / "port", [in_the_second]) as plug:
        addresses = [f"{plug.address}?reconnect=1", *boards[:left]]
        plan = written("plan.json", record("problem", addresses))
        said = invoked("batch", "jobs", "--plan", plan, "--no-report", "-o", "out", code=1 - left)
        assert plug.pulled == 1
    assert said.count(f"{addresses[0]} is lost, ") == 1, said
    if left:
        assert "3 of 3 jobs are done" in said
        for number, name in enumerate(NAMES[:3], 1):
            want = mrfhw.run(Request("problem", file=f"{name}.npz", sweeps=200, seed=3, backend="model", machine=CONFIG))
            assert np.array_equal(np.load(f"out/{number:04}-{name}/labels.npy"), want.labels)
    else:
        assert "1 of 3 jobs are done, 2 failed" in said
        assert said.count(": no board is left, ") == 2, said


def taken(turns: Turns, order: list[str], name: str) -> None:
    with turns.working():
        order.append(f"{name} works")
        assert turns.told(True) is None
        order.append(f"{name} samples")
        turns.told(False)


def waited(for_this: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not for_this():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_picture_holds_a_processor_or_its_board() -> None:
    lanes, order = Lanes(["one"], CONFIG, 1), list[str]()
    sampling, go_on = threading.Event(), threading.Event()

    def first(board: str, turns: Turns) -> None:
        with turns.working():
            turns.told(True)
            sampling.set()
            assert go_on.wait(60)
            turns.told(False)

    threads = [threading.Thread(target=lanes.done, args=(first,), daemon=True)]
    threads[0].start()
    assert sampling.wait(60)
    threads.append(threading.Thread(target=lanes.done, args=(lambda board, turns: taken(turns, order, "second"),), daemon=True))
    threads[1].start()
    waited(lambda: bool(order))
    time.sleep(0.05)
    assert order == ["second works"]  # on the processor that the first one left, and without its board
    with lanes.working():  # nor does it keep the processor while it waits
        go_on.set()
        waited(lambda: len(order) == 2)
    for thread in threads:
        thread.join(60)
    assert order == ["second works", "second samples"]


def test_pictures_of_a_lost_board_go_to_another() -> None:
    said, tried = list[str](), list[str]()
    lanes = Lanes(["one", "two"], CONFIG, 2, said.append)

    def picture(board: str, turns: Turns) -> str:
        tried.append(board)
        assert len(tried) < 9
        with turns.working():
            if board in lost:
                raise LinkError("the link broke", "plug it in")
        return board

    lost = {"one"}
    assert [lanes.done(picture) for _ in range(3)] == ["two"] * 3
    assert tried == ["one", "two", "two", "two"]
    lost = {"two"}
    for _ in range(2):
        with pytest.raises(ProblemError, match="no board is left, the link broke: plug it in"):
            lanes.done(picture)
    assert said == ["one is lost, the link broke: plug it in", "two is lost, the link broke: plug it in"]
    assert tried == ["one", "two", "two", "two", "two"]


def test_a_picture_goes_to_the_board_that_has_fewest() -> None:
    lanes = Lanes(["one", "two"], CONFIG, 2)
    for _ in range(2):
        assert lanes.done(lambda board, turns: (board, lanes.done(lambda other, turns: other))) == ("one", "two")


def test_what_was_measured() -> None:
    times = iter([1.0, 2.0, 4.0, 6.0, 8.0])
    found, orders = Measured(lambda: next(times)), Orders("stereo", 1.5, 2, 2)
    assert found.said(orders) == ("plan said 1.5 s a picture, 0 pictures are too few to measure it, more than 2 are wanted")
    for _ in range(5):
        found.ended()
    assert found.said(orders) == "plan said 1.5 s a picture, measured 2 s"


@pytest.mark.parametrize(("change", "said"), [
    ({"stages": 3}, "plan.json is no whole plan (TypeError: "), ({"under_way": "x"}, "plan.json is no whole plan (ValueError: "),
    ({"idle": []}, "plan.json is no whole plan (AttributeError: "), ({"under_way": None}, "plan.json is no whole plan"),
    ({"under_way": 0}, "plan.json is no plan that can be followed (0 pictures are under way)"),
    ({"under_way": 10**6}, "plan.json is no plan that can be followed (1000000 pictures are under way)"),
    ({"interval_seconds": float("nan")}, "plan.json is no plan that can be followed (interval_seconds is nan)"),
    ({"stages": [{"name": "sample", "on": "moon"}]}, "plan.json is no plan that can be followed (sample is on moon)"),
    ({"stages": [{"name": "sample", "on": "processor"}, {"name": "read", "on": "none"}]}, "(read is on none)"),
    ({"resources": {"processor": 500}}, "plan.json is for 500 processors, and "),
    ({"application": "stereo"}, "job 1 is problem, and the plan is for stereo: plan these by themselves")])
def test_files_that_are_no_plans(fields: list[str], change: dict[str, Any], said: str) -> None:
    written("plan.json", record("problem", []) | change)
    found = invoked("batch", "jobs", "--plan", "plan.json", "-o", "out", code=2)
    assert found.startswith("Error: ")
    assert said in found
    assert found.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(("words", "said"), [
    (("--plan", "none.json"), "none.json cannot be read"), (("--plan", "a.npz"), "a.npz is no plan"),
    (("--plan", "list.json"), "list.json is no plan (list)"),
    (("--plan", "alone.json", "--workers", "2"), "workers is 2, and a plan says who does what: drop one of the two"),
    (("--plan", "alone.json", "--cluster", "tcp://127.0.0.1:1"), "cluster is tcp://127.0.0.1:1, and a plan says who does what"),
    (("--board", "serial:///dev/none"), "board is serial:///dev/none, and there is no plan that uses it: give --plan as well"),
    (("--plan", "--board", "icebreaker"), "board is 'icebreaker'; a batch samples on boards at addresses"),
    (("--plan", "--board", "serial:///dev/none"), "there is no port /dev/none"),
    (("--plan", "--clock", "50"), "clock is 50 MHz; it is of boards of a plan that is made here"),
    (("--plan", "board.json"), "board.json samples on 1 board icebreaker, and none is there: give --board ADDRESS for each"),
    (("--plan", "away.json"), "there is no port /dev/none"),
    (("--plan", "alone.json", "--board", "moon://x"), "the board's address is 'moon://x'"),
    (("--plan", "--machine", "none.json"), "none.json")])
def test_one_line_each(fields: list[str], words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrfhw.host.identity.any_known", lambda: True)
    written("list.json", [])
    written("alone.json", record("problem", []))
    written("board.json", record("problem", ["icebreaker"]))
    written("away.json", record("problem", ["serial:///dev/none"]))
    found = invoked("batch", "jobs", *words, "-o", "out", code=2)
    assert found.startswith("Error: ")
    assert said in found
    assert found.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize(("line", "said"), [
    ("problem b.npz --backend model", "job 2 has --backend; a plan says who samples: leave it out"),
    ("problem b.npz --machine census", "job 2 has --machine; a plan says"),
    ("segment b.png", "job 2 is segment, and the plan is for problem")])
def test_jobs_that_a_plan_is_not_for(fields: list[str], line: str, said: str) -> None:
    Path("jobs").write_text(f"problem a.npz --sweeps 9\n{line}\n")
    found = invoked("batch", "jobs", "--plan", written("plan.json", record("problem", [])), "-o", "out", code=2)
    assert found.startswith(f"Error: {said}")
    assert not Path("out").exists()


@pytest.mark.slow
@pytest.mark.tools
def test_a_board_of_another_machine(fields: list[str]) -> None:
    written("plan.json", record("problem", ["icebreaker"]))
    with simulated("pty", "--preset", "smallest") as other:
        address = other.address
        found = invoked("batch", "jobs", "--plan", "plan.json", "--board", address, "-o", "out", code=2)
    assert found == (f"Error: board is {address}, of which plan.json knows nothing: plan with --board {address}, or leave it out\n")
