"""The driver in C on the compiled chip: the bits of the model and of the driver in Python; and each of its errors."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.driver.c_files import TEMPLATES, driver_files
from mrfhw.driver.driver import ChipError
from mrfhw.driver.image import HEAD_WORDS, ImageWord, c_array, load_image
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.generation.files import Top
from mrfhw.generation.files import manifest as generated_manifest
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.ports import MemoryPort
from mrfhw.machine.registers import CONTROL_BITS, Region, register
from mrfhw.machine.samplers import Race
from mrfhw.machine.words import LmemWord
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin.machine import solve
from support.c_driver import ERRORS, STRICT, ChangedLines, CProblem, Machine, Stream, buffers, build, image_of, same_bits
from support.random_fields import random_field, random_field_machine
from support.random_problems import random_config, random_placement

DRIVER_MODEL_BITS = pytest.mark.claim("soc",
    "the driver in C gives the model's bits on the compiled chip and, by make long, over AXI, on a big-endian processor and on a "
    "32-bit Cortex-A9 (both under QEMU), and each of its errors is met (more cases: make long)")
RUNS_MEAN_KEEP = pytest.mark.claim("runtime",
    "runs for the mean keep sums and runs for the last sample nothing; RTL, board and model are equal, however long and "
    "interrupted (more cases: make long)")


def check(directory: Path, config: Config, placements: list[Placement], count_bits: int = 32) -> None:
    """Placements on one chip: each by the driver in C, by the one in Python, and by the model."""
    library = build(directory, config, count_bits=count_bits)
    with CompiledChip(config, quick=True) as chip:
        machine = Machine(library, chip, Stream(chip))
        assert (machine.open(), machine.settle()) == ("OK", "OK")
        for p in placements:
            wanted = solve(config, p, p.run)
            same_bits(machine, p, wanted, getattr(np, f"uint{count_bits}"))
            found, (_, counts, last) = run_placed(chip, p), machine.kept
            assert counts.size == 0 or np.array_equal(found.counts if found.sums is None else found.sums[..., 0], counts)
            np.testing.assert_array_equal(found.last, last)


def smallest(**changes: Any) -> Config:
    return Config.preset("smallest", **changes)


def denoising(config: Config, seed: int, clamped: bool = False, shape: tuple[int, int] = (13, 15)) -> Placement:
    """Constants for labels, so hot that labels change and messages are sent."""
    rng = np.random.default_rng(seed)
    problem = Problem(labels=6, singleton1=rng.integers(0, 64, shape), constants=np.arange(6) * 11, alpha=2, beta=5,
                      schedule=Schedule.constant(40.0), clamped=rng.random(shape) < 0.3 if clamped else None)
    return Placement(config, problem, Run(sweeps=9, burn_in=2, seed=seed))


def estimates(p: Placement) -> list[Placement]:
    """The same problem without a histogram."""
    return [p.again(dataclasses.replace(p.run, estimate=estimate)) for estimate in ("mean", "last")]


def stereo(config: Config, seed: int, shape: tuple[int, int], clamped: bool = False) -> Placement:
    rng = np.random.default_rng(seed)
    problem = Problem(labels=5, singleton1=rng.integers(0, 64, shape), singleton2=rng.integers(0, 64, shape),
                      offsets=np.array([(0, 0), (0, -1), (1, -2), (-1, 3), (0, 2)]), alpha=3, beta=20, tau=3, out_of_range=9,
                      schedule=Schedule.geometric(60.0, 0.9, 20.0), clamped=rng.random(shape) < 0.3 if clamped else None)
    return Placement(config, problem, Run(sweeps=12, burn_in=3, seed=seed, initial="minimum"))


# -- what is written


@pytest.mark.tools
def test_compiles_freestanding(tmp_path: Path) -> None:
    """Every file, with and without AXI ports, for each width of a count, without a warning and without another library's symbol."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    config = smallest()
    image = load_image(config, circuit_digest(config), denoising(config, 1), denoising(config, 1).run)
    for port in (None, MemoryPort(64, 32, 128)):
        directory = tmp_path / ("chip" if port is None else "axi")
        directory.mkdir()
        for name, text in {**driver_files(config, circuit_digest(config), port), "mrfhw_image.h": c_array(image)}.items():
            (directory / name).write_text(text)
        for source in ("mrfhw_driver.c", "example.c"):
            for bits in (8, 16, 32):
                subprocess.run([*STRICT, "-Wconversion", "-Wshadow", f"-DMRFHW_COUNT_BITS={bits}", "-c", source], cwd=directory,
                               check=True)
        symbols = subprocess.run(["nm", "-u", "mrfhw_driver.o"], cwd=directory, check=True, capture_output=True, text=True).stdout
        assert set(symbols.split()) <= {"U", "_GLOBAL_OFFSET_TABLE_"}


