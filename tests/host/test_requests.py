"""Requests on a link whose clock is the test's: when they are repeated, and when they are given up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mrfhw.host.links import LinkError
from mrfhw.host.requests import EARLY, FIRST_REST, LONGEST_REST, Limits, Requests
from mrfhw.machine.link_protocol import (
    LINK_VERSION,
    LOG_CHUNK,
    POSITIONS,
    RESPONSE,
    REWIND,
    Decoder,
    Frame,
    Operation,
    Status,
    encode,
)

REQUEST_GIVEN_UP = pytest.mark.claim("link",
    "a request is given up in bounded time: silence, damaged frames alone, log alone, a link that breaks at every request")

LOG_BYTES, LINE_BYTES, STEP = 2048, 8, 0.002
READ = np.array([1, 0], np.uint32)
STARTED_AGAIN = "the board at desk was started again, or another program has spoken to it: solve the problem again"


class Board:
    """Answers at once, on a clock that goes on with every look. spoil: what becomes of the bytes that it sends."""

    name, check, reconnections, datagrams = "desk", "the desk", 0, False

    def __init__(self, spoil: Callable[[bytes], bytes] = lambda data: data, **changed: Callable[[Frame], bytes]):
        self.spoil, self.changed = spoil, changed
        self.now, self.waiting, self.decoder = 0.0, b"", Decoder()
        self.asked: list[Frame] = []
        self.reached = 0

    def send(self, data: bytes) -> None:
        for frame in self.decoder.feed(data):
            self.asked.append(frame)
            assert len(self.asked) < 100_000, "asked for ever"
            self.waiting += self.spoil(self.answer(frame))

    def answer(self, frame: Frame) -> bytes:
        name = Operation(frame.operation).name.lower()
        if name in self.changed:
            return self.changed[name](frame)
        head = frame.operation | RESPONSE, frame.number
        if frame.operation == Operation.HELLO:
            words = np.array([LINK_VERSION, 128, 128, LOG_BYTES, LINE_BYTES, 0, self.reached, 0, 8, 512, 512], "<u4")
            return encode(*head, frame.value, words.tobytes(), session=frame.session)
        return encode(*head, self.reached if frame.operation == Operation.CREDIT else 0, b"", session=frame.session)

    def receive(self, seconds: float) -> bytes:
        self.now += min(STEP, seconds) if self.waiting else seconds
        data, self.waiting = self.waiting, b""
        return data

    def clock(self) -> float:
        return self.now

    def close(self) -> None: ...


def flipped(data: bytes) -> bytes:
    """A bit of each frame is wrong."""
    return b"".join(b"\x7e" + bytes((piece[0] ^ 1,)) + piece[1:] + b"\x7e" for piece in data.split(b"\x7e") if piece)


def greeted(board: Board, limits: Limits | None = None) -> Requests:
    requests = Requests(board, limits)
    requests.hello()
    return requests


@REQUEST_GIVEN_UP
def test_damaged_frames_alone_are_given_up() -> None:
    """As fast as they come, and however many: in `request` seconds."""
    for limits in (Limits(), Limits(request=7.0)):
        board = Board()
        requests = greeted(board, limits)
        board.spoil, began = flipped, board.now
        with pytest.raises(LinkError, match=rf"^\d+ damaged frames and no answer came from desk within {limits.request:g} s: "
                                            r"check the desk, then solve again$"):
            requests.request(Operation.READ, 0, READ)
        assert limits.request <= board.now - began <= limits.request + limits.most


def test_damaged_frames_are_no_silence_where_nothing_is_measured_yet() -> None:
    """The greeting was repeated, so that it says nothing of how long an answer takes."""
    board = Board()
    board.spoil = lambda data: data if len(board.asked) > 1 else b""
    requests = greeted(board)
    began = board.now
    board.spoil = lambda data: data if board.now > began + 2 * requests.limits.silence else flipped(data)
    requests.request(Operation.READ, 0, READ)
    assert board.now - began > 2 * requests.limits.silence


@REQUEST_GIVEN_UP
def test_a_link_that_breaks_at_every_request_is_given_up() -> None:
    """One that says something each time it is made, so that it seems well."""
    board = Board()
    requests = greeted(board, Limits(breaks=7))

    def breaking(data: bytes) -> bytes:
        board.reconnections += 1
        return b"login: "

    board.spoil = breaking
    with pytest.raises(LinkError, match=r"^the link to desk broke 7 times before one request was answered: check the desk, then"):
        requests.request(Operation.READ, 0, READ)
    assert len(board.asked) == 9


@REQUEST_GIVEN_UP
def test_damaged_frames_that_never_end_are_given_up() -> None:
    """Log frames come all the time, each damaged, and no answer: the same."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    board.send, began = lambda data: None, board.now
    broken = flipped(encode(Operation.LOG, 0, 0, bytes(LOG_CHUNK)))

    def receive(seconds: float) -> bytes:
        board.now += min(STEP, seconds)
        return broken

    board.receive = receive
    with pytest.raises(LinkError, match=r"^\d+ damaged frames and no answer came from desk within 30 s: check the desk"):
        requests.request(Operation.READ, 0, READ)
    assert board.now - began <= 32


