"""How near the planner's clusters and plain assignments come to the integer program on made-up graphs of stream programs' sizes.

python -m studies.plan_graphs [--seeds 11,12 --seconds 1]

A line for each graph: the program's interval, whether it is proven the least, and by how many percent others are longer. The last
ones are averages and largest values. Published for clusters on twelve stream programs are 9.05 and 12.81 % on average on two
devices, at most 60.18 %.
"""

from __future__ import annotations

import time

import click
import numpy as np

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.planning.graph import Crossing, Edge, Graph, Resources, Stage
from mrfhw.planning.heuristics import BASELINES, clusters
from mrfhw.planning.program import assign
from mrfhw.system.errors import ProblemError

__all__ = ["RESOURCES", "SIZES", "compared", "graphs", "stream_graph"]

SIZES = (26, 29, 39, 40, 43, 53, 55, 55, 58, 61, 67, 99)  # stages of twelve published stream programs
RESOURCES = Resources({"processor": 4, "accelerator": 16}, {"link": 1})


def graphs(seed: int) -> list[Graph]:
    """One of each of SIZES."""
    return [stream_graph(stages, [seed, number]) for number, stages in enumerate(SIZES)]


def stream_graph(stages: int, seed: list[int]) -> Graph:
    """So many stages as rows and as branches that part and meet again, one in a hundred on processors alone, one in ten looking
    ahead.

    A firing takes 1 on the accelerator in the median, on a processor 0.2 to 5 times that; links and conversions take what is passed
    on. Stages that look ahead have what they take, and give, in order; the accelerator brings it into that order and back.
    """
    rng = np.random.default_rng(seed)
    names, edges, left = ["s0"], [], stages - 1
    end = "s0"

    def added() -> str:
        names.append(f"s{len(names)}")
        return names[-1]

    while left:
        width = int(rng.integers(2, 9))
        depth = int(rng.integers(1, 4))
        if rng.random() < 0.6 and left >= width * depth + 1:
            lasts = []
            for _ in range(width):
                before = end
                for _ in range(depth):
                    name = added()
                    edges.append((before, name))
                    before = name
                lasts.append(before)
            end = added()
            edges += [(last, end) for last in lasts]
            left -= width * depth + 1
        else:
            name = added()
            edges.append((end, name))
            end, left = name, left - 1
    ahead = {name: bool(rng.random() < 0.1) for name in names}
    made = []
    for name in names:
        there = float(rng.lognormal(0, 0.8))
        times = {"processor": there * float(np.exp(rng.uniform(np.log(0.2), np.log(5)))), "accelerator": there}
        made.append(Stage(name, {"processor": times["processor"]} if rng.random() < 0.01 else times))
    joined = []
    for source, target in edges:
        size = float(rng.lognormal(-2.2, 0.6))
        out, into, order = size, 1.1 * size, 0.5 * size
        joined.append(Edge(source, target, {
            ("accelerator", "processor"): Crossing({"link": out}, 0 if ahead[source] else order, "accelerator"),
            ("processor", "accelerator"): Crossing({"link": into}, 0 if ahead[target] else order, "accelerator"),
            **({("accelerator", "accelerator"): Crossing({}, order, "accelerator")} if ahead[source] != ahead[target] else {})}))
    return Graph(tuple(made), tuple(joined))


def compared(graph: Graph, seconds: float) -> tuple[float, bool, dict[str, float], float]:
    """The program's interval, whether it is proven the least, percents by which others' are longer, and seconds of the clusters."""
    best = assign(graph, RESOURCES, seconds)
    began = time.perf_counter()
    found = {"clusters": clusters(graph, RESOURCES, "processor", "accelerator").interval}
    took = time.perf_counter() - began
    for name, of in BASELINES.items():
        found[name.format(home="processors", away="accelerators")] = of(graph, RESOURCES, "processor", "accelerator").interval
    return best.interval, bool(best.proven), {name: 100 * (one / best.interval - 1) for name, one in found.items()}, took


@click.command(cls=OneLineCommand)
@click.option("--seeds", default="11,12", show_default=True, metavar="N,N", help="Of twelve graphs each.")
@click.option("--seconds", type=float, default=1.0, show_default=True, help="Of the solver, for each program.")
def main(seeds: str, seconds: float) -> None:
    """Compare assignments of made-up graphs."""
    if not all(seed.strip().isdecimal() for seed in seeds.split(",")):
        raise ProblemError(f"seeds is {seeds!r}; they are whole numbers with commas between them: give such as 11,12")
    every, proven, all_took = [], 0, 0.0
    for seed in map(int, seeds.split(",")):
        for number, graph in enumerate(graphs(seed)):
            interval, least, longer, took = compared(graph, seconds)
            if not every:
                click.echo("seed,number,stages,interval,proven," + ",".join(longer))
            click.echo(f"{seed},{number},{len(graph.stages)},{interval:.4g},{least},"
                       + ",".join(f"{one:.2f}" for one in longer.values()))
            every.append(longer)
            proven += least
            all_took += took
    for name in every[0]:
        own = [one[name] for one in every]
        click.echo(f"{name}: {np.mean(own):.2f} % longer on average, {max(own):.2f} at most; {sum(one <= 10 for one in own)} of "
                   f"{len(own)} within 10 %")
    click.echo(f"proven the least: {proven} of {len(every)}; seconds of all clusters: {all_took:.2f}")


if __name__ == "__main__":
    main()