def test_templates_have_no_address_of_their_own() -> None:
    """Nor a width: numbers of the driver's code are small, or of CRC-32."""
    folder = Path(driver_files.__code__.co_filename).parent
    for name in TEMPLATES[:2]:
        code = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", (folder / name).read_text(), flags=re.DOTALL)
        numbers = set(re.findall(r"(?<![\w.])(0x[0-9a-f]+|\d+)u?\b", code))
        # Words and bytes of C's own types, the digest's words, CRC-32.
        assert numbers <= {"0", "1", "4", "8", "16", "32", "0xffffffff", "0xedb88320"}, name


def test_image_is_the_load_of_the_driver() -> None:
    """The words that the driver in Python writes, each once; LMem's last and in raster order."""
    config = Config(mesh_rows=2, mesh_cols=2, spus=2, tile_rows=8, tile_cols=8, hub_fan_in=2, lmem_banks=4)
    p = stereo(config, 3, (13, 15), clamped=True)
    image = np.frombuffer(load_image(config, circuit_digest(config), p, p.run), "<u4")
    assert [image[name] for name in (ImageWord.ROWS, ImageWord.COLS, ImageWord.LABELS, ImageWord.SWEEPS, ImageWord.BURN_IN)] == [
        13, 15, 5, 12, 3]
    assert image[ImageWord.WORDS] == len(image)
    assert zlib.crc32(image[:-1].tobytes()) == image[-1]
    sites = image[HEAD_WORDS + 2 * int(image[ImageWord.WRITES]):-1].reshape(-1, 2)
    assert len(sites) == 13 * 15
    assert len(np.unique(sites[:, 0])) == len(sites)
    assert (sites[:, 1] >> LmemWord.EXISTS & 1).all()
    np.testing.assert_array_equal(sites[:, 1] >> LmemWord.CLAMPED & 1, p.problem.clamped.ravel())
    np.testing.assert_array_equal(sites[:, 1] & 0xFF, p.initial.ravel())


