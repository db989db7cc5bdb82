"""Verilog of a configured machine, with a link or ports around it or without: whole files, with the circuit's digest."""

from __future__ import annotations

from amaranth.lib import wiring

from mrfhw import __version__
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.mesh.mesh import TILE
from mrfhw.generation.identity import circuit, circuit_digest
from mrfhw.generation.modules import modules_text
from mrfhw.generation.readable import renamed_modules
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import LOG_BYTES, OUTSTANDING, WORDS, ethernet_words
from mrfhw.machine.ports import AXI_TOP, TOP
from mrfhw.machine.registers import DIGITS

__all__ = [
    "AXI_TOP", "LINT_EXPLAINED", "TILE", "TOP", "axi_text", "board_text", "ethernet_board_text", "file_text", "usb_board_text",
    "verilog_text", "with_prefix",
]

# Warnings of Verilator's lint that a file turns off for itself (docs/machine.md). Later versions know LITENDIAN as ASCRANGE, too.
LINT_EXPLAINED = ("WIDTH", "CASEINCOMPLETE", "CMPCONST", "LITENDIAN")


def verilog_text(config: Config) -> str:
    """One file with the top module `TOP` and everything below it; identical tiles are one module."""
    text, digest = circuit(config)
    for i in range(0, DIGITS, 8):
        found, placed = (f"32'd{int(words[i:i + 8], 16)};" for words in (PLACEHOLDER, digest))
        if text.count(found) != 1:
            raise AssertionError(f"the circuit has {text.count(found)} places for word {i // 8} of its digest; it must have one")
        text = text.replace(found, placed)
    return _head(config, digest) + text + _TAIL


def board_text(config: Config, divisor: int, words: int = WORDS, log_bytes: int = LOG_BYTES, two_clocks: bool = False,
               outstanding: int = OUTSTANDING) -> str:
    """The same with the link and a UART around it: `TOP` is a `mrfhw.gateware.board.board_top.BoardTop`."""
    from mrfhw.gateware.board.board_top import BoardTop

    leaves = Leaves(shared=True)
    top = BoardTop(config, divisor, words, log_bytes, leaves, digest=circuit_digest(config), two_clocks=two_clocks,
                   outstanding=outstanding)
    return file_text(config, top, leaves)


def ethernet_board_text(config: Config, log_bytes: int, two_clocks: bool = False,
                        words: tuple[int, int] | None = None, outstanding: int = OUTSTANDING) -> str:
    """The same as an `mrfhw.gateware.board.ethernet_top.EthernetTop`, without the Ethernet core."""
    from mrfhw.gateware.board.ethernet_top import EthernetTop

    leaves = Leaves(shared=True)
    requests, responses = words or ethernet_words(outstanding)
    top = EthernetTop(config, requests, log_bytes, leaves, circuit_digest(config), two_clocks, responses, outstanding)
    return file_text(config, top, leaves)


def usb_board_text(config: Config, words: int = WORDS, log_bytes: int = LOG_BYTES, two_clocks: bool = False) -> str:
    """The same as an `mrfhw.gateware.board.usb_top.UsbTop`."""
    from mrfhw.gateware.board.usb_top import UsbTop

    leaves = Leaves(shared=True)
    top = UsbTop(config, words, log_bytes, leaves, digest=circuit_digest(config), two_clocks=two_clocks)
    return file_text(config, top, leaves)


def axi_text(config: Config, data_bits: int = 64, memory_address_bits: int = 32) -> str:
    """The same for a system on chip: `AXI_TOP` is a `mrfhw.gateware.soc.axi_top.AxiTop`. Raises ValueError as that does."""
    from mrfhw.gateware.soc.axi_top import AxiTop

    leaves = Leaves(shared=True)
    top = AxiTop(config, data_bits, memory_address_bits, leaves, circuit_digest(config))
    return file_text(config, top, leaves, AXI_TOP)


def file_text(config: Config, top: wiring.Component, leaves: Leaves, name: str = TOP) -> str:
    """One file with `top`, around a machine with its digest, as module `name` and everything that it takes from `leaves`."""
    return _head(config, circuit_digest(config)) + modules_text(top, leaves, name) + _TAIL


def with_prefix(text: str, top: str, prefix: str) -> str:
    """A machine's file with `prefix` as the name of its module `top` and before every other module's.

    Raises ValueError where two modules would have the same name.
    """
    common = TOP.partition("_")[0] + "_"

    def other(name: str) -> str:
        if name == top or name.startswith(f"{top}_"):
            return prefix + name.removeprefix(top)
        return f"{prefix}_{name.removeprefix(common)}"

    return renamed_modules(text, other)


def _head(config: Config, digest: str) -> str:
    config = Derived.of(config)
    return (f"// mrfhw {__version__}: {config.size_in_words}, sampler {config.sampler.name}\n"
            f"// circuit {digest}\n// SPDX-License-Identifier: BSD-2-Clause\n{_lint('off')}`default_nettype none\n\n")


def _lint(what: str) -> str:
    return "".join(f"/* verilator lint_{what} {name} */\n" for name in LINT_EXPLAINED)


_TAIL = f"\n`default_nettype wire\n{_lint('on')}"
