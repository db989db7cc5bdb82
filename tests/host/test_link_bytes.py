"""How many bytes of a link a window takes there, and its answer back: counted at a board that is a reference in Python."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mrfhw.backends.windows import WindowPlan
from mrfhw.driver.driver import Driver
from mrfhw.field.problem import Run
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Requests
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import REGION_BITS
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import (
    DATAGRAM_WORDS,
    FIRST_PACKED,
    FIRST_WINDOWED,
    LINK_VERSION,
    WINDOW,
    DatagramDecoder,
    datagram,
    encode,
    ethernet_words,
)
from mrfhw.machine.registers import Region
from mrfhw.machine.words import entry_words, row_entry
from mrfhw.placement.placement import place
from sim.support.link_reference import BoardReference, WindowReference
from support.windowed import stereo_grid

RESULT = Path(__file__).parents[2] / "mrfhw" / "fpga" / "results" / "ecpix5-85f-12x1x8.json"


class Counting:
    """A link of datagrams to a board of `config` that is a memory; sent, received: bytes of datagrams. older: of link version 2."""

    name, check, reconnections, datagrams = "counting", "the count", 0, True

    def __init__(self, config: Config, version: int = LINK_VERSION):
        self.memory: dict[int, int] = {}
        self.config = Derived.of(config)
        parts = (DATAGRAM_WORDS, 1 << 14, config.line_bits // 8, AddressMap(config).address_bits, self._write,
                 lambda address: self.memory.get(address, 0))
        self.board = (WindowReference(*parts, WINDOW, ethernet_words(WINDOW)[0], datagrams=True) if version >= FIRST_WINDOWED
                      else BoardReference(*parts, short_elements=version >= FIRST_PACKED))
        self.sent, self.received, self.requests, self._answers, self._now = 0, 0, 0, deque[bytes](), 0.0

    def _write(self, address: int, word: int) -> bool:
        """A row of labels as the entries that it stands for."""
        c, bits = self.config, AddressMap(self.config).offset_bits
        if address >> bits & (1 << REGION_BITS) - 1 != Region.LMEM_ROW or not address >> AddressMap(c).tiles_bit:
            self.memory[address] = word
            return True
        fields, (entry, _) = row_entry(c), entry_words(c)
        for bank in range(c.lmem_row_entries):
            part = word >> bank * c.lmem_row_bits
            at = address - (Region.LMEM_ROW - Region.LMEM << bits) + (bank << c.lmem_address_bits + 1)
            self.memory[at] = sum((part >> fields[name].low & fields[name].mask) << entry[name].low for name in fields)
            self.memory[at + 1] = 0
        return True

    def send(self, data: bytes) -> None:
        self.sent, self.requests = self.sent + len(data), self.requests + 1
        for frame in DatagramDecoder().feed(data):
            request = encode(frame.operation, frame.number, frame.value, frame.body, frame.status, frame.session)
            for answer in self.board.receive(request):
                self._answers.append(datagram(
                    answer.operation, answer.number, answer.value, answer.body, answer.status, answer.session))

    def receive(self, seconds: float) -> bytes:
        self._now += 1e-4 if self._answers else seconds
        found = self._answers.popleft() if self._answers else b""
        self.received += len(found)
        return found

    def clock(self) -> float:
        return self._now

    def close(self) -> None: ...


@pytest.mark.claim("link", "a window of stereo takes at most 6 bytes a site to load and 4.2 to read on the largest board")
def test_bytes_of_a_window_of_stereo() -> None:
    """At most 6 a site to load it and 4.2 to read it, heads and CRCs of frames included, on the largest board's machine."""
    config = Config.from_dict(json.loads(RESULT.read_text())["config"])
    rng = np.random.default_rng(1)
    grid = stereo_grid(500, 160, labels=32, singleton="hamming")
    edges = rng.integers(0, 1 << config.edge_bits, (*grid.shape, 2))
    plan = WindowPlan(config, replace(grid, edges=edges))
    problem = max((window.cut(plan.problem) for window in plan.windows), key=lambda problem: problem.sites)
    link = Counting(config)
    requests = Requests(link)
    requests.hello()
    driver = Driver(config, RemoteChip(requests))
    for _ in range(70):
        driver.get("status")  # clean answers let the frames grow
    placement = place(config, problem, Run(sweeps=10, seed=1))
    driver.load(placement)  # the generators once
    for lmem in (False, True):
        driver.forget()
        sent, received, asked = link.sent, link.received, link.requests
        found = driver.lmem(placement) if lmem else driver.load(placement, generators=False)
        sites = problem.sites
        print(f"{'read' if lmem else 'load'}: {(link.sent - sent) / sites:.2f} bytes a site out, "
              f"{(link.received - received) / sites:.2f} in, {link.requests - asked} requests")
        assert (link.received - received if lmem else link.sent - sent) <= (4.2 if lmem else 6) * sites
    assert np.array_equal(found[..., 0], placement.initial)


def test_boards_of_earlier_versions_are_served() -> None:
    """One request at a time, and of version 2 all elements are words: more bytes, and the same memory after them."""
    config = Config.from_dict(json.loads(RESULT.read_text())["config"])
    placement = place(config, stereo_grid(40, 64, labels=16, singleton="hamming"), Run(sweeps=10, seed=1))
    memories, sent = [], []
    for version in (4, 3, 2):
        link = Counting(config, version)
        requests = Requests(link)
        greeting = requests.hello()
        assert (greeting.version, greeting.outstanding) == (version, WINDOW if version >= FIRST_WINDOWED else 1)
        driver = Driver(config, RemoteChip(requests))
        driver.load(placement)
        assert np.array_equal(driver.lmem(placement)[..., 0], placement.initial)
        memories.append(link.memory)
        sent.append(link.sent)
    assert memories[0] == memories[1] == memories[2]
    assert sent[1] <= sent[0] < 1.02 * sent[1]  # of several at once the first ones are short
    assert sent[2] > 1.5 * sent[0]  # of which rows are words in all versions
