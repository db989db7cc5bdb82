"""A link that reconnects after it broke, for example when a cable was unplugged or a server was down for a while."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from mrfhw.host.links import Address, Link, LinkError, open_link
from mrfhw.host.requests import Limits
from mrfhw.machine.config import Config
from mrfhw.system.progress import working

__all__ = ["Reconnecting", "link_limits", "opened"]

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds between two tries to open the link


class Reconnecting:
    """The link that `open_` opens. When it breaks it is opened again, until `seconds` have passed without a byte; 0: never.

    Bytes in flight are lost; requests recover from this as from any other loss (docs/link.md), and nothing is carried out twice.
    The clock stands still while the link is broken. reconnections: how often the link was opened again.
    sleep, real: functions that wait and that give the time while the link is broken.
    """

    def __init__(self, open_: Callable[[], Link], seconds: float, sleep: Callable[[float], object] = time.sleep,
                 real: Callable[[], float] = time.monotonic):
        self._open, self.seconds, self._sleep, self._real = open_, seconds, sleep, real
        self.link = open_()
        self.reconnections = 0
        self._offset, self._pause, self._away = 0.0, FIRST_PAUSE, 0.0

    @property
    def name(self) -> str:
        return self.link.name

    @property
    def check(self) -> str:
        return self.link.check

    @property
    def datagrams(self) -> bool:
        return self.link.datagrams

    def send(self, data: bytes) -> None:
        try:
            self.link.send(data)
        except LinkError as error:
            self._again(error)

    def receive(self, seconds: float) -> bytes:
        try:
            data = self.link.receive(seconds)
        except LinkError as error:
            self._again(error)
            return b""
        if data:
            self._pause, self._away = FIRST_PAUSE, 0.0
        return data

    def clock(self) -> float:
        return self.link.clock() + self._offset

    def close(self) -> None:
        self.link.close()

    def reopen(self) -> None:
        """Open the link again, with a single attempt. Raises LinkError if it cannot be opened."""
        self._open_again(self.clock())
        self._pause, self._away = FIRST_PAUSE, 0.0

    def _open_again(self, stopped: float) -> None:
        """Open the link; its clock continues from `stopped`."""
        self.link.close()
        self.link = self._open()
        self._offset += stopped - self.clock()
        self.reconnections += 1

    def _again(self, broke: LinkError) -> None:
        if not self.seconds:
            raise broke
        stopped, began, last = self.clock(), self._real(), broke
        before = self._away  # a link that breaks again at once counts as still broken
        with working(f"{broke.what}; connecting again", quiet_seconds=0):
            while self._away < self.seconds:
                self._sleep(min(self._pause, self.seconds - self._away))
                self._pause = min(2 * self._pause, LONGEST_PAUSE)
                self._away = before + self._real() - began
                try:
                    return self._open_again(stopped)
                except LinkError as error:
                    last = error
        reason = "" if last is broke else f" ({last.what})"
        raise LinkError(f"{broke.what} and was not back within {self.seconds:g} s{reason}", broke.advice) from None


def link_limits(address: str, limits: Limits | None = None) -> Limits:
    """The limits of a link, with those that its address states."""
    limits, found = limits or Limits(), Address.of(address)
    if found.reconnect is not None:
        limits = dataclasses.replace(limits, reconnect=found.reconnect)
    return limits if found.patience is None else limits.patient(found.patience)


def opened(address: str, config: Config) -> Reconnecting:
    """The link to a board that is made again where it breaks. Raises LinkError."""
    return Reconnecting(lambda: open_link(address, config), link_limits(address).reconnect)
