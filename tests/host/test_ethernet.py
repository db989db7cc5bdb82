"""A board with Ethernet: its link in datagrams through the wires to its PHY, to the host's own driver.

The board is the generated machine with its bridge and the Ethernet core, compiled. The long run:
pytest tests/host/test_ethernet.py --faults 2000
"""

from __future__ import annotations

import itertools
import socket
from collections import Counter

import numpy as np
import pytest

from mrfhw.cost.links import BoardLink
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.gateware.link.bridge import LOG_WAIT
from mrfhw.generation.ethernet_core import Ethernet, ethernet_core
from mrfhw.host.links import Address, LinkError, SimEthernetLink, SimLink, UdpLink
from mrfhw.host.remote import RemoteBackend, connect
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import DATAGRAM_LOG_CHUNK, ETHERNET_LOG_BYTES, UDP_PORT, Operation
from mrfhw.machine.registers import CONTROL_BITS
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import place
from mrfhw.simulation.board import DIVISOR
from mrfhw.simulation.compiled import LINK_HZ
from sim.support.faulty_link import DATAGRAM_KINDS, FaultyDatagrams
from support.boards import TINY, TINY_OPTIONS, assert_equals_model, assert_runs_equal_model, board, tiny_problem

ARP_PING_UDP = pytest.mark.claim("EthernetTop",
    "ARP, ping and UDP as another's PHY and packets expect them; the unmodified driver over UDP gives the model's labels and log")

LANES = Config(mesh_rows=1, mesh_cols=2, spus=1, lanes=4, tile_rows=8, tile_cols=8, lmem_banks=4, line_bits=64, counter_bits=2,
               temperature_table=4, sampler=Race(uniform_bits=8))


@pytest.mark.claim(
    "LinkedMachine", "the same machine behind two wires and behind a PHY's gives the model's answer (more cases: make long)")
@ARP_PING_UDP
@pytest.mark.parametrize(("config", "two_clocks", "log_bytes"), [
    (TINY, True, 64), *(pytest.param(*case, marks=pytest.mark.long) for case in (
        (TINY, False, ETHERNET_LOG_BYTES), (LANES, True, 4096)))])
def test_runs_through_the_wires(config: Config, two_clocks: bool, log_bytes: int) -> None:
    """Problem after problem, with a log that stalls the machine and one that does not."""
    with RemoteBackend(config, lambda: SimEthernetLink(config, quick=True, log_bytes=log_bytes, two_clocks=two_clocks)) as session:
        assert_runs_equal_model(session, config, 60, 50)


@pytest.mark.claim("Bridge",
    "late copies of requests and hellos do nothing; each access is carried out once under lost, doubled, late and damaged "
    "datagrams")
@pytest.mark.claim("WindowBridge",
    "many requests at once are each carried out once and in order, numbers wrapping, frames lost, repeated and damaged; a host "
    "of an earlier version is served one at a time")
@pytest.mark.parametrize("outstanding", [1, 16])
def test_lost_doubled_late_and_damaged(request: pytest.FixtureRequest, outstanding: int) -> None:
    """Every result is the model's, whatever becomes of datagrams on their way."""
    runs, faults = request.config.getoption("--faults") // 16, Counter[str]()
    made = itertools.count()
    wire = SimEthernetLink(TINY, log_bytes=512, rate=400_000, outstanding=outstanding)  # fewer cycles to wait for what is lost

    def faulty() -> FaultyDatagrams:
        link = FaultyDatagrams(wire, next(made), rate)
        link.faults = faults
        return link

    for number in range(runs):
        rate = (0.02, 0.1, 0.3)[number % 3]
        problem, run = tiny_problem(number)
        session = RemoteBackend(TINY, faulty)
        assert_equals_model(session.solve(problem, run), TINY, problem, run)
    wire.close()
    print(f"{runs} runs, all the model's; faults {dict(faults)}")
    assert set(faults) == set(DATAGRAM_KINDS)


@pytest.mark.slow
@ARP_PING_UDP
def test_programs_at_a_udp_port() -> None:
    """One after the other; and two of which the second takes the board away."""
    with board("udp://127.0.0.1:0", *TINY_OPTIONS) as found:
        for seed in range(2):
            problem, run = tiny_problem(seed, 30)
            with connect(found.address, TINY) as session:
                assert_equals_model(session.solve(problem, run), TINY, problem, run)
        problem, run = tiny_problem(9, 20)
        with connect(f"{found.address}?patience=2", TINY) as first:
            def take_away(sweeps: int) -> None:
                with connect(found.address, TINY):
                    pass

            with pytest.raises(LinkError, match=r"^the board at udp://127\.0\.0\.1:\d+ has not answered within 1 s: see that it is "
                                                r"on and plugged in, and that no other program has taken it over, then solve "
                                                r"again$"):
                first.solve(tiny_problem(3)[0], Run(sweeps=1 << 16), progress=take_away)


@pytest.mark.slow
def test_nothing_at_a_udp_port() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"udp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(LinkError, match=rf"^nothing came from {address} within 0.25 s: see that the board is on and that this "
                                            r"is its port, and check its address, and that no other program speaks to the board$"):
            connect(f"{address}?patience=1", TINY)
    with pytest.raises(LinkError, match=rf"^the link to {address} broke \(Connection refused\)"):
        connect(f"{address}?patience=1&reconnect=0", TINY)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["udp://", "udp://h:0", "udp://h:65536", "udp://h:x", "udp://h?baud=5", "udp://u@h:1", "udp://a..b:1"])
