"""What hosts may do to `Requests` in a `World`, step by step, and what must hold after each of them."""

from __future__ import annotations

import importlib
import random
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mrfhw.host.links import LinkError
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Limits
from mrfhw.machine.link_protocol import POSITIONS, Operation, datagram, encode
from support.link_world import DATAGRAM_FATES, STREAM_FATES, Fate, World, WorldLink, signed

__all__ = ["RequestsMachine", "loaded", "machine_of"]

LIMITS = Limits()
BASES = (0, POSITIONS // 2 - 300, POSITIONS - 700, 3 * POSITIONS - 5000)  # of the log: positions go round, and half round
SILENT = ("has not answered within", "damaged frames and no answer came from", "nothing came from", "none of them an answer of")
LOST = ("was started again, or another program has spoken to it", "its log memory has", *SILENT)
STALLED = "bytes of log, of which none has come within"
TOGETHER = 3  # seconds that a request without faults may take, the wait for an answer that an earlier fault has lost among them


@contextmanager
def loaded(name: str, change: Callable[[str], str] = lambda source: source, seed: int = 0) -> Iterator[Any]:
    """The module `mrfhw.host.NAME` once more, changed, and with random numbers of a seed."""
    path = Path(str(importlib.import_module(f"mrfhw.host.{name}").__file__))
    module = types.ModuleType(f"mrfhw.host.{name}_once_more")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(change(path.read_text()), str(path), "exec"), module.__dict__)
        rng = random.Random(seed)
        module.__dict__["os"] = types.SimpleNamespace(urandom=rng.randbytes)
        yield module
    finally:
        del sys.modules[module.__name__]


def fates(kinds: tuple[str, ...]) -> st.SearchStrategy[Fate]:
    return st.builds(Fate, st.sampled_from(("", *kinds)), st.floats(0, 0.99), st.sampled_from((0.001, 0.02, 0.3, 3.0)))