@pytest.mark.tools
def test_export_command(tmp_path: Path) -> None:
    """What it writes compiles and is what the functions give, with and without AXI ports; mistakes are one line."""
    p, field = denoising(smallest(), 1), tmp_path / "field.npz"
    p.problem.save(field, p.run)
    manifest = tmp_path / "manifest.json"
    top = Top("axi", 32)
    held = generated_manifest(smallest(), {}, top)
    manifest.write_text(json.dumps(held))

    def export(*words: str) -> str:
        result = CliRunner().invoke(main, ["export", str(field), *words])
        assert result.exit_code in (0, 2), result.output
        assert (result.exit_code == 2) == result.output.startswith("Error: "), result.output
        return result.output

    for number, (words, port) in enumerate(((("--preset", "smallest"), None),
                                            (("--machine", str(manifest)), top.memory_port(smallest())))):
        out = tmp_path / str(number)
        assert "15x13 sites, 6 labels, 9 sweeps, image of " in export(*words, "-o", str(out))
        image = image_of(p)
        texts = {**driver_files(smallest(), circuit_digest(smallest()), port), "mrfhw_image.h": c_array(image)}
        wanted = {name: text.encode() for name, text in texts.items()}
        assert {path.name: path.read_bytes() for path in out.iterdir()} == {**wanted, "mrfhw_image.bin": image}
        subprocess.run([*STRICT, "-c", "mrfhw_driver.c", "example.c"], cwd=out, check=True)
    example = tmp_path / "0" / "example.c"
    example.write_text(f"/* changed */\n{example.read_text()}")
    assert f"kept {example}, which is another" in export("--preset", "smallest", "--seed", "9", "-o", str(example.parent))
    assert example.read_text().startswith("/* changed */")
    words = ("--preset", "smallest", "-o", str(tmp_path / "seed"))
    assert " 40 sweeps, " in export(*words, "--sweeps", "40", "--burn-in", "3", "--seed", "8", "--initial", "minimum")
    run = Run(sweeps=40, burn_in=3, seed=8, initial="minimum")
    export("--preset", "smallest", "-o", str(tmp_path / "mean"), "--estimate", "mean")
    mean = dataclasses.replace(p.run, estimate="mean")
    assert (tmp_path / "mean" / "mrfhw_image.bin").read_bytes() == load_image(p.config, circuit_digest(p.config), p.problem, mean)
    long = "--estimate", "mean", "--sweeps", "1000", "--burn-in", "0"
    assert ("the run counts 1000 sweeps; LMem holds the sums of 51 sweeps of 6 labels, and the driver in C does not clear them: "
            "give fewer sweeps, or a machine of more counter_bits") in export(
                "--preset", "smallest", "--label-bits", "4", "--counter-bits", "2", "-o", str(tmp_path / "none"), *long)
    assert (tmp_path / "seed" / "mrfhw_image.bin").read_bytes() == load_image(p.config, circuit_digest(p.config), p.problem, run)
    manifest.write_text(json.dumps(held | {"memory_port": {"data_bits": "32"}}))
    for words, said in ((("--machine", str(manifest)), "has a memory port of no machine: give a manifest.json"),
                        (("--preset", "smallest", "--sweeps", "0"), "sweeps is 0"), (("--label-bits", "9"), "label_bits is 9"),
                        (("--preset", "smallest", "--tile-rows", "8"), "the image is 15x13")):
        assert said in export(*words, "-o", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


# -- the same bits


@pytest.mark.tools
@DRIVER_MODEL_BITS
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("sampler", ["race", pytest.param("cdf", marks=pytest.mark.long)])
def test_smallest_machine(sampler: str, tmp_path: Path) -> None:
    """Constants and a second image with offsets, with clamped sites and without."""
    config = smallest(sampler=sampler)
    check(tmp_path, config, [denoising(config, 1), denoising(config, 2, clamped=True, shape=(16, 16)),
                             stereo(config, 3, (16, 14)), stereo(config, 4, (9, 16), clamped=True),
                             denoising(config, 5, shape=(1, 1)), *estimates(denoising(config, 6, clamped=True)),
                             denoising(config, 7)])


@pytest.mark.tools
@pytest.mark.parametrize("count_bits", [16, 8])
def test_narrow_counts(count_bits: int, tmp_path: Path) -> None:
    config = smallest(sampler="race")
    check(tmp_path, config, [denoising(config, 1)], count_bits)


@pytest.mark.tools
@DRIVER_MODEL_BITS
def test_tiles_lanes_and_hubs(tmp_path: Path) -> None:
    """2x2 tiles of two lanes behind three hubs, each row of banks of its own; messages of more than one a line, padding."""
    config = Config(mesh_rows=2, mesh_cols=2, spus=2, tile_rows=8, tile_cols=8, hub_fan_in=2, lmem_banks=4, line_bits=128,
                    counter_bits=3, s2_words=256, temperature_table=4, sampler="cdf")
    assert Derived.of(config).control_nodes == 3
    check(tmp_path, config, [stereo(config, 1, (16, 16)), stereo(config, 2, (13, 15), clamped=True), denoising(config, 3),
                             *estimates(stereo(config, 4, (13, 15)))])


@pytest.mark.tools
@DRIVER_MODEL_BITS
@pytest.mark.parametrize("seed", [pytest.param(11, marks=pytest.mark.long), 12])
def test_random_problems(seed: int, tmp_path: Path) -> None:
    """Ten problems: five of any machine's kind, five with channels, weights, tables and costs."""
    rng = np.random.default_rng(seed)
    config, make = (random_config(rng), random_placement) if seed == 11 else (random_field_machine(rng), random_field)
    check(tmp_path, config, [make(rng, config) for _ in range(5)])


# -- with AXI ports

PORTS = (64, 32)  # bits of data and addresses


def axi_machine() -> Config:
    return Config(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=4, tile_cols=4, label_bits=3, data_bits=6, counter_bits=1,
                  temperature_table=4, hub_depth=1, s2_words=64, line_bits=64, address_bits=20, sampler=Race(uniform_bits=8))


@pytest.mark.tools
@DRIVER_MODEL_BITS
@pytest.mark.long
def test_axi_ports(tmp_path: Path) -> None:
    """The log in a ring of memory, under Icarus between third-party AXI masters and slaves (`support.c_driver_axi`)."""
    from mrfhw.gateware.soc.axi_top import AxiTop, block_bytes
    from sim.support.recorder import placements_to_text
    from sim.support.runner import run_bench

    config = axi_machine()
    build(tmp_path, config, MemoryPort(*PORTS, block_bytes(config, *PORTS)))
    placed = placements_to_text([denoising(config, 1, shape=(4, 7))])  # what the bench's system asks for
    assert run_bench(AxiTop(config, *PORTS, digest=circuit_digest(config)), "mrfhw_axi_top", "support.c_driver_axi", {
        "data_bits": PORTS[0], "memory_address_bits": PORTS[1], "hot": placed, "placements": placed,
        "driver": str(tmp_path / "driver.so")}) == 1


# -- errors


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("driver"), smallest())


