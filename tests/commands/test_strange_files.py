"""Files that never end, are too large or are no files, wherever a user gives one: one line, at once."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.cli import main
from mrfhw.field.problem import ProblemError
from mrfhw.pictures.files import PIXELS_MAX
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.system import files
from mrfhw.system.input_files import BYTES_MAX, read_plain
from studies.reproduce.command import command as reproduce

PIPES_DEVICES_SOCKETS = pytest.mark.claim(
    "files", "pipes, devices, sockets and files beyond the limit are refused at once, wherever a file is given")

SECONDS = 120
PLACES = {
    "left": "run stereo {} {good}", "right": "run stereo {good} {}", "disparities": "run stereo {good} {good} --truth {}",
    "first": "run motion {} {good}", "second": "run motion {good} {}", "flow": "run motion {good} {good} --truth {}",
    "image": "run segment {}", "segments": "run segment {good} --truth {}", "noisy": "run denoise {}",
    "mask": "run denoise {good} --mask {}", "clean": "run denoise {good} --truth {}", "verify": "verify stereo {} {good}",
    "record": "report {}"}


@pytest.fixture(autouse=True)
def _alarm():
    """Waiting for ever fails."""
    def late(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def good(tmp_path):
    write_scene(stereo_scene(24, 32, 8), tmp_path)
    return tmp_path / "left.png"


def refused(tmp_path, command, *words, of=main):
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(of, [*command.split(), *([] if command.startswith("report") else ["-o", str(tmp_path / "out")])],
                                prog_name="mrfhw")
    assert (result.exit_code, result.stdout) == (2, ""), result.exception
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.tools
@PIPES_DEVICES_SOCKETS
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_plain_file_is_not_opened(tmp_path, good, place):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
        for name, kind in ((tmp_path / "pipe", "a pipe"), (tmp_path / "link", "a pipe"), ("/dev/zero", "a device"),
                           (tmp_path / "socket", "a socket")):
            refused(tmp_path, PLACES[place].format(name, good=good), f"{name} is {kind}; only plain files are read: give a")
    refused(tmp_path, PLACES[place].format(tmp_path, good=good), "cannot be read (Is a directory)")


@pytest.mark.tools
@PIPES_DEVICES_SOCKETS
@pytest.mark.parametrize("place", PLACES)
def test_a_file_beyond_the_limit_is_not_read(tmp_path, good, place):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)  # of no blocks
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(tmp_path, PLACES[place].format(tmp_path / "large", good=good), "has 1099511627776 bytes; the limit is ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_a_file_that_does_not_say_its_size(monkeypatch):
    assert os.stat("/proc/self/status").st_size == 0
    assert b"Name:" in read_plain("/proc/self/status", "give another")
    with pytest.raises(ProblemError, match=r"has more than 10 bytes, the limit: give another$"):
        read_plain("/proc/self/status", "give another", 10)


def test_a_file_that_turns_into_a_pipe(tmp_path, monkeypatch):
    """Between the look at it and its opening."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_bytes(b"abc")
    plain, real = os.stat(tmp_path / "plain"), os.stat
    monkeypatch.setattr(files.os, "stat", lambda path: plain if str(path).endswith("pipe") else real(path))
    with pytest.raises(ProblemError, match="is a pipe"):
        read_plain(tmp_path / "pipe", "give another")


def test_names_that_are_none():
    for name, said in (("a\0b", "no name of a file"), ("", "No such file"), ("x" * 300, "File name too long"),
                       ("é/\n", "No such file")):
        with pytest.raises(ProblemError, match=said):
            read_plain(name, "give another")


@pytest.mark.tools
@PIPES_DEVICES_SOCKETS
def test_too_many_pixels_in_a_small_file(tmp_path, good):
    Image.new("1", (9500, 9500)).save(tmp_path / "bomb.png")
    assert (tmp_path / "bomb.png").stat().st_size < 1_000_000
    for place in ("left", "mask", "segments", "disparities"):
        refused(tmp_path, PLACES[place].format(tmp_path / "bomb.png", good=good),
                f"is 9500x9500, 90250000 pixels; the limit is {PIXELS_MAX}: scale it down, or cut it")
    assert 5 * PIXELS_MAX < BYTES_MAX  # so that no picture within one limit meets the other


@PIPES_DEVICES_SOCKETS
@pytest.mark.parametrize("text", ["[" * 100_000, "\xff", "[]", "{}", '{"labels_per_s": 1}', json.dumps({"labels_per_s": [1]}),
                                  '{"labels_per_s": 1e999, "resources": 3, "lanes": "x"}', "1" * 5000])
def test_records_that_are_none(tmp_path, text):
    (tmp_path / "build.json").write_bytes(text.encode("latin-1"))
    refused(tmp_path, f"report {tmp_path / 'build.json'}", "no record of a build")


def test_a_pipe_among_the_published_pictures(tmp_path):
    folder = tmp_path / "data" / "stereo" / "teddy"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "left.png")
    refused(tmp_path, f"figure-3.13 --scene teddy --iterations 4 --data {tmp_path / 'data'}", "is a pipe", of=reproduce)


@pytest.mark.tools
def test_a_flow_of_more_motions_than_a_file_may_have(tmp_path, good):
    header = np.array([202021.25], "<f4").tobytes() + np.array([99999, 99999], "<i4").tobytes()
    (tmp_path / "large.flo").write_bytes(header)
    refused(tmp_path, PLACES["flow"].format(tmp_path / "large.flo", good=good), "has 12 bytes; 99999x99999 motions take")
