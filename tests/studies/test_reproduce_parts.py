"""What the reproductions are computed with: label memories, float64 chains, scenes, equations and cycles."""

import numpy as np
import pytest
from amaranth.hdl import Fragment

from mrfhw.applications.motion.field import motion_vectors
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.gateware.tile.spe import SIDES, Spe
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.twin.machine import Machine
from studies.reproduce import label_memory, performance, quality, structure
from studies.reproduce.chains import machine_for, machine_labels, tiles_for
from studies.reproduce.labels_seen import shares
from studies.reproduce.scenes import SETTINGS, chosen_settings, load_scene
from studies.reproduce.traces import POLICIES, WAYS, LabelMemories, follow

SIMULATED_LABEL = pytest.mark.claim("reproduction",
    "the simulated label memories are Algorithm 1 and its generalisations, and the equations are the published ones")


def small_problem(rows=12, cols=10, labels=5, temperature=2.0, seed=0):
    rng = np.random.default_rng(seed)
    return Problem(labels=labels, singleton1=rng.integers(0, 64, (rows, cols)), constants=rng.integers(0, 64, labels),
                   beta=2, schedule=Schedule.constant(temperature))


def brute_force(stream, policy, ways, count_max):
    """Messages (label, count) of one site, written from the rule alone: a dictionary and the times of the last picks."""
    count, picked, sent = {}, {}, []
    for now, label in enumerate(stream):
        if label in count:
            if count[label] == count_max:
                sent.append((label, count_max))
                count[label] = 0
            count[label] += 1
        else:
            if len(count) == ways:
                rank = (lambda x: picked[x]) if policy == "LRP" else (lambda x: (count[x], picked[x]))
                victim = min(count, key=rank)
                sent.append((victim, count.pop(victim)))
            count[label] = 1
        picked[label] = now
    return sent, count


@SIMULATED_LABEL
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ways", WAYS)
def test_a_label_memory_does_what_its_rule_says(policy, ways):
    rng = np.random.default_rng(ways)
    # Labels with favourites, so that hits, saturation, evictions and ties of the counts all come about.
    streams = rng.choice(12, (6, 400), p=np.array([30, 20, 14, 10, 8, 6, 4, 3, 2, 1, 1, 1]) / 100)
    memories = LabelMemories(6, [(policy, ways)], 7)
    for drawn in streams.T:
        memories.write(drawn.astype(np.uint8).reshape(2, 3))
    expected = [brute_force(stream, policy, ways, 7) for stream in streams]
    assert sum(memories.messages[policy, ways]) == sum(len(sent) for sent, _ in expected)
    labels, counts = memories.pairs(policy, ways)
    for site, (sent, held) in enumerate(expected):
        assert dict(zip(labels[site].tolist(), counts[site].tolist(), strict=True)) == held
        assert sum(n for _, n in sent) + sum(held.values()) == streams.shape[1]
    if ways > 1:
        assert len({len(sent) for sent, _ in expected}) > 1  # the sites differ, or this compares nothing


def test_policies_differ_and_more_pairs_send_less():
    rng = np.random.default_rng(3)
    drawn = rng.choice(6, (300, 40), p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]).astype(np.uint8)
    memories = LabelMemories(40, [(policy, ways) for policy in POLICIES for ways in WAYS], 1000)
    for labels in drawn:
        memories.write(labels)
    total = {kind: sum(sent) for kind, sent in memories.messages.items()}
    for policy in POLICIES:
        assert all(total[policy, n] > total[policy, n + 1] for n in range(1, 6))
        assert total[policy, 6] == total[policy, 8] == 0  # six labels find room, and no count saturates
    assert total["LRP", 2] != total["LFP", 2]
    assert total["LRP", 1] == total["LFP", 1] == int((drawn[1:] != drawn[:-1]).sum())


