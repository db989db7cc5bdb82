"""What a board is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mrfhw.cost.links import BoardLink, LogMemory
from mrfhw.fpga.errors import BuildError
from mrfhw.gateware.board.sdram import DATA_BITS, SdramTiming
from mrfhw.generation.ethernet_core import Ethernet
from mrfhw.machine.link_protocol import BAUD, LOG_BYTES, MEMORY_WORDS, OUTSTANDING, WORDS

__all__ = ["BURST_BEATS", "FLOW_OPTION", "Board"]

BURST_BEATS = 64  # of the log on its way to and from an SDRAM
FLOW_OPTION = "script_after_synth"  # of a platform with open tools: the flow's own, which asks for statistics there


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board, its FPGA and the machine that it is built with unless told otherwise.

    name: of the board.
    title: the same in words.
    family: of the FPGA, "ecp5", "ice40", "gowin", "cyclone5", "arria10" or "xilinx" (7 series).
    device: the FPGA's name.
    platform: module and class of its Amaranth platform, or what makes one.
    oscillator_hz: of the board.
    clock_hz: of the machine.
    baud: of the serial port, whose pins are in docs/boards.md.
    preset: its machine (`mrfhw.machine.config.PRESETS`).
    link_hz: of the link and the SDRAM at most, where they have a clock of their own, made by the same PLL; None: they have the
        machine's.
    words: of the link's memory for requests (`mrfhw.gateware.link.bridge.Bridge`).
    response_words: of that for responses; None: as many.
    outstanding: requests that it has at once where its memories hold so many and it has short elements (`at_once`); a power of two.
    log_bytes: of the ring of log that waits for the link.
    short_elements: a serial link packs data of fewer bits than a word's (docs/link.md); without it the
        iCEBreaker has 225 cells more.
    sdram: it has one that holds the log.
    seed: of place and route, that is tried first.
    open_flow: a bitstream can be made with open tools; else the vendor's project is written.
    ethernet: the link is gigabit Ethernet, through the platform's "eth_rgmii", and baud is not used.
    usb: the link is full-speed USB, through the platform's "usb", and baud is not used; its own clock is that of USB's samples.
    mapping: of Yosys' ways to map logic to tables ("flow", "flow2", "flow3": abc9 tries several and keeps the least) the one that a
        machine gets whose lanes do not share a site: 3 % fewer tables than the usual one, with which those of several lanes are
        routed.
    options: of the tools, by what Amaranth's platform calls them.
    """

    name: str
    title: str
    family: str
    device: str
    platform: tuple[str, str] | Callable[[], Any]
    oscillator_hz: int
    clock_hz: int
    baud: int = BAUD
    preset: str = "default"
    link_hz: int | None = None
    words: int = WORDS
    response_words: int | None = None
    outstanding: int = OUTSTANDING
    log_bytes: int = LOG_BYTES
    short_elements: bool = True
    sdram: bool = False
    seed: int = 1
    open_flow: bool = True
    ethernet: Ethernet | None = None
    usb: bool = False
    mapping: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def serial(self) -> bool:
        """The link is a UART's, which has a baud rate."""
        return self.ethernet is None and not self.usb

    @property
    def at_once(self) -> int:
        """Requests that it has at once: `outstanding`, or one where a memory is of less than MEMORY_WORDS."""
        least = min(self.words, self.words if self.response_words is None else self.response_words)
        return self.outstanding if self.short_elements and least >= MEMORY_WORDS[0] else 1

    def link(self, baud: int | None = None, memory_hz: float | None = None) -> BoardLink:
        """What carries the log.

        baud: of a serial port; None: the board's.
        memory_hz: clock of the SDRAM, whose rate goes with it; None leaves it out.
        """
        timing, memory = SdramTiming(), None
        if self.sdram and memory_hz is not None:
            memory = LogMemory(1 << timing.address_bits, timing.beats_per_cycle(round(memory_hz)) * memory_hz * DATA_BITS / 8,
                               BURST_BEATS, DATA_BITS)
        kind = "ethernet" if self.ethernet else "usb" if self.usb else "serial"
        return BoardLink(kind, self.baud if baud is None else baud, self.words, self.response_words, self.log_bytes, memory,
                         self.at_once)

    def script(self, lanes: int) -> str:
        """What Yosys does first, of a machine of so many lanes a site."""
        mapping = f"scratchpad -copy abc9.script.{self.mapping} abc9.script\n" if self.mapping and lanes == 1 else ""
        return mapping + self.options.get("script_after_read", "")

    def make_platform(self) -> Any:
        """A new platform of Amaranth's. Raises BuildError where amaranth-boards is missing."""
        if callable(self.platform):
            return self.platform()
        module, name = self.platform
        try:
            made: Callable[[], Any] = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name != "amaranth_boards":
                raise
            raise BuildError("boards need amaranth-boards, which is not installed: pip install 'mrfhw[fpga]'") from None
        return made()
