"""Alpha-expansion (gco, Boykov, Veksler and Zabih 2001) on a field of ours."""

from __future__ import annotations

import time

import gco
import numpy as np

from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem


def expansion(problem: Problem) -> tuple[np.ndarray, tuple[float, float]]:
    """(labels uint8 (H, W), seconds by the clock and of the CPU) of alpha-expansion from label 0 until no move lowers the energy.

    On one core. The energies are the field's own whole numbers, with its weights of edges. The doubleton has to be a metric. The
    seconds are those of building the graph and of the moves.
    """
    energy = Energy(problem)
    site = np.arange(problem.sites).reshape(problem.shape)
    first = np.concatenate([site[:, :-1].ravel(), site[:-1].ravel()])
    second = np.concatenate([site[:, 1:].ravel(), site[1:].ravel()])
    weights = np.concatenate([energy.weights[:, :-1, 3].ravel(), energy.weights[:-1, :, 1].ravel()])
    unary, pairwise = energy.singles.reshape(-1, problem.labels), energy.doubles
    began = time.perf_counter(), time.process_time()
    graph = gco.GCO()
    graph.create_general_graph(problem.sites, problem.labels, energy_is_float=False)
    graph.set_data_cost(unary)
    graph.set_all_neighbors(first, second, weights)
    graph.set_smooth_cost(pairwise)
    graph.expansion(-1)
    labels = graph.get_labels().astype(np.uint8).reshape(problem.shape)
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    graph.destroy_graph()
    return labels, seconds
