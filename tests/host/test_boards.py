"""A simulated board as a program: solving on it, testing it, and what goes wrong with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends import plan as backends
from mrfhw.cli import main
from mrfhw.driver.driver import ChipError
from mrfhw.field.problem import Run
from mrfhw.generation.files import manifest
from mrfhw.generation.identity import circuit_digest
from mrfhw.host import connect
from mrfhw.host import diagnosis as diagnosing
from mrfhw.host.identity import machine_at
from mrfhw.host.links import LinkError
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.known import known, remember
from mrfhw.machine.registers import DIGITS, Region
from mrfhw.placement.placement import Placement
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.simulation.idle import Idle
from support.boards import TINY, TINY_OPTIONS, Board, assert_equals_model, board, tiny_problem

MISTAKE_BOARD_LINE = pytest.mark.claim(
    "link", "each mistake with a board is one line: no such port, no permission, another machine, no board, unplugged")
GOOD_BOARD_PASSES = pytest.mark.claim(
    "diagnose", "a good board passes every part; a stuck bit, a wrong generator and another machine fail theirs")


@pytest.fixture(scope="module")
def tiny() -> Iterator[Board]:
    with board("pty", *TINY_OPTIONS) as found:
        yield found


@pytest.mark.slow
@pytest.mark.claim("BoardTop",
    "the unmodified driver over two wires gives the model's labels, histogram, LMem and messages, faults or not (more cases: make "
    "long)")
@pytest.mark.parametrize(("rows", "cols", "spes"), [(24, 32, 1), pytest.param(48, 64, 4, marks=pytest.mark.long)])
def test_stereo_over_a_pseudo_terminal(rows: int, cols: int, spes: int) -> None:
    """On SPEs of 2 SPUs, by a second program; the program ends cleanly."""
    config = Config(mesh_rows=1, mesh_cols=1, spus=2) if spes == 1 else Config(mesh_rows=2, mesh_cols=2, spus=2)
    scene = stereo_scene(rows, cols, cols // 4, 0)
    problem, run = stereo_problem(scene.left >> 2, scene.right >> 2, labels=cols // 4), Run(sweeps=30, burn_in=10)
    with board("pty", "--quick", "--spes", str(spes), "--spus", "2") as found:
        seen: list[int] = []
        result = backends.solve(found.address, config, problem, run, progress=seen.append)
        assert_equals_model(result, config, problem, run)
        assert seen[-1] == 30
        assert seen == sorted(seen)
        assert result.messages_counted > 0
        assert found.end() == "board ended\n"
        assert found.process.returncode == 0


@pytest.mark.slow
@pytest.mark.long
def test_lanes_that_share_a_site() -> None:
    """Stereo, and what diagnose finds of memories, generators and a small field."""
    options = ["--preset", "smallest", "--lanes", "4", "--tile-rows", "16", "--tile-cols", "24", "--lmem-banks", "4"]
    config = Config.preset("smallest", lanes=4, tile_rows=16, tile_cols=24, lmem_banks=4)
    scene = stereo_scene(16, 24, 6, 0)
    problem, run = stereo_problem(scene.left >> 2, scene.right >> 2, labels=6), Run(sweeps=20, burn_in=5)
    with board("pty", "--quick", *options) as found:
        assert_equals_model(backends.solve(found.address, config, problem, run), config, problem, run)
        result = CliRunner().invoke(main, ["diagnose", found.address, *options])
        assert result.exit_code == 0, result.output
        assert {line.split()[0] for line in result.output.splitlines()} == {"pass"}


@pytest.mark.slow
def test_windows_and_chains(tiny, tmp_path) -> None:
    """The command line with a board as backend: windows larger than the machine, two chains, the model's picture."""
    write_scene(stereo_scene(20, 24, 4, 0), tmp_path)
    pictures = [str(tmp_path / f"{name}.png") for name in ("left", "right")]
    options = ["--labels", "4", "--sweeps", "6", "--visit", "3", *TINY_OPTIONS]
    for backend, name in ((tiny.address, "board"), ("model", "model")):
        result = CliRunner().invoke(main, ["run", "stereo", *pictures, *options, "--backend", backend, "-o", str(tmp_path / name)])
        assert result.exit_code == 0, result.output
    for file in ("estimate.png",):
        assert (tmp_path / "board" / file).read_bytes() == (tmp_path / "model" / file).read_bytes()


