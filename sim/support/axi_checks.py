"""AXI4 from a memory's side: checks of a master against the standard and a ring of log lines; a memory with given timing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from cocotbext.axi import AxiBus, AxiRam

from mrfhw.gateware.common.axi import BURST_INCR, OKAY, SLVERR
from mrfhw.gateware.log.log_ring import POSITION_BITS, Ring
from sim.support.fields import Bench
from sim.support.streams import Rhythm

__all__ = ["MODULUS", "Ram", "RingMonitor", "Slave", "log_ring", "ring_blocks"]

MODULUS = 1 << POSITION_BITS  # of positions of the log
SILENCE = 3000  # cycles; no bench is idle for longer
_HELD = {"aw": ("awaddr", "awlen", "awsize", "awburst", "awid"), "w": ("wdata", "wstrb", "wlast"),
         "ar": ("araddr", "arlen", "arsize", "arburst", "arid")}


def ring_blocks(ring: Ring) -> int:
    """Blocks of a ring for a bench: no power of two, and few where they are large."""
    return 7 if ring.burst_beats < 64 else 3


def log_ring(parameters: dict[str, Any]) -> Ring:
    """The ring of a component with these parameters, which may have more."""
    return Ring(*(parameters[name] for name in ("line_bits", "data_bits", "address_bits", "burst_beats")))


class RingMonitor:
    """Checks every burst on `memory`; call `sample` after every cycle of the bench.

    base, size: of the ring. freed: position up to which a burst may write; run_ends: positions at which a write burst may end
    within a block. known: position up to which a burst may read. All three are the bench's to move, before the cycle.
    asked, sent, acknowledged: positions of the write bursts, of their data and of memory's answers; write_bursts: beats of each.
    most_unanswered: write bursts whose address was taken and that were not answered, at most.
    read_asked, received: of the read bursts and of their data; read_bursts: beats of each. All in bytes since reset.
    """

    def __init__(self, bench: Bench, ring: Ring, base: int, size: int):
        self.bench, self.ring, self.base, self.size = bench, ring, base, size
        self.freed, self.known = 0, 0
        self.run_ends: set[int] = set()
        self.asked = self.sent = self.acknowledged = self.read_asked = self.received = 0
        self.write_bursts: list[int] = []
        self.read_bursts: list[int] = []
        self.moved = 0  # when an address or data written last moved
        self.data_cycles: list[int] = []  # when a beat was written
        self.given_cycles: list[int] = []  # when a beat was read
        self._unsent: deque[int] = deque()  # beats of bursts asked for
        self._sent_beats = 0
        self._unanswered: deque[int] = deque()
        self.most_unanswered = 0
        self._shown: tuple[int, int] | None = None  # an address not taken yet: where its burst begins, its beats
        self._held: dict[str, tuple[int, ...] | None] = dict.fromkeys(_HELD)

    def port(self, name: str) -> int:
        found = self.bench.read(f"memory_{name}")
        assert isinstance(found, int)
        return found

    def sample(self) -> None:
        for channel, names in _HELD.items():
            found = tuple(self.port(n) for n in names) if self.port(f"{channel}valid") else None
            if self._held[channel] is not None:
                assert found == self._held[channel], f"{channel} changed before it was taken"
            ready = self.port(f"{channel}ready")
            self._held[channel] = None if ready else found
            if found is not None and ready:
                self.moved = self.bench.now
        self._write()
        self._read()
        assert self.bench.now - self.moved < SILENCE, f"nothing moves on the bus since cycle {self.moved}"

    def _burst(self, channel: str, position: int) -> int:
        """Beats of the burst shown on `channel`, which must be the ring's next at `position`."""
        ring, address, beats = self.ring, self.port(f"{channel}addr"), self.port(f"{channel}len") + 1
        size = beats * ring.beat_bytes
        assert (self.port(f"{channel}burst"), self.port(f"{channel}id")) == (BURST_INCR, 0)
        assert 1 << self.port(f"{channel}size") == ring.beat_bytes
        assert address % ring.beat_bytes == 0
        assert address // 4096 == (address + size - 1) // 4096, "a burst crosses 4096 bytes"
        assert self.base <= address, "a burst begins before the ring"
        assert address + size <= self.base + self.size, "a burst crosses the ring's end"
        assert address == self.base + position % self.size, "a burst is not where the log goes on"
        assert beats <= ring.burst_beats
        return beats

    def _write(self) -> None:
        ring = self.ring
        if self.port("awvalid"):
            if self._shown is None:
                beats = self._burst("aw", self.asked)
                end = self.asked + beats * ring.beat_bytes
                assert end - self.freed <= self.size, "a burst overwrites what is not freed"
                assert end % ring.burst_bytes == 0 or end in self.run_ends, "a short burst, but no run ends with it"
                self._shown = (self.asked, beats)
                self.write_bursts.append(beats)
                self._unsent.append(beats)
                self._unanswered.append(beats)
                self.asked = end
            if self.port("awready"):
                self._shown = None
                self.most_unanswered = max(self.most_unanswered, len(self._unanswered))
        if self.port("wvalid"):
            assert self._unsent, "data without a burst"
            assert self.port("wstrb") == (1 << ring.beat_bytes) - 1
            last = self._sent_beats + 1 == self._unsent[0]
            assert self.port("wlast") == last, "wlast is not the burst's last beat"
            if self.port("wready"):
                self.data_cycles.append(self.bench.now)
                self._sent_beats += 1
                self.sent += ring.beat_bytes
                if last:
                    self._unsent.popleft()
                    self._sent_beats = 0
        if self.port("bvalid"):
            assert self.port("bready") == 1, "answers are always taken"
            self.acknowledged += self._unanswered.popleft() * ring.beat_bytes

    def _read(self) -> None:
        ring = self.ring
        if self.port("arvalid"):
            beats = self._burst("ar", self.read_asked)
            end = self.read_asked + beats * ring.beat_bytes
            assert end <= self.known, "a burst reads what is not written"
            if self.port("arready"):
                self.read_bursts.append(beats)
                self.read_asked = end
        if self.port("rvalid"):
            assert self.port("rready") == 1, "memory is never held up"
            self.given_cycles.append(self.bench.now)
            self.received += ring.beat_bytes


