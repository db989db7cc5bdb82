"""Boards that answer valid frames of wrong contents, or what nobody asked, or never end: one line each, in bounded time.

Behind each is a real one, the compiled machine with its bridge and UART, so that every phase of a run is reached.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.host.links import Address
from mrfhw.host.requests import PATIENCE, Limits
from mrfhw.scenes import stereo_scene, write_scene
from support.boards import TINY_OPTIONS, Board, board
from support.hostile import Answer, HostileBoard, with_registers
from support.hostile_faults import FAULTS, ONE_SITE, WAIT, each, lmem, log, reads
from support.refusals import assert_one_line

pytestmark = pytest.mark.claim("link",
    "a board that answers what cannot be, or for ever, is one line in a stated time, and nothing is written; a run that goes on is"
    " not cut off")

LONGEST = 4 * WAIT + 8  # seconds of a whole command, what is loaded and drawn included


@pytest.fixture(scope="module")
def remote() -> Iterator[Board]:
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS, "--outstanding", "8") as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("scene")
    write_scene(stereo_scene(16, 24, 6, 0), directory)
    return directory


@pytest.fixture(scope="module")
def wanted(files) -> Path:
    assert run(files, "model", files / "model").exit_code == 0
    return files / "model"


def run(files: Path, backend: str, output: Path):
    return CliRunner().invoke(main, ["run", "stereo", str(files / "left.png"), str(files / "right.png"), "--window", "4,2,14,7",
                                     "--labels", "6", "--sweeps", "30", "--burn-in", "10", "--chains", "1", "--backend", backend,
                                     "-o", str(output), *TINY_OPTIONS], prog_name="mrfhw")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_run(remote, files, wanted, tmp_path, name) -> None:
    fault, output = FAULTS[name], tmp_path / "new" / "out"
    with HostileBoard(remote.address, fault.make(), fault.greet, fault.deliver) as hostile:
        began = time.monotonic()
        result = run(files, f"{hostile.address}?reconnect=0&patience={WAIT}", output)
        seconds, requests = time.monotonic() - began, hostile.requests
    assert seconds < LONGEST
    assert requests < fault.most
    if fault.says is None:
        assert result.exit_code == 0, result.output
        for file in ("labels.npy", "last.npy"):
            assert np.array_equal(np.load(output / file), np.load(wanted / file))
        assert np.array_equal(np.load(output / "histogram.npz")["counts"], np.load(wanted / "histogram.npz")["counts"])
        return
    assert_one_line(result, fault.says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.at != "run"])
def test_diagnose(remote, name) -> None:
    """The same line, or where the board speaks as it should but is another machine, a part that fails with these words."""
    fault = FAULTS[name]
    with HostileBoard(remote.address, fault.make(), fault.greet, fault.deliver) as hostile:
        began = time.monotonic()
        result = CliRunner().invoke(main, ["diagnose", f"{hostile.address}?reconnect=0&patience={WAIT}", *TINY_OPTIONS])
        assert time.monotonic() - began < LONGEST
    assert fault.says is not None
    if fault.at == "greeting":
        assert_one_line(result, fault.says)
        assert result.stdout == ""
    else:
        assert result.exit_code == 1
        assert re.match("FAIL  identity +" + fault.says, result.stdout), result.stdout
        assert (result.stdout.count("\n"), result.stderr) == (1, "")


@pytest.mark.slow
def test_diagnose_says_what_of_the_field_is_wrong(remote) -> None:
    """Where the board answers as it should, a wrong result is a part that fails."""
    tampers = (reads(cycles_low=0), lmem(lambda words: words ^ np.uint32(0x1000100)),
               log(each(lambda place, byte: byte ^ ONE_SITE(place))))
    for make, says in zip(tampers, ("the chip counts 0 cycles", "log and LMem have", "log and LMem have"), strict=True):
        with HostileBoard(remote.address, make()) as hostile:
            result = CliRunner().invoke(main, ["diagnose", f"{hostile.address}?patience={WAIT}", *TINY_OPTIONS])
        assert result.exit_code == 1, result.output
        assert "pass  random numbers" in result.stdout
        assert re.search(f"^FAIL  field +{says}.*\n\\Z", result.stdout, re.M), result.stdout


@pytest.mark.slow
def test_a_run_that_goes_on_is_never_cut_off(remote, files, tmp_path) -> None:
    """Its log is here long ago, and a sweep takes a while; all of them take three times the patience."""
    began: list[float] = []

    def slow(answer: Answer) -> bytes:
        if not answer.started:
            return answer.as_it_is()
        began.append(time.monotonic())
        sweep = min(30, int(5 * (began[-1] - began[0])))
        return with_registers(status=0 if sweep == 30 else 3, sweep=sweep)(answer)

    with HostileBoard(remote.address, slow) as hostile:
        result = run(files, f"{hostile.address}?reconnect=0&patience=2", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert began[-1] - began[0] > 5.9


@pytest.mark.tools
def test_patience_is_one_number() -> None:
    """Every wait is a share of it, and the address says it."""
    limits = Limits()
    assert limits.progress == PATIENCE
    assert limits.patient(PATIENCE) == limits
    found = Limits(reconnect=3).patient(1)
    assert (found.greeting, found.silence, found.progress, found.request, found.reconnect) == (0.25, 0.5, 1, 1.5, 3)
    assert Address.of("tcp://h:1?patience=7&reconnect=0").patience == Address.of("sim://?patience=7").patience == 7
