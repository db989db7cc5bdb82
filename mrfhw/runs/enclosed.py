"""Files that a request has with it, where it goes to another computer: the bytes and the name, no place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.given import short
from mrfhw.system.errors import ProblemError

__all__ = ["Enclosed", "is_plain_name"]

_NAME_BYTES = 255


def is_plain_name(name: Any) -> bool:
    """Whether it names a file in a folder, and nothing above or below it."""
    if not isinstance(name, str) or name in ("", ".", "..") or not name.isprintable() or "/" in name or "\\" in name:
        return False
    return len(name.encode(errors="replace")) <= _NAME_BYTES


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A file in the place of its path.

    name: of the file, without folders, for messages and reports.
    content: (n,) uint8, its bytes.
    Raises ProblemError for another name or array.
    """

    name: str
    content: np.ndarray

    def __post_init__(self) -> None:
        if not is_plain_name(self.name):
            raise ProblemError(f"an enclosed file is called {short(repr(self.name))}; its name has no folder and at most "
                               f"{_NAME_BYTES} bytes: give such a name")
        if not isinstance(self.content, np.ndarray) or self.content.dtype != np.uint8 or self.content.ndim != 1:
            raise ProblemError(f"the enclosed file {self.name} has no bytes; it is an array of uint8 of one dimension: give one")
