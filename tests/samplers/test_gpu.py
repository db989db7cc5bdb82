"""Backend gpu: the kernels on an OpenCL device give the bits of their NumPy twin, whatever the variant, the group and what is drawn
beside; its law is the enumerated one."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest

from mrfhw.field.colours import COLOURS
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.samplers.chain import chain_type
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.samplers.gpu import device as devices
from mrfhw.samplers.gpu import opencl
from mrfhw.samplers.gpu import points as gpu_points
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.samplers.gpu.fields import Fields, Sweep, key_of
from mrfhw.samplers.gpu.group import Group
from mrfhw.samplers.gpu.points import KernelPoint, add_points, kept_points, likely
from mrfhw.samplers.gpu.reference import draw, philox
from mrfhw.samplers.gpu.source import LANGUAGES, Variant, source
from mrfhw.samplers.gpu.tables import GpuTables, weight_bits, weight_table
from mrfhw.samplers.gpu.tuning import GROUPS, tried
from support.enumerated import chi_square_tail, enumerated, random_problem
from support.gpu_fields import VARIANTS, a_problem, twin

pytestmark = pytest.mark.claim(
    "gpu", "on an OpenCL device the sampler gives the bits of its twin in NumPy, whatever the variant, the work-group and the "
           "fields beside, and the enumerated distribution at a false-failure rate of 1e-6")
DEVICE = "0"  # of OpenCL, any
FALSE_FAILURE = 1e-6


def chain(problem: Problem, run: Run, variant: Variant | None = None, memory: int | None = None) -> GpuChain:
    return GpuChain(problem, run, choice=Choice(DEVICE, variant or Variant(), memory))


def test_philox_gives_the_published_words():
    """Known answers of Random123."""
    for word, key, wanted in ((0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
                              (0xFFFFFFFF, 0xFFFFFFFF, "408f276d 41c83b0e a20bc7c6 6d5451fd")):
        found = philox(tuple(np.full(1, word, np.uint64) for _ in range(4)), (key, key))
        assert " ".join(f"{int(one[0]):08x}" for one in found) == wanted


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.text)
@pytest.mark.parametrize("seed", range(12))
def test_bits_are_those_of_the_twin(seed, variant):
    problem = a_problem(seed)
    run = Run(sweeps=9, burn_in=3, seed=seed)
    labels, counts = twin(problem, run)
    found = chain(problem, run, variant)
    for sweep in range(run.sweeps):
        found.sweep()
        if seed % 2:
            found.sample  # noqa: B018  # carries out what there is
        assert found.sweeps == sweep + 1
    assert found.energy == FieldEnergy(problem)(labels)
    result = found.result(0.0)
    assert np.array_equal(result.last, labels)
    assert np.array_equal(result.counts, counts)


def test_sums_are_those_of_the_twin():
    problem, run = a_problem(8), Run(sweeps=9, burn_in=3, seed=8, estimate="mean")
    counts, found = twin(problem, run)[1], chain(problem, run)
    for _ in range(run.sweeps):
        found.sweep()
    assert np.array_equal(found.sums, np.stack([counts @ np.arange(problem.labels), counts.sum(-1)], -1))


def test_the_problems_meet_what_fields_differ_in():
    found = [a_problem(seed) for seed in range(12)]
    for of in ([problem.clamped is None for problem in found], [problem.edges is None for problem in found],
               [problem.symmetric for problem in found]):
        assert set(of) == {True, False}
    assert {problem.schedule.kind for problem in found} >= {"constant", "geometric"}
    assert len({problem.shape for problem in found}) > 8


@pytest.mark.parametrize(("labels", "temperature"), [(2, 9e3), (65, 9e3), (256, 9e3), (5, 0.01), (5, 1e7)])
def test_few_and_many_labels_and_all_temperatures(labels, temperature):
    rng = np.random.default_rng(labels)
    problem = Problem(labels=labels, unary=rng.integers(0, 1 << 17, (5, 4, labels)), beta=3000, tau=9,
                      schedule=Schedule.constant(temperature))
    run = Run(sweeps=20, burn_in=0, seed=1)
    found = chain(problem, run)
    for _ in range(run.sweeps):
        found.sweep()
    assert np.array_equal(found.counts, twin(problem, run)[1])
    assert found.tables.kind is np.int32


@pytest.mark.parametrize("estimate", ["mode", "mean", "last"])
def test_several_fields_in_a_launch_are_each_as_alone(estimate):
    problems = [a_problem(seed) for seed in range(20, 26)]
    runs = [Run(sweeps=7, burn_in=2, seed=seed, estimate=estimate) for seed in range(6)]
    tables = [GpuTables(problem) for problem in problems]
    together = Fields(devices.of_name(DEVICE), tables, runs,
                      [initial_labels(problem, run) for problem, run in zip(problems, runs, strict=True)], VARIANTS[4])
    schedules = [problem.schedule.temperatures() for problem in problems]
    together.sweep([[Sweep(number, next(temperatures), number >= run.counts_from)
                     for temperatures, run in zip(schedules, runs, strict=True)] for number in range(7)])
    kept = together.kept()
    counts, sums = [of.counts for of in kept], [of.sums for of in kept]
    for place, (problem, run) in enumerate(zip(problems, runs, strict=True)):
        alone = chain(problem, run)
        for _ in range(run.sweeps):
            alone.sweep()
        result = alone.result(0.0)
        assert np.array_equal(together.labels()[place], result.last)
        assert together.energies()[place] == alone.energy
        for of, one in ((counts, result.counts), (sums, result.sums)):
            assert (of[place] is None) == (one is None)
            assert one is None or np.array_equal(of[place], one)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.text)
def test_a_field_that_rests_stays_as_it_is(variant):
    problems = [a_problem(seed) for seed in (3, 4)]
    runs, tables = [Run(sweeps=3, burn_in=0, seed=seed) for seed in (1, 2)], [GpuTables(problem) for problem in problems]
    start = [initial_labels(problem, run) for problem, run in zip(problems, runs, strict=True)]
    found = Fields(devices.of_name(DEVICE), tables, runs, start, variant)
    found.sweep([[Sweep(0, 5.0, True), None], [Sweep(1, 5.0, True), None]])
    labels, counts = found.labels(), [of.counts for of in found.kept()]
    assert (labels[0] != start[0]).any()
    assert (labels[1] == start[1]).all()
    assert counts[0].sum() == 2 * problems[0].unclamped_sites
    assert not counts[1].any()


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_bands_give_the_same_bits(rows):
    rng = np.random.default_rng(rows)
    problem = Problem(labels=75, unary=rng.integers(0, 90, (11, 9, 75)), beta=6, tau=5, clamped=rng.random((11, 9)) < 0.1)
    run = Run(sweeps=6, burn_in=1, seed=4)
    found = chain(problem, run, memory=rows * 75 * 5 * 2)
    for _ in range(run.sweeps):
        found.sweep()
    assert found.energy is None
    labels, counts = twin(problem, run)
    assert np.array_equal(found.sample, labels)
    assert np.array_equal(found.counts, counts)


def test_chains_of_a_problem_share_its_bands():
    problem, runs = a_problem(4), [Run(sweeps=3, burn_in=0, seed=seed) for seed in range(3)]
    tables, start = GpuTables(problem), [initial_labels(problem, run) for run in runs]
    found = Fields(devices.of_name(DEVICE), [tables] * 3, runs, start, memory=tables.singles.nbytes // 5)
    found.sweep([[Sweep(0, 5.0, True)] * 3])
    for run, first, labels in zip(runs, start, found.labels(), strict=True):
        wanted = np.array(first, np.uint8)
        for colour in COLOURS:
            draw(tables, wanted, colour, 0, 5.0, key_of(run.seed))
        assert np.array_equal(labels, wanted)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_a_chain_goes_on_from_its_state(estimate):
    problem = random_problem(np.random.default_rng(5))
    run = Run(sweeps=50, burn_in=20, seed=3, estimate=estimate)
    whole, half = chain(problem, run), chain(problem, run)
    for _ in range(50):
        whole.sweep()
    for _ in range(37):
        half.sweep()
    rest = chain(problem, run, VARIANTS[2])
    rest.restore(half.state())
    for _ in range(13):
        rest.sweep()
    ends = [(of.result(0.0).last, of.counts, of.sums) for of in (whole, rest)]
    for one, other in zip(*ends, strict=True):
        assert (one is None) == (other is None)
        assert one is None or np.array_equal(one, other)


# -- the law


def test_whole_weights_are_the_law_s():
    """A site's probabilities are within L 2^-(b + 1) of the law's; of 64 labels that is 2^-20, of 256 2^-16."""
    rng = np.random.default_rng(1)
    for labels in (2, 3, 64, 256):
        for temperature in (0.3, 2.0, 40.0, 1e4):
            energy = rng.integers(0, int(20 * temperature) + 2, labels)
            table = weight_table(temperature, labels, int(energy.max()))
            above = energy - energy.min()
            weight = table[np.minimum(above, len(table) - 1)].astype(np.uint64)
            exact = np.exp(above / -temperature)
            assert weight.sum() <= 1 << 31
            assert np.abs(weight / weight.sum() - exact / exact.sum()).sum() / 2 <= labels * 2.0 ** -(weight_bits(labels) + 1)


@pytest.mark.slow
def test_open_2x2_grid_has_the_enumerated_distribution():
    grid = {"labels": 3, "constants": np.array([3, 11, 24]), "doubleton": "absolute", "beta": 6}
    problem = Problem(singleton1=np.array([[5, 20], [12, 9]]), **grid, schedule=Schedule.constant(9.0))
    states, probabilities = enumerated(problem, 9.0, [0, 1, 2, 3])
    seeds, sweeps = range(3000), 12
    tables, run = GpuTables(problem), Run(sweeps=sweeps, burn_in=0, seed=0, estimate="last")
    many = Fields(devices.of_name(DEVICE), [tables] * len(seeds), [dataclasses.replace(run, seed=seed) for seed in seeds],
                  [initial_labels(problem, dataclasses.replace(run, seed=seed)) for seed in seeds])
    many.sweep([[Sweep(number, 9.0, False)] * len(seeds) for number in range(sweeps)])
    last = np.array(many.labels()).reshape(len(seeds), -1)
    seen = [int((last == state).all(1).sum()) for state in np.asarray(states).reshape(-1, 4)]
    assert sum(seen) == len(seeds)
    assert chi_square_tail(np.array(seen), np.array(probabilities) * len(seeds)) > FALSE_FAILURE
    wrong = np.array(enumerated(problem, 13.0, [0, 1, 2, 3])[1])
    assert chi_square_tail(np.array(seen), wrong * len(seeds)) < FALSE_FAILURE


# -- variants that are tried


def test_tuning_tries_variants_for_as_long_as_it_is_told(monkeypatch):
    """Of a device of which nothing is known."""
    monkeypatch.setattr(gpu_points, "_known", list)
    problem = dataclasses.replace(a_problem(3), schedule=Schedule.constant(4.0))
    tables, opened = GpuTables(problem), devices.of_name(DEVICE)
    found = tried(opened, tables, 600.0)
    assert len({trial.variant for trial in found}) == len(found) == len(GROUPS) + 2 + 3
    assert found[0].variant == Variant()
    best = min(found[:len(GROUPS)], key=lambda trial: trial.sweep_s).variant
    assert found[len(GROUPS)].variant == dataclasses.replace(best, keep=not best.keep)
    assert all(0 < trial.sweep_s < 10 for trial in found)
    assert len(tried(opened, tables, 0.0)) == 1


def test_a_tuned_chain_has_the_same_bits():
    problem, run = a_problem(3), Run(sweeps=6, burn_in=1, seed=1)
    chains = GpuChain(problem, run, choice=Choice.of(f"device={DEVICE}&tune=0.5")), chain(problem, run)
    for _ in range(6):
        for of in chains:
            of.sweep()
    assert np.array_equal(chains[0].counts, chains[1].counts)


def test_what_a_device_does_not_take_is_not_chosen(monkeypatch):
    monkeypatch.setattr(gpu_points, "_known", list)
    opened = devices.of_name(DEVICE)
    monkeypatch.setattr(opened, "local_bytes", 8)
    found = tried(opened, GpuTables(a_problem(3)), 600.0)
    assert sum(trial.sweep_s == float("inf") for trial in found) == 3


# -- what is refused


@pytest.mark.parametrize(("options", "line"), [
    ("speed=2", "backend is 'gpu?speed=2'; it has one of each of device, group, keep, local, fixed, memory, together, tune, "
                "cutoff, region, subset, and no other 'speed': give such as gpu?device=0&group=64x1"),
    ("tune=nan", "backend is 'gpu?tune=nan'; tune is 'nan', not seconds, up to 600: give such as gpu?device=0&group=64x1"),
    ("group=64", "backend is 'gpu?group=64'; group is '64', not such as 64x1: give such as gpu?device=0&group=64x1"),
    ("group=0x1", "backend is 'gpu?group=0x1'; group is '0x1', not such as 64x1: give such as gpu?device=0&group=64x1"),
    ("keep=2", "backend is 'gpu?keep=2'; keep is '2', not 0 or 1: give such as gpu?device=0&group=64x1"),
    ("local=all", "backend is 'gpu?local=all'; local is 'all', not none, doubles, labels, doubles+labels: give such as "
                  "gpu?device=0&group=64x1"),
    ("cutoff=1", "backend is 'gpu?cutoff=1'; cutoff is '1', not a number above 1: give such as gpu?device=0&group=64x1"),
    ("region=8", "backend is 'gpu?region=8'; region is '8', not such as 8x8: give such as gpu?device=0&group=64x1"),
    ("memory=0", "backend is 'gpu?memory=0'; memory is '0', not MiB, 1 or more: give such as gpu?device=0&group=64x1")])
def test_wrong_options_are_one_line(options, line):
    with pytest.raises(ProblemError) as error:
        chain_type(f"gpu?{options}")
    assert str(error.value) == line


def test_options_say_what_they_do():
    assert chain_type("gpu?device=zen&group=8x4&keep=0&local=doubles%2Blabels&memory=3")[1]["choice"] == Choice(
        "zen", Variant((8, 4), False, True, True), 3 << 20)
    for variant in VARIANTS:
        assert Choice.of(variant.text.replace("+", "%2B")).variant == variant


PROBLEM = Problem(labels=4, unary=np.random.default_rng(2).integers(0, 40, (6, 7, 4)), beta=9)


def test_no_such_device_is_one_line():
    with pytest.raises(ProblemError, match=r"^device is 'abacus'; there are these: 0: .*: give the number of one, or a part of"):
        GpuChain(PROBLEM, Run(sweeps=3), choice=Choice("abacus"))


def test_no_gpu_is_one_line(monkeypatch):
    monkeypatch.setattr(opencl, "devices", list)
    with pytest.raises(ProblemError, match=r"^backend gpu finds no GPU; there are these devices: none: install its driver, or"):
        GpuChain(PROBLEM, Run(sweeps=3))


def test_no_opencl_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "mrfhw.samplers.gpu.opencl", None)
    with pytest.raises(ProblemError, match=r"^backend gpu needs PyOpenCL, or CuPy and an NVIDIA GPU: pip install 'mrfhw\[gpu\]', "
                                           r"or give backend cpu$"):
        devices.of_name("")


def test_groups_beyond_the_device_are_one_line():
    with pytest.raises(ProblemError, match=r"^group is 1048576x1; .* takes \d+ cells together: give fewer$"):
        chain(PROBLEM, Run(sweeps=3), Variant((1 << 20, 1)))


def test_a_driver_that_refuses_is_one_line():
    with pytest.raises(ProblemError, match=r"failed when it compiled the sampler: .*error: .*: give another device"):
        devices.of_name(DEVICE).kernel("__kernel void draw() { nothing; }", "draw")


def test_memory_that_is_not_there_is_one_line():
    opened = devices.of_name(DEVICE)
    with pytest.raises(ProblemError, match=r"(too little memory|failed) when it made room for counts"):
        opened.zeros(1 << 60)


def test_energies_beyond_31_bits_are_one_line():
    with pytest.raises(ProblemError, match=r"^energies go up to 4e\+09; backend gpu takes them below 2\^31"):
        GpuTables(Problem(labels=2, unary=np.full((2, 2, 2), 2_000_000_000), alpha=2))


def test_more_weights_than_fit_are_one_line():
    field = dict(labels=2, unary=np.array([[[0, 1 << 30]]]))
    with pytest.raises(ProblemError, match=r"^energies go up to 1.07e\+09, temperatures to 1e\+08; backend gpu has a weight for "
                                           r"each of 16777216 energies at most: give smaller ones, or backend float$"):
        GpuTables(Problem(**field, schedule=Schedule.constant(1e8)))
    GpuTables(Problem(**field, schedule=Schedule.constant(1e5)))


@pytest.mark.parametrize("temperature", [1e-300, 1e300])
def test_temperatures_without_end(temperature):
    table = weight_table(temperature, 4, 9)
    assert table.tolist() == [1 << 29] + ([0] if temperature < 1 else [1 << 29] * 9)


def test_no_language_has_macros_that_the_other_lacks():
    names = [{line.split()[1].split("(")[0] for line in text.splitlines() if line.startswith("#define")} - {"AXIS"}
             for text in LANGUAGES.values()]
    assert names[0] == names[1]
    assert "__kernel" not in source("cuda", Variant(), 4, 20, 16, 16)


@pytest.mark.parametrize("what", ["singletons", "counts"])
def test_a_group_that_does_not_fit_is_drawn_in_parts(what: str, monkeypatch: pytest.MonkeyPatch):
    """Of unlike fields, which alone take their bands or their counts, and together more than there is."""
    problems, run = [a_problem(seed) for seed in range(5)], Run(sweeps=40, burn_in=3, seed=6)
    alone = [GpuChain(problem, run, choice=Choice(device=DEVICE)) for problem in problems]
    most = max(chain.tables.singles.nbytes for chain in alone)
    sizes, zeros = [], opencl.OpenClDevice.zeros
    if what == "counts":
        most = 2 * max(problem.sites * problem.labels for problem in problems)

        def limited(self: devices.Device, nbytes: int) -> object:
            sizes.append(nbytes)
            if nbytes > most:
                raise devices.DeviceMemoryError("it has too little memory")
            return zeros(self, nbytes)

        monkeypatch.setattr(opencl.OpenClDevice, "zeros", limited)
    made, sweep = [], Fields.sweep

    def counted(self: Fields, steps: object) -> None:
        made.append(len(self.tables))
        sweep(self, steps)

    monkeypatch.setattr(Fields, "sweep", counted)
    group = Group()
    chains = [GpuChain(problem, run, choice=Choice(device=DEVICE, memory=most if what == "singletons" else None), group=group)
              for problem in problems]
    for _ in range(run.sweeps):
        for chain in chains:
            chain.sweep()
    found = [chain.result(0.0) for chain in chains]
    assert max(made) < len(problems)
    assert sum(made) >= len(problems)
    assert what == "singletons" or max(sizes) > most
    monkeypatch.setattr(opencl.OpenClDevice, "zeros", zeros)
    for chain, result in zip(alone, found, strict=True):
        for _ in range(run.sweeps):
            chain.sweep()
        assert np.array_equal(chain.result(0.0).counts, result.counts)
        assert np.array_equal(chain.result(0.0).last, result.last)


# -- what is known of a device


def known_point(opened: devices.Device, tables: GpuTables, variant: Variant, sweep_s: float, **changed: object) -> KernelPoint:
    return dataclasses.replace(KernelPoint.of(opened, tables, variant, sweep_s), **changed)  # type: ignore[arg-type]


def test_points_come_back_and_a_damaged_one_is_one_line(tmp_path):
    opened, tables = devices.of_name(DEVICE), GpuTables(a_problem(3))
    points = [known_point(opened, tables, variant, number + 0.5) for number, variant in enumerate(VARIANTS)]
    other = dataclasses.replace(points[0], device="NVIDIA H200")
    add_points(points[:2], tmp_path / "kept")
    add_points([*points[2:], other], tmp_path / "kept")
    assert sorted(kept_points(tmp_path / "kept"), key=repr) == sorted([*points, other], key=repr)
    assert (tmp_path / "kept" / "nvidia-h200.jsonl").exists()
    assert [point.variant for point in points] == VARIANTS
    for line in ("{}", "sweep", json.dumps({**dataclasses.asdict(other), "group": [0, 1]})[:-9]):
        (tmp_path / "kept" / "nvidia-h200.jsonl").write_text(line + "\n")
        with pytest.raises(ProblemError, match=r"nvidia-h200.jsonl: line 1 is no point of a device \(\w+\): take it out$"):
            kept_points(tmp_path / "kept")


def test_a_search_begins_with_what_is_known_of_a_like_field(monkeypatch):
    """Of labels first, on a device of that name alone."""
    opened, tables = devices.of_name(DEVICE), GpuTables(a_problem(3))
    labels = tables.problem.labels
    known = [known_point(opened, tables, VARIANTS[1], 2.0, labels=2 * labels),
             known_point(opened, tables, VARIANTS[2], 1.0, labels=90),
             known_point(opened, tables, VARIANTS[3], 3.0, labels=2 * labels),
             known_point(opened, tables, VARIANTS[5], 0.1, device="another", labels=labels)]
    monkeypatch.setattr(gpu_points, "_known", lambda: known)
    assert likely(opened, tables) == VARIANTS[1]
    found = tried(opened, tables, 600.0)
    assert [trial.variant for trial in found[:2]] == [Variant(), VARIANTS[1]]
    assert len({trial.variant for trial in found}) == len(found)
    monkeypatch.setattr(gpu_points, "_known", lambda: known[3:])
    assert likely(opened, tables) is None


def test_kept_points_can_be_read():
    assert all(point.sweep_s > 0 for point in kept_points())