class Ram:
    """AxiRam with random pauses on its channels, by the share of cycles in which a channel goes on; 1: none."""

    def __init__(self, dut: Any, size: int, rng: np.random.Generator, share: float = 1, burst: int = 3):
        self.ram = AxiRam(AxiBus.from_prefix(dut, "memory"), dut.clk, dut.rst, size=size)
        write, read = self.ram.write_if, self.ram.read_if
        assert write is not None
        assert read is not None
        if share < 1:
            for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
                channel.set_pause_generator(_pauses(Rhythm(rng, share, burst)))

    def drive(self) -> dict[str, int]:
        return {}

    def sample(self, bench: Bench) -> None:
        pass

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.ram.read(address, length))

    def write(self, address: int, data: bytes) -> None:
        self.ram.write(address, data)


def _pauses(go: Rhythm) -> Iterator[bool]:
    while True:
        yield not go()


class Slave:
    """A memory with registered outputs that takes an address and a beat a cycle.

    order: "any"; "address first": data only once their address is taken; "data first": an address only once all its data are;
    "together": an address only when data are shown too. latency: cycles from the last beat taken to bvalid, and from an address to
    the first rvalid. bad_bursts, bad_beats: numbers of write bursts and of read beats, from 0, that are answered with SLVERR.
    answered_bad: one of them was answered.
    """

    def __init__(self, size: int, beat_bytes: int, order: str = "any", latency: int = 1, bad_bursts: tuple[int, ...] = (),
                 bad_beats: tuple[int, ...] = ()):
        self.memory, self.beat_bytes, self.order, self.latency = bytearray(size), beat_bytes, order, latency
        self.bad_bursts, self.bad_beats = bad_bursts, bad_beats
        self._addresses: deque[tuple[int, int]] = deque()
        self._data: deque[tuple[int, bool]] = deque()
        self._answers: deque[int] = deque()  # when each is due
        self._beats: deque[tuple[int, int, bool]] = deque()  # when due, address, last
        self._now = self._bursts = self._given = 0
        self._seen_data = self.answered_bad = False

    def drive(self) -> dict[str, int]:
        """The inputs of the coming cycle."""
        self._now += 1
        whole = any(last for _, last in self._data)
        answer = bool(self._answers) and self._answers[0] <= self._now
        beat = bool(self._beats) and self._beats[0][0] <= self._now
        awready = {"data first": whole, "together": self._seen_data}.get(self.order, True)
        wready = {"address first": bool(self._addresses), "data first": not whole}.get(self.order, True)
        found = {"awready": awready, "wready": wready, "bvalid": answer, "bid": 0, "bresp": OKAY, "arready": True, "rvalid": beat,
                 "rid": 0, "rresp": OKAY, "rlast": False, "rdata": 0}
        if answer:
            found["bresp"] = SLVERR if self._bursts in self.bad_bursts else OKAY
        if beat:
            _, address, last = self._beats[0]
            found |= {"rdata": int.from_bytes(self.memory[address:address + self.beat_bytes], "little"), "rlast": last,
                      "rresp": SLVERR if self._given in self.bad_beats else OKAY}
        self.answered_bad |= SLVERR in (found["bresp"], found["rresp"])
        return {f"memory_{name}": int(value) for name, value in found.items()}

    def sample(self, bench: Bench) -> None:
        """Take what the master showed in this cycle."""
        def came(channel: str) -> bool:
            return bool(bench.read(f"memory_{channel}valid") and bench.read(f"memory_{channel}ready"))

        self._seen_data = bool(bench.read("memory_wvalid")) and self.order == "together"
        if came("aw"):
            self._addresses.append((bench.read("memory_awaddr"), bench.read("memory_awlen") + 1))
            self._seen_data = False
        if came("w"):
            self._data.append((bench.read("memory_wdata"), bool(bench.read("memory_wlast"))))
        if self._addresses and len(self._data) >= self._addresses[0][1]:
            self._store(*self._addresses.popleft())
            self._answers.append(self._now + self.latency)
        if came("b"):
            self._answers.popleft()
            self._bursts += 1
        if came("r"):
            self._beats.popleft()
            self._given += 1
        if came("ar"):
            start, beats = bench.read("memory_araddr"), bench.read("memory_arlen") + 1
            for i in range(beats):
                self._beats.append((self._now + self.latency, start + i * self.beat_bytes, i == beats - 1))

    def _store(self, address: int, beats: int) -> None:
        for i in range(beats):
            data, last = self._data.popleft()
            assert last == (i == beats - 1)
            self.write(address + i * self.beat_bytes, data.to_bytes(self.beat_bytes, "little"))

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.memory[address:address + length])

    def write(self, address: int, data: bytes) -> None:
        self.memory[address:address + len(data)] = data
