"""The driver in C on images, logs, registers, buffers and calls that nobody should give it, by programs of 32 and 64 bits.

Buffers have guards before and behind them, and the sanitizers look at every access of the programs of 64 bits. What is drawn is
the same in every run.
"""

from __future__ import annotations

import functools
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mrfhw.driver.driver import ChipError
from mrfhw.driver.image import HEAD_WORDS, ImageWord
from mrfhw.field.problem import ESTIMATES, LABELS_MIN, SWEEPS_MAX, Problem, Run, Schedule
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.ports import MemoryPort
from mrfhw.machine.registers import register
from mrfhw.machine.words import log_message
from mrfhw.placement.placement import Placement
from support.driver_scripts import BUILDS, CALLS, EVENTS, Answer, Base, Machine, Script, answers, build, can_build, script_of
from support.random_problems import random_placement, with_estimates

pytestmark = [
    pytest.mark.tools,
    pytest.mark.claim("soc",
        "the driver in C writes only inside the buffers that it is given, whatever image, log, machine and calls it meets, "
        "compiled for 32 and 64 bits, as C and as C++; what it and the driver in Python both accept is the same answer"),
]

SMALL = dict(spus=1, tile_rows=4, tile_cols=4, label_bits=3, data_bits=6, temperature_table=4, s2_words=64, line_bits=64)
MACHINES = {
    "one tile": Machine(Config(mesh_rows=1, mesh_cols=1, counter_bits=2, **SMALL)),
    "four packers": Machine(Config(mesh_rows=2, mesh_cols=2, counter_bits=3, hub_fan_in=2, line_levels=2,
                                   **SMALL | dict(label_bits=4, line_bits=128)), count_bits=16),
    "ring": Machine(Config(mesh_rows=1, mesh_cols=2, counter_bits=1, address_bits=20, **SMALL), 8, MemoryPort(64, 32, 128)),
}
BASES = 12  # right runs, of which all others are made
RUNS = 100  # of each machine and seed
EDGES = (0, 1, 2, 3, 7, 8, 255, 256, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, (1 << 31) - 1,
         1 << 31, (1 << 31) + 1, (1 << 32) - 2, (1 << 32) - 1)


def hot(rng: np.random.Generator, config: Config) -> Placement:
    """Labels that change all the time, so that there are many messages."""
    shape = tuple(rng.integers(2, 5, 2))
    problem = Problem(labels=5, singleton1=rng.integers(0, 64, shape), constants=np.arange(5) * 11, beta=2,
                      schedule=Schedule.constant(90.0), clamped=rng.random(shape) < 0.2)
    return Placement(config, problem, Run(sweeps=14, burn_in=2, seed=int(rng.integers(1 << 32))))


@functools.cache
def bases(name: str) -> list[Base]:
    rng, machine = np.random.default_rng(7), MACHINES[name]
    makes = [lambda: hot(rng, machine.config), lambda: with_estimates(random_placement(rng, machine.config))]
    return [script_of(machine, makes[number % 2](), rng) for number in range(BASES)]


