"""The terms of Equation 3.1 as a user names them: what is given once or once a channel, and how it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.given import NUMBER_MAX, short, whole_number
from mrfhw.system.errors import ProblemError

__all__ = ["CHANNELS_MAX", "DOUBLETONS", "EDGE_MAX", "SINGLETONS", "Channel", "channels_of", "check_edges", "per_channel"]

SINGLETONS = ("absolute", "squared", "hamming")
DOUBLETONS = ("absolute", "squared", "potts", "table")
CHANNELS_MAX = 3
EDGE_MAX = 15  # of an edge's weight


@dataclass(frozen=True)
class Channel:
    """One channel of the data.

    alpha: its weight.
    singleton: how its data are compared.
    most: its E_singleton at most, or None.
    """

    alpha: int
    singleton: str
    most: int | None

    def energy(self, difference: np.ndarray) -> np.ndarray:
        """E_singleton of the channel, int64, for |a - b|, or for a XOR b where the data are compared bit by bit."""
        difference = np.asarray(difference, np.int64)
        if self.singleton == "hamming":
            difference = np.bitwise_count(difference).astype(np.int64)
        elif self.singleton == "squared":
            difference = difference * difference
        return difference if self.most is None else np.minimum(difference, self.most)

    def compare(self, first: np.ndarray, second: np.ndarray | int) -> np.ndarray:
        """E_singleton of the channel of two data, int64."""
        first, second = np.asarray(first, np.int64), np.asarray(second, np.int64)
        return self.energy(first ^ second if self.singleton == "hamming" else np.abs(first - second))


def per_channel(name: str, given: Any, channels: int) -> tuple[Any, ...]:
    """`given` once a channel: one value for all, or a sequence of one each. Raises ProblemError for another number of them."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (given,) * channels
    if len(given) != channels:
        raise ProblemError(f"{name} has {len(given)} values; the data have {channels} channels: give one a channel, or one for all")
    return tuple(given)


def _one(name: str, value: Any) -> int:
    return whole_number(name, value, 0, NUMBER_MAX, "give one of them")


def channels_of(alpha: Any, singleton: Any, singleton_max: Any, channels: int) -> tuple[Channel, ...]:
    """The channels that a problem's arguments describe, checked. Raises ProblemError."""
    kinds = per_channel("singleton", singleton, channels)
    for kind in kinds:
        if kind not in SINGLETONS:
            raise ProblemError(f"singleton is {kind!r}; it must be one of {', '.join(SINGLETONS)}: choose one")
    alphas = [_one("alpha", value) for value in per_channel("alpha", alpha, channels)]
    most = [None if value is None else _one("singleton_max", value)
            for value in per_channel("singleton_max", singleton_max, channels)]
    return tuple(Channel(*values) for values in zip(alphas, kinds, most, strict=True))


def check_edges(edges: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise ProblemError unless `edges` are the weights (H, W, 2) of a grid's edges."""
    if edges.shape != (*shape, 2):
        raise ProblemError(f"edges has shape {edges.shape}; the grid needs {(*shape, 2)}: give each site the weight of its edge to "
                           "the right and of the one below")
    if edges.size and (edges.min() < 0 or edges.max() > EDGE_MAX):
        raise ProblemError(f"edges has values from {short(edges.min())} to {short(edges.max())}; the limits are 0 to {EDGE_MAX}: "
                           "scale them, and beta with them")
