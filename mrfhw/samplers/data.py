"""A problem's data in the types that the compiled loops take."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.field.energy import doubleton_table, edge_weights
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.field.terms import SINGLETONS
from mrfhw.samplers.energy_kernel import fill_singles

__all__ = ["doubles", "edges", "energy_bound", "hamming_sources", "singles", "sources"]


_ALL = np.empty(0, np.uint8)  # no label chosen


def _read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written, as what problems hold: of both kinds of arrays every loop would be compiled again."""
    view = array.view()
    view.flags.writeable = False
    return view


def _channels(image: np.ndarray | None) -> np.ndarray:
    """An image (H, W, C) int32, of size 0 for none."""
    if image is None:
        return _read_only(np.empty((0, 0, 0), np.int32))
    return _read_only(np.ascontiguousarray(image, np.int32).reshape(*image.shape[:2], -1))


def sources(problem: Problem) -> tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray,
                                       np.ndarray, np.ndarray, int]:
    """The data of E_singleton as `fill_singles` takes them, from `shape` on; offsets with singleton2_origin added."""
    offsets, constants = np.empty((0, 2), np.int64), np.empty((0, 0), np.int32)
    if problem.offsets is not None and problem.singleton2 is not None:
        offsets = np.asarray(problem.offsets, np.int64) + np.array(problem.singleton2_origin, np.int64)
    if problem.constants is not None:
        constants = np.ascontiguousarray(problem.constants, np.int32).reshape(problem.labels, -1)
    channels = np.array([(c.alpha, SINGLETONS.index(c.singleton), -1 if c.most is None else c.most)
                         for c in problem.channels], np.int64)
    return (problem.shape, _channels(problem.singleton1), _channels(problem.singleton2), _read_only(offsets),
            _read_only(constants), _channels(problem.unary), _mask(problem.observed), _mask(problem.shown), _read_only(channels),
            int(problem.out_of_range))


def _mask(mask: np.ndarray | None) -> np.ndarray:
    """(H, W) bool, of size 0 for all."""
    return _read_only(np.empty((0, 0), np.bool_) if mask is None else np.ascontiguousarray(mask))


def hamming_sources(first: np.ndarray, second: np.ndarray, offsets: np.ndarray, observed: np.ndarray | None = None,
                    shown: np.ndarray | None = None, out_of_range: int = 0) -> tuple[Any, ...]:
    """What `sources` gives, for the Hamming distance of two images, moved by offsets (L, 2), and for any number L of labels.

    first: (H, W), second: (H2, W2) integers of up to 31 bits. No offset leads out of the second. observed, shown, out_of_range: as
    of `Problem`.
    """
    moves, channels = np.ascontiguousarray(offsets, np.int64), np.array([(1, SINGLETONS.index("hamming"), -1)], np.int64)
    return (first.shape, _channels(first), _channels(second), _read_only(moves), _read_only(np.empty((0, 0), np.int32)),
            _channels(None), _mask(observed), _mask(shown), _read_only(channels), out_of_range)


def singles(problem: Problem, sites: np.ndarray, stride: int, kind: type[np.generic]) -> np.ndarray:
    """(*sites, L): alpha E_singleton of each of `sites`, flat indices on a grid of `stride` columns, of type `kind`.

    Entries of sites outside the image, and of -1, are not set.
    """
    out: np.ndarray = np.empty((sites.size, problem.labels), kind)
    fill_singles(out, sites.reshape(-1), stride, _ALL, *sources(problem))
    return out.reshape(*sites.shape, problem.labels)


def doubles(problem: Problem, kind: type[np.generic]) -> np.ndarray:
    """beta E_doubleton as `site_energies` takes it: (1, L + 1, L), or (2, L + 1, L) for a table that is not symmetric."""
    table = problem.beta * doubleton_table(problem)
    both = table[None] if problem.symmetric else np.stack([table, table.T])
    out: np.ndarray = np.zeros((len(both), problem.labels + 1, problem.labels), kind)
    out[:, :-1] = both
    return out


def edges(problem: Problem, kind: type[np.generic] = np.uint8) -> np.ndarray:
    """(H, W, 4): `edge_weights` as the loops take them; (0, 0, 4) where all weights are 1."""
    return np.empty((0, 0, 4), kind) if problem.edges is None else edge_weights(problem).astype(kind)


def _channel_bound(problem: Problem, number: int) -> int:
    """A number that no |alpha E_singleton| of a channel exceeds."""
    channel = problem.channels[number]

    def of(data: np.ndarray) -> np.ndarray:
        return data if problem.singleton1 is None or problem.singleton1.ndim == 2 else data[..., number]

    if problem.unary is not None:
        most = int(problem.unary.max())
    else:
        second = problem.singleton2 if problem.constants is None else problem.constants
        assert second is not None
        assert problem.singleton1 is not None
        first, other = of(problem.singleton1), of(second)
        apart = max(int(first.max()) - int(other.min()), int(other.max()) - int(first.min()), 0)
        if channel.singleton == "squared" and apart**2 >= 1 << 63:
            raise ProblemError(f"data differ by up to {apart}; samplers in software take squared differences below 2^63: give "
                               "smaller data, or singleton absolute")
        signed = min(int(first.min()), int(other.min())) < 0
        most = {"absolute": apart, "squared": apart**2,
                "hamming": 64 if signed else max(int(first.max()), int(other.max())).bit_length()}[channel.singleton]
    if channel.most is not None:
        most = min(most, channel.most)
    return channel.alpha * max(most, int(problem.out_of_range) if number == 0 else 0)


def energy_bound(problem: Problem) -> int:
    """A number that no alpha E_singleton + beta sum of E_doubleton exceeds."""
    heaviest = 4 if problem.edges is None else int(edge_weights(problem).sum(-1).max())
    return (sum(_channel_bound(problem, number) for number in range(len(problem.channels)))
            + heaviest * int(problem.beta) * int(doubleton_table(problem).max()))