class RequestsMachine(RuleBasedStateMachine):
    """A host that writes, reads, takes log and begins again, at a board that may be deaf, gone, started again or another's.

    make: of a link and limits, the `Requests` that are tried. datagrams: of the wires.
    """

    make: Callable[[WorldLink, Limits], Any]
    datagrams: bool

    @initialize(words=st.sampled_from((16, 64, 256)), ring=st.sampled_from((64, 512, 2048, 8192)), base=st.sampled_from(BASES),
                seed=st.integers(0, 1 << 16))
    def greet(self, words: int, ring: int, base: int, seed: int) -> None:
        self.begin(words, ring, base, seed)

    def begin(self, words: int, ring: int, base: int, seed: int) -> None:
        """Make all of it, and have the board greet."""
        self.world, self.rng = World(self.datagrams, words, ring, base, seed), random.Random(seed)
        self.end = self.world.link(0, LIMITS)
        self.requests = type(self).make(self.end, LIMITS)
        self.chip = RemoteChip(self.requests)
        self.expected: list[tuple[bool, int, int]] = []  # accesses, without what is read
        self.taken, self.first = b"", base  # of the log, and the position at which it begins
        self.hello()

    # -- what is done

    def timed(self, what: Callable[[], Any], least: float, most: float) -> tuple[Any, LinkError | None]:
        """What came of a call, which may be given up after `least` seconds, or at once where the board knows this host no more,
        and has ended after `most`."""
        began, self.end.looks, self.failed = self.world.now, 0, True
        try:
            found, error = what(), None
        except LinkError as raised:
            found, error = None, raised
        seconds = self.world.now - began
        assert seconds <= most, f"{seconds:.1f} s, and {most:.1f} at most"
        if error is not None:
            text = str(error)
            assert "\n" not in text
            known = [one for one in (*(LOST if self.lost else SILENT), STALLED) if one in text]
            assert known, text
            if STALLED in text:
                assert self.announced is not None
                assert self.announced[0] == self.requests.position
                assert self.world.now - self.announced[1] >= LIMITS.progress - 0.01, text
            else:
                assert seconds >= least or known[0] in LOST[:2], f"given up after {seconds:.1f} s: {text}"
        self.failed = False
        return found, error

    def hello(self) -> bool:
        """Begin, or begin again; whether the board has answered. The log that is not here is given up."""
        while True:
            most = max(LIMITS.silence, LIMITS.greeting) + LIMITS.most + self.lateness
            greeting, error = self.timed(self.requests.hello, LIMITS.greeting - 0.01, most)
            if error is None:
                break
            assert self.world.gone or self.trouble, error
            self.calm()
        self.expected = [(write, address, data * write) for write, address, data in self.world.carried]
        board = self.world.board
        assert (greeting.log_bytes, greeting.reached) == (self.world.log_bytes, greeting.reached)
        start = board._freed + signed(greeting.reached - board._freed)
        assert start <= len(board.log)
        self.requests.begin_log(greeting.reached)
        self.announced = None
        self.end.ear.begin(greeting.reached)
        self.taken, self.first, self.end.limit = b"", start, None
        return True

    @property
    def lateness(self) -> float:
        """Seconds by which what is on its way may be late beside what is ordered now."""
        return 0.0 if not self.trouble else 4.0

    @property
    def trouble(self) -> bool:
        return bool(self.world.fates) or self.dirty

    @property
    def lost(self) -> bool:
        """Whether the board does not know this host any more."""
        return self.world.stranger

    dirty = failed = False
    announced: tuple[int, float] | None = None  # the position at which log was due at the last credit, and since when

    def calm(self) -> None:
        """No more faults, and what was late has come."""
        self.world.fates.clear()
        self.world.gone = False
        until = max(self.world.now, *self.world.from_board, *self.world.to_board) + 4
        while self.world.step(until):
            pass
        self.world.now = until
        self.dirty = False

    def ask(self, what: Callable[[], Any], accesses: list[tuple[bool, int, int]]) -> Any:
        """Do what carries out these accesses of the bus, whatever it takes: once."""
        before = len(self.world.carried)
        assert before == len(self.expected)
        self.dirty |= bool(self.world.fates)
        parts = 1 + len(accesses)
        found, error = self.timed(what, LIMITS.silence - 0.01, parts * (LIMITS.request + LIMITS.most))
        if error is None:
            self.expected += accesses
            self.check_carried()
            return found
        done = [(write, address, data * write) for write, address, data in self.world.carried[before:]]
        assert done == accesses[:len(done)]
        if not self.lost:
            assert self.trouble or self.world.gone, error
            # The one that was cut off is carried out now, once.
            self.calm()
            _, error = self.timed(self.requests.complete, 0, TOGETHER)
            assert error is None, error
            done = [(write, address, data * write) for write, address, data in self.world.carried[before:]]
            assert done == accesses[:len(done)]
            assert done or not accesses
            self.expected += done
            return None
        self.calm()
        done = [(write, address, data * write) for write, address, data in self.world.carried[before:]]
        assert done == accesses[:len(done)]
        self.hello()
        return None

    def check_carried(self) -> None:
        done = [(write, address, data * write) for write, address, data in self.world.carried]
        assert done == self.expected, "each access is carried out once, in order"

    @rule(count=st.integers(1, 60), first=st.integers(0, 1 << 15), step=st.sampled_from((0, 1, 3)), kind=st.integers(0, 2))
    def write(self, count: int, first: int, step: int, kind: int) -> None:
        addresses = (first + step * np.arange(count)).astype(np.uint32)
        data = np.array([self.rng.randrange(1 << (8, 16, 32)[kind]) for _ in range(count)], np.uint32)
        self.ask(lambda: self.chip.write(addresses, data),
                 [(True, int(address), int(word)) for address, word in zip(addresses, data, strict=True)])

    @rule(count=st.integers(1, 60), first=st.integers(0, 1 << 15), step=st.sampled_from((0, 1, 3)))
    def read(self, count: int, first: int, step: int) -> None:
        addresses = (first + step * np.arange(count)).astype(np.uint32)
        before = len(self.world.carried)
        found = self.ask(lambda: self.chip.read(addresses), [(False, int(address), 0) for address in addresses])
        if found is not None:
            assert found.tolist() == [data for _, _, data in self.world.carried[before:]]

    @rule(many=st.integers(1, 80))
    def read_often(self, many: int) -> None:
        """Requests grow again where nothing is disturbed, and the next is waited for as long as those before took."""
        for _ in range(many):
            self.read(1, 0, 1)

    @rule(size=st.integers(1, 400))
    def log(self, size: int) -> None:
        self.world.produce(self.rng.randbytes(4 * size))

    @rule(pieces=st.integers(1, 12), size=st.integers(1, 300), apart=st.sampled_from((0.0002, 0.004, 0.1)))
    def log_later(self, pieces: int, size: int, apart: float) -> None:
        """While the host does something else."""
        board = self.world.board
        for piece in range(pieces):
            data = self.rng.randbytes(4 * size)
            self.world.at(self.world.now + piece * apart, lambda data=data: self.world.board is board and self.world.produce(data))

    @rule(seconds=st.sampled_from((0.001, 0.02, 0.3)))
    def listen(self, seconds: float) -> None:
        began, before, self.end.looks = self.world.now, self.requests.position, 0
        came = self.requests.listen(seconds)
        assert self.world.now - began <= seconds + 1e-3
        assert came == (self.requests.position != before)

    @rule()
    def credit(self) -> None:
        def ask() -> None:
            found = self.requests.credit()
            assert found == self.requests.outstanding
            assert found <= max(0, signed(len(self.world.board.log) - self.requests.position)) or self.lost
            if not found:
                self.announced = None
            elif self.announced is None or self.announced[0] != self.requests.position:
                self.announced = self.requests.position, self.world.now

        self.ask(ask, [])

    @rule(seconds=st.sampled_from((0.01, 0.2)))
    def rest(self, seconds: float) -> None:
        began, self.end.looks = self.world.now, 0
        self.requests.rest(seconds)
        assert self.world.now - began <= seconds + 1e-3

    @rule(size=st.integers(0, 4000))
    def take(self, size: int) -> None:
        here = len(self.requests.log)
        found = self.requests.take_log(size)
        assert (found is None) == (size > here)
        if found is not None:
            assert len(found) == size
            self.taken += found

    # -- what happens

    def some_fates(self, drawn: list[Fate]) -> None:
        self.world.fates.extend(drawn)
        self.dirty = True

    @rule(data=st.data())
    def faults(self, data: st.DataObject) -> None:
        """Of what is sent next."""
        self.some_fates(data.draw(st.lists(fates(DATAGRAM_FATES if self.datagrams else STREAM_FATES), min_size=1, max_size=12)))

    @rule(kind=st.sampled_from(("lost", "damaged")), many=st.integers(2, 60))
    def worse(self, kind: str, many: int) -> None:
        kind = kind if self.datagrams or kind == "lost" else "flipped"
        self.some_fates([Fate(kind, self.rng.random()) for _ in range(many)])

    @rule(after=st.sampled_from((0.0, 0.0005, 0.003, 0.4)))
    def break_link(self, after: float) -> None:
        """And it is made again, in the middle of something."""
        self.dirty = True
        self.world.at(self.world.now + after, lambda: self.world.breaks(self.end))

    @rule()
    def go_off(self) -> None:
        """The board answers nothing until it is given up."""
        self.world.gone = True
        self.dirty = True

    @rule(after=st.sampled_from((0.0, 0.0005, 0.003)))
    def start_again(self, after: float) -> None:
        """The board is another from now on, that knows no host and has no log."""
        self.dirty = True
        self.world.at(self.world.now + after, lambda: self.world.restart(0))
        self.world.at(self.world.now + after, lambda: setattr(self.world, "gone", False))

    @rule(after=st.sampled_from((0.0, 0.0005, 0.003)), often=st.integers(1, 3))
    def other_host(self, after: float, often: int) -> None:
        """Another program greets the board, and its hello may come again later."""
        made, nonce = datagram if self.datagrams else encode, self.rng.getrandbits(32)
        sent = list[bytes]()

        def greet() -> None:
            last = self.world.board._last
            # Not by chance the numbers that this host is at (docs/link.md, "A link that breaks").
            number, session = (0 if last is None else last.number) + 100, self.end.sent[-1].value + 77
            sent[:] = sent or [made(Operation.HELLO, number % 256, nonce & ~0xFF | session & 0xFF, status=3)]
            self.world.arrive(sent[0], 1)

        self.dirty = True
        for time in range(often if self.datagrams else 1):
            self.world.at(self.world.now + after + 2.5 * time, greet)

    # -- what holds

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "world"):
            return
        requests, ear, board = self.requests, self.end.ear, self.world.board
        assert requests.position == ear.position, "what has come in turn has been taken"
        here = self.taken + bytes(requests.log)
        assert here == bytes(ear.log), "no byte is lost, doubled or out of order"
        if not self.lost:
            assert here == board.log[slice(self.first, self.first + len(here))], "the log is the board's"
        assert not ear.gap or requests.credit_due, "a gap is asked for"
        assert requests.damaged == ear.decoder.damaged
        assert requests.words_of_request() <= self.world.words

    def teardown(self) -> None:
        """All of the log comes where nothing more happens, and requests are answered at once."""
        if not hasattr(self, "world") or self.failed:
            return
        self.calm()
        if self.lost:
            self.hello()
        self.read(5, 0, 1)
        self.read(5, 0, 1)
        board, began = self.world.board, self.world.now
        while len(self.taken) + len(self.requests.log) < len(board.log) - self.first:
            self.end.looks = 0
            if self.requests.credit_due or not self.requests.listen(0.02):
                self.credit()
            late = self.world.now - began
            assert late < 2 + (len(board.log) - self.first) / 4000, "the log comes"
        self.holds()
        self.check_carried()


def machine_of(requests: Any, datagrams: bool) -> type[RequestsMachine]:
    """The machine that tries the class `Requests` of a module."""
    return type("Tried", (RequestsMachine,), {"make": staticmethod(requests.Requests), "datagrams": datagrams})
