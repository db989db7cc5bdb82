"""What is asked: an application with its options, who samples it and how many chains. Nothing is read or sampled before `job`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import mrfhw
from mrfhw.backends.registry import AUTO, BACKENDS, backend_type
from mrfhw.field.given import NUMBER_MAX, short, whole_number
from mrfhw.field.problem import SEEDS, Problem, problem_of
from mrfhw.field.records import LIMIT_BYTES, Record, Recorded, read_record
from mrfhw.jobs.job import Job
from mrfhw.jobs.registry import application
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import config_from_options, split_options
from mrfhw.runs.choice import check_useful, chosen_backend
from mrfhw.runs.enclosed import Enclosed
from mrfhw.runs.subset_mixing import mixing_note
from mrfhw.system.errors import ProblemError

__all__ = ["BESIDE", "Machine", "Request", "counted"]

Machine = Config | str | os.PathLike[str] | None  # itself, the path of a manifest, or the name of a preset
BESIDE = ("chains", "machine", "backend", "visit", "callback", "every")  # what a call takes beside an application's options
# Options that are text on the command line, and may be numbers here.
_SEPARATORS = {"window": ",", "vectors": "x", "centre": ",", "means": ",", "cooling": ",", "cooling_table": ","}


class Request(Recorded):
    """One run that is asked for.

        request = mrfhw.Request("stereo", left="left.png", right="right.png", labels=64, backend="cpu")
        answer = mrfhw.run(request)

    application: the name of an application, as in `mrfhw run NAME`.
    backend: cpu, float, events, gpu, model, rtl, a board's address, or auto: model where anything of a machine is given, else cpu.
    machine: a Config, the path of a manifest.json or the name of a preset; None for what holds the field.
    chains: independent chains; None for what the application takes.
    visit: sweeps of a window at a time, where the picture is larger than the machine.
    options: the application's options and its arguments by their names, pictures as arrays or paths; None is not given.

    The same request gives the same bits. `digest` covers all that decides them: arrays and files by their contents, no paths.
    Raises ProblemError in one line for what is wrong by itself; what is wrong together is said by `job`.
    """

    def __init__(self, application: str, *, backend: str = AUTO, machine: Machine = None, chains: int | None = None,
                 visit: int | None = None, **options: Any):
        self.application = application
        types = self._app.types
        self.options = {name: _checked(name, value, types.get(name)) for name, value in options.items() if value is not None}
        self.machine = _machine(machine, self.options)
        self.chains, self.visit = _counted_or_none("chains", chains), _counted_or_none("visit", visit)
        if not isinstance(backend, str):
            raise ProblemError(f"backend is {short(repr(backend))}; it is {', '.join(BACKENDS)} or the address of a board: give "
                               "one of them")
        self.backend = chosen_backend(backend, self.given)

    def with_options(self, **options: Any) -> Request:
        """The same with other options, or more of them, or another machine. Raises ProblemError."""
        own = {"backend": self.backend, "machine": self.machine, "chains": self.chains, "visit": self.visit}
        return Request(self.application, **{**own, **self.options, **options})

    @property
    def _app(self) -> Any:
        return application(self.application)

    @property
    def given(self) -> frozenset[str]:
        """The names of what is given, a machine and visits among them."""
        more = {"machine": self.machine, "visit": self.visit}
        return frozenset({*self.options, *(name for name, value in more.items() if value is not None)})

    def __repr__(self) -> str:
        return f"<Request: {self.application}, {', '.join(sorted(self.options))}; backend {self.backend}>"

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What says nothing to the backend, one line each. Raises ProblemError for what means nothing there."""
        return check_useful(self.backend, self.given, self.visit)

    @cached_property
    def _of_machine(self) -> dict[str, Any]:
        """The options of the machine; of a board that is known on this computer its own, where none are given."""
        machine = self.machine
        if machine is None and "://" in self.backend:
            machine = backend_type(self.backend).machine_at(self.backend, self.given)
        if machine is None:
            return {}
        return {"preset": machine} if isinstance(machine, str) and machine in PRESETS else {"machine": machine}

    def job(self, beside: Sequence[str] = BESIDE) -> Job:
        """The checked job: pictures are read, nothing is sampled. Raises ProblemError or ConfigError in one line.

        beside: what the caller takes itself, which a message about an unknown option names as well.
        """
        notes = self.notes
        job: Job = self._app.job_of(self.options | self._of_machine, self.backend, beside)
        chains = job.chains if self.chains is None else self.chains
        settings = {**job.settings, "chains": chains, "visit": self.visit}
        slowly = mixing_note(job.config, job.problem, job.run)
        warnings = () if slowly is None else (slowly,)
        return dataclasses.replace(job, settings=settings, notes=(*job.notes, *notes, *warnings), warnings=warnings)

    # -- files

    @property
    def record(self) -> Record:
        arrays: dict[str, np.ndarray] = {}
        options = {name: _encoded(value, name, arrays) for name, value in self.options.items()}
        return Record("request", {
            "application": self.application, "backend": self.backend, "chains": self.chains, "visit": self.visit,
            "machine": _encoded(self.machine, "machine", arrays), "options": options}, arrays)

    @property
    def compared(self) -> Record:
        """What decides the bits."""
        arrays: dict[str, np.ndarray] = {}
        machine, options = split_options(self.options | self._of_machine)
        defaults, of_files = self._app.defaults, self._app.of_files
        stated = {name: _encoded(_content(value) if name in of_files else value, name, arrays, dtypes=True)
                  for name, value in options.items() if name in self._app.arguments or not _same(value, defaults.get(name))}
        config = config_from_options(**machine) if machine or not backend_type(self.backend).software else None
        return Record("request", {
            "application": self.application, "version": mrfhw.__version__,
            "backend": backend_type(self.backend).identity(self.backend), "chains": self.chains, "visit": self.visit,
            "options": stated, "given": sorted(machine), "machine": None if config is None else Derived.of(config).digest}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, limit: int = LIMIT_BYTES) -> Request:
        """The request in a file that `save` wrote. Raises ProblemError in one line.

        limit: bytes that its arrays may have together; more is refused before any of them is read.
        """
        held = read_record(path, "request", lambda record: _check_spoken_of(record, path), limit=limit)
        try:
            found = held.scalars
            options = {name: _decoded(value, held.arrays, path) for name, value in found["options"].items()}
            return cls(found["application"], backend=found["backend"], chains=found["chains"], visit=found["visit"],
                       machine=_decoded(found["machine"], held.arrays, path), **options)
        except ProblemError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ProblemError(f"{path} is no whole request ({type(error).__name__}: {str(error)[:60]}): give a file that "
                               "Request.save wrote") from None


