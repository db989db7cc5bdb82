"""The compiled board with Ethernet: a machine, its link and the Ethernet core, driven at the wires to the PHY."""

from __future__ import annotations

import ctypes
import select
import socket
import time
from collections import deque

import numpy as np

from mrfhw.field.problem import ProblemError
from mrfhw.generation.ethernet_core import Ethernet
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import ETHERNET_HZ, ETHERNET_LOG_BYTES, OUTSTANDING
from mrfhw.simulation.compiled import LINK_HZ, compile_ethernet_board
from mrfhw.simulation.idle import Idle
from mrfhw.simulation.library import Compiled, Signatures
from mrfhw.simulation.packets import Datagram, Neighbour

__all__ = ["CompiledEthernetBoard"]

STARTING_CYCLES = 1000  # in which the PHY is reset
ASKING_CYCLES = 5000  # in which a board answers a question for its address
_PACKET = 1600  # bytes at most
_BYTES = np.ctypeslib.ndpointer(np.uint8, flags="C_CONTIGUOUS")
_SIGNATURES: Signatures = {
    "ethernet_new": (ctypes.c_void_p, [ctypes.c_uint32, ctypes.c_uint32]),
    "ethernet_delete": (None, [ctypes.c_void_p]),
    "ethernet_send": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]),
    "ethernet_run": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_uint64]),
    "ethernet_take": (ctypes.c_uint64, [ctypes.c_void_p, _BYTES, ctypes.c_uint64]),
    "ethernet_cycles": (ctypes.c_uint64, [ctypes.c_void_p]),
}


class CompiledEthernetBoard(Compiled):
    """A `mrfhw.gateware.board.ethernet_top.EthernetTop` in this process, and the host at the other end of its cable.

    Use as a context manager. log_bytes, words (of requests and responses), outstanding: as there. quick: see
    `mrfhw.simulation.compiled.compile_chip`.
    two_clocks: of the machine and of the link. Raises ProblemError where the board does not answer when its address is asked for.
    """

    def __init__(self, config: Config, log_bytes: int = ETHERNET_LOG_BYTES, quick: bool = False, two_clocks: bool = False,
                 ethernet: Ethernet | None = None, words: tuple[int, int] | None = None, outstanding: int = OUTSTANDING):
        ethernet = ethernet or Ethernet()
        self.config, self.ethernet = config, ethernet
        library = compile_ethernet_board(config, ethernet, log_bytes, quick, two_clocks, words, outstanding)
        super().__init__(library, "ethernet", _SIGNATURES, LINK_HZ, ETHERNET_HZ)
        self._packet = np.zeros(_PACKET, np.uint8)
        self._come = deque[Datagram]()
        self._idle = Idle()
        self._ways: dict[int, tuple[str, int]] = {}  # addresses of programs, by port
        self.neighbour = Neighbour(ethernet.ip)
        self._call("run", STARTING_CYCLES)
        self._put(self.neighbour.question())
        while self.neighbour.board_mac is None:
            self._listen(ASKING_CYCLES)
            if self.cycles > ASKING_CYCLES:
                raise ProblemError(f"the compiled board has not answered for {ethernet.ip}: delete the cache and try again")

    def _put(self, packet: bytes) -> None:
        self._call("send", packet, len(packet))

    def _listen(self, cycles: int) -> int:
        """Run at most `cycles`, until a packet has come; returns the cycles that ran."""
        done = int(self._call("run", cycles))
        while count := self._call("take", self._packet, _PACKET):
            answer, found = self.neighbour.take(self._packet[:count].tobytes())
            if answer:
                self._put(answer)
            if found:
                self._come.append(found)
        return done

    def send(self, data: bytes, port: int) -> None:
        """A datagram to the board's UDP port, from this one of the host's."""
        self._put(self.neighbour.datagram(port, data))

    def receive(self, cycles: int) -> Datagram | None:
        """The next datagram from the board, after at most `cycles`; None where none comes."""
        left = cycles
        while not self._come and left > 0:
            left -= self._listen(left)
        return self._come.popleft() if self._come else None

    def serve(self, server: socket.socket, seconds: float) -> None:
        """Connect the board to a UDP socket for a time. Each program's port is its own on the board's network too."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pause = self._idle.pause()
            while select.select([server], [], [], pause)[0]:
                data, address = server.recvfrom(_PACKET)
                self._ways[address[1]] = address
                self.send(data, address[1])
                self._idle.moved()
                pause = 0.0
            for _ in range(20):
                found = self.receive(500)
                if found and found.port in self._ways:
                    server.sendto(found.data, self._ways[found.port])
                    self._idle.moved()

    @property
    def cycles(self) -> int:
        """Of the link's clock."""
        return int(self._call("cycles"))
