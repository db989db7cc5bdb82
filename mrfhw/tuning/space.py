"""What may be chosen: machines near a board's own, its clock, serial rate and link memories."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mrfhw.fpga.board import Board
from mrfhw.fpga.clocks import rates_for
from mrfhw.gateware.link.bridge import check_link
from mrfhw.machine.config import Config, ConfigError, mesh_shape
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import FRAME_WORDS, LOG_MEMORY, most_words
from mrfhw.placement.needs import needed_parameters
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.job import Job

__all__ = ["BOARD_NAMES", "TILING", "Choice", "Space"]

BOARD_NAMES = ("clock", "baud", "words", "log_bytes")  # of a choice, beside the machine's parameters
TILING = "tiling"  # mesh and tile together, so that they hold the field
CLOCKS_MHZ = (12, 15, 18, 20, 24, 27, 30, 33, 36, 40, 45, 48, 50, 54, 60, 66, 75, 85, 90, 100, 110, 120)
BAUDS = (1_000_000, 1_500_000, 2_000_000, 3_000_000)
WIDTHS: dict[str, tuple[int | str, ...]] = {
    "spus": (1, 2, 4), "lanes": (1, 2, 4, 8, 16), "lmem_banks": (1, 4), "energy_bits": (8, 9, 10, 11, 12, 14),
    "shift_bits": (0, 1, 2, 4), "temperature_bits": (12, 14, 16, 18), "temperature_table": (2, 16, 256),
    "counter_bits": (2, 3, 4, 5, 6, 7, 8, 10, 12), "line_bits": (32, 64, 128, 256, 512), "hub_depth": (1, 2, 4, 8),
    "line_levels": (0, 1, 2), "gumbel_uniform_bits": (8, 9, 10, 12, 14), "gumbel_fraction_bits": (4, 5, 6),
}
NEEDED = ("label_bits", "data_bits", "weight_bits", "vector_bits", "edge_bits", "pairwise_bits", "doubletons")  # by the job
SPES_MAX = 64


@dataclass(frozen=True)
class Choice:
    """A machine on a board. clock_hz: asked for; baud: of a serial port; words: of the memories for requests and responses."""

    config: Config
    clock_hz: int
    baud: int
    words: int
    log_bytes: int

    def on(self, board: Board) -> Board:
        """The board with these memories."""
        return replace(board, words=self.words, response_words=None, log_bytes=self.log_bytes)

    @property
    def options(self) -> dict[str, int]:
        """As a point has them (`mrfhw.tuning.points.Point`)."""
        return {"clock_hz": self.clock_hz, "baud": self.baud, "words": self.words, "log_bytes": self.log_bytes}

    def build_line(self, board: Board, name: str) -> str:
        """The command that builds it. name: of the board, or its file."""
        own, machine = Config.preset(board.preset), self.config
        words = ["mrfhw", "build", "--board", name]
        if (machine.mesh_rows, machine.mesh_cols) != (own.mesh_rows, own.mesh_cols):
            words += ["--mesh", f"{machine.mesh_rows}x{machine.mesh_cols}"]
        for parameter in Config.space():
            if parameter.name in ("mesh_rows", "mesh_cols", "latency"):
                continue
            value, before = (_value(config, parameter.name) for config in (machine, own))
            if value is not None and value != before:
                words += ["--set", f"{parameter.name}={value}"]
        if self.clock_hz != board.clock_hz:
            words += ["--clock", f"{self.clock_hz / 1e6:g}"]
        if board.serial and self.baud != board.baud:
            words += ["--baud", str(self.baud)]
        if self.words != board.words or board.response_words not in (None, board.words):
            words += ["--words", str(self.words)]
        if self.log_bytes != board.log_bytes:
            words += ["--log-bytes", str(self.log_bytes)]
        return shlex.join(words)


def _value(config: Config, name: str) -> Any:
    """A parameter's value by its name among all; None of a sampler that the machine does not have."""
    if name == "sampler":
        return config.sampler.name
    own = {p.name: p for p in Config.space() if p.sampler}
    if name in own:
        return getattr(config.sampler, own[name].field) if own[name].sampler == config.sampler.name else None
    return getattr(config, name)