@REQUEST_GIVEN_UP
def test_log_without_an_answer_is_given_up() -> None:
    """The way to the board is cut, the way back is not: good log frames are no reason to wait for ever."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    board.send, began = lambda data: None, board.now

    def receive(seconds: float) -> bytes:
        board.now += min(STEP, seconds)
        return encode(Operation.LOG, 0, requests.position, bytes(8))

    board.receive = receive
    with pytest.raises(LinkError, match=r"^the board at desk has not answered within 30 s: see that it is on and plugged in, then"):
        requests.request(Operation.READ, 0, READ)
    assert 30 <= board.now - began <= 32


@REQUEST_GIVEN_UP
def test_silence_is_given_up() -> None:
    board = Board()
    requests = greeted(board)
    board.spoil, began = lambda data: b"", board.now
    with pytest.raises(LinkError, match=r"^the board at desk has not answered within 10 s: see that it is on and plugged in, then"):
        requests.request(Operation.READ, 0, READ)
    assert 10 <= board.now - began <= 12
    assert len(board.asked) < 60
    assert {frame.number for frame in board.asked[1:]} == {board.asked[1].number}


@pytest.mark.parametrize(("spoil", "answer"), [
    (lambda data: b"", "nothing came from desk within 5 s: see that the board is on and that this is its port, and check the desk"),
    (flipped, r"\d+ bytes came from desk within 5 s, none of them an answer of a board's: see that this is the board's port, and "
              "check the desk")])
def test_no_board(spoil, answer) -> None:
    board = Board(spoil)
    with pytest.raises(LinkError, match=f"^{answer}$"):
        greeted(board)
    assert 5 <= board.now <= 7.1


@pytest.mark.parametrize(("status", "operation", "answer"), [
    (Status.NUMBER, Operation.READ, STARTED_AGAIN), (Status.MALFORMED, Operation.CREDIT, STARTED_AGAIN),
    (Status.MALFORMED, Operation.READ, "the board at desk does not take a request of kind 3: build it again with this program")])
def test_refusals(status, operation, answer) -> None:
    name = operation.name.lower()
    board = Board(**{name: lambda frame: encode(frame.operation | RESPONSE, frame.number, 0, b"", status, frame.session)})
    requests = greeted(board)
    with pytest.raises(LinkError, match=f"^{answer}$"):
        requests.request(operation, 0, READ)


@REQUEST_GIVEN_UP
def test_log_that_does_not_come_is_given_up() -> None:
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    board.reached = 500

    def ask() -> bool:
        requests.listen(0.5)
        return requests.credit() == 0

    with pytest.raises(LinkError, match=r"^the board at desk has 500 bytes of log, of which none has come within 20 s: check the"):
        list(iter(ask, True))
    assert 20 <= board.now <= 22


def test_a_request_that_was_cut_off_is_the_same_when_it_is_completed() -> None:
    board = Board()
    requests = greeted(board)
    requests.complete()  # nothing to do
    assert len(board.asked) == 1
    board.spoil = lambda data: b""
    with pytest.raises(LinkError):
        requests.request(Operation.WRITE, 0, READ)
    lost, times = board.asked[-1], len(board.asked)
    board.spoil = lambda data: data
    requests.complete()
    assert board.asked[times:] == [lost]
    requests.complete()
    assert len(board.asked) == times + 1
    requests.request(Operation.READ, 0, READ)
    assert board.asked[-1].number == (lost.number + 1) % 256


def test_a_link_made_again_is_asked_at_once() -> None:
    board = Board()
    requests = greeted(board)
    requests.request(Operation.READ, 0, READ)
    asked, began = len(board.asked), board.now

    def lose(data: bytes) -> bytes:
        board.reconnections, board.spoil = 1, lambda data: data
        return b""

    board.spoil, receive = lose, board.receive
    board.receive = lambda seconds: receive(min(STEP, seconds))
    requests.request(Operation.READ, 0, READ)
    assert len(board.asked) == asked + 2
    assert board.now - began < 0.01


def test_credits_are_due_by_the_quarter() -> None:
    """And after a gap; before a log is begun, never."""
    board = Board()
    requests = greeted(board)
    assert not requests.credit_due
    requests.begin_log(0)
    assert requests.credit_due
    requests.credit()
    granted = int(board.asked[-1].words[0])
    assert 64 <= granted <= LOG_BYTES
    assert board.asked[-1].words[1] == REWIND
    log, board.reached = bytes(range(256)) * 8, granted // 4
    for number in range(granted // 4):
        assert not requests.credit_due
        board.waiting = encode(Operation.LOG, 0, number, log[number:number + 1])
        assert requests.listen(1)
    assert requests.credit_due
    requests.credit()
    assert not requests.credit_due
    assert requests.take_log(granted // 4 + 1) is None
    assert requests.take_log(granted // 4) == log[:granted // 4]
    assert requests.take_log(1) is None
    requests.credit()
    assert (board.asked[-1].value, board.asked[-1].words[1]) == (granted // 4, 0)
    board.waiting = encode(Operation.LOG, 0, granted, b"beyond")
    assert not requests.listen(1)
    assert requests.credit_due
    requests.credit()
    assert board.asked[-1].words[1] == REWIND


def test_log_that_is_lost_is_asked_for_again() -> None:
    """In however short pieces it is waited for; and not before a frame could have come."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    board.reached = 100
    requests.credit()
    began = board.now
    while not requests.credit_due:
        assert not requests.listen(0.001)
        assert board.now < began + 1
    assert board.now - began >= 0.9 * requests.limits.least
    requests.credit()
    assert board.asked[-1].words[1] == REWIND
    board.waiting = encode(Operation.LOG, 0, 0, bytes(100))
    assert requests.listen(1)
    assert requests.credit() == 0
    assert board.asked[-1].words[1] == 0
    board.now += 10
    assert not requests.listen(1)  # none is due
    assert not requests.credit_due


