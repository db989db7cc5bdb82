"""What a user's own board must be, before anything is made of it: fields of their types, and a platform that agrees with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from amaranth.build import Platform
from amaranth.lib.io import SingleEndedPort
from amaranth.vendor import AlteraPlatform, GowinPlatform, LatticePlatform, SiliconBluePlatform, XilinxPlatform

from mrfhw.cost.devices import FAMILIES, device_of
from mrfhw.fpga.board import FLOW_OPTION, Board
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.vendors import QuartusProject
from mrfhw.generation.ethernet_core import Ethernet
from mrfhw.machine.config import CLOCK_HZ, PRESETS

__all__ = ["checked"]

_SHORT = 120  # characters
_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # of a folder
_OPEN = {"ecp5": "Trellis", "ice40": "IceStorm", "gowin": "Apicula"}  # by Amaranth's names
_QUARTUS = {"cyclone5": "Cyclone V", "arria10": "Arria 10"}  # by Quartus' names
_ONLY_ECP5 = ("link_hz", "sdram", "ethernet", "usb")
_PAIRS = ("ecp5", "gowin")  # for a clock that comes by two pins
# Of each resource that a link or a log is joined to: its subsignals with their direction and width.
_PINS = {
    "uart": {"rx": ("i", 1), "tx": ("o", 1)},
    "usb": {"d_p": ("io", 1), "d_n": ("io", 1), "pullup": ("o", 1)},
    "eth_rgmii": {"rx_clk": ("i", 1), "rx_ctrl": ("i", 1), "rx_data": ("i", 4), "tx_clk": ("o", 1), "tx_ctrl": ("o", 1),
                  "tx_data": ("o", 4), "rst": ("o", 1)},
    "sdram": {"clk": ("o", 1), "clk_en": ("o", 1), "cs": ("o", 1), "ras": ("o", 1), "cas": ("o", 1), "we": ("o", 1), "ba": ("o", 2),
              "a": ("o", 13), "dqm": ("o", 2), "dq": ("io", 16)},
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item)


def _is_platform(value: Any) -> bool:
    return callable(value) or (isinstance(value, tuple) and len(value) == 2 and all(isinstance(name, str) for name in value))


# By what `Board` says of a field: whether a value is such a one, and what to give.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "a text"),
    "int": (_is_whole, "a whole number"),
    "int | None": (lambda value: value is None or _is_whole(value), "a whole number, or None"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "Ethernet | None": (lambda value: value is None or isinstance(value, Ethernet), "an Ethernet, or None"),
    "Mapping[str, str]": (_are_texts, "a dictionary of texts"),
    "tuple[str, str] | Callable[[], Any]": (_is_platform, "the platform's class itself, or two texts (module, class)"),
}


def checked(board: Board, path: object) -> Board:
    """The board of a user's file, with whole numbers where it has such as 40e6. Raises BuildError for what cannot be built."""
    where = f"the board in {path}"
    whole: dict[str, Any] = {
        field.name: int(value) for field in fields(board) if field.type in ("int", "int | None")
        and isinstance(value := getattr(board, field.name), float) and value.is_integer()}
    board = replace(board, **whole)
    for field in fields(board):
        right, what = _KINDS[str(field.type)]
        value = getattr(board, field.name)
        if not right(value):
            raise BuildError(f"{where} has {field.name} {_short(repr(value))}; it must be {what}: give that")
    _check_values(board, where)
    platform = _platform(board, where)
    _check_family(board, platform, where)
    _check_device(board, platform, where)
    _check_options(board, platform, where)
    _check_clock(board, platform, where)
    link = "eth_rgmii" if board.ethernet else "usb" if board.usb else "uart"
    for name in (link, *(("sdram",) if board.sdram else ())):
        _check_pins(board, platform, name, where)
    return board


def _short(text: str) -> str:
    """At most so much of a text as one line holds beside others, in whole words where it has several."""
    text = " ".join(text.split())
    if len(text) <= _SHORT:
        return text
    cut = text[:_SHORT - 3]
    return f"{cut[:cut.rfind(' ')].rstrip(' ,') if ' ' in cut else cut}..."


