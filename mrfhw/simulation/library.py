"""A compiled design in this process, whichever it is."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Compiled"]

Signatures = Mapping[str, tuple[object, list[object]]]  # result and arguments of each function


class Compiled:
    """A library that `mrfhw.simulation.compiled` has made, and one design in it. Use as a context manager.

    signatures: of its functions; `prefix`_new makes a design from `arguments`, and `prefix`_delete ends it.
    """

    def __init__(self, library: Path, prefix: str, signatures: Signatures, *arguments: int):
        self._library = ctypes.CDLL(str(library))
        self._prefix = prefix
        for name, (result, kinds) in signatures.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, kinds
        self._design: int | None = getattr(self._library, f"{prefix}_new")(*arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._design is not None:
            getattr(self._library, f"{self._prefix}_delete")(self._design)
            self._design = None

    def _call(self, name: str, *arguments: Any) -> Any:
        """Of this design: the function `prefix`_`name`."""
        return getattr(self._library, f"{self._prefix}_{name}")(self._design, *arguments)