@pytest.mark.slow
@pytest.mark.claim(
    "boards", "a board may be a file outside the package, and is known by its digest where its machine was generated")
def test_a_board_that_was_generated_here_needs_no_options(tiny, tmp_path) -> None:
    assert machine_at(tiny.address) == TINY
    result = CliRunner().invoke(main, ["diagnose", tiny.address, "--every", "50"])
    assert result.exit_code == 0, result.output
    answer = mrfhw.solve(tiny_problem(1)[0], sweeps=6, chains=1, backend=tiny.address)
    assert answer.machine == TINY
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(manifest(TINY, {})))
    assert CliRunner().invoke(main, ["diagnose", tiny.address, "--every", "50", "--machine", str(path)]).output == result.output


@pytest.mark.slow
def test_a_manifest_drives_a_board_without_the_generator(tiny, tmp_path, monkeypatch) -> None:
    """The digest that it states is what the board must have; another one is refused."""
    monkeypatch.setenv("MRFHW_CACHE", str(tmp_path / "empty"))
    field, path = tmp_path / "field.npz", tmp_path / "manifest.json"
    tiny_problem(1)[0].save(field)
    words = ["run", "problem", str(field), "--machine", str(path), "--backend", tiny.address, "--sweeps", "6", "-o", str(tmp_path)]
    ask = ("import sys; from mrfhw.cli import main; code = main(sys.argv[1:], standalone_mode=False); print(); "
           "print(*{name.partition('.')[0] for name in sys.modules}, *(name for name in sys.modules if 'mrfhw.gen' in name))")
    stated = manifest(TINY, {})
    path.write_text(json.dumps(stated))
    for called in (words, ["diagnose", tiny.address, "--machine", str(path), "--every", "64"]):
        done = subprocess.run([sys.executable, "-c", ask, *called], capture_output=True, text=True, check=True)
        loaded = done.stdout.splitlines()[-1].split()
        assert "mrfhw" in loaded
        assert not {"amaranth", "wasmtime", "mrfhw.generation"} & {*loaded}
    path.write_text(json.dumps({**stated, "digest": stated["digest"][::-1]}))
    result = CliRunner().invoke(main, words)
    assert f"the chip's circuit is {stated['digest'][:DIGITS]}, not {stated['digest'][::-1][:DIGITS]}: give" in result.output
    path.write_text(json.dumps({**stated, "digest": "none"}))
    assert "has a digest of no circuit: give a manifest.json" in CliRunner().invoke(main, words).output