def counted(name: str, value: Any) -> int:
    """`value` as a whole number of at least 1. Raises ProblemError."""
    return whole_number(name, value, 1, NUMBER_MAX, "give a whole number of at least 1")


_LEAST = {"chains": "a run has at least 1: give more", "visit": "a window is swept at least once at a time: give 1 or more"}


def _counted_or_none(name: str, value: Any) -> int | None:
    """The same where None is a default."""
    if isinstance(value, int) and value < 1:
        raise ProblemError(f"{name} is {value}; {_LEAST[name]}")
    return None if value is None else counted(name, value)


def _checked(name: str, value: Any, kind: type | None) -> Any:
    """A value of an option as its job takes it, which the command line has from its parser. Raises ProblemError."""
    if kind is int or name == "spes":
        return whole_number(name, value, -NUMBER_MAX, SEEDS - 1, "give one", "it must be a whole number of at most 64 bits")
    if kind is float and (isinstance(value, bool) or not isinstance(value, (int, float, np.number))):
        raise ProblemError(f"{name} is {short(repr(value))}; it is a number: give one")
    if kind is bool and not isinstance(value, (bool, np.bool_)):
        raise ProblemError(f"{name} is {short(repr(value))}; it is True or False: give one of them")
    if name == "mesh":
        return _mesh(value)
    if name in _SEPARATORS and not isinstance(value, str):
        values = list(value) if isinstance(value, (tuple, list, np.ndarray)) else [value]
        return _SEPARATORS[name].join(str(int(one) if isinstance(one, (float, np.floating)) and float(one).is_integer() else one)
                                      for one in values)
    return value