@SIMULATED_LABEL
@pytest.mark.parametrize("preset", ["paper-16x2", "default"])
@pytest.mark.parametrize("burn_in", [0, 9])
def test_two_pairs_replaced_least_recently_are_the_machines_algorithm_1(preset, burn_in):
    problem = small_problem(temperature=9.0)
    config = machine_for(problem, preset, counter_bits=3)
    machine = Machine(config, problem, Run(sweeps=60, burn_in=burn_in, seed=4))
    memories = LabelMemories(problem.sites, [("LRP", 2)], Derived.of(config).count_max)
    sent = []
    for sweep in range(60):
        machine.sweep()
        if sweep >= burn_in:
            memories.write(machine.image(machine.labels))
            sent.append(len(machine.messages))
    assert sent[-1] > 500
    assert sent == np.cumsum(memories.messages["LRP", 2]).tolist()
    labels, counts = memories.pairs("LRP", 2)
    assert np.array_equal(labels[:, 0], machine.image(machine.labels).ravel())
    assert np.array_equal(counts[:, 0], machine.image(machine.mrp_count).ravel())
    held = counts[:, 1] > 0
    assert np.array_equal(counts[:, 1], machine.image(machine.lrp_count).ravel())
    assert np.array_equal(labels[held, 1], machine.image(machine.lrp_label).ravel()[held])


def test_a_trace_is_what_brute_force_finds():
    rng = np.random.default_rng(5)
    chain = rng.integers(0, 7, (11, 4, 3)).astype(np.uint8)
    initial = rng.integers(0, 7, (4, 3)).astype(np.uint8)
    steps = []
    trace = follow(iter(chain), initial, 11, [("LRP", 1)], 63, steps.append)
    whole = np.concatenate([initial[None], chain])
    assert trace.changes.tolist() == [int((a != b).sum()) for a, b in zip(whole[1:], whole[:-1], strict=True)]
    half = chain[5:].reshape(6, -1)
    assert trace.unique.tolist() == [len(set(half[:, site])) for site in range(12)]
    assert np.array_equal(trace.last, chain[-1])
    assert steps == [1] * 11
    assert trace.rate("LRP", 1) == trace.messages["LRP", 1].sum() / (12 * 11)
    assert shares(trace.unique, 7) == pytest.approx([100 * np.mean(trace.unique == n) for n in range(1, 8)])


def test_a_machines_labels_are_those_of_its_model():
    problem = small_problem()
    config = machine_for(problem)
    machine = Machine(config, problem, Run(sweeps=5, seed=2))
    for labels in machine_labels(config, problem, 5, 2):
        machine.sweep()
        assert np.array_equal(labels, machine.image(machine.labels))


def test_an_answer_is_the_mode_of_the_last_iterations():
    scene = load_scene(chosen_settings(["venus"])[0], None)
    config = machine_for(scene.problem())
    drawn = [labels.copy() for labels in machine_labels(config, scene.problem(), 6, 3)]
    counts = (np.array(drawn[2:])[..., None] == np.arange(scene.labels)).sum(0)
    assert np.array_equal(quality.chain(scene, "cdf, power of two (published)", 6, 3), counts.argmax(-1))
    assert [quality.counted_sweeps(n) for n in (4, 6, 1500, 3000)] == [2, 4, 1000, 1000]


def test_float64_differs_from_race_by_quantization_alone():
    scene = load_scene(chosen_settings(["venus"])[0], None)
    one, other = (quality.chain(scene, sampler, 4, 3) for sampler in ("float64", "race"))
    independent = quality.chain(scene, "race", 4, 4)
    assert (one != other).mean() < 0.5 * (one != independent).mean()


# -- equations, by hand


@SIMULATED_LABEL
def test_links_and_crossbars_by_hand():
    # D = 2, S = 1: four edges between SPEs and two diagonals, each way.
    assert structure.published_links(2, 1) == 2 * (4 * 2 + 2 * 1) == 20
    assert structure.published_crossbars(2, 1) == 4 * (2 * 32 + 9 + 8 * 2 + 9) == 392
    assert structure.mesh_links(2, 1) == 2 * 4 * 2 == 16
    assert structure.mesh_crossbars(2, 1) == 4 * (64 + 5 + 16 + 25) == 440
    assert structure.published_links(4, 2) == 216
    assert structure.published_crossbars(4, 2) == 16 * (64 + 36 + 32 + 36) == 2688
    assert structure.mesh_links(4, 2) == 144
    assert structure.mesh_crossbars(4, 2) == 16 * (64 + 20 + 32 + 100) == 3456
    assert structure.our_crossbars(1, 2) == 24 + 4 + 12
    assert structure.our_crossbars(1, 2, lmem_banks=1) == 5 + 4 + 12


