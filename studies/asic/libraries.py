"""Libraries of standard cells: what is known of each by its name, and its Liberty files as one."""

from __future__ import annotations

import gzip
import lzma
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mrfhw.system.errors import ProblemError

__all__ = ["LIBRARIES", "CellLibrary", "liberty_text", "library_named"]


@dataclass(frozen=True)
class CellLibrary:
    """A library whose files a user has.

    pattern: of its Liberty files, which may be compressed. nanometres: the node's name. nand2: its smallest two-input NAND, the
    unit of gate equivalents. driver: the cell and pin that drive a machine's inputs. buffer: the cell whose input loads its
    outputs. high, low: cells and pins of constants.
    unused: a pattern of cells that synthesis leaves alone. period: ps that synthesis aims at.
    picoseconds, femtofarads: the files' units.
    memory_micrometres: the technology of the model of its memories. area, time, energy: by what those are multiplied.
    """

    name: str
    pattern: str
    nanometres: int
    nand2: str
    driver: tuple[str, str]
    buffer: str
    high: tuple[str, str]
    low: tuple[str, str]
    unused: str
    period: float
    picoseconds: float
    femtofarads: float
    volts: float
    memory_micrometres: float
    area: float = 1.0
    time: float = 1.0
    energy: float = 1.0


# Memories are CACTI's at 22 nm, its smallest, as in the published study; those for 130 nm are its 90 nm (the largest it takes),
# scaled: area by the square of the length, time by the length, energy by the length and the square of the voltage (1.8 V, 1.2 V).
_SCALE = 130 / 90
LIBRARIES = {library.name: library for library in (
    CellLibrary("asap7", "asap7sc7p5t_*_RVT_TT_*.lib*", 7, "NAND2xp5_ASAP7_75t_R", ("BUFx2_ASAP7_75t_R", "Y"), "BUFx4_ASAP7_75t_R",
                ("TIEHIx1_ASAP7_75t_R", "H"), ("TIELOx1_ASAP7_75t_R", "L"),
                r"ICG.*|DFF[HL]Qx4.*|DHL.*|DLL.*|SDF.*|.*x1p25.*|A2O1A1O1I.*", 400.0, 1.0, 1.0, 0.7, 0.022),
    CellLibrary("sky130hd", "sky130_fd_sc_hd__tt_025C_1v80.lib*", 130, "sky130_fd_sc_hd__nand2_1", ("sky130_fd_sc_hd__buf_2", "X"),
                "sky130_fd_sc_hd__buf_4", ("sky130_fd_sc_hd__conb_1", "HI"), ("sky130_fd_sc_hd__conb_1", "LO"),
                r"sky130_fd_sc_hd__(?:probe|lpflow|dl|sd|edf|sed|diode|macro|bushold|clkdlybuf).*",
                4000.0, 1000.0, 1000.0, 1.8, 0.090, _SCALE**2, _SCALE, _SCALE * (1.8 / 1.2) ** 2),
)}

_OPEN: dict[str, Callable[[Path], bytes]] = {".xz": lambda path: lzma.decompress(path.read_bytes()),
                                            ".gz": lambda path: gzip.decompress(path.read_bytes()), ".lib": Path.read_bytes}
_CELL = re.compile(r"^\s*cell\s*\(\s*\"?(\w+)\"?\s*\)\s*\{", re.MULTILINE)
_TEMPLATE = re.compile(r"^\s*(?:lu_table|power_lut)_template\s*\(\s*\"?(\w+)\"?\s*\)\s*\{", re.MULTILINE)
_BRACE = re.compile(r"[{}]")


def library_named(name: str) -> CellLibrary:
    """Raises ProblemError for another name than those of `LIBRARIES`."""
    if name not in LIBRARIES:
        raise ProblemError(f"library is {name!r}; the libraries are {', '.join(LIBRARIES)}: choose one")
    return LIBRARIES[name]


def _files(library: CellLibrary, folder: Path) -> list[Path]:
    for place in (folder, folder / library.name):
        found = sorted(path for path in place.glob(library.pattern) if path.suffix in _OPEN) if place.is_dir() else []
        if found:
            return found
    raise ProblemError(f"liberty is {folder}; it has no {library.pattern}, nor has {folder / library.name}: give the directory of "
                       f"the Liberty files of {library.name}")


def _groups(kind: re.Pattern[str], text: str) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of each group of a kind. Text in quotes holds no braces in these files."""
    for match in kind.finditer(text):
        depth, at = 1, match.end()
        while depth:
            found = _BRACE.search(text, at)
            if found is None:
                return
            depth, at = depth + (1 if found[0] == "{" else -1), found.end()
        yield match[1], match.start(), at


def liberty_text(library: CellLibrary, folder: Path) -> str:
    """The library as one Liberty file: the head of the first, what the others' tables are like, and the cells
    that synthesis may use.

    folder: of the files, or the folder above one of the library's name. Raises ProblemError where they are not there or have no
    cell by the names that `library` knows.
    """
    head, cells, names = "", [], set()
    templates: dict[str, str] = {}
    for path in _files(library, folder):
        try:
            text = _OPEN[path.suffix](path).decode()
        except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
            raise ProblemError(f"{path}: {error}: give a Liberty file, plain or compressed with xz or gzip") from None
        found = list(_groups(_CELL, text))
        if not found:
            raise ProblemError(f"{path}: it has no cells: give a Liberty file")
        begins = text[:found[0][1]]
        templates = {name: begins[start:end] for name, start, end in _groups(_TEMPLATE, begins)} | templates
        head = head or begins
        kept = [(name, text[begin:end]) for name, begin, end in found if not re.fullmatch(library.unused, name)]
        cells += [cell for _, cell in kept]
        names |= {name for name, _ in kept}
    for name in (library.nand2, library.driver[0], library.buffer):
        if name not in names:
            raise ProblemError(f"liberty is {folder}; its files of {library.name} have no cell {name}: give all files of it")
    own = {name for name, _, _ in _groups(_TEMPLATE, head)}
    others = [group for name, group in templates.items() if name not in own]
    return "\n".join((head, *others, *cells, "}\n"))
