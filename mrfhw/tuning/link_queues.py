"""Sizes of a link's memories for requests, responses and log: what blocks leave, and how many blocks more are worth it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from mrfhw.cost.asked import Steps
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import Device
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.links import BoardLink
from mrfhw.cost.seconds import Delays, RunTime
from mrfhw.field.problem import Run
from mrfhw.machine.link_protocol import FRAME_WORDS, LOG_MEMORY, MEMORY_WORDS, most_words
from mrfhw.tuning.queues import real_sizes

__all__ = ["LinkQueues", "Sizes"]

WORTH = 0.01  # of the seconds that the next block must bring
WORD_BYTES = 4


@dataclass(frozen=True)
class Sizes:
    """words, response_words: of the memories for requests and responses. log_bytes: of the ring. blocks: of block RAM that they
    take. seconds: of the run with them."""

    words: int
    response_words: int
    log_bytes: int
    blocks: int
    seconds: float


@dataclass(frozen=True)
class LinkQueues:
    """The queues of a board's link for a run of a placed problem.

    Each is filled by one end and emptied by the other in turns, at the cost of a round trip, as nodes of a pipeline are run: so
    Lemma 5.2 shares a budget among them, by the bytes that pass each. blocks are the device's granules.
    link: of the board, with the memories that it has. cycles: of the problem. messages: of its log. clock_hz, link_hz: of the
    machine and the link.
    """

    link: BoardLink
    device: Device
    cycles: Cycles
    run: Run
    messages: float
    clock_hz: float
    link_hz: float
    delays: Delays

    @cached_property
    def _steps(self) -> Steps:
        return Steps.of(self.cycles.placement, self.link.datagrams)

    @cached_property
    def now(self) -> Sizes:
        """The board's own."""
        return self.of(self.link.words, self.link.response_memory, self.link.log_bytes)

    def _with(self, words: int, response_words: int, log_bytes: int) -> BoardLink:
        return replace(self.link, words=words, response_words=response_words, log_bytes=log_bytes)

    def blocks(self, words: int, response_words: int, log_bytes: int) -> int:
        """Blocks of the device that the memories take beyond a machine without a link."""
        config = self.cycles.placement.config
        with_link = Cost.of(config, device=self.device, link=self._with(words, response_words, log_bytes)).needs.ram
        return with_link - Cost.of(config, device=self.device).needs.ram

    def of(self, words: int, response_words: int, log_bytes: int) -> Sizes:
        """The seconds with these."""
        link = self._with(words, response_words, log_bytes)
        time = RunTime.of_placed(self.cycles, self._steps, self.run, link, self.clock_hz, self.messages, self.delays, self.link_hz)
        return Sizes(words, response_words, log_bytes, self.blocks(words, response_words, log_bytes), time.seconds)

    @property
    def most(self) -> tuple[int, int, int]:
        """The largest of each that a link has."""
        words = most_words(self.link.kind == "ethernet", self.link.outstanding)
        return words, words, LOG_MEMORY[1]

    @property
    def least(self) -> tuple[int, int, int]:
        """The safe minima: a request is a segment and its data at least, and the ring holds two lines."""
        line = self.cycles.placement.config.line_bits // 8
        words = (FRAME_WORDS if self.link.outstanding == 1 else MEMORY_WORDS)[0]
        return words, words, max(LOG_MEMORY[0], 2 * line)

    def grown(self, sizes: tuple[int, int, int], limit: int) -> tuple[int, int, int]:
        """The largest of each, one after the other, that take no block beyond `limit` and, by itself, none beyond what it takes."""
        found = list(sizes)
        for n in range(3):
            while found[n] < self.most[n]:
                larger = (*found[:n], 2 * found[n], *found[n + 1:])
                if self.blocks(*larger) > min(limit, self.blocks(*found)):
                    break
                found[n] *= 2
        return found[0], found[1], found[2]

    def shared(self, blocks: int) -> tuple[int, int, int] | None:
        """What Lemma 5.2 makes of so many blocks, in powers of two, and then of what the blocks leave; None where the minima take
        more."""
        if self.blocks(*self.least) > blocks:
            return None
        passing = self._passing
        sizes = list(self.least)
        # The budget in bytes is not known before the blocks are: the largest whose shares take no more blocks.
        for doubling in range(20 * 4):
            total = sum(self.least) * 2 ** (doubling / 4)
            wanted = real_sizes(total, _gains(passing), [1.0, 1.0, 1.0])
            shares = [min(most, max(low, 1 << int(math.log2(max(1.0, want / unit))))) for want, low, most, unit in zip(
                wanted, self.least, self.most, (WORD_BYTES, WORD_BYTES, 1), strict=True)]
            if self.blocks(*shares) <= blocks:
                sizes = shares
        return self.grown((sizes[0], sizes[1], sizes[2]), blocks)

    @cached_property
    def _passing(self) -> tuple[float, float, float]:
        """Bytes through each queue in the run."""
        config = self.cycles.placement.config
        loaded, read = self.cycles.link_bytes
        log = self.messages / config.line_messages * config.line_bits / 8
        return max(loaded, 1.0), max(read, 1.0), max(log, config.line_bits / 8)

    def chosen(self, free: int, say: Callable[[Sizes], object] = lambda one: None) -> Sizes:
        """The sizes that take no block more where the next ones would bring less than 1 % each. free: blocks that there are, those
        that the memories of `now` take among them. say: is told of each number of blocks."""
        found: list[Sizes] = []
        for blocks in range(self.blocks(*self.least), max(free, self.now.blocks) + 1):
            shared = self.shared(blocks)
            if shared is None or (found and self.blocks(*shared) <= found[-1].blocks):
                continue
            one = self.of(*shared)
            say(one)
            found.append(one)
            if len(found) > 12:
                break
        best = found[0]
        for one in found[1:]:
            if one.seconds < best.seconds * (1 - WORTH * (one.blocks - best.blocks)):
                best = one
        return best

    def enumerated(self, blocks: int) -> Sizes:
        """The fastest of all sizes within so many blocks, by enumeration."""
        each = [[low << n for n in range(20) if low << n <= most] for low, most in zip(self.least, self.most, strict=True)]
        return min((self.of(*sizes) for sizes in itertools.product(*each) if self.blocks(*sizes) <= blocks),
                   key=lambda one: one.seconds)


def _gains(passing: tuple[float, ...]) -> list[float]:
    """Of nodes before each queue, such that what passes a queue is its cumulative gain."""
    return [now / before for before, now in itertools.pairwise((1.0, *passing))]
