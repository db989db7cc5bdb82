"""Sizes of the queues of an irregular pipeline under a budget, and which of them to leave out, as published for streams on GPUs.

A node consumes items until its input queue is empty or its output queue is full. Node i (from 1) makes gains[i - 1] items of each
that it consumes, on average; queue i lies behind it. The scaled capacity of a queue is its capacity in inputs of the first node.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Node", "best_mergings", "lcm", "merged_time", "real_sizes", "scaled", "schedule_switches", "sizes", "switch_bound",
           "switch_rate", "switch_rates"]


def lcm(a: Fraction, b: Fraction) -> Fraction:
    """The least rational number that is a multiple of both."""
    return Fraction(math.lcm(a.numerator, b.numerator), math.gcd(a.denominator, b.denominator))


def _cumulative(gains: Sequence[Fraction]) -> list[Fraction]:
    """Items behind each node for an input of the first one."""
    found, product = [], Fraction(1)
    for gain in gains:
        product *= gain
        found.append(product)
    return found


def scaled(capacities: Sequence[int], gains: Sequence[Fraction]) -> list[Fraction]:
    """Scaled capacities of the queues: capacities[i] / (gains[0] ... gains[i])."""
    return [Fraction(c) / g for c, g in zip(capacities, _cumulative(gains), strict=False)]


def switch_rates(capacities: Sequence[int], gains: Sequence[Fraction]) -> list[Fraction]:
    """Lemma 5.1: switches away from each inner node for an item that it consumes, of an efficient schedule."""
    d, total = scaled(capacities, gains), [Fraction(1), *_cumulative(gains)]
    return [(1 / d[i - 1] + 1 / d[i] - 1 / lcm(d[i - 1], d[i])) / total[i] for i in range(1, len(d))]


def switch_rate(capacities: Sequence[int], gains: Sequence[Fraction]) -> Fraction:
    """Corollary 5.1.1: switches of all nodes for an input of the first one."""
    d = scaled(capacities, gains)
    return sum((2 / one for one in d), Fraction(0)) - sum((1 / lcm(a, b) for a, b in itertools.pairwise(d)), Fraction(0))


def switch_bound(capacities: Sequence[int], gains: Sequence[Fraction]) -> Fraction:
    """R', without the switches that come together: at least the rate, and at most twice it."""
    return sum((2 / one for one in scaled(capacities, gains)), Fraction(0))


def schedule_switches(capacities: Sequence[int], gains: Sequence[Fraction], inputs: int) -> list[Fraction]:
    """Switches away from each node for an item that it consumes, of a schedule that is played until the first one has consumed so
    many: a node may run when its input queue has been filled and not yet emptied, and the queue behind it has been emptied.

    The gains are exact: an item in makes a share of an item out.
    """
    nodes = len(gains)
    held = [Fraction(0)] * (nodes - 1)
    draining = [False] * (nodes - 1)  # has been full, and is not empty yet
    switches, consumed = [0] * nodes, [Fraction(0)] * nodes
    while consumed[0] < inputs:
        node = next(n for n in reversed(range(nodes)) if (n == 0 or draining[n - 1]) and (n == nodes - 1 or not draining[n]))
        there = held[node - 1] if node else Fraction(inputs) - consumed[0]
        room = (Fraction(capacities[node]) - held[node]) / gains[node] if node < nodes - 1 else there
        taken = min(there, room)
        consumed[node] += taken
        if node:
            held[node - 1] -= taken
            draining[node - 1] = held[node - 1] > 0
        if node < nodes - 1:
            held[node] += taken * gains[node]
            draining[node] = held[node] == capacities[node]
        switches[node] += 1
    return [Fraction(count) / items if items else Fraction(0) for count, items in zip(switches, consumed, strict=True)]


def real_sizes(total: float, gains: Sequence[float], item_bytes: Sequence[float]) -> list[float]:
    """Lemma 5.2: capacities in items whose bytes add up to `total`, with the least R'. gains: of the node before each queue."""
    cumulative, product = [], 1.0
    for gain in gains:
        product *= gain
        cumulative.append(product)
    share = sum(math.sqrt(b * g) for b, g in zip(item_bytes, cumulative, strict=True))
    return [math.sqrt(g / b) * total / share for b, g in zip(item_bytes, cumulative, strict=True)]


def sizes(total: int, gains: Sequence[float], item_bytes: Sequence[int], least: Sequence[int]) -> list[int]:
    """Whole capacities of at least the safe minima, whose bytes are at most `total`: what Lemma 5.2 gives, rounded down, and the
    rest of the bytes where another item saves most switches. Raises ValueError where the minima alone are more.

    least: of each queue, the items that a vector of inputs may make at once.
    """
    if sum(b * c for b, c in zip(item_bytes, least, strict=True)) > total:
        raise ValueError(f"the least sizes take more than {total} bytes")
    cumulative = [math.prod(gains[:n + 1]) for n in range(len(gains))]
    found, open_, left = list(least), set(range(len(least))), float(total)
    while open_:  # queues whose share is below the minimum have that, and the others share what is left
        share = sum(math.sqrt(item_bytes[n] * cumulative[n]) for n in open_)
        room = left - sum(item_bytes[n] * least[n] for n in range(len(least)) if n not in open_)
        wanted = {n: math.sqrt(cumulative[n] / item_bytes[n]) * room / share for n in open_}
        low = {n for n in open_ if wanted[n] < least[n]}
        if not low:
            for n in open_:
                found[n] = int(wanted[n])
            break
        open_ -= low
    while True:
        rest = total - sum(b * c for b, c in zip(item_bytes, found, strict=True))
        gain = {n: cumulative[n] * (1 / found[n] - 1 / (found[n] + 1)) / b for n, b in enumerate(item_bytes) if b <= rest}
        if not gain:
            return found
        found[max(gain, key=lambda n: gain[n])] += 1


@dataclass(frozen=True)
class Node:
    """gain: items out for an item in, on average. most: the largest number of outputs of a lane in a vector. time: of a vector of
    inputs. overhead: of a vector for its queue and its scheduling."""

    gain: float
    most: float
    time: float
    overhead: float


def _group_time(nodes: Sequence[Node]) -> float:
    """Of nodes without queues between them, for a vector of inputs."""
    time, calls = 0.0, 1.0
    for node in nodes:
        time += calls * node.time
        calls *= node.most
    return time


def merged_time(nodes: Sequence[Node], ends: Sequence[int]) -> float:
    """Of a vector of inputs through nodes with queues after those of `ends` (from 1), the last node among them."""
    total, vectors, first = 0.0, 1.0, 0
    for end in ends:
        group = nodes[first:end]
        total += vectors * (_group_time(group) + group[-1].overhead)
        vectors *= math.prod(node.gain for node in group)
        first = end
    return total


def mergings(count: int) -> Iterator[tuple[int, ...]]:
    """All ways to put queues between so many nodes, as `merged_time` takes them."""
    for chosen in range(1 << (count - 1)):
        yield (*(n + 1 for n in range(count - 1) if chosen >> n & 1), count)


def best_mergings(nodes: Sequence[Node], most: float = math.inf) -> list[tuple[float, tuple[int, ...]]]:
    """All of them with their times, the fastest first; without those of which a group makes more than `most` outputs an input."""
    def outputs(ends: tuple[int, ...]) -> float:
        firsts = (0, *ends[:-1])
        return max(math.prod(node.most for node in nodes[first:end]) for first, end in zip(firsts, ends, strict=True))

    return sorted((merged_time(nodes, ends), ends) for ends in mergings(len(nodes)) if outputs(ends) <= most)