def test_wrong_addresses(text: str) -> None:
    with pytest.raises(LinkError, match=r"^the board's address is "):
        Address.of(text)


def test_the_port_may_be_left_out() -> None:
    assert Address.of("udp://192.168.1.50").port == UDP_PORT
    link = UdpLink("127.0.0.1")
    link.close()
    assert link.name == f"udp://127.0.0.1:{UDP_PORT}"


@pytest.mark.slow
@pytest.mark.parametrize(("fields", "message"), [
    ({"ip": "300.1.1.1"}, r"^ip is '300.1.1.1'; a board has an IPv4 address: give one such as 192.168.1.50$"),
    ({"ip": "224.0.0.1"}, r"^ip is 224.0.0.1; that is no single host's address: give one of your network that is free$"),
    ({"mac": 1 << 40}, r"^mac is 0x10000000000; a hardware address has 48 bits, of which bit 40 is 0: give such a one$"),
    ({"rx_delay": 4e-9}, r"^rx_delay is 4e-09; an ECP5 delays a pin by 0 to 3.1e-9 seconds: give as many$")])
def test_wrong_ends_of_an_ethernet(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Ethernet(**fields)


def test_a_clock_too_slow_for_the_core() -> None:
    with pytest.raises(ProblemError, match=r"^clock is 31 MHz; the Ethernet core takes 32 MHz or more: give a faster one$"):
        ethernet_core(31e6, Ethernet())


def test_the_core_is_the_same_text_each_time() -> None:
    assert ethernet_core(50e6, Ethernet()) == ethernet_core(50e6, Ethernet())
    assert ethernet_core(50e6, Ethernet()) != ethernet_core(50e6, Ethernet(ip="10.0.0.7"))


@pytest.mark.claim("DatagramTransmitter",
    "datagrams never pause once begun, say their length, and a full log takes its words and three cycles")
def test_a_full_log_fills_the_wire() -> None:
    """A ring of log that waited: as fast as the wires take it. Beside a UART of 3 Mbaud it is several hundred times as fast."""
    log_bytes = ETHERNET_LOG_BYTES
    link = SimEthernetLink(TINY, rate=LINK_HZ, log_bytes=log_bytes)
    problem, _ = tiny_problem(1)
    with RemoteBackend(TINY, lambda: link) as session:
        session.solve(problem, Run(sweeps=2, burn_in=0))
        requests = session.requests
        session.driver.load(place(TINY, problem, Run(sweeps=1 << 16, burn_in=0)))
        session.driver.set(control=1 << CONTROL_BITS["start"])
        while link.receive(0.01):
            pass  # lost, until the ring is full
        requests._gap = True
        requests.credit()
        assert requests.listen(0.01)
        began, first = link.clock(), requests.position
        while requests.outstanding and requests.listen(0.01):
            pass
        seconds, size = link.clock() - began, requests.position - first
        assert size == log_bytes - DATAGRAM_LOG_CHUNK
    rate, most = size / seconds, BoardLink("ethernet").bytes_per_s
    print(f"{rate / 1e6:.1f} MB/s of log, {rate / LINK_HZ:.2f} bytes a cycle; the wires take {most / 1e6:.1f}")
    assert 0.98 * most < rate < 1.02 * most


class Counting(SimEthernetLink):
    """logs: datagrams of log so far."""

    logs = 0

    def receive(self, seconds: float) -> bytes:
        data = super().receive(seconds)
        self.logs += data[:1] == bytes((Operation.LOG,))
        return data


@ARP_PING_UDP
def test_a_log_that_comes_slowly_is_sent_in_few_datagrams() -> None:
    """Beside a UART of 3 Mbaud: the log of a machine with which the wires keep up, from the run's start to the log's end."""
    rng = np.random.default_rng(1)
    problem = Problem(labels=2, singleton1=rng.integers(0, 16, (8, 16)), constants=rng.integers(0, 16, 2),
                      schedule=Schedule.constant(200.0))
    run, seconds, stalls = Run(sweeps=600, burn_in=0, seed=1), {}, {}
    wired = Counting(TINY, rate=LINK_HZ)
    links: dict[str, SimEthernetLink | SimLink] = {"ethernet": wired, "uart": SimLink(TINY, rate=DIVISOR * 3_000_000)}
    for name, link in links.items():
        with RemoteBackend(TINY, lambda link=link: link) as session:
            session.solve(problem, Run(sweeps=100, burn_in=0))  # frames grow with clean answers
            began, before = link.clock(), wired.logs
            result = session.solve(problem, run)
            if link is wired:  # each waits its time, but the last
                assert 0 < wired.logs - before <= result.cycles // LOG_WAIT + 1
            seconds[name], stalls[name] = link.clock() - began, result.stall_cycles
            assert_equals_model(result, TINY, problem, run)
    print(seconds)
    assert stalls["ethernet"] == 0 < stalls["uart"]
    assert seconds["uart"] > 10 * seconds["ethernet"]
