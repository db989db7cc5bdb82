"""Block Gibbs sampling by thrml (JAX) on a field of ours.

thrml's own CategoricalEBMFactor has a table of L x L weights for every edge, gigabytes of a picture's field. So an edge brings
its weight alone, and the conditional has the one table: thrml's interactions and its SoftmaxConditional are made to be extended so.
The sweep is two blocks, the two colours of a chessboard, in float32, at the exact temperature.
"""

from __future__ import annotations

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from thrml import Block, BlockGibbsSpec, BlockSamplingProgram, CategoricalNode, SamplingSchedule, sample_states
from thrml.conditional_samplers import SoftmaxConditional
from thrml.interaction import InteractionGroup

from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, Run


class Site(eqx.Module):
    """Energies of single sites: (n, L), which thrml makes (n, 1, L)."""

    energies: jax.Array


class Edge(eqx.Module):
    """Weights of edges: (n,), which thrml makes (n, k)."""

    weight: jax.Array


class Conditional(SoftmaxConditional):
    """exp(-E / T) of a site given its neighbours. table: (L, L), symmetric."""

    table: jax.Array
    temperature: float

    def compute_parameters(self, key, interactions, active_flags, states, sampler_state, output_sd):  # type: ignore[no-untyped-def]
        total = jnp.zeros((*output_sd.shape, self.table.shape[0]))
        for interaction, active, state in zip(interactions, active_flags, states, strict=True):
            if isinstance(interaction, Site):
                total += jnp.sum(interaction.energies * active[..., None], 1)
            else:
                total += jnp.sum((interaction.weight * active)[..., None] * self.table[state[0]], 1)
        return -total / self.temperature, sampler_state


def sampled(problem: Problem, run: Run, chains: int) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """(counts (H, W, L), last sample uint8 (H, W) of the first chain, seconds by the clock and of the CPU) of chains one after
    the other.

    As many sweeps as `run` has, from its labels, at the temperature of its first sweep. The field is symmetric, without clamped
    sites. The seconds are those of sampling: neither building the program nor compiling it.
    """
    assert problem.symmetric
    assert problem.clamped is None
    energy, (rows, cols) = Energy(problem), problem.shape
    nodes = np.array([CategoricalNode() for _ in range(problem.sites)], object).reshape(rows, cols)
    black = np.indices((rows, cols)).sum(0) % 2 == 0
    spec = BlockGibbsSpec([Block(nodes[black].tolist()), Block(nodes[~black].tolist())], [])
    groups = [InteractionGroup(Site(jnp.asarray(energy.singles[colour], jnp.float32)), Block(nodes[colour].tolist()), [])
              for colour in (black, ~black)]
    for colour in (black, ~black):  # all edges of a group lead to one block
        ends = [(nodes[1:], nodes[:-1], energy.weights[1:, :, 0], colour[1:]),
                (nodes[:-1], nodes[1:], energy.weights[:-1, :, 1], colour[:-1]),
                (nodes[:, 1:], nodes[:, :-1], energy.weights[:, 1:, 2], colour[:, 1:]),
                (nodes[:, :-1], nodes[:, 1:], energy.weights[:, :-1, 3], colour[:, :-1])]
        heads, tails, weights = (np.concatenate([end[part][end[3]] for end in ends]) for part in range(3))
        groups.append(InteractionGroup(Edge(jnp.asarray(weights, jnp.float32)), Block(heads.tolist()), [Block(tails.tolist())]))
    conditional = Conditional(jnp.asarray(energy.doubles, jnp.float32), problem.schedule.start)
    program = BlockSamplingProgram(spec, [conditional, conditional], groups)
    schedule = SamplingSchedule(run.burn_in + 1, run.counted, 1)

    @eqx.filter_jit
    def chain(program: BlockSamplingProgram, key: jax.Array, first: list[jax.Array]) -> list[jax.Array]:
        return sample_states(key, program, schedule, first, [], spec.free_blocks)

    initial = np.asarray(run.initial, np.uint8)
    first = [jnp.asarray(initial[black]), jnp.asarray(initial[~black])]
    compiled = chain.lower(program, jax.random.key(0), first).compile()
    samples, clock, cpu = np.empty((chains, run.counted, rows, cols), np.uint8), 0.0, 0.0
    for number in range(chains):
        began = time.perf_counter(), time.process_time()
        drawn = [np.asarray(part) for part in compiled(program, jax.random.key(run.seed + number), first)]
        clock, cpu = clock + time.perf_counter() - began[0], cpu + time.process_time() - began[1]
        samples[number][:, black], samples[number][:, ~black] = drawn
    every = samples.reshape(-1, rows, cols)
    counts = np.stack([(every == label).sum(0, dtype=np.uint32) for label in range(problem.labels)], -1)
    return counts, samples[0, -1], (clock, cpu)