@pytest.mark.slow
def test_a_board_that_is_not_known_is_no_machine(tiny, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MRFHW_CACHE", str(tmp_path))
    assert machine_at(tiny.address) is None
    assert known("0" * DIGITS) is None
    remember(Config.preset("smallest"), circuit_digest(Config.preset("smallest")))
    assert machine_at(tiny.address) is None
    record = tmp_path / "machines" / f"{circuit_digest(TINY)[:DIGITS]}.json"
    other = (tmp_path / "machines" / f"{circuit_digest(Config.preset('smallest'))[:DIGITS]}.json").read_text()
    for text in ("{", "[]", '{"parameters": {"label_bits": 99}}', other):
        record.write_text(text)
        assert machine_at(tiny.address) is None


@pytest.mark.slow
@GOOD_BOARD_PASSES
def test_diagnose_passes(tiny) -> None:
    result = CliRunner().invoke(main, ["diagnose", tiny.address, *TINY_OPTIONS])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert [line.split("  ")[1].strip() for line in lines] == [
        "identity", "registers", "s1 memories", "s2 memories", "lmem memories", "generators", "random numbers", "field",
        "sums"]
    assert all(line.startswith("pass  ") for line in lines)


@pytest.mark.slow
@GOOD_BOARD_PASSES
@pytest.mark.parametrize(("region", "parts"), [
    (Region.S1, {"s1 memories"}), (Region.S2, {"s2 memories"}), (Region.LMEM, {"lmem memories", "field", "sums"}),
    (Region.RANDOM, {"generators", "random numbers"})])
def test_diagnose_finds_a_fault(tiny, monkeypatch, region, parts) -> None:
    """A bit of one word of the last tile is read as 1."""
    read, place = RemoteChip._read, AddressMap(TINY).tile(Derived.of(TINY).spes - 1, region)

    def stuck(chip: RemoteChip, addresses: np.ndarray, *others: Any, **options: Any) -> np.ndarray:
        words = read(chip, addresses, *others, **options)
        words[addresses[:len(words)] == place] |= 2
        return words

    monkeypatch.setattr(RemoteChip, "_read", stuck)
    checks = list(diagnosing.diagnose(tiny.address, TINY))
    assert {check.part for check in checks if not check.passed} == parts


@pytest.mark.slow
@MISTAKE_BOARD_LINE
def test_another_machine_is_refused(tiny) -> None:
    options = [*TINY_OPTIONS, "--counter-bits", "3"]
    wrong = TINY.changed(counter_bits=3)
    right, other = (circuit_digest(config)[:DIGITS] for config in (TINY, wrong))
    with pytest.raises(ChipError, match=f"the chip's circuit is {right}, not {other}: give the"):
        connect(tiny.address, wrong)
    result = CliRunner().invoke(main, ["diagnose", tiny.address, *options])
    assert result.exit_code == 1
    assert result.output.startswith("FAIL  identity           the chip's circuit is ")
    with connect(tiny.address, TINY) as session:  # and it serves the right one as before
        problem, run = tiny_problem(3)
        assert_equals_model(session.solve(problem, run), TINY, problem, run)


def test_an_idle_board_waits_longer_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at all for 20 ms after a byte, then 1, 4 and 10 ms."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    idle = Idle()
    assert idle.pause() == 0.010
    idle.moved()
    found = []
    for now[0] in (100.0, 100.019, 100.03, 100.2, 100.4, 200.0):
        found.append(idle.pause())
    assert found == [0.0, 0.0, 0.001, 0.004, 0.010, 0.010]


@pytest.mark.slow
@MISTAKE_BOARD_LINE
@pytest.mark.parametrize("listen", ["pty", "tcp://127.0.0.1:0"])
def test_unplugged_in_the_middle(listen) -> None:
    """The board's process is killed during a run: one line, soon, and no way to resume what is gone."""
    problem, run = tiny_problem(4, sweeps=100_000)
    with board(listen, *TINY_OPTIONS) as found, connect(f"{found.address}?reconnect=1", TINY) as session:
        def unplug(sweeps: int) -> None:
            if sweeps > 100:
                found.process.send_signal(signal.SIGKILL)

        began = time.monotonic()
        with pytest.raises(LinkError, match=r"^the link to \w+://\S+ broke \([^\n]*\) and was not back within 1 s \([^\n]*\): see "
                                            "that the board is on and plugged in, then solve again$"):
            session.solve(problem, run, progress=unplug)
        assert time.monotonic() - began < 60
        found.process.wait(timeout=20)
        with pytest.raises(LinkError, match=r"^(there is no port|\S+ cannot be)"):
            session.resume()


@pytest.mark.slow
def test_a_file_is_no_port(tmp_path: Path) -> None:
    (tmp_path / "port").touch()
    with pytest.raises(LinkError, match=r"port cannot be opened as a serial port \([^\n]*\): name the board's port$"):
        connect(f"serial://{tmp_path / 'port'}", TINY)


@pytest.mark.parametrize("config", [*map(Config.preset, PRESETS), Config(doubletons="table", pairwise_bits=1, vector_bits=0)])
def test_diagnose_has_a_field_for_every_machine(config: Config) -> None:
    Placement(config, diagnosing._small_problem(config), Run(sweeps=1))