class Programs:
    """The programs of the machines, by the name of each and its compiler, and what they answered."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.program = functools.cache(self._build)
        self.answered = functools.cache(lambda name, compiler, seed: answers(
            self.program(name, compiler), [script for _, script in drawn(name, seed)]))

    def _build(self, name: str, compiler: str) -> Path:
        place = self.directory / name / compiler
        place.mkdir(parents=True)
        if not can_build(compiler, place):
            pytest.skip(f"{compiler} makes no programs here")
        return build(place, MACHINES[name], compiler)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("programs"))


# -- what is drawn


def with_crc(image: np.ndarray) -> np.ndarray:
    return np.append(image[:-1], np.uint32(zlib.crc32(image[:-1].astype("<u4").tobytes())))


def other_number(rng: np.random.Generator, value: int) -> int:
    """Any, at an edge, or near the value."""
    kind = rng.integers(4)
    near = value + int(rng.integers(-2, 3)), int(rng.integers(1 << 32)), int(rng.choice(EDGES)), value ^ 1 << int(rng.integers(32))
    return near[kind] & 0xFFFFFFFF


def other_image(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """One with other numbers in its head, another address, or bits that its CRC does not have."""
    found, kind = image.copy(), rng.integers(10)
    if len(found) <= HEAD_WORDS + 2:  # cut off before
        return np.zeros(int(rng.integers(HEAD_WORDS)), np.uint32)
    sites = int(image[ImageWord.ROWS]) * int(image[ImageWord.COLS])
    if kind == 0:
        found[rng.integers(len(found))] ^= np.uint32(1 << int(rng.integers(32)))
        return found
    if kind == 1:
        return found[:rng.integers(len(found) + 1)]
    if kind <= 3:  # products that are small modulo 2^32
        wraps = 1 << 32
        found[ImageWord.LABELS] = min(wraps // sites + int(rng.integers(3)), wraps - 1)
    elif kind == 4:
        rows = 1 << int(rng.integers(1, 32))
        found[ImageWord.ROWS], found[ImageWord.COLS] = rows, min((1 << 32) // rows + int(rng.integers(2)), (1 << 32) - 1)
    elif kind == 5:  # as many sites in another shape
        found[ImageWord.ROWS], found[ImageWord.COLS] = found[ImageWord.COLS], found[ImageWord.ROWS]
    elif kind == 6:
        pair = HEAD_WORDS + 2 * int(rng.integers((len(found) - HEAD_WORDS - 1) // 2))
        found[pair] = other_number(rng, int(found[pair]))
    else:
        word = int(rng.choice([word for word in ImageWord if word not in (ImageWord.WORDS, ImageWord.MAGIC)]))
        found[word] = other_number(rng, int(found[word]))
    return with_crc(found)


def other_log(rng: np.random.Generator, config: Config, log: bytes) -> bytes:
    """Bits, lines or bytes changed, lost, repeated or moved."""
    size, kind = Derived.of(config).line_bits // 8, rng.integers(6)
    lines = [log[at:at + size] for at in range(0, len(log), size)]
    at = int(rng.integers(len(lines))) if lines else 0
    if not lines or kind == 0:
        return rng.bytes(int(rng.integers(1, 6 * size)))
    if kind <= 2:
        bits = np.frombuffer(lines[at], np.uint8).copy()
        bits[rng.integers(len(bits))] ^= 1 << rng.integers(8)
        lines[at] = bits.tobytes()
    elif kind == 3:
        lines[at] = lines[at] * int(rng.integers(3))
    elif kind == 4:
        lines[at] = rng.bytes(int(rng.integers(2 * size)))
    else:
        rng.shuffle(lines)  # type: ignore[arg-type]
    return b"".join(lines)


def other_table(rng: np.random.Generator, table: dict[int, int]) -> dict[int, int]:
    found, addresses = dict(table), list(table)
    for _ in range(rng.integers(1, 3)):
        address = int(rng.choice(addresses[:30] if rng.random() < 0.4 else addresses))
        found[address] = other_number(rng, found[address])
    return found


def other_calls(rng: np.random.Generator, usual: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Any after the first, with a patience each."""
    names = CALLS[1:] if any(name == "ring_open" for name, _ in usual) else CALLS[1:-2]
    drawn = [(str(rng.choice(names)), int(rng.integers(1, 40))) for _ in range(rng.integers(1, 12))]
    return (*usual[:int(rng.integers(1, len(usual) + 1))], *drawn)


