"""Arrays that may be larger than memory lie in files of which nothing is left."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends.backend import Pauses
from mrfhw.field.problem import Run
from mrfhw.machine.config import Config
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Keeping
from mrfhw.scenes import stereo_scene
from mrfhw.system import large_arrays
from mrfhw.system.large_arrays import as_type, copied, zeros
from support.watching import Told

pytestmark = pytest.mark.claim("runtime",
    "histograms of large pictures lie in files of which nothing is left, whatever the backend, in memory where the disk has no "
    "room, and with the same numbers")

SCENE = stereo_scene(30, 28, 6, 1)
PROBLEM = stereo_problem(SCENE.left >> 2, SCENE.right >> 2, labels=6)
RUN = Run(sweeps=6, burn_in=2, seed=9)
WHOLE = Config(mesh_rows=2, mesh_cols=2, tile_rows=16, tile_cols=16)
WINDOWS = Config(mesh_rows=1, mesh_cols=1, tile_rows=16, tile_cols=16)


def in_file(array):
    """Whether the array's memory is that of a file without a name."""
    at = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(number, 16) for number in line.split()[0].split("-"))
        if begin <= at < end:
            return "(deleted)" in line
    raise AssertionError("the array is nowhere")


@pytest.fixture
def large(monkeypatch, tmp_path):
    """Everything counts as large; the folder of the files."""
    monkeypatch.setattr(large_arrays, "LARGE", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_large_zeros_lie_in_a_file_without_a_name(large):
    found = zeros((3, 4, 5), np.uint16)
    assert (type(found), found.shape, found.dtype, found.any()) == (np.ndarray, (3, 4, 5), np.uint16, False)
    assert in_file(found)
    assert not list(large.iterdir())


def test_small_zeros_lie_in_memory():
    assert not in_file(zeros((3, 4, 5), np.uint16))


def test_copies_and_other_types_lie_in_files_too(large):
    array = np.arange(300).reshape(20, 15)
    for found in (copied(array), as_type(array, np.uint16)):
        assert in_file(found)
        assert np.array_equal(found, array)
    assert as_type(array, array.dtype) is array
    assert copied(None) is None


def test_a_disk_without_room_is_done_without(large):
    """Room is taken at once: a write to a page that finds none would be a bus error, which ends the process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        found = zeros((1 << 17,), np.uint8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not in_file(found)
    found[:] = 1


BEYOND = """
import resource
import numpy as np
from mrfhw.system.large_arrays import zeros
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, ((held << 10) + (64 << 20), resource.RLIM_INFINITY))
found = zeros((200 << 20,), np.uint8)
found[:] = 3
assert int(found[::4096].sum()) == 3 * (200 << 8)
try:
    np.ones(200 << 20, np.uint8)
except MemoryError:
    print("there is no such memory")
"""


@pytest.mark.slow
def test_an_array_larger_than_the_memory_that_is_left():
    done = subprocess.run([sys.executable, "-c", BEYOND], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("there is no such memory\n", "")


def test_room_on_the_disk_is_taken_before_the_first_write(large, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert not in_file(zeros((1 << 17,), np.uint8))


def test_the_document_has_the_limit():
    text = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()
    assert f"a histogram of more than {large_arrays.LARGE >> 20} MiB lies in a file" in text


@pytest.mark.parametrize(("backend", "config"), [("cpu", WHOLE), ("float", WHOLE), ("model", WHOLE), ("model", WINDOWS)])
@pytest.mark.parametrize("add_up", [False, True])
def test_histograms_lie_in_files(backend, config, add_up, monkeypatch, tmp_path):
    plain = sample(backend, config, PROBLEM, RUN, chains=2)
    monkeypatch.setattr(large_arrays, "LARGE", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = sample(backend, config, PROBLEM, RUN, chains=2, add_up=add_up)
    assert in_file(found.counts)
    assert np.array_equal(found.counts, plain.counts)
    assert np.array_equal(found.last, plain.last)
    if not add_up:
        assert found.results == plain.results


@pytest.mark.parametrize(("backend", "config"), [("cpu", WHOLE), ("float", WHOLE), ("model", WINDOWS)])
def test_checkpoints_of_histograms_in_files(backend, config, large):
    plain, seen = sample(backend, config, PROBLEM, RUN), []
    path = large / "checkpoint"

    def stop(done):
        seen.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample(backend, config, PROBLEM, RUN, visit=1, watch=Told(stop), keeping=Keeping(path=path, pauses=Pauses(sweeps=1)))
    found = sample(backend, config, PROBLEM, RUN, visit=1, watch=Told(seen.append), keeping=Keeping(resume=path))
    assert seen[-1] == RUN.sweeps
    assert in_file(found.counts)
    if config is WHOLE:
        assert np.array_equal(found.counts, plain.counts)
    else:
        assert np.array_equal(found.counts, sample(backend, config, PROBLEM, RUN, visit=1).counts)
