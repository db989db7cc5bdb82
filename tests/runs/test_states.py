"""What a checkpoint may hold: every array and number that a chain goes on from is checked, or the loops would run out of bounds."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfhw.field.problem import ProblemError, Run
from mrfhw.field.records import Record, read_record, write_record
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Checkpoint, Keeping, pauses_of
from support.interrupted import Stop, assert_same, whole
from support.watching import Told
from support.windowed import PROBLEMS, SMALL

RUNS: dict[str, tuple[str, Any, Run]] = {
    "cpu": ("cpu", whole("constant"), Run(sweeps=9, burn_in=2)),
    "mean": ("cpu", whole("constant"), Run(sweeps=9, burn_in=2, estimate="mean")),
    "float": ("float", whole("constant"), Run(sweeps=9, burn_in=2)),
    "events": ("events", whole("constant"), Run(sweeps=9, estimate="last")),
    "model": ("model", whole("constant"), Run(sweeps=9, burn_in=2)),
    "model's mean": ("model", whole("constant"), Run(sweeps=9, burn_in=2, estimate="mean")),
    "windows": ("model", PROBLEMS["stereo" if "stereo" in PROBLEMS else next(iter(PROBLEMS))], Run(sweeps=9, burn_in=2)),
}


@pytest.fixture(scope="module", params=RUNS)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable[..., Any]]:
    """A checkpoint in the second of two chains, and what goes on from one."""
    backend, problem, run = RUNS[request.param]
    path = tmp_path_factory.mktemp("kept") / "kept"

    def progress(done: int) -> None:
        if done > 14:
            raise Stop

    def go(keeping: Keeping, **more: Any) -> Any:
        return sample(backend, SMALL if backend == "model" else None, problem, run, chains=2, visit=3, keeping=keeping, **more)

    with pytest.raises(Stop):
        go(Keeping(path, pauses_of("3")), watch=Told(progress))
    return path, go


def changed(path: Path, to: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Path:
    """The checkpoint with one array changed."""
    held = read_record(path, "checkpoint")
    write_record(to, Record("checkpoint", held.scalars, {**held.arrays, name: change(held.arrays[name])}))
    return to


def first(value: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array = array.astype(np.int64)
        array.flat[0] = value
        return array
    return change


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shorter": lambda array: array[:-1] if array.ndim else array[None], "longer": lambda array: np.stack([array, array]),
    "fractions": lambda array: array.astype(float) + 0.5, "beyond": first(1 << 62), "negative": first(-2)}


def test_as_it_is_it_goes_on(kept: Any) -> None:
    path, go = kept
    assert_same(go(Keeping(resume=path)), go(Keeping()), cycles=False)


@pytest.mark.claim("checkpoints", "what a checkpoint holds is checked against the field before a loop takes it: shape, kind, range")
@pytest.mark.parametrize("change", CHANGES)
def test_every_array_is_checked(kept: Any, tmp_path: Path, change: str) -> None:
    path, go = kept
    held = read_record(path, "checkpoint").arrays
    assert {"state.last", "result0.last", "looks.labels"} <= held.keys()
    taken = []
    for name in held:
        free = ("fractions", "beyond", "negative") if name == "looks.energy" else ("shorter",) if "messages" in name else ()
        if change in free or not held[name].size:
            continue
        try:
            go(Keeping(resume=changed(path, tmp_path / "k", name, CHANGES[change])))
        except ProblemError as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:
            taken.append(name)
    assert not taken


def test_labels_generators_and_looks(kept: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A label that there is not; a generator of zeros; energies that are no numbers."""
    path, go = kept
    labels = RUNS[request.node.callspec.params["kept"]][1].labels
    names = read_record(path, "checkpoint").arrays
    for name, change, said in (
            ("state.last", lambda array: np.full_like(array, 255), "last of the state has 255; the limits are 0 to"),
            ("generators", np.zeros_like, "generator 0 of the state is zero"),
            ("looks.labels", first(labels), f"looks.labels of the state has {labels}; the limits are 0 to {labels - 1}"),
            ("looks.energy", lambda array: array * np.nan, "the looks are not one after the other")):
        if name in names:
            with pytest.raises(ProblemError, match=f"{tmp_path / 'k'}: {said}"):
                go(Keeping(resume=changed(path, tmp_path / "k", name, change)))


