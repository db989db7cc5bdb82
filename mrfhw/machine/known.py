"""The machines that were generated on this computer, by the digest of their circuits: what a board is, when it says no more.

Each is a file in the user's cache with the part of a manifest that says which machine it is. Nothing but convenience depends on it.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import machine_in, stated_digest
from mrfhw.machine.registers import DIGITS, INTERFACE_VERSION
from mrfhw.system.files import cache_directory, replaced

__all__ = ["any_known", "known", "remember", "stated"]


def _directory() -> Path:
    return cache_directory() / "machines"


def remember(config: Config, digest: str) -> None:
    """Keep the machine whose circuit has this digest, so that `known` finds it; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError), replaced(_directory() / f"{digest[:DIGITS]}.json") as file:
        file.write(stated(config, digest))


def stated(config: Config, digest: str | None) -> bytes:
    """The part of a manifest that says which machine it is, as a file. digest: of its circuit, None where it is not known."""
    return json.dumps({"interface": INTERFACE_VERSION, **({} if digest is None else {"digest": digest}),
                       "parameters": config.to_dict(), "parameters_digest": Derived.of(config).digest}).encode()


def known(digest: str) -> Config | None:
    """The machine whose circuit has this digest, DIGITS hexadecimal digits, as its manifest states it; None where it was not
    generated here, or by a version of another interface."""
    try:
        config = machine_in(_directory() / f"{digest}.json")
    except (OSError, ConfigError):
        return None
    return config if (stated_digest(config) or "")[:DIGITS] == digest else None


def any_known() -> bool:
    """Whether there are any."""
    try:
        return any(_directory().iterdir())
    except OSError:
        return False