@pytest.fixture(scope="module")
def chip() -> Iterator[CompiledChip]:
    with CompiledChip(smallest(), quick=True) as found:
        yield found


@pytest.fixture
def machine(library: ctypes.CDLL, chip: CompiledChip) -> Machine:
    found = Machine(library, chip, Stream(chip))
    assert (found.open(), found.settle()) == ("OK", "OK")
    return found


def changed(image: bytes, word: int, value: int) -> bytes:
    """An image with another word and the right CRC."""
    words = np.frombuffer(image, "<u4").copy()
    words[word] = value
    return words[:-1].tobytes() + zlib.crc32(words[:-1].tobytes()).to_bytes(4, "little")


def reads(machine: Machine, name: str, value: int) -> None:
    """Have a register read another value."""
    machine.wrong = lambda address, word: value if address == register(name) else word


def still_works(machine: Machine, p: Placement) -> None:
    """After an error the machine runs the next problem, once it is settled."""
    machine.wrong = lambda address, word: word
    assert machine.settle() == "OK"
    same_bits(machine, p, solve(p.config, p, p.run))


@pytest.mark.tools
def test_every_error_has_its_line(library: ctypes.CDLL) -> None:
    source = "".join(path.read_text() for path in (Path(__file__), Path(__file__).parents[1] / "support" / "c_driver_axi.py"))
    for number, name in enumerate(ERRORS):
        text = library.mrfhw_error_text(number).decode()
        assert 0 < len(text) <= 100, name
        assert "\n" not in text
        assert f'"{name}"' in source, name  # a test expects it
    for number in (len(ERRORS), -1, 1 << 20):
        assert library.mrfhw_error_text(number) == b"no error of mrfhw"


@pytest.mark.tools
def test_another_machine(machine: Machine) -> None:
    for name, wanted in (("identity", "IDENTITY"), ("version", "VERSION"), *((f"digest_{i}", "DIGEST") for i in range(4))):
        reads(machine, name, 0)
        assert machine.open() == wanted


