"""Checkpoints: the state of a run of several chains, saved to a file at intervals and loaded to continue the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.backends.backend import Pauses
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.records import Record, read_record, write_record
from mrfhw.field.result import Result, result_of
from mrfhw.field.state import RunState
from mrfhw.field.state_check import WAY_OUT, Holds, Stands, check_array, check_generators, check_result, check_state

__all__ = ["EVERY", "Checkpoint", "Keeping", "Looks", "pauses_of"]

EVERY = "60s"
DIGESTS = ("problem", "run", "machine")
LOOKS_MAX = 1 << 22  # of all chains
IDENTITY = (*DIGESTS, "backend", "chains", "visit", "traced", "most_sweeps")
Looks = list[tuple[int, float, np.ndarray]]  # of a chain: (sweeps, energy, labels of the traced sites)


def pauses_of(every: str) -> Pauses:
    """"60s": every 60 seconds; "100": every 100 sweeps. Raises ProblemError for anything else."""
    try:
        return Pauses(seconds=float(every[:-1])) if every.endswith("s") else Pauses(sweeps=int(every))
    except ValueError as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"checkpoint-every is {every!r}; it must be seconds such as 60s, or a number of sweeps such as 100: "
                           "give one of them") from None


@dataclass(frozen=True)
class Keeping:
    """Files of checkpoints. path: where to save them, resume: from which one to continue; None for none. pauses: when to save."""

    path: Path | None = None
    pauses: Pauses | None = None
    resume: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The results of finished chains, and the state of the next one.

    identity: identifies the run: digests of problem, run and machine, and the rest of IDENTITY.
    results: of the finished chains.
    looks: of each chain that has begun.
    state: of the chain after the finished ones; None if it has not begun.
    beside: of the chains after that one, where they run side by side.
    length: sweeps and burn-in of the run under way, which may be a longer one than that of the identity.
    begun: where each chain stood when it went on with that one; empty where no chain goes on.
    ended: where each finished chain stands, without what it counted; empty where no chain goes on.
    """

    identity: Mapping[str, Any]
    results: list[Result] = field(default_factory=list)
    looks: list[Looks] = field(default_factory=list)
    state: RunState | None = None
    beside: list[RunState] = field(default_factory=list)
    length: Sequence[int] | None = None
    begun: list[RunState] = field(default_factory=list)
    ended: list[RunState] = field(default_factory=list)

    def check(self, path: object, identity: Mapping[str, Any]) -> None:
        """Raise ProblemError, which names what differs, unless this is a checkpoint of `identity`."""
        differing = [name for name in IDENTITY if self.identity.get(name) != identity[name]]
        if differing:
            def shown(of: Mapping[str, Any]) -> str:
                return ", ".join(f"{name} {of.get(name)!s:.{12 if name in DIGESTS else 80}}" for name in differing)

            raise ProblemError(f"{path} is a checkpoint of {shown(self.identity)}; this run has {shown(identity)}: give the "
                               "options that it was written with, or leave resume out")

    def check_contents(self, path: object, problem: Problem, run: Run, most: int, traced: int | None) -> None:
        """Raise ProblemError, which names the file, for what no chain of this run has.

        run: of the length under way.
        most: sweeps that it may have.
        traced: sites whose labels are kept, None where there are no looks.
        """
        chains = self.identity["chains"]
        states = [*([] if self.state is None else [self.state]), *self.beside]
        try:
            if run.sweeps > most or max(len(self.results) + len(states), len(self.ended), len(self.looks)) > chains:
                raise ProblemError(f"it has {len(self.results)} results, {len(states)} chains under way and {run.sweeps} sweeps; "
                                   f"the run has {chains} chains and {most} sweeps at most: {WAY_OUT}")
            for result in self.results:
                check_result(result, problem, run)
            for state in (*states, *self.begun, *self.ended):
                # What a backend takes besides is checked where it goes on.
                check_state(state, problem, run, Stands(random=state.random is not None))
                if state.generators is not None:
                    check_generators(state.generators, None)
            _check_looks(self.looks, problem, run, traced)
        except ProblemError as error:
            raise ProblemError(f"{path}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it, whole or not at all. Raises OSError."""
        scalars: dict[str, Any] = {"identity": dict(self.identity), "results": [], "looks": [len(looks) for looks in self.looks]}
        arrays: dict[str, np.ndarray] = {}
        for number, result in enumerate(self.results):
            scalars["results"].append(result.record.scalars)
            arrays |= {f"result{number}.{name}": array for name, array in result.record.arrays.items()}
        if self.state is not None:
            scalars["state"] = _add_state(self.state, "", arrays)
        for kind, states in (("begun", self.begun), ("ended", self.ended), ("beside", self.beside)):
            scalars[kind] = [_add_state(state, f"{kind}{number}.", arrays) for number, state in enumerate(states)]
        if self.length is not None:
            scalars["length"] = list(self.length)
        every = [look for looks in self.looks for look in looks]
        if every:
            arrays |= {"looks.sweeps": np.array([sweeps for sweeps, _, _ in every], np.int64),
                       "looks.energy": np.array([energy for _, energy, _ in every]),
                       "looks.labels": np.array([labels for _, _, labels in every], np.uint8)}
        write_record(path, Record("checkpoint", scalars, arrays))

    def check_shapes(self, path: object, problem: Problem, run: Run) -> None:
        """Raise ProblemError, which names the file, where what is counted and labelled is of another grid. run: of any length."""
        states = [*([] if self.state is None else [self.state]), *self.beside, *self.begun, *self.ended]
        try:
            for result in (*self.results, *(state.so_far for state in states)):
                check_result(result, problem, run)
        except ProblemError as error:
            raise ProblemError(f"{path}: {error}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str], fits: Callable[[Checkpoint], None] = lambda checkpoint: None) -> Checkpoint:
        """The checkpoint in a file. Raises ProblemError in one line.

        fits: raises ProblemError for one that does not belong to a run; it is given the file's with arrays of zeros, before any is
        read.
        """
        read = read_record(path, "checkpoint", lambda held: fits(_whole(held, path, look=False)))
        return _whole(read, path)


def _whole(record: Record, path: object, look: bool = True) -> Checkpoint:
    try:
        return _checkpoint(record, path, look)
    except ProblemError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = " ".join(str(error).split())[:60]
        raise ProblemError(f"{path} is no whole checkpoint ({type(error).__name__}: {why}): give a file that --checkpoint "
                           "wrote") from None


def _check_looks(looks: list[Looks], problem: Problem, run: Run, traced: int | None) -> None:
    for chain in looks:
        if not chain:
            continue
        sweeps, energy = np.array([one for one, _, _ in chain]), np.array([one for _, one, _ in chain])
        check_array("looks.sweeps", sweeps, Holds((len(chain),), 1, run.sweeps))
        labels = np.array([one for _, _, one in chain])
        check_array("looks.labels", labels, Holds((len(chain), traced), 0, problem.labels - 1))
        if (np.diff(sweeps) < 1).any() or energy.dtype.kind not in "iuf" or not np.isfinite(energy).all():
            raise ProblemError(f"the looks are not one after the other, each with an energy: {WAY_OUT}")


def _add_state(state: RunState, prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A state's scalars; its arrays are added to `arrays`."""
    found = state.so_far.record
    arrays |= {f"{prefix}state.{name}": array for name, array in found.arrays.items()}
    arrays |= {f"{prefix}more.{name}": array for name, array in state.more.items()}
    if state.generators is not None:
        arrays[f"{prefix}generators"] = state.generators
    return {"sweeps": state.sweeps, "window": state.window, "random": state.random, "so_far": found.scalars}


def _state(held: Mapping[str, Any], arrays: Mapping[str, np.ndarray], prefix: str, path: object) -> RunState:
    if type(held["sweeps"]) is not int or type(held["window"]) is not int:
        raise TypeError("sweeps of a chain")
    return RunState(
        sweeps=held["sweeps"], window=held["window"], random=held["random"], generators=arrays.get(f"{prefix}generators"),
        so_far=result_of(Record("result", held["so_far"], _part(arrays, f"{prefix}state.")), path),
        more=_part(arrays, f"{prefix}more.") or _part(arrays, f"{prefix}timing."))  # the latter is of files of releases before


def _part(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _checkpoint(record: Record, path: object, look: bool) -> Checkpoint:
    """look: with its looks, each of which is a few objects."""
    scalars, arrays = record.scalars, record.arrays
    results = [result_of(Record("result", one, _part(arrays, f"result{number}.")), path)
               for number, one in enumerate(scalars["results"])]
    held = scalars.get("state")
    begun, ended, beside = ([_state(one, arrays, f"{kind}{number}.", path) for number, one in enumerate(scalars.get(kind, ()))]
                            for kind in ("begun", "ended", "beside"))
    looks: list[Looks] = []
    first = 0
    lengths = {len(arrays[f"looks.{name}"]) for name in ("sweeps", "energy", "labels") if f"looks.{name}" in arrays}
    if not all(type(count) is int and count >= 0 for count in scalars["looks"]) or lengths not in (set(), {sum(scalars["looks"])}):
        raise TypeError("looks of several lengths")
    if sum(scalars["looks"]) > LOOKS_MAX:
        raise TypeError(f"more than {LOOKS_MAX} looks")
    for count in scalars["looks"] if look else ():
        part = slice(first, first + count)
        looks.append([] if not count else list(zip(arrays["looks.sweeps"][part].tolist(), arrays["looks.energy"][part].tolist(),
                                                   arrays["looks.labels"][part], strict=True)))
        first += count
    length = scalars.get("length")  # which files of releases before have not
    whole = length is None or [type(number) for number in length] == [int, int]
    if not whole or len(begun) not in (0, scalars["identity"]["chains"]):
        raise TypeError("sweeps of chains that go on")
    return Checkpoint(identity=scalars["identity"], results=results, looks=looks, length=length,
                      state=None if held is None else _state(held, arrays, "", path), begun=begun, ended=ended,
                      beside=beside)
