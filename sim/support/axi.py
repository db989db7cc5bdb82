"""cocotbext-axi in benches: pauses by a rhythm, and a chip for the driver on top of an AXI4-Lite master."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from cocotbext.axi import AxiLiteMaster, AxiResp

from mrfhw.driver.driver import ChipError
from sim.support.blocking import BlockingChip
from sim.support.streams import Rhythm

__all__ = ["AxiLiteChip", "pause"]


def pause(channel: Any, active: Rhythm | None) -> None:
    """Have a channel of cocotbext-axi offer or take only when `active` says so; None: always."""
    def pauses(active: Rhythm) -> Iterator[bool]:
        for _ in itertools.count():
            yield not active()

    channel.clear_pause_generator()
    channel.pause = False
    if active is not None:
        channel.set_pause_generator(pauses(active))


class AxiLiteChip(BlockingChip):
    """Behind an AXI4-Lite master.

    Accesses are handed to the master all at once, so that channels overlap as far as it and its slave let them.
    """

    def __init__(self, master: AxiLiteMaster):
        self.master = master

    async def _write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        pairs = list(zip(map(int, addresses), map(int, data), strict=True))
        events = [self.master.init_write(4 * address, word.to_bytes(4, "little")) for address, word in pairs]
        for (address, _), event in zip(pairs, events, strict=True):
            await event.wait()
            if event.data.resp != AxiResp.OKAY:
                raise ChipError(f"write to {address:#x} refused")

    async def _read(self, addresses: np.ndarray) -> np.ndarray:
        events = [self.master.init_read(4 * int(address), 4) for address in addresses]
        words = []
        for address, event in zip(addresses, events, strict=True):
            await event.wait()
            if event.data.resp != AxiResp.OKAY:
                raise ChipError(f"read from {int(address):#x} refused")
            words.append(int.from_bytes(event.data.data, "little"))
        return np.array(words, np.uint32)