def test_rewinds_that_bring_no_log_come_at_ever_longer_intervals() -> None:
    """From the same position; the log after the last one may still be on its way."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    board.reached = 100
    requests.credit()
    times = list[float]()
    while len(times) < 8:
        while not requests.credit_due:
            requests.listen(0.001)
        began = board.now
        requests.credit()
        assert board.asked[-1].words[1] == REWIND
        times.append(board.now - began)
    waits = np.array(times) - times[0]  # the first one is not after another
    assert (waits[1:] >= np.minimum(FIRST_REST * 2.0 ** np.arange(7), LONGEST_REST) - STEP).all()
    assert waits[-1] <= LONGEST_REST + STEP


def test_an_answer_that_came_behind_log_is_taken_before_it_is_asked_for_again() -> None:
    """As after a pause of this process, which took longer than the answer may."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    exchange, pieces = requests.post(Operation.READ, 0, READ), [encode(Operation.LOG, 0, 0, bytes(8)), board.waiting]
    asked, board.waiting = len(board.asked), b""
    board.now += 5

    def receive(seconds: float) -> bytes:
        board.now += seconds
        return pieces.pop(0) if pieces else b""

    board.receive = receive
    requests.answer(exchange)
    assert (len(board.asked), requests.repeated) == (asked, 0)