def _mesh(value: Any) -> tuple[int, int]:
    parts = value.lower().split("x") if isinstance(value, str) else value
    if not isinstance(parts, (tuple, list)) or len(parts) != 2 or not all(str(part).isdecimal() for part in parts):
        raise ProblemError(f"mesh is {short(repr(value))}; it is rows and columns: give such as (4, 4)")
    return int(parts[0]), int(parts[1])


def _machine(machine: Any, options: Mapping[str, Any]) -> Machine:
    """A machine as it may be given. Raises ProblemError."""
    if isinstance(machine, str) and machine in PRESETS and options.get("preset", machine) != machine:
        raise ProblemError(f"machine is {machine} and preset is {options['preset']}: drop one of the two")
    if machine is not None and not isinstance(machine, (Config, str, os.PathLike)):
        raise ProblemError(f"machine is {short(repr(machine))}; it is a Config, the path of a manifest.json or one of "
                           f"{', '.join(PRESETS)}: give one of them")
    found: Machine = machine
    return found


def _same(value: Any, standard: Any) -> bool:
    return type(value) is type(standard) and not isinstance(value, np.ndarray) and bool(value == standard)


def _content(value: Any) -> Any:
    """What a file has, in place of its path."""
    if isinstance(value, (list, tuple)):
        return [_content(one) for one in value]
    if isinstance(value, Enclosed):
        return value.content
    if isinstance(value, (str, os.PathLike)) and Path(value).is_file():
        return np.frombuffer(Path(value).read_bytes(), np.uint8)
    return value


def _encoded(value: Any, name: str, arrays: dict[str, np.ndarray], dtypes: bool = False) -> Any:
    """A value as JSON has it; its arrays are added to `arrays`. Raises ProblemError for what cannot be kept.

    dtypes: state the types of arrays, which a digest of their values lacks.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return {"path": os.fspath(value)}
    if isinstance(value, Enclosed):
        part = f"{name}.content"
        arrays[part] = value.content
        return {"file": {"array": part, "called": value.name}}
    if isinstance(value, Config):
        return {"machine": value.to_dict()}
    if isinstance(value, Problem):
        held = value.record
        arrays.update({f"{name}.{part}": array for part, array in held.arrays.items()})
        return {"problem": {"name": name, "values": dict(held.scalars)}}
    if isinstance(value, (list, tuple)):
        return {"several": [_encoded(one, f"{name}.{number}", arrays, dtypes) for number, one in enumerate(value)]}
    if isinstance(value, np.ndarray) or hasattr(value, "mode"):  # a Pillow image as the array that it is
        arrays[name] = np.asarray(value)
        return {"array": name, "type": arrays[name].dtype.str} if dtypes else {"array": name}
    raise ProblemError(f"{name} is {short(repr(value))}; a request that is kept has numbers, text, paths, arrays and problems: "
                       "give an array or a path")


def _spoken_of(held: Any) -> set[str]:
    """The arrays, or the beginnings of their names, that encoded values speak of."""
    if isinstance(held, list):
        return set().union(*map(_spoken_of, held))
    if not isinstance(held, dict):
        return set()
    own = {value for key, value in held.items() if key in ("array", "name") and isinstance(value, str)}
    return own.union(*map(_spoken_of, held.values()))


def _check_spoken_of(record: Record, path: object) -> None:
    """Raise ProblemError for an array that is no part of the request, before it is read."""
    known = _spoken_of({"options": record.scalars.get("options"), "machine": record.scalars.get("machine")})
    for name in record.arrays:
        if name not in known and name.rpartition(".")[0] not in known:
            raise ProblemError(f"{path} has the array {name!r}, of which its request says nothing: leave it out")


def _decoded(held: Any, arrays: Mapping[str, np.ndarray], path: object) -> Any:
    if not isinstance(held, dict):
        return held
    (kind, value), = held.items()
    if kind == "path":
        return Path(value)
    if kind == "file":
        return Enclosed(value["called"], arrays[value["array"]])
    if kind == "machine":
        return Config.from_dict(value)
    if kind == "several":
        return [_decoded(one, arrays, path) for one in value]
    if kind == "problem":
        start = f"{value['name']}."
        parts = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        return problem_of(Record("problem", value["values"], parts), path)[0]
    return arrays[value]