def _check_values(board: Board, where: str) -> None:
    if not re.fullmatch(_NAME, board.name):
        raise BuildError(f"{where} has name {_short(repr(board.name))}; its folder is called so, with 1 to 64 of letters, digits, "
                         "'-', '_' and '.', a letter or a digit first: give such a name")
    if board.family not in FAMILIES:
        raise BuildError(f"{where} has family {board.family!r}; those known are {', '.join(FAMILIES)}: give one of them")
    for name in ("oscillator_hz", "clock_hz", "link_hz"):
        hz = getattr(board, name)
        if hz is not None and not CLOCK_HZ[0] <= hz <= CLOCK_HZ[1]:
            raise BuildError(f"{where} has {name} {hz}; a clock has {CLOCK_HZ[0]} to {CLOCK_HZ[1]} Hz: give one between them")
    if board.preset not in PRESETS:
        raise BuildError(f"{where} has preset {board.preset!r}; the presets are {', '.join(PRESETS)}: give one of them")
    if board.mapping not in ("", "flow", "flow2", "flow3"):
        raise BuildError(f"{where} has mapping {board.mapping!r}; Yosys has flow, flow2 and flow3: give one, or leave it out")
    if board.ethernet and board.usb:
        raise BuildError(f"{where} has ethernet and usb; a machine has one link: leave one of them out")
    for name in _ONLY_ECP5:
        if getattr(board, name) and board.family != "ecp5":
            raise BuildError(f"{where} has {name}, and its family is {board.family!r}; only an ecp5 has it here: leave it out")
    if board.open_flow and board.family not in _OPEN:
        raise BuildError(f"{where} has open_flow, and its family is {board.family!r}; open tools make bitstreams of "
                         f"{', '.join(_OPEN)}: give open_flow=False")


def _platform(board: Board, where: str) -> Any:
    try:
        made, again = board.make_platform(), board.make_platform()
    except BuildError:
        raise
    except (Exception, SystemExit) as error:
        raise BuildError(f"{where} has a platform that cannot be made ({type(error).__name__}: {_short(str(error))}): see "
                         "docs/boards.md") from None
    if not isinstance(made, Platform):
        raise BuildError(f"{where} has a platform that is {_short(repr(made))}; it must be one of Amaranth's: give its class")
    if made is again:
        raise BuildError(f"{where} has a platform that is the same each time; a design takes one of its own: give its class")
    return made


def _family_of(platform: Any) -> str:
    """As a board's, or what else it is."""
    if isinstance(platform, LatticePlatform | SiliconBluePlatform):
        return str(platform.family).lower()
    if isinstance(platform, GowinPlatform):
        return "gowin"
    if isinstance(platform, XilinxPlatform):
        return "xilinx" if platform.family == "series7" else str(platform.family)
    if isinstance(platform, AlteraPlatform):
        device = str(platform.device).lower()
        return "cyclone5" if device.startswith("5c") else "arria10" if device.startswith("10a") else "another one of Intel's"
    return "unknown"


def _check_family(board: Board, platform: Any, where: str) -> None:
    found = _family_of(platform)
    if found != board.family:
        raise BuildError(f"{where} has family {board.family!r}, and its platform {type(platform).__name__} is of family {found!r}: "
                         "give the platform's family, or another platform")
    if isinstance(platform, QuartusProject) and getattr(platform, "family", None) != _QUARTUS[board.family]:
        raise BuildError(f"{where} has a platform of family {getattr(platform, 'family', None)!r}; Quartus calls {board.family} "
                         f"{_QUARTUS[board.family]!r}: give that in {type(platform).__name__}")
    if board.open_flow and platform.toolchain != _OPEN[board.family]:
        raise BuildError(f"{where} has a platform with the tools {platform.toolchain!r}; the open ones are "
                         f"{_OPEN[board.family]!r}: give a platform with these, or open_flow=False")


