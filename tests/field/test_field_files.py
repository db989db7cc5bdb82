"""Problems, runs and results in files: what is saved comes back, and what is no such file is refused in one line."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mrfhw.field import archive, records
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule, load_problem, save_problem
from mrfhw.field.result import NUMBERS, Adding, Result, added
from mrfhw.field.state_check import Holds, check_array
from mrfhw.machine.config import Config
from mrfhw.twin import machine
from support.random_problems import random_config, random_placement

PROBLEMS_RUNS_RESULTS = pytest.mark.claim("files",
    "problems, runs and results come back from files equal and of one digest; what is no such file is one line, and nothing large "
    "is unpacked")

CONFIG = Config(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8)


def some(**changes: object) -> Problem:
    rng = np.random.default_rng(1)
    return Problem(**{"labels": 4, "singleton1": rng.integers(0, 60, (5, 7)), "constants": np.array([3, 20, 40, 59]), "beta": 2,
                      "clamped": rng.random((5, 7)) < 0.2, "schedule": Schedule.geometric(9.5, 0.75, 1.0), **changes})  # type: ignore[arg-type]


def one_line(error: pytest.ExceptionInfo[ProblemError], path: Path) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    assert ": " in text
    return text


def test_no_file_says_a_number_that_json_does_not_have(tmp_path):
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            records.write_record(tmp_path / "some.npz", records.Record("problem", {"beta": value}))
    assert not list(tmp_path.iterdir())


def test_a_state_of_another_shape_says_which_it_must_have():
    """n where any number is right."""
    with pytest.raises(ProblemError, match=r"^generators of the state has shape 3 x 5; it must be n x 4: "):
        check_array("generators", np.ones((3, 5), int), Holds((None, 4)))


@PROBLEMS_RUNS_RESULTS
@pytest.mark.parametrize("place", range(4))
def test_the_ends_of_an_array_are_found_in_whichever_block_they_are(place, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_BLOCK", 24)
    values = np.full(12, 5, np.int64)
    values[3 * place + 1], values[3 * ((place + 2) % 4)] = 9, -7
    np.savez(tmp_path / "some.npz", values=values)
    with archive.open_archive(tmp_path / "some.npz", "an array", 1 << 20) as opened:
        assert opened.looked_through("values", opened.declared("values")) == archive.Extremes(-7, 9)


@pytest.mark.slow
@PROBLEMS_RUNS_RESULTS
@pytest.mark.parametrize("number", range(12))
def test_random_problems_come_back(tmp_path, number):
    rng = np.random.default_rng([number, 1])
    config = random_config(rng)
    for _ in range(4):
        placement = random_placement(rng, config)
        save_problem(tmp_path / "field.npz", placement.problem, placement.run)
        problem, run = load_problem(tmp_path / "field.npz")
        assert problem == placement.problem
        assert run == placement.run
        assert (problem.digest, run.digest) == (placement.problem.digest, placement.run.digest)
        found = machine.solve(config, problem, run)
        assert found == machine.solve(config, placement.problem, placement.run)
        found.save(tmp_path / "result.npz")
        again = Result.load(tmp_path / "result.npz")
        assert again == found
        assert again.wall_seconds == found.wall_seconds
        placement.run.save(tmp_path / "run.npz")
        assert Run.load(tmp_path / "run.npz") == placement.run
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@PROBLEMS_RUNS_RESULTS
def test_equality_and_digest_are_of_values():
    problem = some()
    for same in (dataclasses.replace(problem, singleton1=np.asfortranarray(problem.singleton1)),
                 dataclasses.replace(problem, singleton1=problem.singleton1.astype(np.uint8)),
                 dataclasses.replace(problem, singleton1=np.repeat(problem.singleton1, 2, 1)[:, ::2]),
                 dataclasses.replace(problem, constants=problem.constants.astype(">i4"), beta=np.int64(2)),
                 dataclasses.replace(problem, beta=2.0)):
        assert same == problem
        assert same.digest == problem.digest
        assert hash(same) == hash(problem)
    moved = problem.singleton1.copy()
    moved[2, 3] ^= 1
    for other in (dataclasses.replace(problem, singleton1=moved), dataclasses.replace(problem, clamped=None),
                  dataclasses.replace(problem, clamped=~problem.clamped), dataclasses.replace(problem, beta=3),
                  dataclasses.replace(problem, observed=problem.clamped, clamped=None),
                  dataclasses.replace(problem, singleton1=problem.singleton1.reshape(7, 5), clamped=None),
                  dataclasses.replace(problem, schedule=Schedule.geometric(9.5, 0.76, 1.0))):
        assert other != problem
        assert other.digest != problem.digest
    labels = np.ones((5, 7), np.uint8)
    assert Run(sweeps=3, initial=labels) == Run(sweeps=3, initial=labels.astype(int))
    assert Run(sweeps=3, initial=labels) != Run(sweeps=3)
    assert Run(sweeps=3, seed=1).digest != Run(sweeps=3).digest
    with pytest.raises(ValueError, match="JSON compliant"):  # it equals nothing
        assert records.Record("problem", {"beta": math.nan}).digest
    assert problem != 5


def test_every_field_is_in_the_digest():
    """A field that is added to the classes must be saved as well."""
    for one in (some(), Run(sweeps=2)):
        record = one.record
        names = {field.name for field in dataclasses.fields(one) if field.init}
        absent = {name for name in names if getattr(one, name) is None}
        assert names - absent <= {*record.scalars, *record.arrays}


@pytest.mark.slow
@PROBLEMS_RUNS_RESULTS
def test_the_digest_is_that_of_another_process():
    code = "import sys; sys.path[:0] = 'tests', 'tests/field'; import test_field_files as t; print(t.some().digest)"
    found = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True,
                           env={**os.environ, "PYTHONHASHSEED": "7"}, check=True)
    assert found.stdout.strip() == some().digest


def test_the_time_that_a_result_took_is_no_part_of_it():
    result = machine.solve(CONFIG, some(), Run(sweeps=3))
    later = dataclasses.replace(result, wall_seconds=99.0)
    assert later == result
    assert later.digest == result.digest
    assert dataclasses.replace(result, cycles=1) != result
    counts = result.counts.copy()
    counts[0, 0, 0] += 1
    assert dataclasses.replace(result, counts=counts) != result


@pytest.mark.claim(
    "sessions", "every backend is a session of one kind; numbers of visits and chains add up by one stated rule")
def test_numbers_add_up_by_their_rules():
    values = {"cycles": (5, 7, 12), "replication": (1, 3, 3), "windows": (4, 4, 4), "reconnections": (1, 2, 3),
              "visits": (8, 8, 16), "loading_cycles": (10, None, None), "label_cycles": (None, 4, None)}
    total = added({name: value[n] for name, value in values.items()} for n in (0, 1))
    assert total == {name: value[2] for name, value in values.items()}
    assert {NUMBERS[name] for name in values} == set(Adding)
    with pytest.raises(ValueError, match="windows is 4 in one run and 5 in another"):
        added([{"windows": 4}, {"windows": 5}])


# -- refusals


def npz(path: Path, scalars: object = None, **arrays: np.ndarray) -> Path:
    text = scalars if isinstance(scalars, list) else {"format": "mrfhw problem", "version": 1, "labels": 4, **(scalars or {})}
    np.savez(path, json=np.array(json.dumps(text)), **{"singleton1": np.ones((3, 4), int), "constants": np.arange(4), **arrays})
    return path


@PROBLEMS_RUNS_RESULTS
@pytest.mark.parametrize(("scalars", "arrays", "message"), [
    ({"version": 2}, {}, "has the format version 2; this program reads up to 1: take a newer mrfhw"),
    ({"version": True}, {}, "has the format version True"),
    ({"version": "1"}, {}, "has the format version '1'"),
    ({"format": "mrfhw result"}, {}, "has the format 'mrfhw result', not 'mrfhw problem'"),
    ({"labels": 4.5}, {}, "labels of the problem is 4.5; it must be a whole number"),
    ({"labels": True}, {}, "labels of the problem is True; it must be a whole number"),
    ({"labels": None}, {}, "labels of the problem is None"),
    ({"labels": 400}, {}, "labels is 400; the limits are 2 to 256"),
    ({"colour": 4}, {}, "the problem has the unknown entry 'colour'; known are labels,"),
    ({"schedule": {"kind": "constant", "start": "hot"}}, {}, "start of the schedule is 'hot'; it must be a whole"),
    ({"schedule": {"kind": "table", "table": [1, "x"]}}, {}, "table of the schedule has other things than numbers"),
    ({"schedule": {"kind": "constant", "start": -1}}, {}, "temperature is -1; it must be a finite number above 0"),
    ({"schedule": {"kind": "geometric", "start": 50.0, "limit": 2.0}}, {}, "the geometric schedule lacks ratio: add it"),
    ({"schedule": {"kind": "geometric", "start": 0.5, "ratio": 0.9}}, {}, "the geometric schedule lacks limit: add it"),
    ({"schedule": {"kind": "constant"}}, {}, "the constant schedule lacks start: add it"),
    ({"schedule": {"start": 4.0}}, {}, "the schedule lacks kind: add it"),
    ({"singleton2_origin": [1, 2, 3]}, {}, "singleton2_origin of the problem is [1, 2, 3]"),
    ({"run": {"burn_in": 4}}, {}, "the run lacks sweeps: add it"),
    ({"run": {"sweeps": 4, "burn_in": 4}}, {}, "burn_in is 4; with 4 sweeps it must be 0 to 3"),
    ({"run": {"sweeps": 4, "initial": "random"}}, {"initial": np.ones((3, 4), int)}, "initial labels and a name for them"),
    ({}, {"initial": np.ones((3, 4), int)}, "has the unknown array 'initial'"),
    ({}, {"more": np.ones(3)}, "has the unknown array 'more'; a problem has singleton1, singleton2,"),
    ({}, {"constants": np.arange(5)}, "constants has shape (5,); 4 labels need (4,)"),
    ({}, {"singleton1": np.ones(3, int)}, "the first image has shape (3,)"),
    ({}, {"singleton1": np.full((3, 4), 0.5)}, "first image has the value 0.5; values are finite whole numbers"),
    ({}, {"constants": np.array(list("abcd"))}, "constants is text"),
    ({}, {"constants": np.arange(4) + 1j}, "constants has the type complex128"),
    ({}, {"constants": np.array([None] * 4)}, "constants has the type object"),
    ({}, {"clamped": np.full((3, 4), 2)}, "clamped has values from 2 to 2; a mask has booleans"),
    ({}, {"clamped": np.ones((4, 3), bool)}, "clamped has shape (4, 3); the grid has (3, 4)"),
    ([1, 2], {}, "json cannot be read (it is no object)"),
])
def test_refused_contents(tmp_path, scalars, arrays, message):
    path = npz(tmp_path / "field.npz", scalars, **arrays)
    with pytest.raises(ProblemError) as error:
        load_problem(path)
    assert message in one_line(error, path)


def test_by_hand_with_what_is_needed_alone(tmp_path):
    problem, run = load_problem(npz(tmp_path / "field.npz"))
    assert run is None
    assert problem == Problem(labels=4, singleton1=np.ones((3, 4), int), constants=np.arange(4))


def test_missing_and_repeated_members(tmp_path):
    path = tmp_path / "field.npz"
    np.savez(path, json=np.array(json.dumps({"format": "mrfhw problem", "version": 1, "labels": 4})), constants=np.arange(4))
    with pytest.raises(ProblemError, match="lacks the array singleton1: add it"):
        load_problem(path)
    np.savez(path, singleton1=np.ones((3, 4), int))
    with pytest.raises(ProblemError, match="has the members singleton1; a saved problem has json"):
        load_problem(path)
    npz(path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("singleton1.npy", b"")
    with pytest.raises(ProblemError, match="has json and each array once"):
        load_problem(path)


def test_not_a_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path, r"cannot be read \(Is a directory\)"),
                       (tmp_path / "pipe", "is a pipe; only plain files are read")):
        with pytest.raises(ProblemError, match=f"{what}: give a saved problem"):
            load_problem(path)
    with pytest.raises(ProblemError, match=r"cannot be read \(No such file or directory\)"):
        load_problem(tmp_path / "missing")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ProblemError, match="is not a saved problem"):
        load_problem(tmp_path / "text")


@pytest.mark.slow
@PROBLEMS_RUNS_RESULTS
def test_every_cut_and_many_flipped_bytes(tmp_path):
    """Of a damaged file either the values come back or one line does."""
    path, damaged = npz(tmp_path / "field.npz"), tmp_path / "damaged.npz"
    wanted, whole = load_problem(path)[0], path.read_bytes()
    for length in range(len(whole)):
        damaged.write_bytes(whole[:length])
        with pytest.raises(ProblemError) as error:
            load_problem(damaged)
        one_line(error, damaged)
    rng, refused = np.random.default_rng(3), 0
    for _ in range(600):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        damaged.write_bytes(data)
        with contextlib.suppress(ProblemError):
            assert load_problem(damaged)[0] == wanted
            refused -= 1
        refused += 1
    assert refused > 400


@PROBLEMS_RUNS_RESULTS
@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_of_numpy_s_format(tmp_path, version):
    held = io.BytesIO()
    np.lib.format.write_array(held, np.arange(4), version=(version, 0))
    path, text = tmp_path / "field.npz", json.dumps({"format": "mrfhw problem", "version": 1, "labels": 4})
    np.savez(path, json=np.array(text), singleton1=np.zeros((3, 3), int))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("constants.npy", held.getvalue())
    if version < 3:
        assert load_problem(path)[0] == Problem(labels=4, singleton1=np.zeros((3, 3), int), constants=np.arange(4))
        return
    with pytest.raises(ProblemError, match=r"constants has version 3.0 of NumPy's format; 1.0 and 2.0 are read: write") as error:
        load_problem(path)
    one_line(error, path)


@PROBLEMS_RUNS_RESULTS
@pytest.mark.parametrize(("method", "number"), [(zipfile.ZIP_BZIP2, 12), (zipfile.ZIP_LZMA, 14)])
def test_what_numpy_does_not_pack_is_not_unpacked(tmp_path, method, number):
    with zipfile.ZipFile(npz(tmp_path / "field.npz")) as plain, zipfile.ZipFile(tmp_path / "packed.npz", "w", method) as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    with pytest.raises(ProblemError, match=rf"is packed by method {number}; np.savez does not use it: write") as error:
        load_problem(tmp_path / "packed.npz")
    one_line(error, tmp_path / "packed.npz")


@PROBLEMS_RUNS_RESULTS
@pytest.mark.parametrize("text", [np.array(3.5), np.array(["{}", "{}"])], ids=["a number", "two texts"])
def test_what_stands_in_the_place_of_the_scalars_is_one_text(tmp_path, text):
    np.savez(tmp_path / "field.npz", json=text)
    with pytest.raises(ProblemError, match=r"json cannot be read \(it is no text\): write it with json.dumps") as error:
        load_problem(tmp_path / "field.npz")
    one_line(error, tmp_path / "field.npz")


@PROBLEMS_RUNS_RESULTS
def test_large_arrays_are_of_whole_numbers_where_it_is_said(tmp_path, monkeypatch):
    """And nowhere else, as states have others."""
    monkeypatch.setattr(records, "LARGE_BYTES", 100)
    path, values = tmp_path / "state.npz", np.linspace(0, 1, 30)
    records.write_record(path, records.Record("problem", {}, {"values": values}))
    assert (records.read_record(path, "problem").arrays["values"] == values).all()
    with pytest.raises(ProblemError, match=r"values has the value 0\.0\d*; values are finite whole numbers: scale them") as error:
        records.read_record(path, "problem", whole=True)
    one_line(error, path)


@PROBLEMS_RUNS_RESULTS
def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """Neither many bytes that were packed small nor a header that speaks of more than is there."""
    bomb = tmp_path / "bomb.npz"
    np.savez_compressed(bomb, json=np.array(json.dumps({"format": "mrfhw problem", "version": 1, "labels": 4})),
                        singleton1=np.zeros((1000, 1000)), constants=np.arange(4))
    assert bomb.stat().st_size < 30_000
    with pytest.raises(ProblemError, match=r"would take 8\d+ bytes of memory; the limit is 1000000: give a smaller field"):
        records.read_record(bomb, "problem", limit=1_000_000)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (1 << 40, 4)})
    npz(bomb)
    with zipfile.ZipFile(bomb, "a") as archive:
        archive.writestr("offsets.npy", header.getvalue() + bytes(16))
    with pytest.raises(ProblemError, match="offsets has 16 bytes, its header says 35184372088832"):
        load_problem(bomb)


@PROBLEMS_RUNS_RESULTS
def test_a_directory_that_says_more_than_is_packed(tmp_path):
    """Header and directory agree on an array of which the end is missing: nothing that memory happens to hold is taken for it."""
    path = npz(tmp_path / "field.npz")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (4, 2)})
    short = header.getvalue() + bytes(24)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("offsets.npy", short)
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")  # the last member's in the directory: its size without packing is at 24
    assert int.from_bytes(data[entry + 24:entry + 28], "little") == len(short)
    data[entry + 24:entry + 28] = (len(short) + 40).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ProblemError, match="it ends too soon") as error:
        load_problem(path)
    one_line(error, path)


@PROBLEMS_RUNS_RESULTS
def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "field.npz"
    some().save(path)
    before = path.read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records.np, "savez", broken)
    with pytest.raises(OSError, match="No space"):
        some(beta=5).save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["field.npz"]
    with pytest.raises(ProblemError, match=rf"^{tmp_path}: Is a directory: check the path, its permissions and the space on the"):
        some().save(tmp_path)


def test_the_same_problem_gives_the_same_file(tmp_path):
    for name in ("a", "b"):
        some().save(tmp_path / name, Run(sweeps=4, initial=np.zeros((5, 7), np.uint8)))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
