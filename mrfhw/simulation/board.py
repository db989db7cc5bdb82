"""The compiled board: a machine with its link and UART, driven at its pins."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import numpy as np

from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import LOG_BYTES, OUTSTANDING, WORDS
from mrfhw.simulation.compiled import compile_board
from mrfhw.simulation.idle import Idle
from mrfhw.simulation.library import Compiled, Signatures

__all__ = ["CompiledBoard"]

DIVISOR = 4  # cycles a bit: as fast as the UART goes

_BYTES = np.ctypeslib.ndpointer(np.uint8, flags="C_CONTIGUOUS")
_SIGNATURES: Signatures = {
    "board_new": (ctypes.c_void_p, [ctypes.c_uint32]),
    "board_delete": (None, [ctypes.c_void_p]),
    "board_send": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]),
    "board_run": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]),
    "board_take": (ctypes.c_uint64, [ctypes.c_void_p, _BYTES, ctypes.c_uint64]),
    "board_serve": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
    "board_cycles": (ctypes.c_uint64, [ctypes.c_void_p]),
}


class CompiledBoard(Compiled):
    """A `mrfhw.gateware.board.board_top.BoardTop` in this process. Use as a context manager.

    divisor, words, log_bytes, outstanding: as there. quick: see `mrfhw.simulation.compiled.compile_chip`. host_divisor: of the
    UART at the other end of the wires, where it is not the board's. memory_bytes, two_clocks: see
    `mrfhw.simulation.compiled.compile_board`.
    """

    def __init__(self, config: Config, divisor: int = DIVISOR, words: int = WORDS, log_bytes: int = LOG_BYTES, quick: bool = False,
                 host_divisor: int | None = None, memory_bytes: int = 0, two_clocks: bool = False, outstanding: int = OUTSTANDING):
        self.config, self.divisor = config, divisor
        library = compile_board(config, divisor, words, log_bytes, quick, memory_bytes, two_clocks, outstanding)
        self._open(library, host_divisor or divisor)

    def _open(self, library: Path, host_divisor: int) -> None:
        """Open a board from a library that `compile_board` has made."""
        super().__init__(library, "board", _SIGNATURES, host_divisor)
        self._idle = Idle()
        self._taken = np.zeros(1 << 16, np.uint8)

    def send(self, data: bytes) -> None:
        """Queue bytes for the board's rx."""
        self._call("send", data, len(data))

    def take(self) -> bytes:
        """The bytes that the board's tx has sent since the last call."""
        count = self._call("take", self._taken, len(self._taken))
        return self._taken[:count].tobytes()

    def run(self, cycles: int, beyond: int) -> int:
        """Run at most `cycles`, and at most `beyond` cycles after the first byte that arrives. Returns the cycles that ran."""
        return int(self._call("run", cycles, beyond))

    def serve(self, descriptor: int, seconds: float) -> bool:
        """Connect the pins to a non-blocking descriptor (-1: to nothing) for a time; False where its other end is gone."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            moved = self._call("serve", descriptor, round(1000 * self._idle.pause()))
            if moved < 0:
                return False
            if moved:
                self._idle.moved()
        return True

    @property
    def cycles(self) -> int:
        return int(self._call("cycles"))