@pytest.mark.tools
def test_wrong_images(machine: Machine) -> None:
    p = denoising(smallest(), 1)
    image, before = image_of(p), len(machine.accesses)
    rng = np.random.default_rng(1)
    damaged = [image[:-4], image + bytes(4), b"", image[:4 * HEAD_WORDS]]
    for at in (*rng.integers(0, len(image), 20), 0, len(image) - 1):
        flipped = bytearray(image)
        flipped[at] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    for word, value in ((ImageWord.FORMAT, 1), (ImageWord.ESTIMATE, 3), (ImageWord.ROWS, 14), (ImageWord.WRITES, 0),
                        (ImageWord.COLS, 1 << 31), (ImageWord.BURN_IN, 10)):
        damaged.append(changed(image, word, value))
    for one in damaged:
        assert machine.load(one, *buffers(p)) == "IMAGE"
    for number in range(4):
        assert machine.load(changed(image, ImageWord.DIGEST + number, 1), *buffers(p)) == "IMAGE_MACHINE"
    assert machine.run() == "STATE"
    assert len(machine.accesses) == before, "something was written"
    found = CProblem()
    words = np.frombuffer(image, np.uint32)
    assert machine.library.mrfhw_image(words.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(words.size), ctypes.byref(found)) == 0
    assert [getattr(found, name) for name, _ in CProblem._fields_] == [13, 15, 195, 6, 9, 2, 7, 0]


@pytest.mark.tools
def test_buffers_that_are_too_small(machine: Machine, tmp_path: Path) -> None:
    p = denoising(smallest(), 1)
    counts, last = buffers(p)
    before = counts.copy()
    assert machine.load(image_of(p), counts.ravel()[:-1], last) == "BUFFER"
    assert machine.load(image_of(p), counts, last.ravel()[:-1]) == "BUFFER"
    np.testing.assert_array_equal(counts, before)
    narrow = Machine(build(tmp_path, smallest(), count_bits=8), machine.chip, machine.log)
    assert narrow.open() == "OK"
    for sweeps, wanted in ((257, "OK"), (258, "COUNT_BITS")):
        long = load_image(p.config, circuit_digest(p.config), p.problem, Run(sweeps=sweeps, burn_in=2))
        assert narrow.load(long, *buffers(p, np.uint8)) == wanted


@pytest.mark.tools
@RUNS_MEAN_KEEP
def test_sums_that_no_labels_have(machine: Machine) -> None:
    """Too large for the counted sweeps, and of a clamped site; a buffer of a histogram's size is not needed."""
    p = estimates(denoising(smallest(), 2, clamped=True))[0]
    for clamped in (False, True):
        counts, last = buffers(p)
        assert machine.load(image_of(p), counts.ravel()[:-1], last) == "BUFFER"
        assert machine.load(image_of(p), counts, last) == "OK"
        row, col = np.argwhere(p.problem.clamped == clamped)[0]
        bank, address = p.label_address(np.array(row), np.array(col))
        site = AddressMap(p.config).tile(0, Region.LMEM, int((bank << p.config.lmem_address_bits) + address) << 1)
        machine.wrong = lambda at, word, site=site: word | 7 << LmemWord.COUNT if at == site + 1 else word
        assert machine.run() == "COUNTS"
        machine.wrong = lambda at, word: word
    still_works(machine, p)