@pytest.mark.parametrize("spus", [1, 2])
def test_our_links_are_the_tiles_ports(spus):
    spe = Spe(Config(spus=spus))
    Fragment.get(spe, None)  # Amaranth warns of a component that is never elaborated
    # The ports that leave a tile, by the sides that they go to.
    sides = {side: [f"label_to_{side}"] for side in SIDES}
    for side in SIDES:
        sides[side].append("s2_words" if side in ("west", "east") else "s2_across")
    words = {side: sum(spus if name.startswith("s2") else 1 for name in names) for side, names in sides.items()}
    assert all(hasattr(spe, name) for names in sides.values() for name in names)
    assert len(spe.s2_words.as_value()) == len(spe.s2_across.as_value()) == spus * len(spe.s2_words[0].as_value())
    d = 3
    edges = d * (d - 1)
    assert structure.our_links(d, spus) == edges * sum(words.values())


@SIMULATED_LABEL
def test_equation_3_5_and_the_memories_by_hand():
    assert label_memory.equation_3_5(0.2, 49) == pytest.approx(2048 / 49 * 0.2 * 32 / 512)
    assert label_memory.equation_3_5(7 / 32, 28) == pytest.approx(1.0)
    assert label_memory.memory_without_log(100, 30) == 3000
    assert label_memory.memory_without_log(100, 30, 6) == 2250
    assert label_memory.memory_of_log(100, 50) == 600
    for bits in (6, 8):
        messages = label_memory.break_even(400, bits) * 1000 * 400
        assert label_memory.memory_of_log(1000, messages) == pytest.approx(label_memory.memory_without_log(1000, 400, bits))


# -- cycles


@SIMULATED_LABEL
def test_cycles_without_log_are_the_models():
    problem = small_problem(24, 40, 9)
    for banks in (1, 4):
        config = tiles_for(Config(mesh_rows=2, mesh_cols=2, lmem_banks=banks, tile_rows=64, tile_cols=64), problem)
        machine = Machine(config, problem, Run(sweeps=7, burn_in=6))
        for _ in range(7):
            machine.sweep()
        machine.timing.finish()
        assert machine.timing.stall_cycles == 0
        assert performance.quiet_cycles(config, problem, 7) == machine.timing.cycles
        assert performance.quiet_cycles(config, problem, 7, flushed=True) > machine.timing.cycles


def test_the_published_averages_are_those_of_tiles_of_whole_blocks():
    found = {"motion": [], "stereo": []}
    for setting in SETTINGS:
        problem = performance.printed_problem(setting)
        cycles = performance.quiet_cycles(tiles_for(performance.asic(4), problem), problem, 100) * setting.iterations / 100
        found[setting.application].append(setting.gpu_ms * 1e-3 * performance.CLOCK / cycles)
    assert np.mean(found["motion"]) == pytest.approx(135, rel=0.01)
    assert np.mean(found["stereo"]) == pytest.approx(158, rel=0.03)


def test_ideal_cycles_by_hand():
    art = next(setting for setting in SETTINGS if setting.name == "art")
    assert performance.ideal_cycles(art, 2048, 3000) == 28 * 348 * 278 * 3000 / 2048


# -- scenes


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_built_in_scenes_have_a_label_for_every_truth(setting):
    scene = load_scene(setting, None)
    assert scene.built_in
    assert "built-in scene" in scene.caption
    assert scene.first.max() < 64
    assert scene.outside() == 0
    if setting.application == "motion":
        distances = np.sqrt(((scene.truth[..., None, :] - motion_vectors(7, 7)) ** 2).sum(-1))
        assert distances.min(-1).mean() < 0.3
        assert scene.quality(distances.argmin(-1)) == pytest.approx(distances.min(-1).mean())
        assert scene.quality(np.full(scene.first.shape, 24)) == pytest.approx(np.sqrt((scene.truth**2).sum(-1)).mean())
    else:
        assert scene.quality(np.rint(scene.truth).astype(np.uint8)) == 0
        assert scene.quality(np.rint(scene.truth).astype(np.uint8) + 2) > 99
    assert scene.problem(2.0).schedule.start == 2 * scene.problem().schedule.start
