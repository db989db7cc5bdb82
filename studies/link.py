"""`python -m studies.link`: how long a visit's transfers take on a link, beside the time that its wires need for their bytes.

    python -m studies.link [--link ethernet|serial] [--delays 0,1] [--outstanding N] [--tile ROWSxCOLS]

The board of two tiles is compiled, and its link is driven at its pins by the host's own driver, on the board's clock. Of each
delay (milliseconds each way) and phase, loading a window where another lies and reading its label memory, when frames have grown
to their largest: requests; bytes to the board and from it as the wires carry them; the milliseconds that the wires need for the
more of them; those that the outstanding bytes allow, where a round trip of twice the delay lies between a byte and the next that
takes its place; those of the bus' cycles, an access each; those that it took; how many times the larger of wires and outstanding;
and those of this computer's processor, over visits that are answered as the board has answered them, without the link's part.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import click
import numpy as np

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.driver.driver import Driver
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.fpga.report import markdown
from mrfhw.host.links import Link, SimEthernetLink, SimLink
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Requests
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import (
    BAUD,
    ETHERNET_HZ,
    FRAME_BITS,
    MOST_OUTSTANDING,
    UDP_BYTES,
    WINDOW,
    WIRE_BYTES,
    DatagramDecoder,
    Decoder,
    Frame,
    datagram,
    encode,
    is_outstanding,
)
from mrfhw.placement.placement import place
from mrfhw.simulation.board import DIVISOR
from mrfhw.simulation.compiled import LINK_HZ
from sim.support.delayed_link import DelayedLink

__all__ = ["Metered", "Phase", "Replayed", "machine", "measure"]

LEAST_PAYLOAD = 46  # bytes of an Ethernet packet
REPLAYED = 40  # visits of which the processor's time is measured
_HEAD = ("delay, ms", "phase", "requests", "bytes out", "bytes in", "wires, ms", "outstanding, ms", "bus, ms",
         "took, ms", "times", "processor, ms")


class Metered:
    """`link`, whose bytes and pieces are counted. answers: frames by the operation, value and body that they answered."""

    reconnections = 0

    def __init__(self, link: Link, wires: Link):
        self.link, self.name, self.check, self.datagrams = link, link.name, link.check, wires.datagrams
        self.sent = self.received = self.pieces = 0
        self.answers: dict[tuple[int, int, bytes], Frame] = {}
        self._asked: dict[tuple[int, int], Frame] = {}
        self._out, self._in = _decoder(self.datagrams), _decoder(self.datagrams)

    def _wire_bytes(self, data: bytes) -> int:
        return max(LEAST_PAYLOAD, len(data) + UDP_BYTES) + WIRE_BYTES if self.datagrams and data else len(data)

    def send(self, data: bytes) -> None:
        self.sent, self.pieces = self.sent + self._wire_bytes(data), self.pieces + 1
        self._asked |= {(frame.number, frame.session): frame for frame in self._out.feed(data)}
        self.link.send(data)

    def receive(self, seconds: float) -> bytes:
        data = self.link.receive(seconds)
        self.received += self._wire_bytes(data)
        for frame in self._in.feed(data):
            if (asked := self._asked.get((frame.number, frame.session))) is not None:
                self.answers[asked.operation, asked.value, asked.body] = frame
        return data

    def clock(self) -> float:
        return self.link.clock()

    def close(self) -> None:
        self.link.close()


class Replayed:
    """A link on which each request has the answer at once that an equal one had on `metered`. log: what was sent."""

    reconnections = 0

    def __init__(self, metered: Metered):
        self.name, self.check, self.datagrams, self._answers = metered.name, metered.check, metered.datagrams, metered.answers
        self._decoder, self._waiting, self._now = _decoder(self.datagrams), deque[Frame](), metered.clock()
        self.log: list[bytes] | None = None

    def send(self, data: bytes) -> None:
        if self.log is not None:
            self.log.append(data)
        self._waiting.extend(self._decoder.feed(data))

    def receive(self, seconds: float) -> bytes:
        self._now += 1e-5
        if not self._waiting:
            return b""
        asked = self._waiting.popleft()
        found, made = self._answers[asked.operation, asked.value, asked.body], datagram if self.datagrams else encode
        return made(found.operation, asked.number, found.value, found.body, found.status, asked.session)

    def clock(self) -> float:
        return self._now

    def close(self) -> None:
        pass


def _decoder(datagrams: bool) -> Decoder | DatagramDecoder:
    return DatagramDecoder() if datagrams else Decoder()


def _processor(step: Callable[[], object], link: Replayed) -> float:
    """Seconds of this computer's processor that a step takes beside those of its link."""
    link.log = []
    step()
    log, link.log = link.log, None

    def alone() -> None:
        for data in log:
            link.send(data)
        for _ in log:
            link.receive(1.0)

    def each(call: Callable[[], object]) -> float:
        began = time.process_time()
        for _ in range(REPLAYED):
            call()
        return (time.process_time() - began) / REPLAYED

    return each(step) - each(alone)


@dataclass(frozen=True)
class Phase:
    """Of one phase of a visit: requests, bytes on the wires, and seconds: of wires, of what may be outstanding, of the bus, that
    it took, and of the processor."""

    name: str
    requests: int
    sent: int
    received: int
    wires: float
    outstanding: float
    bus: float
    took: float
    processor: float

    @property
    def times(self) -> float:
        return self.took / max(self.wires, self.outstanding)