class Space:
    """The choices for a job on a board, each parameter with the values that are tried.

    fixed: values by name that all choices have. Raises ProblemError for a name that nothing has, and a value that cannot be.
    """

    def __init__(self, board: Board, job: Job, fixed: Mapping[str, str]):
        self.board, self.job = board, job
        own = Config.preset(board.preset)
        self.preset = Choice(own, board.clock_hz, board.baud, board.words, board.log_bytes)
        needed = needed_parameters(job.problem, own)
        try:
            grown = own.changed(**needed)
        except ConfigError as error:
            raise ProblemError(f"job is {job.said}; no machine like the board's takes it: {error}") from None
        self.start = replace(self.preset, config=grown)
        self.values: dict[str, tuple[Any, ...]] = {TILING: tuple(self._tilings(grown))}
        for name, values in WIDTHS.items():
            now = _value(grown, name)
            if now is not None:
                self.values[name] = tuple(sorted({*values, now}))
        for name, bits in self._needs(own).items():
            self.values[name] = tuple(sorted({bits, max(bits, _value(grown, name))}))
        self.values["clock"] = tuple(sorted({board.clock_hz, *(1_000_000 * mhz for mhz in CLOCKS_MHZ)}))
        self.values["baud"] = tuple(sorted({board.baud, *BAUDS})) if board.serial else (board.baud,)
        most = most_words(board.ethernet is not None, board.at_once)
        self.values["words"] = tuple(1 << n for n in range(4, 13) if FRAME_WORDS[0] <= 1 << n <= most)
        self.values["log_bytes"] = tuple(1 << n for n in range(6, 17) if LOG_MEMORY[0] <= 1 << n <= LOG_MEMORY[1])
        self._fix(fixed)

    def _needs(self, own: Config) -> dict[str, int]:
        """The least widths of what the job says, by name."""
        least = {"label_bits": 1, "weight_bits": 1, "data_bits": 1, "vector_bits": 0, "edge_bits": 0}
        found: dict[str, int] = {}
        for name, low in least.items():
            for value in range(low, _value(own, name) + 1):
                try:
                    narrow = own.changed(**{name: value})
                except ConfigError:
                    continue
                if name not in needed_parameters(self.job.problem, narrow):
                    found[name] = value
                    break
        return {name: value for name, value in found.items() if value < _value(own, name)}

    def _tilings(self, own: Config) -> Iterator[tuple[int, int, int, int]]:
        """(mesh rows, mesh columns, tile rows, tile columns) that hold the field whole, and those of the board's own tiles."""
        yield own.mesh_rows, own.mesh_cols, own.tile_rows, own.tile_cols
        seen = set()
        for spes in (1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 32, 48, SPES_MAX):
            shape = mesh_shape(spes)
            for high, wide in {shape, shape[::-1], (1, spes), (spes, 1)}:
                tile = self._tile(high, wide)
                if max(tile) <= 1024 and (high, wide, *tile) not in seen:
                    seen.add((high, wide, *tile))
                    yield high, wide, *tile

    def _tile(self, high: int, wide: int) -> tuple[int, int]:
        """Rows and columns of the tiles of such a mesh."""
        rows, cols = self.job.problem.shape
        return 4 * -(-rows // (4 * high)), 8 * -(-cols // (8 * wide))

    def _fix(self, fixed: Mapping[str, str]) -> None:
        parameters = {p.name: p for p in Config.space()}
        for name, text in fixed.items():
            plain = name.replace("-", "_")
            if plain == "mesh":
                self._fix_mesh(text)
                continue
            if plain not in BOARD_NAMES and plain not in parameters:
                raise ProblemError(f"fix is {name[:60]}={text[:60]}; no parameter of a machine is called {name!r}, and a board has "
                                   f"{', '.join(BOARD_NAMES)}: give one of them, or one of mrfhw help machine")
            if plain == "baud" and not self.board.serial:
                raise ProblemError(f"fix is {name}={text[:60]}; {self.board.name} has no serial port: leave it out")
            if plain in ("mesh_rows", "mesh_cols", "tile_rows", "tile_cols"):
                number = self._whole(name, text)
                at = ("mesh_rows", "mesh_cols", "tile_rows", "tile_cols").index(plain)
                kept = tuple({(*one[:at], number, *one[at + 1:]) for one in self.values[TILING]})
                self.values[TILING] = kept
                self.start = self._changed(self.start, {plain: number}, f"{name}={text}")
                continue
            value: Any = text if plain in parameters and parameters[plain].type is str else self._whole(name, text)
            self.values[plain] = (value,)
            self.start = self._changed(self.start, {plain: value}, f"{name}={text}")
        if fixed:
            self._check(self.start)

    def _fix_mesh(self, text: str) -> None:
        try:
            rows, cols = (int(part) for part in text.lower().split("x"))
        except ValueError:
            raise ProblemError(f"fix is mesh={text[:60]}; a mesh has rows and columns: give such as mesh=2x4") from None
        kept = tuple(one for one in self.values[TILING] if one[:2] == (rows, cols))
        self.values[TILING] = kept or ((rows, cols, *self._tile(max(1, rows), max(1, cols))),)
        self.start = self._changed(self.start, {TILING: self.values[TILING][0]}, f"mesh={text}")

    @staticmethod
    def _whole(name: str, text: str) -> int:
        try:
            return round(1e6 * float(text)) if name == "clock" else int(text)
        except (ValueError, OverflowError):
            kind = "number of MHz" if name == "clock" else "whole number"
            raise ProblemError(f"fix is {name}={text[:60]}; {name} is a {kind}: give one") from None

    def _changed(self, choice: Choice, changes: Mapping[str, Any], said: str) -> Choice:
        try:
            found = changed(choice, changes)
        except ConfigError as error:
            raise ProblemError(f"fix is {said}; {error}") from None
        return found

    def neighbours(self, choice: Choice) -> Iterator[tuple[str, Choice]]:
        """Each other value of each parameter, by the parameter's name; those that no machine or board can have are left out."""
        for name, values in self.values.items():
            for value in values:
                if (found := self.with_value(choice, name, value)) is not None and found != choice:
                    yield name, found

    def with_value(self, choice: Choice, name: str, value: Any) -> Choice | None:
        """None for what no machine or board can have."""
        try:
            found = changed(choice, {name: value})
            self._check(found)
        except (ConfigError, ProblemError):
            return None
        return None if found.config.line_bits // 8 > found.log_bytes else found

    def _check(self, choice: Choice) -> None:
        """Raise ProblemError in one line where the board cannot have the clock, the serial rate or the link's memories."""
        rates_for(choice.on(self.board), choice.clock_hz, choice.baud)
        try:
            check_link(choice.config.line_bits, choice.words, choice.log_bytes, datagrams=self.board.ethernet is not None,
                       outstanding=choice.on(self.board).at_once)
        except ValueError as error:
            raise ProblemError(str(error)) from None


def changed(choice: Choice, changes: Mapping[str, Any]) -> Choice:
    """The choice with other values of parameters, by their names, `BOARD_NAMES` and `TILING`. Raises ConfigError."""
    of_board = {"clock": "clock_hz"}
    board = {of_board.get(name, name): value for name, value in changes.items() if name in BOARD_NAMES}
    machine = {name: value for name, value in changes.items() if name not in BOARD_NAMES and name != TILING}
    if TILING in changes:
        machine |= dict(zip(("mesh_rows", "mesh_cols", "tile_rows", "tile_cols"), changes[TILING], strict=True))
    config = Derived.of(choice.config.changed(**machine)) if machine else choice.config
    return replace(choice, config=config, **board)