def _check_device(board: Board, platform: Any, where: str) -> None:
    # Gowin's PLL is told the device, which is what Amaranth calls a family.
    device = str(platform.family if board.family == "gowin" else platform.device)
    # Packages and grades may follow, and those of known devices may be left out.
    same = (board.device == device if board.family == "gowin" else board.device.lower().startswith(device.lower())
            or (device_of(board.device) is not None and device_of(board.device) == device_of(device)))
    if not same:
        raise BuildError(f"{where} has device {board.device!r}, and its platform {type(platform).__name__} is of a {device!r}: "
                         "give the platform's device, or another platform")
    if board.open_flow:
        tables = [("device", "_nextpnr_device_options")]
        if board.family == "ecp5":
            tables.append(("package", "_nextpnr_package_options"))
        for name, table in tables:
            known = getattr(platform, table, None)
            if known is not None and getattr(platform, name) not in known:
                raise BuildError(f"{where} has a platform with the {name} {getattr(platform, name)!r}; nextpnr's are "
                                 f"{', '.join(known)}: give one of them")


def _check_options(board: Board, platform: Any, where: str) -> None:
    """Amaranth passes over a name that none of its platform's templates asks for."""
    templates = [*platform.file_templates.values(), *platform.command_templates]
    known = {name for template in templates for name in re.findall(r"""get_override\(["'](\w+)["']\)""", str(template))}
    if board.open_flow:
        known.discard(FLOW_OPTION)
    for name in board.options:
        if name not in known:
            raise BuildError(f"{where} has options with {_short(repr(name))}; {type(platform).__name__} takes "
                             f"{', '.join(sorted(known))}: give one of them")


def _requested(platform: Any, name: str, what: str, where: str) -> Any:
    if (name, 0) not in platform.resources:
        there = ", ".join(f"{found} {number}" for found, number in platform.resources) or "none"
        raise BuildError(f"{where} has a platform without the resource {name!r} 0, which is {what}; it has {_short(there)}: give "
                         f"{type(platform).__name__} that resource")
    try:
        return platform.request(name, 0, dir="-")
    except Exception as error:
        raise BuildError(f"{where} has a platform whose resource {name!r} 0 cannot be used ({type(error).__name__}: "
                         f"{_short(str(error))}): see docs/boards.md") from None


def _check_clock(board: Board, platform: Any, where: str) -> None:
    name = platform.default_clk
    if not isinstance(name, str):
        raise BuildError(f"{where} has a platform with default_clk {_short(repr(name))}; it must name the resource of the board's "
                         "clock: give that")
    port = _requested(platform, name, "its default_clk", where)
    _check_port(board, port, f"resource {name!r} 0", "i", 1, where)
    clock = platform.lookup(name).clock
    if clock is None:
        raise BuildError(f"{where} has a platform whose {name!r} has no frequency: give it a Clock({board.oscillator_hz})")
    if abs(clock.frequency - board.oscillator_hz) >= 1:  # a third of 100 MHz is no whole number
        raise BuildError(f"{where} has oscillator_hz {board.oscillator_hz}, and its platform's {name!r} has "
                         f"Clock({clock.frequency:.12g}): give both what the board's oscillator has")


def _check_pins(board: Board, platform: Any, name: str, where: str) -> None:
    ports = _requested(platform, name, "what the machine is joined to", where)
    for signal, (direction, width) in _PINS[name].items():
        port = getattr(ports, signal, None)
        if port is None:
            raise BuildError(f"{where} has a platform whose resource {name!r} 0 has no {signal!r}; it needs "
                             f"{', '.join(_PINS[name])}: give Subsignals of these names")
        _check_port(board, port, f"{signal!r} of {name!r} 0", direction, width, where)


def _check_port(board: Board, port: Any, what: str, direction: str, width: int, where: str) -> None:
    found = getattr(port, "direction", None)
    if found is None:
        raise BuildError(f"{where} has a platform whose {what} has Subsignals; it must be pins: give Pins")
    if not isinstance(port, SingleEndedPort) and board.family not in _PAIRS:
        raise BuildError(f"{where} has a platform whose {what} is a pair of pins; {' and '.join(_PAIRS)} have such here: give Pins")
    if found.value not in (direction, "io"):
        raise BuildError(f"{where} has a platform whose {what} has dir={found.value!r}: give dir={direction!r}")
    if len(port) != width:
        raise BuildError(f"{where} has a platform whose {what} has {len(port)} pins; it must be {width}: give as many")