def machine(rows: int, cols: int) -> Config:
    """Two tiles of that many sites each."""
    return Config().changed(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=rows, tile_cols=cols, label_bits=4, data_bits=8,
                            counter_bits=4, line_bits=64, temperature_table=4)


def measure(config: Config, kind: str, delay: float, outstanding: int) -> list[Phase]:
    """Loading and reading a window that fills the machine. delay: seconds each way."""
    wires: SimEthernetLink | SimLink
    if kind == "ethernet":
        wires = SimEthernetLink(config, rate=LINK_HZ, outstanding=outstanding)
    else:
        wires = SimLink(config, rate=DIVISOR * BAUD, outstanding=outstanding)
    link = Metered(DelayedLink(wires, delay), wires)
    rng = np.random.default_rng(1)
    rows, cols = config.mesh_rows * config.tile_rows, config.mesh_cols * config.tile_cols
    constants = rng.integers(0, 256, 16)
    windows = deque(place(config, Problem(labels=16, singleton1=rng.integers(0, 256, (rows, cols)), constants=constants,
                                          schedule=Schedule.constant(20.0)), Run(sweeps=1, seed=1)) for _ in range(2))
    placement = windows[0]
    requests = Requests(link)
    greeting, driver = requests.hello(), Driver(config, RemoteChip(requests))
    driver.load(placement)  # the generators once
    found, steady = list[Phase](), 0

    def load() -> None:
        windows.rotate()
        driver.load(windows[0], generators=False)

    steps = {"load": load, "read": lambda: driver.lmem(placement)}
    while steady < 2 * len(windows):
        steady += requests.steady
        found = []
        for name, step in steps.items():
            before = link.sent, link.received, link.pieces, link.clock()
            step()
            sent, received, pieces, took = (now - then for now, then in zip(
                (link.sent, link.received, link.pieces, link.clock()), before, strict=True))
            wire = max(sent, received) / (ETHERNET_HZ if kind == "ethernet" else BAUD / FRAME_BITS)
            memory = 4 * (greeting.request_memory or greeting.request_words, greeting.response_memory or greeting.response_words)[
                name == "read"]
            cycles = driver.reading_cycles(placement) if name == "read" else driver.config.bus_write_cycles(driver.written)
            rounds = (received if name == "read" else sent) / memory * 2 * delay
            found.append(Phase(name, pieces, sent, received, wire, rounds, cycles / wires.rate, took, 0.0))
    replayed = Replayed(link)
    requests.link = replayed
    found = [replace(phase, processor=_processor(steps[phase.name], replayed)) for phase in found]
    link.close()
    return found


class _Delays(click.ParamType):
    """Milliseconds by commas."""

    name = "MS,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        """Any other text ends in one line."""
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # converted already
        try:
            found = [float(word) for word in value.split(",")]
        except ValueError:
            found = [-1.0]
        if not all(0 <= delay <= 1000 for delay in found):
            self.fail(f"{value!r} is no list of milliseconds from 0 to 1000: give such as 0,1", param, ctx)
        return found


class _Tile(click.ParamType):
    """Rows and columns."""

    name = "ROWSxCOLS"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Any other text ends in one line."""
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # converted already
        words = value.split("x")
        if len(words) != 2 or not all(word.isdecimal() and 2 <= int(word) <= 256 for word in words):
            self.fail(f"{value!r} is no tile of 2 to 256 rows and columns: give such as 64x64", param, ctx)
        return int(words[0]), int(words[1])


class _Outstanding(click.ParamType):
    """A power of two."""

    name = "N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Any other text ends in one line."""
        found = int(value) if str(value).isdecimal() else 0
        if not is_outstanding(found):
            self.fail(f"{value!r} is no number of requests outstanding: give a power of two up to {MOST_OUTSTANDING}", param, ctx)
        return found


@click.command(cls=OneLineCommand)
@click.option("--link", "kind", type=click.Choice(("ethernet", "serial")), default="ethernet", show_default=True)
@click.option("--delays", type=_Delays(), default="0,1", show_default=True, help="Each way, in milliseconds.")
@click.option("--outstanding", type=_Outstanding(), default=str(WINDOW), show_default=True, help="Requests.")
@click.option("--tile", type=_Tile(), default="64x64", show_default=True, help="Sites of each of two tiles.")
def main(kind: str, delays: list[float], outstanding: int, tile: tuple[int, int]) -> None:
    """Loading and reading a window over a link, on the compiled board's clock."""
    rows = list[tuple[str, ...]]()
    for delay in delays:
        for phase in measure(machine(*tile), kind, delay / 1000, outstanding):
            times = [f"{1000 * seconds:.3f}" for seconds in (phase.wires, phase.outstanding, phase.bus, phase.took)]
            rows.append((f"{delay:g}", phase.name, str(phase.requests), str(phase.sent), str(phase.received), *times,
                         f"{phase.times:.2f}", f"{1000 * phase.processor:.1f}"))
    click.echo(markdown([_HEAD, *rows]))


if __name__ == "__main__":
    main()