def test_log_is_awaited_since_it_was_announced() -> None:
    """However long there was none before, as while a problem was loaded."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    assert requests.credit() == 0
    board.now += 2 * requests.limits.progress
    board.reached = 8
    assert requests.credit() == 8


def test_log_beyond_a_limit_that_was_taken_back_is_no_credit_for_ever() -> None:
    """It was under way when fewer bytes were granted, because the link had lost some."""
    board = Board()
    requests = greeted(board)
    requests.begin_log(0)
    requests.credit()
    lost = iter([b""])
    board.spoil = lambda data: next(lost, data)
    requests.request(Operation.READ, 0, READ)
    board.reached = 2 * LOG_CHUNK
    board.waiting = encode(Operation.LOG, 0, 500, bytes(8))
    requests.listen(0.1)
    requests.credit()
    limit, flags = board.asked[-1].words
    assert limit < LOG_CHUNK
    assert flags == REWIND
    board.waiting = encode(Operation.LOG, 0, 0, bytes(LOG_CHUNK))
    assert requests.listen(0.1)
    assert requests.credit_due
    requests.credit()
    assert LOG_CHUNK < board.asked[-1].words[0] <= LOG_CHUNK + LOG_BYTES
    board.waiting = encode(Operation.LOG, 0, LOG_CHUNK, bytes(LOG_CHUNK))
    assert requests.listen(0.1)
    assert requests.credit_due


@REQUEST_GIVEN_UP
def test_silence_is_given_up_whatever_its_end_is_rounded_to() -> None:
    """On a clock that stands still unless somebody waits."""
    for place in range(200):
        board = Board()
        requests = greeted(board)
        board.now, board.spoil = place / 7, lambda data: b""
        with pytest.raises(LinkError, match="has not answered within 10 s"):
            requests.request(Operation.READ, 0, READ)
        assert len(board.asked) < 60


PACED = pytest.mark.claim("link", "answers are waited for as long as they took, in the mean and with four deviations, and longer "
                          "after each repetition")


@PACED
def test_waits_are_of_the_mean_and_the_deviation() -> None:
    """As RFC 6298 has them of a whole way, of the time that a byte takes: a shift of 1/8 and 1/4, from half a mean on."""
    requests, limits, rng = Requests(Board(), Limits(least=0.01, most=3.0)), Limits(least=0.01, most=3.0), np.random.default_rng(1)
    assert requests.wait(10) == requests.wait(10_000) == limits.first
    mean = deviation = None
    for _ in range(200):
        size = int(rng.integers(10, 5000))
        seconds = float(rng.uniform(1e-6, 3e-5)) * (size + 200)
        requests.measure(seconds, size, alone=True)
        taken = seconds / (size + 200)
        if mean is None or deviation is None:
            mean, deviation = taken, taken / 2
        else:
            deviation = 3 / 4 * deviation + abs(taken - mean) / 4
            mean = 7 / 8 * mean + taken / 8
        asked = int(rng.integers(1, 40_000))
        assert requests.wait(asked) == pytest.approx(min(3.0, 0.01 + (asked + 200) * (mean + 4 * deviation)))
    assert requests.wait(1 << 30) == 3.0


@PACED
def test_each_repetition_waits_longer() -> None:
    """Half as long again up to four times, from what it is at first; and as at first once there is an answer."""
    board = Board()
    requests = greeted(board)
    requests.limits = Limits(most=1000.0, silence=30.0)
    first, times = requests.wait(0), list[float]()
    board.changed["read"] = lambda frame: times.append(board.now) or b""
    with pytest.raises(LinkError, match="has not answered"):
        requests.request(Operation.READ, 0, READ)
    waits = np.diff(times) / np.diff(times)[0]
    assert waits == pytest.approx([min(4.0, 1.5 ** n) for n in range(len(waits))], rel=0.02)
    assert len(waits) > 5
    assert requests.wait(0) == pytest.approx(4 * first)
    del board.changed["read"]
    requests.measure(first / 100, 1000, alone=True)
    assert requests.wait(0) < 4 * first


def test_damage_is_no_reason_to_wait_longer() -> None:
    """The board is there, and answers as fast as before: what was damaged may have been the answer."""
    board = Board()
    requests = greeted(board)
    requests.request(Operation.READ, 0, READ)
    first, spoilt, began = requests.wait(0), 0, board.now

    def spoil(data: bytes) -> bytes:
        nonlocal spoilt
        spoilt += 1
        return flipped(data) if spoilt < 4 else data

    board.spoil = spoil
    requests.request(Operation.READ, 0, READ)
    assert (spoilt, requests.repeated) == (4, 3)
    assert requests.wait(0) <= 1.01 * first
    assert board.now - began < 3 * first / 2


def test_a_link_without_errors_is_granted_its_whole_ring() -> None:
    """A limit of some bytes would cost a round trip each time."""
    for reached in (0, 4 * LOG_CHUNK):
        board = Board()
        board.reached = reached
        requests = greeted(board)
        requests.begin_log(reached)
        requests.credit()
        assert board.asked[-1].words[0] == reached + LOG_BYTES


@pytest.mark.parametrize("begins", [0, (1 << 30) - 20, (1 << 31) - 20, (1 << 32) - 20])
def test_datagrams_that_are_early_are_taken_in_their_turn(begins: int) -> None:
    """Wherever the log stands, and though positions begin anew after 2^32."""
    board = Board()
    requests = greeted(board)
    board.reached = (begins + 64) % POSITIONS
    requests.begin_log(begins)
    requests.credit()
    board.datagrams = True  # frames are the stream's, but may come in any order from here on
    log = bytes(range(64))
    board.waiting = b"".join(encode(Operation.LOG, 0, (begins + begin) % POSITIONS, log[begin:end])
                             for begin, end in ((40, 64), (12, 40), (0, 12)))
    assert requests.listen(1)
    assert requests.take_log(64) == log


def test_a_request_is_sent_again_when_a_later_one_is_answered() -> None:
    """On a stream its own answer was lost then: the first that waits is asked for again, at once, and once."""
    board = Board()
    requests = greeted(board)
    requests.request(Operation.READ, 0, READ)
    began, asked, lost = board.now, len(board.asked), list[Frame]()

    def answer(frame: Frame) -> bytes:
        lost.append(frame)
        return b"" if len(lost) == 1 else encode(frame.operation | RESPONSE, frame.number, 0, b"", session=frame.session)

    board.changed["read"] = answer
    exchanges = [requests.post(Operation.READ, 0, READ) for _ in range(3)]
    requests.answer(exchanges[-1])
    assert [frame.number for frame in board.asked[asked:]] == [lost[0].number + n for n in (0, 1, 2, 0)]
    assert (requests.repeated, board.now - began < 4 * STEP) == (1, True)


def test_so_many_early_datagrams_are_a_loss() -> None:
    board = Board()
    requests = greeted(board)
    board.reached = 64
    requests.begin_log(0)
    requests.credit()
    board.datagrams = True
    for number in range(EARLY):
        assert not requests.credit_due
        board.waiting = encode(Operation.LOG, 0, 8 + 8 * number, bytes(8))
        requests.listen(STEP)
    assert requests.credit_due


def test_the_longest_request_is_told() -> None:
    """Of those that were answered, and of waits in which the board was heard."""
    board, took = Board(), list[float]()
    requests = greeted(board)
    for seconds in (0.01, 0.5, 0.02):
        def late(frame: Frame, seconds: float = seconds) -> bytes:
            board.now += seconds
            return encode(frame.operation | RESPONSE, frame.number, 0, b"", session=frame.session)

        began, board.changed["read"] = board.clock(), late
        requests.request(Operation.READ, 0, READ)
        took.append(board.clock() - began)
        assert requests.longest == pytest.approx(max(took), abs=2 * STEP)
    for seconds in (0.3, 2.0, 1.0):
        requests.heard(board.clock(), seconds)
        took.append(seconds)
        assert requests.longest == pytest.approx(max(took), abs=2 * STEP)
