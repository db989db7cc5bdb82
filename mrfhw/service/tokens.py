"""Who may ask a service, by tokens in a file."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain

__all__ = ["Token", "read_tokens"]

_BYTES = 1 << 20
_LEAST = 16  # characters of a token
_LINE = re.compile(r"([A-Za-z0-9._@+-]{1,64})\s+([\x21-\x7e]{16,})(?:\s+([0-9.]{1,10}))?\s*")
_HINT = "give a file with a line NAME TOKEN or NAME TOKEN WEIGHT for each owner"


@dataclass(frozen=True)
class Token:
    """name: of the owner. digest: SHA-256 of the token. weight: the greatest that the owner's jobs may have."""

    name: str
    digest: str
    weight: float


def read_tokens(path: Path) -> tuple[Token, ...]:
    """The tokens of a file: lines NAME TOKEN [WEIGHT]; empty ones and those that begin with # are none.

    Raises ProblemError for what is no such file, and for one that others may read.
    """
    text = read_plain(path, _HINT, _BYTES).decode(errors="replace")
    if os.stat(path).st_mode & 0o077:
        raise ProblemError(f"token is {path}, which others than its owner may read: chmod 600 it")
    found: list[Token] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        try:
            weight = float(match[3] or 1.0) if match else 0.0
        except ValueError:
            weight = 0.0
        if match is None or not 0.01 <= weight <= 100:
            raise ProblemError(f"{path}, line {number} is no name of letters, digits and ._@+-, token of at least {_LEAST} "
                               f"characters and weight of 0.01 to 100: {_HINT}")
        found.append(Token(match[1], hashlib.sha256(match[2].encode()).hexdigest(), weight))
    if not found:
        raise ProblemError(f"{path} has no token: {_HINT}")
    return tuple(found)
