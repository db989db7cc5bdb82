"""Window bridge against sim.support.link_reference: right and wrong frames, many at once, of any length, number and place."""

from __future__ import annotations

from typing import Any

import cocotb

from mrfhw.machine.link_protocol import FIRST_WINDOWED, FLAG, LINK_VERSION, NUMBERS, Frame, Operation, encode
from sim.benches.bench_bridge_fuzz import Fuzzer, rounds_of
from sim.support.link_reference import BoardReference, WindowReference
from sim.support.runner import bench_parameters


class WindowFuzzer(Fuzzer):
    """Rounds of several requests, some of hosts of earlier versions."""

    def _reference(self) -> BoardReference:
        device, p = self.device, bench_parameters()
        self.outstanding, self.ring = p["outstanding"], p["words"]
        self.window = WindowReference(device.words, device.log_bytes, device.line_bits // 8, 12, self._write, self._read,
                                      self.outstanding, self.ring)
        return self.window

    def _hello(self) -> bytes:
        rng = self.rng
        version = int(rng.choice((0, FIRST_WINDOWED - 1, LINK_VERSION, LINK_VERSION, LINK_VERSION)))
        number = int(rng.integers(NUMBERS)) if rng.random() < 0.7 else NUMBERS - int(rng.integers(1, 4))
        return encode(Operation.HELLO, number & 0xFF, int(rng.integers(1 << 32)), b"", version, number >> 8)

    def _request(self) -> bytes:
        rng, window, kind = self.rng, self.window, self.rng.random()
        operation, value, data = self._content()
        if operation == Operation.HELLO:
            return self._hello()
        last, most = window.last or 0, self.outstanding
        following = last & 0xFF00 | (last + 1) & 0xFF if window._old else last + 1
        number = (following if kind < 0.8 else last - int(rng.integers(-3, most + 2)) if kind < 0.97
                  else int(rng.integers(NUMBERS))) % NUMBERS
        acknowledged = last - int(rng.integers(len(window.kept) + 1)) if rng.random() < 0.95 else int(rng.integers(256))
        return encode(operation, number & 0xFF, value, data, acknowledged & 0xFF, number >> 8)

    async def round(self) -> None:
        """Requests at once, up to one after whose carrying out the order of log and accesses is not known."""
        device, reference, rng = self.device, self.reference, self.rng
        if rng.random() < 0.3:
            device.lines_left += int(rng.integers(1, 2 * device.log_bytes // (device.line_bits // 8) + 2))
            await self._settle([], "log alone")
        device.behind = reference.behind = int(rng.integers(1 << 32))
        sent, wanted, room, frames = bytearray(), list[Frame](), self.ring, 0
        while room > device.words + 2 and frames < self.outstanding and not reference.behind_err:
            piece = self._piece() + bytes((FLAG,))
            if len(piece) > 8 * device.words and sent:
                break
            answers = reference.receive(piece)
            sent += piece
            wanted += answers
            room, frames = room - len(piece) // 4 - 1, frames + max(1, len(answers))
            if any(answer.operation & 0x7F == Operation.CREDIT for answer in answers) or rng.random() < 0.15:
                break
        self.device.to_board += sent
        await self._settle(wanted, f"{sent.hex()}: {wanted}")


@cocotb.test()
async def as_the_reference(dut: Any) -> None:
    await rounds_of(WindowFuzzer(dut, bench_parameters()["seed"]))
