"""The clusters of a machine one by one: each one's words as a chip of its own, and each one's part of the log."""

from __future__ import annotations

import numpy as np

from mrfhw.driver.driver import Chip, ChipError, MemoryChip, PostingChip
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.cluster_registers import SWITCH_LABEL
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import log_message

__all__ = ["SplitLog", "cluster_chip"]


class _Cluster:
    """A `Chip` at some words of another."""

    def __init__(self, chip: Chip, base: int):
        self.chip, self.base = chip, np.uint32(base)

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.chip.write(addresses + self.base, data)

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return self.chip.read(addresses + self.base)


class _MemoryCluster(_Cluster):
    """A `MemoryChip` at some words of another."""

    chip: MemoryChip

    @property
    def rows(self) -> bool:
        return self.chip.rows

    def write_memory(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.chip.write_memory(addresses + self.base, data)

    def read_memory(self, addresses: np.ndarray, mask: int) -> np.ndarray:
        return self.chip.read_memory(addresses + self.base, mask)


class _PostingCluster(_MemoryCluster):
    """The same of one that is a `PostingChip` as well."""

    def __init__(self, chip: MemoryChip, base: int, posting: PostingChip):
        super().__init__(chip, base)
        self.posting = posting

    def post(self, addresses: np.ndarray, data: np.ndarray, memory: bool) -> None:
        self.posting.post(addresses + self.base, data, memory)

    def settle(self) -> None:
        self.posting.settle()


def cluster_chip(config: Config, chip: Chip, cluster: int) -> Chip:
    """The words of a cluster, from 0, of a machine's chip: what a `Driver` of the cluster takes. A machine of one is its own."""
    if config.seats == 1:
        return chip
    base = AddressMap(config).cluster(cluster)
    if isinstance(chip, MemoryChip):
        return _PostingCluster(chip, base, chip) if isinstance(chip, PostingChip) else _MemoryCluster(chip, base)
    return _Cluster(chip, base)


class SplitLog:
    """A machine's log, taken apart into its clusters'.

    config: the machine. logs: of each cluster, the bytes of its lines that have come and have not been taken.
    """

    def __init__(self, config: Config):
        self.config = config = Derived.of(config)
        self.logs = [bytearray() for _ in range(config.seats)]
        self._line = config.line_bits // 8
        self._fields = log_message(config)
        self._current: int | None = 0 if config.seats == 1 else None

    def begin(self) -> None:
        """From now on the log is one from the first line of a run on; what has not been taken is forgotten."""
        for log in self.logs:
            log.clear()
        self._current = 0 if self.config.seats == 1 else None

    def feed(self, data: bytes) -> np.ndarray:
        """Put whole lines of the machine's log where they belong. Returns (n,) of each line's cluster, -1 for those that name one.

        Raises ChipError for what is no log of such a machine.
        """
        lines = np.frombuffer(data, np.uint8).reshape(-1, self._line)
        if self.config.seats == 1:
            self.logs[0] += data
            return np.zeros(len(lines), np.int64)
        owners = self._owners(lines)
        for cluster, log in enumerate(self.logs):
            log += lines[owners == cluster].tobytes()
        return owners

    def _owners(self, lines: np.ndarray) -> np.ndarray:
        if not len(lines):
            return np.zeros(0, np.int64)
        width = min(8, self._line)
        held = np.zeros((len(lines), 8), np.uint8)
        held[:, :width] = lines[:, :width]
        first = held.view("<u8")[:, 0].astype(np.uint64)  # with the first message, which has 56 bits at most
        count, label, address = (self._fields[name].of(first).astype(np.int64) for name in ("count", "label", "address"))
        switches = (count == 0) & (label == SWITCH_LABEL)
        if (address[switches] >= self.config.seats).any():
            raise ChipError(f"the log names cluster {int(address[switches].max())} of {self.config.seats}: give the parameters "
                            "that the chip was built with, or build it again")
        since = np.maximum.accumulate(np.where(switches, np.arange(1, len(lines) + 1), 0))
        if self._current is None and not since[0]:
            raise ChipError("the log begins without the line that names a cluster: something else has taken a part of it, or the "
                            "chip has other parameters: reset it, or build it again")
        owners = np.where(since > 0, address[since - 1], -1 if self._current is None else self._current)
        self._current = int(owners[-1])
        return np.where(switches, -1, owners)

    def take(self, cluster: int, size: int | None = None) -> bytes:
        """The next bytes of a cluster's log, all that are here where no size is given."""
        log = self.logs[cluster]
        size = len(log) if size is None else size
        taken = bytes(log[:size])
        del log[:size]
        return taken