@pytest.mark.parametrize(("names", "value"), [
    (("state", "sweeps"), 10**9), (("state", "sweeps"), -1), (("state", "sweeps"), 2.5), (("state", "window"), 99),
    (("length",), [10**9, 2]), (("length",), [3, 2, 1]), (("looks",), [-1, 3]), (("looks",), [3]), (("looks",), "ab"),
    (("looks",), lambda held: [*held, 0]),
    (("state", "random"), {"bit_generator": "MT19937"}), (("state", "random"), 3), (("results",), 3), (("state",), [])])
def test_numbers_are_checked(kept: Any, tmp_path: Path, names: tuple[str, ...], value: Any) -> None:
    path, go = kept
    held = read_record(path, "checkpoint")
    if names[-1] == "random" and held.scalars["state"]["random"] is None:
        pytest.skip("a chain of its own generators")
    if names[-1] == "window" and held.scalars["identity"]["visit"] is None:
        pytest.skip("a chain without windows")
    scalars = json.loads(json.dumps(dict(held.scalars)))
    at = scalars
    for name in names[:-1]:
        at = at[name]
    at[names[-1]] = value(at[names[-1]]) if callable(value) else value
    write_record(tmp_path / "k", Record("checkpoint", scalars, held.arrays))
    with pytest.raises(ProblemError):
        go(Keeping(resume=tmp_path / "k"))


def test_fields_before_a_field_have_none_before_them(kept: Any, tmp_path: Path) -> None:
    """They are of one run; a file may nest them as deep as it likes."""
    held = read_record(kept[0], "checkpoint")
    for depth, within in ((1, True), (2, False)):
        scalars, arrays = dict(held.scalars), dict(held.arrays)
        for level in range(depth):
            scalars = {**held.scalars, "before": [scalars]}
            arrays |= {"before0." * (level + 1) + name: array for name, array in held.arrays.items()}
        write_record(tmp_path / "k", Record("checkpoint", scalars, arrays))
        with contextlib.nullcontext() if within else pytest.raises(ProblemError, match="TypeError: fields within fields"):
            Checkpoint.load(tmp_path / "k")


def test_what_the_log_s_network_holds_goes_together(tmp_path: Path) -> None:
    """Arrays that are in their limits one by one, and would have the loop index by a cycle that is not there."""
    from mrfhw.twin.log_timing import _COUNT, _NOW
    from mrfhw.twin.machine import Machine

    config, problem, run = dataclasses.replace(SMALL, counter_bits=1), whole("constant"), Run(sweeps=9)
    machine = Machine(config, problem, run)
    for _ in range(4):
        machine.sweep()
    state = machine.state()
    Machine(config, problem, run).restore(state)
    for name, change in (("pending_cycle", lambda array: array + 10**6), ("clock", lambda array: array + 10**6),
                         ("network", lambda array: array * 0 + 10**6)):
        with pytest.raises(ProblemError, match="the state of the log's network is none of this machine"):
            Machine(config, problem, run).restore(dataclasses.replace(state, more={**state.more, name: change(state.more[name])}))
    # More that are on their way than there is room for, each of them in time.
    network = state.more["network"].copy()
    network[_COUNT] = len(state.more["pending_cycle"]) + 1
    more = {**state.more, "network": network, "pending_cycle": np.full_like(state.more["pending_cycle"], network[_NOW] + 1)}
    with pytest.raises(ProblemError, match="the state of the log's network is none of this machine"):
        Machine(config, problem, run).restore(dataclasses.replace(state, more=more))