def other_script(rng: np.random.Generator, config: Config, right: Script) -> Script:
    """A right script with one thing wrong, now and then with several."""
    found = right
    for _ in range(1 if rng.random() < 0.7 else 3):
        kind = rng.integers(9)
        if kind <= 1:
            found = replace(found, image=other_image(rng, found.image))
        elif kind <= 3:
            found = replace(found, log=other_log(rng, config, found.log))
        elif kind == 4:
            found = replace(found, table=other_table(rng, found.table))
        elif kind == 5:
            found = replace(found, **{str(rng.choice(["counts", "last"])): int(rng.integers(0, right.counts + 5))})
        elif kind == 6:
            found = replace(found, calls=other_calls(rng, found.calls))
        elif kind == 7:
            events = [(int(rng.integers(60) if name == "log_returns" else rng.integers(12, 200)), str(name),
                       other_number(rng, (1 << 32) - int(rng.integers(24))))
                      for name in rng.choice(EVENTS, rng.integers(1, 4))]
            found = replace(found, events=tuple(events))
        else:
            found = replace(found, ring=int(rng.integers(0, 2 * right.ring + 1)),
                            base=int(rng.choice(EDGES)) << int(rng.integers(33)))
    return replace(found, piece=int(rng.choice([1, 7, 1 << 20])))


@functools.cache
def drawn(name: str, seed: int) -> list[tuple[int, Script]]:
    """(number of its base, script), the right ones first."""
    rng, right = np.random.default_rng(seed), bases(name)
    others = [(number, other_script(rng, MACHINES[name].config, right[number].script))
              for number in rng.integers(0, BASES, RUNS - BASES).tolist()]
    return [*((number, base.script) for number, base in enumerate(right)), *others]


# -- what is right


def error_of_image(machine: Machine, image: np.ndarray, right: np.ndarray) -> str:
    """What the driver must say of an image, in whole numbers of any size."""
    config = Derived.of(machine.config)
    if len(image) <= HEAD_WORDS or not np.array_equal(with_crc(image), image):
        return "IMAGE"
    head = {word: int(image[word]) for word in ImageWord}
    digest = slice(ImageWord.DIGEST, ImageWord.ROWS)
    sites, counted = head[ImageWord.ROWS] * head[ImageWord.COLS], head[ImageWord.SWEEPS] - head[ImageWord.BURN_IN]
    labels, none = head[ImageWord.LABELS], head[ImageWord.ESTIMATE] == ESTIMATES.index("last")
    if not (head[ImageWord.MAGIC] == right[ImageWord.MAGIC] and head[ImageWord.FORMAT] == right[ImageWord.FORMAT]
            and head[ImageWord.WORDS] == len(image) == HEAD_WORDS + 2 * (head[ImageWord.WRITES] + sites) + 1
            and sites > 0 and labels >= LABELS_MIN and 1 <= head[ImageWord.SWEEPS] <= SWEEPS_MAX
            and head[ImageWord.ESTIMATE] < len(ESTIMATES) and (counted == 0 if none else counted > 0)):
        return "IMAGE"
    if not np.array_equal(image[digest], right[digest]):
        return "IMAGE_MACHINE"
    sums = head[ImageWord.ESTIMATE] == ESTIMATES.index("mean")
    last_address = image[HEAD_WORDS:-1:2].max()
    fits = (sites <= 1 << config.raster_bits and labels <= config.max_labels
            and last_address < (1 << AddressMap(machine.config).address_bits) - 1
            and not (sums and counted > config.sum_sweeps(labels)))
    return "OK" if fits else "IMAGE"


def check_images(name: str, found: list[Answer], scripts: list[tuple[int, Script]]) -> Counter[str]:
    said = Counter[str]()
    for answer, (number, script) in zip(found, scripts, strict=True):
        right = bases(name)[number].script.image
        for (call, _), error in zip(script.calls, answer.errors, strict=True):
            if call == "image":
                assert error == error_of_image(MACHINES[name], script.image, right)
                said[error] += 1
                if error == "OK":
                    rows, cols, labels, sweeps, burn_in, estimate = (int(script.image[word]) for word in (
                        ImageWord.ROWS, ImageWord.COLS, ImageWord.LABELS, ImageWord.SWEEPS, ImageWord.BURN_IN, ImageWord.ESTIMATE))
                    assert answer.problem == (rows, cols, rows * cols, labels, sweeps, burn_in, sweeps - burn_in, estimate)
    return said