@pytest.mark.tools
def test_a_bus_that_fails(machine: Machine) -> None:
    """At any access, of which the address is told; nothing is accessed after it."""
    p = denoising(smallest(), 1)
    total = 0

    def counting(address: int, word: int) -> int:
        nonlocal total
        total += 1
        return word

    def attempt() -> str:
        counts, last = buffers(p)
        for step in (machine.open, machine.settle, lambda: machine.load(image_of(p), counts, last), machine.run):
            error = step()
            if error != "OK":
                return error
        return "OK"

    machine.wrong = counting
    assert attempt() == "OK"
    for nth in (0, 3, 7, 8, 9, 50, 500, 1000, total // 2, total - 400, total - 10, total - 1):
        left, failed = nth, -1

        def failing(address: int, word: int) -> int:
            nonlocal left, failed
            left -= 1
            assert left >= -1, "accessed after a failure"
            if left == -1:
                failed = address
                raise ChipError("refused")
            return word

        machine.wrong = failing
        assert attempt() == "BUS", nth
        assert machine.fault == failed
    still_works(machine, p)


@pytest.mark.tools
def test_functions_out_of_order(machine: Machine) -> None:
    p = denoising(smallest(), 1)
    assert (machine.call("start"), machine.poll(), machine.call("finish")) == ("STATE", ("STATE", False), "STATE")
    assert machine.load(image_of(p), *buffers(p)) == "OK"
    assert machine.call("finish") == "STATE"
    assert machine.run() == "OK"
    # Neither again without a load: the counts would be wrong.
    assert (machine.run(), machine.call("finish")) == ("STATE", "STATE")
    same_bits(machine, p, solve(p.config, p, p.run))


@pytest.mark.tools
def test_a_run_left_behind(machine: Machine) -> None:
    """The machine is busy; settled, it takes the next problem."""
    p = denoising(smallest(), 1)
    long = load_image(p.config, circuit_digest(p.config), p.problem, Run(sweeps=100_000, seed=3))
    assert machine.load(long, *buffers(p)) == "OK"
    assert machine.call("start") == "OK"
    for _ in range(3):
        assert machine.poll() == ("OK", False)
    assert machine.load(image_of(p), *buffers(p)) == "BUSY"
    still_works(machine, p)


@pytest.mark.tools
def test_impossible_registers(machine: Machine) -> None:
    p = denoising(smallest(), 1)
    for value in (1, 4, 0xFFFFFFFF):
        reads(machine, "status", value)
        assert machine.settle() == "STATUS"
        assert machine.load(image_of(p), *buffers(p)) == "STATUS"
    for name, value, wanted in (("status", 8, "STATUS"), ("sweep", 10, "SWEEP"), ("sweep", 8, "SWEEP"), ("messages_low", 1, "LOG"),
                                ("lines", 1, "LOG_LONG"), ("lines", 1 << 20, "STUCK")):
        machine.wrong = lambda address, word: word
        assert (machine.settle(), machine.load(image_of(p), *buffers(p))) == ("OK", "OK")
        reads(machine, name, value)
        assert machine.run(50) == wanted, (name, value)
    # A count of sweeps that falls.
    machine.wrong = lambda address, word: word
    assert (machine.settle(), machine.load(image_of(p), *buffers(p))) == ("OK", "OK")
    falling = iter([5, 4])
    machine.wrong = lambda address, word: next(falling) if address == register("sweep") else word
    assert machine.run() == "SWEEP"
    still_works(machine, p)


@pytest.mark.tools
def test_a_stopped_run(machine: Machine) -> None:
    """Stopped by somebody else: the run ends where it should not."""
    p = denoising(smallest(), 1)
    assert machine.load(load_image(p.config, circuit_digest(p.config), p.problem, Run(sweeps=1000)), *buffers(p)) == "OK"
    assert machine.call("start") == "OK"
    machine.chip.write(np.array([register("control")], np.uint32), np.array([1 << CONTROL_BITS["stop"]], np.uint32))
    while (found := machine.poll()) == ("OK", False):
        pass
    assert found == ("SWEEP", False)
    still_works(machine, p)


def attempt(machine: Machine, change: Callable[[bytes, int], bytes]) -> str:
    """Run a problem whose log's lines are changed, each by its number; returns the error."""
    p, stream = denoising(smallest(), 1), machine.log
    machine.wrong = lambda address, word: word
    assert (machine.settle(), machine.load(image_of(p), *buffers(p))) == ("OK", "OK")
    machine.log = ChangedLines(stream, p.config.line_bits // 8, change)
    error = machine.run(300)
    machine.log = stream
    return error


@pytest.mark.tools
@DRIVER_MODEL_BITS
def test_damaged_lines(machine: Machine) -> None:
    """A log of which lines are changed, lost or repeated."""
    config = Derived.of(smallest())
    size = config.line_bits // 8

    def replaced(address: int, label: int, count: int) -> Callable[[bytes, int], bytes]:
        other = (((address << config.label_bits | label) << config.counter_bits) | count).to_bytes(size, "little")
        return lambda line, number: other if number == 3 else line

    assert attempt(machine, lambda line, number: line) == "OK"
    assert attempt(machine, replaced(195, 0, 1)) == "LOG"  # no such site
    assert attempt(machine, replaced(0, 6, 1)) == "LOG"  # no such label
    assert attempt(machine, replaced(0, 0, 8)) == "LOG"  # more than was counted
    assert attempt(machine, replaced(0, 0, 0)) == "LOG"  # a message less
    for third, wanted in ((lambda line: b"", {"STUCK"}), (lambda line: line[:-1], {"STUCK", "LOG"}),
                          (lambda line: 2 * line, {"LOG_LONG", "LOG"}), (lambda line: line + bytes(size), {"LOG_LONG"})):
        change = lambda line, number, third=third: third(line) if number == 3 else line  # noqa: E731
        assert attempt(machine, change) in wanted
    assert attempt(machine, lambda line, number: line + bytes(1 << 16)) == "LOG_LONG"
    assert attempt(machine, lambda line, number: line + bytes(1)) in ("LOG_LONG", "LOG")
    # A message that is right by itself: the sums of two sites are wrong.
    moved: list[int] = []

    def move(line: bytes, number: int) -> bytes:
        word = int.from_bytes(line, "little")
        if moved or not word & config.count_max:
            return line
        moved.append(number)
        return (word ^ 1 << config.counter_bits + config.label_bits).to_bytes(size, "little")

    assert attempt(machine, move) == "COUNTS"
    still_works(machine, denoising(smallest(), 1))


@pytest.mark.tools
def test_logs_that_fail_or_do_not_end(machine: Machine) -> None:
    p, stream = denoising(smallest(), 1), machine.log

    def failing(most: int) -> bytes:
        raise ChipError("no log")

    for log, of_run, of_settle in ((failing, "LOG_SOURCE", "LOG_SOURCE"), (bytes, "LOG_LONG", "STUCK")):
        machine.log = stream
        assert (machine.settle(), machine.load(image_of(p), *buffers(p))) == ("OK", "OK")
        machine.log = log
        assert (machine.run(), machine.settle()) == (of_run, of_settle)
    machine.log = stream
    still_works(machine, p)


@pytest.mark.tools
def test_damaged_label_memory(machine: Machine) -> None:
    p = denoising(smallest(), 2, clamped=True)
    image = image_of(p)
    sites = np.frombuffer(image, "<u4")[HEAD_WORDS + 2 * int(np.frombuffer(image, "<u4")[ImageWord.WRITES]):-1].reshape(-1, 2)
    assert p.problem.clamped is not None
    clamped, drawn = (int(sites[np.flatnonzero(p.problem.clamped.ravel() == which)[0], 0]) for which in (True, False))
    label = (1 << p.config.label_bits) - 1 << LmemWord.LABEL
    for address, change, wanted in (
            (clamped, lambda word: word ^ 1 << LmemWord.LABEL, "LMEM"), (clamped, lambda word: word | label, "LMEM"),
            (drawn, lambda word: word | label, "LMEM"), (drawn + 1, lambda word: word | label | 1 << LmemWord.COUNT, "LMEM"),
            (drawn, lambda word: word ^ 1 << LmemWord.COUNT, "COUNTS"),
            (drawn, lambda word: word | 255 << LmemWord.COUNT, "COUNTS"),
            (clamped, lambda word: word | 1 << LmemWord.COUNT, "COUNTS")):
        assert machine.load(image, *buffers(p)) == "OK"
        machine.wrong = lambda at, word, address=address, change=change: change(word) if at == address else word  # type: ignore[misc]
        assert machine.run() == wanted, (address, wanted)
        machine.wrong = lambda address, word: word
    still_works(machine, p)
