"""The bus of a machine at the other end of a link, as a `Chip` for the driver."""

from __future__ import annotations

from functools import partial

import numpy as np

from mrfhw.driver.driver import ChipError
from mrfhw.host.plans import Plan, Plans, Written
from mrfhw.host.requests import Requests
from mrfhw.machine.link_pace import CHUNK, MUCH_LONGER
from mrfhw.machine.link_protocol import FIRST_PACKED, WHOLE, Frame, Operation, Status, kinds_of, narrowest

__all__ = ["RemoteChip"]


class RemoteChip:
    """The bus of a board as a `MemoryChip` and a `PostingChip` (mrfhw.driver.driver)."""

    def __init__(self, requests: Requests):
        self.requests = requests
        self._plans = Plans()
        self.rows = requests.link.datagrams  # of gigabit Ethernet, whose bytes are faster than the bus's accesses
        self._refused: ChipError | None = None  # what the first access was that the bus refused, until it is raised

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.post(addresses, data, memory=False)
        self.settle()

    def write_memory(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.post(addresses, data, memory=True)
        self.settle()

    def post(self, addresses: np.ndarray, data: np.ndarray, memory: bool) -> None:
        left = np.arange(len(addresses))
        again = self._plans.written.get((id(addresses), id(data)))
        if again is not None and again.sizes == self._sizes():
            placed = left if again.plan.order is None else again.plan.order
            done, _ = self._post(again.plan, again.sent, addresses, placed, again.sizes, "write to")
            left = placed[done:]
        lasting = again is None and len(left) <= CHUNK and not (addresses.flags.writeable or data.flags.writeable)
        kinds = self._kinds(addresses, data) if len(left) else np.zeros(0, np.uint8)
        while len(left):
            now, left = left[:CHUNK], left[CHUNK:]
            plan, placed, sizes = self._planned(addresses, kinds, now, writes=True, sort=memory)
            sent = plan.filled(data[now]).tobytes()
            if lasting:
                self._plans.keep(Written(addresses, data, sizes, plan, sent))
                lasting = False
            done, _ = self._post(plan, sent, addresses, placed, sizes, "write to")
            left = np.concatenate([placed[done:], left])
            if self._refused:
                self.settle()

    def settle(self) -> None:
        self.requests.drain()
        refused, self._refused = self._refused, None
        if refused:
            raise refused

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return self._read(addresses, WHOLE, sort=False)

    def read_memory(self, addresses: np.ndarray, mask: int) -> np.ndarray:
        return self._read(addresses, narrowest(mask) if self._packs else WHOLE, sort=True)

    def _read(self, addresses: np.ndarray, kind: int, sort: bool) -> np.ndarray:
        kinds, left, read = np.full(len(addresses), kind, np.uint8), np.arange(len(addresses)), np.zeros(len(addresses), np.uint32)
        while len(left):
            now, left = left[:CHUNK], left[CHUNK:]
            plan, placed, sizes = self._planned(addresses, kinds, now, writes=False, sort=sort)
            done, bodies = self._post(plan, plan.asked().tobytes(), addresses, placed, sizes, "read from")
            self.settle()
            read[placed[:done]] = plan.answered(b"".join(bodies), done)
            left = np.concatenate([placed[done:], left])
        return read

    def _kinds(self, addresses: np.ndarray, data: np.ndarray) -> np.ndarray:
        return kinds_of(data) if self._packs else np.full(len(addresses), WHOLE, np.uint8)

    @property
    def _packs(self) -> bool:
        """Whether the board knows elements shorter than a word."""
        assert self.requests.greeting is not None
        return self.requests.greeting.version >= FIRST_PACKED

    def _sizes(self) -> tuple[int, int]:
        """Words of the next response, and of its request's body."""
        return self.requests.words_of_response(), self.requests.words_of_request()

    def _planned(self, addresses: np.ndarray, kinds: np.ndarray, now: np.ndarray, writes: bool,
                 sort: bool) -> tuple[Plan, np.ndarray, tuple[int, int]]:
        """The plan of accesses `now`, where each of its own stands among all, and the sizes that it was made for.

        kinds: of each word by itself. sort: in any order.
        """
        sizes = self._sizes()
        if len(now) != len(addresses):
            addresses, kinds = addresses[now], kinds[now]
        plan = self._plans.of(addresses, kinds, *sizes, writes, sort)
        return plan, now if plan.order is None else now[plan.order], sizes

    def _post(self, plan: Plan, sent: bytes, addresses: np.ndarray, placed: np.ndarray, sizes: tuple[int, int],
              what: str) -> tuple[int, list[bytes]]:
        """Send a plan's requests, with these bodies, as many of which are under way at once as the board has room for. Returns how
        many accesses they have, and the list to which their answers' bodies come.

        None behind the first one whose access was refused, but for those that were sent before that was known. After an error
        requests are shorter, and after many without one longer: then the others' accesses are to be planned again.
        """
        requests, parts, bodies, at = self.requests, plan.parts, list[bytes](), 0
        writes = what == "write to"
        operation = Operation.WRITE if writes else Operation.READ

        def take(number: int, frame: Frame) -> None:
            if frame.status == Status.BUS_ERROR and self._refused is None:
                first = sum(part.accesses for part in parts[:number])
                self._refused = ChipError(f"the chip refused a {what} {int(addresses[placed[first + frame.value]]):#x}: the "
                                          "address is not one of this chip's, or labels are being drawn")
            bodies.append(frame.body)

        def stop() -> bool:
            return self._refused is not None or (writes and requests.credit_due)

        while True:
            at = requests.transfers.post(operation, sent, parts, at, take, None if writes else bodies.append, stop)
            if at == len(parts) or self._refused:
                break
            part = parts[at]
            requests.post(operation, 0, sent[4 * part.first:4 * part.end], part.accesses, part.segments, partial(take, at))
            at += 1
            if writes and requests.credit_due:
                # The two directions are separate wires, so log arrives while data are sent.
                requests.post_credit()
            if at == len(parts) or self._refused or not sizes[1] <= requests.words_of_request() < MUCH_LONGER * sizes[1]:
                break
        return sum(part.accesses for part in parts[:at]), bodies