def check_answers(name: str, found: list[Answer], scripts: list[tuple[int, Script]]) -> Counter[tuple[str, str]]:
    """Of whole runs with a right image: the driver in Python accepts what the one in C does, with the same numbers."""
    said = Counter[tuple[str, str]]()
    numbers = {register(one) for one in ("messages_low", "messages_high", "lines")}
    for answer, (number, script) in zip(found, scripts, strict=True):
        base = bases(name)[number]
        right = base.script
        if any(getattr(script, one) != getattr(right, one) for one in ("calls", "events", "base", "ring", "counts", "last")):
            continue
        if not np.array_equal(script.image, right.image) or (right.ring and len(script.log) != len(right.log)):
            continue  # the ring says another length than the log has
        changed = {at for at in right.table if script.table[at] != right.table[at]}
        if any(at >> AddressMap(MACHINES[name].config).tiles_bit == 0 for at in changed - numbers):
            continue
        try:
            wanted, of_python = base.read(script.log, script.table), "OK"
        except ChipError:
            wanted, of_python = None, "ChipError"
        said[answer.errors[-1], of_python] += 1
        if answer.errors[-1] != "OK":
            continue
        assert wanted is not None, (number, changed)
        np.testing.assert_array_equal(answer.last, wanted.last.ravel())
        counted = wanted.counts if wanted.sums is None else wanted.sums[..., 0]
        assert answer.counts.size == 0 or np.array_equal(answer.counts, counted.ravel())
    return said


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))])
@pytest.mark.parametrize("compiler", BUILDS)
@pytest.mark.parametrize("name", MACHINES)
def test_nothing_is_written_outside(name: str, compiler: str, seed: int, programs: Programs) -> None:
    """And every program says the same, word for word, bus accesses included."""
    scripts, found = drawn(name, seed), programs.answered(name, compiler, seed)
    assert [number for number, answer in enumerate(found) if answer.wrong] == []
    assert {answer.errors for answer in found[:BASES]} == {("OK",) * len(scripts[0][1].calls)}
    assert [answer.rest for answer in found] == [answer.rest for answer in programs.answered(name, "gcc", seed)]
    of_images, of_runs = check_images(name, found, scripts), check_answers(name, found, scripts)
    assert min(of_images["OK"], of_images["IMAGE"]) >= RUNS // 10
    assert of_runs["OK", "OK"] >= BASES
    assert sum(of_runs.values()) > of_runs["OK", "OK"]


@pytest.mark.parametrize("compiler", BUILDS)
def test_labels_of_which_as_many_as_sites_are_none_modulo_2_to_the_32(compiler: str, programs: Programs) -> None:
    """sites x labels is 0 to 14 in 32 bits; a message of a label that the buffer does not have must not be counted."""
    right = next(base for base in bases("one tile") if base.placement.run.estimate == "mode")
    machine, scripts = Derived.of(MACHINES["one tile"].config), list[Script]()
    fields = log_message(machine)
    for rows, cols, labels in ((2, 2, 1 << 30), (2, 8, 1 << 28), (1, 4, (1 << 30) + 1), (3, 5, (1 << 32) // 15 + 1)):
        sites, image = rows * cols, right.script.image
        last = image[HEAD_WORDS + 2 * int(image[ImageWord.WRITES]):-1][:2]
        image = np.concatenate([image[:HEAD_WORDS + 2 * int(image[ImageWord.WRITES])], np.tile(last, sites), [np.uint32(0)]])
        for word, value in ((ImageWord.ROWS, rows), (ImageWord.COLS, cols), (ImageWord.LABELS, labels),
                            (ImageWord.WORDS, len(image))):
            image[word] = value
        message = 1 << fields["count"].low | fields["label"].mask << fields["label"].low | sites - 1 << fields["address"].low
        scripts.append(replace(right.script, image=with_crc(image), counts=sites * labels % (1 << 32), last=sites,
                               log=message.to_bytes(machine.line_bits // 8, "little")))
    for answer in answers(programs.program("one tile", compiler), scripts):
        assert (answer.errors, answer.wrong) == (("OK", "IMAGE", "IMAGE", "STATE"), 0)
